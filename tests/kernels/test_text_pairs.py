"""Features of pairs of texts, each against its definition."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from rankwise.kernels.text_search import NAMES, pair_features
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex
from tests.text.corpus import random_corpus

PLAIN = Analyzer(stop_words=None, stemmer=None)
DOCUMENTS = {**random_corpus(2, n_words=12), "same": "w0 w3 w1", "one": "w5", "empty": ""}
QUERIES = {
    "a": "w0 w3 w1",
    "b": "w2 w2 w7",
    "c": "w5",
    "d": "w1 unknown w0 unknown",
    "e": "unknown",
    "f": "",
}
SETTINGS = {"k1": 0.9, "b": 0.4, "mu": 20.0, "lam": 0.3, "delta": 0.6, "near": 3}


def by_definition(text, query):
    texts = [document.split() for document in DOCUMENTS.values()]
    words, sequence = text.split(), query.split()
    terms = list(dict.fromkeys(sequence))
    n, m, N = len(words), len(terms), len(texts)
    every = [word for one in texts for word in one]
    total, mean = len(every), len(every) / N
    df = {t: sum(t in one for one in texts) for t in terms}
    cf = {t: every.count(t) for t in terms}
    known = [t for t in terms if df[t]]
    idf = dict.fromkeys(terms, 0.0)
    idf |= {t: math.log(N / sum(t in one for one in texts)) for t in set(every)}
    tf = {t: words.count(t) for t in terms}
    held = [t for t in known if tf[t]]
    row = dict.fromkeys(NAMES, 0.0)
    row["covered"], row["length"] = len(held), n
    row["covered_ratio"] = len(held) / m if m else 0
    row["all_covered"] = float(m > 0 and len(held) == m)
    for name, values in (
        ("tf", [tf[t] for t in terms]),
        ("ntf", [tf[t] / n if n else 0 for t in terms]),
        ("tfidf", [tf[t] * idf[t] for t in terms]),
    ):
        if values:
            row[f"{name}_sum"], row[f"{name}_mean"] = sum(values), np.mean(values)
            row[f"{name}_min"], row[f"{name}_max"] = min(values), max(values)
            row[f"{name}_var"] = np.var(values)
    row["log_tf_sum"] = sum(math.log(1 + tf[t]) for t in held)
    row["idf_sum"] = sum(idf[t] for t in held)
    row["icf_sum"] = sum(math.log(1 + total / cf[t]) for t in held)
    row["log_ntfidf_sum"] = sum(math.log(1 + tf[t] / n * idf[t]) for t in held)
    row["log_ntficf_sum"] = sum(math.log(1 + tf[t] / n * total / cf[t]) for t in held)
    of_query = {t: (1 + math.log(sequence.count(t))) * idf[t] for t in known}
    of_text = {t: (1 + math.log(words.count(t))) * idf[t] for t in set(words)}
    norms = math.hypot(*of_query.values()) * math.hypot(*of_text.values())
    if norms:
        row["cosine"] = sum(of_query[t] * of_text[t] for t in held) / norms
    k1, b, mu, lam, delta = (SETTINGS[name] for name in ("k1", "b", "mu", "lam", "delta"))
    for t in known:
        count, p = sequence.count(t), cf[t] / total
        ratio = (N - df[t] + 0.5) / (df[t] + 0.5)
        share = tf[t] / (tf[t] + k1 * (1 - b + b * n / mean)) if tf[t] else 0
        row["bm25"] += count * math.log(1 + ratio) * share
        row["lm_dirichlet"] += count * math.log((tf[t] + mu * p) / (n + mu))
        seen = tf[t] / n if n else 0
        row["lm_jelinek_mercer"] += count * math.log((1 - lam) * seen + lam * p)
        rest = delta * len(set(words)) / n * p if n else p
        row["lm_absolute"] += count * math.log((max(tf[t] - delta, 0) / n if n else 0) + rest)
    windows = [
        j - i
        for i in range(n)
        for j in range(i + 1, n + 1)
        if held and set(held) <= set(words[i:j])
    ]
    row["window"] = min(windows, default=n + 1)
    row["window_ratio"] = len(held) / min(windows) if windows else 0
    neighbours = set(pairwise(sequence))
    for i in range(n):
        for j in range(i + 1, min(n, i + SETTINGS["near"] + 1)):
            forwards, backwards = (words[i], words[j]), (words[j], words[i])
            row["ordered_pairs"] += j == i + 1 and forwards in neighbours
            row["unordered_pairs"] += forwards in neighbours or backwards in neighbours
    if sequence:
        size = len(sequence)
        row["phrase"] = sum(words[i : i + size] == sequence for i in range(n - size + 1))
        row["exact"] = float(words == sequence)
    return row


@pytest.mark.parametrize("query", QUERIES)
def test_every_feature(query):
    index = TextIndex(analyzer=PLAIN).add(DOCUMENTS)
    features = QueryDocumentFeatures(index, **SETTINGS)
    X = features.compute(QUERIES, [query] * len(DOCUMENTS), list(DOCUMENTS))
    assert callable(pair_features) and X.shape[1] == len(NAMES)
    for row, (name, text) in zip(X, DOCUMENTS.items(), strict=True):
        found = dict(zip(NAMES, row.tolist(), strict=True))
        assert found == pytest.approx(by_definition(text, QUERIES[query]), abs=1e-10), name
