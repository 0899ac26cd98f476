"""A ranker from sums that workers compute: the plan of rounds, one partition, and adding two.

A number for the penalty takes one round over the partitions. A search over folds of queries takes
three: the query ids (folds depend on all of them), the sums of each fold, and the measures of
held-out queries under every penalty. Landmarks take an additional first round, because they are
drawn from all rows.

The pairs of a query couple its rows across partitions. The first and the last query of a range of
partitions may continue beyond it, so their sums (the edges) are kept apart from the total. When the
neighbouring partitions are added, inner edges are closed. A query may span any number of
partitions, and results may be merged in any order: ranges are stored until their neighbours arrive.
"""

from __future__ import annotations

import copy
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
from sklearn.base import clone

from rankwise.equation import Equation, publish
from rankwise.groups import (
    FitData,
    QueryGroups,
    QueryNumbers,
    RowStream,
    join_ids,
    kind_of_ids,
    same_kind_of_ids,
)
from rankwise.losses.squared_loss import Problem, RowPart, SquaredLoss
from rankwise.metrics.default import GRADES, TARGETS
from rankwise.metrics.measure import Measure
from rankwise.rankers.streamed import check_stream, deal_folds
from rankwise.row_order import LeastRows
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.runtime.result import NotebookTable
from rankwise.runtime.threads import single_threaded_blas, thread_imap
from rankwise.solvers.least_squares import gram, path_selection
from rankwise.solvers.least_squares.design import Design, KernelDesign
from rankwise.solvers.least_squares.gram import Gram, OpenQuery, total
from rankwise.solvers.least_squares.path_selection import (
    PathFit,
    fit_from_grams,
    part_scores,
    solve_folds,
)
from rankwise.streams.checked_stream import CheckedStream, labels_of, match_columns
from rankwise.streams.cutter import Cutter
from rankwise.streams.row_stream import stream
from rankwise.tuning import (
    DEFAULT_FOLDS,
    PenaltySearch,
    RunningMean,
    is_searched,
    measure_per_query,
)
from rankwise.typing import Float64Array, Int64Array, join_rows

LANDMARKS, QUERIES, SUMS = "landmarks", "queries", "sums"
MEASURES, FINISHED = "measures", "finished"


@dataclass(frozen=True, eq=False)
class Plan(NotebookTable, NamesOldAttributes):
    """Settings for the workers and results so far; made by :func:`plan`.

    Attributes
    ----------
    estimator : estimator with a closed form
        Ranker, fitted once the plan is finished.
    stage : {"landmarks", "queries", "sums", "measures", "finished"}
        Purpose of the next round over the partitions.

    Notes
    -----
    A plan holds node weights or landmarks, folds and solutions. Landmarks are the only rows in it.
    """

    estimator: Any
    stage: Literal["landmarks", "queries", "sums", "measures", "finished"]
    drawn: Design | None
    problem: Problem
    search: PenaltySearch
    n_folds: int = 1
    ids: np.ndarray[Any, Any] | None = None
    fold_of: Int64Array | None = None
    read_outs: tuple[Any, ...] = ()
    path: PathFit | None = None
    draws: tuple[LeastRows, ...] = ()
    columns: list[Any] | None = None

    def __repr__(self) -> str:
        return f"Plan({type(self.estimator).__name__}, stage={self.stage!r})"

    def _heading(self) -> str:
        return f"Plan to fit {type(self.estimator).__name__} on partitions"

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"next step": [self.stage], "folds": [self.n_folds]}
        counted = {"queries": self.ids, "features": self.columns}
        return columns | {name: [len(v)] for name, v in counted.items() if v is not None}

    @property
    def design(self) -> Design:
        """The columns; known once landmarks are drawn."""
        assert self.drawn is not None
        return self.drawn

    @property
    def measure(self) -> Measure:
        """Measure of held-out queries."""
        return self.search.measure

    @property
    def finished(self) -> bool:
        """Whether the ranker is fitted."""
        return self.stage == FINISHED

    def for_workers(self) -> Plan:
        """Copy of the plan without the parts that only the solver needs."""
        return replace(self, path=None)

    def folds(self, ids: np.ndarray[Any, Any], first: int) -> Int64Array:
        """Fold of each query by its id."""
        if self.ids is None:
            return np.zeros(len(ids), dtype=np.int64)
        try:
            return np.array([self._fold_by_id[value] for value in ids.tolist()], dtype=np.int64)
        except KeyError as error:
            raise ValueError(
                f"the partitions must have the same rows in every round; qid {error} is new."
            ) from None

    @cached_property
    def _fold_by_id(self) -> dict[Any, int]:
        assert self.ids is not None and self.fold_of is not None
        return dict(zip(self.ids.tolist(), self.fold_of.tolist(), strict=True))


@names_its_class
def plan(estimator: Any, first_rows: Any) -> Plan:
    """Make the plan: draw and decide everything that is fixed before rows are summed.

    Parameters
    ----------
    estimator : estimator with a closed form
        Ranker whose penalty is a number, a list or "cv". A copy is fitted.
    first_rows : chunk, iterable of chunks or RowStream
        Some rows, ideally the first partition. They determine the number, names, type and location
        of the columns. See :func:`rankwise.streams.stream` for what a chunk may be.

    Returns
    -------
    Plan

    Raises
    ------
    TypeError, ValueError
        If the ranker has no closed form with additive statistics, or cannot choose its penalty in a
        stream.
    """
    name = type(estimator).__name__
    equation: Equation | None = None
    if hasattr(estimator, "_equation"):
        estimator = clone(estimator)
        estimator._validate_params()
        equation = estimator._equation()
    if equation is None or not isinstance(equation.loss, SquaredLoss):
        raise TypeError(
            f"estimator must have a closed form whose statistics add, got {name}. Use a linear "
            "ranker, PairwiseELM, or RankRLS with a linear kernel or landmarks."
        )
    if equation.needs_rows:
        raise TypeError(
            f"estimator must be solved from sums of its rows, got {name}. Fit it locally."
        )
    search = equation.search(estimator)
    check_stream(estimator, equation, search, stream([]))
    features: Any = equation.features
    draws = features.sample_draws()
    if draws and (is_searched(estimator.gamma) and estimator.gamma != "auto"):
        raise ValueError(
            f'gamma must be a number, "auto" or None on partitions, got {estimator.gamma!r}. '
            "Choose it on a sample in memory."
        )
    limit = features.column_limit
    checked = CheckedStream(estimator, convert_to_stream(first_rows), column_limit=limit)
    data = checked.head(gram.CHUNK_ROWS)
    design = None if draws else _design(equation, data)
    del estimator.fit_fingerprint_
    problem = replace(
        equation.loss.on(data),
        X=data.X[:0],
        y=data.y[:0],
        groups=QueryGroups.from_sizes(np.zeros(0, dtype=np.int64)),
        sample_weight=None,
    )
    n_folds = int(estimator.cv or DEFAULT_FOLDS) if search.way == "cv" else 1
    job = Plan(
        estimator, LANDMARKS, design, problem, search, n_folds, draws=draws, columns=checked.columns
    )
    return job if draws else replace(job, stage=_first_stage(job))


def solve(job: Plan, statistics: Statistics) -> Plan:
    """The next plan, given the merged statistics of all partitions.

    Parameters
    ----------
    job : Plan
    statistics : Statistics
        Merged statistics of every partition under this plan.

    Returns
    -------
    Plan
        The plan with the fitted ``estimator`` if ``finished``, otherwise the plan of another round.

    Raises
    ------
    ValueError
        If partitions are missing, the rows of a query are apart, or there are fewer queries than
        folds.
    """
    if statistics.stage != job.stage:
        raise ValueError(
            f"statistics are of the round {statistics.stage!r}, the plan is for {job.stage!r}. "
            "Compute them with the plan that solve returned."
        )
    steps = {LANDMARKS: _draw, QUERIES: _deal_folds, SUMS: _solve_sums, MEASURES: _choose}
    with single_threaded_blas():
        return steps[job.stage](job, statistics)


def convert_to_stream(rows: Any) -> Any:
    """Make a stream from a chunk, from chunks or from any other source of a stream."""
    one_chunk = isinstance(rows, tuple) or hasattr(rows, "columns") or hasattr(rows, "shape")
    return stream([rows] if one_chunk else rows)


def _design(equation: Equation, rows: FitData) -> Design:
    design = next(iter(equation.features.designs(rows)))[1]
    assert not isinstance(design, KernelDesign), "its rows would not fit in memory"
    return design


def _first_stage(job: Plan) -> str:
    """The first round once the columns are known."""
    return QUERIES if job.search.way == "cv" else SUMS


def _draw(job: Plan, statistics: Statistics) -> Plan:
    statistics.closed()
    if not statistics.n_samples:
        raise ValueError("X must have rows of positive weight, got none in any partition.")
    X = join_rows([draw.rows() for draw in statistics.draws])
    rows = FitData(X, np.zeros(X.shape[0]), QueryGroups.single(X.shape[0]), None)
    design = _design(job.estimator._equation(), rows)
    return replace(job, stage=_first_stage(job), drawn=design, draws=())


def _deal_folds(job: Plan, statistics: Statistics) -> Plan:
    statistics.closed()
    ids = statistics.query_ids()
    return replace(job, stage=SUMS, ids=ids, fold_of=deal_folds(ids, job.n_folds))


def _solve_sums(job: Plan, statistics: Statistics) -> Plan:
    if not statistics.n_samples:
        raise ValueError("X must have rows of positive weight, got none in any partition.")
    draws = [
        list(draw)
        for folds in statistics.closed()
        for draw in zip(*map(job.design.draws, folds), strict=True)
    ]
    job, penalties = replace(job, estimator=_describe_ranker(job, statistics)), job.search.penalties
    if job.search.way == "fixed":
        grams = [total(folds) for folds in draws]
        path = fit_from_grams(grams, job.design, penalties, job.problem.intercept)
        return _finish_job(replace(job, path=path), None)
    intercept = job.problem.intercept
    path, held = solve_folds(draws, job.n_folds, job.design, penalties, intercept)
    read_outs = tuple(job.design.read_out(coefs) for coefs in held)
    return replace(job, stage=MEASURES, read_outs=read_outs, path=path)


def _choose(job: Plan, statistics: Statistics) -> Plan:
    means = np.array([mean.value() for mean in statistics.closed()[0]])
    return _finish_job(job, means)


def _finish_job(job: Plan, scores: Float64Array | None) -> Plan:
    assert job.path is not None
    ranker = copy.deepcopy(job.estimator)
    publish(ranker, ranker._equation(), job.search, job.search.choose([({}, job.path, scores)]))
    return replace(job, estimator=ranker, stage=FINISHED)


def _describe_ranker(job: Plan, statistics: Statistics) -> Any:
    """Copy of the ranker with the default measure for the labels and the rows' fingerprint."""
    ranker = copy.deepcopy(job.estimator)
    ranker._set_score_name(GRADES if statistics.graded else TARGETS)
    digest = hashlib.sha256()
    for number in sorted(statistics.fingerprints):
        digest.update(statistics.fingerprints[number].encode())
    ranker.fit_fingerprint_ = {
        "n_samples": statistics.n_samples,
        "n_features": ranker.n_features_in_,
        "n_queries": len(set(join_ids([*statistics.ids.values()]).tolist())),
        "dtype": str(job.problem.X.dtype),
        "sha256": digest.hexdigest()[:16],
    }
    return ranker


def partition_statistics(
    job: Plan, number: int, rows: Any, *, n_threads: int | None = 1
) -> Statistics:
    """Sums over the rows of one partition, p^2 numbers per fold.

    Parameters
    ----------
    job : Plan
    number : int
        Index of the partition (0, 1, …) in row order. A query may continue from the end of one
        partition to the start of the next.
    rows : chunk, iterable of chunks or RowStream
        See :func:`rankwise.streams.stream` for what a chunk may be. May be empty.
    n_threads : int or None
        Number of threads; None: one per CPU.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError, TypeError
        The errors that ``fit`` raises for rows in memory.

    Notes
    -----
    O(n p^2) for n rows and p columns. Blocks of float32 rows are multiplied in float64 here, so
    that the result does not depend on how the rows are partitioned. The result holds the sums of
    each fold, the sums of the first and last query, and one id per query. If only pairs of
    different grades count, the sums of these two queries are kept per grade. The measuring round of
    a search returns sums of the measure and the scores of these two queries.

    Examples
    --------
    >>> from functools import reduce
    >>> import numpy as np
    >>> from rankwise import PairwiseELM
    >>> from rankwise.distributed import merge, partition_statistics, plan, solve
    >>> X = np.random.default_rng(0).random((60, 3))
    >>> y, qid = np.floor(3 * X[:, 0]), np.arange(60) // 12
    >>> parts = [(X[lo : lo + 20], y[lo : lo + 20], qid[lo : lo + 20]) for lo in (0, 20, 40)]
    >>> job = plan(PairwiseELM(10, C=1.0, random_state=0), parts[0])
    >>> sums = [partition_statistics(job, number, rows) for number, rows in enumerate(parts)]
    >>> ranker = solve(job, reduce(merge, sums)).estimator
    >>> whole = PairwiseELM(10, C=1.0, random_state=0).fit(X, y, qid=qid)
    >>> bool(np.allclose(ranker.predict(X), whole.predict(X)))
    True
    """
    with naming_partition(number):
        return _statistics(job, number, convert_to_stream(rows), n_threads)


def _statistics(job: Plan, number: int, rows: RowStream, n_threads: int | None) -> Statistics:
    ranker = copy.deepcopy(job.estimator)
    stream = CheckedStream(ranker, rows, like=job.problem.X, columns=job.columns)
    known = Statistics(job.stage, job.problem, job.measure, [], (Range(number, number),))
    if job.stage == QUERIES:
        ids, n_samples = stream.queries()
        return replace(known, ids={number: ids}, n_samples=n_samples, has_qid=stream.has_qid)
    if job.stage == LANDMARKS:
        draws = copy.deepcopy(job.draws)
        for data in stream.chunks():
            for draw in draws:
                draw.add(data.X)
        return replace(known, draws=draws, n_samples=stream.n_samples, has_qid=stream.has_qid)
    seen: list[np.ndarray[Any, Any]] = []
    with single_threaded_blas():
        step = _measures if job.stage == MEASURES else _sums
        totals, edges = step(job, _noting_ids(stream.chunks(), seen), n_threads)
    ids = join_ids(seen)
    return replace(
        known,
        totals=totals,
        ranges=(Range(number, number, edges),),
        ids={number: QueryGroups.from_qid(ids, len(ids)).ids},  # each once
        fingerprints={number: stream.fingerprint},
        n_samples=stream.n_samples,
        graded=stream.graded,
        has_qid=stream.has_qid,
    )


def _noting_ids(chunks: Iterator[FitData], ids: list[np.ndarray[Any, Any]]) -> Iterator[FitData]:
    for data in chunks:
        ids.append(data.groups.ids)
        yield data


def _sums(
    job: Plan, chunks: Iterator[FitData], n_threads: int | None
) -> tuple[list[list[Any]], tuple[Any, ...]]:
    maps = [(phi, job.problem.query_weight) for phi in job.design.maps]
    of_maps = gram.accumulate_chunks(
        chunks, job.problem, maps, job.n_folds, job.folds,
        n_rows=0, n_threads=n_threads, edges=(True, True),
    )  # fmt: skip
    edges = [
        GramEdge(query, fold, [sums.edges[place][2] for sums in of_maps])
        for place, (query, fold, _) in enumerate(of_maps[0].edges)
    ]
    return [sums.folds for sums in of_maps], tuple(edges)


def _measures(
    job: Plan, chunks: Iterator[FitData], n_threads: int | None
) -> tuple[list[list[Any]], tuple[Any, ...]]:
    """Measures of complete queries, and the scores of the first and the last query."""
    cutter = Cutter(
        replace(job.problem, graph="all"),
        job.folds,
        chunk_rows=path_selection.MEASURED_ROWS,
        edges=(True, True),
    )

    def work(part: RowPart) -> tuple[RowPart, Float64Array, Float64Array]:
        rows = part.take()
        scores = part_scores(job.design, job.read_outs[part.fold], rows.X)
        if part.query is None:
            scores = measure_per_query(job.measure, rows.y, scores, rows.groups)
        return part, rows.y, scores

    means = [RunningMean() for _ in job.read_outs]
    pieces: dict[tuple[Any, int], list[Any]] = defaultdict(list)
    for part, y, values in thread_imap(work, cutter.cut(chunks), n_threads):
        if part.query is None:
            means[part.fold].add(values)
        else:
            pieces[part.query, part.fold].append((y, values))
    edges = [
        ScoreEdge(query, fold, *map(np.concatenate, zip(*parts, strict=True)))
        for (query, fold), parts in pieces.items()
    ]
    return [means], tuple(edges)


@dataclass(frozen=True, eq=False)
class GramEdge:
    """Sums of the rows of the first or last query of partitions, for each block map."""

    query: Any
    fold: int
    opened: list[OpenQuery]

    def joined(self, other: GramEdge) -> GramEdge:
        """The sums of these rows and of those that follow."""
        both = [OpenQuery(query.shift, query.target_shift) for query in self.opened]
        for query, first, second in zip(both, self.opened, other.opened, strict=True):
            query.merge_inplace(first)
            query.merge_inplace(second)
        return replace(self, opened=both)

    def closed(self, problem: Problem, measure: Measure | None) -> Sequence[Gram]:
        """Contribution of the whole query to its fold, for each block map."""
        return [query.gram(problem.graph, problem.query_weight) for query in self.opened]


@dataclass(frozen=True, eq=False)
class ScoreEdge:
    """Labels (m,) and scores (m, n_penalties) of the first or last query of partitions."""

    query: Any
    fold: int
    y: Float64Array
    scores: Float64Array

    def joined(self, other: ScoreEdge) -> ScoreEdge:
        """These rows and those that follow."""
        y, scores = ((self.y, other.y), (self.scores, other.scores))
        return replace(self, y=np.concatenate(y), scores=np.concatenate(scores))

    def closed(self, problem: Problem, measure: Measure | None) -> Sequence[RunningMean]:
        """Contribution of the whole query to its fold."""
        assert measure is not None
        mean = RunningMean()
        mean.add(measure_per_query(measure, self.y, self.scores, QueryGroups.single(len(self.y))))
        return [mean]


@dataclass(frozen=True, eq=False)
class Range:
    """Consecutive partitions, from number ``first`` to ``last`` inclusive.

    ``edges`` (of GramEdge or of ScoreEdge) is empty without rows, one edge if all rows are of one
    query, otherwise the first and the last query.
    """

    first: int
    last: int
    edges: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of some partitions; add them with :func:`merge`.

    Attributes
    ----------
    stage : str
        Stage in which the sums were computed, see :class:`rankwise.distributed.Plan`.
    problem : Problem
        Problem without rows: the pair graph and its weights.
    measure : Measure or None
    totals : list of list
        For each block map and fold, sums over complete queries.
    ranges : tuple of Range
        Disjoint, ascending and non-adjacent ranges.
    ids : dict of int to ndarray
        Query ids of each partition, in order of appearance (in any order for a pointwise problem).
    fingerprints : dict of int to str
        Fingerprint of the rows of each partition.
    n_samples : int
    graded : bool
        Whether all labels are relevance grades.
    has_qid : bool or None
        Whether query ids were passed; None without rows.
    draws : tuple of LeastRows
        Rows from which landmarks are taken.
    """

    stage: str
    problem: Problem
    measure: Measure | None
    totals: list[list[Any]]
    ranges: tuple[Range, ...]
    ids: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    fingerprints: dict[int, str] = field(default_factory=dict)
    n_samples: int = 0
    graded: bool = True
    has_qid: bool | None = None
    draws: tuple[LeastRows, ...] = ()

    def closed(self) -> list[list[Any]]:
        """Totals of all queries, once all partitions are there.

        Raises
        ------
        ValueError
            If a partition is missing, or the rows of a query are apart.
        """
        whole = self.ranges[0] if len(self.ranges) == 1 else None
        if whole is None or whole.first != 0:
            have = ", ".join(f"{part.first} to {part.last}" for part in self.ranges)
            raise ValueError(
                f"statistics of some partitions are missing, got those of {have}. Number the "
                "partitions 0, 1, … and merge the results of all."
            )
        if self.problem.graph != "pointwise":
            self.query_ids()
        return _add_closed(self, whole.edges)

    def query_ids(self) -> np.ndarray[Any, Any]:
        """All query ids in order of appearance.

        Raises
        ------
        ValueError
            If the rows of a query are apart.
        """
        numbers = QueryNumbers()
        filled = [number for number in sorted(self.ids) if len(self.ids[number])]
        if self.has_qid:
            kinds = [(f"partition {n}", kind_of_ids(self.ids[n])) for n in filled]
            same_kind_of_ids(kinds)
        for number in filled:
            numbers.add(self.ids[number])
        return numbers.ids()


def merge(a: Statistics, b: Statistics) -> Statistics:
    """Add the statistics of two sets of partitions, in any order.

    Parameters
    ----------
    a, b : Statistics
        Statistics of different partitions under the same plan; not modified.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError
        If a partition is in both, their plans differ, or only one has query ids.

    Notes
    -----
    O(p^2) for p columns, for each fold and edge. Memory stays small if neighbours are merged first;
    otherwise the edges of every range are kept.
    """
    if a.stage != b.stage:
        raise ValueError(
            f"merge takes statistics of one plan, got {a.stage!r} and {b.stage!r}. Compute all of "
            "a round with the same plan."
        )
    if None not in (a.has_qid, b.has_qid) and a.has_qid != b.has_qid:
        raise ValueError(
            "qid must be given in every partition or in none. Without it all rows are one query."
        )
    both = replace(
        a,
        totals=[
            [left + right for left, right in zip(*folds, strict=True)]
            for folds in zip(a.totals, b.totals, strict=True)
        ],
        ids={**a.ids, **b.ids},
        fingerprints={**a.fingerprints, **b.fingerprints},
        n_samples=a.n_samples + b.n_samples,
        graded=a.graded and b.graded,
        has_qid=b.has_qid if a.has_qid is None else a.has_qid,
        draws=tuple(left.joined(right) for left, right in zip(a.draws, b.draws, strict=True)),
    )
    ranges: list[Range] = []
    for part in sorted((*a.ranges, *b.ranges), key=lambda part: part.first):
        if ranges and part.first <= ranges[-1].last:
            raise ValueError(f"partition {part.first} is there twice. Number each one differently.")
        if ranges and part.first == ranges[-1].last + 1:
            met, inner = _meet(ranges.pop(), part)
            both = replace(both, totals=_add_closed(both, inner))
            part = met
        ranges.append(part)
    return replace(both, ranges=tuple(ranges))


def _meet(left: Range, right: Range) -> tuple[Range, tuple[Any, ...]]:
    """Merge two ranges of rows, and return the queries that are completed by it."""
    edges = [*left.edges, *right.edges]
    if left.edges and right.edges and left.edges[-1].query == right.edges[0].query:
        joined = left.edges[-1].joined(right.edges[0])
        edges = [*left.edges[:-1], joined, *right.edges[1:]]
    outer = (edges[0], edges[-1]) if len(edges) > 1 else tuple(edges)
    return Range(left.first, right.last, outer), tuple(edges[1:-1])


def _add_closed(statistics: Statistics, edges: Sequence[Any]) -> list[list[Any]]:
    """The totals with the given queries added."""
    totals = [list(folds) for folds in statistics.totals]
    for edge in edges:
        parts = edge.closed(statistics.problem, statistics.measure)
        for folds, part in zip(totals, parts, strict=True):
            folds[edge.fold] = folds[edge.fold] + part
    return totals


@contextmanager
def naming_partition(number: int | None) -> Iterator[None]:
    """Errors inside the block say which partition they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        place = "a partition" if number is None else f"partition {number}"
        raise kind(f"In {place}: {error}") from None


def reorder_columns(frame: Any, columns: Sequence[Any], number: int | None = None) -> Any:
    """A partition of a frame with the columns of the whole frame, matched by name."""
    found = labels_of(frame)
    if found is None or found == list(columns):
        return frame
    with naming_partition(number):
        return match_columns(frame, found, columns, "the whole frame")


def refuse_categories(X: Any) -> None:
    """Raise if a column is categorical: partitions number the categories differently."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for position, series in enumerate(frame.iter_columns()):
        if series.dtype in (nw.Categorical, nw.Enum):
            raise ValueError(
                f"X must not have categorical columns on a cluster, got column "
                f"{frame.columns[position]!r}. Encode the categories as numbers, or fit on one "
                "machine."
            )
