"""Features of query-document pairs, computed from both term sequences."""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

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
