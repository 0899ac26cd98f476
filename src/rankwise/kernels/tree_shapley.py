"""Exact Shapley values of sums of trees: path-dependent, and against background rows.

A row reaches a leaf of value v if every feature of its path passes, so the worth of a set S of
features is v times a product over the features of the path. For path-dependent values, the factor
of feature j is ``o_j`` (1 if the row passes all splits on j, else 0) if j is in S, and otherwise
``z_j`` (the share of the training rows that pass). By Owen's multilinear extension [1]_, the value
of j is

    v (o_j - z_j) int_0^1 prod_{i != j} (z_i (1 - t) + o_i t) dt,

a polynomial of degree D - 1 for D features, which D / 2 Gauss-Legendre points integrate exactly.
All factors are >= 0, so there is no cancellation. As in linear TreeSHAP [2]_, products are passed
down the tree and sums over leaves are passed up: O(nodes D) per row and tree.

Against a background row, a feature has the factor 1 or 0, and a leaf depends on the rows only
through the sets of features that pass. Equal sets are processed once, see [3]_: O(nodes (n + m))
for n rows and m background rows, plus the pairs of distinct sets.

References
----------
.. [1] Owen, "Multilinear extensions of games", Management Science 18 (1972).
.. [2] Yu, Xu & Wang, "Linear TreeSHAP", NeurIPS 2022.
.. [3] Lundberg et al., "From local explanations to global understanding with explainable AI for
   trees", Nature Machine Intelligence 2 (2020).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

MOST_BITS = 64  # number of features of a path whose sets fit in a word
_TINY = 1e-35  # LightGBM treats numbers up to this size as 0


@njit
def describe_paths(indptr, feature, left, right, cover, parent, above, bit, n_path, share, reach):
    """Describe the path to every node; tree t has the nodes ``indptr[t]:indptr[t + 1]``.

    Writes, for the edge into each node: ``parent``; ``above``, the nearest ancestor whose edge
    tests the same feature (-1: none); ``bit``, the feature's number among those of the path;
    ``n_path``, the number of distinct features; ``share``, the product of the shares of the cover
    over the feature's edges; ``reach``, that over all edges. Nodes are numbered within their tree.
    """
    for t in range(len(indptr) - 1):
        lo = indptr[t]
        parent[lo], above[lo], bit[lo], n_path[lo] = -1, -1, -1, 0
        share[lo] = reach[lo] = 1.0
        for p in range(lo, indptr[t + 1]):
            if feature[p] < 0:
                continue
            found = -1
            node = p
            while parent[node] >= 0:
                up = lo + parent[node]
                # The feature was tested above: its factor is replaced, not added.
                if feature[up] == feature[p]:
                    found = node
                    break
                node = up
            for child in (lo + left[p], lo + right[p]):
                parent[child] = p - lo
                ratio = cover[child] / cover[p] if cover[p] > 0 else 0.0
                reach[child] = reach[p] * ratio
                if found < 0:
                    above[child], bit[child] = -1, n_path[p]
                    n_path[child], share[child] = n_path[p] + 1, ratio
                else:
                    above[child], bit[child] = found - lo, bit[found]
                    n_path[child], share[child] = n_path[p], ratio * share[found]


@njit
def _is_category(value, categories, lo, end):
    """Whether the ascending categories hold the value."""
    hi = end
    first = lo
    while first < hi:
        middle = (first + hi) >> 1
        if categories[middle] < value:
            first = middle + 1
        else:
            hi = middle
    return first < end and categories[first] == value


@njit
def _sides(column, node, threshold, missing_left, nominal, category_indptr, categories,
           zero_missing, out):  # fmt: skip
    """Write 1.0 for every value that goes left at a node and 0.0 for all others.

    ``nominal`` and ``zero_missing`` may be None if unused; that code is then not compiled.
    """
    cut, absent = threshold[node], 1.0 if missing_left[node] else 0.0
    if nominal is not None and nominal[node]:
        lo, end = category_indptr[node], category_indptr[node + 1]
        for i in range(len(column)):
            value = column[i]
            if value != value:
                out[i] = absent
            else:
                out[i] = 1.0 if _is_category(value, categories, lo, end) else 0.0
        return
    for i in range(len(column)):
        value = column[i]
        side = 1.0 if value <= cut else 0.0
        out[i] = absent if value != value else side
    # LightGBM counts such zeros as missing at this node.
    if zero_missing is not None and zero_missing[node]:
        for i in range(len(column)):
            if abs(column[i]) <= _TINY:
                out[i] = absent


@njit(fastmath=REASSOCIATE)
def path_values(blocks, indptr, feature, threshold, left, right, missing_left, values, nominal,
                category_indptr, categories, zero_missing, above, share, rule, n_points, points,
                weights, out):  # fmt: skip
    """Add path-dependent Shapley values of every tree to ``out``.

    ``blocks`` and ``out`` have the shape (n_blocks, n_features, n_lanes), with a row in each lane.
    Tree t is integrated at ``points[rule[t], :n_points[t]]`` between 0 and 1, with the weights
    there.
    """
    lanes = blocks.shape[2]
    largest = 0
    most_points = 1
    for t in range(len(indptr) - 1):
        largest = max(largest, indptr[t + 1] - indptr[t])
        most_points = max(most_points, n_points[t])
    down = np.empty((largest, lanes))
    passed = np.empty((largest, lanes))
    whole = np.ones(lanes)
    # By point and edge: constant of the factor, its slopes in "passed above" and "passed", and the
    # same slopes of the derivative's factor.
    table = np.empty((most_points, largest, 5))
    for t in range(len(indptr) - 1):
        if n_points[t] == 0:
            continue
        lo = indptr[t]
        size = indptr[t + 1] - lo
        for q in range(n_points[t]):
            at = points[rule[t], q]
            for e in range(1, size):
                z = share[lo + e]
                # The factor z (1 - t) + o t at this point for o = 0 and o = 1.
                fails, passes = z * (1.0 - at), z * (1.0 - at) + at
                slope_fails, slope_passes = -1.0 / (1.0 - at), (1.0 - z) / passes
                still = 0.0
                if above[lo + e] >= 0:
                    z_above = share[lo + above[lo + e]]
                    passes_above = z_above * (1.0 - at) + at
                    # The edge's factor replaces that of the edge above: divided by it here, once
                    # per tree, and not by row. If the row failed above already, only the share z
                    # changes.
                    still = z / z_above if z_above > 0 else 0.0
                    fails /= passes_above
                    passes /= passes_above
                    slope_fails -= (1.0 - z_above) / passes_above
                    slope_passes -= (1.0 - z_above) / passes_above
                # A leaf's value is one more factor of its edge.
                times = values[lo + e] if feature[lo + e] < 0 else 1.0
                # Both indicators are 0 or 1 and passed <= passed above, so a factor of three cases
                # is linear in the two: no branch by row.
                table[q, e, 0] = still * times
                table[q, e, 1] = (fails - still) * times
                table[q, e, 2] = (passes - fails) * times
                table[q, e, 3] = slope_fails
                table[q, e, 4] = slope_passes - slope_fails
        for b in range(len(blocks)):
            for p in range(size):
                if feature[lo + p] < 0:
                    continue
                to_left, to_right = passed[left[lo + p]], passed[right[lo + p]]
                _sides(blocks[b, feature[lo + p]], lo + p, threshold, missing_left, nominal,
                       category_indptr, categories, zero_missing, to_left)  # fmt: skip
                before = above[lo + left[lo + p]]
                for r in range(lanes):
                    # A row goes to one of the two sides, missing or not.
                    to_right[r] = 1.0 - to_left[r]
                if before >= 0:
                    both = passed[before]
                    for r in range(lanes):
                        to_left[r] *= both[r]
                        to_right[r] *= both[r]
            for q in range(n_points[t]):
                down[0, :] = weights[rule[t], q]
                for p in range(size):
                    if feature[lo + p] < 0:
                        continue
                    before = above[lo + left[lo + p]]
                    both = passed[before] if before >= 0 else whole
                    for child in (left[lo + p], right[lo + p]):
                        _carry_down(
                            down[p], both, passed[child], table[q, child, 0], table[q, child, 1],
                            table[q, child, 2], down[child],
                        )  # fmt: skip
                # Children have higher numbers than their parent: leaves first.
                for p in range(size - 1, -1, -1):
                    if feature[lo + p] < 0:
                        continue
                    first, second = left[lo + p], right[lo + p]
                    before = above[lo + first]
                    both = passed[before] if before >= 0 else whole
                    _carry_up(
                        down[first], down[second], both, passed[first], passed[second],
                        table[q, first, 3], table[q, first, 4], table[q, second, 3],
                        table[q, second, 4], down[p], out[b, feature[lo + p]],
                    )  # fmt: skip


@njit(fastmath=REASSOCIATE)
def _carry_down(product, both, passed, start, slope, step, out):
    """Multiply the factors down to a child."""
    for r in range(len(out)):
        out[r] = product[r] * (start + slope * both[r] + step * passed[r])


@njit(fastmath=REASSOCIATE)
def _carry_up(first, second, both, passed_first, passed_second, slope_first, step_first,
              slope_second, step_second, total, out):  # fmt: skip
    """Sum over the leaves below a node, and add their contribution to the node's feature."""
    for r in range(len(out)):
        out[r] += first[r] * (slope_first * both[r] + step_first * passed_first[r]) + second[r] * (
            slope_second * both[r] + step_second * passed_second[r]
        )
        total[r] = first[r] + second[r]


@njit
def _bits(word):
    """Number of bits set."""
    count = 0
    while word:
        # Clears the lowest bit set.
        word &= word - np.uint64(1)
        count += 1
    return count


@njit
def _distinct(masks, slots, stamps, stamp, keys, number):
    """Write the distinct masks to ``keys``, and each row's index among them to ``number``.

    ``slots`` and ``stamps`` form a hash table whose size is a power of two. A slot with an older
    stamp is empty.
    """
    last = np.uint64(len(slots) - 1)
    n_keys = 0
    for i in range(len(masks)):
        mask = masks[i]
        # The low bits choose the slot; the features of deep nodes have high bits, which are mixed
        # in.
        place = (mask ^ (mask >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15)) & last
        # Linear probing; at most half the slots are full, so this ends.
        while stamps[place] == stamp and keys[slots[place]] != mask:
            place = (place + np.uint64(1)) & last
        if stamps[place] != stamp:
            stamps[place] = stamp
            slots[place] = n_keys
            keys[n_keys] = mask
            n_keys += 1
        number[i] = slots[place]
    return n_keys


@njit
def _narrow(before, side, is_left, bit, is_new, out):
    """Write the sets of passing features after one more edge; return their union."""
    flag = np.uint64(1) << np.uint64(bit)
    union = np.uint64(0)
    passing = 1.0 if is_left else 0.0
    for i in range(len(before)):
        mask = before[i]
        if bit < MOST_BITS:
            if side[i] != passing:
                mask &= ~flag
            # A feature tested before passes only if it passed there too: its bit is not set again.
            elif is_new:
                mask |= flag
        out[i] = mask
        union |= mask
    return union


@njit
def background_values(rows, background, groups, indptr, feature, threshold, left, right,
                      missing_left, values, nominal, category_indptr, categories, zero_missing,
                      parent, above, bit, n_path, worth, out):  # fmt: skip
    """Add Shapley values against background rows to ``out``, means over each background.

    ``rows``, ``background`` and ``out`` are transposed, with one row per feature. A row of
    ``groups`` holds the first and last row, and the first and last background row. ``worth[u, w]``
    is ``(u - 1)! w! / (u + w)!``, 0 for u = 0, up to the longest path. Leaves of paths with more
    than 64 features are skipped, see :func:`add_long_path`.
    """
    longest = 0
    for i in range(len(n_path)):
        longest = max(longest, n_path[i])
    deepest = 0
    largest = 0
    for t in range(len(indptr) - 1):
        largest = max(largest, indptr[t + 1] - indptr[t])
    depth = np.zeros(largest, np.int64)
    for t in range(len(indptr) - 1):
        lo = indptr[t]
        for node in range(1, indptr[t + 1] - lo):
            depth[node] = depth[parent[lo + node]] + 1
            deepest = max(deepest, depth[node])
    most_rows = 0
    most_others = 0
    for g in range(len(groups)):
        most_rows = max(most_rows, groups[g, 1] - groups[g, 0])
        most_others = max(most_others, groups[g, 3] - groups[g, 2])
    n_slots = 2
    while n_slots < 2 * max(most_rows, most_others):
        n_slots *= 2
    slots, stamps, stamp = np.empty(n_slots, np.int64), np.zeros(n_slots, np.int64), 0
    masks = np.empty((deepest + 1, most_rows), np.uint64)
    masks_other = np.empty((deepest + 1, most_others), np.uint64)
    side, side_other = np.empty(most_rows), np.empty(most_others)
    keys, number = np.empty(most_rows, np.uint64), np.empty(most_rows, np.int64)
    keys_other = np.empty(most_others, np.uint64)
    number_other = np.empty(most_others, np.int64)
    counts = np.empty(most_others)
    path = np.empty(longest, np.int64)
    shares = np.empty((most_rows, longest))
    # Depth first: one more node waits for each level.
    stack = np.empty(deepest + 2, np.int64)
    for g in range(len(groups)):
        x_lo, x_hi, z_lo, z_hi = groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
        n, m = x_hi - x_lo, z_hi - z_lo
        if n == 0 or m == 0:
            continue
        for t in range(len(indptr) - 1):
            lo = indptr[t]
            for node in range(1, indptr[t + 1] - lo):
                depth[node] = depth[parent[lo + node]] + 1
            masks[0, :n] = 0
            masks_other[0, :m] = 0
            stack[0], n_waiting = 0, 1
            while n_waiting > 0:
                n_waiting -= 1
                node = stack[n_waiting]
                level = depth[node]
                if node > 0:
                    up = lo + parent[lo + node]
                    column = feature[up]
                    is_left = left[up] == node
                    place, is_new = bit[lo + node], above[lo + node] < 0
                    path[place] = column
                    _sides(rows[column, x_lo:x_hi], up, threshold, missing_left, nominal,
                           category_indptr, categories, zero_missing, side[:n])  # fmt: skip
                    _sides(background[column, z_lo:z_hi], up, threshold, missing_left, nominal,
                           category_indptr, categories, zero_missing, side_other[:m])  # fmt: skip
                    union = _narrow(masks[level - 1, :n], side[:n], is_left, place, is_new,
                                    masks[level, :n])  # fmt: skip
                    union |= _narrow(masks_other[level - 1, :m], side_other[:m], is_left, place,
                                     is_new, masks_other[level, :m])  # fmt: skip
                    if place < MOST_BITS and not (union >> np.uint64(place)) & np.uint64(1):
                        continue  # no row passes this feature, so no mixture gets here
                if feature[lo + node] >= 0:
                    stack[n_waiting] = right[lo + node]
                    stack[n_waiting + 1] = left[lo + node]
                    n_waiting += 2
                    continue
                d = n_path[lo + node]
                if d == 0 or d > MOST_BITS:
                    continue
                full = ~np.uint64(0) >> np.uint64(64 - d)
                # A new stamp empties the table without clearing it.
                stamp += 1
                n_others = _distinct(masks_other[level, :m], slots, stamps, stamp, keys_other,
                                     number_other)  # fmt: skip
                counts[:n_others] = 0.0
                for i in range(m):
                    counts[number_other[i]] += 1.0
                stamp += 1
                n_keys = _distinct(masks[level, :n], slots, stamps, stamp, keys, number)
                scale = values[lo + node] / m
                for k in range(n_keys):
                    lacking = full ^ keys[k]
                    w = _bits(lacking)
                    key_shares = shares[k]
                    key_shares[:d] = 0.0
                    taken = 0.0
                    for other in range(n_others):
                        gained = full ^ keys_other[other]
                        # Some feature passes in neither row: no mixture of the two reaches the
                        # leaf.
                        if gained & lacking:
                            continue
                        u = _bits(gained)
                        # Each lacking feature loses the same; so one sum serves them all.
                        taken += counts[other] * worth[w, u]
                        if u > 0:
                            each = scale * counts[other] * worth[u, w]
                            for j in range(d):
                                if (gained >> np.uint64(j)) & np.uint64(1):
                                    key_shares[j] += each
                    if w > 0:
                        for j in range(d):
                            if (lacking >> np.uint64(j)) & np.uint64(1):
                                key_shares[j] -= scale * taken
                for j in range(d):
                    line = out[path[j], x_lo:x_hi]
                    for i in range(n):
                        line[i] += shares[number[i], j]


@njit
def add_long_path(rows, background, leaf, lo, feature, threshold, left, missing_left, values,
                  nominal, category_indptr, categories, zero_missing, parent, bit, d, worth,
                  out):  # fmt: skip
    """Add the contribution of a leaf whose path has d features, too many for a word, by pairs.

    The leaf is node ``leaf`` of the tree that begins at ``lo``. A separate kernel: few trees have
    such a leaf, and it takes two seconds to compile.
    """
    n, m = rows.shape[1], background.shape[1]
    passed, passed_other = np.ones((d, n), np.bool_), np.ones((d, m), np.bool_)
    side, side_other = np.empty(n), np.empty(m)
    path = np.empty(d, np.int64)
    node = leaf
    while parent[lo + node] >= 0:
        up = lo + parent[lo + node]
        passing = 1.0 if left[up] == node else 0.0
        path[bit[lo + node]] = feature[up]
        _sides(rows[feature[up]], up, threshold, missing_left, nominal, category_indptr,
               categories, zero_missing, side)  # fmt: skip
        _sides(background[feature[up]], up, threshold, missing_left, nominal, category_indptr,
               categories, zero_missing, side_other)  # fmt: skip
        passed[bit[lo + node]] &= side == passing
        passed_other[bit[lo + node]] &= side_other == passing
        node = parent[lo + node]
    scale = values[lo + leaf] / m
    for i in range(n):
        for k in range(m):
            u, w = 0, 0
            for j in range(d):
                if passed[j, i] and not passed_other[j, k]:
                    u += 1
                elif passed_other[j, k] and not passed[j, i]:
                    w += 1
                elif not passed[j, i]:
                    u = -1
                    break
            if u < 0:
                continue
            for j in range(d):
                if passed[j, i] and not passed_other[j, k]:
                    out[path[j], i] += scale * worth[u, w]
                elif passed_other[j, k] and not passed[j, i]:
                    out[path[j], i] -= scale * worth[w, u]
