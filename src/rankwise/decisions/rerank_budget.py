"""Is the reranker worth its calls: the measure by the number of reranked documents per query.

A depth loses at most what it is worse than any other depth, each by its own bound (an
intersection-union test [1]_); which depth is the best need not be known. By Bonferroni over the
depths, the bounds hold jointly. Spearman's rho has the interval of [2]_.

References
----------
.. [1] Berger & Hsu, "Bioequivalence trials, intersection-union tests and equivalence confidence
   sets", Statistical Science 11(4):283-319, 1996.
.. [2] Bonett & Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
   correlations", Psychometrika 65(1):23-28, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.special import entr, ndtri
from scipy.stats import spearmanr

from rankwise.checks.exact_values import exact_float64
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.results import read_judgements
from rankwise.datasets.readers.trec import Run
from rankwise.datasets.table_columns import is_frame
from rankwise.decisions.scored_lists import ScoredLists, list_scores
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.spec import list_specs, parse
from rankwise.metrics.statistics.intervals import mean_intervals
from rankwise.prediction import predictions
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_share, check_whole
from rankwise.runtime.result import Result, ResultList
from rankwise.selection.cells.candidates import (
    COLUMN,
    ColumnScores,
    RunScores,
    model_rows,
    run_scores,
)
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.splits import convert_to_judged
from rankwise.selection.systems import evaluate_systems
from rankwise.typing import Float64Array, Int64Array

_TOP = 10  # documents that the signals of a list describe
# Share of unjudged documents that reranking may add among the measured ones without a note.
_MORE_UNJUDGED = 0.05


@dataclass(frozen=True)
class RerankSignal(Result):
    """A number of the first list as a reason to rerank a query or not.

    Attributes
    ----------
    name : str
        "top": highest score; "gap": it minus the second; "lead": it minus the mean of the first
        ten; "spread": standard deviation of the first ten; "entropy" of the first ten scores above
        the tenth, from 0 to 1. All but the last with the sign that a large value means doubt.
        "random": no signal.
    rho, low, high : float in [-1, 1]
        Spearman's rank correlation with the gain by reranking the query, and its joint interval
        over all signals (Bonett and Wright 2000); NaN for "random".
    half : float
        Mean of the measure if the half of the queries with the most doubt is reranked, or a random
        half.
    loss, loss_low, loss_high : float
        Mean if all queries are reranked minus ``half``, and its joint interval.
    """

    name: str
    rho: float
    low: float
    high: float
    half: float
    loss: float
    loss_low: float
    loss_high: float


@dataclass(frozen=True, eq=False)
class RerankBudget(Result):
    """Measure and cost of a reranker by depth, the number of documents that it scores per query.

    Attributes
    ----------
    depth : ndarray of shape (n_depths,), int64
        0 first: no reranking.
    calls : ndarray of shape (n_depths,), float64
        Mean number of documents to score per query; lists may be shorter than the depth.
    mean : ndarray of shape (n_depths,), float64
        Mean of the measure over queries. Reranking a random share s of the queries has the mean
        ``(1 - s) * mean[0] + s * mean[i]`` at ``s * calls[i]`` calls.
    gain, gain_low, gain_high : ndarray of shape (n_depths,), float64
        Mean minus that without reranking, and intervals that hold jointly for all depths.
    loss_high : ndarray of shape (n_depths,), float64
        Upper bounds, joint for all depths, of the loss against the best depth, whichever that is.
    unjudged : ndarray of shape (n_depths,), float64
        Share of unjudged documents among those that the measure reads.
    seconds, cost : ndarray of shape (n_depths,), float64, or None
        Seconds per query if documents are scored one after the other, and price of 1,000 queries.
    measure : str
    n_queries : int
        Judged queries that count.
    margin : float
        Largest loss that is accepted.
    confidence_level : float
    cheapest : int or None
        Smallest depth that is shown to lose at most ``margin``; None: no depth is.
    verdict : {"helps", "hurts", "unclear"}
        "helps": some depth is better than no reranking; "hurts": none is, and some depth is worse;
        by the joint intervals.
    signals : list of RerankSignal
        About reranking at the cheapest depth or, if it is 0 or None, at the deepest one; "random"
        first. Intervals are joint over the signals only, at a depth that the same queries chose.
        Empty with fewer than 10 queries.
    notes : list of str
    advice : list of str
        What to do, in sentences.
    """

    _derived = ("advice",)
    _drawn = "mean"

    depth: Int64Array
    calls: Float64Array
    mean: Float64Array
    gain: Float64Array
    gain_low: Float64Array
    gain_high: Float64Array
    loss_high: Float64Array
    unjudged: Float64Array
    seconds: Float64Array | None
    cost: Float64Array | None
    measure: str
    n_queries: int
    margin: float
    confidence_level: float
    cheapest: int | None
    verdict: Literal["helps", "hurts", "unclear"]
    signals: ResultList[RerankSignal]
    notes: list[str]

    @property
    def advice(self) -> list[str]:
        """What to do, in sentences."""
        return [self._describe_gain(), *self._describe_cheapest(), *self._describe_signals()]

    def _heading(self) -> str:
        return f"{self.measure} of {self.n_queries} queries by reranked documents per query"

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        level = f"{100 * self.confidence_level:g} %"
        header = ["depth", "calls", "mean", "gain", f"{level} interval", "max loss"]
        rows = []
        for i, depth in enumerate(self.depth.tolist()):
            row = [str(depth), f"{self.calls[i]:.4g}", f"{self.mean[i]:.4f}", "", ""]
            if i:
                row[3] = f"{self.gain[i]:+.4f}"
                row[4] = f"{self.gain_low[i]:+.3f} to {self.gain_high[i]:+.3f}"
            rows.append([*row, f"{self.loss_high[i]:.4f}"])
        for name, column in (("seconds", self.seconds), ("cost", self.cost)):
            if column is not None:
                header.append(name)
                rows = [[*row, f"{x:.3g}"] for row, x in zip(rows, column, strict=True)]
        return [header, *rows], self.advice

    def _describe_gain(self) -> str:
        if self.verdict == "hurts":
            worse = self.depth[self.gain_high < 0]
            if len(worse) + 1 == len(self.depth):
                return "Stop: reranking hurts at every depth."
            depths = ", ".join(map(str, worse))
            return f"Stop: reranking hurts at depth {depths}, and no depth shows a gain."
        helps = self.verdict == "helps"
        text = "Reranking helps" if helps else "No gain is shown"
        shown = self.gain_low > 0 if helps else self.depth > 0
        best = int(np.argmax(np.where(shown, self.gain, -math.inf)))
        return (
            f"{text}: {self.gain[best]:+.4f} at depth {self.depth[best]} "
            f"({self.gain_low[best]:+.4f} to {self.gain_high[best]:+.4f})."
        )

    def _describe_cheapest(self) -> list[str]:
        promise = f"at most {self.margin:g} below the best depth"
        if self.cheapest == 0:
            return [f"Not worth its calls: without reranking, the mean is {promise}."]
        if self.cheapest is not None:
            share = self.calls[self.depth == self.cheapest][0] / self.calls[-1]
            return [
                f"Cheapest depth that is {promise}: {self.cheapest}.",
                f"It takes {share:.0%} of the calls of depth {self.depth[-1]}.",
            ]
        texts = [f"No depth is shown to be {promise}."]
        least = int(np.argmin(np.nan_to_num(self.loss_high, nan=math.inf)))
        if math.isfinite(self.loss_high[least]):
            shown = math.ceil(1000 * self.loss_high[least]) / 1000
            texts.append(
                f"The smallest margin that is shown is {shown:g}, at depth {self.depth[least]}."
            )
        return [*texts, "Judge more queries, or choose a larger margin."]

    def _describe_signals(self) -> list[str]:
        if not self.signals:
            return []
        known = [signal for signal in self.signals if signal.low > 0]
        if not known:
            rho = [signal.rho for signal in self.signals[1:]]
            ends = f"{min(rho):+.2f} to {max(rho):+.2f}"
            return [f"No signal of the first list predicts which queries gain (rho {ends})."]
        best = max(known, key=lambda signal: signal.low)
        return [
            f"Signals that go with the gain: {', '.join(signal.name for signal in known)}.",
            f"Half of the queries, by {best.name}, lose {best.loss:.4f} "
            f"({best.loss_low:+.4f} to {best.loss_high:+.4f}) against all.",
            "These queries chose signal and depth: test both on other queries.",
        ]


@names_its_class
def rerank_budget(
    first: Any,
    reranked: Any,
    data: Any,
    *,
    depths: int | Sequence[int] | None = None,
    measure: MeasureLike = "nDCG@10",
    margin: float = 0.01,
    price: float | None = None,
    seconds: float | None = None,
    confidence_level: float = 0.95,
) -> RerankBudget:
    """Measure and cost of a reranker by depth, and the cheapest depth that is good enough.

    At depth d, the first d documents of each list are reordered by the reranker. The others stay
    below them, in their order.

    Parameters
    ----------
    first : run, "column:NAME", array-like of shape (n_rows,) or fitted ranker
        Lists or scores of the first stage. A run is anything that :func:`rankwise.fusion.as_run`
        takes; all others score the rows of ``data``.
    reranked : run, "column:NAME", array-like of shape (n_rows,) or fitted ranker
        Scores of the reranker, or grades of a machine judge, on a sample of queries. Documents that
        a run lacks, and rows with NaN, have no score: they stay below the reranked ones.
    data : RankingData, frame or judgements
        Judgements in any form that :func:`rankwise.text.read_judgements` takes, if both are runs;
        else judged rows, of a frame by the usual names (:meth:`RankingData.from_frame`).
    depths : int >= 1 or sequence of them, optional
        Numbers of documents to rerank per query. None: 5, 10, 20, 50, 100, … up to the last
        document with a score.
    measure : str, Measure or callable
    margin : float >= 0
        Loss of the measure, compared with the best depth, that is accepted for fewer calls.
    price : float >= 0, optional
        Price of scoring one document, in any currency.
    seconds : float >= 0, optional
        Seconds to score one document.
    confidence_level : float in (0, 1)
        Of the promise, and joint level of the intervals.

    Returns
    -------
    RerankBudget

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong, or no document of the first lists has a reranker's score.

    Notes
    -----
    Intervals are those of :func:`rankwise.metrics.significance.mean_intervals` for paired
    differences, by Bonferroni over the depths. They are wide for few queries: if the same documents
    come first in all of n queries, about 5 / n of all queries may still differ. The promise
    "``cheapest`` is at most ``margin`` below the best depth" is wrong with a probability of at most
    ``1 - confidence_level``, also for a margin chosen after a look at ``loss_high``. It holds for
    queries like the judged ones.

    Equal scores of a run are ordered as by trec_eval, those of rows without document ids at random;
    equal scores of the reranker keep the order of the first stage. Queries count that are judged
    and that the reranker has scored. Unjudged documents count as not relevant; many of them make a
    good reranker look harmful, if only the first stage was judged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(6000) < 0.1).astype(float)
    >>> first, reranked = y + rng.normal(0, 1, 6000), y + rng.normal(0, 0.3, 6000)
    >>> data = RankingData(np.empty((6000, 0)), y, qid=np.arange(6000) // 20)
    >>> budget = rerank_budget(first, reranked, data, margin=0.05, price=0.001)
    >>> budget.verdict, budget.cheapest, budget.cost.tolist()
    ('helps', 20, [0.0, 5.0, 10.0, 20.0])
    """
    for name, value in (("margin", margin), ("price", price), ("seconds", seconds)):
        if value is not None and (not isinstance(value, Real) or not 0 <= float(value) < math.inf):
            raise ArgumentError(name, f"must be a number >= 0, got {value!r}.")
    check_share("confidence_level", confidence_level)
    spec, span = read_measure(measure)
    lists, new, qrels, notes = read_lists(first, reranked, data)
    position = np.arange(len(new)) - np.repeat(lists.indptr[:-1], lists.sizes)
    deepest = 1 + int(position[~np.isnan(new)].max())
    if depths is None:
        series = [k * 10**e for e in range(8) for k in (1, 2, 5)]
        depths = [d for d in series if d < deepest and (d >= 5 or deepest < 10)] + [deepest]
    steps = np.append(0, read_steps("depths", depths))

    board = evaluate_depths(lists, new, steps.tolist(), qrels, spec)
    values = np.column_stack([*board.per_query().values()])
    counts = ~np.isnan(values).any(axis=1)
    if not counts.any():
        raise ValueError(f"no query counts for {spec}: {board.why_undefined()}.")
    values = values[counts]
    number = {query: i for i, query in enumerate(lists.qids.tolist())}
    counted = np.array([number[board.qids[i]] for i in np.flatnonzero(counts)])
    calls = np.minimum(lists.sizes[counted][:, None], steps).mean(axis=0)

    ends = np.vstack([np.zeros((1, 2)), bound_gains(values, span, confidence_level)])
    hurts = "hurts" if (ends[:, 1] < 0).any() else "unclear"
    loss_high = bound_losses(values, span, confidence_level)
    passed = np.flatnonzero(loss_high <= margin)
    chosen = int(passed[0]) if len(passed) else None
    mean = values.mean(axis=0)
    of_signals = values[:, [0, chosen or len(steps) - 1]]
    unjudged = np.array([board.unjudged(name) for name in board.rankers], dtype=np.float64)
    missing = np.isnan(new[position < steps[-1]]).mean()
    if missing:
        notes.append(
            f"{missing:.1%} of the first {steps[-1]} documents have no score of the reranker and "
            "stay below those that have one"
        )
    more = unjudged - unjudged[0]
    if (more > _MORE_UNJUDGED).any():
        notes.append(
            f"reranking moves unjudged documents up ({unjudged[0]:.0%} at depth 0, "
            f"{unjudged[np.argmax(more)]:.0%} at depth {steps[np.argmax(more)]}); they count as "
            "not relevant, so a loss may be one of judgements"
        )
    notes += [note for note in board.cells[0].notes if "unjudged documents" not in note]
    return RerankBudget(
        depth=steps,
        calls=calls,
        mean=mean,
        gain=mean - mean[0],
        gain_low=ends[:, 0],
        gain_high=ends[:, 1],
        loss_high=loss_high,
        unjudged=unjudged,
        seconds=None if seconds is None else calls * seconds,
        cost=None if price is None else 1000 * calls * price,
        measure=str(spec),
        n_queries=len(values),
        margin=float(margin),
        confidence_level=confidence_level,
        cheapest=None if chosen is None else int(steps[chosen]),
        verdict="helps" if (ends[:, 0] > 0).any() else hurts,
        signals=_correlate(lists, counted, of_signals, span, confidence_level),
        notes=notes,
    )


def read_measure(measure: MeasureLike) -> tuple[Any, float]:
    """One measure, and the distance of its bounds."""
    specs = list_specs(measure)
    if len(specs) != 1:
        raise ArgumentError("measure", f"must be one measure, got {len(specs)}.")
    own = parse(specs[0])
    if not own.greater_is_better:
        raise ArgumentError("measure", f"must be larger for better lists, got {specs[0]}.")
    return specs[0], own.bounds[1] - own.bounds[0]


def read_steps(name: str, given: Any) -> Int64Array:
    """Different whole numbers from 1, ascending, of one or several."""
    steps: list[Any] = [given] if np.isscalar(given) else list(given)
    for step in steps:
        check_whole(name, step, 1)
    if not steps:
        raise ArgumentError(name, "must name at least one number, got none.")
    return np.unique(steps)


def read_lists(
    first: Any, reranked: Any, data: Any
) -> tuple[ScoredLists, Float64Array, Any, list[str]]:
    """Lists of the first stage, the reranker's scores of their rows (NaN: none), and notes.

    Judgements of their documents come third.
    """
    start, scored, qrels = _read_runs({"first": first, "reranked": reranked}, data)
    for name, run in (("first", start), ("reranked", scored)):
        if not len(run):
            raise ArgumentError(name, "must have a score of at least one document, got none.")
    notes = []
    kept = np.isin(start.qid, scored.qid)
    if kept.any() and not kept.all():
        lost, n = (len(np.unique(qid)) for qid in (start.qid[~kept], start.qid))
        notes.append(f"{lost:,} of {n:,} queries have no score of the reranker and do not count")
        start = Run(start.qid[kept], start.doc_ids[kept], start.scores[kept])
    lists = list_scores(start)
    qid, ids = np.repeat(lists.qids, lists.sizes), lists.doc_ids
    assert ids is not None
    rows = RankingData(np.empty((len(qid), 0)), np.zeros(len(qid)), qid=qid, doc_ids=ids)
    try:
        new = score_rows("reranked", scored, rows)
    except ValueError:
        raise ValueError(
            f"reranked has no score for any of the {len(qid):,} documents of the first lists: "
            f"query {str(qid[0])!r} has document {str(ids[0])!r}, and reranked has query "
            f"{str(scored.qid[0])!r} with document {str(scored.doc_ids[0])!r}. Check the ids."
        ) from None
    if lost := len(scored) - int((~np.isnan(new)).sum()):
        notes.append(
            f"{lost:,} of {len(scored):,} documents of the reranker are not in the first lists and "
            "are left out"
        )
    return lists, new, qrels, notes


def _read_runs(systems: dict[str, Any], data: Any) -> tuple[Run, Run, Any]:
    """Both systems as runs, and judgements of their documents."""
    given = {name: read_given(system) for name, system in systems.items()}
    runs = {name: found.run for name, found in given.items() if isinstance(found, RunScores)}
    if len(runs) == 2:
        start, largest = runs["first"], np.finfo(np.float32).max
        scores = np.clip(start.scores, -largest, largest)  # single precision as in trec_eval
        start = replace(start, scores=scores.astype(np.float32).astype(np.float64))
        return start, runs["reranked"], data
    columns = [found.name for found in given.values() if isinstance(found, ColumnScores)]
    fits = any(hasattr(system, "predict") for system in systems.values())
    # As features, since these may lack values.
    features = [*dict.fromkeys(columns)] if columns and is_frame(data) and not fits else None
    data = convert_to_judged(data, features=features)
    if not isinstance(data, RankingData):
        raise ArgumentError(
            "data", f"must be judged rows unless both are runs, got {type(data).__name__}."
        )
    parts = [data] if data.missed is None else [data, data.missed]
    if data.doc_ids is None:
        if runs:
            raise ArgumentError(
                "data", f"must have document ids, since {next(iter(runs))} is a run, got none."
            )
        # In an order that tells nothing, since it breaks ties.
        ids = np.random.default_rng(0).permutation(sum(map(len, parts))).astype(str)
        names = np.split(ids, [len(data)])
        parts = [replace(part, doc_ids=own) for part, own in zip(parts, names, strict=False)]
    for name in [name for name in systems if name not in runs]:
        values = score_rows(name, systems[name], data)
        known = np.flatnonzero(~np.isnan(values))
        if name == "first" and len(known) < len(values):
            row = int(np.argmax(np.isnan(values)))
            raise ArgumentError(name, f"must be finite, got no number at row {row}.")
        runs[name] = Run.from_data(parts[0].take(known), values[known])
    return runs["first"], runs["reranked"], read_judgements(parts)


def read_given(system: Any) -> ColumnScores | RunScores | None:
    """Column or run that a system is; None for models and scores."""
    if isinstance(system, str) and system.startswith(COLUMN):
        return ColumnScores(system.removeprefix(COLUMN))
    return run_scores(system)


def score_rows(name: str, system: Any, data: RankingData) -> Float64Array:
    """Scores of judged rows by anything that :func:`rerank_budget` takes; NaN: none."""
    given = read_given(system)
    if isinstance(given, ColumnScores):
        values = given.values(data)
    elif given is not None:
        values = given.of(data).scores
    elif hasattr(system, "predict"):
        values = predictions(system, model_rows(system, data)[0], data.qid).scores
    else:
        values = exact_float64(system, name)
    if values.shape != (data.n_samples,):
        raise ArgumentError(
            name, f"must have one score per row of {data.n_samples}, got {len(values)}."
        )
    return np.where(np.isfinite(values), values, math.nan)


def evaluate_depths(
    lists: ScoredLists, new: Float64Array, depths: list[int], qrels: Any, measure: Any
) -> Leaderboard:
    """Leaderboard of the lists reranked at every depth; 0 is called "first"."""
    query = np.repeat(np.arange(len(lists)), lists.sizes)
    position = np.arange(len(query)) - lists.indptr[query]
    qid, doc_ids = lists.qids[query], lists.doc_ids
    assert doc_ids is not None
    runs = {}
    for depth in depths:
        block = np.where(position >= depth, 2, np.isnan(new))
        order = np.lexsort((position, np.where(block == 0, -new, 0.0), block, query))
        runs[str(depth) if depth else "first"] = Run(
            qid, doc_ids[order], -position.astype(np.float64)
        )
    return evaluate_systems(qrels, runs, measures=[measure])


def bound_gains(values: Float64Array, span: float, confidence_level: float) -> Float64Array:
    """Joint intervals of all columns but the first minus the first, (n_columns - 1, 2)."""
    return mean_intervals(
        values[:, 1:] - values[:, [0]],
        bounds=(-span, span),
        confidence_level=1 - (1 - confidence_level) / (values.shape[1] - 1),
    )


def bound_losses(values: Float64Array, span: float, confidence_level: float) -> Float64Array:
    """Joint upper bounds of what each column is worse than the best one, (n_columns,)."""
    n_columns = values.shape[1]
    first, second = np.triu_indices(n_columns, 1)
    ends = mean_intervals(
        values[:, first] - values[:, second],
        bounds=(-span, span),
        confidence_level=1 - 2 * (1 - confidence_level) / n_columns,  # of which one end is used
    )
    losses = np.zeros((n_columns, n_columns))
    losses[second, first], losses[first, second] = ends[:, 1], -ends[:, 0]
    return losses.max(axis=1)


def _correlate(
    lists: ScoredLists,
    queries: Int64Array,
    values: Float64Array,
    span: float,
    confidence_level: float,
) -> ResultList[RerankSignal]:
    """How signals of the lists of some queries go with the gain.

    ``values`` are those of the queries without and with reranking.
    """
    n, found = len(values), []
    for query in queries.tolist():
        top = lists.scores[lists.indptr[query] : lists.indptr[query + 1]][:_TOP]
        above = top - top[-1]
        share = above / above.sum() if above.sum() > 0 else np.full(len(top), 1 / len(top))
        gap = top[min(1, len(top) - 1)] - top[0]
        entropy = entr(share).sum() / math.log(max(2, len(top)))
        found.append([-top[0], gap, top.mean() - top[0], -top.std(), entropy])
    columns = zip(("top", "gap", "lead", "spread", "entropy"), np.transpose(found), strict=True)
    doubts = {name: column for name, column in columns if np.ptp(column) > 0}
    gain = values[:, 1] - values[:, 0]
    if n < 10 or not np.ptp(gain) or not doubts:
        return ResultList(RerankSignal)
    tail = (1 - confidence_level) / (2 * len(doubts))
    mean, signals = values[:, 1].mean(), []
    for name, doubt in {"random": None, **doubts}.items():
        rho = math.nan if doubt is None else float(np.asarray(spearmanr(doubt, gain))[0])
        width = -ndtri(tail) * math.sqrt((1 + rho**2 / 2) / (n - 3))
        low, high = np.tanh(np.arctanh(rho * (1 - 1e-12)) + np.array([-width, width]))
        share = np.full(n, 0.5)
        if doubt is not None:
            share[np.argsort(-doubt, kind="stable")] = np.arange(n) < n // 2
        lost = (1 - share) * gain
        ends = mean_intervals(lost[:, None], bounds=(-span, span), confidence_level=1 - 2 * tail)
        found_ends = [float(low), float(high), float(mean - lost.mean()), float(lost.mean())]
        signals.append(RerankSignal(name, rho, *found_ends, *ends[0].tolist()))
    return ResultList(RerankSignal, signals)
