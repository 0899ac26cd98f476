"""Means over queries, and tests of the reranked lists against BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import paired_test
from rankwise_papers.shared_tables import ABSENT

TITLES = {
    "vaswani": "Vaswani", "cranfield": "Cranfield", "cystic-fibrosis-text": "cystic fibrosis",
    "scifact": "SciFact, test", "nfcorpus": "NFCorpus, test",
}  # fmt: skip
RERANKERS = ("least squares", "RankSVM")
METHODS = ("BM25, 0.9, 0.4", "BM25", *RERANKERS)
# Anserini's regression page for a flat index: title and text are one field, as here.
PUBLISHED = {
    ("scifact", "BM25, 0.9, 0.4"): (0.6789, "Anserini, regressions-beir-v1.0.0-scifact-flat"),
}
TOLERANCE = 0.01


def make(results: Results, names: Sequence[str]) -> list[ResultTable]:
    """One table for each measure."""
    return [
        _table(results, names, "nDCG@10", "ndcg"),
        _table(results, names, "AP", "ap"),
    ]


def _table(results: Results, names: Sequence[str], measure: str, key: str) -> ResultTable:
    values = []
    for name in names:
        found = {method: results.get(f"{name}/{method}") for method in METHODS}
        for method, per_query in found.items():
            published: dict[str, Any] = {}
            if key == "ndcg" and (name, method) in PUBLISHED:
                paper, source = PUBLISHED[name, method]
                published = {"paper": paper, "source": source, "tolerance": TOLERANCE}
            if per_query is None:
                values.append(Value(TITLES[name], method, note=ABSENT, **published))
                continue
            array = np.array(per_query[measure], float)
            error = array.std(ddof=1) / np.sqrt(len(array))
            values.append(Value(TITLES[name], method, array.mean(), error, **published))
        plain = found["BM25"]
        for method in RERANKERS:
            learnt = found[method]
            if plain is not None and learnt is not None:
                p = paired_test(learnt[measure], plain[measure]).p_value
                values.append(Value(TITLES[name], f"p, {method}", p))
    return ResultTable(
        key,
        f"{measure} of BM25 and of its reranked lists",
        values,
        caption="p: two-sided paired t test against BM25 over the queries.",
        error_is="standard error over queries",
    )
