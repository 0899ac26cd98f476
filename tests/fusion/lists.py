"""Random result lists, as mappings from query to document to score."""

from __future__ import annotations

import numpy as np


def random_lists(seed, *, n_queries=5, n_documents=30, n_systems=4, whole=False):
    """Lists of different lengths and scales without equal scores, one mapping per system."""
    rng = np.random.default_rng(seed)
    systems = {}
    for number in range(n_systems):
        lists = {}
        for query in range(n_queries):
            n = n_documents if whole else int(rng.integers(1, n_documents + 1))
            documents = rng.permutation(n_documents)[:n]
            scores = rng.normal(3 * number, 1.0 + number, n)
            lists[f"q{query}"] = {
                f"d{document}": float(score)
                for document, score in zip(documents, scores, strict=True)
            }
        systems[f"s{number}"] = lists
    return systems


def as_mapping(run):
    """A run as a mapping from query to document to score."""
    found: dict[str, dict[str, float]] = {}
    for query, document, score in zip(run.qid, run.doc_ids, run.scores, strict=True):
        found.setdefault(str(query), {})[str(document)] = float(score)
    return found
