"""What the cells become: means with tests against two baselines, weights, the learning curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Figure, Results, Series, Table, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.shared_tables import ABSENT

RULES = (
    "rrf", "sum", "mnz", "mixed", "anz", "med", "max", "min", "borda", "condorcet", "isr",
    "log_isr", "rbc",
)  # fmt: skip
LEARNT: dict[str, dict[str, Any]] = {
    "reciprocal ranks": {"features": ["reciprocal_rank"]},
    "reciprocal ranks, weights >= 0": {"features": ["reciprocal_rank"], "nonnegative": True},
    "min-max scores, weights >= 0": {"features": ["min-max"], "nonnegative": True},
}
N_JUDGED = (5, 10, 20, 40, 80)
BASELINE = "rule/rrf"


def make(results: Results, n_draws: int) -> list[Table]:
    """The effectiveness of every run, rule and learnt fusion; weights; the learning curve."""
    runs = results.get("runs")
    singles = {f"run {name}": of for name, of in (runs or {}).items()}
    rules = {f"rule {rule}": results.get(f"rule/{rule}") for rule in RULES}
    learnt = {f"learnt, {name}": results.get(f"learnt/{name}") for name in LEARNT}
    return [
        _effectiveness({**singles, **rules, **learnt}, results.get(BASELINE), singles),
        _weights(results),
        _curve(results.get(f"curve/{n_draws}"), n_draws),
    ]


def _effectiveness(rows: Mapping[str, Any], baseline: Any, singles: Mapping[str, Any]) -> Table:
    found = {name: np.array(of["AP"], float) for name, of in rows.items() if of is not None}
    against: dict[str, Float64Array] = {}
    if baseline is not None:
        against["p against rrf"] = np.array(baseline["AP"], float)
    if singles:
        best = max(singles, key=lambda name: found[name].mean())
        against["p against the best run"] = found[best]
    adjusted = {column: _holm(found, other) for column, other in against.items()}
    values = []
    for name, of in rows.items():
        if of is None:
            values.append(Value(name, "AP", note=ABSENT))
            continue
        values += [_mean(name, "AP", of["AP"]), _mean(name, "nDCG@10", of["nDCG@10"])]
        values += [Value(name, column, p[name]) for column, p in adjusted.items() if name in p]
    return Table(
        "effectiveness",
        "AP and nDCG@10 over 100 topics",
        values,
        caption=(
            "p: two-sided paired t test of AP, corrected by Holm's method within the column. "
            "The best run is chosen on the same topics."
        ),
        error_is="standard error over topics",
    )


def _holm(found: Mapping[str, Float64Array], other: Float64Array) -> dict[str, float]:
    tested = {
        name: paired_test(values, other).p_value
        for name, values in found.items()
        if not np.array_equal(values, other)
    }
    return dict(zip(tested, holm(list(tested.values())).tolist(), strict=True))


def _mean(row: str, column: str, values: Sequence[float]) -> Value:
    array = np.array(values, float)
    return Value(row, column, array.mean(), array.std(ddof=1) / np.sqrt(len(array)))


def _weights(results: Results) -> Table:
    values = []
    for name in LEARNT:
        of = results.get(f"learnt/{name}")
        if of is None:
            values.append(Value("every run", name, note=ABSENT))
            continue
        values += [Value(system, name, weight) for system, weight in of["weights"].items()]
    return Table(
        "weights",
        "Weights learnt from all topics",
        values,
        caption="Divided by the sum of their absolute values.",
        digits=3,
    )


def _curve(of: Any, n_draws: int) -> Table:
    values = []
    for place, size in enumerate(N_JUDGED):
        row = f"{size} topics judged"
        if of is None:
            values.append(Value(row, "AP, learnt", note=ABSENT))
            continue
        low, high = of["interval"][place]
        values += [
            Value(row, "AP, learnt", of["learnt"][place]),
            Value(row, "AP, rrf", of["rule"][place]),
            Value(row, "gain", of["gain"][place]),
            Value(row, "2.5 % of draws", low),
            Value(row, "97.5 % of draws", high),
        ]
    return Table(
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
    of = results.get(f"curve/{n_draws}")
    if of is None:
        return []
    low, high = np.array(of["interval"]).T
    series = Series("gain in AP", N_JUDGED, ours=of["gain"], error=((high - low) / 2).tolist())
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
