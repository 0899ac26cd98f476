"""scikit-learn scorers for the measures, which request the qid from metadata routing."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from rankwise.checks.queries import warn_of_one_query
from rankwise.groups import QueryGroups
from rankwise.metrics.evaluation import evaluate
from rankwise.metrics.measure import Measure
from rankwise.metrics.spec import parse
from rankwise.prediction import grades_of, innermost, predictions


class MeasureScorer(BaseEstimator):
    """Scorer of one measure, by its full spec; it requests the ``qid``."""

    # scikit-learn derives the requests from the signature of a method called score.
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
        """Mean of the measure over the queries, negated if smaller is better."""
        measure = parse(self.measure)
        ids = qid.row_ids() if isinstance(qid, QueryGroups) else qid
        if not measure.reads_labels:
            n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
            warn_of_one_query(innermost(estimator), f"The scorer of {measure}", qid, n_samples)
        read = measure.read(predictions(estimator, X, ids))
        value = evaluate(grades_of(estimator, y), read, qid, [self.measure])[self.measure]
        return value if measure.greater_is_better else -value

    __call__ = score


def make_scorer(measure: str | Measure = "nDCG@10", *, preset: str | None = None) -> MeasureScorer:
    """Make a scorer for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Parameters
    ----------
    measure : str or Measure
        Measure to compute.
    preset : str, optional
        See :func:`rankwise.metrics.evaluate`.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``; the value is negated if smaller is better. For an
        ordinal estimator, even as the last step of a pipeline, measures of rankings use
        ``rank_score`` and measures of predicted ranks (MAE, Kappa) use ``predict``. Numeric classes
        are used as they are, as in :func:`rankwise.evaluate`; named classes become ranks from 0.
        The scorer requests ``qid``: with scikit-learn's metadata routing enabled, it receives the
        ``qid`` passed to ``fit`` of a search.

    Examples
    --------
    >>> make_scorer("MAE")
    MeasureScorer(measure="MAE(empty='skip')")
    """
    return MeasureScorer(str(parse(measure, preset)))
