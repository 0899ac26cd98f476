"""Agreement of rankings: ties, inversions and gaps, majority votes, and lists with tied rows.

Rows in lexicographic order of (score, label) have one strict inversion of labels for every
misordered pair (Knight 1966, JASA 61:436-439); a Fenwick tree over the distinct labels counts them
and sums their label differences. A query of m rows with K distinct labels costs O(m log K) time
and O(m) memory.

Rows are in group order: query ``q`` holds ``indptr[q]:indptr[q + 1]``. Labels and scores are
float64 without NaN. Counts are exact, and so are the sums if labels are integers.

Majority votes of several ranked lists are not transitive, so the result depends on the sorting
algorithm. Merge sort is stable, and any two neighbours of its result were compared directly or keep
their initial order.

Where rows are tied, values of ranked lists are means over all orders. Rows of equal score fill a
block of ranks. Averaged over all orders of the block, the gain at each of its ranks is the block's
mean gain; measures that are not linear in the gains need the joint distribution of the rows before
a rank, which is hypergeometric. All values are exact sums, not simulations, and equal the plain
sums where no rows are tied.

``order`` holds row numbers (float64, exact) by descending score: query q has
``order[top[q]:top[q + 1]]``, possibly only its first rows. The block at the end of an incomplete
list is completed by a scan of the query. Rows of score minus infinity were not retrieved: they have
no rank.

Inferred precisions are summed over judged relevant rows. A row is of a kind: relevant, otherwise
judged, pooled without a judgement, outside of the pool, or not retrieved. Below k rows of the
ranking, r of them relevant, n otherwise judged and u pooled without a judgement, the inferred
precision of a relevant row is

    1 / (k + 1) + (r + n + u) / (k + 1) · (r + ε) / (r + n + 2 ε).

Averaged over the orders of a block of tied rows, it needs the joint distribution of r, n and u
among the first rows of the block. Given the number of judged ones, r and u are independent and
enter linearly, so their hypergeometric means suffice: O(t²) for t tied rows, and O(1) for a row
without ties.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import SIGN, sort_keys, write_keys
from rankwise.runtime.jit import njit


@njit
def _longest(indptr):
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    return longest


@njit
def compare_pairs(y, f, indptr, counts, sums):
    """Compare the pairs of each query by label and by score.

    ``counts[q]`` becomes (pairs tied in y, pairs tied in f, pairs tied in both, misordered pairs:
    y_i > y_j and f_i < f_j), ``sums[q]`` the sum of |y_i - y_j| over the misordered pairs and over
    the pairs tied in f.
    """
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    bits = np.empty(longest, np.uint64)
    label = bits.view(np.float64)  # distinct labels of the query, ascending
    n_above, sum_above = np.empty(longest + 1, np.int64), np.empty(longest + 1)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        tied_y, tied_f, tied_both, misordered = 0, 0, 0, 0
        sum_misordered, sum_tied = 0.0, 0.0
        write_keys(y, start, key_0[:m])
        write_keys(f, start, value_0[:m])
        y_key, f_key, free_0, free_1 = sort_keys(
            key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram
        )

        # Rows are sorted by label: number the distinct labels from 0.
        n_distinct, n_tied, last = 0, 0, np.uint64(0)
        for i in range(m):
            k = y_key[i]
            if i > 0 and k == last:
                n_tied += 1
                tied_y += n_tied
            else:
                bits[n_distinct] = k ^ SIGN if k & SIGN else ~k
                n_distinct += 1
                n_tied = 0
            last = k
            y_key[i] = n_distinct - 1
        # Sum differences from a middle label, so that a common offset loses no digits.
        base = label[y_key[m // 2]] if m > 0 else 0.0
        f_key, rank, free_0, free_1 = sort_keys(f_key, y_key, free_1, free_0, histogram)

        # Go through ascending scores; the tree holds the labels seen, the highest one first.
        for k in range(n_distinct + 1):
            n_above[k], sum_above[k] = 0, 0.0
        n_tied, n_both, below = 0, 0, 0.0
        for i in range(m):
            r = np.int64(rank[i])
            if i > 0 and f_key[i] == f_key[i - 1]:
                n_tied += 1
                n_both = n_both + 1 if rank[i] == rank[i - 1] else 0
                below += n_tied * (label[r] - label[np.int64(rank[i - 1])])
                tied_f += n_tied
                tied_both += n_both
                sum_tied += below
            else:
                n_tied, n_both, below = 0, 0, 0.0
            value = label[r] - base
            n, total = 0, 0.0
            place = n_distinct - r - 1
            while place > 0:
                n += n_above[place]
                total += sum_above[place]
                place &= place - 1
            misordered += n
            sum_misordered += total - n * value
            place = n_distinct - r
            while place <= n_distinct:
                n_above[place] += 1
                sum_above[place] += value
                place += place & -place
        counts[q, 0], counts[q, 1] = tied_y, tied_f
        counts[q, 2], counts[q, 3] = tied_both, misordered
        sums[q, 0], sums[q, 1] = sum_misordered, sum_tied


@njit
def multiply_ranks(y, f, indptr, products):
    """``products[q]`` becomes (y·y, y·f, f·f) of the centred average ranks, doubled."""
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        write_keys(y, start, key_0[:m])
        write_keys(f, start, value_0[:m])
        key, other, free_0, free_1 = sort_keys(
            key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram
        )
        yy, yf, ff = 0.0, 0.0, 0.0
        begin = 0
        while begin < m:
            end = begin + 1
            while end < m and key[end] == key[begin]:
                end += 1
            rank = begin + end - m  # twice (mean position - middle)
            yy += (end - begin) * float(rank) ** 2
            for i in range(begin, end):
                key[i] = begin + end  # not negative, so it can be stored as an unsigned value
            begin = end
        key, other, free_0, free_1 = sort_keys(other, key, free_1, free_0, histogram)
        begin = 0
        while begin < m:
            total = 0.0
            end = begin
            while end < m and key[end] == key[begin]:
                total += np.int64(other[end]) - m
                end += 1
            rank = begin + end - m
            ff += (end - begin) * float(rank) ** 2
            yf += rank * total
            begin = end
        products[q, 0], products[q, 1], products[q, 2] = yy, yf, ff


@njit
def mean_absolute_gaps(x, indptr, out):
    """``out[q]`` becomes the mean of |x_i - x_j| over all m² ordered pairs of the query."""
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        write_keys(x, start, key_0[:m])
        for i in range(m):
            value_0[i] = i
        row = sort_keys(key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram)[1]
        # Each gap between neighbours counts in (i + 1)(m - i - 1) pairs; all terms are >= 0.
        total = 0.0
        for i in range(m - 1):
            gap = x[start + np.int64(row[i + 1])] - x[start + np.int64(row[i])]
            total += gap * ((i + 1) * (m - i - 1))
        out[q] = 2.0 * total / (float(m) * m) if m > 0 else 0.0


# Share of all weights above which a difference of votes is a majority: below it is rounding, whose
# sign depends on the order of the lists.
LEAST_LEAD = 1e-12


@njit
def sort_by_majority(order, indptr, ranks, weight):
    """Sort the rows of every query so that no row is beaten by its successor.

    A list votes for the row that it ranks higher, and for a row that it ranks against one that it
    does not contain. A list that contains neither row, or gives both one rank, does not vote. A row
    beats another when the weights of the votes for it are larger. O(m n log n) for a query of n
    rows and m lists.

    ``order`` (n_rows,), int64, holds the rows of each query and is sorted in place; neighbours in
    the initial order are merged first. ``ranks`` (n_rows, n_lists), float64, count from 1; 0 if the
    list does not contain the row. ``indptr`` is (n_queries + 1,) and ``weight`` (n_lists,),
    float64.
    """
    spare = np.empty_like(order)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        width = 1
        while width < end - start:
            for left in range(start, end, 2 * width):
                middle = min(left + width, end)
                stop = min(left + 2 * width, end)
                i, j = left, middle
                for k in range(left, stop):
                    if i < middle and (j >= stop or not _beats(ranks, weight, order[j], order[i])):
                        spare[k] = order[i]
                        i += 1
                    else:
                        spare[k] = order[j]
                        j += 1
            order[start:end] = spare[start:end]
            width *= 2


@njit
def _beats(ranks, weight, a, b):
    """Whether the votes for row ``a`` against row ``b`` outweigh those for ``b``."""
    lead, total = 0.0, 0.0
    for k in range(len(weight)):
        r, s = ranks[a, k], ranks[b, k]
        total += weight[k]
        if r > 0 and (s == 0 or r < s):
            lead += weight[k]
        elif s > 0 and (r == 0 or s < r):
            lead -= weight[k]
    return lead > LEAST_LEAD * total


@njit
def mean_tied_values(order, top, scores, values, table, indptr, out):
    """Write the ranked values into ``out``, each replaced by the mean over the rows tied with it.

    The value of a row is ``table[values[row]]`` if a table is given. Rows that were not retrieved
    get 0.
    """
    for q in range(len(indptr) - 1):
        rows = order[top[q] : top[q + 1]]
        lo = indptr[q]
        size = indptr[q + 1] - lo
        n = len(rows)
        start = 0
        while start < n:
            row = np.int64(rows[start])
            score = scores[row]
            first = table[np.int64(values[row])] if len(table) > 0 else values[row]
            end = start + 1
            # Differences from the first value: the mean of equal values is exactly that value.
            more = 0.0
            while end < n:
                row = np.int64(rows[end])
                if scores[row] != score:
                    break
                value = table[np.int64(values[row])] if len(table) > 0 else values[row]
                more += value - first
                end += 1
            count = end - start
            # The list may end inside the block, whose other rows are found in the whole query.
            if end == n and n < size:
                count = 0
                more = 0.0
                for row in range(lo, lo + size):
                    if scores[row] == score:
                        value = table[np.int64(values[row])] if len(table) > 0 else values[row]
                        more += value - first
                        count += 1
            mean = 0.0 if score == -np.inf else first + more / count
            for r in range(start, end):
                out[top[q] + r] = mean
            start = end


@njit
def expect_relevance_sums(order, top, scores, grades, indptr, rel, cutoff, reciprocals, out):
    """Five expectations per query about the rows with a grade of at least ``rel``.

    Their number (no expectation); how many are ranked within the cut-off (0: no cut-off); the sum
    of the precisions at those ranks; the reciprocal of the first of those ranks (0: none); the
    probability that there is one.
    """
    for q in range(len(indptr) - 1):
        rows = order[top[q] : top[q + 1]]
        lo = indptr[q]
        size = indptr[q + 1] - lo
        n_relevant = 0
        for row in range(lo, lo + size):
            n_relevant += grades[row] >= rel
        n = len(rows)
        limit = n if cutoff == 0 else min(n, cutoff)
        hits = 0.0
        precisions = 0.0
        first = 0.0
        found = 0.0
        start = 0
        while start < limit:
            row = np.int64(rows[start])
            score = scores[row]
            # Not retrieved, like all rows after it.
            if score == -np.inf:
                break
            count = 1
            relevant = 1 if grades[row] >= rel else 0
            while start + count < n:
                row = np.int64(rows[start + count])
                if scores[row] != score:
                    break
                relevant += 1 if grades[row] >= rel else 0
                count += 1
            if start + count == n and n < size:
                count = 0
                relevant = 0
                for row in range(lo, lo + size):
                    if scores[row] == score:
                        relevant += 1 if grades[row] >= rel else 0
                        count += 1
            within = min(count, limit - start)
            if relevant > 0:
                # Given a relevant row at a rank of the block, each of the other relevant rows is
                # at any of the remaining ranks equally often.
                before = (relevant - 1) / (count - 1) if count > 1 else 0.0
                share = relevant / count
                for r in range(within):
                    # Hits before the block, the row itself, and the expected ones between.
                    precisions += share * (hits + 1.0 + r * before) * reciprocals[start + r]
                if found == 0.0:
                    none = 1.0
                    for r in range(within):
                        # Drawn without replacement: no relevant row so far, then one at this rank.
                        first += none * (relevant / (count - r)) * reciprocals[start + r]
                        none *= (count - r - relevant) / (count - r)
                        if none <= 0.0:
                            break
                    found = 1.0 if within == count else 1.0 - none
                # Whole blocks add whole numbers, without rounding.
                hits += float(relevant) if within == count else relevant * (within / count)
            start += count
        out[q, 0] = n_relevant
        out[q, 1] = hits
        out[q, 2] = precisions
        out[q, 3] = first
        out[q, 4] = found


@njit
def expect_stops(order, top, scores, values, table, indptr, cutoff, reciprocals, out):
    """Expected sum over ranks r of P(the reader stops at r) / r, over all orders of tied rows.

    The reader stops at a row with probability ``table[values[row]]``, or ``values[row]`` without a
    table. The probability of passing i rows of a block is the mean product over its subsets of i
    rows, an elementary symmetric mean. Rows that stop nobody only delay the others; how many of
    the others come first is hypergeometric. O(ranks x L) for a block, where L is the smaller of
    its stopping rows and the number of them that stop a reader almost surely.
    """
    for q in range(len(indptr) - 1):
        rows = order[top[q] : top[q + 1]]
        lo = indptr[q]
        size = indptr[q + 1] - lo
        n = len(rows)
        limit = n if cutoff == 0 else min(n, cutoff)
        total = 0.0
        reached = 1.0
        start = 0
        while start < limit:
            row = np.int64(rows[start])
            score = scores[row]
            if score == -np.inf:
                break
            end = start + 1
            while end < n and scores[np.int64(rows[end])] == score:
                end += 1
            # A row of its own: the usual case, without the distribution below.
            if end - start == 1 and (end < n or n == size):
                stop = table[np.int64(values[row])] if len(table) > 0 else values[row]
                total += reached * stop * reciprocals[start]
                reached *= 1.0 - stop
                start = end
                continue
            # The stopping rows of the block.
            count = 0
            passing = np.empty(size, np.float64)
            n_stopping = 0
            easiest = 0.0
            for row in range(lo, lo + size):
                if scores[row] == score:
                    count += 1
                    stop = table[np.int64(values[row])] if len(table) > 0 else values[row]
                    if stop > 0.0:
                        passing[n_stopping] = 1.0 - stop
                        easiest = max(easiest, 1.0 - stop)
                        n_stopping += 1
            within = min(count, limit - start)
            if n_stopping == 0:
                start += count
                continue
            length = min(n_stopping, within)
            if easiest < 1.0:
                # Nobody passes more rows than this with a probability that a double could add.
                length = min(length, 2 + int(-42.0 / np.log(max(easiest, 1e-18))))
            means = np.zeros(length + 2)
            means[0] = 1.0
            for m in range(1, n_stopping + 1):
                # Downwards, because each mean needs the previous one of one row fewer.
                for j in range(min(m, length), 0, -1):
                    pass_one = passing[m - 1] * means[j - 1]
                    means[j] = ((m - j) / m) * means[j] + (j / m) * pass_one
            came = np.zeros(length + 2)
            came[0] = 1.0
            for r in range(within):
                stops = 0.0
                left = count - r
                fewest = max(0, r - (count - n_stopping))
                for i in range(min(r, length), fewest - 1, -1):
                    chance = (n_stopping - i) / left
                    stops += came[i] * chance * (means[i] - means[i + 1])
                    # The row at this rank is a stopping one with this chance: i of them came, now i
                    # + 1.
                    came[i + 1] += came[i] * chance
                    came[i] *= 1.0 - chance
                came[length + 1] = 0.0
                total += reached * stops * reciprocals[start + r]
            for i in range(n_stopping):
                reached *= passing[i]
            start += count
        out[q] = total


RELEVANT, OTHER, POOLED, OUTSIDE, MISSING = 3.0, 2.0, 1.0, 0.0, -1.0
# trec_eval's smoothing of the share of relevant rows among the judged ones.
EPSILON = 1e-5


@njit
def add_inferred_precisions(kinds, starts, indptr, out):
    """Write the sum of the inferred precisions of each query into ``out``.

    ``kinds`` holds the kinds of the rows by descending score, ``starts`` the starts of the blocks
    of tied rows (the number of rows at the end), each within one query.
    """
    block = 0
    for q in range(len(indptr) - 1):
        total = 0.0
        above = np.zeros(4)
        while starts[block] < indptr[q + 1]:
            start, stop = starts[block], starts[block + 1]
            block += 1
            inside = np.zeros(4)
            for row in range(start, stop):
                if kinds[row] >= 0:
                    inside[np.int64(kinds[row])] += 1
            if inside[3] > 0:
                total += inside[3] * _expect_precision(above, inside)
            above += inside
        out[q] = total


@njit
def _expect_precision(above, inside):
    """Expected inferred precision of one relevant row of a block; counts are by kind."""
    n_above = above[0] + above[1] + above[2] + above[3]
    in_pool = above[1] + above[2] + above[3]
    n_judged = np.int64(inside[3] - 1 + inside[2])
    n_others = np.int64(n_judged + inside[1] + inside[0])
    relevant_share = (inside[3] - 1) / max(n_judged, 1)
    pool_share = inside[1] / max(inside[0] + inside[1], 1.0)
    # chance[s]: s of the first p other rows of the block are judged.
    chance = np.zeros(n_judged + 1)
    chance[0] = 1.0
    total = 0.0
    for p in range(n_others + 1):
        mean = 0.0
        for s in range(min(p, n_judged) + 1):
            pooled = in_pool + s + (p - s) * pool_share
            relevant = above[3] + s * relevant_share
            judged = above[3] + above[2] + s
            mean += chance[s] * pooled * (relevant + EPSILON) / (judged + 2 * EPSILON)
        total += (1.0 + mean) / (n_above + p + 1.0)
        left = n_others - p
        if left == 0:
            break
        for s in range(min(p + 1, n_judged), -1, -1):
            unjudged_left = max(n_others - n_judged - (p - s), 0)
            stay = chance[s] * unjudged_left / left
            chance[s] = stay
            if s > 0:
                chance[s] += chance[s - 1] * (n_judged - s + 1) / left
    return total / (n_others + 1)
