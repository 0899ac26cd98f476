"""ClickRanker: any ranker, trained on judgements from clicks or on impressions by place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.base import clone

from rankwise.clicks.judgement import Judgements, Method, judgements, lists_of_queries
from rankwise.clicks.log import ClickLog, count_cells
from rankwise.datasets.data import RankingData
from rankwise.groups import QueryGroups
from rankwise.prediction import fit_with, rank, scores
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array

WEIGHTS = ("trust", "impressions", None)


class ClickRanker(NamesOldAttributes, BaseEstimator):
    """A ranker that learns from a click log in place of grades.

    Parameters
    ----------
    estimator : ranker, optional
        Unfitted ranker of rankwise; it is cloned. None: ``LambdaMART()``.
    method : {"ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn", "position"}
        Judgements to learn from, see :func:`judgements`. Its default there, "ctr", also orders
        documents by where they were shown, which a ranker should not learn. "position": no
        judgements, but impressions, for rankers whose ``fit`` takes ``position``.
    propensities : Propensities or array-like, optional
        Examination by place, for the methods "harvest" and "ips". None: harvested from the log.
    weights : {"trust", "impressions"} or None
        Sample weights, see :meth:`Judgements.label`. With ``method="position"``, "impressions" are
        numbers of impressions; "trust" divides them by the lists of the query, so that the rows of
        a query weigh as much as one list.
    shrinkage : float >= 0, "fit" or None
        As in :func:`judgements`. Weights tell the ranker already how little rare pairs say, so that
        the grades need not.

    Attributes
    ----------
    judgements_ : Judgements
        Click rates if ``method="position"``.
    estimator_ : fitted ranker
    n_rows_ : int
        Rows that were judged, and learnt from; of ``method="position"``, the rows of impressions.

    Notes
    -----
    With ``method="ips"``, ``weights="impressions"`` and ``shrinkage=0``, closed forms for squared
    losses have the solution of one row per impression with label click / examination: for points
    and pairs, the loss of equal rows is that of their mean, times their number, up to a constant.

    With ``method="position"``, the impressions of a pair at a place are one row with label 1 and
    one with label 0, as heavy as there were impressions with and without a click. The number of
    rows is bounded by that of pairs times places, however long the log. Documents are compared with
    all that were shown for the query, not only with those of the same list. With
    ``weights="impressions"``, the pairwise losses of LambdaMART are those of one row per impression
    and one group per query. Losses of measures count ranks and need "trust".

    :doc:`/click_learning` compares the methods on simulated users. Which of them serves the users
    of a log, only judgements or an interleaved experiment can tell.

    A log of I impressions takes O(I log I) time and O(I) memory, apart from the fit of the ranker.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData, RidgeRanker
    >>> from rankwise.clicks import ClickRanker, simulate_clicks
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.clip(np.round(X[:, 0] + 1), 0, 2)
    >>> data = RankingData(
    ...     X, y, qid=np.arange(60) // 10, doc_ids=np.array([f"d{i}" for i in range(60)])
    ... )
    >>> log = simulate_clicks(data, X[:, 1], n_sessions=3000, temperature=2.0)
    >>> ranker = ClickRanker(RidgeRanker(), method="ips").fit(data, log)
    >>> bool(np.corrcoef(ranker.predict(X), y)[0, 1] > 0.8)
    True
    """

    @names_its_class
    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Method | Literal["position"] = "coec",
        propensities: Any = None,
        weights: Literal["trust", "impressions"] | None = "trust",
        shrinkage: float | Literal["fit"] | None = 0.0,
    ) -> None:
        check_choice("weights", weights, WEIGHTS)
        if propensities is not None and method not in ("harvest", "ips"):
            raise ValueError(
                f"propensities are for the methods 'harvest' and 'ips', got method={method!r}."
            )
        if method == "position" and weights is None:
            raise ValueError(
                "weights must be 'trust' or 'impressions' for method='position', whose rows stand "
                "for many impressions, got None."
            )
        self.estimator = estimator
        self.method: Method | Literal["position"] = method
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
        TypeError
            If ``data`` is not a :class:`~rankwise.RankingData`, such as an array without ids.
        ValueError
            If the log cannot support the method, or shows no row of ``data``.
        """
        if not isinstance(data, RankingData):
            raise TypeError(
                f"data must be a RankingData with query and document ids, got "
                f"{type(data).__name__}. Pass RankingData(X, y, qid=…, doc_ids=…); y may be zeros."
            )
        rows, offered = self._rows(data, log)
        self.n_rows_: int = len(rows)
        ranker: Any = LambdaMART() if self.estimator is None else clone(self.estimator)
        taken = fit_with(ranker, rows.X, rows.y, {"qid": rows.qid, **offered}, None)
        for name in offered:
            if name not in taken:
                fix = "Use LambdaMART" if name == "position" else "Pass weights=None"
                raise ValueError(
                    f"{type(ranker).__name__} takes no {name}. {fix}, or another ranker."
                )
        self.estimator_: Any = ranker
        return self

    def _rows(self, data: RankingData, log: ClickLog) -> tuple[RankingData, dict[str, Any]]:
        """Rows to learn from, and what ``fit`` of the ranker takes beside them."""
        if self.method == "position":
            self.judgements_: Judgements = judgements(log)
            rows, place = group_impressions(data, log, self.weights == "trust")
            return rows, {"sample_weight": rows.sample_weight, "position": place}
        method = cast("Method", self.method)
        self.judgements_ = judgements(
            log, method, propensities=self.propensities, shrinkage=self.shrinkage
        )
        rows = self.judgements_.label(data, self.weights)
        return rows, {} if self.weights is None else {"sample_weight": rows.sample_weight}

    def predict(self, X: FrameLike, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
        """Score of every row; higher ranks higher."""
        self._check_fitted()
        return scores(self.estimator_, X, qid)

    def rank(self, X: FrameLike, qid: ArrayLike | QueryGroups | None = None) -> Any:
        """Rank of every row in its query, from 1."""
        self._check_fitted()
        return rank(self.estimator_, X, qid)

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimator_"):
            raise ValueError("fit the ranker first: ClickRanker(…).fit(data, log).")


def group_impressions(
    data: RankingData, log: ClickLog, per_list: bool
) -> tuple[RankingData, Int64Array]:
    """Rows of clicks (y 1) and of impressions without one by pair and place, and places from 1.

    Weights are numbers of impressions; ``per_list`` divides them by the lists of the query.
    """
    cells = count_cells(log)
    rates = judgements(log)
    # Judgements find the rows of pairs; the grade of a pair is its number.
    shown = np.unique(cells.pair)
    found = replace(rates, grade=shown.astype(np.float64)).label(data, None)
    pair = found.y.astype(np.int64)
    first = np.searchsorted(cells.pair, pair)
    n_cells = np.searchsorted(cells.pair, pair, side="right") - first
    row = np.repeat(np.arange(len(pair)), n_cells)
    # Cells of a pair follow one another.
    cell = np.arange(len(row)) + np.repeat(first - np.cumsum(n_cells) + n_cells, n_cells)
    n, clicks = cells.n[cell], cells.clicks[cell]
    if per_list:
        lists = lists_of_queries(log, cells)[cells.pair[cell]]
        n, clicks = n / lists, clicks / lists
    weight = np.concatenate([clicks, n - clicks])
    label = np.repeat([1.0, 0.0], len(cell))
    kept = np.flatnonzero(weight > 0)
    rows = found.take(np.tile(row, 2)[kept])
    rows = replace(rows, y=label[kept], sample_weight=weight[kept])
    return rows, np.tile(cells.slot[cell] + 1, 2)[kept]
