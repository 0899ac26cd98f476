"""Absolute differences of all pairs of a query by sorting, and their dual polytope.

The loss is ``g(r) = sum_q (s_q / 2) sum_ij w_i w_j max(0, |r_i - r_j| - epsilon)`` over the ordered
pairs of each query, with ``s_q = rho_q / W_q`` and the weight ``W_q`` of query q. If epsilon > 0,
every row has two nodes, ``a_i = r_i`` and ``b_i = r_i + epsilon``, and the terms become
``2 max(0, a_i - b_j)``. In both cases, g is the support function of a base polytope (of dual values
rho_q w_i nu_i, ``nu`` within [-1, 1]). The nearest point of the polytope to a given point is found
from sorted nodes: by pooling adjacent violators if epsilon = 0, by splitting if epsilon > 0. The
nearest point divides the nodes of a query into blocks. Within a block of more than one node,
``nu - z`` is constant; every other ``nu`` is that of a vertex.

Rows are in group order: query q holds ``indptr[q]:indptr[q + 1]``. Weights are positive. A query of
m rows takes O(m log m). Splitting takes O(m) per level, usually for log m levels.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import njit

# Relative excess over the capacity of a cut that counts as rounding.
SLACK = 1e-13


@njit
def _sorted_places(values):
    """Stable argsort of the values, ascending."""
    places = np.empty(len(values), np.int64)
    for place in range(len(values)):
        places[place] = place
    sort_rows(values, places, np.empty(len(values), np.int64))
    return places


@njit
def sum_exceedances(r, w, indptr, epsilon, sums, gradient):
    """Write the sums of w_i w_j max(0, |r_i - r_j| - epsilon) over ordered pairs by query.

    ``gradient`` becomes a subgradient, to which pairs at the kink contribute 0.
    """
    for q in range(len(indptr) - 1):
        lo, hi = indptr[q], indptr[q + 1]
        m = hi - lo
        order = _sorted_places(r[lo:hi])
        weight = np.empty(m + 1)  # weight of the rows before each position
        moment = np.empty(m + 1)
        middle = r[lo + order[m // 2]] if m > 0 else 0.0
        weight[0], moment[0] = 0.0, 0.0
        for k in range(m):
            i = lo + order[k]
            weight[k + 1] = weight[k] + w[i]
            moment[k + 1] = moment[k] + w[i] * (r[i] - middle)
        n_below, n_within, total = 0, 0, 0.0
        for k in range(m):
            i = lo + order[k]
            while r[i] - r[lo + order[n_below]] > epsilon:
                n_below += 1
            while n_within < m and r[lo + order[n_within]] - r[i] <= epsilon:
                n_within += 1
            below, above = weight[n_below], weight[m] - weight[n_within]
            # Each pair once, from its upper row; doubled below for ordered pairs.
            total += w[i] * ((r[i] - middle - epsilon) * below - moment[n_below])
            gradient[i] = 2.0 * w[i] * (below - above)
        sums[q] = 2.0 * total


@njit
def project_sorted(z, w, indptr, nu, active, block_ptr):
    """Write the point nearest to ``z`` (with squares weighted by w) to ``nu``, for epsilon = 0.

    Returns the number of blocks of more than one node; block b holds the nodes
    ``active[block_ptr[b]:block_ptr[b + 1]]``.
    """
    n_blocks, n_active = 0, 0
    block_ptr[0] = 0
    for q in range(len(indptr) - 1):
        lo, hi = indptr[q], indptr[q + 1]
        m = hi - lo
        order = _sorted_places(z[lo:hi])
        total = 0.0
        for i in range(lo, hi):
            total += w[i]
        vertex, mean, weight = np.empty(m), np.empty(m), np.empty(m)
        start = np.empty(m + 1, np.int64)
        below, n_pools = 0.0, 0
        for k in range(m):
            i = lo + order[k]
            # Weight below minus weight above, as shares: the vertex for strictly ascending z.
            vertex[k] = (2.0 * below + w[i] - total) / total
            below += w[i]
            start[n_pools], mean[n_pools], weight[n_pools] = k, z[i] - vertex[k], w[i]
            n_pools += 1
            # Pool adjacent violators: the order of z that chose the vertex must also be that of z -
            # nu.
            while n_pools > 1 and mean[n_pools - 2] > mean[n_pools - 1]:
                both = weight[n_pools - 2] + weight[n_pools - 1]
                mean[n_pools - 2] = (
                    mean[n_pools - 2] * weight[n_pools - 2]
                    + mean[n_pools - 1] * weight[n_pools - 1]
                ) / both
                weight[n_pools - 2] = both
                n_pools -= 1
        start[n_pools] = m
        below = 0.0
        for pool in range(n_pools):
            first, last = start[pool], start[pool + 1]
            if last - first == 1:
                nu[lo + order[first]] = vertex[first]
                below += w[lo + order[first]]
                continue
            # The sum of w nu is that of the vertex, 0 for a whole query, up to the rounding of the
            # differences in z, however small these are compared with the vertex.
            centre = z[lo + order[(first + last) // 2]]
            in_pool, moment = 0.0, 0.0
            for k in range(first, last):
                i = lo + order[k]
                in_pool += w[i]
                moment += w[i] * (z[i] - centre)
            offset = (2.0 * below + in_pool - total) / total
            if first == 0 and last == m:
                offset = 0.0
            for k in range(first, last):
                i = lo + order[k]
                nu[i] = (z[i] - centre - moment / in_pool) + offset
                active[n_active] = i
                n_active += 1
            below += in_pool
            n_blocks += 1
            block_ptr[n_blocks] = n_active
    return n_blocks


@njit
def project_split(z, w, indptr, nu, active, block_ptr):
    """Like :func:`project_sorted`, for epsilon > 0.

    With n rows, node i is a_i and node n + i is b_i.

    The first block is all nodes of a query. Let t be the value that the nodes of a block would
    share. The block is split at the upper set whose weighted excess over t most exceeds the
    capacity of its pairs. That set consists of the largest a and the largest b, found with two
    pointers.
    """
    n = len(w)
    n_blocks, n_active = 0, 0
    block_ptr[0] = 0
    for q in range(len(indptr) - 1):
        lo, hi = indptr[q], indptr[q + 1]
        m = hi - lo
        up = _sorted_places(z[lo:hi])
        down = _sorted_places(z[n + lo : n + hi])
        up_weight, down_weight = np.zeros(m + 1), np.zeros(m + 1)
        up_moment, down_moment = np.zeros(m + 1), np.zeros(m + 1)
        middle = z[lo + up[m // 2]] if m > 0 else 0.0
        size = 0.0
        for k in range(m):
            a, b = lo + up[k], lo + down[k]
            up_weight[k + 1] = up_weight[k] + w[a]
            up_moment[k + 1] = up_moment[k] + w[a] * (z[a] - middle)
            down_weight[k + 1] = down_weight[k] + w[b]
            down_moment[k + 1] = down_moment[k] + w[b] * (z[n + b] - middle)
            size = max(size, abs(z[a] - middle), abs(z[n + b] - middle))
        total = up_weight[m]
        # Blocks to split: ends of their a and of their b. A stack, since a call per level of
        # recursion could be as deep as the query is long.
        stack = np.empty((2 * m + 2, 4), np.int64)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, m, 0, m
        n_open = 1 if m > 0 else 0
        while n_open > 0:
            n_open -= 1
            a0, a1 = stack[n_open, 0], stack[n_open, 1]
            b0, b1 = stack[n_open, 2], stack[n_open, 3]
            up_base = down_weight[b0] / total  # pairs with b below and with a above the block
            down_base = (up_weight[a1] - total) / total
            up_in, down_in = up_weight[a1] - up_weight[a0], down_weight[b1] - down_weight[b0]
            # Nodes of one kind form no pair: they are where the other blocks put them.
            if a0 == a1 or b0 == b1:
                for k in range(a0, a1):
                    nu[lo + up[k]] = up_base
                for k in range(b0, b1):
                    nu[n + lo + down[k]] = down_base
                continue
            t = (
                (up_moment[a1] - up_moment[a0] - up_in * up_base)
                + (down_moment[b1] - down_moment[b0] - down_in * down_base)
            ) / (up_in + down_in)
            most, best_a, best_b = 0.0, a1, b1
            j = b1
            # Every upper set that can be best: the more a it holds, the more b belong to it.
            for i in range(a1, a0 - 1, -1):
                above = up_weight[a1] - up_weight[i]
                while (
                    j > b0
                    and z[n + lo + down[j - 1]] - middle - down_base - t + above / total > 0.0
                ):
                    j -= 1
                upper = down_weight[b1] - down_weight[j]
                excess = (
                    (up_moment[a1] - up_moment[i] - above * (up_base + t))
                    + (down_moment[b1] - down_moment[j] - upper * (down_base + t))
                    - above * (down_in - upper) / total
                )
                if excess > most:
                    most, best_a, best_b = excess, i, j
            whole = best_a == a0 and best_b == b0
            if most > SLACK * (up_in + down_in) * (1.0 + size) and not whole:
                stack[n_open, 0], stack[n_open, 1] = a0, best_a
                stack[n_open, 2], stack[n_open, 3] = b0, best_b
                stack[n_open + 1, 0], stack[n_open + 1, 1] = best_a, a1
                stack[n_open + 1, 2], stack[n_open + 1, 3] = best_b, b1
                n_open += 2
                continue
            centre = z[lo + up[(a0 + a1) // 2]]
            moment = 0.0
            for k in range(a0, a1):
                moment += w[lo + up[k]] * (z[lo + up[k]] - centre)
            for k in range(b0, b1):
                moment += w[lo + down[k]] * (z[n + lo + down[k]] - centre)
            mean = moment / (up_in + down_in)
            offset = (up_in * up_base + down_in * down_base) / (up_in + down_in)
            if a1 - a0 + b1 - b0 == 2 * m:
                offset = 0.0
            for k in range(a0, a1):
                nu[lo + up[k]] = (z[lo + up[k]] - centre - mean) + offset
                active[n_active] = lo + up[k]
                n_active += 1
            for k in range(b0, b1):
                nu[n + lo + down[k]] = (z[n + lo + down[k]] - centre - mean) + offset
                active[n_active] = n + lo + down[k]
                n_active += 1
            n_blocks += 1
            block_ptr[n_blocks] = n_active
    return n_blocks


@njit
def reduce_blocks(K, rows, diagonal, block_ptr, target, matrix, vector):
    """Write the system ``(K[rows, rows] + diag(diagonal)) xi = target``, ``sum xi = 0`` per block.

    The last node of each block is eliminated as minus the sum of the others. Only the lower
    triangle is written.
    """
    n = len(rows) - len(block_ptr) + 1
    place, last = np.empty(n, np.int64), np.empty(n, np.int64)
    a = 0
    for block in range(len(block_ptr) - 1):
        for k in range(block_ptr[block], block_ptr[block + 1] - 1):
            place[a], last[a] = k, block_ptr[block + 1] - 1
            a += 1
    for a in range(n):
        i, i_last = rows[place[a]], rows[last[a]]
        vector[a] = target[i] - target[i_last]
        for b in range(a + 1):
            j, j_last = rows[place[b]], rows[last[b]]
            # K between differences of nodes of a block, which sum to 0 by construction.
            value = (K[i, j] - K[i_last, j]) - (K[i, j_last] - K[i_last, j_last])
            if last[a] == last[b]:
                value += diagonal[last[a]]
            matrix[a, b] = value
        matrix[a, a] += diagonal[place[a]]


@njit
def expand_blocks(reduced, active, block_ptr, xi):
    """Expand the solution of the reduced system to all nodes of the blocks."""
    a = 0
    for block in range(len(block_ptr) - 1):
        total = 0.0
        for k in range(block_ptr[block], block_ptr[block + 1] - 1):
            xi[active[k]] = reduced[a]
            total += reduced[a]
            a += 1
        xi[active[block_ptr[block + 1] - 1]] = -total
