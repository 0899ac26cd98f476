"""Calibrated label ranking (CLR) [1]_: pairwise comparisons of labels and of a calibrating label.

Every pair of labels asks the rows that have one of the two which it is; a virtual label, which
stands between the relevant and the irrelevant ones, is compared with every label on all rows. The
labels are ranked by their votes, and those with more votes than the virtual label are predicted.

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
    """Pairwise comparisons of labels, calibrated by a virtual label; any binary classifier.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each pair without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Cloned for every pair and fitted on its rows, labels 0 (the first label) and 1; it need not
        take weights where ``fit`` is given none. None: least squares on -1 and 1 with a ridge, in
        closed form.
    alpha : float > 0, default=1.0
        Of the ridge where ``estimator`` is None: multiplies the squared norm against the sum over
        the rows of a pair.
    n_jobs : int, optional
        Pairs at a time, in threads; None: one for each CPU, -2: one less, and so on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    pairs_ : ndarray of shape (n_pairs, 2), int64
        Positions of the labels of every pair, the virtual label being ``n_labels``: first all
        pairs of labels, the smaller first, then the virtual label and every label.
    estimators_ : list of n_pairs classifiers
        None where all rows of the pair answer alike, or it has none; not without an ``estimator``.
    constants_ : ndarray of shape (n_pairs,), float64
        That answer: 0, 1, or 1/2 where the pair has no rows; NaN where there is a classifier.
    coef_, intercept_ : ndarrays of shape (n_pairs, n_features) and (n_pairs,), float64
        Of the least squares where ``estimator`` is None; positive for the second label.
    target_form_ : {"dense", "sparse", "classes"}
    score_name_ : str

    Notes
    -----
    ``decision_function`` gives a label's votes less those of the virtual label, ties between votes
    broken by the sum of decision values (or probabilities), as in scikit-learn's
    ``OneVsOneClassifier``. The comparisons with the virtual label alone are binary relevance.

    Time is that of K (K + 1) / 2 fits, each pair of labels on the rows that have one of the two:
    meant for up to a few hundred labels.

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
    """All pairs of labels, then the virtual label and every label, in questions of weight 1.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels), float64
        0 and 1.
    weight : ndarray of shape (n_samples,) or None
    """
    n_samples, n_labels = Y.shape
    values = np.hstack([-Y, 1 - 2 * Y, np.zeros((n_samples, 1))])
    first, second = np.triu_indices(n_labels, 1)
    first = np.concatenate([first, np.full(n_labels, 2 * n_labels)])
    second = np.concatenate([second, n_labels + np.arange(n_labels)])
    return Contrasts(values, None, first.astype(np.int64), second.astype(np.int64), weight)
