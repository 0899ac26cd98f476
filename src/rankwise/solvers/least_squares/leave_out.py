"""Exact leave-one-query-out and leave-pair-out of a squared loss, without refitting.

Leaving rows out of query q replaces its Laplacian block ``L`` by ``L'``. With ``D = L' - L``,
``Z = Phi_q (G + I/C)^-1 Phi_q'`` and the fitted scores f of the query, the scores of the same rows
under the model trained without them are, by Woodbury,

    ``f' = (I + Z D)^-1 (f + Z D y)``.

Leave-one-query-out has ``D = -L``. If a query has more rows than columns, the system of the columns
is smaller: with ``K = (G + I/C)^-1`` and ``B = Phi_q``,

    ``f' = f - B (I - K B'LB)^-1 K B'L (y - f)``.

Leaving out the pair (i, j) changes the whole block (the number of partners of every row falls by
two): ``D = D0 + U M U'``. ``D0`` is the same for all pairs of equal weight, and ``U`` has three
columns (five for pairs of distinct grades). Each pair therefore costs a system of three (five)
unknowns after one of m unknowns. An unpenalised intercept adds ``1/W`` to Z.

References
----------
.. [1] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
   Machine Learning 75 (2009): hold-out formulas for one Laplacian that is cut, not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import LaplacianFactor, Problem, count_ordered_pairs, query_factor
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.eigen_path import inverse_shifted
from rankwise.tuning import Penalties, measure_per_query
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Decomposed:
    """Eigendecomposed problem of one draw, with its projection of the rows."""

    values: Float64Array  # (r,): eigenvalues of Phi' L Phi
    projected_rhs: Float64Array  # (r,): V' Phi' L y
    # Maps row numbers to Phi V, (n_rows, r), centred if there is an intercept
    project: Callable[[Int64Array], Float64Array]


@dataclass(frozen=True)
class Intercept:
    """An eliminated intercept: the mean target, and ``1/W`` (both 0 without intercept)."""

    mean_target: float = 0.0
    offset: float = 0.0


def leave_query_out(
    problem: Problem,
    draws: Sequence[Decomposed],
    penalties: Penalties,
    measure: Measure,
    intercept: Intercept,
) -> Float64Array:
    """Measure of every query under the model trained without it, shape (n_queries, n_values).

    O(N r) numbers pass through memory query by query. For each penalty
    O(sum_q min(m_q, r)^2 (m_q + r)), for m_q rows and r columns.
    """
    groups = problem.groups
    if groups.n_queries < 2:
        raise ValueError(
            '"loqo" needs at least 2 queries, got n_queries=1. Pass a qid, or choose by "cv" or '
            '"lpo".'
        )
    pairs = problem.pairs()

    def held_out(query: int) -> Float64Array:
        rows = groups.rows(query)
        y, single = problem.y[rows], QueryGroups.single(len(rows))
        factor = problem.factor(rows, single)
        left = pairs - count_ordered_pairs(
            _weights(problem, rows).sum(keepdims=True), problem.query_weight
        )
        scores = np.zeros((len(rows), len(penalties)))
        for draw in draws:
            # The smaller of two systems with the same solution.
            without = _leave_out_by_columns if len(rows) > len(draw.values) else _leave_out_by_rows
            # C from the pairs that are left: a penalty relative to them changes with the query.
            scores += without(draw, rows, y, factor, penalties.C(left), intercept) / len(draws)
        return measure_per_query(measure, y, scores, single)[0]

    return np.stack(list(thread_imap(held_out, range(groups.n_queries))))


def _leave_out_by_rows(
    draw: Decomposed,
    rows: Int64Array,
    y: Float64Array,
    factor: LaplacianFactor,
    C: Float64Array,
    intercept: Intercept,
) -> Float64Array:
    """Scores of a query for every C without it, shape (m, n_C), from systems of m unknowns."""
    L, scores = factor.dense(0, 1), np.empty((len(rows), len(C)))
    fitted, Z = _query(draw, rows, C, intercept)
    for k in range(len(C)):
        scores[:, k] = y - np.linalg.solve(np.eye(len(rows)) - Z(k) @ L, y - fitted[:, k])
    return scores


def _leave_out_by_columns(
    draw: Decomposed,
    rows: Int64Array,
    y: Float64Array,
    factor: LaplacianFactor,
    C: Float64Array,
    intercept: Intercept,
) -> Float64Array:
    """The same from systems of r unknowns; an intercept adds a column of ones."""
    inverses, B = inverse_shifted(draw.values, C), draw.project(rows)
    fitted = B @ (inverses * draw.projected_rhs).T + intercept.mean_target
    if intercept.offset:
        # The intercept as one more eigendirection, of inverse 1/W.
        B = np.column_stack([B, np.ones(len(B))])
        inverses = np.column_stack([inverses, np.full(len(C), intercept.offset)])
    factored = factor.apply(B.copy(), 0, 1)
    gram = factored.T @ factored
    targets = factored.T @ factor.apply(y[:, None] - fitted, 0, 1)
    steps = np.empty((len(gram), len(C)))
    for k, root in enumerate(np.sqrt(inverses)):
        # Symmetric: K^(1/2) on both sides instead of K on one.
        system = np.eye(len(gram)) - root[:, None] * gram * root
        steps[:, k] = root * np.linalg.solve(system, root * targets[:, k])
    return fitted - B @ steps


def leave_pair_out(
    problem: Problem, draws: Sequence[Decomposed], penalties: Penalties, intercept: Intercept
) -> Float64Array:
    """Share of a query's pairs that are misordered when held out, shape (n_queries, n_values).

    For every pair ``y_i > y_j`` of a query, both rows are removed from the training data. A tie in
    the scores counts 1/2. NaN for a query without such pairs.

    Each penalty and query takes one system of m unknowns, O(m^2 r + m^3), and O(m^2) systems of
    three unknowns. With row weights, there is one system of m unknowns for each sum of two weights.
    If only distinct grades form pairs, the small systems have five unknowns, and there is one
    system of m unknowns for each two grades shared by several rows.
    """
    groups = problem.groups
    all_pairs = problem.pairs()

    def held_out(query: int) -> Float64Array:
        rows = groups.rows(query)
        y, w = problem.y[rows], _weights(problem, rows)
        first, second = np.nonzero(y[:, None] > y[None, :])
        if not len(first):
            return np.full(len(penalties), np.nan)
        L = problem.factor(rows, QueryGroups.single(len(rows))).dense(0, 1)
        difference = np.zeros((len(first), len(penalties)))
        for part, change in _changes(problem, y, w, first, second):
            left = all_pairs - count_ordered_pairs(w.sum(keepdims=True), problem.query_weight)
            left += count_ordered_pairs(np.array([change.weight_left]), problem.query_weight)
            i, j = first[part], second[part]
            for draw in draws:
                fitted, Z = _query(draw, rows, penalties.C(left), intercept)
                for k in range(len(penalties)):
                    held = _pair_scores(Z(k), fitted[:, k], y, L, change, i, j)
                    difference[part, k] += held[:, 0] - held[:, 1]
        return ((difference < 0) + 0.5 * (difference == 0)).mean(axis=0)

    return np.stack(list(thread_imap(held_out, range(groups.n_queries))))


@dataclass(frozen=True, eq=False)
class _Change:
    """``L' = base + U M U'`` for some pairs; U = [columns, e_i, e_j]."""

    base: Float64Array  # (m, m)
    columns: Float64Array  # (m, c)
    small: Float64Array  # (n_pairs, c + 2, c + 2): M
    weight_left: float  # weight of the query without the pair


def _changes(
    problem: Problem, y: Float64Array, w: Float64Array, first: Int64Array, second: Int64Array
) -> Iterator[tuple[Int64Array, _Change]]:
    """Yield pairs (as positions in ``first``) that share a base, with their changes."""
    if problem.graph == "pointwise":
        small = np.zeros((len(first), 2, 2))
        small[:, 0, 0], small[:, 1, 1] = -w[first], -w[second]
        change = _Change(np.diag(w), np.zeros((len(w), 0)), small, float(w.sum()))
        yield np.arange(len(first)), change
        return
    same = (y[:, None] == y[None, :]) if problem.graph == "distinct" else None
    alone = np.zeros(len(y), dtype=bool)
    # The base depends on the pair only through the weight left in the query and, with distinct
    # grades, through what is left of both grades.
    keys = [w[first] + w[second]]
    if same is not None:
        # A grade held by a single row vanishes with it, so such pairs share a base for any grades.
        alone = same.sum(axis=1) == 1
        both = alone[first] & alone[second]
        keys += [np.where(both, np.inf, key) for key in (y[first], y[second], w[first])]
    _, group = np.unique(np.stack(keys), axis=1, return_inverse=True)
    by_group = np.argsort(group.ravel(), kind="stable")
    bounds = np.flatnonzero(np.diff(group.ravel()[by_group])) + 1
    for part in np.split(by_group, bounds):
        i, j = first[part], second[part]
        left = float(w.sum() - w[i[0]] - w[j[0]])
        c = query_factor(left, problem.query_weight) if left > 0 else 0.0
        if same is None or (alone[i[0]] and alone[j[0]]):
            columns, reach = w[:, None], np.full(len(w), left)
            base = -c * np.outer(w, w) if same is None else -c * np.outer(w, w) * ~same
            own = w if same is None else same @ w
            base[np.diag_indices_from(base)] = c * w * (left - own)
        else:
            of_first, of_second = y == y[i[0]], y == y[j[0]]
            grade_weight = same @ w - of_first * w[i[0]] - of_second * w[j[0]]
            reach = left - grade_weight
            columns = np.stack([w, w * of_first, w * of_second], axis=1)
            base = c * (np.diag(w * reach) - np.outer(w, w) * ~same)
        p = columns.shape[1]
        small = np.zeros((len(part), p + 2, p + 2))
        for position, row in ((p, i), (p + 1, j)):
            small[:, 0, position] = small[:, position, 0] = c * w[row]
            # Removes the row: the entries above cancel its products with the others and add 2 c w^2
            # to its diagonal, which becomes 0.
            small[:, position, position] = -c * w[row] * (reach[row] + w[row])
        small[:, p, p + 1] = small[:, p + 1, p] = -c * w[i] * w[j]
        if p == 3:
            for column, position, row in ((1, p, i), (2, p + 1, j)):
                small[:, column, position] = small[:, position, column] = -c * w[row]
                small[:, position, position] += c * w[row] ** 2
        yield part, _Change(base, columns, small, left)


def _pair_scores(
    Z: Float64Array,
    fitted: Float64Array,
    y: Float64Array,
    L: Float64Array,
    change: _Change,
    i: Int64Array,
    j: Int64Array,
) -> Float64Array:
    """Scores of the rows of each pair by a fit without these two rows, shape (n_pairs, 2).

    With ``A = I + Z D0``, ``B = A^-1 Z``, ``h = A^-1 (f + Z D0 y)`` and ``t = U'f'``:
    ``(I + U'B U M) t = U'h + U'B U M U'y``.
    """
    # Once for all pairs of this base; the pairs differ by the small systems below.
    ZD = Z @ (change.base - L)
    solved = np.linalg.solve(
        np.eye(len(y)) + ZD, np.concatenate([Z, (fitted + ZD @ y)[:, None]], axis=1)
    )
    B, h = solved[:, :-1], solved[:, -1]
    columns = change.columns
    p = columns.shape[1]
    G = np.empty((len(i), p + 2, p + 2))
    G[:, :p, :p] = columns.T @ B @ columns
    left, right = B @ columns, columns.T @ B
    h_small, y_small = np.empty((len(i), p + 2)), np.empty((len(i), p + 2))
    h_small[:, :p], y_small[:, :p] = columns.T @ h, columns.T @ y
    for position, row in ((p, i), (p + 1, j)):
        # Unit vectors pick rows and columns of B: no product.
        G[:, position, :p] = left[row]
        G[:, :p, position] = right[:, row].T
        h_small[:, position], y_small[:, position] = h[row], y[row]
        for other, column in ((p, i), (p + 1, j)):
            G[:, position, other] = B[row, column]
    GM = G @ change.small
    right_side = h_small + np.einsum("nij,nj->ni", GM, y_small)
    t = np.linalg.solve(np.eye(p + 2) + GM, right_side[:, :, None])[:, :, 0]
    return t[:, p:]


def _query(
    draw: Decomposed, rows: Int64Array, C: Float64Array, intercept: Intercept
) -> tuple[Float64Array, Callable[[int], Float64Array]]:
    """Fitted scores of the rows for every C, and Z as a function of the index of C."""
    inverses = inverse_shifted(draw.values, C)
    projected = draw.project(rows)
    fitted = projected @ (inverses * draw.projected_rhs).T + intercept.mean_target
    return fitted, lambda k: (projected * inverses[k]) @ projected.T + intercept.offset


def _weights(problem: Problem, rows: Int64Array) -> Float64Array:
    return np.ones(len(rows)) if problem.sample_weight is None else problem.sample_weight[rows]
