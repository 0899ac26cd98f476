"""A small random corpus of words of different frequency."""

from __future__ import annotations

import numpy as np


def random_corpus(seed, *, n_documents=60, n_words=40):
    """Texts by document id; a few are empty."""
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(n_words)]
    shares = 1 / np.arange(1, n_words + 1)
    documents = {}
    for number in range(n_documents):
        size = 0 if number % 13 == 5 else int(rng.integers(1, 30))
        documents[f"d{number}"] = " ".join(rng.choice(words, size, p=shares / shares.sum()))
    return documents


QUERIES = {"a": "w0 w3 w3 w17", "b": "w20", "c": "w1 w2 w39 unknown", "none": "unknown"}


def as_lists(run):
    """Score of every document, query by query, in the order of the run."""
    found: dict[str, dict[str, float]] = {}
    for query, document, score in zip(run.qid, run.doc_ids, run.scores, strict=True):
        found.setdefault(str(query), {})[str(document)] = float(score)
    return found
