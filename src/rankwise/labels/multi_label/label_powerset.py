"""Label sets as classes (LabelPowerset), and labels in pairs (CalibratedLabelRanking).

Label powerset [1]_: every distinct label set of the training rows is a class.

Composition: label sets as classes x squared loss, or any classifier x most likely set.

Calibrated label ranking [2]_: for every pair of labels, a binary classifier is trained on the rows
that have exactly one of the two. A virtual label separates relevant from irrelevant labels; it is
compared with every label on all rows. Labels are ranked by their votes, and those with more votes
than the virtual label are predicted.

Composition: pairs of labels x binary classifier per pair x votes.

References
----------
.. [1] Boutell, Luo, Shen & Brown, "Learning multi-label scene classification", Pattern
   Recognition 37 (2004).
.. [2] Fürnkranz, Hüllermeier, Loza Mencía & Brinker, "Multilabel classification via calibrated
   label ranking", Machine Learning 73 (2008).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from rankwise.checks.label_data import one_hot
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, HasMethods
from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions, Contrasts, class_votes
from rankwise.labels.multi_label.multi_label_classifier import MultiLabel, level_ties
from rankwise.prediction import fit_clone
from rankwise.solvers.many_labels import SharedRidge
from rankwise.structure.state_rules import (
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
    """Multi-class classification with one class for every label set of the training rows.

    Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2`` without an ``estimator``: a sum over
    rows and label sets, with the indicators ``t_i`` of the row's set. The constants in the first
    row of B are penalised like all coefficients.

    Parameters
    ----------
    alpha : float >= 0, default=0.01
        Penalty added to the SUM of squared errors: factor of the squared norm of the coefficients,
        including the constants. Not used if ``estimator`` is given.
    estimator : classifier or None, default=None
        Classifier that is fitted on the numbers of the label sets. None: ridge regression on the
        indicators of the sets, with one factorisation; the set of the largest output is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    label_sets_ : ndarray of shape (n_sets, n_labels), int8
        Distinct label sets in lexicographic order.
    coef_ : ndarray of shape (n_sets, n_features), float64
        Only if ``estimator`` is None.
    intercept_ : ndarray of shape (n_sets,), float64
        Only if ``estimator`` is None.
    estimator_ : classifier
        Only if ``estimator`` is given.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    ``predict`` returns the most likely label set, so a combination without a training row is never
    predicted. ``decision_function`` sums, for every label, the probabilities (or ridge outputs) of
    the sets that contain it; labels are ranked by this sum. Without ``predict_proba``, the softmax
    of the decision values replaces the probabilities; without decision values, only the predicted
    set counts. Regression is linear in its targets, so the sums of ridge outputs equal the scores
    of :class:`BinaryRelevance`, but the predictions differ.

    Training costs as much as ridge regression with one output for each label set: O(N d^2 + d^3 + N
    d S) for N rows, d columns and S label sets, and O(d^2 + d S) memory. There may be almost as
    many label sets as rows.

    References
    ----------
    .. [1] Boutell, Luo, Shen & Brown, "Learning multi-label scene classification", Pattern
       Recognition 37 (2004).

    Examples
    --------
    >>> from rankwise.labels import LabelPowerset
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
        "alpha": [NOT_NEGATIVE],
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
                "estimator must be a classifier, because label sets are encoded as classes, "
                f"got {self.estimator!r}. Pass a classifier, or a regressor to "
                "BinaryRelevance."
            )
        for name in ("coef_", "intercept_", "estimator_"):
            vars(self).pop(name, None)
        self.label_sets_, sets = np.unique(Y.toarray().astype(np.int8), axis=0, return_inverse=True)
        sets = sets.astype(np.int64).ravel()
        if self.estimator is None:
            ridge = SharedRidge(X, sample_weight, self.alpha)
            coefficients = ridge.coefficients(one_hot(sets, len(self.label_sets_)))
            self.intercept_: Any = coefficients[0].copy()
            self.coef_: NDArray[Any] = np.ascontiguousarray(coefficients[1:].T)
        elif len(self.label_sets_) > 1:
            self.estimator_: Any = fit_clone(self.estimator, X, sets, sample_weight)

    def _label_scores(self, X: Matrix) -> Float64Array:
        likely, _ = self._set_scores(X)
        return likely @ self.label_sets_.astype(np.float64)

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        _, best = self._set_scores(X)
        return self.label_sets_[best] == 1

    def _set_scores(self, X: Matrix) -> tuple[Float64Array, Int64Array]:
        """Probability (or substitute) of every label set, and number of the predicted set."""
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
            if values.shape[1] == n_sets:  # otherwise values of pairs of sets
                return softmax(values, axis=1), best
        return one_hot(best, n_sets).toarray(), best


class CalibratedLabelRanking(BinaryQuestions, MultiLabel):
    """Label ranking by pairwise comparisons, calibrated by a virtual label.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each pair without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Binary classifier that is cloned for every pair and fitted on its rows. 0 stands for the
        first label, 1 for the second. It must accept ``sample_weight`` only if ``fit`` receives it.
        None: ridge regression on -1 and 1, in closed form.
    alpha : float > 0, default=1.0
        Penalty added to the SUM of squared errors if ``estimator`` is None: factor of the squared
        norm.
    n_jobs : int, optional
        Number of pairs fitted in parallel threads. None or -1: all cores; -2: all but one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels, as in :class:`BinaryRelevance`.
    pairs_ : ndarray of shape (n_pairs, 2), int64
        Positions of the two labels of every pair; the virtual label has position ``n_labels``. All
        pairs of labels come first, the smaller position first, then the virtual label with every
        label.
    estimators_ : list of n_pairs classifiers
        Only if ``estimator`` is given. None for a pair without rows, or whose rows all have the
        same answer.
    constants_ : ndarray of shape (n_pairs,), float64
        Constant answer of a pair without a classifier: 0, 1, or 1/2 if the pair has no rows. NaN
        for a pair with a classifier.
    coef_, intercept_ : ndarrays of shape (n_pairs, n_features) and (n_pairs,), float64
        Ridge regression of every pair, only if ``estimator`` is None. Positive values favour the
        second label.
    target_form_ : {"dense", "sparse", "classes"}
        Format of the labels in ``fit`` and ``predict``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    ``decision_function`` returns the votes of a label minus those of the virtual label. Ties of
    votes are broken by the sum of decision values (or probabilities), as in scikit-learn's
    ``OneVsOneClassifier``. The comparisons with the virtual label alone would be binary relevance.

    Training makes O(K^2) fits, K (K + 1) / 2; a pair of labels uses the rows that have exactly one
    of the two. Memory is that of as many classifiers. The method is suitable for up to a few
    hundred labels.

    References
    ----------
    .. [1] Fürnkranz, Hüllermeier, Loza Mencía & Brinker, "Multilabel classification via calibrated
       label ranking", Machine Learning 73 (2008).

    Examples
    --------
    >>> from rankwise.labels import CalibratedLabelRanking
    >>> X, Y = [[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]]
    >>> model = CalibratedLabelRanking(alpha=0.1).fit(X, Y)
    >>> model.predict([[-1.0], [3.0]])
    array([[1, 0],
           [0, 1]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "pairs_": integers("n_questions", 2, low=0, below="n_classes + 1"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = BinaryQuestions._parameter_constraints

    def __init__(
        self, estimator: Any = None, *, alpha: float = 1.0, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = (
            self.estimator is None or get_tags(self.estimator).input_tags.sparse
        )
        return tags

    def _fit(self, X: Matrix, Y: SparseMatrix, sample_weight: Float64Array | None) -> None:
        n_samples, n_labels = Y.shape
        first, second = np.triu_indices(n_labels, 1)
        virtual = np.column_stack([np.full(n_labels, n_labels), np.arange(n_labels)])
        self.pairs_: Int64Array = np.concatenate(
            [np.column_stack([first, second]), virtual]
        ).astype(np.int64)
        # Questions of weight 1 for all pairs of labels, then for the virtual label, whose values
        # are the last, with every label.
        ones = Y.toarray()
        values = np.hstack([-ones, 1 - 2 * ones, np.zeros((n_samples, 1))])
        first = np.concatenate([first, np.full(n_labels, 2 * n_labels)]).astype(np.int64)
        second = np.concatenate([second, n_labels + np.arange(n_labels)]).astype(np.int64)
        self._ask(X, Contrasts(values, None, first, second, sample_weight))

    def _label_scores(self, X: Matrix) -> Float64Array:
        chosen, confidence = self._answers(X)
        votes = class_votes(chosen, confidence, self.pairs_, len(self.classes_) + 1)
        return votes[:, :-1] - votes[:, -1:]

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        return self._label_scores(X) > 0
