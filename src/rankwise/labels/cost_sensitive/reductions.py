"""Cost-sensitive classifiers by binary questions: CSOVO, WeightedAllPairs, OrdinalReduction.

- CSOVO [1]_ (one-versus-one): for every pair of classes, a binary classifier learns which of the
  two is cheaper for a row. Rows are weighted by the difference of the two costs. The class with the
  most votes is predicted.
- Weighted all-pairs [2]_: one binary learner for all pairs of classes.
- Ordinal reduction [3]_: for every threshold k, a binary classifier learns whether the class above
  it is cheaper for a row than the class below. The weight is ``|c_k - c_{k+1}|`` with the row's
  costs c. The predicted class number is the number of positive answers.

Composition: costs of pairs of classes (differences, transformed, of neighbours) x weighted binary
classifier per pair, or one on (row, pair) x votes, or count of answers.

References
----------
.. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
   comparisons", technical report, National Taiwan University (2010).
.. [2] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
   classification tasks", ICML 22 (2005).
.. [3] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from rankwise.checks.classes import OrderedLabels, check_classes, order_labels, ordinal_labels
from rankwise.checks.cost_tables import ClassCosts, CostTable
from rankwise.checks.parameter_constraints import StrOptions
from rankwise.labels.cost_sensitive.binary_questions import (
    FEW_ROWS,
    BinaryQuestions,
    Contrasts,
    class_votes,
    confidence_of,
    cost_contrasts,
    fit_pair_ridge,
)
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.losses.class_costs import cost_matrix
from rankwise.prediction import fit_clone
from rankwise.runtime.threads import single_threaded_blas, threads_asked
from rankwise.structure.state_rules import (
    Fitted,
    Optional,
    Rule,
    Sometimes,
    floats,
    integers,
    require_attributes,
)
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix, is_sparse


class CSOVO(BinaryQuestions, CostSensitiveClassifier):
    """Cost-sensitive one-versus-one classification: one weighted binary classifier per class pair.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each pair without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that is cloned for every pair and fitted with ``sample_weight`` on the rows whose
        costs differ. Label 0 means that the first class is cheaper, 1 that the second is. A
        classifier without ``sample_weight`` is accepted if all weights are 1, as with costs of 0
        and 1. None: ridge regression on -1 and 1, in closed form.
    weights : {"difference", "transformed"}, default="difference"
        Weight of a row for classes a and b. "difference": ``|c_a - c_b|``, the construction of
        CSOVO. "transformed": ``|v_a - v_b|`` with v of
        :func:`rankwise.labels.all_pairs_costs`, the weights of weighted all-pairs [2]_ with one
        classifier per pair.
    alpha : float > 0, default=1.0
        Penalty added to the SUM of squared errors if ``estimator`` is None: factor of the squared
        norm. Multiplying costs by a number multiplies the weights by it, but not the penalty.
    n_jobs : int, optional
        Number of pairs fitted in parallel threads. None or -1: all cores; -2: all but one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the order of the columns of the costs.
    pairs_ : ndarray of shape (n_pairs, 2), int64
        Class numbers of every pair, the smaller one first.
    estimators_ : list of n_pairs classifiers
        Only if ``estimator`` is given. None for a pair without rows, or whose rows all have the
        same label.
    constants_ : ndarray of shape (n_pairs,), float64
        Constant answer of a pair without a classifier: 0, 1, or 1/2 if the pair has no rows. NaN
        for a pair with a classifier.
    coef_, intercept_ : ndarrays of shape (n_pairs, n_features) and (n_pairs,), float64
        Ridge regression of every pair, only if ``estimator`` is None. Positive values favour the
        second class.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The excess cost of a row is at most twice the total weight of the pairs that are classified
    wrongly. The transformed weights attain this bound: over the classes cheaper than a, they sum to
    the excess cost of a. A difference of costs is never smaller than the transformed weight of the
    same pair, so the bound also holds for differences, but is looser.

    With costs of 0 and 1 both weights are 1 for the pairs that contain the true class and 0 for all
    others. The method then equals plain one-versus-one classification. Ties of votes are broken as
    in scikit-learn's ``OneVsOneClassifier``, by the sum of decision values or probabilities.

    The scale of the costs is the scale of the weights, which matters to a penalised classifier:
    scale the costs, or tune the penalty.

    Training makes O(K^2) fits, K (K - 1) / 2, each on the rows whose costs of the two classes
    differ. Memory is that of as many classifiers. If costs depend only on the class, ridge
    regression needs only K Gram matrices for all fits.

    References
    ----------
    .. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
       comparisons", technical report, National Taiwan University (2010).
    .. [2] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
       classification tasks", ICML 22 (2005).
    .. [3] Lin, "Reduction from cost-sensitive multiclass classification to one-versus-one binary
       classification", ACML 6 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.labels import CSOVO
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]  # of ham taken for spam, and of spam taken for ham
    >>> CSOVO(alpha=0.1).fit(X, y).predict([[1.2]]).tolist()
    ['spam']
    >>> CSOVO(alpha=0.1).fit(X, y, costs=costs).predict([[1.2]]).tolist()
    ['ham']
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "pairs_": integers("n_questions", 2, low=0, below="n_classes"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryQuestions._parameter_constraints,
        "weights": [StrOptions({"difference", "transformed"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        weights: Literal["difference", "transformed"] = "difference",
        alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.weights = weights
        self.alpha = alpha
        self.n_jobs = n_jobs

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        transformed = self.weights == "transformed"
        contrasts = cost_contrasts(table, sample_weight, transformed=transformed)
        self.pairs_: Int64Array = np.column_stack([contrasts.first, contrasts.second])
        self._ask(X, contrasts)

    def _class_scores(self, X: Matrix) -> Float64Array:
        chosen, confidence = self._answers(X)
        return class_votes(chosen, confidence, self.pairs_, len(self.classes_))


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
        Penalty added to the SUM of squared errors if ``estimator`` is None: factor of the squared
        norm. Intercepts are not penalised.
    n_jobs : int, optional
        Number of pairs processed in parallel threads by ridge regression. None or -1: all cores;
        -2: all but one.

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
    system of K (d + 1) equations is solved, in O(K^3 d^3) time and O(K^2 d^2) memory.

    References
    ----------
    .. [1] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
       classification tasks", ICML 22 (2005).

    Examples
    --------
    >>> from rankwise.labels import WeightedAllPairs
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]
    >>> WeightedAllPairs(alpha=0.1).fit(X, y, costs=costs).predict([[1.2], [9.0]]).tolist()
    ['ham', 'spam']
    """

    coef_: Float64Array
    intercept_: Float64Array

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
        contrasts = cost_contrasts(table, sample_weight, transformed=True)
        if self.estimator is not None:
            self.estimator_: Any = self._fit_one(X, contrasts)
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
        rows: Any = sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.vstack(parts)
        label = np.concatenate(labels).astype(np.int64)
        with single_threaded_blas():
            return fit_clone(self.estimator, rows, label, np.concatenate(weights))

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


class OrdinalReduction(BinaryQuestions, CostSensitiveClassifier):
    """Cost-sensitive classifier for ordered classes: one weighted binary classifier per threshold.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each threshold without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that is cloned for every threshold and fitted with ``sample_weight`` on the rows
        whose costs of the two adjacent classes differ. Label 0 means that the lower class is
        cheaper, 1 that the upper class is. None: ridge regression on -1 and 1, in closed form.
    alpha : float > 0, default=1.0
        Penalty added to the SUM of squared errors if ``estimator`` is None: factor of the squared
        norm.
    n_jobs : int, optional
        Number of thresholds fitted in parallel threads. None or -1: all cores; -2: all but one.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text and the costs do not name the classes;
        numbers, booleans and ordered categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in ascending order: sorted numbers, or the order that ``classes``, an ordered
        categorical or the costs declare.
    estimators_ : list of n_classes - 1 classifiers
        Only if ``estimator`` is given. None for a threshold without rows, or whose rows all have
        the same label.
    constants_ : ndarray of shape (n_classes - 1,), float64
        Constant answer of a threshold without a classifier: 0, 1, or 1/2 if the threshold has no
        rows. NaN for a threshold with a classifier.
    coef_, intercept_ : ndarrays of shape (n_classes - 1, n_features) and (n_classes - 1,)
        Ridge regression of every threshold, only if ``estimator`` is None. Positive values favour
        the classes above.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Without ``costs``, absolute costs are used: the distance in ranks between the true and the
    predicted class. All weights are then 1, and each classifier learns "is the class above k?".
    Costs are V-shaped if they do not decrease with the distance from the true class. With V-shaped
    costs, the cost of a row is at most the total weight of the wrong answers, if the answers
    decrease with the threshold or the costs are convex [1]_. Other costs are accepted, but the
    bound does not hold for them.

    :class:`OrdinalSVM` and :class:`ORBoost` use the same weights but a single score with
    thresholds. Here every threshold has its own classifier, so the answers of a row need not
    decrease with the threshold.

    Training makes K - 1 fits for K classes, on all rows: O(K) times the time of a fit. Memory holds
    the K - 1 classifiers.

    References
    ----------
    .. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.labels import OrdinalReduction
    >>> X, y = np.arange(9.0).reshape(-1, 1), [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> OrdinalReduction().fit(X, y, costs=costs).predict([[0.0], [4.0], [8.0]])
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryQuestions._parameter_constraints,
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float = 1.0,
        n_jobs: int | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.classes = classes

    def _read_classes(self, y: ArrayLike, n_samples: int, costs: Any) -> OrderedLabels:
        named = getattr(costs, "classes", None)
        if named is None:
            return ordinal_labels(y, n_samples, self.classes)
        if self.classes is not None and check_classes(self.classes).tolist() != named.tolist():
            raise ValueError(
                f"classes must equal the classes named by costs, {named.tolist()}, got "
                f"{np.asarray(self.classes).tolist()}. Remove classes."
            )
        return order_labels(y, n_samples)

    def _default_costs(self, n_classes: int) -> ClassCosts:
        return ClassCosts(cost_matrix("absolute", n_classes))

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        self._ask(X, cost_contrasts(table, sample_weight, neighbours=True))

    def _class_scores(self, X: Matrix) -> Float64Array:
        """Negative squared distance to the number of positive answers, adjusted by confidences."""
        chosen, confidence = self._answers(X)
        total = confidence.sum(axis=1)
        position = chosen.sum(axis=1) + total / (3.0 * (np.abs(total) + 1.0))
        return -((position[:, None] - np.arange(len(self.classes_))) ** 2)
