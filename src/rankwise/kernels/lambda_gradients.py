"""Derivatives of the losses of boosted trees, one query at a time.

Pairwise gradients are weighted by the change of a measure if the two rows swap ranks. If the rows
at ranks r < t swap, every measure here changes by ``|g_r - g_t| |a_r - b_t| c_r``, with gains g and
coefficients that depend on the ranking:

- discounted gains: a and b are the discounts d, c = 1;
- average precision, with C the relevant rows down to a rank and S the sum of d over them, d the
  reciprocal ranks: a_r = (C_r + 1 - g_r) d_r - S_r, b_t = C_t d_t - S_(t-1), c = 1;
- reciprocal rank, for r up to the first relevant rank f, with s the second: a_r = d_r, b_t = d_f
  at relevant t, d_min(s, t) at others, c = 1;
- expected reciprocal rank, with P the probability of reaching a rank and T the sum of g P d: a_r =
  P_r d_r (1 - g_r) + T_r, b_t = T_(t-1) + P_t d_t, c_r = 1 / (1 - g_r).

A row of weight w stands for w equal rows, its copies, at w consecutive ranks. All copies of the row
at r rank above all copies of the row at t, so a_r - b_t is positive for each pair of copies. The
sum over the copies is therefore the difference of mean a and mean b times both weights. For
discounted gains, a fractional weight takes the corresponding share of its last rank.

For the other losses of scores, first and diagonal second derivatives are written, and a row of
weight w counts as w identical rows.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import REASSOCIATE, njit

# Arrays at constant offsets in one buffer, so that the compiler knows they do not overlap.
TILE = 1024
SCORE, POWER, GAIN, WEIGHT, BELOW, SLOPE, CURVATURE = (i * (TILE + 8) for i in range(7))
BUFFER = 7 * (TILE + 8)
SMALLEST_POWER = 1e-290
LARGEST_STOP = 1 - 1e-6  # maximum probability of stopping at a row, so that c is finite
# Kinds of measures. The usual kind is None, so that Numba omits the other branches, which take a
# second to compile.
DISCOUNTED = None
AVERAGE_PRECISION, RECIPROCAL_RANK, EXPECTED_RANK = 1, 2, 3
MOVES_PER_ROW = 8
MOST_MOVES = 2**62  # more moves than any sort makes


@njit
def _sort(scores, order):
    """Sort row numbers by descending score and, for ties, by number; fast if nearly sorted.

    Uses insertion sort, and switches to Shell's sort if that moves too many rows.
    """
    n = len(order)
    moves_left, gap = MOVES_PER_ROW * n + 256, 1
    while True:
        for i in range(gap, n):
            row = order[i]
            score = scores[row]
            k = i
            while k >= gap:
                above = order[k - gap]
                # Numbers break ties, so that the order is the same from any initial order.
                if scores[above] > score or (scores[above] == score and above < row):
                    break
                order[k] = above
                k -= gap
            order[k] = row
            moves_left -= i - k
            if moves_left < 0:
                break
        if moves_left < 0:
            # Shell's sort from the widest gap down, now without a limit.
            moves_left, gap = MOST_MOVES, n
        elif gap == 1:
            return
        # Tokuda's ratio of gaps; the pass with gap 1 comes last and makes the order exact.
        gap = 1 if gap < 3 else 4 * gap // 9


@njit
def _sort_anew(scores, order, keys, spare):
    """Sort like :func:`_sort`, from an arbitrary initial order."""
    for i in range(len(order)):
        order[i] = i
        keys[i] = -scores[i]
    sort_rows(keys, order, spare)


@njit
def _mean_discount(discounts, first, weight):
    """Mean discount of the ranks from ``first`` to ``first + weight``; 0 beyond the cut-off."""
    total, rank, end = 0.0, np.int64(first), first + weight
    if rank >= len(discounts):
        return 0.0
    if weight == 1.0 and first == rank:
        return discounts[rank]
    while rank < end and rank < len(discounts):
        # Ranks that a fractional weight covers in part count in part.
        low = first if first > rank else np.float64(rank)
        high = end if end < rank + 1.0 else rank + 1.0
        total += (high - low) * discounts[rank]
        rank += 1
    return total / weight


@njit
def _terms(kind, gains, weights, rows, discounts, above, below, factors):
    """Write mean a, mean b and c of every row; return how many can be upper rows of a pair."""
    n = len(rows)
    depth, taken = 0, 0.0
    for r in range(n):
        factors[r] = 1.0
        # A row that begins beyond the cut-off changes nothing by moving down.
        depth += taken < len(discounts)
        if kind is None:
            above[r] = below[r] = _mean_discount(discounts, taken, weights[rows[r]])
        taken += weights[rows[r]]
    if kind is None:
        return depth
    if kind == AVERAGE_PRECISION:
        _precision_terms(gains, weights, rows, discounts, above, below)
    elif kind == RECIPROCAL_RANK:
        return min(depth, _reciprocal_terms(gains, weights, rows, discounts, above, below))
    else:
        _stop_terms(gains, weights, rows, discounts, above, below, factors)
    return depth


@njit
def _precision_terms(gains, weights, rows, discounts, above, below):
    count = total = 0.0
    rank = 0
    for r in range(len(rows)):
        gain, n_copies = gains[rows[r]], int(weights[rows[r]])
        up = down = 0.0
        for _ in range(n_copies):
            d = discounts[rank] if rank < len(discounts) else 0.0
            count += gain
            down += count * d - total
            total += gain * d
            up += (count + 1.0 - gain) * d - total
            rank += 1
        above[r], below[r] = up / n_copies, down / n_copies


@njit
def _reciprocal_terms(gains, weights, rows, discounts, above, below):
    """Terms of the reciprocal rank; returns the number of rows down to the first relevant one.

    Only the first copy of that row changes the measure as an upper row: the a of any other copy
    equals the b of all rows that it could swap with.
    """
    n = len(rows)
    first_row, first, second, rank = n, -1, -1, 0
    for r in range(n):
        if gains[rows[r]] > 0 and first < 0:
            first_row, first = r, rank
            second = rank + 1 if weights[rows[r]] > 1 else -1
        elif gains[rows[r]] > 0 and second < 0:
            second = rank
        rank += int(weights[rows[r]])
    rank = 0
    for r in range(n):
        n_copies = int(weights[rows[r]])
        up = down = 0.0
        for copy in range(rank, rank + n_copies):
            found = first if gains[rows[r]] > 0 else copy
            if gains[rows[r]] <= 0 and 0 <= second < copy:
                found = second
            down += discounts[found] if found < len(discounts) else 0.0
            found = second if r == first_row and copy > first else copy
            up += discounts[found] if found < len(discounts) else 0.0
        above[r], below[r] = up / n_copies, down / n_copies
        rank += n_copies
    return first_row + 1


@njit
def _stop_terms(gains, weights, rows, discounts, above, below, factors):
    reach, total = 1.0, 0.0
    rank = 0
    for r in range(len(rows)):
        stop, n_copies = min(gains[rows[r]], LARGEST_STOP), int(weights[rows[r]])
        up = down = 0.0
        for _ in range(n_copies):
            now = reach * discounts[rank] if rank < len(discounts) else 0.0
            down += total + now
            total += stop * now
            up += now * (1.0 - stop) + total
            reach *= 1.0 - stop
            rank += 1
        above[r], below[r], factors[r] = up / n_copies, down / n_copies, 1.0 / (1.0 - stop)


# No divisor is 0: powers have a floor, and gaps are at least 0.01.
@njit(fastmath=REASSOCIATE, unchecked_division=True)
def _pair_row(buffer, r_score, r_power, r_gain, r_above, factor, first, last, damped, weighted):
    """Add the pairs of one row with a tile of rows; return its slope, curvature and size."""
    slope = curvature = size = 0.0
    for number in range(first if first > 0 else 0, last):
        # Pairs of equal gains are not skipped: their weight is 0, and a branch on them mispredicts.
        t = np.uint64(number)  # indices start at 0, so that the loop has no sign tests
        difference = r_gain - buffer[np.uint64(GAIN) + t]
        weight = factor * (buffer[np.uint64(WEIGHT) + t] if weighted else 1.0)
        weight *= abs(difference) * abs(r_above - buffer[np.uint64(BELOW) + t])
        power = buffer[np.uint64(POWER) + t]
        both = r_power + power
        # Row r ranks above, so the difference of scores is not negative.
        gap = 0.01 + (r_score - buffer[np.uint64(SCORE) + t]) if damped else 1.0
        # One division for the sigmoid and the damping; `second` contains the square of `inverse`,
        # and so one gap too many.
        inverse = 1.0 / (both * gap)
        weight *= inverse
        # exp(score) of the row that should rank lower; over the sum of both, it is the probability
        # of the wrong order.
        wrong = power if difference > 0 else r_power
        lam = weight * wrong
        second = weight * power * r_power * inverse * gap
        signed = lam if difference > 0 else -lam
        slope -= signed
        curvature += second
        size += lam
        buffer[np.uint64(SLOPE) + t] += signed
        buffer[np.uint64(CURVATURE) + t] += second
    return slope, curvature, size


@njit
def measure_gradients(
    scores, gains, weights, indptr, query_weight, discounts, kind, normalised, order, gradients,
    hessians,
):  # fmt: skip
    """Write gradient and second derivative for every row of some queries.

    - ``scores``, ``gains`` and ``weights`` (n_rows,), float64. Weights are > 0, and whole except
      for ``DISCOUNTED``, where None stands for ones, and takes half the time to compile.
    - ``indptr`` (n_queries + 1,), int64.
    - ``query_weight`` (n_queries,): factor of the change, such as 1 / ideal DCG; 0 if no swap
      changes the query's measure.
    - ``discounts`` (depth,): discounts of the ranks within the cut-off; 0 after them.
    - ``kind``: ``DISCOUNTED``, ``AVERAGE_PRECISION``, ``RECIPROCAL_RANK`` (gains 0 and 1 in both)
      or ``EXPECTED_RANK`` (gains are probabilities to stop).
    - ``normalised``: divide the change of a pair by 0.01 plus its score difference, unless all
      scores are equal. Then divide all gradients of a query by S / log2(1 + S), where S sums their
      absolute values.
    - ``order`` (n_rows,), any unsigned integers: row numbers within their query by descending
      score; read as the initial order and updated.
    - ``gradients`` and ``hessians`` (n_rows,), float64, written.
    """
    # Uses loops instead of slices, min() and max(), which take a second to compile.
    buffer = np.empty(BUFFER)
    longest = 0
    for q in range(len(indptr) - 1):
        n = indptr[q + 1] - indptr[q]
        longest = n if n > longest else longest
    # One array of five rows: every allocation is compiled.
    work = np.empty((5, longest))
    slopes, curvatures, above, below, factors = work[0], work[1], work[2], work[3], work[4]
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        n = end - start
        if query_weight[q] == 0.0:
            for i in range(start, end):
                gradients[i] = hessians[i] = 0.0
            continue
        query_scores, rows = scores[start:end], order[start:end]
        # The last round's order: a new tree moves few rows far.
        _sort(query_scores, rows)
        grades = gains[start:end]
        n_weighted = 0
        for i in range(n):
            if weights is not None:
                n_weighted += weights[start + i] != 1.0
            slopes[i] = curvatures[i] = 0.0
        weighted = n_weighted > 0
        if weights is None or (kind is None and not weighted):
            # What _terms would write, without a search for the ranks of each row.
            depth = n if n < len(discounts) else len(discounts)
            for r in range(n):
                above[r] = below[r] = discounts[r] if r < depth else 0.0
                factors[r] = 1.0
        else:
            row_weights = weights[start:end]
            depth = _terms(kind, grades, row_weights, rows, discounts, above, below, factors)
            for r in range(n):
                factors[r] *= row_weights[rows[r]]
        # Exponentials are relative to the best score: none overflows, and those that underflow get
        # a floor, so that no sum of two is 0.
        highest = query_scores[rows[0]]
        # Equal scores, as at the start, carry no information about how sure the model is.
        damped = normalised and highest != query_scores[rows[n - 1]]
        total = 0.0
        # Lower rows of pairs in tiles that stay in the cache, whatever the length of the query.
        for tile in range(0, n, TILE):
            width = TILE if n - tile > TILE else n - tile
            for t in range(width):
                row = rows[tile + t]
                power = np.exp(query_scores[row] - highest)
                buffer[SCORE + t] = query_scores[row]
                buffer[POWER + t] = power if power > SMALLEST_POWER else SMALLEST_POWER
                buffer[GAIN + t] = grades[row]
                if weights is not None:
                    buffer[WEIGHT + t] = weights[start + row]
                buffer[BELOW + t] = below[tile + t]
                buffer[SLOPE + t] = buffer[CURVATURE + t] = 0.0
            # Upper rows: within the cut-off, and above the last row of the tile. For rows before
            # the tile, r + 1 - tile is negative and all of the tile is below them.
            for r in range(depth if depth < tile + width else tile + width - 1):
                row = rows[r]
                # Only rows before the tile need another exponential.
                power = (
                    buffer[POWER + r - tile] if r >= tile else np.exp(query_scores[row] - highest)
                )
                slope, curvature, size = _pair_row(
                    buffer, query_scores[row], power if power > SMALLEST_POWER else SMALLEST_POWER,
                    grades[row], above[r], factors[r], r + 1 - tile, width, damped, weighted,
                )  # fmt: skip
                slopes[r] += slope
                curvatures[r] += curvature
                total += size
            for t in range(width):
                slopes[tile + t] += buffer[SLOPE + t]
                curvatures[tile + t] += buffer[CURVATURE + t]
        scale = query_weight[q]
        if normalised and total > 0:
            # Each pair pushes both of its rows.
            total *= 2.0 * scale
            scale *= np.log2(1.0 + total) / total
        for t in range(n):
            gradients[start + rows[t]] = slopes[t] * scale
            hessians[start + rows[t]] = curvatures[t] * scale


@njit
def neighbour_gradients(
    scores, gains, weights, noise, indptr, query_weight, discounts, kind, gradients, hessians
):
    """Write the mean derivatives over pairs of neighbours in random rankings, for some queries.

    Each draw ranks the rows by ``scores + noise`` and pairs neighbours. The logistic loss of a pair
    at ``scores`` is weighted by the change of the measure if the pair swaps in that ranking.
    ``noise`` is (n_draws, n_rows), float64; for the other arguments, see :func:`measure_gradients`.
    """
    n_draws = len(noise)
    gradients[:] = 0.0
    hessians[:] = 0.0
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    above, below, factors = np.empty(longest), np.empty(longest), np.empty(longest)
    drawn, keys = np.empty(longest), np.empty(longest)
    order, spare = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        if query_weight[q] == 0.0:
            continue
        grades, row_weights, rows = gains[start:end], weights[start:end], order[: end - start]
        for draw in range(n_draws):
            for i in range(end - start):
                drawn[i] = scores[start + i] + noise[draw, start + i]
            _sort_anew(drawn, rows, keys, spare)
            depth = _terms(kind, grades, row_weights, rows, discounts, above, below, factors)
            for r in range(min(depth, end - start - 1)):
                i, j = rows[r], rows[r + 1]
                if grades[i] == grades[j]:
                    continue
                # The measure changes by the drawn ranking, the loss below is at the scores without
                # noise.
                change = abs(grades[i] - grades[j]) * abs(above[r] - below[r + 1]) * factors[r]
                change *= row_weights[i] * row_weights[j] * query_weight[q] / n_draws
                upper, lower = start + i, start + j
                if grades[i] < grades[j]:
                    upper, lower = lower, upper
                wrong = 1.0 / (1.0 + np.exp(min(scores[upper] - scores[lower], 700.0)))
                gradients[upper] -= wrong * change
                gradients[lower] += wrong * change
                second = wrong * (1.0 - wrong) * change
                hessians[upper] += second
                hessians[lower] += second


# The floor of the powers keeps every divisor above 0.
@njit(fastmath=REASSOCIATE, unchecked_division=True)
def _against(power, weight, slopes, curvatures, n_below, own_power, own_weight):
    """Add the pairs of one row with rows of lower labels; return its slope and curvature."""
    slope = curvature = 0.0
    for t in range(n_below):
        # exp(f_t - f) / (1 + exp(f_t - f)) with both exponentials relative to the query's best.
        inverse = 1.0 / (own_power + power[t])
        wrong = own_weight * weight[t] * power[t] * inverse
        second = wrong * own_power * inverse
        slope -= wrong
        curvature += second
        slopes[t] += wrong
        curvatures[t] += second
    return slope, curvature


@njit
def logistic_pairs(scores, labels, weights, order, indptr, gradients, hessians):
    """Derivatives of ``sum w_i w_j log(1 + exp(f_j - f_i))`` over the pairs ``y_i > y_j``.

    ``scores``, ``labels`` and ``weights`` are (n_rows,), float64. ``order`` (n_rows,), int32, holds
    row numbers within their query by ascending label, and ``indptr`` is (n_queries + 1,). Writes
    ``gradients`` and ``hessians`` (n_rows,). O(m^2) for m rows of a query, with one exponential per
    row.
    """
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    power, weight = np.empty(longest), np.empty(longest)
    slopes, curvatures = np.empty(longest), np.empty(longest)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        n = end - start
        if n == 0:
            continue
        rows = order[start:end]
        highest = scores[start:end].max()
        for t in range(n):
            row = start + rows[t]
            # One exponential a row instead of one a pair. The floor keeps the sum of two of them
            # above 0.
            power[t] = max(np.exp(scores[row] - highest), SMALLEST_POWER)
            weight[t] = weights[row]
        slopes[:n] = 0.0
        curvatures[:n] = 0.0
        n_below = 0
        for t in range(n):
            # The first row with this label: all before it are below it, and equal labels are no
            # pair.
            if labels[start + rows[t]] > labels[start + rows[n_below]]:
                n_below = t
            if labels[start + rows[t]] == labels[start + rows[0]]:
                continue
            slope, curvature = _against(
                power, weight, slopes, curvatures, n_below, power[t], weight[t]
            )
            slopes[t] += slope
            curvatures[t] += curvature
        for t in range(n):
            gradients[start + rows[t]] = slopes[t]
            hessians[start + rows[t]] = curvatures[t]


@njit
def differentiate_squared_pairs(scores, labels, weights, indptr, gradients, hessians):
    """Derivatives of half of ``sum w_i w_j ((y_i - y_j) - (f_i - f_j))^2`` over all pairs.

    Each pair is counted once. O(m) for m rows of a query; arrays as in :func:`logistic_pairs`.
    """
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        total = moment = 0.0
        for i in range(start, end):
            total += weights[i]
            moment += weights[i] * (scores[i] - labels[i])
        for i in range(start, end):
            gradients[i] = weights[i] * (total * (scores[i] - labels[i]) - moment)
            # Without the pairs among the row's own copies, whose difference is constant.
            hessians[i] = weights[i] * (total - weights[i])


@njit
def cross_entropy(scores, targets, weights, indptr, gradients, hessians):
    """Derivatives of ``-sum t_i log p_i``, where p_i is the softmax of a query's scores.

    The targets t sum to 1 in each query, or are all 0 if the query is not part of the loss.
    A row of weight w has w equal shares of t and of p. O(m) for m rows of a query.
    """
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        if end == start:
            continue
        highest, total, aim = scores[start:end].max(), 0.0, 0.0
        for i in range(start, end):
            # Relative to the highest score, so that no exponential overflows.
            gradients[i] = weights[i] * np.exp(scores[i] - highest)
            total += gradients[i]
            aim += targets[i]
        for i in range(start, end):
            share = gradients[i] / total if aim > 0 else 0.0
            gradients[i] = share - targets[i]
            hessians[i] = share * (1.0 - share)
