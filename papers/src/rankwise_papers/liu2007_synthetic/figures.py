"""Rank loss by depth, and by number of training points."""

from __future__ import annotations

from rankwise.experiments import Figure, Results, Series
from rankwise_papers.liu2007_synthetic.methods import DEPTHS, TABLE_DEPTH
from rankwise_papers.liu2007_synthetic.tables import (
    LABELS,
    LARGE,
    SIZES,
    Losses,
    mean_and_half_width,
    online,
    rule,
    tree,
)


def make(results: Results) -> list[Figure]:
    """Both figures; sizes and depths that have not run are left out."""
    depths = [
        _series(label, {d: tree(results, criterion, LARGE, d) for d in DEPTHS})
        for criterion, label in LABELS.items()
    ]
    sizes = [
        _series(
            f"{label}, depth {TABLE_DEPTH}", {n: tree(results, key, n, TABLE_DEPTH) for n in SIZES}
        )
        for key, label in LABELS.items()
    ]
    sizes += [
        _series(f"{label}, depth chosen", {n: tree(results, key, n) for n in SIZES})
        for key, label in LABELS.items()
    ]
    sizes += [
        _series("voted PRank, mode", {n: online(results, "PRank-VP", n, "mode") for n in SIZES}),
        _series("ranks without noise", {n: rule(results, n) for n in SIZES}),
    ]
    return [
        Figure(
            "by-depth",
            "Rank loss by depth, 50,000 training points",
            "depth",
            "mean absolute rank loss",
            [series for series in depths if series.x],
            caption="Bands are 95 % t intervals of the mean. The paper shows depth 9 alone.",
        ),
        Figure(
            "by-size",
            "Rank loss by number of training points",
            "training points",
            "mean absolute rank loss",
            [series for series in sizes if series.x],
            log_x=True,
            caption="Bands are 95 % t intervals of the mean. No figure of the paper's.",
        ),
    ]


def _series(label: str, found: dict[int, Losses]) -> Series:
    there = {x: mean_and_half_width(values) for x, values in found.items() if values}
    means = [mean for mean, _ in there.values() if mean is not None]
    return Series(label, list(there), ours=means, error=[half or 0.0 for _, half in there.values()])
