"""Hamming loss by the number of dimensions, as in the paper's Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Figure, Results, Series
from rankwise_papers.shared_tables import mean_and_error
from rankwise_papers.tai2012.plan import SETS, extent
from rankwise_papers.tai2012.tables import cells_of

_BAND = "Bands are standard errors over splits."


def make(results: Results, quick: bool) -> list[Figure]:
    """For every set a figure of ridge regression and ideal codes, and one of model trees."""
    figures = []
    for name, known in SETS.items():
        if extent(name, quick) is None:
            continue
        linear = results.get(f"{name}/ridge")
        if linear:
            figures.append(_ridge(name, known.title, linear, results, quick))
        trees = cells_of(results, f"{name}/tree/")
        if trees and linear:
            figures.append(_tree(name, known.title, trees, linear, results))
    return figures


def _ridge(name: str, title: str, linear: Any, results: Results, quick: bool) -> Figure:
    grid = linear["grid"]
    labels = {
        "PLST": "PLST curve", "PBR, others absent": "PBR curve",
        "PLST, ideal codes": "ideal PLST", "PBR, ideal codes": "ideal PBR",
    }  # fmt: skip
    series = [_curve(label, grid, linear[key]) for label, key in labels.items()]
    series.append(_curve("full BR", grid, [[loss] * len(grid) for loss in linear["BR"]]))
    limits = extent(name, quick)
    sizes = [m for m in (limits.cs_curve if limits else ()) if f"{name}/cs-curve/{m}" in results]
    if sizes:
        losses = np.transpose([results[f"{name}/cs-curve/{m}"] for m in sizes])
        series.append(_curve("CS", sizes, losses))
    return Figure(
        f"ridge-{name}", f"Ridge regression and ideal codes, {title}", "dimensions M",
        "Hamming loss", series, log_x=grid[-1] > 50,
        caption="The paper's Figure 2 is of this kind. " + _BAND,
    )  # fmt: skip


def _tree(name: str, title: str, trees: Sequence[Any], linear: Any, results: Results) -> Figure:
    grid, n = trees[0]["grid"], len(trees)
    among = [linear["grid"].index(m) for m in grid]
    series = [
        _curve("PLST, model tree", grid, [tree["PLST"] for tree in trees]),
        _curve("PBR, model tree", grid, [tree["PBR"] for tree in trees]),
        _curve("PLST, ridge", grid, np.array(linear["PLST curve"][:n])[:, among]),
        _curve("PBR, ridge", grid, np.array(linear["PBR curve"][:n])[:, among]),
    ]
    sensing = cells_of(results, f"{name}/tree-cs/")
    if sensing:
        losses = [cell["CS"] for cell in sensing]
        series.append(_curve("CS, model tree", sensing[0]["grid"], losses))
    return Figure(
        f"tree-{name}", f"Model trees against ridge regression, {title}", "dimensions M",
        "Hamming loss", series,
        caption="The paper's Figure 3 is of this kind, with WEKA's M5P. " + _BAND,
    )  # fmt: skip


def _curve(label: str, grid: Sequence[float], losses: Any) -> Series:
    """Means over splits by dimension, from losses of shape (n_splits, n_dimensions)."""
    found = [mean_and_error([float(loss) for loss in column]) for column in np.transpose(losses)]
    means = [mean or 0.0 for mean, _ in found]
    return Series(label, list(grid), ours=means, error=[error or 0.0 for _, error in found])
