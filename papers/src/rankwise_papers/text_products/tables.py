"""Means over queries, and tests against BM25."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import paired_test
from rankwise_papers.shared_tables import ABSENT

FOLDS = range(1, 6)
METHODS = ("BM25", "ridge", "LambdaMART")
TITLES = {"home-depot": "Home Depot, titles", "crowdflower": "CrowdFlower, titles and descriptions"}
COLUMNS: dict[str, dict[str, Any]] = {
    "home-depot": {
        "query": "search_term", "document": "product_uid", "grade": "relevance",
        "fields": {"title": "product_title"},
    },
    "crowdflower": {
        "query": "query", "document": "id", "grade": "median_relevance",
        "fields": {"title": "product_title", "description": "product_description"},
    },
}  # fmt: skip


def make(results: Results) -> list[ResultTable]:
    """One table: both sets, all methods."""
    values = []
    for name, title in TITLES.items():
        found = {method: results.get(f"{name}/{method}") for method in METHODS}
        for method, per_query in found.items():
            if per_query is None:
                values.append(Value(title, method, note=ABSENT))
                continue
            error = np.std(per_query, ddof=1) / np.sqrt(len(per_query))
            values.append(Value(title, method, float(np.mean(per_query)), float(error)))
        for method in METHODS[1:]:
            if found[method] is not None and found["BM25"] is not None:
                p = paired_test(list(found[method] or ()), list(found["BM25"] or ())).p_value
                values.append(Value(title, f"p, {method}", p))
    return [
        ResultTable(
            "ndcg",
            "nDCG@10 of rated products, five folds over queries",
            values,
            caption="p: two-sided paired t test against BM25 over the queries.",
            error_is="standard error over queries",
        )
    ]
