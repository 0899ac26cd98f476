"""Formula (8) of ELMRank: for any groups and rows, and on a whole grid.

The stabilised solution of ``A b = B`` is ``b = (A'A + I/C)^-1 A'B`` [1]_, ``A = (2/m) H'PH + lam``
and ``B = (2/m) H'Py``. Because A is symmetric, ``b = Re[(A + i/sqrt(C))^-1 B]``: ridge with the
complex penalty ``eta = (lam + i/sqrt(C)) m/2`` on the sum of squares. One eigendecomposition serves
every (lam, C).

With several queries the objective is the mean over all ordered pairs within queries,
``(2/S) sum_q r'L_q r + lam |b|^2``, ``S = sum_q c_q W_q^2``: G and S, and therefore (8), follow
from additive Gram statistics. A search needs those of the training and the held-out rows of each
fold: folds of queries are subtracted from the total, folds of rows from each query, and splits of
any kind are summed one by one. The squared error of held-out rows is a quadratic form in the
solutions, so their statistics give it for the whole grid without another pass. It is pooled over
all held-out rows: with the training rows' intercept for one group, and centred within each query
otherwise.

For small folds of the rows of one group, the block formula of ridge gives every held-out residual
from the decomposition of all rows; each fold uses the eta that corresponds to its number of
training rows.

Complexity: O(N n^2 + k n^3) for N rows, n nodes and k folds; memory O(k n^2), whatever N. By
blocks, O(min(m, n)^2 max(m, n)) for m rows and O(sum_f b_f^2 (min(m, n) + b_f)) for each (lam, C),
b_f the rows of fold f.

References
----------
.. [1] Chen, Peng, Zhou, Li & Pan, "Extreme learning machine for ranking: Generalization analysis
   and applications", Neural Networks 53 (2014), equations 5-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rankwise.features.random_features import NodeMap
from rankwise.groups import QueryGroups
from rankwise.kernels.complex_folds import add_squared_solutions, fold_products, shrinkages
from rankwise.losses.squared_loss import Problem, query_factor
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.eigen_path import RELATIVE_CUT
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, BlockMap, Gram, fold_grams, total
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Measured costs, in multiplications of a matrix product: a fold that is solved separately, and each
# step of a complex system (per cube of the fold's rows and grid point).
FOLD_COST, SYSTEM_COST = 5e6, 10.0
# Maximum number of draws decomposed together, and of node outputs that they may hold.
TOGETHER, MOST_OUTPUTS = 5, 1_000_000


# Solutions of (8) on all rows, one array (G, n) per draw, and the squared error of held-out rows,
# (n_draws, G), if there are any.
StabilisedFit = tuple[list[Float64Array], Float64Array | None]


# Statistics for one draw: of all rows; of the training rows of each fold, made when needed; and of
# the held-out rows of each fold. Without training rows, the solutions on all rows are measured on
# the held-out ones, if there are any.
DrawGrams = tuple[Gram, Sequence[Callable[[], Gram]], Sequence[Gram]]


def fit_stabilised(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    statistics: Callable[[BlockMap], DrawGrams],
) -> StabilisedFit:
    """Solutions on all rows for each draw, and their error on the held-out rows, if there are any.

    The problem is that of all pairs. ``penalty`` is (2, G), see :func:`complex_penalties`.
    ``statistics`` is one of the functions below for given rows.
    """
    draws = ((back, *statistics(phi)) for phi, back in (_columns(problem, nodes) for nodes in maps))
    return _fit_draws(draws, penalty)


def _fit_draws(
    draws: Iterable[tuple[Callable[[Float64Array], Float64Array], *DrawGrams]],
    penalty: Float64Array,
) -> StabilisedFit:
    coefs, errors = [], []
    for back, whole, trains, held in draws:
        inner = _pair_path(whole).coef(penalty)
        if trains:
            # The sum over folds of the squared error of each fold's solutions on its own rows.
            found = thread_imap(
                lambda fold: _squared_errors(_pair_path(fold[0]()).coef(penalty), fold[1]),
                list(zip(trains, held, strict=True)),
                None if len(held[0].rhs) >= 64 else 1,
            )
            errors.append(np.sum(list(found), axis=0))
        elif held:
            errors.append(_squared_errors(inner, held[0]))
        coefs.append(back(inner))
    return coefs, np.array(errors) if errors else None


def sum_rows(problem: Problem, criterion: Problem | None, phi: BlockMap) -> DrawGrams:
    """Statistics of all rows, and of the validation rows ``criterion``, if given."""
    return (
        _gram(problem, phi),
        [],
        [_gram(_centred_rows(part), phi) for part in [criterion] if part],
    )


def sum_query_folds(problem: Problem, folds: Sequence[Int64Array], phi: BlockMap) -> DrawGrams:
    """Statistics for folds of queries."""
    parts = held = fold_grams(problem, phi, folds)
    if problem.query_weight != "document":
        # Errors count every row once, whatever a query weighs in the loss.
        held = fold_grams(_centred_rows(problem), phi, folds)
    return _leave_folds_out(parts, held)


def _leave_folds_out(parts: Sequence[Gram], held: Sequence[Gram]) -> DrawGrams:
    whole = total(parts)
    return whole, [partial(whole.__sub__, part) for part in parts], held


def sum_splits(
    problem: Problem, splits: Sequence[tuple[Int64Array, Int64Array]], phi: BlockMap
) -> DrawGrams:
    """Statistics for any splits (train rows, test rows)."""
    one_group = problem.groups.n_queries == 1
    fitted = replace(problem, graph="pointwise") if one_group else problem
    tested = fitted if one_group else _centred_rows(problem)
    trains = [_gram(fitted.subset(rows), phi) for rows, _ in splits]
    held = [_gram(tested.subset(rows), phi) for _, rows in splits]
    if one_group:
        held = [_move_to_training_means(*pair) for pair in zip(held, trains, strict=True)]
        trains = [_sum_pairs(gram, problem.query_weight) for gram in trains]
    return _gram(problem, phi), [partial(_identity, gram) for gram in trains], held


# Statistics of all block maps of some problems, (n_problems, n_maps, n_folds), in one pass.
Pass = Callable[[Sequence[Problem], Sequence[BlockMap]], Sequence[Sequence[Sequence[Gram]]]]


def fit_streamed(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    sums: Pass,
    criterion: Problem | None = None,
) -> StabilisedFit:
    """:func:`fit_stabilised` for a stream that has at least as many rows as nodes.

    ``problem`` is that of the first rows. ``sums`` returns the statistics of all rows, one per fold
    if folds of queries choose the penalty. ``criterion`` holds validation rows.
    """
    columns = [_columns(problem, nodes)[0] for nodes in maps]
    problems = [problem]
    if problem.query_weight != "document":
        problems.append(_centred_rows(problem))
    found = sums(problems, columns)

    def statistics(phi: BlockMap, parts: Sequence[Gram], held: Sequence[Gram]) -> DrawGrams:
        if criterion is not None:
            return total(parts), [], [_gram(_centred_rows(criterion), phi)]
        return _leave_folds_out(parts, held) if len(parts) > 1 else (total(parts), [], [])

    draws = zip(columns, found[0], found[-1], strict=True)
    return _fit_draws(((_identity, *statistics(*draw)) for draw in draws), penalty)


def fit_row_folds(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    folds: Sequence[Int64Array],
) -> StabilisedFit:
    """Solutions on all rows, and the error over folds of rows: by blocks where that is quicker."""
    n_nodes = maps[0].n_features_out
    # Without any penalty the blocks are singular if the nodes span all rows.
    by_blocks = problem.groups.n_queries == 1 and bool(penalty.any(axis=0).all())
    if by_blocks and block_costs_less(problem.X.shape[0], n_nodes, penalty.shape[1], folds):
        return _fit_blocks(problem, maps, penalty, folds)
    return fit_stabilised(problem, maps, penalty, partial(sum_row_folds, problem, folds))


def block_costs_less(m: int, n: int, n_grid: int, folds: Sequence[Int64Array]) -> bool:
    """Whether the block formula takes less work than an eigendecomposition per fold."""

    def eigh_cost(size: int) -> float:
        return 6.0 * size**3 + 1000.0 * size**2

    rank = min(m - 1, n)
    size = np.array([len(fold) for fold in folds], dtype=np.float64)
    # Per grid point: entries of the triangles and right-hand sides, then the system itself.
    per_point = rank * size * (size + 3) + SYSTEM_COST * size**3
    blocks = eigh_cost(rank) + n_grid * per_point.sum()
    each_fold = FOLD_COST + eigh_cost(n) + n_grid * n**2
    return bool(blocks <= len(folds) * each_fold + eigh_cost(n) + m * n**2)


def _fit_blocks(
    problem: Problem, maps: Sequence[NodeMap], penalty: Float64Array, folds: Sequence[Int64Array]
) -> StabilisedFit:
    """Fit one group of few rows: one decomposition per draw."""
    m, n = problem.X.shape[0], maps[0].n_features_out
    weight = np.ones(m) if problem.sample_weight is None else problem.sample_weight
    plan = plan_folds(folds, weight)
    step = max(1, min(TOGETHER, MOST_OUTPUTS // (m * n)))

    def work(first: int) -> list[tuple[Float64Array, Float64Array]]:
        columns = np.stack([nodes.rows(problem.X) for nodes in maps[first : first + step]])
        return [
            (path.coef(penalty), path.held_out(plan, penalty))
            for path in complex_paths(columns, problem.y, problem.sample_weight)
        ]

    n_threads = None if len(maps) * m * n > 2e5 else 1
    parts = list(thread_imap(work, range(0, len(maps), step), n_threads))
    fits = [fit for part in parts for fit in part]
    return [coef for coef, _ in fits], np.array([error for _, error in fits])


def sum_row_folds(problem: Problem, folds: Sequence[Int64Array], phi: BlockMap) -> DrawGrams:
    """Statistics for folds of rows: the training rows are each query without the fold."""
    n_queries, n_folds, weighting = problem.groups.n_queries, len(folds), problem.query_weight
    fold_of_row = np.empty(problem.X.shape[0], dtype=np.int64)
    for number, rows in enumerate(folds):
        fold_of_row[rows] = number
    # One number for a query and a fold: sums of each such cell, then any fold is a difference.
    codes = problem.groups.codes() * n_folds + fold_of_row
    cells = QueryGroups.from_qid(codes, len(codes))
    pointwise = replace(problem, graph="pointwise", groups=cells)
    zero = Gram.zeros(phi.n_features_out)
    whole, trains, held = zero, [zero] * n_folds, [zero] * n_folds
    for query in range(n_queries):
        numbers = np.flatnonzero(cells.ids // n_folds == query)
        parts = fold_grams(pointwise, phi, np.split(numbers, len(numbers)))
        of_query = total(parts)
        of_fold = dict(zip((cells.ids[numbers] % n_folds).tolist(), parts, strict=True))
        whole = whole + _sum_pairs(of_query, weighting)
        for fold in range(n_folds):
            part = of_fold.get(fold)
            if part is None:
                trains[fold] = trains[fold] + _sum_pairs(of_query, weighting)
                continue
            # Pairs of the rest, not pairs of all less those of the fold: pairs between the two go
            # too.
            rest = of_query - part
            if len(parts) > 1:
                trains[fold] = trains[fold] + _sum_pairs(rest, weighting)
            held_part = _move_to_training_means(part, rest) if n_queries == 1 else part.centred()
            held[fold] = held[fold] + held_part
    return whole, [partial(_identity, gram) for gram in trains], held


def _identity(value: Any) -> Any:
    return value


def _squared_errors(coefs: Float64Array, held: Gram) -> Float64Array:
    """``(y - Phi b)' L (y - Phi b)`` for every row b of ``coefs``."""
    quadratic = ((coefs @ held.matrix) * coefs).sum(axis=1)
    # A square: below 0 is rounding.
    return np.maximum(held.target_norm - 2.0 * (coefs @ held.rhs) + quadratic, 0.0)


def _gram(problem: Problem, phi: BlockMap) -> Gram:
    return total(fold_grams(problem, phi))


def _pair_path(gram: Gram) -> StabilisedPath:
    """The path of statistics over pairs."""
    values, vectors = np.linalg.eigh(gram.matrix)
    return StabilisedPath(np.maximum(values, 0.0), vectors, gram.rhs @ vectors, 0.5 * gram.pairs)


def _sum_pairs(gram: Gram, query_weight: str) -> Gram:
    """Statistics over the pairs of one query from its pointwise ones."""
    centred, c = gram.centred(), query_factor(gram.weight, query_weight)
    factor = c * gram.weight
    return replace(
        Gram.zeros(len(gram.rhs)),
        matrix=factor * centred.matrix,
        rhs=factor * centred.rhs,
        target_norm=factor * centred.target_norm,
        pairs=factor * gram.weight,
    )


def _move_to_training_means(held: Gram, train: Gram) -> Gram:
    """Pointwise statistics of held-out rows about the means of the training rows."""
    return held.moved(-train.sums / train.weight, -train.target_sum / train.weight)


def _centred_rows(problem: Problem) -> Problem:
    """The problem whose ``L`` centres each query and counts every row once."""
    return replace(problem, graph="all", query_weight="document")


@dataclass(frozen=True, eq=False)
class _Turned:
    """Nodes on a basis, after subtracting a constant: columns ``(H - shift) basis``."""

    nodes: NodeMap
    basis: Float64Array | None
    shift: FloatArray

    @property
    def n_features_out(self) -> int:
        return self.nodes.n_features_out if self.basis is None else self.basis.shape[1]

    def __call__(self, X: Matrix) -> FloatArray:
        out = self.nodes(X)
        out -= self.shift
        return out if self.basis is None else out @ self.basis

    def rows(self, X: Matrix) -> Float64Array:
        return self(X).astype(np.float64, copy=False)


def _columns(
    problem: Problem, nodes: NodeMap
) -> tuple[_Turned, Callable[[Float64Array], Float64Array]]:
    """Columns of the nodes, at most as many as rows, and the map back to the nodes.

    Node outputs at the mean of the first rows are subtracted so that sums of squares do not cancel;
    this changes no pair. Solutions lie in the span of the rows, so an orthonormal basis of this
    span changes neither scores nor norms.
    """
    m = problem.X.shape[0]
    some = problem.X[:CHUNK_ROWS]  # what a stream has: any row among them would do
    w = np.ones(m) if problem.sample_weight is None else problem.sample_weight
    w = w[:CHUNK_ROWS]
    mean = np.asarray(w.astype(some.dtype) @ some).ravel() / w.sum()
    about_mean = _Turned(nodes, None, nodes(mean[None, :].astype(problem.X.dtype))[0])
    if m >= nodes.n_features_out:
        return about_mean, _identity
    basis = np.linalg.qr(about_mean.rows(problem.X).T)[0]
    return replace(about_mean, basis=basis), lambda coefs: coefs @ basis.T


# ELMRank's grids: lam 1e-5 ... 1e1, C 2^1 ... 2^25.
LAM_GRID = 10.0 ** np.arange(-5, 2)
C_GRID = 2.0 ** np.arange(1, 26)
# Eigenvalues of the n x n side below this share of the largest are left to the rest.
NEGLIGIBLE = 1e-14
# Number of entries of fold systems that are solved together: as many as the L2 cache holds.
TILE_NUMBERS = 60_000


@dataclass(frozen=True, eq=False)
class StabilisedPath:
    """Eigenbasis of ``G = Phi' L Phi`` in which (8) is diagonal.

    The solution for the complex penalty ``eta = half (lam + i/sqrt(C))`` is
    ``Re[basis (moment / (values + eta))]``.
    """

    values: Float64Array  # (p,): eigenvalues of G, ascending, >= 0
    basis: Float64Array  # (n, p): columns orthogonal to each other
    moment: Float64Array  # (p,)
    half: float  # half the weight of all ordered pairs in G

    def coef(self, penalty: Float64Array) -> Float64Array:
        """Solutions for each column of ``penalty`` (2, G), shape (G, n).

        Numerically singular directions are dropped, so without a penalty the minimum-norm solution
        is returned.
        """
        real, imaginary = self.half * penalty[:, :, None]
        shifted = self.values + real
        cut = singular_below(self.values)
        regular = (self.values > cut) | (real > cut) | (imaginary > cut)
        squared = shifted * shifted + imaginary * imaginary
        shrunk = np.divide(
            self.moment * shifted, squared, out=np.zeros_like(squared), where=regular
        )
        return shrunk @ self.basis.T


@dataclass(frozen=True, eq=False)
class ComplexPath(StabilisedPath):
    """The path of one group of rows, with the factors that give its held-out residuals.

    Here G is the centred Gram matrix of the weighted rows, and ``half`` half of their weight.
    """

    # (m, r): unit vectors U of the last r eigenvalues in the space of the scaled rows
    left: Float64Array
    target: Float64Array  # (r,): U' y of the scaled target
    direction: Float64Array  # (m,): unit vector of the intercept: square roots of the weights
    scaled: Float64Array  # (m,): target times the square roots of the weights
    weight: Float64Array  # (m,)

    def held_out(self, folds: FoldPlan, penalty: Float64Array) -> Float64Array:
        """Weighted squared error of all held-out rows after subtracting the intercepts, shape (G,).

        ``penalty`` is (2, G), see :func:`complex_penalties`; no column is (0, 0).
        """
        m, r = self.left.shape
        values = self.values[len(self.values) - r :]
        columns = r if r == m - 1 else r + 1  # with m - 1 directions there is no remainder
        errors = np.zeros(penalty.shape[1])
        for first, last, size, train in folds.batches:
            entries, rows = size * (size + 3) // 2, folds.order[first:last]
            products = np.empty((len(rows) // size * entries, columns))
            fold_products(self.left, self.target, self.direction, self.scaled, rows, size, products)
            step = min(len(errors), max(16, TILE_NUMBERS // (2 * entries)))
            together = entries * max(1, TILE_NUMBERS // (2 * entries * step))
            for lo in range(0, len(errors), step):
                part = np.ascontiguousarray(penalty[:, lo : lo + step])
                shrunk = np.empty((columns, 2 * part.shape[1]))
                shrinkages(values, part, 0.5 * train, singular_below(values), shrunk)
                for top in range(0, len(products), together):
                    systems = products[top : top + together] @ shrunk
                    add_squared_solutions(systems, size, errors[lo : lo + step])
        return errors


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Folds of rows; those of equal size and weight are adjacent, because they share penalties."""

    order: Int64Array  # rows of all folds, fold by fold
    # (first, last, size, train): folds of `size` rows each at order[first:last]; `train` is the
    # weight of the other rows
    batches: tuple[tuple[int, int, int, float], ...]


def plan_folds(folds: Sequence[Int64Array], weight: Float64Array) -> FoldPlan:
    """Plan for the rows of each fold (not all rows; none empty) and the weights of all rows."""
    total = float(weight.sum())
    alike: dict[tuple[int, float], list[Int64Array]] = {}
    for rows in folds:
        alike.setdefault((len(rows), total - float(weight[rows].sum())), []).append(rows)
    order = [np.concatenate(group) for group in alike.values()]
    ends = np.cumsum([len(rows) for rows in order]).tolist()
    batches = zip([0, *ends], ends, alike, strict=False)
    return FoldPlan(
        np.concatenate(order), tuple((first, last, *key) for first, last, key in batches)
    )


def complex_paths(
    columns: Float64Array, y: Float64Array, weight: Float64Array | None = None
) -> Iterator[ComplexPath]:
    """Decompose several designs, ``columns`` (n_draws, m, n), on the same rows.

    A reflection maps the direction of the intercept to the first coordinate. The other m - 1
    coordinates hold the centred problem without its trivial null vector. ``weight`` gives the
    repetitions of each row, > 0.
    """
    m, n = columns.shape[1:]
    weight = np.ones(m) if weight is None else weight
    scale = np.sqrt(weight)
    norm = np.sqrt(weight.sum())
    mirror = scale.copy()
    mirror[0] += norm
    tau = 2.0 / (mirror @ mirror)
    scaled = scale * y
    rest = (scaled - mirror * (tau * (mirror @ scaled)))[1:]
    centred = columns if (weight == 1.0).all() else scale[:, None] * columns
    through = (tau * mirror) @ centred
    centred = centred[:, 1:] - mirror[1:, None] * through[:, None, :]
    turned = centred.transpose(0, 2, 1)
    dual = m - 1 <= n
    values, inner = np.linalg.eigh(centred @ turned if dual else turned @ centred)
    values = np.maximum(values, 0.0)
    bases = turned @ inner if dual else inner
    moments = rest @ inner if dual else ((rest @ centred)[:, None, :] @ inner)[:, 0]
    for draw, vectors in enumerate(inner):
        spectrum, basis, target = values[draw], bases[draw], moments[draw]
        if not dual:
            reached = spectrum > NEGLIGIBLE * spectrum[-1]
            vectors = (centred[draw] @ basis[:, reached]) / np.sqrt(spectrum[reached])
            target = rest @ vectors
        along = (-tau * mirror[1:]) @ vectors
        left = mirror[:, None] * along
        left[1:] += vectors
        yield ComplexPath(
            spectrum,
            basis,
            moments[draw],
            0.5 * norm**2,
            left,
            target,
            scale / norm,
            scaled,
            weight,
        )


def singular_below(values: Float64Array) -> float:
    """Threshold for eigenvalue and penalty below which a direction is numerically singular."""
    return RELATIVE_CUT * float(values.max(initial=0.0))


def complex_penalties(lam: Float64Array, C: Float64Array) -> Float64Array:
    """Real parts ``lam`` and imaginary parts ``1 / sqrt(C)`` of the grid, C fastest; (2, G)."""
    return np.stack([np.repeat(lam, len(C)), np.tile(1.0 / np.sqrt(C), len(lam))])
