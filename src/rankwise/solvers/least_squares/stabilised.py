"""ELMRank's formula (8) for any groups and any number of rows, and the search of its grid.

With several queries the objective is the mean over all ordered pairs within queries,
``(2/S) sum_q r'L_q r + lam |b|^2``, ``S = sum_q c_q W_q^2``: G and S, and therefore (8), follow
from additive Gram statistics. A search by

- folds of queries takes Gram statistics of each fold: train is the total minus the fold;
- folds of rows of one group takes the block formula of
  :mod:`rankwise.solvers.least_squares.complex_path`;
- the same with large folds, and folds of rows of a few groups: Gram statistics of each query less
  the fold, and a decomposition per fold;
- splits of any kind solves each training part for itself.

The squared error of held-out rows is a quadratic form in the solutions: Gram statistics of a fold
give it for the whole grid without another pass. It is pooled over all held-out rows: with the
training rows' intercept for one group, and centred within each query otherwise.

Complexity: O(N n^2 + k n^3) for N rows, n nodes and k folds; memory O(k n^2), whatever N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise.features.random_nodes import NodeMap
from rankwise.groups import QueryGroups
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.complex_path import StabilisedPath, complex_paths, plan_folds
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, BlockMap, Problem, fold_grams, total
from rankwise.solvers.least_squares.statistics import Gram, query_factor
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Measured costs, in multiplications of a matrix product: a fold that is solved separately, and each
# step of a complex system (per cube of the fold's rows and grid point).
FOLD_COST, SYSTEM_COST = 5e6, 10.0
# Maximum number of draws decomposed together, and of node outputs that they may hold.
TOGETHER, MOST_OUTPUTS = 5, 1_000_000


@dataclass(frozen=True, eq=False)
class StabilisedFit:
    """Solutions of (8) on all rows, and the squared error of held-out rows."""

    coefs: list[Float64Array]  # one (G, n) per draw
    errors: Float64Array | None  # (n_draws, G)


def fit_stabilised(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    criterion: Problem | None = None,
) -> StabilisedFit:
    """Solutions on all rows, and their error on the validation rows ``criterion``, if given.

    The problem is that of all pairs, and ``maps`` are the draws. ``penalty`` is (2, G), see
    :func:`rankwise.solvers.least_squares.complex_path.complex_penalties`.
    """
    coefs, errors = [], []
    for nodes in maps:
        phi, back = _columns(problem, nodes)
        inner = _pair_path(total(fold_grams(problem, phi))).coef(penalty)
        if criterion is not None:
            held = total(fold_grams(_centred_rows(criterion), phi))
            errors.append(_squared_errors(inner, held))
        coefs.append(back(inner))
    return StabilisedFit(coefs, None if criterion is None else np.array(errors))


def fit_query_folds(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    folds: Sequence[Int64Array],
) -> StabilisedFit:
    """Solutions on all rows, and the error over folds of queries."""
    coefs, errors = [], []
    for nodes in maps:
        phi, back = _columns(problem, nodes)
        parts = held = fold_grams(problem, phi, folds)
        if problem.query_weight != "document":
            # Errors count every row once, whatever a query weighs in the loss.
            held = fold_grams(_centred_rows(problem), phi, folds)
        inner, error = _solve_folds(parts, held, penalty)
        coefs.append(back(inner))
        errors.append(error)
    return StabilisedFit(coefs, np.array(errors))


# Statistics of all block maps of some problems, (n_problems, n_maps, n_folds), in one pass.
Pass = Callable[[Sequence[Problem], Sequence[BlockMap]], Sequence[Sequence[Sequence[Gram]]]]


def fit_streamed(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    sums: Pass,
    criterion: Problem | None = None,
) -> StabilisedFit:
    """Solutions on all rows of a stream that has at least as many rows as nodes.

    ``problem`` is that of the first rows. ``sums`` returns the statistics of all rows, one per fold
    if folds of queries choose the penalty. ``criterion`` holds validation rows. For ``maps`` and
    ``penalty``, see :func:`fit_stabilised`.
    """
    columns = [_columns(problem, nodes)[0] for nodes in maps]
    problems = [problem]
    if problem.query_weight != "document":
        problems.append(_centred_rows(problem))
    found = sums(problems, columns)
    coefs, errors = [], []
    for phi, parts, held in zip(columns, found[0], found[-1], strict=True):
        if criterion is not None:
            rows = total(fold_grams(_centred_rows(criterion), phi))
            coefs.append(_pair_path(total(parts)).coef(penalty))
            errors.append(_squared_errors(coefs[-1], rows))
        elif len(parts) > 1:
            inner, error = _solve_folds(parts, held, penalty)
            coefs.append(inner)
            errors.append(error)
        else:
            coefs.append(_pair_path(total(parts)).coef(penalty))
    return StabilisedFit(coefs, np.array(errors) if errors else None)


def _solve_folds(
    parts: Sequence[Gram], held: Sequence[Gram], penalty: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Solutions on all folds, and the error of each fold under the other folds' solutions."""
    whole = total(parts)
    paths = [lambda part=part: _pair_path(whole - part) for part in parts]
    return _pair_path(whole).coef(penalty), _pool_errors(paths, held, penalty)


def fit_row_folds(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    folds: Sequence[Int64Array],
) -> StabilisedFit:
    """Solutions on all rows, and the error over folds of rows."""
    # Without any penalty the blocks are singular if the nodes span all rows.
    by_blocks = problem.groups.n_queries == 1 and bool(penalty.any(axis=0).all())
    if by_blocks and block_costs_less(
        problem.X.shape[0], maps[0].n_features_out, penalty.shape[1], folds
    ):
        return _fit_blocks(problem, maps, penalty, folds)
    return _fit_gram_differences(problem, maps, penalty, folds)


def fit_splits(
    problem: Problem,
    maps: Sequence[NodeMap],
    penalty: Float64Array,
    splits: Sequence[tuple[Int64Array, Int64Array]],
) -> StabilisedFit:
    """Solutions on all rows, and the error over any splits (train rows, test rows)."""
    one_group = problem.groups.n_queries == 1
    fitted = replace(problem, graph="pointwise") if one_group else problem
    tested = fitted if one_group else _centred_rows(problem)
    trains = [fitted.subset(rows) for rows, _ in splits]
    tests = [tested.subset(rows) for _, rows in splits]
    coefs, errors = [], []
    for nodes in maps:
        phi, back = _columns(problem, nodes)
        train_grams = [_gram(part, phi) for part in trains]
        held = [_gram(part, phi) for part in tests]
        if one_group:
            held = [_move_to_training_means(*pair) for pair in zip(held, train_grams, strict=True)]
            train_grams = [_sum_pairs(gram, problem.query_weight) for gram in train_grams]
        paths = [lambda part=part: _pair_path(part) for part in train_grams]
        errors.append(_pool_errors(paths, held, penalty))
        coefs.append(back(_pair_path(_gram(problem, phi)).coef(penalty)))
    return StabilisedFit(coefs, np.array(errors))


def block_costs_less(m: int, n: int, n_grid: int, folds: Sequence[Int64Array]) -> bool:
    """Whether the block formula takes less work than an eigendecomposition per fold."""
    rank = min(m - 1, n)
    size = np.array([len(fold) for fold in folds], dtype=np.float64)
    # Per grid point: entries of the triangles and right-hand sides, then the system itself.
    per_point = rank * size * (size + 3) + SYSTEM_COST * size**3
    blocks = _eigh_cost(rank) + n_grid * per_point.sum()
    each_fold = FOLD_COST + _eigh_cost(n) + n_grid * n**2
    return bool(blocks <= len(folds) * each_fold + _eigh_cost(n) + m * n**2)


def _eigh_cost(size: int) -> float:
    return 6.0 * size**3 + 1000.0 * size**2


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
    return StabilisedFit([coef for coef, _ in fits], np.array([error for _, error in fits]))


def _fit_gram_differences(
    problem: Problem, maps: Sequence[NodeMap], penalty: Float64Array, folds: Sequence[Int64Array]
) -> StabilisedFit:
    """Fit many rows or several queries: a fold's training rows are each query without the fold."""
    coefs, errors = [], []
    for nodes in maps:
        phi, back = _columns(problem, nodes)
        whole, trains, held = _row_fold_grams(problem, phi, folds)
        paths = [lambda part=part: _pair_path(part) for part in trains]
        errors.append(_pool_errors(paths, held, penalty))
        coefs.append(back(_pair_path(whole).coef(penalty)))
    return StabilisedFit(coefs, np.array(errors))


def _row_fold_grams(
    problem: Problem, phi: BlockMap, folds: Sequence[Int64Array]
) -> tuple[Gram, list[Gram], list[Gram]]:
    """Statistics of all rows, and of the training and the held-out rows of each fold."""
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
    return whole, trains, held


def _pool_errors(
    paths: Sequence[Callable[[], StabilisedPath]], held: Iterable[Gram], penalty: Float64Array
) -> Float64Array:
    """Sum over folds of the squared error of each fold's solutions on its held-out rows."""
    held = list(held)

    def work(fold: int) -> Float64Array:
        return _squared_errors(paths[fold]().coef(penalty), held[fold])

    n_threads = None if len(held[0].rhs) >= 64 else 1
    return np.sum(list(thread_imap(work, range(len(held)), n_threads)), axis=0)


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
        return about_mean, lambda coefs: coefs
    basis = np.linalg.qr(about_mean.rows(problem.X).T)[0]
    return replace(about_mean, basis=basis), lambda coefs: coefs @ basis.T
