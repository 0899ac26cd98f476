"""Learning curves: measures against the number of training compounds (Figures 1 and 2)."""

from __future__ import annotations

import numpy as np

from rankwise.experiments import Figure, Results, Series
from rankwise_papers.elmrank_qsar.tables import NAMES, TOLERANCES


def make(results: Results) -> list[Figure]:
    """Figures 1 and 2 for both sets; nothing for a set without finished curves."""
    figures = []
    for data in TOLERANCES:
        if _curves(results, data):
            figures.append(
                Figure(
                    f"figure-1-{data}",
                    f"ELMRank on {data.upper()} by number of training compounds",
                    "training compounds",
                    "measure",
                    [_series(results, data, "ELMRank", m, name) for m, name in NAMES.items()],
                    caption="As Figure 1 of the paper, p. 124; means over random orders.",
                )
            )
            figures.append(
                Figure(
                    f"figure-2-{data}",
                    f"Mean squared difference on {data.upper()}",
                    "training compounds",
                    "mean squared difference",
                    [_series(results, data, method, "MSD", method) for method in METHODS],
                    caption="As Figure 2 of the paper, p. 125; means over random orders.",
                )
            )
    return figures


METHODS = ("ELMRank", "LS-SVR")


def _curves(results: Results, data: str) -> list[dict]:
    found = [cell for name, cell in results.items() if name.startswith(f"{data}/curve by ")]
    return [cell for cell in found if cell["sizes"] == found[0]["sizes"]]


def _series(results: Results, data: str, method: str, measure: str, label: str) -> Series:
    curves = _curves(results, data)
    values = np.array([cell["values"][method][measure] for cell in curves])
    error = None
    if len(values) > 1:
        error = (values.std(axis=0, ddof=1) / np.sqrt(len(values))).tolist()
    return Series(label, curves[0]["sizes"], ours=values.mean(axis=0).tolist(), error=error)
