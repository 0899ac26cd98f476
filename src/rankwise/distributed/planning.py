"""Plan the sums that the workers compute, and solve for the ranker from them.

A number for the penalty takes one round over the partitions. A search over folds of queries takes
three: the query ids (folds depend on all of them), the sums of each fold, and the measures of
held-out queries under every penalty. Landmarks take an additional first round, because they are
drawn from all rows.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.distributed.sums import Statistics
from rankwise.equation import Equation, publish
from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import Problem, SquaredLoss
from rankwise.metrics.default import GRADES, TARGETS
from rankwise.metrics.measure import Measure
from rankwise.rankers.streamed import check_stream, deal_folds
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import LeastRows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares import gram
from rankwise.solvers.least_squares.design import Design
from rankwise.solvers.least_squares.gram import total
from rankwise.solvers.least_squares.kernel_design import KernelDesign
from rankwise.solvers.least_squares.path_selection import (
    PathFit,
    fit_from_grams,
    solve_folds,
)
from rankwise.streams.checked_stream import CheckedStream
from rankwise.streams.cutter import join_ids
from rankwise.streams.row_stream import stream
from rankwise.tuning.folds import DEFAULT_FOLDS
from rankwise.tuning.penalty_search import PenaltySearch, is_searched
from rankwise.typing import Float64Array, Int64Array, join_rows

LANDMARKS, QUERIES, SUMS = "landmarks", "queries", "sums"
MEASURES, FINISHED = "measures", "finished"


@dataclass(frozen=True, eq=False)
class Plan:
    """Settings for the workers and results so far; made by :func:`plan`.

    Attributes
    ----------
    ranker : estimator with a closed form
        Ranker, fitted once the plan is finished.
    stage : {"landmarks", "queries", "sums", "measures", "finished"}
        Purpose of the next round over the partitions.

    Notes
    -----
    A plan holds node weights or landmarks, folds and solutions. Landmarks are the only rows in it.
    """

    ranker: Any
    stage: str
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


def plan(ranker: Any, first_rows: Any) -> Plan:
    """Make the plan: draw and decide everything that is fixed before rows are summed.

    Parameters
    ----------
    ranker : estimator with a closed form
        Ranker whose penalty is a number, a list or "cv". A copy is fitted.
    first_rows : chunk, iterable of chunks or RowStream
        Some rows, ideally the first partition. They determine the number, names, type and location
        of the columns. See :func:`rankwise.stream` for what a chunk may be.

    Returns
    -------
    Plan

    Raises
    ------
    TypeError, ValueError
        If the ranker has no closed form with additive statistics, or cannot choose its penalty in a
        stream.
    """
    name = type(ranker).__name__
    equation: Equation | None = None
    if hasattr(ranker, "_equation"):
        ranker = clone(ranker)
        ranker._validate_params()
        equation = ranker._equation()
    if equation is None or not isinstance(equation.loss, SquaredLoss):
        raise TypeError(
            f"ranker must have a closed form whose statistics add, got {name}. Use a linear "
            "ranker, PairwiseELM, or RankRLS with a linear kernel or landmarks."
        )
    if equation.needs_rows:
        raise TypeError(f"ranker must be solved from sums of its rows, got {name}. Fit it locally.")
    search = equation.search(ranker)
    check_stream(ranker, equation, search, stream([]))
    features: Any = equation.features
    draws = features.sample_draws()
    if draws and (is_searched(ranker.gamma) and ranker.gamma != "auto"):
        raise ValueError(
            f'gamma must be a number, "auto" or None on partitions, got {ranker.gamma!r}. Choose '
            "it on a sample in memory."
        )
    limit = features.column_limit
    checked = CheckedStream(ranker, convert_to_stream(first_rows), column_limit=limit)
    data = checked.head(gram.CHUNK_ROWS)
    design = None if draws else _design(equation, data)
    del ranker.fit_fingerprint_
    problem = replace(
        equation.loss.on(data),
        X=data.X[:0],
        y=data.y[:0],
        groups=QueryGroups.from_sizes(np.zeros(0, dtype=np.int64)),
        sample_weight=None,
    )
    n_folds = int(ranker.cv or DEFAULT_FOLDS) if search.way == "cv" else 1
    job = Plan(
        ranker, LANDMARKS, design, problem, search, n_folds, draws=draws, columns=checked.columns
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
        The plan with the fitted ``ranker`` if ``finished``, otherwise the plan of another round.

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
    design = _design(job.ranker._equation(), rows)
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
    job, penalties = replace(job, ranker=_describe_ranker(job, statistics)), job.search.penalties
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
    ranker = copy.deepcopy(job.ranker)
    publish(ranker, ranker._equation(), job.search, job.search.choose([({}, job.path, scores)]))
    return replace(job, ranker=ranker, stage=FINISHED)


def _describe_ranker(job: Plan, statistics: Statistics) -> Any:
    """Copy of the ranker with the default measure for the labels and the rows' fingerprint."""
    ranker = copy.deepcopy(job.ranker)
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
