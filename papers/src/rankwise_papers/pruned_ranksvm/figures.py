"""Accuracy against the share of pairs kept: nearest opponents, random pairs, all pairs, SVR."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.experiments import Figure, Results, Series
from rankwise_papers.pruned_ranksvm.plan import ALL, KERNELS, SETS, SVR, SYSTEMS
from rankwise_papers.pruned_ranksvm.tables import SHOWN, find

_NEAREST = tuple(key for key in SYSTEMS if key.startswith("nearest"))


def figures(results: Results, quick: bool) -> Sequence[Figure]:
    """A figure per table of rules whose cells are all there."""
    made = []
    for title, names in SHOWN.items():
        for kernel in KERNELS:
            series = _series(results, names, kernel, quick)
            if series:
                measure = "pairs in order" if SETS[names[0]].is_ordinal else "nDCG@10"
                made.append(
                    Figure(
                        f"{names[0] if len(names) == 1 else 'ordinal'}-{kernel}",
                        f"{title[0].upper()}{title[1:]}, {kernel}",
                        "share of pairs kept",
                        measure,
                        series,
                        log_x=True,
                    )
                )
    return made


def _series(results: Results, names: Sequence[str], kernel: str, quick: bool) -> list[Series]:
    nearest = [find(results, names, quick, kernel, key) for key in _NEAREST]
    twins = [
        find(results, names, quick, kernel, key, which="random")
        for key, system in SYSTEMS.items()
        if system.has_twin
    ]
    flat = {key: find(results, names, quick, kernel, key) for key in (ALL, SVR)}
    if any(found is None for found in (*nearest, *twins, *flat.values())):
        return []
    lines = {
        "nearest opponents": sorted((point.share, point.mean) for point in nearest if point),
        "random pairs": sorted((point.share, point.mean) for point in twins if point),
    }
    low = lines["random pairs"][0][0]
    for key, found in flat.items():
        if found is not None:
            lines[SYSTEMS[key].title] = [(low, found.mean), (1.0, found.mean)]
    return [
        Series(label, [x for x, _ in points], [y for _, y in points])
        for label, points in lines.items()
    ]
