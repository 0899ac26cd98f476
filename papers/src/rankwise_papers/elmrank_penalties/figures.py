"""Mean squared difference by penalty, one line for each kernel."""

from __future__ import annotations

from rankwise.experiments import Figure, Results, Series
from rankwise_papers.elmrank_penalties.plan import PATHS, TITLES, groups
from rankwise_papers.elmrank_penalties.tables import curves


def make(results: Results, quick: bool) -> list[Figure]:
    """A figure for every method, data set and group that has run."""
    figures = []
    for method in PATHS:
        for data, group in groups():
            found = curves(results, quick, method, data, group)
            if found:
                series = [
                    Series(kernel, curve.exponents.tolist(), ours=curve.means["MSD"].tolist())
                    for kernel, curve in found.items()
                ]
                figures.append(
                    Figure(
                        f"path-{method.lower()}-{data}-{group}",
                        f"{method} on {TITLES[data]} {group}",
                        "log10 lam", "mean squared difference", series,
                    )
                )  # fmt: skip
    return figures
