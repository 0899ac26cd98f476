"""Figure 2: AP on the test part of OHSUMED's first fold against C and the number of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.experiments import Figure, Results, Series
from rankwise.typing import Float64Array
from rankwise_papers.zong2013.plan import (
    EXPONENTS,
    NODE_SEEDS,
    NODES,
    QUICK_NODE_SEEDS,
    QUICK_NODES,
    nodes_name,
)

_GRID = EXPONENTS[::2]
_SHOWN_NODES = (10, 50, 200, 1000, 2000)
_SHOWN_EXPONENTS = (-24, -16, -10, -4, 4)
_CAPTION = (
    "Pointwise, linear nodes, fold 1 of OHSUMED, AP on its test part (preset letor3), mean over "
    "{n} draws of the nodes with their standard deviation as band. The paper's Figure 2 is a "
    "surface without printed numbers; it states that AP is not sensitive to the number of nodes. "
    "In ours that holds for the largest AP along C, whose C falls as nodes are added; at a fixed C "
    "it does not."
)


def figures(results: Results, quick: bool) -> Sequence[Figure]:
    """AP against C, a line per number of nodes, and against the number of nodes, a line per C."""
    seeds = QUICK_NODE_SEEDS if quick else NODE_SEEDS
    found: dict[int, Float64Array] = {}
    for n_nodes in QUICK_NODES if quick else NODES:
        names = [nodes_name(n_nodes, seed) for seed in seeds]
        if all(name in results for name in names):
            found[n_nodes] = np.array([results[name] for name in names])  # (seeds, grid)
    if not found:
        return ()
    mean = {n: folds.mean(axis=0) for n, folds in found.items()}
    spread = {n: folds.std(axis=0, ddof=1) for n, folds in found.items()}
    against_c = [
        Series(f"{n} nodes", [2.0**k for k in _GRID], mean[n].tolist(), spread[n].tolist())
        for n in found
        if n in _SHOWN_NODES
    ]
    against_nodes = [
        Series(
            f"C = 2^{k}",
            list(found),
            [float(mean[n][_GRID.index(k)]) for n in found],
            [float(spread[n][_GRID.index(k)]) for n in found],
        )
        for k in _SHOWN_EXPONENTS
    ]
    caption = _CAPTION.format(n=len(seeds))
    return (
        Figure("ap-by-c", "Figure 2: AP against C", "C", "AP", against_c, True, caption),
        Figure(
            "ap-by-nodes", "Figure 2: AP against the number of nodes", "number of nodes", "AP",
            against_nodes, True, caption,
        ),
    )  # fmt: skip
