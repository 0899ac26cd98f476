"""What the cells become: means with tests against two baselines, weights, the learning curve."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.experiments import Figure, Results, ResultTable, Series, Value
from rankwise_papers.fusion_tables import best, effectiveness
from rankwise_papers.shared_tables import ABSENT

RULES = (
    "rrf", "sum", "mnz", "mixed", "anz", "med", "max", "min", "borda", "condorcet", "isr",
    "log_isr", "rbc",
)  # fmt: skip
LEARNT: dict[str, dict[str, Any]] = {
    "reciprocal ranks": {"features": ["reciprocal_rank"]},
    "reciprocal ranks, weights >= 0": {"features": ["reciprocal_rank"], "nonnegative": True},
    "min-max scores, weights >= 0": {"features": ["min_max"], "nonnegative": True},
}
N_JUDGED = (5, 10, 20, 40, 80)
SEEDS = (0, 1, 2)
N_NESTED_DRAWS = 20


def make(results: Results, n_draws: int) -> list[ResultTable]:
    """The effectiveness of every run, rule and learnt fusion; weights; the learning curves."""
    runs = results.get("runs")
    singles = {f"run {name}": run for name, run in (runs or {}).items()}
    rules = {f"rule {rule}": results.get(f"rule/{rule}") for rule in RULES}
    learnt = {f"learnt, {name}": results.get(f"learnt/{name}") for name in LEARNT}
    learnt["learnt, setting chosen inside the folds"] = results.get(f"nested/{SEEDS[0]}")
    against = {"p against rrf": "rule rrf", "p against the best run": best(singles, "AP")}
    return [
        ResultTable(
            "effectiveness",
            "AP and nDCG@10 over 100 topics",
            effectiveness({**singles, **rules, **learnt}, ("AP", "nDCG@10"), against),
            caption=(
                "p: two-sided paired t test of AP, corrected by Holm's method within the column. "
                "The best run is chosen on the same topics."
            ),
            error_is="standard error over topics",
        ),
        _nested(results),
        _weights(results),
        _curve(results.get(f"curve/{n_draws}"), n_draws),
        _nested_curve(results),
    ]


def _nested(results: Results) -> ResultTable:
    values = []
    for seed in SEEDS:
        cell = results.get(f"nested/{seed}")
        if cell is None:
            values.append(Value(f"folds {seed}", "AP", note=ABSENT))
            continue
        values.append(Value(f"folds {seed}", "AP", float(np.mean(cell["AP"]))))
        counts = Counter(cell["chosen"]).most_common()
        note = "; ".join(f"{name}: {n} of 5 folds" for name, n in counts)
        values[-1] = replace(values[-1], note=f"{note}.")
    return ResultTable(
        "nested",
        "AP with the setting chosen inside the folds, for three ways to deal the folds",
        values,
        caption="The notes name the settings that the training topics of the folds chose.",
    )


def _nested_curve(results: Results) -> ResultTable:
    draws = [results.get(f"nested curve/{draw}") for draw in range(N_NESTED_DRAWS)]
    found = [draw for draw in draws if draw is not None]
    values = []
    for place, size in enumerate(N_JUDGED):
        row = f"{size} topics judged"
        if not found:
            values.append(Value(row, "AP, learnt", note=ABSENT))
            continue
        learnt, rule = (
            np.array([draw[place][name] for draw in found]) for name in ("learnt", "rule")
        )
        low, high = np.quantile(learnt - rule, [0.025, 0.975])
        values += [
            Value(row, "AP, learnt", float(learnt.mean())),
            Value(row, "AP, rrf", float(rule.mean())),
            Value(row, "gain", float((learnt - rule).mean())),
            Value(row, "2.5 % of draws", float(low)),
            Value(row, "97.5 % of draws", float(high)),
        ]
    return ResultTable(
        "nested curve",
        "Learning curve: the setting chosen among the judged topics",
        values,
        caption=(
            f"Means over the first {len(found) or N_NESTED_DRAWS} of the draws above. Nothing is "
            "known of the other topics when the setting is chosen."
        ),
    )


def _weights(results: Results) -> ResultTable:
    values = []
    for name in LEARNT:
        cell = results.get(f"learnt/{name}")
        if cell is None:
            values.append(Value("every run", name, note=ABSENT))
            continue
        values += [Value(system, name, weight) for system, weight in cell["weights"].items()]
    return ResultTable(
        "weights",
        "Weights learnt from all topics",
        values,
        caption="Divided by the sum of their absolute values.",
        digits=3,
    )


def _curve(cell: Any, n_draws: int) -> ResultTable:
    values = []
    for place, size in enumerate(N_JUDGED):
        row = f"{size} topics judged"
        if cell is None:
            values.append(Value(row, "AP, learnt", note=ABSENT))
            continue
        low, high = cell["interval"][place]
        values += [
            Value(row, "AP, learnt", cell["learnt"][place]),
            Value(row, "AP, rrf", cell["rule"][place]),
            Value(row, "gain", cell["gain"][place]),
            Value(row, "2.5 % of draws", low),
            Value(row, "97.5 % of draws", high),
        ]
    return ResultTable(
        "curve",
        "Learning curve: reciprocal ranks with weights >= 0",
        values,
        caption=(
            f"Means over {n_draws} draws of the topics to judge, measured on the others. AP of "
            "different rows is over different topics: compare the gains."
        ),
    )


def figures(results: Results, n_draws: int) -> list[Figure]:
    """The gain over reciprocal rank fusion by the number of judged topics."""
    cell = results.get(f"curve/{n_draws}")
    if cell is None:
        return []
    low, high = np.array(cell["interval"]).T
    series = Series("gain in AP", N_JUDGED, ours=cell["gain"], error=((high - low) / 2).tolist())
    return [
        Figure(
            "curve",
            "Gain of learnt fusion over reciprocal rank fusion",
            "topics judged",
            "gain in AP",
            [series],
            log_x=True,
            caption="Band: half the width of the interval of the middle 95 % of the draws.",
        )
    ]
