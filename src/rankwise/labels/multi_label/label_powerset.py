"""Label powerset (LP) [1]_: every label set of the training rows is a class.

Composition: label sets as classes x squared loss, or any classifier x most likely set.

References
----------
.. [1] Boutell, Luo, Shen & Brown, "Learning multi-label scene classification", Pattern
   Recognition 37 (2004).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from rankwise.checks.labels import one_hot
from rankwise.labels.multi_label.multi_label_classifier import MultiLabel, level_ties
from rankwise.labels.outputs import fitted_clone
from rankwise.solvers.least_squares.shared_ridge import SharedRidge
from rankwise.structure.rules import (
    Fitted,
    Rule,
    Sometimes,
    floats,
    integers,
    require,
    require_attributes,
)
from rankwise.typing import Float64Array, Int64Array, Matrix, SparseMatrix


class LabelPowerset(MultiLabel):
    """One class for every label set of the training rows; any classifier.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and label sets, ``t_i`` the indicators of the row's set, with the constants in the first
    row of B penalised like all coefficients.

    Parameters
    ----------
    alpha : float >= 0, default=0.01
        Multiplies the squared norm of the coefficients, the constant's among them, against the sum
        of squared errors. Not used with ``estimator``.
    estimator : classifier or None, default=None
        Learns the numbers of the label sets. None: ridge regression on their indicators, with one
        factorisation, and the set of the largest output.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    label_sets_ : ndarray of shape (n_sets, n_labels), int8
        The distinct label sets, in lexicographic order.
    coef_ : ndarray of shape (n_sets, n_features), float64
        Where ``estimator`` is None.
    intercept_ : ndarray of shape (n_sets,), float64
        Where ``estimator`` is None.
    estimator_ : classifier
        Where ``estimator`` is given.
    target_form_ : {"dense", "sparse", "classes"}
    score_name_ : str

    Notes
    -----
    ``predict`` gives the most likely set: a combination that no training row has is never
    predicted. ``decision_function`` adds up for every label the probabilities (outputs of the
    ridge) of the sets that hold it, so labels are ranked by how likely each is. A classifier
    without ``predict_proba`` gives the softmax of its decision values in their place, one that has
    neither the predicted set alone. The ridge's sums are the scores of
    :class:`BinaryRelevance`, as regression is linear in its targets; the decisions differ.

    The cost of ridge regression on as many outputs as there are label sets; there may be almost as
    many as rows.

    References
    ----------
    .. [1] Boutell, Luo, Shen & Brown, "Learning multi-label scene classification", Pattern
       Recognition 37 (2004).

    Examples
    --------
    >>> from rankwise import LabelPowerset
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]]
    >>> model = LabelPowerset().fit(X, Y)
    >>> model.label_sets_.tolist()
    [[0, 1], [1, 0], [1, 1]]
    >>> model.predict([[-1.0], [3.0]])
    array([[1, 0],
           [0, 1]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "label_sets_": integers("n_sets", "n_classes", low=0, high=1),
        "coef_": Sometimes(floats("n_sets", "n_features_in_")),
        "intercept_": Sometimes(floats("n_sets")),
        "estimator_": Sometimes(Fitted("n_features_in_")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "estimator": [HasMethods(["fit", "predict"]), None],
    }

    label_sets_: NDArray[np.int8]

    def __init__(self, alpha: float = 0.01, *, estimator: Any = None) -> None:
        self.alpha = alpha
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.estimator
        tags.input_tags.sparse = given is None or get_tags(given).input_tags.sparse
        return tags

    def _check_structure(self) -> None:
        n_sets = len(self.label_sets_)
        require(n_sets, "label_sets_", "have a set", "none")
        if self.estimator is None:
            require_attributes(self, "coef_", "intercept_")
        elif n_sets > 1:
            require_attributes(self, "estimator_")
            known = getattr(self.estimator_, "classes_", range(n_sets))
            require(list(known) == list(range(n_sets)), "estimator_.classes_",
                    f"be 0 to {n_sets - 1}", known)  # fmt: skip

    def _fit(self, X: Matrix, Y: SparseMatrix, sample_weight: Float64Array | None) -> None:
        if self.estimator is not None and not is_classifier(self.estimator):
            raise ValueError(
                "estimator must be a classifier, for it learns the numbers of label sets as "
                f"classes, got {self.estimator!r}. Pass a classifier, or a regressor to "
                "BinaryRelevance."
            )
        for name in ("coef_", "intercept_", "estimator_"):
            vars(self).pop(name, None)
        self.label_sets_, sets = np.unique(Y.toarray().astype(np.int8), axis=0, return_inverse=True)
        sets = sets.astype(np.int64).ravel()
        if self.estimator is None:
            ridge = SharedRidge(X, sample_weight, self.alpha)
            coefficients = ridge.coefficients(one_hot(sets, len(self.label_sets_)))
            self.intercept_ = coefficients[0].copy()
            self.coef_ = np.ascontiguousarray(coefficients[1:].T)
        elif len(self.label_sets_) > 1:
            self.estimator_ = fitted_clone(self.estimator, X, sets, sample_weight)

    def _label_scores(self, X: Matrix) -> Float64Array:
        likely, _ = self._set_scores(X)
        return likely @ self.label_sets_.astype(np.float64)

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        _, best = self._set_scores(X)
        return self.label_sets_[best] == 1

    def _set_scores(self, X: Matrix) -> tuple[Float64Array, Int64Array]:
        """Probability, or what stands for it, of every set; and the predicted set."""
        if self.estimator is None:
            outputs = X @ self.coef_.T + self.intercept_
            return outputs, level_ties(outputs).argmax(axis=1)
        n_sets = len(self.label_sets_)
        if n_sets == 1:
            return np.ones((X.shape[0], 1)), np.zeros(X.shape[0], dtype=np.int64)
        best = np.asarray(self.estimator_.predict(X)).astype(np.int64)
        if hasattr(self.estimator_, "predict_proba"):
            return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64), best
        if hasattr(self.estimator_, "decision_function"):
            values = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
            if values.ndim == 1:
                values = np.column_stack([np.zeros(len(values)), values])
            if values.shape[1] == n_sets:  # not those of pairs of sets
                return softmax(values, axis=1), best
        return one_hot(best, n_sets).toarray(), best
