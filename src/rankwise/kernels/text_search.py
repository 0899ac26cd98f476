"""Text search: documents with the largest sums of posting weights, features of pairs of texts."""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_keys, write_keys
from rankwise.runtime.jit import njit

# A query whose terms have at least one posting for this many documents is dense.
DENSE = 4
# Up to this k the best documents are kept in a heap, beyond it they are counted by score.
HEAP_UP_TO = 64
_BLOCK = 64
_BUCKETS = 1024
_UNTOUCHED = np.int64(-(2**63))  # the bits of -0.0


@njit
def search_postings(
    starts,
    documents,
    weights,
    n_documents,
    terms,
    factors,
    bounds,
    shift,
    scale,
    out_documents,
    out_scores,
):
    """Find the best ``k`` documents of every query, best first; returns how many each query has.

    The score of a document that holds a term of the query is
    ``(sum over its terms of factor * weight + shift) * scale``. Documents of equal score are in
    ascending order. O(postings of the terms + k log k) a query; if the terms have many postings,
    O(documents) is added: all documents are passed in their order instead of a list of matches.

    Postings of term t are ``starts[t]:starts[t + 1]``, with ``starts`` (n_terms + 1,), of
    ``documents``, int32, and ``weights``, float64, both (n_postings,). ``terms``, int64, and
    ``factors``, float64, are (n_query_terms,); query q has ``bounds[q]:bounds[q + 1]``, with
    ``bounds`` (n_queries + 1,). ``shift`` (n_queries, n_documents or 1) is added once per document;
    a single column applies to all documents. ``scale`` is (n_documents,) or (1,). Writes
    ``out_documents``, int64, and ``out_scores``, float64, both (n_queries, k).

    The sum of a document without a term is -0.0. No other sum is, because 0.0 is added to every
    product: so the bits tell documents with a sum of 0.0 from documents that were not found.
    """
    k = out_documents.shape[1]
    unsigned = documents.view(np.uint32)  # no test for negative indices
    sums = np.full(n_documents, -0.0)
    bits = sums.view(np.int64)
    found = np.empty(n_documents, dtype=np.int64)
    scores = np.empty(n_documents)
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    for q in range(len(bounds) - 1):
        n_postings = 0
        for place in range(bounds[q], bounds[q + 1]):
            n_postings += starts[terms[place] + 1] - starts[terms[place]]
        # Marking what is found costs a test per posting; past this share, a pass over all documents
        # is cheaper.
        is_dense = n_postings * DENSE > n_documents
        n_found = 0
        for place in range(bounds[q], bounds[q + 1]):
            factor = factors[place]
            postings = slice(starts[terms[place]], starts[terms[place] + 1])
            at, weight = unsigned[postings], weights[postings]
            if is_dense:
                for i in range(len(at)):
                    sums[at[i]] += factor * weight[i] + 0.0
                continue
            for i in range(len(at)):
                document = at[i]
                if bits[document] == _UNTOUCHED:
                    found[n_found] = document
                    n_found += 1
                sums[document] += factor * weight[i] + 0.0
        if is_dense:
            for document in range(n_documents):
                # Written for every document, kept for those that advance the counter: no branch.
                found[n_found] = document
                scores[n_found] = sums[document]
                n_found += bits[document] != _UNTOUCHED
            sums[:] = -0.0
        else:
            for i in range(n_found):
                scores[i] = sums[found[i]]
                sums[found[i]] = -0.0
        _finish(scores[:n_found], found, shift[q], scale)
        if k <= HEAP_UP_TO:
            counts[q] = _keep_best(scores[:n_found], found, out_documents[q], out_scores[q])
        else:
            counts[q] = _count_best(
                scores[:n_found], found, is_dense, out_documents[q], out_scores[q]
            )
    return counts


@njit
def _finish(scores, found, shift, scale):
    """Add the shift to the sums of the found documents, and multiply them by the scale."""
    if len(shift) == 1 and len(scale) == 1:
        for i in range(len(scores)):
            scores[i] = (scores[i] + shift[0]) * scale[0]
        return
    for i in range(len(scores)):
        score = scores[i] + (shift[found[i]] if len(shift) > 1 else shift[0])
        scores[i] = score * (scale[found[i]] if len(scale) > 1 else scale[0])


@njit
def _keep_best(scores, found, out_documents, out_scores):
    """Write the best documents through a heap; blocks without a score that enters are skipped."""
    k = len(out_scores)
    size = min(k, len(scores))
    for i in range(size):
        _push(out_documents, out_scores, i, found[i], scores[i])
    for start in range(size, len(scores), _BLOCK):
        block = scores[start : start + _BLOCK]
        least = out_scores[0]
        entering = 0
        for i in range(len(block)):
            # Without a branch, so vectorised: most blocks of a long list hold no candidate.
            entering += block[i] >= least
        if entering == 0:
            continue
        for i in range(len(block)):
            document, score = found[start + i], block[i]
            if score >= out_scores[0] and _is_worse(
                out_scores[0], out_documents[0], score, document
            ):
                _replace(out_documents, out_scores, size, document, score)
    # The worst goes to the end of what is left, until the heap is sorted, best first.
    for left in range(size - 1, 0, -1):
        document, score = out_documents[left], out_scores[left]
        out_documents[left], out_scores[left] = out_documents[0], out_scores[0]
        _replace(out_documents, out_scores, left, document, score)
    return size


@njit
def _count_best(scores, found, is_ascending, out_documents, out_scores):
    """Write the best documents: a histogram of the scores excludes most, the rest are sorted."""
    size = min(len(out_scores), len(scores))
    if size == 0:
        return 0
    low, high = scores[0], scores[0]
    for i in range(len(scores)):
        low, high = min(low, scores[i]), max(high, scores[i])
    # Equal scores, or an infinite range, all go to the first part and are all sorted.
    per_score = (_BUCKETS - 1) / (high - low) if 0.0 < high - low < np.inf else 0.0
    buckets = np.zeros(_BUCKETS, dtype=np.int64)
    for i in range(len(scores)):
        buckets[_bucket(scores[i], low, per_score)] += 1
    least, n_kept = np.int64(_BUCKETS - 1), buckets[_BUCKETS - 1]
    while n_kept < size:
        least -= 1
        n_kept += buckets[least]
    kept, document = np.empty(n_kept), np.empty(n_kept, dtype=np.uint64)
    place = 0
    for i in range(len(scores)):
        if _bucket(scores[i], low, per_score) >= least:
            kept[place], document[place] = scores[i], found[i]
            place += 1
    histogram = np.empty((8, 256), dtype=np.int64)
    # Stable sorts: by document first, so that equal scores end in the order of documents.
    if not is_ascending:
        by_document = _sorted_places(document, histogram)
        kept, document = kept[by_document], document[by_document]
    key = np.empty(n_kept, dtype=np.uint64)
    write_keys(kept, 0, key)
    best = _sorted_places(~key, histogram)
    for place in range(size):
        out_documents[place], out_scores[place] = document[best[place]], kept[best[place]]
    return size


@njit
def _bucket(score, low, per_score):
    """Number of the score's part of the range of scores; 0 for NaN."""
    part = (score - low) * per_score
    part = part if part > 0.0 else 0.0
    return np.int64(part if part < _BUCKETS - 1 else _BUCKETS - 1)


@njit
def _sorted_places(key, histogram):
    """Places of the keys in ascending order of the keys; equal keys keep their order."""
    place, other_place = np.empty_like(key), np.empty_like(key)
    for i in range(len(key)):
        place[i] = i
    other_key = np.empty_like(key)
    return sort_keys(key.copy(), place, other_key, other_place, histogram)[1]


@njit
def _is_worse(score, document, other_score, other_document):
    """Whether the first document ranks after the second."""
    return score < other_score or (score == other_score and document > other_document)


@njit
def _push(documents, scores, size, document, score):
    """Add to a heap whose root is the worst."""
    child = size
    while child > 0:
        parent = (child - 1) // 2
        if not _is_worse(score, document, scores[parent], documents[parent]):
            break
        documents[child], scores[child] = documents[parent], scores[parent]
        child = parent
    documents[child], scores[child] = document, score


@njit
def _replace(documents, scores, size, document, score):
    """Replace the worst document of the heap by a better one."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and _is_worse(
            scores[child + 1], documents[child + 1], scores[child], documents[child]
        ):
            child += 1
        if not _is_worse(scores[child], documents[child], score, document):
            break
        documents[parent], scores[parent] = documents[child], scores[child]
        parent = child
    documents[parent], scores[parent] = document, score


# Numbers of a row of :func:`pair_features`, in their order.
NAMES = (
    "covered", "covered_ratio", "all_covered", "length",
    "tf_sum", "tf_min", "tf_max", "tf_mean", "tf_var",
    "ntf_sum", "ntf_min", "ntf_max", "ntf_mean", "ntf_var",
    "tfidf_sum", "tfidf_min", "tfidf_max", "tfidf_mean", "tfidf_var",
    "log_tf_sum", "idf_sum", "icf_sum", "log_ntfidf_sum", "log_ntficf_sum",
    "cosine", "bm25", "lm_dirichlet", "lm_jelinek_mercer", "lm_absolute",
    "window", "window_ratio", "ordered_pairs", "unordered_pairs", "phrase", "exact",
)  # fmt: skip


@njit
def pair_features(
    tokens, bounds, distinct, inverse_norm, idf, df, cf, n_tokens, mean_length, query_tokens,
    query_bounds, query_terms, term_bounds, query_of, document_of, settings, near, out,
):  # fmt: skip
    """Write the features :data:`NAMES` of every pair to its row of ``out`` (n_pairs, len(NAMES)).

    O(l m) per pair, for l terms of the document and m of the query.

    Terms of document d are ``tokens[bounds[d]:bounds[d + 1]]``; ``distinct`` (n_documents,), int64,
    is the number of different ones and ``inverse_norm`` (n_documents,) 1 / norm of
    ``(1 + ln tf) idf``. ``idf``, ``df`` and ``cf`` (n_terms,), float64, are ``ln(N / df)`` and the
    number of documents and of occurrences of each term. ``query_tokens`` and ``query_bounds``,
    int64, are the terms of query q in order, ``query_terms`` and ``term_bounds`` its distinct
    terms; -1 for a term that no document has.

    ``query_of`` and ``document_of`` are (n_pairs,), int64. ``settings`` (5,) are k1 and b of BM25,
    mu, lambda and delta. ``near`` is the largest distance at which two adjacent query terms count
    as an unordered pair.
    """
    k1, b, mu, lam, delta = settings[0], settings[1], settings[2], settings[3], settings[4]
    n_documents, longest, most = len(bounds) - 1, 1, 1
    for q in range(len(query_bounds) - 1):
        most = max(most, term_bounds[q + 1] - term_bounds[q])
    for pair in range(len(document_of)):
        longest = max(longest, bounds[document_of[pair] + 1] - bounds[document_of[pair]])
    tf, seen = np.zeros(most), np.zeros(most, dtype=np.int64)
    places, which = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    statistics = np.empty(5)
    for pair in range(len(document_of)):
        q, d = query_of[pair], document_of[pair]
        words = tokens[bounds[d] : bounds[d + 1]]
        terms = query_terms[term_bounds[q] : term_bounds[q + 1]]
        sequence = query_tokens[query_bounds[q] : query_bounds[q + 1]]
        n, m, row = len(words), len(terms), out[pair]
        row[:] = 0.0
        tf[:m] = 0.0
        n_matches = 0
        # Matches in the order of their places: the windows and pairs below need nothing sorted.
        for place in range(n):
            for term in range(m):
                if words[place] == terms[term]:
                    tf[term] += 1.0
                    places[n_matches], which[n_matches] = place, term
                    n_matches += 1
                    break
        covered = 0
        for term in range(m):
            covered += tf[term] > 0
        row[0] = covered
        # Numbers of `row` are those of NAMES, in that order.
        row[1] = covered / m if m > 0 else 0.0
        row[2] = 1.0 if m > 0 and covered == m else 0.0
        row[3] = n
        for kind in range(3):
            _statistics(tf, terms, idf, n, m, kind, statistics)
            row[4 + 5 * kind : 9 + 5 * kind] = statistics
        dot, norm = 0.0, 0.0
        for term in range(m):
            t = terms[term]
            # No document has the term: its idf is infinite, and its probability 0.
            if t < 0:
                continue
            count = 0.0
            for place in range(len(sequence)):
                count += sequence[place] == t
            of_query = (1.0 + np.log(count)) * idf[t]
            norm += of_query * of_query
            p = cf[t] / n_tokens if n_tokens > 0 else 0.0
            f = tf[term]
            if f > 0:
                row[19] += np.log(1.0 + f)
                row[20] += idf[t]
                row[21] += np.log(1.0 + n_tokens / cf[t])
                row[22] += np.log(1.0 + f / n * idf[t])
                row[23] += np.log(1.0 + f / n * n_tokens / cf[t])
                dot += of_query * (1.0 + np.log(f)) * idf[t]
                # 1 + inside the logarithm: terms of more than half the documents do not count
                # negative.
                rarity = np.log(1.0 + (n_documents - df[t] + 0.5) / (df[t] + 0.5))
                row[25] += count * rarity * f / (f + k1 * (1.0 - b + b * n / mean_length))
            if p > 0.0:
                row[26] += count * np.log((f + mu * p) / (n + mu))
                if n > 0:
                    row[27] += count * np.log((1.0 - lam) * f / n + lam * p)
                    kept = max(f - delta, 0.0) / n
                    row[28] += count * np.log(kept + delta * distinct[d] / n * p)
                else:
                    # An empty document: only the collection's probability is left.
                    row[27] += count * np.log(lam * p)
                    row[28] += count * np.log(p)
        if norm > 0:
            row[24] = dot * inverse_norm[d] / np.sqrt(norm)
        window = _smallest_window(places, which, n_matches, covered, m, seen)
        # No covered term: longer than any window.
        row[29] = window if window > 0 else n + 1
        row[30] = covered / window if window > 0 else 0.0
        for place in range(n_matches):
            for other in range(place + 1, n_matches):
                distance = places[other] - places[place]
                # Places ascend: no later match is nearer.
                if distance > near:
                    break
                a, z = terms[which[place]], terms[which[other]]
                forwards, backwards = _are_neighbours(sequence, a, z)
                if forwards and distance == 1:
                    row[31] += 1.0
                if forwards or backwards:
                    row[32] += 1.0
        size = len(sequence)
        if size > 0:
            for start in range(n - size + 1):
                same = True
                for place in range(size):
                    if words[start + place] != sequence[place]:
                        same = False
                        break
                if same:
                    row[33] += 1.0
        row[34] = 1.0 if size > 0 and row[33] > 0 and n == size else 0.0


@njit
def _statistics(tf, terms, idf, n, m, kind, out):
    """Write sum, minimum, maximum, mean and variance of tf, tf / length or tf idf over terms."""
    out[:] = 0.0
    if m == 0:
        return
    out[1], out[2] = np.inf, -np.inf
    squares = 0.0
    for term in range(m):
        value = tf[term]
        if kind == 1:
            value = value / n if n > 0 else 0.0
        elif kind == 2:
            value = value * idf[terms[term]] if terms[term] >= 0 else 0.0
        out[0] += value
        out[1] = min(out[1], value)
        out[2] = max(out[2], value)
        squares += value * value
    out[3] = out[0] / m
    # Equal values may give less than 0 by rounding.
    out[4] = max(squares / m - out[3] * out[3], 0.0)


@njit
def _smallest_window(places, which, n_matches, covered, m, seen):
    """Length of the smallest window with all covered terms; 0 if there are none."""
    seen[:m] = 0
    best, held, left = 0, 0, 0
    for right in range(n_matches):
        seen[which[right]] += 1
        held += seen[which[right]] == 1
        while held == covered:
            length = places[right] - places[left] + 1
            if best == 0 or length < best:
                best = length
            # The window is complete: shrink it from the left until a term is missing.
            seen[which[left]] -= 1
            held -= seen[which[left]] == 0
            left += 1
    return best


@njit
def _are_neighbours(sequence, a, z):
    """Whether z follows a in the query, and whether a follows z."""
    forwards, backwards = False, False
    for place in range(len(sequence) - 1):
        if sequence[place] == a and sequence[place + 1] == z:
            forwards = True
        if sequence[place] == z and sequence[place + 1] == a:
            backwards = True
    return forwards, backwards
