"""Rows in order of their scores, sums over the first of them, ranks and costs of ranks.

Ranking is exact, stable and linear in the rows: a query of up to 256 rows is ranked by counting how
many rows beat each row (quadratic, but free of branches and vectorised: faster than any sort of
that size), a larger one by a radix sort of the scores' bits. If only the first ranks are needed, a
bound that few rows pass is found first, and only those rows are ranked.

Scores must not be NaN. Rows of equal score keep their order; -0.0 equals 0.0. Loops run over
slices that start at 0, because an index that might be negative is not vectorised.

The cost of one wrong rank in a query's expected reciprocal rank: take one row out of a list ranked
by true grades. Let ``R_j`` be the probability of stopping at the row with rank ``j``, and ``P_j``
that of passing all rows before it. If the row taken out stops the reader with probability ``R``,
moving it from rank ``j`` to ``j + 1`` lowers the measure by ``P_j (1/j - 1/(j+1)) (R - R_j)``. The
values for all ranks are therefore running sums.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

# Up to this many rows all are compared with all, which beats any sort.
COUNT_UP_TO = 256
FEW_GRADES = 8
ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


@njit
def rank_rows(scores, values, indptr, depth, top, out, left):
    """Write ``values`` by descending score into ``out``, query by query.

    Query q gets ``out[top[q]:top[q + 1]]``: its first ``depth`` rows, or all rows if it has fewer
    or ``depth`` is 0. Queries that are too large for counting, or whose scores agree up to the last
    few bits, are written to ``left`` for :func:`rank_long_rows`. Returns their number.

    A key holds the bits of the score, transformed so that the best score is smallest, with the row
    number in its lowest bits. If the other bits of two keys are equal, the scores decide.
    """
    # A multiple of 8, so that loops over lanes are vectorised. The more lanes, the fewer rows pass
    # the bound: twice as many as wanted ranks leave few.
    lanes = (2 * depth + 7) // 8 * 8
    largest = np.int64(COUNT_UP_TO)
    if depth > 0:
        for q in range(len(indptr) - 1):
            largest = max(largest, indptr[q + 1] - indptr[q])
    key = np.empty(largest + 1, np.int64)
    ranked = np.empty(COUNT_UP_TO + 1, np.int64)
    least = np.empty(lanes, np.int64)
    bits = scores.view(np.int64)
    n_left = 0
    for q in range(len(indptr) - 1):
        lo = indptr[q]
        size = indptr[q + 1] - lo
        query_bits = bits[lo : lo + size]
        few = depth > 0 and size >= 2 * lanes
        # Enough low bits for a row number; they replace the last bits of the score.
        low = 1
        while low < size:
            low <<= 1
        low -= 1
        if size <= COUNT_UP_TO or few:
            for i in range(size):
                b = query_bits[i]
                # -0.0 equals 0.0.
                if b == ~ALL_BUT_SIGN:
                    b = np.int64(0)
                # Negative floats order backwards: all bits but the sign are flipped. Then the
                # complement, since the best score has the smallest key. Row numbers make all keys
                # different.
                key[i] = (~(b ^ ((b >> 63) & ALL_BUT_SIGN)) & ~low) | i
        n = size
        if few:
            # At least ``depth`` rows pass the depth-th best of the lane maxima.
            for j in range(lanes):
                least[j] = key[j]
            for i in range(lanes, size - lanes + 1, lanes):
                for j in range(lanes):
                    least[j] = min(least[j], key[i + j])
            bound = ALL_BUT_SIGN
            for i in range(lanes):
                k = least[i]
                rank = 0
                for j in range(lanes):
                    rank += least[j] < k
                if rank == depth - 1:
                    bound = k | low
                    break
            n = 0
            for i in range(size):
                k = key[i]
                # Kept if the counter advances, overwritten otherwise: no branch.
                key[n] = k
                n += k <= bound
        decided = n <= COUNT_UP_TO
        if decided:
            key[n] = ALL_BUT_SIGN  # the partner of an odd last row; ranks at n
            for i in range(0, n, 2):
                # Two rows share each read of the keys.
                k0 = key[i]
                k1 = key[i + 1]
                rank0 = 0
                rank1 = 0
                for j in range(n):
                    k = key[j]
                    rank0 += k < k0
                    rank1 += k < k1
                ranked[rank0] = k0
                ranked[rank1] = k1
            before = np.int64(0)
            start = top[q]
            wanted = top[q + 1] - start
            for r in range(n):
                k = ranked[r]
                row = lo + (k & low)
                if r < wanted:
                    out[start + r] = values[row]
                # The kept bits of both scores are equal, and the dropped ones put them the other
                # way round.
                if (k ^ before) <= low and r > 0 and scores[row] > scores[lo + (before & low)]:
                    decided = False
                before = k
        if not decided:
            left[n_left] = q
            n_left += 1
    return n_left


@njit
def rank_long_rows(scores, values, indptr, queries, top, out):
    """Like :func:`rank_rows`, for the given queries, of any size.

    Radix sort of all 64 bits, eight at a time from the lowest. Digits that all keys share are
    skipped.
    """
    largest = np.int64(0)
    for q in queries:
        largest = max(largest, indptr[q + 1] - indptr[q])
    key = np.empty(largest, np.int64)
    key_to = np.empty(largest, np.int64)
    row = np.empty(largest, np.int64)
    row_to = np.empty(largest, np.int64)
    counts = np.empty((8, 256), np.int64)
    bits = scores.view(np.int64)
    for q in queries:
        lo = indptr[q]
        size = indptr[q + 1] - lo
        counts[:] = 0
        for i in range(size):
            b = bits[lo + i]
            if b == ~ALL_BUT_SIGN:
                b = np.int64(0)
            k = (b ^ ((b >> 63) & ALL_BUT_SIGN)) ^ ALL_BUT_SIGN
            key[i] = k
            row[i] = lo + i
            for digit in range(8):
                counts[digit, (k >> (8 * digit)) & 255] += 1
        for digit in range(8):
            shift = 8 * digit
            count = counts[digit]
            if count[(key[0] >> shift) & 255] == size:
                continue
            below = np.int64(0)
            for value in range(256):
                below += count[value]
                # From counts to first places.
                count[value] = below - count[value]
            for i in range(size):
                value = (key[i] >> shift) & 255
                to = count[value]
                count[value] = to + 1
                key_to[to] = key[i]
                row_to[to] = row[i]
            key, key_to = key_to, key
            row, row_to = row_to, row
        start = top[q]
        for r in range(top[q + 1] - start):
            out[start + r] = values[row[r]]


@njit
def best_grades(grades, indptr, n_grades, top, out):
    """Integer grades below ``n_grades`` in descending order, by counting them.

    Query q gets ``out[top[q]:top[q + 1]]``, its best grades. Few distinct grades are counted one by
    one from the best, which is vectorised and stops when the output is full.
    """
    counts = np.empty(n_grades, np.int64)
    for q in range(len(indptr) - 1):
        query_grades = grades[indptr[q] : indptr[q + 1]]
        if n_grades > FEW_GRADES:
            counts[:] = 0
            for i in range(len(query_grades)):
                # Unsigned, as there is no test for negative indices then.
                counts[np.uint64(query_grades[i])] += 1
        position = top[q]
        end = top[q + 1]
        grade = n_grades - 1
        while position < end:
            if n_grades <= FEW_GRADES:
                count = 0
                for i in range(len(query_grades)):
                    count += query_grades[i] == grade
            else:
                count = counts[grade]
            stop = min(end, position + count)
            out[position:stop] = grade
            position = stop
            grade -= 1


@njit
def add_discounted(ranked, top, table, discounts, cascade, cutoff, out):
    """Sum over ranks r of gain · discounts[r]; query q has ``ranked[top[q]:top[q + 1]]``.

    The gain is the ranked value, or ``table[value]`` if a table is given. ``cascade``: each gain is
    the probability that the reader stops there, and counts only if none stopped before.
    """
    for q in range(len(top) - 1):
        start = top[q]
        n = top[q + 1] - start
        if cutoff > 0:
            n = min(n, cutoff)
        total = 0.0
        reached = 1.0
        for r in range(n):
            gain = ranked[start + r]
            if len(table) > 0:
                gain = table[np.int64(gain)]
            # Without a cascade `reached` stays 1.
            total += reached * gain * discounts[r]
            if cascade:
                reached *= 1.0 - gain
        out[q] = total


@njit
def relevance_sums(ranked, top, grades, indptr, rel, cutoff, reciprocals, out):
    """Five numbers per query about the rows with a grade of at least ``rel``.

    How many there are, how many of them are ranked within the cut-off (0: no cut-off), the sum
    of the precisions at those ranks, the reciprocal of the first of those ranks (0: none), and
    whether there is one. ``reciprocals[r]`` is 1 / (r + 1).
    """
    for q in range(len(indptr) - 1):
        n_relevant = 0
        query_grades = grades[indptr[q] : indptr[q + 1]]
        for i in range(len(query_grades)):
            n_relevant += query_grades[i] >= rel
        first_ranks = ranked[top[q] : top[q + 1]]
        n = len(first_ranks)
        if cutoff > 0:
            n = min(n, cutoff)
        hits = 0.0
        precisions = 0.0
        first = n
        # Backwards and without a way out early: the last one written is the first rank.
        for r in range(n - 1, -1, -1):
            if first_ranks[r] >= rel:
                first = r
        for r in range(n):  # without branches, because relevance is unpredictable
            hit = 1.0 if first_ranks[r] >= rel else 0.0
            hits += hit
            precisions += hit * hits * reciprocals[r]
        out[q, 0] = n_relevant
        out[q, 1] = hits
        out[q, 2] = precisions
        out[q, 3] = reciprocals[first] if first < n else 0.0
        out[q, 4] = 1.0 if first < n else 0.0


@njit
def average_normalised(ranked, ideal, indptr, table, discounts, out):
    """Mean over all ranks j of (sum to rank j) / (ideal sum to rank j), 0 where the latter is 0.

    NaN for a query without rows or without gain.
    """
    for q in range(len(indptr) - 1):
        lo = indptr[q]
        n = indptr[q + 1] - lo
        total = 0.0
        best = 0.0
        ratios = 0.0
        for r in range(n):
            gain = ranked[lo + r]
            most = ideal[lo + r]
            if len(table) > 0:
                gain = table[np.int64(gain)]
                most = table[np.int64(most)]
            total += gain * discounts[r]
            best += most * discounts[r]
            if best > 0.0:
                ratios += total / best
        out[q] = ratios / n if best > 0.0 else np.nan


@njit
def relevant_ranks(y, scores, indptr, rel, out):
    """Write four numbers per query about its rows with a label >= ``rel`` into ``out``.

    For each relevant row, let c be the number of rows, and r the number of relevant rows, whose
    score is at least as high. The four numbers are: the number of relevant rows, and over these the
    sum of r / c, the largest c and the sum of c - r. O(rows x relevant rows) per query.
    """
    for q in range(len(indptr) - 1):
        lo = indptr[q]
        size = indptr[q + 1] - lo
        query_scores = scores[lo : lo + size]
        labels = y[lo : lo + size]
        n_relevant = 0
        precisions = 0.0
        deepest = 0
        above = 0
        for i in range(size):
            if labels[i] >= rel:
                n_relevant += 1
                score = query_scores[i]
                c = 0
                r = 0
                # Comparisons are added as numbers: no branch, so the loop is vectorised.
                for j in range(size):
                    # Rows of equal score count as ranked above: ties are ranked last.
                    c += query_scores[j] >= score
                    r += (query_scores[j] >= score) & (labels[j] >= rel)
                precisions += r / c
                deepest = max(deepest, c)
                above += c - r
        out[q, 0] = n_relevant
        out[q, 1] = precisions
        out[q, 2] = deepest
        out[q, 3] = above


@njit
def err_costs(counts, stop, out):
    """Write the loss of expected reciprocal rank by query, true grade and predicted grade.

    ``counts`` (n_queries, n_grades), int64; ``stop`` (n_grades,) ascending, below 1; ``out``
    (n_queries, n_grades, n_grades) is written, zero for grades that the query lacks. A row ties
    with the rows of its predicted grade: the loss is the mean over its possible ranks among them.
    """
    n_queries, n_grades = counts.shape
    means = np.empty(n_grades)
    for q in range(n_queries):
        for y in range(n_grades):
            for k in range(n_grades):
                out[q, y, k] = 0.0
            if counts[q, y] == 0:
                continue
            value, passing, place = 0.0, 1.0, 1
            for k in range(n_grades - 1, -1, -1):
                # The list is that of the other rows: the row itself is taken out.
                others = counts[q, k] - (1 if k == y else 0)
                total = value
                for _ in range(others):
                    step = 1.0 / (place * (place + 1.0))
                    value -= passing * step * (stop[y] - stop[k])
                    passing *= 1.0 - stop[k]
                    place += 1
                    total += value
                means[k] = total / (others + 1)
            for k in range(n_grades):
                if k != y:
                    # The true grade is the best rank; a negative difference is rounding.
                    out[q, y, k] = max(means[y] - means[k], 0.0)
