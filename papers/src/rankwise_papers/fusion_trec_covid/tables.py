"""NIST's scores beside ours, and the effectiveness of fusion in both rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise_papers.fusion_tables import best, effectiveness
from rankwise_papers.shared_tables import ABSENT

RULES = ("rrf", "sum", "mnz", "borda", "condorcet", "isr", "rbc")
LEARNT = ("reciprocal ranks, weights >= 0", "setting chosen inside the folds")
# NIST rounds to four digits.
TOLERANCE = 5e-5 + 1e-9
TITLES = {
    "nDCG@20": "nDCG@20", "P@20": "P@20", "RBP": "RBP, p = 0.5", "bpref": "bpref", "AP": "AP",
}  # fmt: skip
MEASURES = ("nDCG@20", "P@20", "AP")


def make(results: Results, published: Sequence[Mapping[str, str]]) -> list[ResultTable]:
    """NIST's table, one for each round, and what the team of round 4 submitted."""
    return [
        _nist(results, [row for row in published if row["round"] == "5"]),
        _round(results, 5),
        _round(results, 4),
        _submitted([row for row in published if row["round"] == "4"]),
    ]


def _nist(results: Results, published: Sequence[Mapping[str, str]]) -> ResultTable:
    runs, values = results.get("5/runs"), []
    for row in published:
        for measure, title in TITLES.items():
            paper = {"paper": float(row[measure]), "source": "NIST, round 5"}
            paper |= {"tolerance": TOLERANCE, "larger_is_better": None}
            if runs is None:
                values.append(Value(row["run"], title, note=ABSENT, **paper))
            else:
                ours = float(np.mean(runs[row["run"]][measure]))
                values.append(Value(row["run"], title, ours, **paper))
    return ResultTable(
        "nist",
        "Scores of three runs of round 5",
        values,
        caption="Tolerance: NIST's rounding to four digits.",
    )


def _round(results: Results, number: int) -> ResultTable:
    found = results.get(f"{number}/runs")
    singles = {f"run {name}": run for name, run in (found or {}).items()}
    rules = {f"rule {rule}": results.get(f"{number}/rule/{rule}") for rule in RULES}
    learnt = {f"learnt, {name}": results.get(f"{number}/learnt/{name}") for name in LEARNT}
    against = {"p against rrf": "rule rrf", "p against the best run": best(singles, "nDCG@20")}
    values = effectiveness({**singles, **rules, **learnt}, MEASURES, against)
    return ResultTable(
        f"round{number}",
        f"Fusion of the runs of round {number}",
        values,
        caption=(
            "p: two-sided paired t test of nDCG@20 over the topics, corrected by Holm's method "
            "within the column. The best run is chosen on the same topics."
        ),
        error_is="standard error over topics",
    )


def _submitted(published: Sequence[Mapping[str, str]]) -> ResultTable:
    return ResultTable(
        "submitted",
        "NIST's scores of what the team of round 4 submitted",
        [
            Value(row["run"], measure, float(row[measure]))
            for row in published
            for measure in MEASURES
        ],
        caption="By their names fusions of the team's own runs; for comparison only.",
    )
