"""Best splits of nodes of gradient trees, from the histograms of their columns.

A node is a row of three whole numbers: the slot of its histogram (``SLOT``), its packed sum
(``TOTAL``), and the smallest sum of second derivatives of a child, in units (``LEAST``). Its
``limits`` are the penalties L1 and L2, the bounds of its children's values, and the L2 penalty of
children that more than four categories would make. This penalty does not count for the node itself:
a split on categories must make up for it. The cells of column j begin at ``starts[j]`` of a
histogram. ``nominal[j]`` is 0 for a column of numbers, and for one of categories the largest number
of categories that a split may part from all others.

Arguments that most trees do not need may be None. They are then not compiled, which halves the
compile time:
``nominal`` (no column holds categories), ``signs`` (no column is monotone, no values are bounded,
and L1 is 0) and ``seeds`` (all thresholds are tried).
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.boosted_trees import BINS, LOWER, WORD
from rankwise.runtime.jit import njit

# Fields of a split: gain, feature, last bin on the left (for a nominal column, in the order of its
# categories), whether missing values go left.
GAIN, FEATURE, PLACE, MISSING_LEFT, N_FIELDS = 0, 1, 2, 3, 4
SLOT, TOTAL, LEAST = 0, 1, 2
L1, L2, LOW, HIGH, CATEGORY_L2 = 0, 1, 2, 3, 4
# Up to so many categories have no penalty of their own: they make few splits, and the penalty costs
# .0095 +- .0034 AP on the set "car". LightGBM exempts as many.
FEW_CATEGORIES = 4


@njit
def leaf_value(g, h, limits):
    """Minimiser of ``g v + h v^2 / 2 + L1 |v| + L2 v^2 / 2`` within the bounds."""
    pull = max(abs(g) - limits[L1], 0.0)
    curvature = h + limits[L2]
    value = 0.0 if curvature <= 0 else (-pull if g > 0 else pull) / curvature
    return min(max(value, limits[LOW]), limits[HIGH])


@njit
def _worth(g, h, value, limits):
    """Twice the decrease of the second-order model due to the value of a leaf."""
    return -(2 * (g * value + limits[L1] * abs(value)) + (h + limits[L2]) * value * value)


@njit
def _has_limits(limits):
    """Whether leaves are bounded or penalised by L1."""
    return limits[L1] != 0 or limits[LOW] != -np.inf or limits[HIGH] != np.inf


@njit
def _alone(total, unit, limits, signs):
    """Worth of a node that is not split."""
    # Upper half: gradients; lower half: second derivatives, which are never negative. Scales are
    # chosen so that the sum of all rows fits into either half.
    g, h = np.int32(total >> 32) * unit[0], np.int32(total & LOWER) * unit[1]
    if signs is not None and _has_limits(limits):
        return _worth(g, h, leaf_value(g, h, limits), limits)
    return g * g / (h + limits[L2])


@njit
def split_gain(total, left, unit, limits, bounds, sign):
    """Worth of two children minus that of their parent; 0 if ``sign`` forbids their order.

    ``limits`` are those of the parent, and ``bounds`` those of the children.
    """
    right = total - left
    g, h = np.int32(left >> 32) * unit[0], np.int32(left & LOWER) * unit[1]
    rest, other = np.int32(right >> 32) * unit[0], np.int32(right & LOWER) * unit[1]
    low, high = leaf_value(g, h, bounds), leaf_value(rest, other, bounds)
    if sign * (high - low) < 0:
        return 0.0
    both = _worth(g, h, low, bounds) + _worth(rest, other, high, bounds)
    return both - _alone(total, unit, limits, sign)


@njit
def _count_below(sums, bound):
    """Count the running sums whose second derivatives are below a bound; they never decrease."""
    low, size = 0, len(sums)
    # Without a branch on the comparison, which is as good as random.
    while size > 0:
        half = (size + 1) >> 1
        low += half if sums[low + half - 1] & LOWER < bound else 0
        size -= half
    return low


# Both children have at least one unit of second derivatives, so no divisor is 0.
@njit(unchecked_division=True)
def _side_gains(cells, n_places, node, before, unit, limits, signs, feature, alone, sums, gains):
    """Write the worth of the two children for splits after positions 0 ... n_places - 1.

    ``before`` is the packed sum that goes left before the first position. Returns the first
    position with enough on the left, and the first one with too little on the right. Children whose
    values violate the order of the column's sign (-1, 1; 0: any) get the worth of their parent.
    """
    running = before
    for b in range(n_places):
        running += cells[b]
        sums[b] = running
    whole, least = node[TOTAL] & LOWER, node[LEAST]
    first = _count_below(sums[:n_places], least)
    # Enough is left for the right child while the sum is at most whole - least.
    last = _count_below(sums[:n_places], whole - least + 1)
    if signs is not None and (signs[feature] != 0 or _has_limits(limits)):
        _limited_gains(first, last, node, unit, limits, signs[feature], alone, sums, gains)
        return first, last
    g_all, h_all = np.int32(node[TOTAL] >> 32) * unit[0], np.int32(whole) * unit[1]
    penalty = limits[L2]
    inner, out = sums[first:last], gains[first:last]
    for b in range(len(inner)):  # over slices: an index that might be negative is not vectorised
        g = np.float64(np.int32(inner[b] >> 32)) * unit[0]
        h = np.float64(np.int32(inner[b] & LOWER)) * unit[1]
        rest = g_all - g
        left, right = h + penalty, (h_all - h) + penalty
        # g^2 / left + rest^2 / right with one division, the slowest operation of this loop.
        out[b] = (g * g * right + rest * rest * left) / (left * right)
    return first, last


@njit
def _limited_gains(first, last, node, unit, limits, sign, alone, sums, gains):
    """Write the same for some positions, with the L1 penalty, bounds and an order of the values."""
    g_all = np.int32(node[TOTAL] >> 32) * unit[0]
    h_all = np.int32(node[TOTAL] & LOWER) * unit[1]
    for b in range(first, last):
        g = np.float64(np.int32(sums[b] >> 32)) * unit[0]
        h = np.float64(np.int32(sums[b] & LOWER)) * unit[1]
        low, high = leaf_value(g, h, limits), leaf_value(g_all - g, h_all - h, limits)
        if sign * (high - low) < 0:
            gains[b] = alone
        else:
            gains[b] = _worth(g, h, low, limits) + _worth(g_all - g, h_all - h, high, limits)


@njit
def _drawn(seed, feature, first, last, low, high):
    """Draw a position of a column in ``first:last``, but not in its part ``low:high``."""
    n_places = last - first - (high - low)
    if n_places <= 0:
        return first, first
    # Number `feature` of splitmix64 from the seed: independent of the order in which columns are
    # searched, and so of the number of threads.
    z = seed + np.uint64(feature + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    place = first + np.int64(z % np.uint64(n_places))
    if place >= low:
        place += high - low
    return place, place + 1


@njit
def _large_sets(first, last, n, largest):
    """Positions in ``first:last`` with more than ``largest`` of n categories on both sides."""
    low = min(max(first, largest), last)
    return low, max(low, min(last, n - 1 - largest))


@njit
def _penalise_categories(limits):
    """Limits of children that a column of categories would make."""
    out = limits.copy()
    out[:, L2] = limits[:, CATEGORY_L2]
    return out


@njit
def _column(histograms, starts, slot, feature):
    """Cells of a column in a node's histogram, and those behind them."""
    return histograms[slot, starts[feature] :]


@njit
def order_categories(histograms, starts, nodes, feature, n, unit, penalty, order):
    """Order the categories of some nodes by mean gradient; return the number that have rows.

    Without penalties, the best of all subsets of one node consists of the first categories in this
    order (Fisher, 1958). Categories with equal means are ordered by code.
    """
    keys, codes = np.empty(BINS), np.empty(BINS, np.int64)
    m = 0
    for code in range(n):
        cell = np.int64(0)
        for k in range(len(nodes)):
            cell += _column(histograms, starts, nodes[k, SLOT], feature)[code]
        # No rows; :func:`part_codes` decides where such a category goes.
        if cell == 0:
            continue
        g, h = np.int32(cell >> 32) * unit[0], np.int32(cell & LOWER) * unit[1] + penalty
        keys[m] = g / h if h > 0 else (np.inf if g > 0 else -np.inf)
        codes[m] = code
        m += 1
    order[:m] = -1
    # To count the smaller keys of each is vectorised, and faster than to sort so few.
    for i in range(m):
        place, key = 0, keys[i]
        for j in range(m):
            place += keys[j] < key
        while order[place] >= 0:  # of equal keys, the first has this place
            place += 1
        order[place] = codes[i]
    return m


@njit
def _gather(cells, n, order, m, out):
    """Write the cells of ordered categories, then that of missing values, whose code is ``n``."""
    for place in range(m):
        out[place] = cells[order[place]]
    out[m] = cells[n]


@njit
def _scan_together(
    histograms, starts, first, last, n_bins, nominal, signs, allowed, seeds, nodes, limits, unit,
    min_gain, sums, gains, out,
):  # fmt: skip
    """Write the split with the largest sum of gains over all nodes.

    A node adds nothing if the split leaves too little on one side.
    """
    together = np.empty(BINS)
    order, gathered = np.empty(BINS, np.int64), np.empty((1, BINS), np.int64)
    penalised = _penalise_categories(limits)
    noise = 0.0
    for k in range(len(nodes)):
        noise += abs(_alone(nodes[k, TOTAL], unit, limits[k], signs))
    # Rounding errors of the nodes add up, and gains are differences here, not worths.
    best = max(1e-12 * noise + 1e-300, min_gain)
    out[GAIN] = 0.0
    for feature in range(first * WORD, min(last * WORD, len(n_bins))):
        if not allowed[feature]:
            continue
        n = n_bins[feature]
        # Which side missing values take matters only if some node has any.
        has_missing = False
        for k in range(len(nodes)):
            if _column(histograms, starts, nodes[k, SLOT], feature)[n] != 0:
                has_missing = True
        codes, bounds, largest = n, limits, n
        if nominal is not None and nominal[feature] > 0:
            largest = nominal[feature]
            if n > FEW_CATEGORIES:
                bounds = penalised
            n = order_categories(histograms, starts, nodes, feature, n, unit, bounds[0, L2], order)
            if n == 0:
                continue
        for side in range(2 if has_missing else 1):
            together[:n] = 0.0
            lowest, highest = n, 0
            for k in range(len(nodes)):
                cells = _column(histograms, starts, nodes[k, SLOT], feature)
                if nominal is not None and nominal[feature] > 0:
                    _gather(cells, codes, order, n, gathered[0])
                    cells = gathered[0, :]
                before = cells[n] if side == 1 else np.int64(0)
                alone = _alone(nodes[k, TOTAL], unit, limits[k], signs)
                start, end = _side_gains(
                    cells, n if side == 0 else n - 1, nodes[k], before, unit, bounds[k],
                    signs, feature, alone, sums, gains,
                )  # fmt: skip
                for b in range(start, end):
                    together[b] += gains[b] - alone
                if start < end:
                    lowest, highest = min(lowest, start), max(highest, end)
            low, high = _large_sets(lowest, highest, n, largest)
            together[low:high] = 0.0
            if seeds is not None:
                # One draw: the nodes share their threshold.
                lowest, highest = _drawn(seeds[0], feature, lowest, highest, low, high)
            # Only a larger gain replaces the best: ties go to the first column and the lowest bin.
            for b in range(lowest, highest):
                if together[b] > best:
                    best = together[b]
                    out[GAIN], out[FEATURE], out[PLACE] = best, feature, b
                    out[MISSING_LEFT] = side


@njit
def find_splits(
    n_bins, nominal, signs, allowed, seeds, first, last, histograms, starts, nodes, limits, unit,
    min_gain, found,
):  # fmt: skip
    """Find the best split of each of some nodes, from their histograms.

    Only the columns in the words ``first:last`` are searched. With ``seeds``, each node tries one
    threshold of every column.
    """
    # A single function: with the search of a node in another one, both take twice the time to
    # compile. What only categories need is allocated where they are known.
    sums, gains = np.empty(BINS, np.int64), np.empty(BINS)
    order = gathered = sums  # not used without categories
    penalised = limits
    if nominal is not None:
        order, gathered = np.empty(BINS, np.int64), np.empty(BINS, np.int64)
        penalised = _penalise_categories(limits)
    last = last * WORD if last * WORD < len(n_bins) else len(n_bins)
    for k in range(len(nodes)):
        node, limit, out = nodes[k], limits[k], found[k]
        line = histograms[node[SLOT]]
        alone = _alone(node[TOTAL], unit, limit, signs)
        # A split into children of equal values has gain 0 up to rounding; 1e-300 is for a node
        # without gradient, where all worths are 0.
        best = (alone * (1 + 1e-12) if alone > 0 else alone * (1 - 1e-12)) + 1e-300
        if best <= alone + min_gain:
            best = alone + min_gain
        out[GAIN] = 0.0
        for feature in range(first * WORD, last):
            if not allowed[k, feature]:
                continue
            n = n_bins[feature]
            cells, bounds, largest = line[starts[feature] :], limit, n
            if nominal is not None and nominal[feature] > 0:
                largest = nominal[feature]
                if n > FEW_CATEGORIES:
                    bounds = penalised[k]
                m = order_categories(
                    histograms, starts, nodes[k : k + 1], feature, n, unit, bounds[L2], order
                )
                if m == 0:
                    continue
                _gather(cells, n, order, m, gathered)
                cells, n = gathered, m
            missing = cells[n]
            # Without missing values both sides are the same split.
            for side in range(2 if missing != 0 else 1):
                before = missing if side == 1 else np.int64(0)
                # With missing values on the right, all others may be on the left.
                n_places = n if missing != 0 and side == 0 else n - 1
                start, end = _side_gains(
                    cells, n_places, node, before, unit, bounds, signs, feature, alone, sums, gains
                )
                low = high = end
                if nominal is not None:
                    low, high = _large_sets(start, end, n, largest)
                    gains[low:high] = -np.inf
                if seeds is not None:
                    start, end = _drawn(seeds[k], feature, start, end, low, high)
                inner = gains[start:end]
                better = 0
                for b in range(len(inner)):
                    better += inner[b] > best
                for b in range(len(inner) if better > 0 else 0):
                    if inner[b] > best:
                        best = inner[b]
                        out[GAIN], out[FEATURE], out[PLACE] = best - alone, feature, start + b
                        out[MISSING_LEFT] = side


@njit
def find_common_split(
    n_bins, nominal, signs, allowed, seeds, first, last, histograms, starts, nodes, limits, unit,
    min_gain, found,
):  # fmt: skip
    """Find the split with the largest sum of gains over some nodes.

    This is a separate kernel because it takes a second to compile and most trees do not need it.
    """
    sums, gains = np.empty(BINS, np.int64), np.empty(BINS)
    _scan_together(
        histograms, starts, first, last, n_bins, nominal, signs, allowed[0], seeds, nodes, limits,
        unit, min_gain, sums, gains, found[0],
    )  # fmt: skip


@njit
def part_codes(
    histograms, starts, nodes, feature, n, place, missing_left, order, n_ordered, goes_left, lefts
):
    """Write which codes of a column go left, and the packed sum of the left side of each node.

    For a nominal column, the first of the ``n_ordered`` categories in ``order`` go left, up to
    ``place``; ``n_ordered`` is -1 for a column of numbers. Returns whether missing values go left.
    Categories without rows, and missing values if no node has any, go to the side with the larger
    sum of second derivatives.
    """
    for code in range(len(goes_left)):
        goes_left[code] = n_ordered < 0 and code <= place
    for i in range(n_ordered):
        goes_left[order[i]] = i <= place
    goes_left[n] = missing_left
    has_missing = False
    left = all_rows = np.int64(0)
    for k in range(len(nodes)):
        cells = _column(histograms, starts, nodes[k, SLOT], feature)
        if cells[n] != 0:
            has_missing = True
        lefts[k] = 0
        for code in range(n + 1):
            all_rows += cells[code] & LOWER
            if goes_left[code]:
                lefts[k] += cells[code]
        left += lefts[k] & LOWER
    heavier = 2 * left >= all_rows
    if not has_missing:
        goes_left[n] = heavier
    if n_ordered >= 0:
        for code in range(n):
            goes_left[code] = heavier
        for i in range(n_ordered):
            goes_left[order[i]] = i <= place
    return goes_left[n]


@njit(unchecked_division=True)
def write_entry_bounds(
    n_bins, zero_codes, starts, line, columns, least, unit, penalty, mean, roots
):  # fmt: skip
    """Write the largest ``|g - mean c| / sqrt(c)``, ``c = h + penalty``, of a side of a split.

    It is the side without the code of 0, and h is at least ``least``, in units. ``line`` (n_cells,)
    is a histogram; ``roots`` has one number per column, those of ``columns`` are written.
    """
    sums, worths = np.empty(BINS, np.int64), np.empty(BINS)
    bits = worths.view(np.int64)
    for column in columns:
        cells = line[starts[column] : starts[column + 1]]
        n, zero = n_bins[column], zero_codes[column]
        best = np.int64(0)
        # Missing values on the other side, and on this one.
        for side in range(2 if cells[n] != 0 else 1):
            missing = cells[n] if side == 1 else np.int64(0)
            # Codes from the first on, up to that of 0, and from the last on.
            running = missing
            for i in range(zero):
                running += cells[i]
                sums[i] = running
            running = missing
            for i in range(n - 1, zero, -1):
                running += cells[i]
                sums[i] = running
            sums[zero] = missing
            for i in range(np.uint64(n)):
                h = sums[i] & LOWER
                c = np.float64(np.int32(h)) * unit[1] + penalty
                r = np.float64(np.int32(sums[i] >> 32)) * unit[0] - mean * c
                worths[i] = r * r / c if h >= least else 0.0
            # Numbers that are not negative are in the order of their bits, and a maximum of whole
            # numbers is vectorised.
            for i in range(np.uint64(n)):
                best = max(best, bits[i])
        bits[0] = best
        roots[column] = np.sqrt(worths[0])
