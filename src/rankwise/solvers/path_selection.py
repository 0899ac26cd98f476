"""Choosing the regularisation from the path: validation data, query folds, or leave-query-out.

Every way evaluates the whole grid at once: one pass over the rows gives the Gram statistics, one
eigendecomposition per training set gives every C, and one pass gives the scores of held-out rows
for every C, whose measure is taken per query. Held-out scores never exceed a few chunks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankwise._threads import query_chunks, thread_imap
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.solvers.design import Coefs, Design, draw_grams
from rankwise.solvers.folds import query_folds, row_folds
from rankwise.solvers.gram import CHUNK_ROWS, Gram, Problem, is_precise, total
from rankwise.solvers.path import eigen_path, inverse_shifted, path_coef
from rankwise.typing import Float64Array, Int64Array, Matrix

# Held-out rows whose scores for every C are measured at a time.
MEASURED_ROWS = 4 * CHUNK_ROWS


class Path(Protocol):
    """An eigendecomposed least-squares problem, primal or dual."""

    @property
    def values(self) -> Float64Array: ...

    @property
    def vectors(self) -> Float64Array: ...

    def coef(self, C: Float64Array) -> Float64Array: ...


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

    def best(self, measure: Measure) -> int:
        """Number of the best C; the first one on ties."""
        assert self.fold_scores is not None
        means = mean_of_folds(self.fold_scores)
        signed = means if measure.greater_is_better else -means
        if np.isnan(signed).all():
            raise ValueError(
                f"measure={str(measure)!r} is defined for no held-out query, so it cannot choose. "
                "Use another measure, or give a number."
            )
        return int(np.nanargmax(signed))


def mean_of_folds(fold_scores: Float64Array) -> Float64Array:
    """Mean over the folds whose value is defined, shape (n_C,)."""
    defined = ~np.isnan(fold_scores)
    count = defined.sum(axis=0)
    sums = np.where(defined, fold_scores, 0.0).sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def fit_path(problem: Problem, design: Design, C: Float64Array) -> PathFit:
    """Solutions for every C on all rows."""
    if _use_dual(problem, design):
        return PathFit([path.coef(C) for path in _dual_paths(problem, design)], None, None)
    grams = [total(folds) for folds in draw_grams(design, problem, None)]
    return PathFit([path_coef(solvable(gram, problem), C) for gram in grams], None, grams)


def fit_path_val(
    problem: Problem,
    design: Design,
    C: Float64Array,
    measure: Measure,
    X_val: Matrix,
    y_val: Float64Array,
    groups_val: QueryGroups,
) -> PathFit:
    """Solutions on all rows, measured on validation data."""
    fit = fit_path(problem, design, C)
    read_out = design.read_out(fit.coefs)
    queries = np.arange(groups_val.n_queries)
    values = _held_out(design, [read_out], X_val, y_val, groups_val, [queries], measure)
    return PathFit(fit.coefs, values, fit.grams)


def fit_path_cv(
    problem: Problem, design: Design, C: Float64Array, measure: Measure, n_folds: int
) -> PathFit:
    """Solutions on all rows, measured by ``n_folds``-fold cross-validation.

    Folds are over queries; with fewer queries than folds they are over rows, and the rows of a
    query that a fold holds are measured as one query.
    """
    n_queries, n_samples = problem.groups.n_queries, problem.X.shape[0]
    if n_samples < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many rows, got n_samples={n_samples}. Lower cv."
        )
    if n_queries < n_folds:
        all_rows = np.arange(n_samples)
        row_splits = [
            (np.setdiff1d(all_rows, fold), fold)
            for fold in row_folds(problem.X, problem.y, n_folds)
        ]
        return fit_path_splits(problem, design, C, measure, row_splits)
    folds = query_folds(problem.groups, n_folds)
    final: list[Float64Array] = []
    held: list[list[Float64Array]] = [[] for _ in folds]
    grams: list[Gram] | None = None
    if _use_dual(problem, design):
        final = [path.coef(C) for path in _dual_paths(problem, design)]
        for number, fold in enumerate(folds):
            train = problem.groups.rows(np.setdiff1d(np.arange(n_queries), fold))
            part = problem.subset(np.sort(train))
            held[number] = [path.coef(C) for path in _dual_paths(part, design)]
    else:
        grams = []
        for fold_grams in draw_grams(design, problem, folds):
            all_rows = total(fold_grams)
            grams.append(all_rows)

            def solve(fold: int, all_rows: Gram = all_rows, parts: Any = fold_grams) -> Any:
                part = all_rows if fold < 0 else all_rows - parts[fold]
                return path_coef(solvable(part, problem), C)

            n_threads = None if design.n_columns >= 64 else 1
            solutions = list(thread_imap(solve, range(-1, len(folds)), n_threads))
            final.append(solutions[0])
            for number, solution in enumerate(solutions[1:]):
                held[number].append(solution)
    # Held-out scores only choose C: blocks of many float32 rows are read out as they are.
    dtype = np.float64 if is_precise(problem, design.n_columns) else problem.X.dtype
    read_outs = [design.read_out(coefs, dtype) for coefs in held]
    values = _held_out(design, read_outs, problem.X, problem.y, problem.groups, folds, measure)
    return PathFit(final, values, grams)


def fit_path_splits(
    problem: Problem,
    design: Design,
    C: Float64Array,
    measure: Measure,
    splits: Sequence[tuple[Int64Array, Int64Array]],
) -> PathFit:
    """Solutions on all rows, measured on any splits (train rows, test rows), each fitted anew."""
    fit = fit_path(problem, design, C)
    values = []
    for train, test in splits:
        read_out = design.read_out(fit_path(problem.subset(train), design, C).coefs)
        groups = problem.groups.take(test)
        queries = np.arange(groups.n_queries)
        X, y = problem.X[test], problem.y[test]
        values.append(_held_out(design, [read_out], X, y, groups, [queries], measure)[0])
    return PathFit(fit.coefs, np.array(values), fit.grams)


def fit_path_loqo(problem: Problem, design: Design, C: Float64Array, measure: Measure) -> PathFit:
    """Solutions on all rows, measured by exact leave-one-query-out.

    With ``Z_q = Phi_q (G + I/C)^-1 Phi_q'`` the residual of query q under the model trained
    without it is ``(I - Z_q L_q)^-1 (y_q - Phi_q b)``: for any pair graph, without refitting. An
    unpenalised intercept adds ``1/W`` to Z, with columns centred by their mean.

    Complexity: O(N p^2) for the projections, O(sum_q m_q^2 (p + m_q)) for each C.
    """
    groups = problem.groups
    if groups.n_queries < 2:
        raise ValueError(
            '"loqo" needs at least 2 queries, got n_queries=1. Pass a qid, or choose by "cv".'
        )
    paths: Sequence[Path]
    grams: list[Gram] | None = None
    if _use_dual(problem, design):
        paths = list(_dual_paths(problem, design))
    else:
        grams = [total(folds) for folds in draw_grams(design, problem, None)]
        paths = [eigen_path(solvable(gram, problem)) for gram in grams]
    coefs = [path.coef(C) for path in paths]
    bases = [path.vectors for path in paths]
    inverses = [inverse_shifted(path.values, C) for path in paths]
    centre, mean_target, offset = np.zeros(design.n_columns), 0.0, 0.0
    if problem.intercept:
        mean_row, mean_target, weight = weighted_means(problem)
        centre, offset = next(design.blocks(mean_row[None, :]))[0], 1.0 / weight

    def held_out(query: int) -> Float64Array:
        rows = groups.rows(query)
        y = problem.y[rows]
        factor = problem.factor(rows, QueryGroups.single(len(rows)))
        L = factor.dense(0, 1)
        scores = np.zeros((len(rows), len(C)))
        for draw, block in enumerate(design.blocks(problem.X[rows])):
            projected = (block - centre) @ bases[draw]
            fitted = (block - centre) @ coefs[draw].T + mean_target
            for k, inverse in enumerate(inverses[draw]):
                Z = (projected * inverse) @ projected.T + offset
                residual = np.linalg.solve(np.eye(len(rows)) - Z @ L, y - fitted[:, k])
                scores[:, k] += (y - residual) / len(bases)
        return _per_query(measure, y, scores, QueryGroups.single(len(rows)))

    per_query = list(thread_imap(held_out, range(groups.n_queries)))
    return PathFit(coefs, np.concatenate(per_query), grams)


def solvable(gram: Gram, problem: Problem) -> Gram:
    """The statistics with an unpenalised intercept eliminated where the problem has one."""
    return gram.centred() if problem.intercept else gram


def weighted_means(problem: Problem) -> tuple[Float64Array, float, float]:
    """Weighted mean of the rows and of the targets, and the sum of the weights."""
    n = problem.X.shape[0]
    w = np.ones(n) if problem.sample_weight is None else problem.sample_weight
    weight = float(w.sum())
    return np.asarray(w @ problem.X).ravel() / weight, float(w @ problem.y) / weight, weight


def _use_dual(problem: Problem, design: Design) -> bool:
    """Whether the N x N system is the smaller one."""
    return problem.X.shape[0] < design.n_columns


def _dual_paths(problem: Problem, design: Design) -> Iterator[Path]:
    """For each draw, the dual path.

    An unpenalised intercept is the same as all pairs of all rows, each row counting once.
    """
    if problem.intercept:
        groups = QueryGroups.single(problem.X.shape[0])
        problem = Problem(problem.X, problem.y, groups, problem.sample_weight, "all", "document")
    yield from design.dual_paths(problem)


def _held_out(
    design: Design,
    read_outs: Sequence[Any],
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    folds: Sequence[Int64Array],
    measure: Measure,
) -> Float64Array:
    """Mean measure of each fold's queries under its own solutions, shape (n_folds, n_C)."""
    units = []
    for fold, queries in enumerate(folds):
        rows, inner = groups.subset(queries)
        units += [
            (
                fold,
                rows[inner.indptr[lo] : inner.indptr[hi]],
                QueryGroups(inner.indptr[lo : hi + 1] - inner.indptr[lo], None, inner.ids[lo:hi]),
            )
            for lo, hi in query_chunks(inner.indptr, MEASURED_ROWS)
        ]

    def measured(unit: tuple[int, Int64Array, QueryGroups]) -> Float64Array:
        fold, rows, chunk = unit
        scores = np.concatenate(
            [
                design.scores(X[rows[lo : lo + CHUNK_ROWS]], read_outs[fold])
                for lo in range(0, len(rows), CHUNK_ROWS)
            ]
        )
        return _per_query(measure, y[rows], scores, chunk)

    n_threads = None if X.shape[0] * design.n_columns > 1e6 else 1
    parts: list[list[Float64Array]] = [[] for _ in folds]
    for (fold, _, _), values in zip(units, thread_imap(measured, units, n_threads), strict=True):
        parts[fold].append(values)
    return np.array([_nanmean(np.concatenate(part)) for part in parts])


def _per_query(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Values per query for every column of scores, shape (n_queries, n_C)."""
    columns = np.ascontiguousarray(scores.T)
    return np.stack([measure.per_query(y, column, groups) for column in columns], axis=1)


def _nanmean(values: Float64Array) -> Float64Array:
    counted = ~np.isnan(values)
    n = counted.sum(axis=0)
    return np.where(n > 0, np.where(counted, values, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
