"""Hand-made weights of signals against learnt ones: take the learnt weights, or keep yours.

All fits come from the Gram statistics of blocks of queries, whose sums give each fold and each draw
of the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit
from scipy.stats import rankdata

from rankwise.clicks.click_model import Propensities, examination_of
from rankwise.clicks.log import ClickLog
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.tables import read_table
from rankwise.decisions.weight_formula import (
    WeightFormat,
    check_weights,
    format_weights,
    parse_weights,
)
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.significance import compare_to_baseline, holm, paired_test
from rankwise.metrics.spec import parse
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_share, check_whole, did_you_mean, setting
from rankwise.runtime.result import Result
from rankwise.solvers.least_squares.design import LinearDesign, ShiftedColumns, draw_grams
from rankwise.solvers.least_squares.gram import Gram, total
from rankwise.solvers.least_squares.path_selection import non_negative_coef
from rankwise.tuning import deal_queries
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed, is_sparse

# Strengths of the pull towards the current weights; at infinity they stay as they are.
STRENGTHS = np.array([math.inf, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01])
NO_PULL = 1e-6  # so weak that only singular fits notice it
# The largest strength within this many standard errors of the best is chosen.
ERRORS = 1.0
N_FOLDS, LEAST_QUERIES = 10, 10
MOST_BLOCKS = 1000  # of queries that the bootstrap draws
# Share of the draws outside that gives boxes their level, measured on simulated users.
OPTIMISM = 0.6
LARGEST = 1e100  # magnitude of signals
LEAST_PROPENSITY = 0.1  # smaller ones would give single clicks too much weight
# Parts of the names of labels that are feedback on what was shown.
FEEDBACK = ("click", "used", "opened", "purchas", "bought", "ordered", "accept", "copied", "liked")


@dataclass(frozen=True, eq=False)
class WeightComparison(Result):
    """Current and learnt weights of signals, and which of them to use.

    Attributes
    ----------
    signals : ndarray of shape (n_signals,) of str
    current, learned : ndarray of shape (n_signals,), float64
        Weights; their absolute values have the same sum, since only ratios change a ranking.
    low, high : ndarray of shape (n_signals,), float64
        Joint interval of the weights that fit best, without a pull towards the current ones: all
        signals at once lie inside with about ``confidence_level``. NaN without resamples, and for
        signals that are constant within every query or can be computed from others. The pull may
        leave learnt weights outside.
    worth, worth_p : ndarray of shape (n_signals,), float64
        Mean of the measure that the signal adds to the others on held-out queries, and its p-value
        after Holm's correction.
    verdict : {"take", "keep yours"}
        "take": the learnt weights are significantly better on held-out queries, by more than
        ``margin``.
    gain, gain_low, gain_high, p_value : float
        Mean of the measure on held-out queries, learnt minus current, its interval and the p-value
        of the paired test that it is 0.
    current_mean, learned_mean : float
        Means of the measure on held-out queries.
    strength : float
        Chosen pull towards the current weights; inf: the learnt weights are the current ones.
    n_queries, margin, confidence_level, measure
    notes : list of str
    """

    signals: NDArray[Any]
    current: Float64Array
    learned: Float64Array
    low: Float64Array
    high: Float64Array
    worth: Float64Array
    worth_p: Float64Array
    verdict: Literal["take", "keep yours"]
    gain: float
    gain_low: float
    gain_high: float
    p_value: float
    current_mean: float
    learned_mean: float
    strength: float
    n_queries: int
    margin: float
    confidence_level: float
    measure: str
    notes: list[str] = field(default_factory=list)

    _derived: ClassVar[tuple[str, ...]] = ("weights", "without_gain")
    _drawn = "learned"

    @property
    def weights(self) -> dict[str, float]:
        """Weights to use: the learnt ones if the verdict is "take", else the current ones."""
        chosen = self.learned if self.verdict == "take" else self.current
        return dict(zip(self.signals.tolist(), chosen.tolist(), strict=True))

    @property
    def without_gain(self) -> list[str]:
        """Signals that do not show on held-out queries that they add something to the others."""
        adds = (self.worth > 0) & (self.worth_p < 1 - self.confidence_level)
        return self.signals[~adds].tolist()

    def export(self, form: WeightFormat = "formula") -> str:
        """Write :attr:`weights` for another system, see :func:`format_weights`."""
        return format_weights(self.weights, form)

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        lines, below = super()._cells()
        level = f"{100 * self.confidence_level:g} %"
        said = f"low, high: joint {level} interval of the weights that fit best, without the pull"
        return lines, [*below, f"{said} towards the current ones."]

    def _heading(self) -> str:
        idle = self.without_gain
        shown = f" No gain is shown by {', '.join(idle)}." if idle else ""
        return (
            f"{self.verdict}: {self.measure} {self.current_mean:.4f} now, {self.learned_mean:.4f} "
            f"learned, on {self.n_queries} held-out queries; gain {self.gain:+.4f} "
            f"({self.gain_low:+.4f} to {self.gain_high:+.4f}), p = {self.p_value:.2g}.{shown}"
        )


@names_its_class
def compare_weights(
    data: Any,
    current: str | Mapping[str, float],
    *,
    label: str | None = None,
    qid: str | None = None,
    position: str | ArrayLike | None = None,
    propensities: Propensities | ArrayLike | None = None,
    nonnegative: bool = True,
    margin: float = 0.0,
    measure: MeasureLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Seed = 0,
) -> WeightComparison:
    """Compare hand-made weights of signals with weights that are learnt from labels or feedback.

    Parameters
    ----------
    data : RankingData, frame or path
        One row per document that was ranked for a query, with its signals and its label.
    current : str or mapping of str to float
        Weights in use, such as ``"0.4*similarity + 0.3*recency"``, see :func:`parse_weights`. Write
        ``0*name`` for a signal that may be added.
    label, qid : str, optional
        Columns of a frame or file, see :meth:`RankingData.from_frame`.
    position : str or array-like of shape (n_samples,), optional
        Rank, from 1, at which each row was shown when its feedback was given: a column, or values.
        Labels, 1 for use and 0 for none, are then divided by the chance that the user looked there.
    propensities : Propensities or array-like of shape (n_positions,), optional
        That chance at the positions 1, 2, …, up to a factor. None: estimated by
        :func:`rankwise.clicks.propensities` from documents shown at several positions, which needs
        document ids.
    nonnegative : bool, default=True
        Whether weights keep the sign of the current ones (of a current weight of 0: >= 0).
    margin : float >= 0, default=0
        Gain of the measure that a change must exceed.
    measure : str, Measure or callable, optional
        Default: "nDCG@10"; with ``position``, "DCG(gain='linear')@10", which corrected feedback
        estimates without bias.
    confidence_level : float in (0, 1)
    n_resamples : int >= 0, default=1000
        Draws of the bootstrap over queries for the intervals of weights.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds and of the bootstrap.

    Returns
    -------
    WeightComparison

    Raises
    ------
    ValueError
        If a signal is missing or holds NaN, no label is positive, queries are not named, or fewer
        than 10 queries have rows with different labels.

    Notes
    -----
    The learnt weights minimise ``sum_q (1/m_q^2) sum_{i<j in q} ((y_i - y_j) - (x_i - x_j)'w)^2 +
    strength * sum_k v_k (w_k - s w0_k)^2``: w0 are the current weights, s the scale at which they
    fit best, v_k the sum of squares of signal k within queries, m_q the rows of query q. The
    strength is one of inf, 30, 10, …, 0.01: the largest whose measure on held-out queries is within
    one standard error of the best. The gain is nested: the queries that measure it have chosen
    neither weights nor strength. Queries whose rows all have the same label are left out.

    Intervals come from a bootstrap over queries of the weights without a pull, with the expanded
    percentiles of [1]_, a bit wider. They answer "which weights are possible", not "which are best
    to use". Measured errors: :doc:`/tune_weights`.

    O(N d^2) for N rows and d signals, and 45 fits of d^3 for each strength.

    References
    ----------
    .. [1] Hesterberg, "What teachers should know about the bootstrap", The American Statistician
       69:371-386, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData
    >>> from rankwise.decisions import compare_weights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2))
    >>> y = (X @ [0.2, 0.8] + 0.1 * rng.normal(size=2000) > 0.7).astype(float)
    >>> data = RankingData(
    ...     X, y, qid=np.arange(2000) // 10, feature_names=["similarity", "recency"]
    ... )
    >>> found = compare_weights(data, "0.7*similarity + 0.3*recency")
    >>> found.verdict, found.gain > 0.1
    ('take', True)
    """
    weights = parse_weights(current) if isinstance(current, str) else check_weights(current)
    check_share("confidence_level", confidence_level)
    if not margin >= 0:
        raise ArgumentError("margin", f"must be a number >= 0, got {margin}.")
    check_whole("n_resamples", n_resamples, 0)
    if propensities is not None and position is None:
        fix = f"Name the column of ranks with {setting('position')}."
        raise ArgumentError("propensities", f"must come with positions, got none. {fix}")
    rows, shown, notes = _read_rows(data, weights, label, qid, position)
    spec = measure or ("nDCG@10" if shown is None else "DCG(gain='linear')@10")
    parsed = parse(spec)
    if shown is not None:
        rows = _weigh_feedback(rows, shown, propensities, notes)
    elif label is not None and any(word in label.lower() for word in FEEDBACK):
        notes.append(
            f"{label!r} looks like feedback, which favours what was shown at the top. Name the "
            f"column of ranks with {setting('position')}"
        )
    rows = _drop_uniform(rows, notes)
    fits = _Fits(
        rows, np.array(list(weights.values())), nonnegative, parsed, draw_seed(random_state)
    )
    now, held_out, without, strength = fits.cross_validate()
    sign = 1.0 if parsed.greater_is_better else -1.0
    table = compare_to_baseline(
        {"current": sign * now, "learned": sign * held_out},
        "current",
        correction="holm",  # the interval is then that of the t test
        confidence_level=confidence_level,
    )
    row = next(row for row in table if row.name == "learned")
    is_better = row.difference_low > margin and math.isfinite(strength)
    tests = [paired_test(sign * held_out, sign * values) for values in without.T]
    low, high = fits.intervals(n_resamples, confidence_level)
    notes += _list_doubts(fits, list(weights), is_better, low, high)
    return WeightComparison(
        signals=np.array(list(weights)),
        current=fits.current,
        learned=fits.learn(strength),
        low=low,
        high=high,
        worth=np.array([test.mean_difference for test in tests]),
        worth_p=holm([test.p_value for test in tests]),
        verdict="take" if is_better else "keep yours",
        gain=row.difference,
        gain_low=row.difference_low,
        gain_high=row.difference_high,
        p_value=row.p_value,
        current_mean=float(np.nanmean(now)),
        learned_mean=float(np.nanmean(held_out)),
        strength=strength,
        n_queries=rows.n_queries,
        margin=float(margin),
        confidence_level=confidence_level,
        measure=spec if isinstance(spec, str) else str(parsed),
        notes=notes,
    )


def _read_rows(
    data: Any,
    weights: Mapping[str, float],
    label: str | None,
    qid: str | None,
    position: str | ArrayLike | None,
) -> tuple[RankingData, NDArray[Any] | None, list[str]]:
    """Judged rows whose columns are the signals in order, positions, and notes."""
    shown = position if isinstance(position, str) else None
    if not isinstance(data, RankingData):
        wanted = [*weights, *([shown] if shown and shown not in weights else [])]
        named: dict[str, Any] = {"label": label, "qid": qid, "dtype": np.float64}
        read = read_table if isinstance(data, str | Path) else RankingData.from_frame
        data = read(data, features=wanted, **named)
    names = list(data.feature_names or ())
    for name in (*weights, *([shown] if shown else [])):
        if name not in names:
            where = "current" if name in weights else "position"
            listed = ", ".join(names[:20]) or "none: pass feature_names"
            hint = did_you_mean(name, names, f"Columns of numbers: {listed}.")
            raise ArgumentError(where, f"must name columns of the data, got {name!r}. {hint}")
    if data.n_queries == 1:
        fix = f"Name the column of queries with {setting('qid')}, or measure more queries."
        raise ValueError(f"rows must be of several queries, but all {len(data)} have one. {fix}")
    notes = []
    if data.judged is not None:
        notes.append(f"rows without a label, left out: {int((~data.judged).sum())}")
    if data.sample_weight is not None:
        notes.append("sample weights are not used: every query weighs the same")
    at = None if position is None else np.asarray(position)
    if shown:
        at = _columns(data, [names.index(shown)])[:, 0]
    elif at is not None and at.shape != (len(data),):
        found = f"shape {at.shape} for {len(data)} rows"
        raise ArgumentError("position", f"must have one rank per row, got {found}.")
    if data.judged is not None and at is not None:
        at = at[data.judged]
    data = data.only_judged()
    X = _columns(data, [names.index(name) for name in weights])
    for row, column in np.argwhere(~(np.abs(X) <= LARGEST))[:1]:
        value = X[row, column]
        value = "NaN" if np.isnan(value) else f"{value:g}" if np.isfinite(value) else "infinity"
        raise ValueError(
            f"Input X contains {value} at row {row}, column {column} ({list(weights)[column]!r}). "
            f"Fill in what your formula uses for missing signals, such as 0; beyond {LARGEST:g}, "
            "sums of squares overflow."
        )
    if not (data.y > 0).any():
        fix = "Check the column, and that feedback was joined to the rows."
        raise ArgumentError("label", f"must be positive in some rows, but none is above 0. {fix}")
    return replace(data, X=X, feature_names=list(weights), sample_weight=None), at, notes


def _columns(data: RankingData, places: Sequence[int]) -> Float64Array:
    """Some columns of X as a dense array."""
    X = data.X[:, places]
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _weigh_feedback(
    rows: RankingData, shown: NDArray[Any], given: Any, notes: list[str]
) -> RankingData:
    """Rows whose labels are divided by the chance that users looked at their position."""
    if not np.isin(rows.y, (0, 1)).all():
        value = rows.y[~np.isin(rows.y, (0, 1))][0]
        raise ArgumentError("label", f"must be 0 or 1 with positions, got {value:g}.")
    ranks = np.asarray(shown, dtype=np.float64)
    wrong = ~((ranks >= 1) & (ranks == np.floor(ranks)) & (ranks <= 10_000))
    if wrong.any():
        row = int(wrong.argmax())
        fix = "Ranks count from 1; drop rows that were not shown."
        raise ArgumentError(
            "position", f"must be whole ranks, got {shown[row]} at row {row}. {fix}"
        )
    places = ranks.astype(np.int64)
    if given is None and rows.doc_ids is None:
        raise ArgumentError(
            "propensities",
            "must be given if documents have no ids, by which they could be estimated. Add a "
            "column of ids, or pass the chance to be looked at for the positions 1, 2, …",
        )
    ids = np.arange(len(rows)).astype(str) if rows.doc_ids is None else rows.doc_ids
    log = ClickLog.from_columns(rows.qid, ids, places, rows.y, first_place=1)
    chances = examination_of(log, given)[places - 1]
    chances = chances / np.nanmax(chances)
    low = chances < LEAST_PROPENSITY
    if low.any():
        notes.append(
            f"{int(low.sum())} rows at positions where users looked in less than "
            f"{LEAST_PROPENSITY:.0%} count as if they had looked in {LEAST_PROPENSITY:.0%}"
        )
    return replace(rows, y=rows.y / np.maximum(chances, LEAST_PROPENSITY))


def _drop_uniform(rows: RankingData, notes: list[str]) -> RankingData:
    """Rows of the queries that have different labels; at least ten of these."""
    groups = rows.groups
    y = groups.sort(rows.y)
    differ = np.maximum.reduceat(y, groups.indptr[:-1]) > np.minimum.reduceat(y, groups.indptr[:-1])
    n = int(differ.sum())
    if n < LEAST_QUERIES:
        raise ValueError(
            f"weights need at least {LEAST_QUERIES} queries with different labels, since parts of "
            f"them are held out, but {n} of {groups.n_queries} queries have rows with different "
            "labels. Label more queries, or check the column of queries."
        )
    if n < groups.n_queries:
        notes.append(f"queries without different labels, left out: {groups.n_queries - n}")
        rows = rows.take(np.flatnonzero(differ[groups.codes()]))
    return rows


def _list_doubts(
    fits: _Fits, names: Sequence[str], is_better: bool, low: Float64Array, high: Float64Array
) -> list[str]:
    """Notes on signals that these queries cannot weigh, and on a formula that they contradict."""
    notes = []
    if not fits.known.all():
        which = ", ".join(np.array(names)[~fits.known])
        notes.append(
            f"no interval for {which}: constant within every query, or computable from other "
            "signals, so that many weights order alike"
        )
    if fits.keeps_signs and not fits.current * fits.signs @ fits.whole.rhs > 0:
        notes.append(
            "labels fall as the formula rises: check its signs, or allow others by "
            f"{setting('nonnegative', False)}"
        )
    outside = (fits.current < low) | (fits.current > high)
    if not is_better and outside.any():
        which = ", ".join(np.array(names)[outside])
        notes.append(
            f"other weights of {which} fit the labels better, but no better order is shown by "
            "these queries"
        )
    return notes


class _Fits:
    """Weights on parts of the queries, and their measure on the others.

    Signals with a negative current weight are turned around if signs are kept.
    """

    def __init__(
        self, rows: RankingData, current: Float64Array, keeps_signs: bool, measure: Any, seed: int
    ) -> None:
        self.rows, self.current, self.measure = rows, current, measure
        self.keeps_signs, self.seed = keeps_signs, seed
        self.signs = np.where((current < 0) & keeps_signs, -1.0, 1.0)
        X, starts = rows.groups.sort(np.asarray(rows.X)), rows.groups.indptr[:-1]
        spread = np.maximum.reduceat(X, starts) - np.minimum.reduceat(X, starts)
        self.varies: NDArray[np.bool_] = np.any(spread > 0, axis=0)
        self.folds = deal_queries(rows.groups, N_FOLDS, seed)
        parts = [rows.groups.subset(fold) for fold in self.folds]
        self.held_out = [(rows.X[at], rows.y[at], groups.sizes) for at, groups in parts]
        self.parts = self._grams(self.folds)
        self.whole = total(self.parts)
        # Directions in which the weights can change without any effect on the fit.
        unit = np.sqrt(np.where(self.varies, np.diag(self.whole.matrix), np.inf))
        values, vectors = np.linalg.eigh(self.whole.matrix / np.outer(unit, unit))
        self.known = (np.abs(vectors[:, values < 1e-9]) < 1e-3).all(axis=1)

    def _grams(self, queries: Sequence[Int64Array]) -> list[Gram]:
        """Gram statistics of sets of queries."""
        rows, design = self.rows, LinearDesign(ShiftedColumns(np.zeros(len(self.current)), False))
        problem = SquaredLoss("all", "query").on(
            FitData(rows.X * self.signs, rows.y, rows.groups, None)
        )
        return next(draw_grams(design, problem, queries))

    def learn(self, strength: float) -> Float64Array:
        """Weights by all queries."""
        return self._fit(self.whole, np.array([strength]))[0]

    def cross_validate(self) -> tuple[Float64Array, Float64Array, Float64Array, float]:
        """Measures of held-out queries, and the strength for all queries.

        Returns the values of current weights (n_queries,), of learnt weights, whose strength other
        queries chose, and of learnt weights without each signal (n_queries, n_signals).
        """
        n, p = self.rows.n_queries, len(self.current)
        inner = np.full((N_FOLDS, n, len(STRENGTHS)), np.nan)
        for k, j in combinations(range(N_FOLDS), 2):
            weights = self._fit(self.whole - self.parts[k] - self.parts[j], STRENGTHS)
            inner[k, self.folds[j]] = self._measure(weights, j)
            inner[j, self.folds[k]] = self._measure(weights, k)
        outer = np.full((n, len(STRENGTHS)), np.nan)
        now, learned, without = np.empty(n), np.empty(n), np.empty((n, p))
        for k, fold in enumerate(self.folds):
            train = self.whole - self.parts[k]
            outer[fold] = self._measure(self._fit(train, STRENGTHS), k)
            chosen = self._choose(inner[k])
            now[fold], learned[fold] = outer[fold, 0], outer[fold, chosen]
            strength = STRENGTHS[chosen : chosen + 1]
            others = [self._fit(train, strength, drop=signal)[0] for signal in range(p)]
            without[fold] = self._measure(np.array(others), k)
        return now, learned, without, float(STRENGTHS[self._choose(outer)])

    def intervals(self, n_draws: int, confidence_level: float) -> tuple[Float64Array, Float64Array]:
        """Joint percentile intervals of the weights without a pull, by a bootstrap over queries."""
        p, n = len(self.current), min(MOST_BLOCKS, self.rows.n_queries)
        if not n_draws:
            return np.full(p, np.nan), np.full(p, np.nan)
        blocks = self._grams(deal_queries(self.rows.groups, n, self.seed))
        rng = np.random.default_rng(self.seed)
        pull = np.array([NO_PULL])
        counts = rng.multinomial(n, np.full(n, 1 / n), n_draws).astype(np.float64)
        matrices = counts @ np.stack([gram.matrix.ravel() for gram in blocks])
        sides = counts @ np.stack([gram.rhs for gram in blocks])
        drawn = (
            replace(self.whole, matrix=matrix, rhs=rhs)
            for matrix, rhs in zip(matrices.reshape(-1, p, p), sides, strict=True)
        )
        draws = np.array([self._fit(gram, pull)[0] for gram in drawn])
        # A draw lies inside if none of its signals is among the first or last ranks. Ties, as of
        # weights at 0, are inside together.
        ranks = rankdata(draws, method="max", axis=0), rankdata(-draws, method="max", axis=0)
        depth = np.minimum(*ranks).min(axis=1)
        # Draws vary less than means of n queries do: Hesterberg's expanded percentiles. And the box
        # is chosen on the draws that it must hold.
        size = math.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + confidence_level) / 2)
        outside = OPTIMISM * 2 * ndtr(-size)
        tail = max(np.quantile(depth, outside, method="lower") - 1, 0) / n_draws
        low, high = np.where(self.known, np.quantile(draws, [tail, 1 - tail], axis=0), np.nan)
        return low, high

    def _choose(self, values: Float64Array) -> int:
        """Index of the largest strength within one standard error of the best."""
        values = values[~np.isnan(values).any(axis=1)]
        values = values if self.measure.greater_is_better else -values
        best = int(values.mean(axis=0).argmax())
        losses = values[:, best : best + 1] - values
        errors = losses.std(axis=0, ddof=1) / math.sqrt(len(values))
        return int((losses.mean(axis=0) <= ERRORS * errors).argmax())

    def _measure(self, weights: Float64Array, fold: int) -> Float64Array:
        """Values of a fold's queries for several weights, shape (n_queries, n_weights)."""
        X, y, sizes = self.held_out[fold]
        m = len(weights)  # all weights in one call, each on queries of its own
        groups = QueryGroups.from_sizes(np.tile(sizes, m))
        values = self.measure.per_query(np.tile(y, m), (weights @ X.T).ravel(), groups)
        return values.reshape(m, -1).T

    def _fit(self, gram: Gram, strengths: Float64Array, drop: int | None = None) -> Float64Array:
        """Weights for each strength, shape (n_strengths, n_signals), at the current scale."""
        w0, squares = self.current * self.signs, np.diag(gram.matrix)
        used = self.varies & (squares > 1e-12 * np.diag(self.whole.matrix))  # by these queries
        if drop is not None:
            w0, used = w0.copy(), used.copy()
            w0[drop], used[drop] = 0.0, False
        unit = np.sqrt(np.where(used, squares, 1.0))
        R = np.where(np.outer(used, used), gram.matrix, 0.0) / np.outer(unit, unit)
        r, u0 = np.where(used, gram.rhs, 0.0) / unit, w0 * used * unit
        fitted = u0 @ R @ u0
        scale = max(u0 @ r / fitted, 0.0) if fitted > 0 else 0.0
        found, eye = np.tile(w0, (len(strengths), 1)), np.eye(len(w0))
        pulls = strengths[np.isfinite(strengths)]
        sides = r + pulls[:, None] * scale * u0
        free = np.linalg.solve(R + pulls[:, None, None] * eye, sides[:, :, None])[:, :, 0]
        for row, u in zip(np.flatnonzero(np.isfinite(strengths)), free, strict=True):
            if self.keeps_signs and (u < 0).any():  # else the bounds do not bind
                bounded = replace(gram, matrix=R, rhs=r + strengths[row] * scale * u0)
                u = non_negative_coef(bounded, 1.0 / strengths[row : row + 1])[0]
            w = np.where(used, u / unit, scale * w0)
            size = np.abs(w[self.varies]).sum()
            if size:
                w *= np.abs(self.current[self.varies]).sum() / size
                found[row, self.varies] = w[self.varies]
        return found * self.signs
