"""Calibrated label ranking (CLR) [1]_: pairwise comparisons of labels and a calibration label.

For every pair of labels, a binary classifier is trained on the rows that have exactly one of the
two. A virtual label separates relevant from irrelevant labels; it is compared with every label on
all rows. Labels are ranked by their votes, and those with more votes than the virtual label are
predicted.

Composition: pairs of labels x binary classifier per pair x votes.

References
----------
.. [1] Fürnkranz, Hüllermeier, Loza Mencía & Brinker, "Multilabel classification via calibrated
   label ranking", Machine Learning 73 (2008).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.contrasts import Contrasts
from rankwise.labels.cost_sensitive.pair_votes import class_votes
from rankwise.labels.multi_label.multi_label_classifier import MultiLabel
from rankwise.structure.rules import Rule, integers
from rankwise.typing import Float64Array, Matrix, SparseMatrix


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
        L2 penalty if ``estimator`` is None: factor of the squared norm.
    n_jobs : int, optional
        Number of pairs fitted in parallel threads. None: one for each CPU; -2: one fewer, and so
        on.

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

    Training makes K (K + 1) / 2 fits; a pair of labels uses the rows that have exactly one of the
    two. The method is suitable for up to a few hundred labels.

    References
    ----------
    .. [1] Fürnkranz, Hüllermeier, Loza Mencía & Brinker, "Multilabel classification via calibrated
       label ranking", Machine Learning 73 (2008).

    Examples
    --------
    >>> from rankwise import CalibratedLabelRanking
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
        contrasts = label_contrasts(Y.toarray(), sample_weight)
        n_labels = Y.shape[1]
        first, second = np.triu_indices(n_labels, 1)
        virtual = np.column_stack([np.full(n_labels, n_labels), np.arange(n_labels)])
        self.pairs_ = np.concatenate([np.column_stack([first, second]), virtual]).astype(np.int64)
        self._ask(X, contrasts)

    def _label_scores(self, X: Matrix) -> Float64Array:
        chosen, confidence = self._answers(X)
        votes = class_votes(chosen, confidence, self.pairs_, len(self.classes_) + 1)
        return votes[:, :-1] - votes[:, -1:]

    def _predict_labels(self, X: Matrix) -> NDArray[np.bool_]:
        return self._label_scores(X) > 0


def label_contrasts(Y: Float64Array, weight: Float64Array | None) -> Contrasts:
    """Questions of weight 1 for all pairs of labels, then for the virtual label with every label.

    ``Y`` is (n_samples, n_labels) of 0 and 1; ``weight`` (n_samples,) weights the rows.
    """
    n_samples, n_labels = Y.shape
    values = np.hstack([-Y, 1 - 2 * Y, np.zeros((n_samples, 1))])
    first, second = np.triu_indices(n_labels, 1)
    first = np.concatenate([first, np.full(n_labels, 2 * n_labels)])
    second = np.concatenate([second, n_labels + np.arange(n_labels)])
    return Contrasts(values, None, first.astype(np.int64), second.astype(np.int64), weight)
