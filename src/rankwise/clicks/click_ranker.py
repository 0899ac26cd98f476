"""ClickRanker: any ranker, trained on judgements from clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from sklearn.base import BaseEstimator, clone

from rankwise.clicks.judgement import Judgements, Method, judgements
from rankwise.datasets.data import RankingData
from rankwise.prediction import rank, scores
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.runtime.routing import fit_with
from rankwise.typing import ArrayLike, Float64Array, FrameLike

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

WEIGHTS = ("trust", "impressions", None)


class ClickRanker(BaseEstimator):
    """A ranker that learns from a click log in place of grades.

    Parameters
    ----------
    ranker : ranker, optional
        Unfitted ranker of rankwise; it is cloned. None: ``LambdaMART()``.
    method : {"ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn"}
        Judgements to learn from, see :func:`judgements`. Its default there, "ctr", also orders
        documents by where they were shown, which a ranker should not learn.
    propensities : Propensities or array-like, optional
        Examination by place, for the methods "harvest" and "ips". None: harvested from the log.
    weights : {"trust", "impressions"} or None
        Sample weights, see :meth:`Judgements.label`.
    shrinkage : float >= 0, "fit" or None
        As in :func:`judgements`.

    Attributes
    ----------
    judgements_ : Judgements
    ranker_ : fitted ranker
    n_rows_ : int
        Rows that were judged, and learnt from.

    Notes
    -----
    With ``method="ips"``, ``weights="impressions"`` and ``shrinkage=0``, rankers of squared loss
    are those of one row per impression with label click / examination: for points and for pairs,
    the loss of equal rows is that of their mean, times their number, up to a constant. Closed forms
    so remain exact for logs of any length.

    In simulation (:doc:`/clicks_explained`), "coec" and "harvest" taught rankers more than raw
    click rates did; whether they do for the users of a log, only a comparison on judgements or an
    interleaved experiment can tell.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData, RidgeRanker
    >>> from rankwise.clicks import ClickRanker, simulate_clicks
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.clip(np.round(X[:, 0] + 1), 0, 2)
    >>> data = RankingData(X, y, np.arange(60) // 10, np.array([f"d{i}" for i in range(60)]))
    >>> log = simulate_clicks(data, X[:, 1], n_sessions=3000, temperature=2.0)
    >>> ranker = ClickRanker(RidgeRanker(), method="ips").fit(data, log)
    >>> bool(np.corrcoef(ranker.predict(X), y)[0, 1] > 0.8)
    True
    """

    def __init__(
        self,
        ranker: Any = None,
        *,
        method: Method = "coec",
        propensities: Any = None,
        weights: Literal["trust", "impressions"] | None = "trust",
        shrinkage: float | Literal["fit"] | None = None,
    ) -> None:
        if weights not in WEIGHTS:
            raise ValueError(f"weights must be 'trust', 'impressions' or None, got {weights!r}.")
        if propensities is not None and method not in ("harvest", "ips"):
            raise ValueError(
                f"propensities are for the methods 'harvest' and 'ips', got method={method!r}."
            )
        self.ranker = ranker
        self.method: Method = method
        self.propensities = propensities
        self.weights: Literal["trust", "impressions"] | None = weights
        self.shrinkage: float | Literal["fit"] | None = shrinkage

    def fit(self, data: RankingData, log: ClickLog) -> Self:
        """Judge the pairs of the log, and fit the ranker on the rows of ``data`` that are judged.

        Parameters
        ----------
        data : RankingData
            Features, query ids and document ids; the labels are not read.
        log : ClickLog
            Clicks on documents of ``data``, by the same ids.

        Warns
        -----
        UserWarning
            How many rows of ``data`` the log does not show; they are left out.

        Raises
        ------
        ValueError
            If the log cannot support the method, or shows no row of ``data``.
        """
        self.judgements_: Judgements = judgements(
            log, self.method, propensities=self.propensities, shrinkage=self.shrinkage
        )
        rows = self.judgements_.label(data, self.weights)
        self.n_rows_ = len(rows)
        offered: dict[str, Any] = {"qid": rows.qid}
        if self.weights is not None:
            offered["sample_weight"] = rows.sample_weight
        ranker: Any = LambdaMART() if self.ranker is None else clone(self.ranker)
        taken = fit_with(ranker, rows.X, rows.y, offered, None)
        if self.weights is not None and "sample_weight" not in taken:
            raise ValueError(
                f"{type(ranker).__name__} takes no sample_weight. Pass weights=None, or another "
                "ranker."
            )
        self.ranker_ = ranker
        return self

    def predict(self, X: FrameLike, qid: ArrayLike | None = None) -> Float64Array:
        """Score of every row; higher ranks higher."""
        self._check_fitted()
        return scores(self.ranker_, X, qid)

    def rank(self, X: FrameLike, qid: ArrayLike | None = None) -> Any:
        """Rank of every row in its query, from 1."""
        self._check_fitted()
        return rank(self.ranker_, X, qid)

    def _check_fitted(self) -> None:
        if not hasattr(self, "ranker_"):
            raise ValueError("fit the ranker first: ClickRanker(…).fit(data, log).")
