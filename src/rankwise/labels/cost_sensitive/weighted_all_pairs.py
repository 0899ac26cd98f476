"""Weighted all-pairs: one binary learner for all pairs of classes [1]_.

Composition: transformed costs x one weighted binary classifier on (row, pair) x votes.

References
----------
.. [1] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
   classification tasks", ICML 22 (2005).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import clone

from rankwise.checks.cost_tables import CostTable
from rankwise.checks.parameter_constraints import StrOptions
from rankwise.labels.cost_sensitive.binary_questions import FEW_ROWS, BinaryQuestions, confidence_of
from rankwise.labels.cost_sensitive.contrasts import Contrasts, pair_contrasts
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.labels.cost_sensitive.pair_ridge import fit_pair_ridge
from rankwise.labels.cost_sensitive.pair_votes import class_votes
from rankwise.runtime.routing import fit_with
from rankwise.runtime.threads import single_threaded_blas, threads_asked
from rankwise.structure.rules import Fitted, Optional, Rule, Sometimes, floats, require_attributes
from rankwise.typing import Float64Array, Matrix, is_sparse


class WeightedAllPairs(BinaryQuestions, CostSensitiveClassifier):
    """Weighted all-pairs: one classifier for all class pairs, with weights derived from costs.

    Minimises ``sum_n sum_{a<b} w_nab (t_nab - (s_b(x_n) - s_a(x_n)))^2 + alpha sum_k |beta_k|^2``
    without an ``estimator``: a sum over rows and pairs of classes, with t of -1 or 1 and scores
    ``s_k(x) = x'beta_k + b_k``. Intercepts are not penalised.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that is fitted once on the question "is the second class cheaper?" for all rows
        and pairs. Each pair occurs in both orders, with half the weight as ``sample_weight``. None:
        ridge regression on -1 and 1 with the encoding "products", in closed form.
    encoding : {"products", "indicators"}, default="products"
        Input of the classifier for a row x and the pair (a, b). "products": a sparse row with -[x,
        1] in the columns of class a and [x, 1] in those of class b; a linear classifier then has
        one score per class. "indicators": x and one column per class, -1 for a and 1 for b;
        suitable for trees and kernels.
    alpha : float > 0, default=1.0
        L2 penalty if ``estimator`` is None: factor of the squared norm. Intercepts are not
        penalised.
    n_jobs : int, optional
        Number of pairs processed in parallel threads by ridge regression. None: one for each CPU;
        -2: one fewer, and so on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the order of the columns of the costs.
    estimator_ : classifier or None
        Only if ``estimator`` is given. None if no row has different costs.
    coef_, intercept_ : ndarrays of shape (n_classes, n_features) and (n_classes,), float64
        Linear scores of the classes, only if ``estimator`` is None.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Weights are differences of the costs transformed by :func:`rankwise.labels.all_pairs_costs`. The
    excess cost of a row is at most twice the total weight of the wrong answers [1]_. The
    formulation follows [1]_ from memory; that paper does not specify the encoding of the pair.
    ``CSOVO(weights="transformed")`` has the same weights and one classifier per pair.

    A classifier receives up to N K (K - 1) rows, which are stored. Ridge regression stores none of
    them: the sum of squares over the pairs of a row is a Laplacian form of the scores, so one
    system of K (d + 1) equations is solved, O(K^3 d^3).

    References
    ----------
    .. [1] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
       classification tasks", ICML 22 (2005).

    Examples
    --------
    >>> from rankwise import WeightedAllPairs
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]
    >>> WeightedAllPairs(alpha=0.1).fit(X, y, costs=costs).predict([[1.2], [9.0]]).tolist()
    ['ham', 'spam']
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": Sometimes(floats("n_classes", "n_features_in_")),
        "intercept_": Sometimes(floats("n_classes")),
        "estimator_": Sometimes(Optional(Fitted())),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryQuestions._parameter_constraints,
        "encoding": [StrOptions({"products", "indicators"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        encoding: Literal["products", "indicators"] = "products",
        alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.encoding = encoding
        self.alpha = alpha
        self.n_jobs = n_jobs

    def _check_structure(self) -> None:
        names = ("coef_", "intercept_") if self.estimator is None else ("estimator_",)
        require_attributes(self, *names)

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        for name in ("coef_", "intercept_", "estimator_"):
            vars(self).pop(name, None)
        contrasts = pair_contrasts(table, sample_weight)
        if self.estimator is not None:
            self.estimator_ = self._fit_one(X, contrasts)
            return
        n_threads = threads_asked(self.n_jobs) if X.shape[0] > FEW_ROWS else 1
        self.coef_, self.intercept_ = fit_pair_ridge(
            X, contrasts, len(table.classes), self.alpha, n_threads
        )

    def _fit_one(self, X: Matrix, contrasts: Contrasts) -> Any:
        parts, labels, weights = [], [], []
        for question in range(contrasts.n_questions):
            signed = contrasts.of_rows(question)
            asking = np.flatnonzero(signed)
            pair = int(contrasts.first[question]), int(contrasts.second[question])
            for (a, b), answer in ((pair, signed[asking]), (pair[::-1], -signed[asking])):
                parts.append(self._encode_pair(X[asking], a, b))
                labels.append(answer > 0)
                weights.append(np.abs(answer) / 2)
        if not sum(map(len, labels)):
            return None
        model = clone(self.estimator)
        rows = sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.vstack(parts)
        offered = {"sample_weight": np.concatenate(weights)}
        with single_threaded_blas():
            taken = fit_with(model, rows, np.concatenate(labels).astype(np.int64), offered)
        if not taken:
            raise TypeError(
                f"estimator must accept sample_weight, but {type(model).__name__}.fit does not. "
                "Use a classifier that does. In a pipeline, call "
                "set_fit_request(sample_weight=True) on the last step."
            )
        return model

    def _encode_pair(self, X: Matrix, first: int, second: int) -> Matrix:
        """Rows x encoded with the pair as input of the classifier."""
        pair = np.zeros((1, len(self.classes_)))
        pair[0, first], pair[0, second] = -1.0, 1.0
        if self.encoding == "products":
            ones = np.ones((X.shape[0], 1))
            with_one = sparse.hstack([X, ones]) if is_sparse(X) else np.hstack([X, ones])
            products: Any = sparse.csr_matrix(sparse.kron(pair, with_one, format="csr"))
            return products
        pairs = np.repeat(pair, X.shape[0], axis=0)
        if is_sparse(X):
            joined: Any = sparse.csr_matrix(sparse.hstack([X, pairs], format="csr"))
            return joined
        return np.hstack([X, pairs])

    def _class_scores(self, X: Matrix) -> Float64Array:
        n_classes = len(self.classes_)
        if self.estimator is None:
            return X @ self.coef_.T + self.intercept_
        first, second = np.triu_indices(n_classes, 1)
        chosen = np.full((X.shape[0], len(first)), 0.5)
        confidence = np.zeros_like(chosen)
        if self.estimator_ is not None:
            for question, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
                rows = self._encode_pair(X, a, b)
                chosen[:, question] = self.estimator_.predict(rows)
                confidence[:, question] = confidence_of(self.estimator_, rows)
        return class_votes(chosen, confidence, np.column_stack([first, second]), n_classes)
