"""Measures of fused runs, query by query."""

from __future__ import annotations

from collections.abc import Mapping

from rankwise import evaluate
from rankwise.datasets import Qrels, Run, judge


def measure_run(
    run: Run, qrels: Qrels, measures: Mapping[str, str], *, all_queries: bool = False
) -> dict[str, list[float]]:
    """The measures of every query by name, as trec_eval computes them, in the judgements' order.

    Queries that a run lacks count as 0 with ``all_queries``, and are left out without.
    """
    rows = judge(qrels, run, all_queries=all_queries)
    specs = list(measures.values())
    result = evaluate(rows, specs, preset="trec_eval")
    return {name: result.per_query[spec].tolist() for name, spec in measures.items()}
