"""The path of a squared loss on columns, its held-out measures, and bounds at zero.

Every method evaluates the whole grid at once. One pass over the rows gives the Gram statistics, and
one eigendecomposition per training set gives every C. A second pass scores the held-out rows for
every C, and the measure is computed per query. Held-out scores are held for only a few chunks of
rows at a time.

If coefficients are bounded below by zero, with ``G = Phi' L Phi`` and ``g = Phi' L y`` the
minimiser of ``b' (G + I/C) b - 2 g'b`` over b >= 0 also minimises ``|R b - R^-T g|^2`` for any
``R'R = G + I/C``. This is a square non-negative least-squares problem, solved by the active-set
method of Lawson and Hanson [1]_.

References
----------
.. [1] Lawson & Hanson, "Solving least squares problems", 1974, chapter 23.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import nnls

from rankwise.groups import FitData, QueryGroups
from rankwise.losses.squared_loss import Problem, RowPart, SquaredLoss
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.design import AnyDesign, Coefs, Design, draw_grams
from rankwise.solvers.least_squares.eigen_path import (
    RELATIVE_CUT,
    DualPath,
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
from rankwise.tuning import (
    DEFAULT_FOLDS,
    Penalties,
    RunningMean,
    cv_splits,
    deal_queries,
    measure_per_query,
)
from rankwise.typing import Float64Array, Int64Array, Matrix

# Number of held-out rows measured at a time, for every C.
MEASURED_ROWS = 4 * CHUNK_ROWS


@dataclass(frozen=True, eq=False)
class PathFit:
    """Solutions for every penalty on all training rows."""

    design: AnyDesign  # columns that the solutions weight
    coefs: Coefs  # one (n_values, n_columns) per draw
    # (n_values,): unpenalised intercepts; None without an intercept
    constants: Float64Array | None = None
    n_iter: int = 1  # steps of an iterative solver
    # How far an iterative solver stopped from the solution; empty if it converged
    problem: str = ""

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        expansion = self.design.expansion([coef[index] for coef in self.coefs])
        if self.constants is not None:
            intercept = expansion.intercept + float(self.constants[index])
            expansion = replace(expansion, intercept=intercept)
        return {"expansion_": expansion}

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {"coef": self.design.path_coef(self.coefs)}

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        return self.problem

    def scaled(self, power: int) -> PathFit:
        """The solutions for targets multiplied by ``2^power``."""
        constants = None if self.constants is None else np.ldexp(self.constants, power)
        coefs = [np.ldexp(coef, power) for coef in self.coefs]
        return replace(self, coefs=coefs, constants=constants)


@dataclass(frozen=True, eq=False)
class ColumnsPath:
    """Base of the paths of a squared loss on the columns of a design."""

    rows: FitData
    design: Design
    loss: SquaredLoss
    penalties: Penalties

    def solve(self) -> PathFit:
        """Solutions for every penalty, from all rows."""
        raise NotImplementedError

    def validate(self, measure: Measure, rows: FitData) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured on validation rows, shape (1, n_values)."""
        fit, queries = self.solve(), np.arange(rows.groups.n_queries)
        parts = (rows.X, rows.y, rows.groups, [queries], measure)
        return fit, measure_held_out(self.design, [self.design.read_out(fit.coefs)], *parts)


@dataclass(frozen=True, eq=False)
class LeastSquaresPath(ColumnsPath):
    """A squared loss on the columns of a design, plus a squared norm, for a grid of penalties."""

    def solve(self) -> PathFit:
        """Solutions for every penalty, from all rows."""
        return self._solve(self.loss.on(self.rows))

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by cross-validation.

        An integer ``cv`` gives folds of queries. If there are fewer queries than folds, it gives
        folds of rows, and the rows of a query within a fold are measured as one query. For a
        splitter or pairs (train rows, test rows), each split is refitted.
        """
        is_number = cv is None or isinstance(cv, Integral)
        n_folds = int(cv or DEFAULT_FOLDS) if is_number else 0
        problem = self.loss.on(self.rows)
        if is_number and problem.groups.n_queries >= n_folds:
            return self._cross_validate_queries(problem, measure, n_folds)
        fit = self._solve(problem)
        values = [
            self._measure(problem, self._solve(problem.subset(train)).coefs, test, measure)
            for train, test in cv_splits(cv, self.rows)
        ]
        return fit, np.array(values)

    def leave_query_out(self, measure: Measure) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by exact leave-one-query-out."""
        problem = self.loss.on(self.rows)
        draws, intercept, fit = self._decompose(problem)
        return fit, leave_query_out(problem, draws, self.penalties, measure, intercept)

    def leave_pair_out(self) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, and the share of pairs misordered by exact leave-pair-out."""
        problem = self.loss.on(self.rows)
        draws, intercept, fit = self._decompose(problem)
        return fit, leave_pair_out(problem, draws, self.penalties, intercept)

    def _solve(self, problem: Problem) -> PathFit:
        if use_dual(problem, self.design):
            return self._dual_fit(problem, _dual_coefs(problem, self.design, self.penalties))
        grams = [total(folds) for folds in draw_grams(self.design, problem, None)]
        return fit_from_grams(grams, self.design, self.penalties, problem.intercept)

    def _dual_fit(self, problem: Problem, coefs: Coefs) -> PathFit:
        if not problem.intercept:
            return PathFit(self.design, coefs)
        mean_row, mean_target, _ = weighted_means(problem)
        centre = self.design.block(mean_row[None, :], 0)[0]
        return PathFit(self.design, coefs, _constants(mean_target, centre, coefs[0]))

    def _cross_validate_queries(
        self, problem: Problem, measure: Measure, n_folds: int
    ) -> tuple[PathFit, Float64Array]:
        design, n_queries = self.design, problem.groups.n_queries
        folds = deal_queries(problem.groups, n_folds)
        held: list[list[Float64Array]] = []
        # Sums of products do not help here: the dual's unknowns are the rows, which differ by fold.
        if use_dual(problem, design):
            fit = self._dual_fit(problem, _dual_coefs(problem, design, self.penalties))
            for fold in folds:
                train = problem.groups.rows(np.setdiff1d(np.arange(n_queries), fold))
                part = problem.subset(np.sort(train))
                held.append(_dual_coefs(part, design, self.penalties))
        else:
            draws = draw_grams(design, problem, folds)
            intercept = problem.intercept
            fit, held = solve_folds(draws, len(folds), design, self.penalties, intercept)
        # Held-out scores only serve to choose C, so large float32 blocks are scored in float32.
        dtype = problem.X.dtype
        if is_precise(problem.X.shape[0], design.n_columns):
            dtype = np.dtype(np.float64)
        read_outs = [design.read_out(coefs, dtype) for coefs in held]
        values = measure_held_out(
            design, read_outs, problem.X, problem.y, problem.groups, folds, measure
        )
        return fit, values

    def _measure(
        self, problem: Problem, coefs: Coefs, test: Int64Array, measure: Measure
    ) -> Float64Array:
        """Measure of the solutions on test rows, shape (n_values,)."""
        groups, read_out = problem.groups.take(test), self.design.read_out(coefs)
        queries, X, y = np.arange(groups.n_queries), problem.X[test], problem.y[test]
        return measure_held_out(self.design, [read_out], X, y, groups, [queries], measure)[0]

    def _decompose(self, problem: Problem) -> tuple[list[Decomposed], Intercept, PathFit]:
        """Eigendecomposed draws for the leave-out formulas, and the fit on all rows."""
        design, is_dual = self.design, use_dual(problem, self.design)
        grams: list[Gram] = []
        paths: Sequence[EigenPath | DualPath]
        if is_dual:
            paths = list(_dual_paths(problem, design))
        else:
            grams = [total(folds) for folds in draw_grams(design, problem, None)]
            with _cancelling_columns():
                solvable = [gram.centred() if problem.intercept else gram for gram in grams]
                paths = [eigen_path(gram.matrix, gram.rhs) for gram in solvable]
        centre, intercept = np.zeros(design.n_columns), Intercept()
        if problem.intercept:
            mean_row, mean_target, weight = weighted_means(problem)
            # Linear columns: those of the mean row are the mean of the columns.
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

        C = self.penalties.C(problem.pairs())
        coefs = [path.coef(C) for path in paths]
        if is_dual:
            fit = self._dual_fit(problem, coefs)
        else:
            fit = _gram_fit(grams, coefs, design, problem.intercept)
        return [decompose(draw) for draw in range(len(paths))], intercept, fit


def fit_from_grams(
    grams: Sequence[Gram], design: Design, penalties: Penalties, intercept: bool
) -> PathFit:
    """Solutions from the statistics of all rows, one per draw."""
    coefs = [_gram_coef(gram, penalties, intercept) for gram in grams]
    return _gram_fit(grams, coefs, design, intercept)


def _gram_fit(grams: Sequence[Gram], coefs: Coefs, design: Design, intercept: bool) -> PathFit:
    if not intercept:
        return PathFit(design, coefs)
    gram = grams[0]
    centre = gram.sums / gram.weight
    return PathFit(design, coefs, _constants(gram.target_sum / gram.weight, centre, coefs[0]))


def _constants(mean_target: float, centre: Float64Array, coefs: Float64Array) -> Float64Array:
    """Intercepts that make the mean score of the rows equal to the mean target."""
    return np.array([mean_target - float(centre @ coef) for coef in coefs])


def solve_folds(
    draws: Iterable[Sequence[Gram]],
    n_folds: int,
    design: Design,
    penalties: Penalties,
    intercept: bool,
) -> tuple[PathFit, list[list[Float64Array]]]:
    """Solutions on all rows, and solutions without each fold, from the statistics of the folds."""
    final: list[Float64Array] = []
    held: list[list[Float64Array]] = [[] for _ in range(n_folds)]
    grams: list[Gram] = []
    for parts in draws:
        all_rows = total(parts)
        grams.append(all_rows)

        def solve(fold: int, all_rows: Gram = all_rows, parts: Any = parts) -> Float64Array:
            # Fold -1 is none: the fit on all rows is one more task for the threads.
            part = all_rows if fold < 0 else all_rows - parts[fold]
            return _gram_coef(part, penalties, intercept)

        # Smaller systems are solved before a thread has started.
        n_threads = None if design.n_columns >= 64 else 1
        solutions = list(thread_imap(solve, range(-1, n_folds), n_threads))
        final.append(solutions[0])
        for number, solution in enumerate(solutions[1:]):
            held[number].append(solution)
    return _gram_fit(grams, final, design, intercept), held


def _gram_coef(gram: Gram, penalties: Penalties, intercept: bool) -> Float64Array:
    """Solutions for every penalty from the statistics, shape (n_values, n_columns).

    Raises FloatingPointError if the squares of columns far from zero cancel numerically.
    """
    with _cancelling_columns():
        gram = gram.centred() if intercept else gram
        return path_coef(gram.matrix, gram.rhs, penalties.C(gram.pairs))


@contextmanager
def _cancelling_columns() -> Iterator[None]:
    """Error for negative eigenvalues of semidefinite statistics, a sign of lost precision."""
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

    An unpenalised intercept is equivalent to the loss over all pairs of all rows, each row counted
    once.
    """
    if problem.intercept:
        groups = QueryGroups.single(problem.X.shape[0])
        problem = Problem(problem.X, problem.y, groups, problem.sample_weight, "all", "document")
    yield from design.dual_paths(problem)


def measure_held_out(
    design: Design,
    read_outs: Sequence[Any],
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    folds: Sequence[Int64Array],
    measure: Measure,
) -> Float64Array:
    """Mean measure of each fold's queries under that fold's solutions, shape (n_folds, n_C)."""
    parts = Problem(X, y, groups, None, "all").parts(folds, MEASURED_ROWS)
    n_threads = None if X.shape[0] * design.n_columns > 1e6 else 1
    return mean_measures(design, read_outs, parts, measure, n_threads)


def mean_measures(
    design: Design,
    read_outs: Sequence[Any],
    parts: Iterable[RowPart],
    measure: Measure,
    n_threads: int | None = None,
) -> Float64Array:
    """Mean measure of whole queries under the solutions of their fold, shape (n_folds, n_C)."""

    def measured(part: RowPart) -> tuple[int, Float64Array]:
        rows = part.take()
        scores = part_scores(design, read_outs[part.fold], rows.X)
        return part.fold, measure_per_query(measure, rows.y, scores, rows.groups)

    means = [RunningMean() for _ in read_outs]
    for fold, values in thread_imap(measured, parts, n_threads):
        means[fold].add(values)
    return np.array([mean.value() for mean in means])


def part_scores(design: Design, read_out: Any, X: Matrix) -> Float64Array:
    """Scores for every solution, ``CHUNK_ROWS`` rows at a time."""
    starts = range(0, X.shape[0], CHUNK_ROWS)
    return np.concatenate([design.scores(X[lo : lo + CHUNK_ROWS], read_out) for lo in starts])


@dataclass(frozen=True, eq=False)
class NonNegativePath(ColumnsPath):
    """The path with coefficients >= 0, for a design of one draw and a loss without an intercept."""

    def solve(self) -> PathFit:
        """Solutions for every penalty, from all rows."""
        (grams,) = draw_grams(self.design, self._problem, None)
        return PathFit(self.design, [self._coef(total(grams))])

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by cross-validation.

        An integer ``cv`` gives folds of queries, or folds of rows if there are fewer queries than
        folds.
        """
        is_number = cv is None or isinstance(cv, Integral)
        n_folds = int(cv or DEFAULT_FOLDS) if is_number else 0
        problem = self._problem
        # Folds of queries subtract from sums; folds of rows cut queries apart and need a pass each.
        if is_number and problem.groups.n_queries >= n_folds:
            return self._leave_out(deal_queries(problem.groups, n_folds), measure)
        values = []
        for train, test in cv_splits(cv, self.rows):
            (grams,) = draw_grams(self.design, problem.subset(train), None)
            groups = problem.groups.take(test)
            queries, read_out = np.arange(groups.n_queries), self._read_out(total(grams))
            parts = (problem.X[test], problem.y[test], groups, [queries], measure)
            values.append(measure_held_out(self.design, [read_out], *parts)[0])
        return self.solve(), np.array(values)

    def leave_query_out(self, measure: Measure) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by exact leave-one-query-out."""
        queries = np.arange(self._problem.groups.n_queries)
        return self._leave_out(list(queries[:, None]), measure)

    @property
    def _problem(self) -> Problem:
        return self.loss.on(self.rows)

    def _leave_out(
        self, folds: Sequence[Int64Array], measure: Measure
    ) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, and the measure of each fold under the solutions without it."""
        problem = self._problem
        (grams,) = draw_grams(self.design, problem, folds)
        whole = total(grams)
        # Training sums by difference: one pass over the rows for all folds.
        read_outs = [self._read_out(whole - part) for part in grams]
        parts = (problem.X, problem.y, problem.groups, folds, measure)
        fit = PathFit(self.design, [self._coef(whole)])
        return fit, measure_held_out(self.design, read_outs, *parts)

    def _read_out(self, gram: Gram) -> Any:
        return self.design.read_out([self._coef(gram)], np.dtype(np.float64))

    def _coef(self, gram: Gram) -> Float64Array:
        return non_negative_coef(gram, self.penalties.C(gram.pairs))


def non_negative_coef(gram: Gram, C: Float64Array) -> Float64Array:
    """Solutions b >= 0 for every C, shape (n_C, p); O(p^3) for each.

    Directions are left out of the objective if eigenvalue and penalty are both below 1e-12 of the
    largest eigenvalue.
    """
    values, vectors = np.linalg.eigh(gram.matrix)
    rhs = vectors.T @ gram.rhs
    least = RELATIVE_CUT * max(float(values[-1]), 0.0) if len(values) else 0.0
    found = np.zeros((len(C), len(rhs)))
    for place, alpha in enumerate(1.0 / np.asarray(C, dtype=np.float64)):
        # Directions of rounding alone would be divided by almost nothing.
        kept = values + alpha > least
        root = np.sqrt(values[kept] + alpha)
        # |R b - R^-T g|^2 for R = (values + alpha)^(1/2) V', from the eigenvectors of all
        # penalties.
        found[place] = nnls(root[:, None] * vectors[:, kept].T, rhs[kept] / root)[0]
    return found
