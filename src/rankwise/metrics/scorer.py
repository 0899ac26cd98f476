"""scikit-learn scorers of the measures, with the qid requested from metadata routing."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rankwise.groups import QueryGroups
from rankwise.metrics.evaluation import evaluate
from rankwise.metrics.measure import Measure
from rankwise.metrics.spec import parse


def make_scorer(measure: str | Measure = "nDCG@10", *, preset: str | None = None) -> Any:
    """Scorer for ``GridSearchCV``, ``cross_validate`` and the like; it has requested the ``qid``.

    Parameters
    ----------
    measure : str or Measure
    preset : str, optional
        See :func:`rankwise.metrics.evaluate`.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``; the sign is turned where smaller is better. With
        scikit-learn's routing on, ``qid`` passed to ``fit`` of a search reaches the scorer.

    Examples
    --------
    >>> make_scorer("AP", preset="letor3")
    make_scorer(mean_measure, response_method='predict', measure=AP(rel=1,norm='all',...)
    """
    import sklearn
    from sklearn.metrics import make_scorer as sklearn_make_scorer

    parsed = parse(measure, preset)
    scorer = sklearn_make_scorer(
        mean_measure,
        response_method="predict",
        greater_is_better=parsed.greater_is_better,
        measure=str(parsed),
    )
    with sklearn.config_context(enable_metadata_routing=True):
        return scorer.set_score_request(qid=True)


def mean_measure(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    measure: str | Measure,
    qid: ArrayLike | QueryGroups | None = None,
) -> float:
    """Mean of one measure over the queries."""
    name = measure if isinstance(measure, str) else str(measure)
    return evaluate(y, scores, qid, [measure])[name]
