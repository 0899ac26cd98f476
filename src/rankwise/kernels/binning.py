"""Cuts of a sorted column, and the number of cuts below each value of a block of rows."""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

SLACK = 1 + 1e-12  # the last digits of sums of weights depend on the order of equal values


@njit
def midpoint(low, high):
    """Return a number m with ``low <= m < high``, strictly between them if possible."""
    # Halved before they are added: the sum of two large numbers may be infinite.
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@njit
def _heavy_share(values, weights, n_bins):
    """Share of weight per bin, once each value at least that masses has a bin of its own.

    Returns the share, the number of bins for the remaining values, and their total weight.
    """
    share, bins_left, light = np.inf, n_bins, 0.0
    for _ in range(n_bins):
        n_heavy = 0
        light = 0.0
        start = 0
        while start < len(values):
            end = start
            weight = 0.0
            while end < len(values) and values[end] == values[start]:
                weight += weights[end] if len(weights) > 0 else 1.0
                end += 1
            if weight >= share:
                n_heavy += 1
            else:
                light += weight
            start = end
        # No more values became masses. Each round takes masses ones out, which lowers the share of
        # the rest, so there are at most n_bins rounds.
        if n_bins - n_heavy == bins_left and share < np.inf:
            break
        bins_left = n_bins - n_heavy
        if bins_left == 0:
            break
        share = light / bins_left / SLACK
    return share, bins_left, light


@njit
def find_cuts(values, weights, out):
    """Write ascending cuts between the ascending ``values`` into ``out``; returns their number.

    Up to ``len(out) + 1`` distinct values get a bin each; more values are grouped. A value at
    least as masses as one bin's share gets its own bin, which may absorb up to half a share before
    it. Any other bin closes when its weight is nearest to an equal share of the weight that was
    left when it began. If ``weights`` is empty, each value has weight 1.
    """
    n, n_bins = len(values), len(out) + 1
    n_cuts = 0
    for i in range(1, n):
        if values[i] != values[i - 1]:
            if n_cuts < n_bins - 1:
                out[n_cuts] = midpoint(values[i - 1], values[i])
            n_cuts += 1
    if n_cuts < n_bins:
        return n_cuts
    share, bins_left, light = _heavy_share(values, weights, n_bins)
    n_cuts = 0
    gathered = 0.0  # weight in the open bin, if it holds no masses value
    holds_heavy = True
    start = 0
    while start < n:
        end = start
        weight = 0.0
        while end < n and values[end] == values[start]:
            weight += weights[end] if len(weights) > 0 else 1.0
            end += 1
        is_heavy = weight >= share
        if is_heavy and not holds_heavy:
            # At least half a share: `bins_left` no longer counts the open bin, hence + 1.
            close = 2 * gathered * (bins_left + 1) >= light * SLACK
            if not close:  # the masses value's bin absorbs the open one
                bins_left += 1
                light -= gathered
        elif is_heavy:
            close = True
        elif holds_heavy:
            close = bins_left > 0
        else:
            close = bins_left > 0 and (2 * gathered + weight) * (bins_left + 1) > 2 * light * SLACK
        if close and start > 0:
            out[n_cuts] = midpoint(values[start - 1], values[start])
            n_cuts += 1
        if close and not holds_heavy:
            light -= gathered
        if close and not is_heavy:
            bins_left -= 1
        if close:
            gathered = 0.0
        holds_heavy = is_heavy or (holds_heavy and not close)
        if not holds_heavy:
            gathered += weight
        start = end
    return n_cuts


@njit
def find_entry_cuts(values, weights, indptr, rest, max_bins, n_cuts, out):
    """Find the cuts of sparse columns; one zero stands for all values that are not stored.

    Column j is ``values[indptr[j]:indptr[j + 1]]``, ascending, NaN last. ``values`` and ``weights``
    are (n_entries,), float64, ``indptr`` is (n_columns + 1,). ``rest`` (n_columns,) is the weight
    of the zero; negative: all values of the column are stored.

    Overwrites ``n_cuts`` (n_columns,) and ``out`` (3, n): cuts, with the values below and above
    each, one column after another. A column of k entries has at most k cuts.
    """
    longest = 1
    for j in range(len(rest)):
        longest = max(longest, indptr[j + 1] - indptr[j] + 1)
    merged, masses, cuts = np.empty(longest), np.empty(longest), np.empty(max_bins - 1)
    place = 0
    for j in range(len(rest)):
        n, open_zero = 0, rest[j] >= 0
        for k in range(indptr[j], indptr[j + 1]):
            if open_zero and not values[k] < 0:
                merged[n], masses[n], open_zero = 0.0, rest[j], False
                n += 1
            if values[k] == values[k]:
                merged[n], masses[n] = values[k], weights[k]
                n += 1
        if open_zero:
            merged[n], masses[n] = 0.0, rest[j]
            n += 1
        n_cuts[j] = find_cuts(merged[:n], masses[:n], cuts)
        above = 0
        for c in range(n_cuts[j]):
            while merged[above] <= cuts[c]:
                above += 1
            out[0, place], out[1, place], out[2, place] = cuts[c], merged[above - 1], merged[above]
            place += 1


@njit
def write_codes(X, cuts, n_cuts, out):
    """Write the number of cuts below each value into ``out``, transposed; NaN: ``n_cuts + 1``.

    ``cuts`` has one row of 255 entries per column of ``X``, padded with infinity.
    """
    for j in range(X.shape[1]):
        column_cuts = cuts[j]
        missing = n_cuts[j] + 1
        for i in range(X.shape[0]):
            value = X[i, j]
            # Binary search in eight steps without a branch: the padding, infinity, is below no
            # value.
            code = np.uint64(0)
            for bit in range(8):
                step = np.uint64(128 >> bit)
                code += step if column_cuts[code + step - np.uint64(1)] < value else np.uint64(0)
            out[j, i] = missing if value != value else code
