"""Search of :class:`AutoRanker`: trials, plan, rows, held-out scores, selection and time."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from rankwise.datasets.table_columns import TIMES_FIX, warn_of_ignored
from rankwise.features.binning import MAX_BINS, append_indicators
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.lambda_gradients import OPTIMISED, check_objective
from rankwise.losses.score_loss import QueryWeight
from rankwise.metrics import parse
from rankwise.metrics.default import refuse_constant
from rankwise.metrics.measure import Measure, MeasureLike
from rankwise.metrics.statistics.paired import paired_test
from rankwise.rankers.boosting.lambdamart import LambdaMART
from rankwise.rankers.elm import PairwiseELM
from rankwise.rankers.ensemble.members import parts
from rankwise.rankers.rank_svm import RankSVM
from rankwise.rankers.regression import RidgeRanker
from rankwise.runtime.frames import Table
from rankwise.runtime.messages import callers_level
from rankwise.runtime.progress import limit_time
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

Family = Literal["linear", "nodes", "trees"]
FAMILIES: tuple[Family, ...] = ("linear", "nodes", "trees")

N_NODE_BAGS, N_TREE_BAGS = 4, 8
# Settings of the trees, starting with the one that suits most data. All are given in full, so that
# other defaults of LambdaMART would not change the trials.
_UNPENALISED: dict[str, Any] = {"reg_lambda": 0.0, "subsample": 1.0}
_TREE_SETTINGS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 15, "min_samples_leaf": 20},
    {"max_leaf_nodes": 31, "min_samples_leaf": 100, "colsample_bytree": 0.5},
    {"max_leaf_nodes": 7, "min_samples_leaf": 20},
    {"max_leaf_nodes": 31, "min_samples_leaf": 20, "subsample": 0.7, "colsample_bytree": 0.7},
    {"max_leaf_nodes": 63, "min_samples_leaf": 200, "colsample_bytree": 0.5},
)
N_TRIALS = 5 + len(_TREE_SETTINGS) + N_NODE_BAGS + N_TREE_BAGS
# Seconds of an eigendecomposition of a matrix of n rows, by n^3, and of a weight of a random node.
_SECONDS_A_CUBE, _SECONDS_A_WEIGHT = 3e-10, 1e-7
# Seconds of a node's value for a row, of a product of two, and of a solution with n nodes, by n^3.
_SECONDS_A_VALUE, _SECONDS_A_PRODUCT, _SECONDS_A_SOLUTION = 2e-8, 3e-11, 5e-11
_BAGGED = {"subsample": 0.7, "colsample_bytree": 0.7}


@dataclass(frozen=True)
class Trial:
    """Setting of a family."""

    name: str
    family: Family
    estimator: Any  # unfitted ranker whose ``fit`` accepts validation rows

    def least_seconds(self, shapes: Iterable[tuple[int, int]]) -> float:
        """Seconds that a trial takes at least, by the shapes of the rows of each part.

        Ridge decomposes a matrix of the smaller side, which takes hours for many rows of many
        columns. Every node has a weight for each column, a value for each row, and a place in the
        matrix of products of all nodes. All other trials are linear in the values of the rows: 0.
        """
        if isinstance(self.estimator, RidgeRanker):
            return _SECONDS_A_CUBE * float(sum(min(shape) ** 3 for shape in shapes))
        if isinstance(self.estimator, PairwiseELM):
            n_nodes, sizes = self.estimator.n_nodes, list(shapes)
            weights = n_nodes * float(sum(n_columns for _, n_columns in sizes))
            values = n_nodes * float(sum(n_rows for n_rows, _ in sizes))
            cubes = float(sum(min(n_rows, n_nodes) ** 3 for n_rows, _ in sizes))
            of_values = (_SECONDS_A_VALUE + _SECONDS_A_PRODUCT * n_nodes) * values
            return _SECONDS_A_WEIGHT * weights + of_values + _SECONDS_A_SOLUTION * cubes
        return 0.0

    def work(self, sizes: Sequence[Size]) -> float:
        """CPU seconds of the trial on all parts by their sizes: of a tree, or of a product of an
        SVM's solver with the rows, or of the whole fit of the other families.

        Measured on simulated rows, 500 to 100,000 of 10 to 136 columns, on one core of a server.
        """
        n_parts, n_rows = len(sizes), sum(size.n_rows for size in sizes)
        n_values = sum(size.n_values for size in sizes)
        if self.family == "trees":
            bins = self.estimator.max_leaf_nodes * MAX_BINS * sum(size.n_columns for size in sizes)
            # Gradients without a cut-off compare all rows of a query.
            is_cut = getattr(parse(self.estimator.measure), "cutoff", None) is not None
            pairs = 0.0 if is_cut else 4e-10 * sum(size.n_pairs for size in sizes)
            return 1e-3 * n_parts + 1.5e-7 * n_rows + 3.3e-9 * n_values + 1e-9 * bins + pairs
        if isinstance(self.estimator, RankSVM):
            return 8e-8 * n_rows + 2.5e-9 * n_values
        return 0.02 * n_parts + self.least_seconds((s.n_rows, s.n_columns) for s in sizes)

    def again(self, name: str, **params: Any) -> Trial:
        """Copy of the trial with other parameters."""
        changed = self.estimator.get_params(deep=False) | params
        return Trial(name, self.family, type(self.estimator)(**changed))


def settings(
    measure: MeasureLike,
    is_graded: bool,
    seed: int,
    n_jobs: int | None,
    *,
    watched: MeasureLike | None = None,
    query_weight: QueryWeight | None = None,
) -> Iterator[Trial]:
    """Settings of all families, cheap ones first.

    ``measure`` is the tuning metric for penalties, and the objective of the trees if possible.
    ``watched`` is the measure of early stopping; None: the objective of the trees. ``is_graded``
    says whether labels are grades, ``seed`` is that of the trials, and ``n_jobs`` counts threads of
    the trees. ``query_weight=None`` takes "pair" and "document" in turn, and "pair" for trees.
    """
    weightings = ("pair", "document") if query_weight is None else (query_weight,)
    yield Trial("ridge", "linear", RidgeRanker("val", measure=measure))
    for weight in weightings:
        svm = RankSVM("val", query_weight=weight, measure=measure)
        yield Trial(f"rank_svm {weight}", "linear", svm)
    for weight in weightings:
        nodes = PairwiseELM(C="val", query_weight=weight, measure=measure, random_state=seed)
        yield Trial(f"pairwise_elm {weight}", "nodes", nodes)
    objective = objective_of(measure, is_graded)
    for number, setting in enumerate(_TREE_SETTINGS, 1):
        trees = LambdaMART(
            500,
            learning_rate=0.05,
            measure=objective,
            early_stopping_rounds=50,
            random_state=seed,
            n_jobs=n_jobs,
            validation_measure=watched,
            query_weight=query_weight or "pair",
            **_UNPENALISED | setting,
        )
        yield Trial(f"lambdamart {number}", "trees", trees)


class Size(NamedTuple):
    """Rows of a part for fitting; ``n_values`` are those stored, pairs those of equal queries."""

    n_rows: int
    n_columns: int
    n_values: int
    n_pairs: int


# CPU seconds that a plan allows. Most fits take a half, as trees stop early: a minute on two cores.
_WORK = 140.0
# CPU seconds that the fewest trees may take on large data, as other models are too simple for them.
_LARGE_WORK = 400.0
# Shares of the work left: of a trial of another family than trees, and of the first trees, which
# are worth more than others if there is no time for both.
_SMOOTH_WORK, _FIRST_TREES = 0.15, 0.7
# Trees that 500 with early stopping grow on average, and products of a path of an SVM.
_EXPECTED_TREES, _EXPECTED_PRODUCTS, _FEWEST_PRODUCTS = 300, 150, 20


@dataclass(frozen=True)
class TrialPlan:
    """Trials of a fit, which depend on the sizes of the data only, never on a clock."""

    limits: dict[str, int | None]  # trees, or products of an SVM in each part, by planned setting
    n_node_bags: int = N_NODE_BAGS
    n_tree_bags: int = N_TREE_BAGS

    @classmethod
    def of(cls, trials: Iterable[Trial], sizes: Sequence[Size]) -> TrialPlan:
        """Settings in their order, then bags, as far as the work suffices."""
        left, limits = _WORK, dict[str, int | None]()
        trials = list(trials)
        svms = [trial for trial in trials if isinstance(trial.estimator, RankSVM)]
        first_trees, bag_work = 0, {"nodes": inf, "trees": inf}
        for trial in trials:
            unit = trial.work(sizes)
            if trial.family == "trees":
                whole = trial.estimator.n_estimators
                most = min(whole, int((1.0 if first_trees else _FIRST_TREES) * left / unit))
                if not first_trees and _FEWEST_TREES * unit <= _LARGE_WORK:
                    most = max(most, _FEWEST_TREES)
                if most < max(_FEWEST_TREES, first_trees // 2):
                    continue
                first_trees, limit = first_trees or most, most
                work = unit * (min(whole, _EXPECTED_TREES) if most == whole else most)
            elif isinstance(trial.estimator, RankSVM):
                limit = int(_SMOOTH_WORK * left / unit)
                work = unit * min(limit, _EXPECTED_PRODUCTS)
                if limit < _FEWEST_PRODUCTS:
                    continue
            else:
                limit, work = None, unit
                if work > _SMOOTH_WORK * left:
                    continue
            limits[trial.name] = limit
            left -= work
            if trial.family in bag_work:  # the best setting is not known yet
                known = bag_work[trial.family]
                bag_work[trial.family] = work if known == inf else max(known, work)
        if not limits:  # the cheapest on rows of any size
            limits.update({svm.name: _FEWEST_PRODUCTS for svm in svms[:1]})
        counts = {"nodes": 0, "trees": 0}
        for number in range(max(N_NODE_BAGS, N_TREE_BAGS)):
            for family, most in (("nodes", N_NODE_BAGS), ("trees", N_TREE_BAGS)):
                if number < most and bag_work[family] <= left:
                    left -= bag_work[family]
                    counts[family] += 1
        return cls(limits, counts["nodes"], counts["trees"])

    def limited(self, trial: Trial) -> Trial:
        """The setting with its number of trees."""
        limit = self.limits[trial.name]
        return trial.again(trial.name, n_estimators=limit) if trial.family == "trees" else trial


def bags(
    members: Sequence[Member],
    seed: int,
    n_node_bags: int = N_NODE_BAGS,
    n_tree_bags: int = N_TREE_BAGS,
) -> Iterator[Trial]:
    """Additional draws of the best setting of each random family, in turn.

    ``members`` are the fitted settings. ``seed`` is that of the settings; bags have the seeds that
    follow.
    """
    best: list[Trial] = []
    for family in FAMILIES:
        of_family = [member for member in members if member.trial.family == family]
        if of_family:
            best.append(max(of_family, key=lambda member: member.value).trial)
    for number in range(1, max(N_NODE_BAGS, N_TREE_BAGS) + 1):
        for trial in best:
            if trial.family == "nodes" and number <= n_node_bags:
                yield trial.again(f"{trial.name} bag {number}", random_state=seed + number)
            if trial.family == "trees" and number <= n_tree_bags:
                again = trial.again(f"{trial.name} bag {number}", random_state=seed + number)
                yield again.again(again.name, **_BAGGED)


def objective_of(measure: MeasureLike, is_graded: bool) -> MeasureLike:
    """The measure if trees can optimise it, otherwise nDCG (of all rows for real labels)."""
    if isinstance(parse(measure), OPTIMISED):
        check_objective(parse(measure), "AutoRanker")
        return measure
    return "nDCG@10" if is_graded else "nDCG"


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rows as input of the families."""

    X: Matrix  # unscaled columns, for the trees
    scaled: Matrix  # scaled columns, for linear rankers and nodes
    y: Float64Array
    qid: Int64Array
    weight: Float64Array | None = None  # (n_samples,), of each row in fits; None: all 1

    def take(self, rows: Int64Array) -> TrialRows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrialRows(self.X[rows], self.scaled[rows], self.y[rows], self.qid[rows], weight)

    def with_indicators(self, categories: Mapping[int, Float64Array]) -> TrialRows:
        """The rows with columns of the categories after the scaled ones."""
        return replace(self, scaled=add_indicators(self.scaled, self.X, categories))

    def of(self, family: Family) -> Matrix:
        """Columns that a family is fitted on."""
        return self.X if family == "trees" else self.scaled

    @property
    def groups(self) -> QueryGroups:
        """Query groups of the rows."""
        return QueryGroups.from_qid(self.qid, len(self.y))

    @property
    def size(self) -> Size:
        """Numbers that a plan is made by."""
        n_values = self.X.nnz if is_sparse(self.X) else self.X.size
        n_rows, n_columns = self.scaled.shape
        n_pairs = int((self.groups.sizes.astype(np.int64) ** 2).sum())
        return Size(n_rows, n_columns, max(n_values, n_rows), n_pairs)


def leave_out_times(table: Table) -> Table:
    """Leave out columns of dates, durations and times of day; a warning names them."""
    table, kinds = table.without_times()
    if kinds and not len(table.rows.columns):
        raise ValueError(
            "X must have a column of numbers or categories, got only columns that hold no numbers: "
            f"{', '.join(kinds)}. {TIMES_FIX}"
        )
    warn_of_ignored(kinds, TIMES_FIX)
    return table


def fold_rows(n_folds: int, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(rows to fit, rows to score) of folds of queries, or of rows if there are fewer queries."""
    n_rows = len(data.y)
    if data.groups.n_queries < n_folds:
        # A single row cannot be ordered, so every fold of rows has two or more.
        n_folds = min(n_folds, n_rows // 2)
    if n_folds > 1 or n_rows < 2:
        return parts(max(n_folds, 2), None, data, data.groups.codes())
    warnings.warn(
        f"AutoRanker holds no rows out, because X has only {n_rows} distinct rows: its trials are "
        "compared on the rows that they were fitted on. Pass more rows, or X_val.",
        UserWarning,
        stacklevel=callers_level(),
    )
    every = np.arange(n_rows)
    return [(every, every)]


def add_indicators(scaled: Matrix, X: Matrix, categories: Mapping[int, Float64Array]) -> Matrix:
    """Scaled columns, followed by those of the categories; X holds the codes."""
    if not categories:
        return scaled
    height = indicator_height(X.shape[1])
    return append_indicators(densify(scaled), densify(X), categories, height)


def indicator_height(n_columns: int) -> float:
    """Value of the indicator of a category in its rows, beside n scaled columns."""
    return float(np.sqrt(3.0 / n_columns))


def scale_columns(X: Matrix, center: Float64Array, scale: Float64Array) -> Matrix:
    """(X - center) * scale, or 0 if a value is missing; sparse rows are not centred."""
    if is_sparse(X):
        scaled = X.multiply(scale).tocsr().astype(np.float64)
        scaled.data = np.nan_to_num(scaled.data)
        return scaled
    return np.nan_to_num((X - center) * scale)


def fit_scaling(X: Matrix) -> tuple[Float64Array, Float64Array]:
    """Center and scale of every column; the scale is 0 if a column does not vary.

    Dense columns are scaled to mean 0, and to a spread at which sums of d columns with weights in
    [-1, 1] have variance 1, so nodes are neither linear nor saturated. Sparse columns are scaled to
    the largest value 1.
    """
    d = X.shape[1]
    if is_sparse(X):
        largest = np.zeros(d)
        np.maximum.at(largest, X.indices, np.nan_to_num(np.abs(X.data)).astype(np.float64))
        return np.zeros(d), np.divide(1.0, largest, out=np.zeros(d), where=largest > 0)
    defined = np.isfinite(X)
    count = np.maximum(defined.sum(axis=0), 1)
    filled = np.where(defined, X, 0.0)
    center = filled.sum(axis=0, dtype=np.float64) / count
    squares = (np.where(defined, X - center, 0.0) ** 2).sum(axis=0) / count
    sd = np.sqrt(squares)
    varies = sd > 1e-12 * np.maximum(np.abs(center), 1e-300)
    return center, np.divide(np.sqrt(3.0 / d), sd, out=np.zeros(d), where=varies)


LEVEL = 0.01
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, eq=False)
class Member:
    """Trial that was fitted on every part."""

    trial: Trial
    models: list[Any]  # one for each part
    # (n_parts,), spread of the scores of each model within queries that it has not seen, see
    # :func:`spread`.
    scales: Float64Array
    levels: Float64Array  # (n_parts,), mean score of each model for rows that it has not seen
    # (n_held_rows,), of the left-out rows, minus the levels and divided by the scales.
    scores: Float64Array
    value: float  # mean measure of the scores; larger is better
    seconds: float  # time of the trial
    is_cut: bool  # whether the limit of the trial ended its search of penalties

    @property
    def seconds_a_tree(self) -> float:
        """Seconds per tree, summed over the parts, including trees removed by early stopping."""
        n_trees = np.mean([len(model.validation_scores_) for model in self.models])
        return self.seconds / max(float(n_trees), 1.0)


@dataclass(frozen=True, eq=False)
class WeightedBlend:
    """Weighted sum of members."""

    # (n_held_rows,), with spread 1 within the held-out queries, up to rounding.
    scores: Float64Array
    weights: dict[int, float]  # of the members by number


class HeldOut:
    """Rows that the parts leave out, with a measure of their scores.

    Each of the ``parts`` holds rows for fitting and rows for scoring.
    """

    parts: list[tuple[TrialRows, TrialRows]]

    def __init__(self, parts: list[tuple[TrialRows, TrialRows]], measure: Measure) -> None:
        self.parts, self._measure = parts, measure
        self._y = np.concatenate([held.y for _, held in parts])
        counts = [len(held.y) for _, held in parts]
        qid = np.concatenate([held.qid for _, held in parts])
        # Rows of a query in two parts count as two queries, because different models score them.
        part = np.repeat(np.arange(len(parts)), counts)
        self._groups = QueryGroups.from_qid(part * (int(qid.max()) + 1) + qid, len(qid))

    def check(self) -> None:
        """Raise ValueError if the measure does not support the labels, or cannot tell orders."""
        self._measure.per_query(self._y, np.zeros(len(self._y)), self._groups)
        refuse_constant(self._measure, self._y, "The models")

    def fit(
        self,
        trial: Trial,
        clock: Callable[[], float],
        seconds: float | None = None,
        products: int | None = None,
    ) -> Member:
        """Fit a trial on every part, each within its share of the seconds, or its products.

        Products are those of an SVM's solver with the rows, before each of which it asks for the
        time that is left. Raises TimeLimitError if a part has no solution by then.
        """
        start, is_cut = clock(), False
        models, scores, scales, levels = [], [], [], []
        for number, (rows, held) in enumerate(self.parts, 1):
            model: Any = clone(trial.estimator)
            end = inf if seconds is None else start + seconds * number / len(self.parts)

            def left(end: float = end) -> float:
                return end - clock()

            most = left if products is None else partial(next, itertools.count(products, -1))
            with limit_time(most) as limit:
                model.fit(
                    rows.of(trial.family), rows.y, qid=rows.qid, sample_weight=rows.weight,
                    X_val=held.of(trial.family), y_val=held.y, qid_val=held.qid,
                )  # fmt: skip
            is_cut |= limit.is_reached
            found = model.predict(held.of(trial.family))
            models.append(model)
            scales.append(spread(found, held.groups))
            levels.append(float(found.mean()))
            centred = found - levels[-1]
            scores.append(centred / scales[-1] if scales[-1] > 0 else np.zeros(len(found)))
        joined = np.concatenate(scores)
        value, took = self.value(joined), clock() - start
        return Member(
            trial, models, np.array(scales), np.array(levels), joined, value, took, is_cut
        )

    def value(self, scores: Float64Array) -> float:
        """Mean of the measure over the queries; larger is better."""
        return float(np.nanmean(self.values(scores)))

    def blend(self, blends: Sequence[WeightedBlend]) -> WeightedBlend:
        """Equal-weight mean of the members that are :meth:`kept`."""
        kept = [blends[place] for place in self.kept([blend.scores for blend in blends])]
        mean = np.mean([blend.scores for blend in kept], axis=0)
        scale = spread(mean, self._groups) or 1.0
        weights: dict[int, float] = {}
        for blend in kept:
            for number, weight in blend.weights.items():
                weights[number] = weights.get(number, 0.0) + weight / (len(kept) * scale)
        return WeightedBlend(mean / scale, weights)

    def values(self, scores: Float64Array) -> Float64Array:
        """Measure of every query, larger is better; a single value if no query has one."""
        values = self._measure.per_query(self._y, scores, self._groups)
        values = values if self._measure.greater_is_better else -values
        return values if np.isfinite(values).any() else np.zeros(1)

    def kept(self, scores: Sequence[Float64Array]) -> list[int]:
        """Positions of the scores whose equal-weight mean is kept.

        While the mean without one of the scores is clearly better than with it (one-sided paired t
        test by query at :data:`LEVEL`), the score whose removal helps most is dropped. If the
        remaining mean is clearly worse than the best score alone, only the best is kept.
        """
        places = list(range(len(scores)))
        mean = self.values(np.mean(scores, axis=0))
        while len(places) > 1:
            without = [
                self.values(np.mean([scores[k] for k in places if k != place], axis=0))
                for place in places
            ]
            best = int(np.argmax([np.nanmean(values) for values in without]))
            if not is_clearly_better(without[best], mean):
                break
            mean = without[best]
            del places[best]
        alone = [self.values(member_scores) for member_scores in scores]
        best = int(np.argmax([np.nanmean(values) for values in alone]))
        return [best] if is_clearly_better(alone[best], mean) else places


def blend_families(
    held: HeldOut, members: Sequence[Member]
) -> tuple[WeightedBlend, dict[str, float]]:
    """Blend of the members and families that are kept, and the values of families and blend."""
    blends: dict[str, WeightedBlend] = {}
    values: dict[str, float] = {}
    for family in FAMILIES:
        family_members = {k: m for k, m in enumerate(members) if m.trial.family == family}
        alone = [
            WeightedBlend(m.scores, {k: 1.0}) for k, m in family_members.items() if m.scales.any()
        ]
        if alone:
            blends[family] = held.blend(alone)
            values[family] = max(member.value for member in family_members.values())
            values[f"{family} all"] = held.value(blends[family].scores)
    smooth = [blends[family] for family in ("linear", "nodes") if family in blends]
    halves = [held.blend(smooth)] if smooth else []
    halves += [blends["trees"]] if "trees" in blends else []
    blend = held.blend(halves) if halves else WeightedBlend(members[0].scores, {0: 0.0})
    values["blend"] = held.value(blend.scores)
    return blend, values


def is_clearly_better(a: Float64Array, b: Float64Array) -> bool:
    """Whether the values per query ``a`` exceed ``b`` in a one-sided paired t test."""
    return paired_test(a, b, alternative="greater").p_value < LEVEL


def spread(scores: Float64Array, groups: QueryGroups) -> float:
    """Root mean square of the standard deviations of scores within the queries."""
    codes = groups.codes()
    sizes = np.maximum(np.bincount(codes, minlength=groups.n_queries), 1)
    lowest = scores - scores.min()
    means = np.bincount(codes, lowest, groups.n_queries) / sizes
    squares = np.bincount(codes, (lowest - means[codes]) ** 2, groups.n_queries) / sizes
    return float(np.sqrt(squares.mean()))


_FEWEST_TREES, _PROBED_TREES, _FIRST_SHARE = 50, 10, 0.4
# Share of the time left that a trial of another family than trees may take.
_SMOOTH_SHARE = 0.25
_FIRST_SECONDS = 1.0  # that the first trial may take, however short the budget is


class TimeBudget:
    """Seconds of a search, which begin with the budget; None: no limit."""

    is_cut: bool
    seconds: float | None

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self.seconds, self.clock, self._start = seconds, clock, clock()
        self._trees_are_late = False
        self.is_cut = False  # whether a trial was not started, or has fewer trees

    def spent(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._start

    def left(self) -> float | None:
        """Seconds that are left, 0 or more; None: no limit."""
        return None if self.seconds is None else max(self.seconds - self.spent(), 0.0)

    def shorten(self, trial: Trial, held: HeldOut, members: Sequence[Member]) -> Trial | None:
        """The trial, with as many trees as the time allows; None if the time is too short."""
        found = self._shorten(trial, held, members)
        most = getattr(trial.estimator, "n_estimators", None)
        self.is_cut |= found is None or getattr(found.estimator, "n_estimators", None) != most
        return found

    def _shorten(self, trial: Trial, held: HeldOut, members: Sequence[Member]) -> Trial | None:
        left = self.left()
        if left is None:
            return trial
        if trial.family == "trees" and members:
            known = [member.seconds_a_tree for member in members if member.trial.family == "trees"]
            # Without trees so far, a second probe would take time and find less of it left.
            if left <= 0 or (not known and self._trees_are_late):
                return None
            seconds, share = max(known, default=0.0), 1.0
            if not known:
                seconds, share = self.probe(trial, held), _FIRST_SHARE
            most = int(share * (self.left() or 0.0) / max(seconds, 1e-9))
            if most < _FEWEST_TREES:
                self._trees_are_late = True
                return None
            return trial.again(trial.name, n_estimators=min(most, trial.estimator.n_estimators))
        needed = trial.least_seconds(rows.scaled.shape for rows, _ in held.parts)
        if not members:
            return trial if needed <= max(left, _FIRST_SECONDS) else None
        known = [member.seconds for member in members if member.trial.family == trial.family]
        return trial if max([needed, *known]) < left else None

    def most_seconds(self, trial: Trial, members: Sequence[Member]) -> float | None:
        """Seconds after which a trial has to end, if its solver can; None: no limit."""
        left = self.left()
        if left is None or trial.family == "trees":
            return None
        return max(_SMOOTH_SHARE * left, 0.0 if members else _FIRST_SECONDS)

    def probe(self, trial: Trial, held: HeldOut) -> float:
        """Seconds per tree, summed over the parts; 0 if trees cannot be fitted to any part."""
        probe = trial.again(trial.name, n_estimators=_PROBED_TREES).estimator
        for rows, _ in held.parts:
            # Twice, because the first fit compiles; a part without pairs to order raises.
            with suppress(ValueError):
                probe.fit(rows.X[:1000], rows.y[:1000], qid=rows.qid[:1000])
            with suppress(ValueError):
                start = self.clock()
                probe.fit(rows.X, rows.y, qid=rows.qid)
                return (self.clock() - start) / _PROBED_TREES * len(held.parts)
        return 0.0
