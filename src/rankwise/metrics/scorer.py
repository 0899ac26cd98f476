"""scikit-learn scorers of the measures, with the qid requested from metadata routing."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from rankwise.checks.queries import warn_of_one_query
from rankwise.groups import QueryGroups
from rankwise.metrics.evaluation import evaluate
from rankwise.metrics.measure import Measure
from rankwise.metrics.predicting import grades_of, innermost, predictions
from rankwise.metrics.spec import parse


class MeasureScorer(BaseEstimator):
    """Scorer of one measure; it has requested the ``qid``.

    Parameters
    ----------
    measure : str
        Full spec.
    """

    # scikit-learn reads the requests off the signature of a method called score.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "estimator": UNUSED}

    def __init__(self, measure: str) -> None:
        self.measure = measure

    def score(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean of the measure over the queries, its sign turned where smaller is better."""
        measure = parse(self.measure)
        ids = qid.row_ids() if isinstance(qid, QueryGroups) else qid
        if not measure.reads_labels:
            n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
            warn_of_one_query(innermost(estimator), f"The scorer of {measure}", qid, n_samples)
        read = predictions(estimator, X, ids).read_by(measure)
        value = evaluate(grades_of(estimator, y), read, qid, [self.measure])[self.measure]
        return value if measure.greater_is_better else -value

    __call__ = score


def make_scorer(measure: str | Measure = "nDCG@10", *, preset: str | None = None) -> MeasureScorer:
    """Scorer for ``GridSearchCV``, ``cross_validate`` and the like; it has requested the ``qid``.

    Parameters
    ----------
    measure : str or Measure
    preset : str, optional
        See :func:`rankwise.metrics.evaluate`.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``; the sign is turned where smaller is better. Of an
        ordinal estimator, also as the last step of a pipeline, rankings are measured by
        ``rank_score`` and predicted ranks (MAE, Kappa) by ``predict``; classes that are numbers
        count as they are, as in :func:`rankwise.evaluate`, named ones by their rank from 0. With
        scikit-learn's routing on, ``qid`` passed to ``fit`` of a search reaches the scorer.

    Examples
    --------
    >>> make_scorer("MAE")
    MeasureScorer(measure="MAE(empty='skip')")
    """
    return MeasureScorer(str(parse(measure, preset)))
