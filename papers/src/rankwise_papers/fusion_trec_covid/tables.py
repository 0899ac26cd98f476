"""NIST's scores beside ours, and the effectiveness of fusion in both rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.experiments import Results, Table, Value
from rankwise_papers.fusion_tables import best, effectiveness, mean
from rankwise_papers.shared_tables import ABSENT

RULES = ("rrf", "sum", "mnz", "borda", "condorcet", "isr", "rbc")
LEARNT = ("reciprocal ranks, weights >= 0", "setting chosen inside the folds")
# NIST rounds to four digits.
TOLERANCE = 5e-5 + 1e-9
TITLES = {
    "nDCG@20": "nDCG@20", "P@20": "P@20", "RBP": "RBP, p = 0.5", "bpref": "bpref", "AP": "AP",
}  # fmt: skip
MEASURES = ("nDCG@20", "P@20", "AP")


def make(results: Results, published: Sequence[Mapping[str, str]]) -> list[Table]:
    """NIST's table, and one for each round."""
    return [
        _nist(results, [row for row in published if row["round"] == "5"]),
        _round(results, 5, []),
        _round(results, 4, [row for row in published if row["round"] == "4"]),
    ]


def _nist(results: Results, published: Sequence[Mapping[str, str]]) -> Table:
    runs, values = results.get("5/runs"), []
    for row in published:
        for measure, title in TITLES.items():
            paper = {"paper": float(row[measure]), "source": "NIST, round 5"}
            paper |= {"tolerance": TOLERANCE, "larger_is_better": None}
            if runs is None:
                values.append(Value(row["run"], title, note=ABSENT, **paper))
            else:
                values.append(mean(row["run"], title, runs[row["run"]][measure], **paper))
    return Table(
        "nist",
        "Scores of three runs of round 5",
        values,
        caption="Tolerance: NIST's rounding to four digits.",
        error_is="standard error over topics",
    )


def _round(results: Results, number: int, published: Sequence[Mapping[str, str]]) -> Table:
    found = results.get(f"{number}/runs")
    singles = {f"run {name}": of for name, of in (found or {}).items()}
    rules = {f"rule {rule}": results.get(f"{number}/rule/{rule}") for rule in RULES}
    learnt = {f"learnt, {name}": results.get(f"{number}/learnt/{name}") for name in LEARNT}
    against = {"p against rrf": "rule rrf", "p against the best run": best(singles, "nDCG@20")}
    values = effectiveness({**singles, **rules, **learnt}, MEASURES, against)
    for row in published:
        for measure in MEASURES:
            values.append(Value(f"submitted: {row['run']}", measure, float(row[measure])))
    submitted = " Submitted: NIST's scores of the team's own fusions, for comparison only."
    return Table(
        f"round{number}",
        f"Fusion of the {len(singles) or ''} runs of round {number}".replace("  ", " "),
        values,
        caption=(
            "p: two-sided paired t test of nDCG@20 over the topics, corrected by Holm's method "
            "within the column. The best run is chosen on the same topics."
            + (submitted if published else "")
        ),
        error_is="standard error over topics",
    )
