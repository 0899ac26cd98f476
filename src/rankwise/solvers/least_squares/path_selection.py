"""Choosing the regularisation from the path: validation data, query folds, or leave-query-out.

Every way evaluates the whole grid at once: one pass over the rows gives the Gram statistics, one
eigendecomposition per training set gives every C, and one pass gives the scores of held-out rows
for every C, whose measure is taken per query. Held-out scores never exceed a few chunks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.problem import Part, Problem
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.design import Coefs, Design, draw_grams
from rankwise.solvers.least_squares.dual_path import DualPath
from rankwise.solvers.least_squares.eigen_path import (
    EigenPath,
    NotSemidefiniteError,
    eigen_path,
    path_coef,
)
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Gram, is_precise, total
from rankwise.solvers.least_squares.leave_out import (
    Decomposed,
    Intercept,
    leave_pair_out,
    leave_query_out,
)
from rankwise.tuning.folds import fold_splits, query_folds
from rankwise.tuning.held_out import RunningMean, mean_defined, per_query
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Int64Array, Matrix

# Held-out rows whose scores for every C are measured at a time.
MEASURED_ROWS = 4 * CHUNK_ROWS


@dataclass(frozen=True, eq=False)
class PathFit:
    """Solutions for every C, and the measure each reaches on held-out queries.

    Attributes
    ----------
    coefs : sequence of ndarray of shape (n_C, n_columns)
        One per draw, on all training rows.
    fold_scores : ndarray of shape (n_folds, n_C), or None
        Mean of the measure on each held-out part; NaN where no query of it counts.
    grams : list of Gram, or None
        Statistics of all training rows, one per draw (primal only).
    """

    coefs: Coefs
    fold_scores: Float64Array | None
    grams: list[Gram] | None

    def best(self, measure: Measure) -> tuple[int, float]:
        """Number of the best penalty (the first one on ties), and its value, larger is better."""
        assert self.fold_scores is not None
        means = mean_defined(self.fold_scores)
        signed = means if measure.greater_is_better else -means
        if np.isnan(signed).all():
            raise ValueError(
                f"measure={str(measure)!r} is defined for no held-out query, so it cannot choose. "
                "Use another measure, or give a number."
            )
        best = int(np.nanargmax(signed))
        return best, float(signed[best])


def fit_path(problem: Problem, design: Design, penalties: Penalties) -> PathFit:
    """Solutions for every penalty on all rows."""
    if use_dual(problem, design):
        return PathFit(_dual_coefs(problem, design, penalties), None, None)
    grams = [total(folds) for folds in draw_grams(design, problem, None)]
    return PathFit([gram_coef(gram, problem, penalties) for gram in grams], None, grams)


def fit_path_val(
    problem: Problem,
    design: Design,
    penalties: Penalties,
    measure: Measure,
    X_val: Matrix,
    y_val: Float64Array,
    groups_val: QueryGroups,
) -> PathFit:
    """Solutions on all rows, measured on validation data."""
    fit = fit_path(problem, design, penalties)
    read_out = design.read_out(fit.coefs)
    queries = np.arange(groups_val.n_queries)
    values = held_out(design, [read_out], X_val, y_val, groups_val, [queries], measure)
    return PathFit(fit.coefs, values, fit.grams)


def fit_path_cv(
    problem: Problem, design: Design, penalties: Penalties, measure: Measure, n_folds: int
) -> PathFit:
    """Solutions on all rows, measured by ``n_folds``-fold cross-validation.

    Folds are over queries; with fewer queries than folds they are over rows, and the rows of a
    query that a fold holds are measured as one query.
    """
    n_queries, n_samples = problem.groups.n_queries, problem.X.shape[0]
    if n_queries < n_folds:
        splits = fold_splits(problem.X, problem.y, problem.groups, n_folds)
        return fit_path_splits(problem, design, penalties, measure, splits)
    folds = query_folds(problem.groups, n_folds)
    final: list[Float64Array] = []
    held: list[list[Float64Array]] = [[] for _ in folds]
    grams: list[Gram] | None = None
    if use_dual(problem, design):
        final = _dual_coefs(problem, design, penalties)
        for number, fold in enumerate(folds):
            train = problem.groups.rows(np.setdiff1d(np.arange(n_queries), fold))
            part = problem.subset(np.sort(train))
            held[number] = _dual_coefs(part, design, penalties)
    else:
        draws = draw_grams(design, problem, folds)
        final, held, grams = solve_folds(draws, len(folds), problem, penalties, design.n_columns)
    # Held-out scores only choose C: blocks of many float32 rows are read out as they are.
    dtype = np.float64 if is_precise(n_samples, design.n_columns) else problem.X.dtype
    read_outs = [design.read_out(coefs, dtype) for coefs in held]
    values = held_out(design, read_outs, problem.X, problem.y, problem.groups, folds, measure)
    return PathFit(final, values, grams)


def solve_folds(
    draws: Iterable[Sequence[Gram]],
    n_folds: int,
    problem: Problem,
    penalties: Penalties,
    n_columns: int,
) -> tuple[list[Float64Array], list[list[Float64Array]], list[Gram]]:
    """Solutions from the statistics of each fold.

    Returns
    -------
    final : list of ndarray of shape (n_C, n_columns)
        On all rows, one per draw.
    held : list of lists of ndarray
        Without each fold, one per draw.
    grams : list of Gram
        Statistics of all rows, one per draw.
    """
    final: list[Float64Array] = []
    held: list[list[Float64Array]] = [[] for _ in range(n_folds)]
    grams: list[Gram] = []
    for parts in draws:
        all_rows = total(parts)
        grams.append(all_rows)

        def solve(fold: int, all_rows: Gram = all_rows, parts: Any = parts) -> Float64Array:
            part = all_rows if fold < 0 else all_rows - parts[fold]
            return gram_coef(part, problem, penalties)

        n_threads = None if n_columns >= 64 else 1
        solutions = list(thread_imap(solve, range(-1, n_folds), n_threads))
        final.append(solutions[0])
        for number, solution in enumerate(solutions[1:]):
            held[number].append(solution)
    return final, held, grams


def fit_path_splits(
    problem: Problem,
    design: Design,
    penalties: Penalties,
    measure: Measure,
    splits: Sequence[tuple[Int64Array, Int64Array]],
) -> PathFit:
    """Solutions on all rows, measured on any splits (train rows, test rows), each fitted anew."""
    fit = fit_path(problem, design, penalties)
    values = []
    for train, test in splits:
        read_out = design.read_out(fit_path(problem.subset(train), design, penalties).coefs)
        groups = problem.groups.take(test)
        queries = np.arange(groups.n_queries)
        X, y = problem.X[test], problem.y[test]
        values.append(held_out(design, [read_out], X, y, groups, [queries], measure)[0])
    return PathFit(fit.coefs, np.array(values), fit.grams)


def fit_path_loqo(
    problem: Problem, design: Design, penalties: Penalties, measure: Measure
) -> PathFit:
    """Solutions on all rows, measured by exact leave-one-query-out."""
    draws, intercept, fit = _decomposed(problem, design, penalties)
    values = leave_query_out(problem, draws, penalties, measure, intercept)
    return PathFit(fit.coefs, values, fit.grams)


def fit_path_lpo(problem: Problem, design: Design, penalties: Penalties) -> PathFit:
    """Solutions on all rows, measured by exact leave-pair-out: the share of pairs misordered."""
    draws, intercept, fit = _decomposed(problem, design, penalties)
    values = leave_pair_out(problem, draws, penalties, intercept)
    return PathFit(fit.coefs, values, fit.grams)


def solvable(gram: Gram, problem: Problem) -> Gram:
    """The statistics with an unpenalised intercept eliminated where the problem has one."""
    return gram.centred() if problem.intercept else gram


def gram_coef(gram: Gram, problem: Problem, penalties: Penalties) -> Float64Array:
    """Solutions for every penalty from the statistics, shape (n_values, n_columns).

    Raises
    ------
    FloatingPointError
        Where squares of columns far from zero cancel.
    """
    with _cancelling_columns():
        return path_coef(solvable(gram, problem), penalties.C(gram.pairs))


@contextmanager
def _cancelling_columns() -> Iterator[None]:
    """Statistics of columns are semidefinite: negative eigenvalues are lost digits."""
    try:
        yield
    except NotSemidefiniteError as error:
        raise FloatingPointError(f"squares of the columns cancel: {error}") from error


def weighted_means(problem: Problem) -> tuple[Float64Array, float, float]:
    """Weighted mean of the rows and of the targets, and the sum of the weights."""
    n = problem.X.shape[0]
    w = np.ones(n) if problem.sample_weight is None else problem.sample_weight
    weight = float(w.sum())
    return np.asarray(w @ problem.X).ravel() / weight, float(w @ problem.y) / weight, weight


def use_dual(problem: Problem, design: Design) -> bool:
    """Whether the N x N system is the smaller one."""
    return problem.X.shape[0] < design.n_columns


def _dual_coefs(problem: Problem, design: Design, penalties: Penalties) -> list[Float64Array]:
    """For each draw, the solutions for every penalty from the N x N system."""
    C = penalties.C(problem.pairs())
    return [path.coef(C) for path in _dual_paths(problem, design)]


def _dual_paths(problem: Problem, design: Design) -> Iterator[DualPath]:
    """For each draw, the dual path.

    An unpenalised intercept is the same as all pairs of all rows, each row counting once.
    """
    if problem.intercept:
        groups = QueryGroups.single(problem.X.shape[0])
        problem = Problem(problem.X, problem.y, groups, problem.sample_weight, "all", "document")
    yield from design.dual_paths(problem)


def _decomposed(
    problem: Problem, design: Design, penalties: Penalties
) -> tuple[list[Decomposed], Intercept, PathFit]:
    """Eigendecomposed draws as the leave-out formulas take them, and the fit on all rows."""
    paths: Sequence[EigenPath | DualPath]
    grams: list[Gram] | None = None
    if use_dual(problem, design):
        paths = list(_dual_paths(problem, design))
    else:
        grams = [total(folds) for folds in draw_grams(design, problem, None)]
        with _cancelling_columns():
            paths = [eigen_path(solvable(gram, problem)) for gram in grams]
    centre, intercept = np.zeros(design.n_columns), Intercept()
    if problem.intercept:
        mean_row, mean_target, weight = weighted_means(problem)
        centre = design.block(mean_row[None, :], 0)[0]
        intercept = Intercept(mean_target, 1.0 / weight)

    def decompose(draw: int) -> Decomposed:
        path = paths[draw]
        vectors = path.vectors
        return Decomposed(
            path.values,
            path.projected_rhs,
            lambda rows: (design.block(problem.X[rows], draw) - centre) @ vectors,
        )

    C = penalties.C(problem.pairs())
    fit = PathFit([path.coef(C) for path in paths], None, grams)
    return [decompose(draw) for draw in range(len(paths))], intercept, fit


def held_out(
    design: Design,
    read_outs: Sequence[Any],
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    folds: Sequence[Int64Array],
    measure: Measure,
) -> Float64Array:
    """Mean measure of each fold's queries under its own solutions, shape (n_folds, n_C)."""
    parts = Problem(X, y, groups, None, "all").parts(folds, MEASURED_ROWS)
    n_threads = None if X.shape[0] * design.n_columns > 1e6 else 1
    return mean_measures(design, read_outs, parts, measure, n_threads)


def mean_measures(
    design: Design,
    read_outs: Sequence[Any],
    parts: Iterable[Part],
    measure: Measure,
    n_threads: int | None = None,
) -> Float64Array:
    """Mean measure of whole queries under the solutions of their fold, shape (n_folds, n_C)."""

    def measured(part: Part) -> tuple[int, Float64Array]:
        rows = part.take()
        scores = part_scores(design, read_outs[part.fold], rows.X)
        return part.fold, per_query(measure, rows.y, scores, rows.groups)

    means = [RunningMean() for _ in read_outs]
    for fold, values in thread_imap(measured, parts, n_threads):
        means[fold].add(values)
    return np.array([mean.value() for mean in means])


def part_scores(design: Design, read_out: Any, X: Matrix) -> Float64Array:
    """Scores for every solution, ``CHUNK_ROWS`` rows at a time."""
    starts = range(0, X.shape[0], CHUNK_ROWS)
    return np.concatenate([design.scores(X[lo : lo + CHUNK_ROWS], read_out) for lo in starts])
