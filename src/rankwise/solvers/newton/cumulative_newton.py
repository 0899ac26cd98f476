"""Newton's method for a cumulative link model: all coefficients and thresholds at once.

Minimises ``(1/W) sum_n loss_n(z_n.u, theta) + u' diag(penalty) u / 2`` over u and ascending theta,
where W is the sum of the weights. The loss is convex in both, so a full Newton step is taken unless
it crosses thresholds or does not lower the objective; then it is halved. The Hessian is dense: O(N
D^2 + D^3) per step for D = n_columns + n_thresholds.

Columns are in units of their spread. Thresholds absorb a shift of the columns, so dense columns are
centred, in float64. Sparse columns keep their zeros and are only divided.

The path along C minimises ``|w|^2 / 2 + C sum_n w_n loss_n`` for all rows and for each fold. Equal
rows are merged, ordered by content and sorted by class. Each C starts from the previous solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs

from rankwise.groups import FitData, QueryGroups
from rankwise.losses.cumulative_link import (
    CumulativeLinkLoss,
    IntervalTerms,
    Link,
    start_thresholds,
)
from rankwise.metrics.measure import Measure
from rankwise.row_order import merge_rows
from rankwise.runtime.threads import single_threaded_blas, thread_map
from rankwise.tuning import Penalties, RefitPath, mean_measure
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

_pstrf: Any = get_lapack_funcs("pstrf", dtype=np.float64)
CHUNK_ROWS = 2000
N_LANES = 8
# With fewer entries, a second thread does not pay off.
SMALL = 100_000
# Share of a column's variance that the other columns must leave unexplained.
RANK_TOL = 1e-12


@dataclass(frozen=True, eq=False)
class StandardColumns:
    """Rows ``Z = (X - mean) / spread`` in chunks."""

    chunks: list[Matrix]  # of Z; the mean of sparse rows is not subtracted
    bounds: list[tuple[int, int]]  # (first row, row after the last)
    mean: Float64Array  # (n_features,): shift that has been subtracted, in units of X
    spread: Float64Array  # (n_features,): 0 for a constant column, which is zero in Z

    @classmethod
    def of(cls, X: Matrix, weight: Float64Array) -> StandardColumns:
        """Columns of rows with weights > 0; O(n_samples n_features)."""
        n, d = X.shape
        bounds = [(lo, min(lo + CHUNK_ROWS, n)) for lo in range(0, n, CHUNK_ROWS)]
        share = weight / weight.sum()
        ends = (X.min(axis=0), X.max(axis=0))
        low, high = (np.asarray(densify(end), dtype=np.float64).ravel() for end in ends)
        # Divided by powers of two, which is exact, so that squares do not overflow.
        largest = np.maximum(np.abs(low), np.abs(high))
        unit = np.ldexp(1.0, np.clip(np.frexp(largest)[1] - 1, -1000, 1023))
        if is_sparse(X):
            scaled: Any = X.astype(np.float64)
            scaled = scaled.multiply(1.0 / unit).tocsr()
            centre = np.asarray(scaled.T @ share).ravel()
            squares = np.asarray(scaled.power(2).T @ share).ravel()
            spread = np.sqrt(np.maximum(squares - centre**2, 0.0))
            # The difference of squares loses half of the digits: smaller spreads would be rounding.
            spread = np.where(low < high, np.maximum(spread, 1e-8 * np.sqrt(squares)), 0.0)
            scaled = scaled.multiply(_inverse(spread)).tocsr()
            chunks = [scaled[lo:hi] for lo, hi in bounds]
            return cls(chunks, bounds, np.zeros(d), spread * unit)
        # Any row near the others does: a common offset is gone before sums are formed.
        first = X[0] / unit
        chunks = [X[lo:hi] / unit - first for lo, hi in bounds]
        centre = _sum([share[lo:hi] @ Z for (lo, hi), Z in zip(bounds, chunks, strict=True)], d)
        for Z in chunks:
            Z -= centre
        squares = _sum([share[lo:hi] @ Z**2 for (lo, hi), Z in zip(bounds, chunks, strict=True)], d)
        spread = np.where(low < high, np.sqrt(squares), 0.0)
        for Z in chunks:
            Z *= _inverse(spread)
        return cls(chunks, bounds, (first + centre) * unit, spread * unit)

    @property
    def n_columns(self) -> int:
        return len(self.spread)

    @property
    def n_threads(self) -> int | None:
        """Number of threads; None (all) for large inputs."""
        size = sum(Z.nnz if is_sparse(Z) else Z.size for Z in self.chunks)
        return None if size > SMALL else 1

    def take(self, columns: Int64Array) -> StandardColumns:
        """Some of the columns."""
        chunks = [Z[:, columns] for Z in self.chunks]
        return StandardColumns(chunks, self.bounds, self.mean[columns], self.spread[columns])

    def scores(self, u: Float64Array) -> Float64Array:
        """``Z u``, shape (n_samples,)."""
        return np.concatenate(thread_map(lambda Z: Z @ u, self.chunks, self.n_threads))

    def sum_of(
        self, of_chunk: Callable[[int], tuple[Float64Array, Float64Array]]
    ) -> tuple[Float64Array, Float64Array]:
        """Sums of two arrays over all chunk numbers, in a fixed order.

        Only ``N_LANES`` pairs of arrays are held at once. The result is bit-identical for any
        number of threads.
        """

        def run(lane: range) -> tuple[Float64Array, Float64Array]:
            first, second = of_chunk(lane[0])
            for number in lane[1:]:
                more = of_chunk(number)
                first += more[0]
                second += more[1]
            return first, second

        n = len(self.chunks)
        # A number of lanes that does not depend on threads: the sums then do not either.
        lanes = [range(lane, n, N_LANES) for lane in range(min(n, N_LANES))]
        parts = thread_map(run, lanes, self.n_threads)
        return np.sum([part[0] for part in parts], axis=0), np.sum(
            [part[1] for part in parts], axis=0
        )

    def independent(self, weight: Float64Array) -> Int64Array:
        """Columns that are not combinations of others and the constant, ascending; O(n d^2)."""
        share = weight / weight.sum()

        def of_chunk(number: int) -> tuple[Float64Array, Float64Array]:
            Z, here = self.chunks[number], share[slice(*self.bounds[number])]
            return np.asarray(Z.T @ here), compute_weighted_gram(Z, here)

        mean, gram = self.sum_of(of_chunk)
        gram = gram - np.outer(mean, mean)
        # Cholesky with pivots takes the column that is explained least, until none is left.
        _, pivots, rank, _ = _pstrf(gram, tol=RANK_TOL, lower=1)
        return np.sort(pivots[:rank] - 1).astype(np.int64)


def compute_weighted_gram(Z: Matrix, weight: Float64Array) -> Float64Array:
    """``Z' diag(weight) Z`` of weights >= 0, dense."""
    root = np.sqrt(weight)
    if is_sparse(Z):
        scaled = Z.multiply(root[:, None]).tocsr()
        return (scaled.T @ scaled).toarray()
    scaled = Z * root[:, None]
    return scaled.T @ scaled


def _sum(parts: list[Float64Array], d: int) -> Float64Array:
    return np.sum(parts, axis=0) if parts else np.zeros(d)


def _inverse(spread: Float64Array) -> Float64Array:
    return np.divide(1.0, spread, out=np.zeros(len(spread)), where=spread > 0)


SUFFICIENT_DECREASE = 1e-4
MOST_HALVINGS = 60
# A decrease, as a share of the objective, that rounding hides.
ROUNDING = 1e-13
# If this many steps in a row lower the mean loss by less than FLAT but are longer than the
# tolerance, the solution diverges. Near a finite minimum, steps shrink quadratically.
FLAT, MOST_FLAT_STEPS = 1e-13, 5


@dataclass(frozen=True, eq=False)
class CumulativeSolution:
    """Point at which the solver stopped."""

    u: Float64Array  # (n_columns,)
    thresholds: Float64Array  # (n_thresholds,), ascending
    value: float  # the objective
    loss: float  # sum of the losses, not divided by W
    n_iter: int
    step: float  # largest change of a score or a threshold by the last step
    converged: bool  # whether `step` is at most the tolerance


@dataclass(frozen=True, eq=False)
class CumulativeNewton:
    """The solver."""

    tol: float  # step size at which iteration ends; the remaining error is about its square
    max_iter: int

    def solve(
        self,
        columns: StandardColumns,
        loss: CumulativeLinkLoss,
        penalty: Float64Array,
        u: Float64Array,
        theta: Float64Array,
    ) -> CumulativeSolution:
        """Take steps from the given coefficients and thresholds.

        Without a penalty the steps end early if the loss has no minimum, see ``FLAT``.
        """
        problem = _Problem(columns, loss, penalty)
        with single_threaded_blas():
            point, step = problem.at(columns.scores(u), u, theta), np.inf
            n_iter, n_flat, converged = 0, 0, False
            while n_iter < self.max_iter and not converged and n_flat < MOST_FLAT_STEPS:
                grad, hessian = problem.derivatives(point)
                move = _solve(hessian, -grad)
                if move is None:
                    break
                along, theta_move = columns.scores(move[: len(u)]), move[len(u) :]
                slope = float(grad @ move)
                taken = problem.search(point, move, along, theta_move, slope)
                if taken is None:
                    break
                share, point = taken
                n_iter += 1
                step = share * max(np.abs(along).max(), np.abs(theta_move).max())
                # A shortened step may be small without being near the minimum.
                converged = share == 1.0 and step <= self.tol
                n_flat = n_flat + 1 if slope > -FLAT and not penalty.any() else 0
        total = float(loss.weight.sum())
        return CumulativeSolution(
            point.u, point.theta, point.value, total * point.loss, n_iter, step, converged
        )

    def covariance(
        self, columns: StandardColumns, loss: CumulativeLinkLoss, solution: CumulativeSolution
    ) -> Float64Array | None:
        """Inverse of the observed information of (u, theta) without a penalty; None: singular."""
        problem = _Problem(columns, loss, np.zeros(columns.n_columns))
        with single_threaded_blas():
            u, theta = solution.u, solution.thresholds
            _, hessian = problem.derivatives(problem.at(columns.scores(u), u, theta))
        scale = _diagonal_scale(hessian)
        factor = _factor(hessian, scale)
        if factor is None:
            return None
        inverse = cho_solve((factor, True), np.eye(len(factor)))
        return scale[:, None] * inverse * scale / float(loss.weight.sum())


@dataclass(frozen=True, eq=False)
class _CumulativePoint:
    """Scores and thresholds, with the objective value and the derivatives of every chunk."""

    scores: Float64Array
    u: Float64Array
    theta: Float64Array
    loss: float
    value: float
    terms: list[IntervalTerms]


@dataclass(frozen=True, eq=False)
class _Problem:
    columns: StandardColumns
    loss: CumulativeLinkLoss
    penalty: Float64Array

    def at(self, scores: Float64Array, u: Float64Array, theta: Float64Array) -> _CumulativePoint:
        def of_rows(bounds: tuple[int, int]) -> IntervalTerms:
            rows = slice(*bounds)
            part = replace(self.loss, codes=self.loss.codes[rows], weight=self.share[rows])
            return part.terms(scores[rows], theta)

        terms = thread_map(of_rows, self.columns.bounds, self.columns.n_threads)
        loss = float(sum(part.value.sum() for part in terms))
        value = loss + 0.5 * float(self.penalty @ u**2)
        return _CumulativePoint(scores, u, theta, loss, value, terms)

    @property
    def share(self) -> Float64Array:
        """Weights that sum to 1."""
        return self.loss.weight / self.loss.weight.sum()

    def derivatives(self, point: _CumulativePoint) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian by (u, theta)."""
        d, n_ends = self.columns.n_columns, len(point.theta) + 2
        codes = self.loss.codes

        def of_chunk(number: int) -> tuple[Float64Array, Float64Array]:
            Z, terms = self.columns.chunks[number], point.terms[number]
            classes = codes[slice(*self.columns.bounds[number])]
            grad, hessian = np.zeros(d + n_ends), np.zeros((d + n_ends, d + n_ends))
            # Ends of the intervals: -inf, the thresholds, inf; the outer two fall away at the end.
            first, last = int(classes.min()), int(classes.max()) + 2
            rows, here = np.arange(len(classes)), classes - first
            # Only the ends of classes in the chunk: few if the rows are sorted by class.
            cross = np.zeros((len(classes), last - first))
            cross[rows, here + 1] = -(terms.upper_upper + terms.upper_lower)
            cross[rows, here] = -(terms.lower_lower + terms.upper_lower)
            grad[:d] = Z.T @ terms.by_score
            hessian[:d, :d] = compute_weighted_gram(Z, terms.score_score)
            hessian[:d, d + first : d + last] = Z.T @ cross
            for classes_end, by, twice in (
                (classes + 1, terms.by_upper, terms.upper_upper),
                (classes, terms.by_lower, terms.lower_lower),
            ):
                grad[d:] += np.bincount(classes_end, by, n_ends)
                place = np.arange(d, d + n_ends)
                hessian[place, place] += np.bincount(classes_end, twice, n_ends)
            place = np.arange(d, d + n_ends - 1)
            hessian[place, place + 1] += np.bincount(classes, terms.upper_lower, n_ends - 1)
            return grad, hessian

        grad, hessian = self.columns.sum_of(of_chunk)
        kept = np.r_[:d, d + 1 : d + n_ends - 1]
        grad, hessian = grad[kept], hessian[np.ix_(kept, kept)]
        # The blocks above wrote the upper triangle only.
        hessian = np.triu(hessian) + np.triu(hessian, 1).T
        grad[:d] += self.penalty * point.u
        hessian[np.arange(d), np.arange(d)] += self.penalty
        return grad, hessian

    def search(
        self,
        point: _CumulativePoint,
        move: Float64Array,
        along: Float64Array,
        theta_move: Float64Array,
        slope: float,
    ) -> tuple[float, _CumulativePoint] | None:
        """Largest share of a step (1, 1/2, ...) that keeps order and lowers the objective."""
        share, slack = 1.0, ROUNDING * abs(point.value)
        for _ in range(MOST_HALVINGS):
            theta = point.theta + share * theta_move
            # Equal or crossed thresholds would leave a class without probability.
            if (np.diff(theta) > 0).all():
                u = point.u + share * move[: len(point.u)]
                there = self.at(point.scores + share * along, u, theta)
                # Near the minimum the decrease is below the rounding of the value: the slack lets
                # such steps pass.
                limit = point.value + SUFFICIENT_DECREASE * share * slope + slack
                if there.value <= limit:
                    return share, there
            share *= 0.5
        return None


def _solve(hessian: Float64Array, right: Float64Array) -> Float64Array | None:
    """Solution with a positive definite matrix; None if it is not numerically definite."""
    scale = _diagonal_scale(hessian)
    factor = _factor(hessian, scale)
    if factor is None:
        return None
    return scale * cho_solve((factor, True), scale * right)


def _diagonal_scale(hessian: Float64Array) -> Float64Array:
    diagonal = hessian.diagonal()
    return np.divide(
        1.0, np.sqrt(np.maximum(diagonal, 0.0)), out=np.zeros(len(diagonal)), where=diagonal > 0
    )


def _factor(hessian: Float64Array, scale: Float64Array) -> Float64Array | None:
    """Cholesky factor of the matrix with a unit diagonal."""
    try:
        return cho_factor(scale[:, None] * hessian * scale, lower=True, check_finite=False)[0]
    except np.linalg.LinAlgError:
        return None


# Above this size rows are not merged, and rounding depends on their order.
LARGEST_MERGED = 5e6
# Largest penalty of a column in units of its spread; beyond it, the coefficient is numerically
# zero.
MOST_PENALTY = 1e100
# Thresholds beyond the classes of the rows: no score reaches them, or falls short of them.
BEYOND = 1e300


@dataclass(frozen=True, eq=False)
class CumulativeModel:
    """A solution in units of the features."""

    coef: Float64Array  # (n_features,)
    thresholds: Float64Array  # (n_classes - 1,)
    log_likelihood: float
    objective: float  # |w|^2 / 2 + C sum of losses; only the sum if C is infinite
    n_iter: int
    step: float  # largest change of a score by the last step
    converged: bool
    # (n_features + n_classes - 1,) * 2: of coefficients and thresholds, without a penalty; NaN if
    # not estimated
    covariance: Float64Array | None


@dataclass(frozen=True, eq=False)
class CumulativeFit:
    """Models of all rows for every C."""

    models: Sequence[CumulativeModel]
    source: CumulativePath

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the model at one value of the grid."""
        model = self.models[index]
        found = {
            "coef_": model.coef,
            "intercept_": self.source.loss.median,
            "thresholds_": model.thresholds,
            "log_likelihood_": model.log_likelihood,
            "objective_": model.objective,
            "n_iter_": model.n_iter,
        }
        if model.covariance is not None:
            found["standard_errors_"] = np.sqrt(model.covariance.diagonal())
        return found

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {
            "coef": np.stack([model.coef for model in self.models]),
            "thresholds": np.stack([model.thresholds for model in self.models]),
        }

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        model, solver = self.models[index], self.source.solver
        if model.converged:
            return ""
        if np.isinf(self.source.penalties.values[index]) and model.n_iter < solver.max_iter:
            return (
                f"stopped after {model.n_iter} Newton steps: the likelihood has no maximum because "
                "a combination of columns separates classes; coefficients grow without bound "
                f"(log-likelihood {model.log_likelihood:.4g}). Set a finite C, or drop such "
                "columns."
            )
        return (
            f"stopped after {model.n_iter} Newton steps at {at}; the last step was "
            f"{model.step:.2g}, above tol={solver.tol:g}. Increase max_iter or tol, or lower C."
        )


@dataclass(frozen=True, eq=False)
class CumulativePath(RefitPath[CumulativeFit]):
    """Models for a grid of C."""

    rows: FitData
    design: None  # the columns of X themselves
    loss: Link
    penalties: Penalties  # values of C, ascending; may end with infinity
    solver: CumulativeNewton

    def _scores(self, fit: CumulativeFit, X: Matrix) -> Float64Array:
        return np.stack([X @ model.coef for model in fit.models], axis=1)

    def _measure(
        self,
        fit: CumulativeFit,
        measure: Measure,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
    ) -> Float64Array:
        if not measure.reads_labels:
            return mean_measure(measure, np.maximum(y, 0.0), scores, groups)
        probable = [
            self.loss.probabilities(column, model.thresholds).argmax(axis=1)
            for column, model in zip(scores.T, fit.models, strict=True)
        ]
        return mean_measure(measure, y, np.stack(probable, axis=1).astype(np.float64), groups)

    def _solve(self, rows: Int64Array) -> CumulativeFit:
        X, y, weight = self._take(rows)
        assert self.rows.classes is not None
        frame = _Frame.of(X, y, weight, len(self.rows.classes))
        if len(frame.present) < 2:
            return CumulativeFit([frame.constant() for _ in self.penalties.values], self)
        loss = CumulativeLinkLoss(self.loss, frame.codes, weight)
        models, u = [], np.zeros(frame.columns.n_columns)
        theta = start_thresholds(loss.link, np.bincount(loss.codes, loss.weight))
        with single_threaded_blas():
            for C in self.penalties.values.tolist():
                model, u, theta = self._solve_one(frame, loss, C, u, theta)
                models.append(model)
        return CumulativeFit(models, self)

    def _solve_one(
        self,
        frame: _Frame,
        loss: CumulativeLinkLoss,
        C: float,
        u: Float64Array,
        theta: Float64Array,
    ) -> tuple[CumulativeModel, Float64Array, Float64Array]:
        """Model for C, with its coefficients and thresholds, from which the next C starts."""
        columns, total = frame.columns, float(loss.weight.sum())
        if np.isinf(C):
            # No penalty chooses among equal fits: dependent columns would make the Hessian
            # singular.
            kept = columns.independent(loss.weight)
            penalty = np.zeros(len(kept))
        else:
            with np.errstate(all="ignore"):
                # In units of the spread, and of the mean loss; one by one, as products may
                # overflow.
                every = 1.0 / C / total / columns.spread / columns.spread
            kept = np.flatnonzero(every < MOST_PENALTY)
            penalty = every[kept]
        taken = columns if len(kept) == columns.n_columns else columns.take(kept)
        solution = self.solver.solve(taken, loss, penalty, u[kept], theta)
        u = np.zeros(columns.n_columns)
        u[kept] = solution.u
        covariance = None
        if np.isinf(C) and solution.converged:
            covariance = self.solver.covariance(taken, loss, solution)
        return frame.model(solution, u, kept, covariance, C), u, solution.thresholds

    def _take(self, rows: Int64Array) -> tuple[Matrix, Float64Array, Float64Array]:
        """Selected rows sorted by class, with class numbers and weights."""
        data = self.rows
        every = len(rows) == len(data.y)
        X, y = (data.X, data.y) if every else (data.X[rows], data.y[rows])
        weight = np.ones(len(y)) if data.sample_weight is None else data.sample_weight[rows]
        size = X.nnz if is_sparse(X) else X.size
        if size > LARGEST_MERGED:
            order = np.argsort(y, kind="stable")
            return X[order], y[order], weight[order]
        merged = merge_rows(X, y, QueryGroups.single(len(y)), weight)
        order = np.argsort(y[merged.rows], kind="stable")
        taken = merged.rows[order]
        return X[taken], y[taken], merged.weight[order]


@dataclass(frozen=True, eq=False)
class _Frame:
    """Columns in units of their spread, non-empty classes, and the back-transformation."""

    columns: StandardColumns
    codes: Int64Array
    present: Int64Array
    n_classes: int

    @classmethod
    def of(cls, X: Matrix, y: Float64Array, weight: Float64Array, n_classes: int) -> _Frame:
        present, codes = np.unique(y.astype(np.int64), return_inverse=True)
        return cls(StandardColumns.of(X, weight), codes, present, n_classes)

    def constant(self) -> CumulativeModel:
        """Model for rows of a single class."""
        thresholds = self._all_thresholds(np.zeros(0))
        return CumulativeModel(
            np.zeros(self.columns.n_columns), thresholds, 0.0, 0.0, 0, 0.0, True, None
        )

    def model(
        self,
        solution: CumulativeSolution,
        u: Float64Array,
        kept: Int64Array,
        covariance: Float64Array | None,
        C: float,
    ) -> CumulativeModel:
        spread, mean = self.columns.spread, self.columns.mean
        coef = np.divide(u, spread, out=np.zeros(len(u)), where=spread > 0)
        thresholds = self._all_thresholds(solution.thresholds + float(mean @ coef))
        objective = solution.loss
        if np.isfinite(C):
            objective = 0.5 * float(coef @ coef) + C * solution.loss
        if np.isinf(C):
            covariance = self._all_covariance(covariance, kept)
        return CumulativeModel(
            coef,
            thresholds,
            -solution.loss,
            objective,
            solution.n_iter,
            solution.step,
            solution.converged,
            covariance,
        )

    def _all_thresholds(self, solved: Float64Array) -> Float64Array:
        """Thresholds between all classes; an empty class repeats its neighbour's threshold."""
        ends = np.concatenate([[-BEYOND], solved, [BEYOND]])
        return ends[self._solved_place()]

    def _all_covariance(self, covariance: Float64Array | None, kept: Int64Array) -> Float64Array:
        """Covariance of coefficients and thresholds, from that of columns in other units."""
        d = self.columns.n_columns
        n = d + self.n_classes - 1
        result = np.full((n, n), np.nan)
        if covariance is None:
            return result
        n_kept, n_solved = len(kept), len(self.present) - 1
        back = np.zeros((n_kept + n_solved, n_kept + n_solved))
        inverse = 1.0 / self.columns.spread[kept]
        back[:n_kept, :n_kept] = np.diag(inverse)
        back[n_kept:, :n_kept] = self.columns.mean[kept] * inverse
        back[n_kept:, n_kept:] = np.eye(n_solved)
        place = self._solved_place()
        known = np.flatnonzero((place > 0) & (place <= n_solved))
        rows = np.concatenate([kept, d + known])
        places = np.concatenate([np.arange(n_kept), n_kept + place[known] - 1])
        result[np.ix_(rows, rows)] = (back @ covariance @ back.T)[np.ix_(places, places)]
        return result

    def _solved_place(self) -> Int64Array:
        """Number of classes with rows up to each threshold, shape (n_classes - 1,)."""
        # 0 and the number of classes present are the outer ends, which no threshold solved.
        return np.searchsorted(self.present, np.arange(self.n_classes - 1), side="right")
