"""What every ordinal estimator shares: ordered classes, thresholds on one score, ranks, saving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from rankwise.base import RanksRows
from rankwise.checks.classes import ordinal_labels, rank_distances
from rankwise.checks.dominant_columns import ColumnLimit
from rankwise.checks.rows import FitData, check_fit, check_weight
from rankwise.groups import QueryGroups
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults
from rankwise.structure.rules import TRAINED_ON, Labels, Rule, Word, floats
from rankwise.typing import ArrayLike, Float64Array, FrameLike

SCORE_NAME = "-MAE"


def _has_probabilities(estimator: Any) -> bool:
    return callable(estimator.predict_proba)


class OrdinalRanker(FiniteResults, Save, RanksRows, ClassifierMixin, BaseEstimator):
    """Base of all ordinal estimators: classifiers over ordered classes with one score to rank by.

    A subclass takes ``classes``, sets ``thresholds_`` in ``fit`` and defines ``rank_score``; the
    class of a row is the number of thresholds that its score reaches. ``fit`` and ``score`` request
    ``qid`` (and ``sample_weight`` where the method honours it) from scikit-learn's metadata
    routing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in ascending order: numbers as they sort, others as the parameter ``classes`` or an
        ordered categorical dtype declares.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        Ascending.
    score_name_ : str
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "classes_": Labels("n_classes"),
        "thresholds_": floats("n_classes - 1"),
        "score_name_": Word(),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    classes: ArrayLike | None = None
    n_features_in_: int
    classes_: NDArray[Any]
    score_name_: str
    thresholds_: Float64Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def rank_score(self, X: FrameLike) -> Float64Array:
        """The one score to rank rows by, higher is better.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        raise TypeError(f"{type(self).__name__} must define rank_score.")

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row: that of as many thresholds as its score reaches.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        scores = self.rank_score(X)
        return self.classes_[np.searchsorted(self.thresholds_, scores, side="right")]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Distance of the score from the thresholds around each class, in scikit-learn's shape.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            Two classes: score less threshold, positive for the upper class. More: for class k
            the smaller of the score's distances above the threshold below and below the
            threshold above, negative outside; the largest is that of the predicted class.
        """
        return class_margins(np.asarray(self.rank_score(X), dtype=np.float64), self.thresholds_)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: FrameLike) -> Float64Array:
        """Logarithm of ``predict_proba``, where the estimator has it; minus infinity for 0.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
        """
        model: Any = self
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(X))

    def score(
        self,
        X: FrameLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Minus the mean absolute rank loss: how many ranks the predicted class is off.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            A number that is none of ``classes_`` counts as a rank of its own.
        sample_weight : array-like of shape (n_samples,), optional
        qid : array-like of shape (n_samples,), optional
            Checked, and without effect: every row counts the same.

        Returns
        -------
        float
            <= 0, larger is better.

        Raises
        ------
        ValueError
            If y holds text, or an ordered categorical, that ``classes_`` lacks.
        """
        predicted = self.predict(X)
        loss = rank_distances(y, predicted, self.classes_)
        QueryGroups.from_qid(qid, len(predicted))
        weight = None if sample_weight is None else check_weight(sample_weight, len(predicted))
        return -float(np.average(loss, weights=weight))

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Any:
        return self.rank_score(X)


def check_ordinal_fit(
    estimator: OrdinalRanker,
    X: FrameLike,
    y: ArrayLike | None,
    qid: ArrayLike | QueryGroups | None,
    sample_weight: ArrayLike | None = None,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    by_query: str | None = None,
    column_limit: ColumnLimit | None = None,
) -> FitData:
    """Checked rows with class numbers as ``y``; sets ``classes_`` and ``score_name_``.

    ``by_query`` is the setting, as users write it, that needs a ``qid``; None: there is none.
    """
    data = check_fit(
        estimator,
        X,
        y,
        qid,
        sample_weight,
        accept_sparse=accept_sparse,
        allow_nan=allow_nan,
        read_classes=partial(ordinal_labels, classes=estimator.classes),
        column_limit=column_limit,
    )
    if by_query is not None and qid is None:
        raise ValueError(
            f"{by_query} needs qid, the query of every row, got qid=None. Pass qid to fit, or "
            "qid=np.zeros(n_samples) where all rows are one query."
        )
    assert data.classes is not None
    estimator.classes_ = data.classes
    estimator.score_name_ = SCORE_NAME
    return data


@contextmanager
def as_before_on_error(estimator: OrdinalRanker) -> Iterator[None]:
    """Give the estimator back the attributes that it came with where the block raises.

    Attributes are kept as they are: the block must replace arrays, not write into them.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def class_margins(scores: Float64Array, thresholds: Float64Array) -> Float64Array:
    """Distances of scores from the thresholds, see :meth:`OrdinalRanker.decision_function`."""
    above = scores[:, None] - thresholds
    # A score on a threshold belongs to the class above it.
    tiny = np.finfo(np.float64).tiny
    if len(thresholds) == 1:
        return np.where(above[:, 0] == 0, tiny, above[:, 0])
    below = np.where(above == 0, -tiny, -above)
    margins = np.full((len(scores), len(thresholds) + 1), np.inf)
    margins[:, 1:] = above
    margins[:, :-1] = np.minimum(margins[:, :-1], below)
    return margins if len(thresholds) else np.zeros((len(scores), 1))
