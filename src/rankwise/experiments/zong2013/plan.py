"""Which cells there are: fits on every fold, whole paths of the kernels, the grid of Figure 2."""

from __future__ import annotations

from collections.abc import Iterator

from rankwise.experiments.base import Cell
from rankwise.experiments.zong2013.methods import OURS, PAPER, Method

PRESETS = {"ohsumed": "letor3", "td2003": "letor3", "td2004": "letor3", "mq2008": "letor4"}
FOLDS = range(1, 6)
SEEDS, QUICK_SEEDS, OUR_SEEDS = range(10), range(3), range(3)
CUTOFFS = range(1, 11)
EXPONENTS = range(-30, 21)  # of C: the paper's grid (even ones) and those between
PATHS = tuple(method for method in PAPER if method.settings and "kernel" in method.settings)
NODES, NODE_SEEDS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000), range(5)
HINGES = ("squared_hinge", "hinge")
HINGE_C = tuple(10.0**k for k in range(-6, 3))
QUICK_NODES, QUICK_NODE_SEEDS = (10, 50, 200, 1000), range(2)


def fit_name(data: str, method: Method, fold: int, seed: int) -> str:
    """Name of the cell of one fit."""
    return f"{data}/fold{fold}/{method.name}" + (f"/seed{seed}" if method.is_drawn else "")


def seeds_of(data: str, method: Method, quick: bool) -> range:
    """Seeds of a method's draws; one where it draws nothing."""
    if not method.is_drawn:
        return range(1)
    if quick:
        return QUICK_SEEDS
    return SEEDS if method in PAPER and data != "mq2008" else OUR_SEEDS


def methods_of(data: str, quick: bool) -> tuple[Method, ...]:
    """Columns that are run on a data set."""
    ours = () if quick or data.startswith("td") else OURS
    return tuple(method for method in (*PAPER, *ours) if method.is_known)


def path_name(method: Method, fold: int) -> str:
    """Name of the cell of a whole path on OHSUMED."""
    return f"ohsumed/fold{fold}/{method.name}/path"


def hinge_name(loss: str, fold: int) -> str:
    """Name of the cell of RankSVM's path on OHSUMED."""
    return f"ohsumed/fold{fold}/rank-svm/{loss}"


def nodes_name(n_nodes: int, seed: int) -> str:
    """Name of a cell of Figure 2."""
    return f"ohsumed/fold1/figure2/nodes{n_nodes}/seed{seed}"


def cells(quick: bool) -> Iterator[Cell]:
    """All cells, or those of a quick run."""
    for data in ("ohsumed",) if quick else PRESETS:
        for method in methods_of(data, quick):
            for fold in FOLDS:
                for seed in seeds_of(data, method, quick):
                    params = {"kind": "fit", "fold": fold, "seed": seed, **method.params()}
                    yield Cell(fit_name(data, method, fold, seed), params, data)
    for method in PATHS:
        for fold in FOLDS:
            params = {"kind": "path", "fold": fold, **method.params()}
            yield Cell(path_name(method, fold), params, "ohsumed")
    for loss in () if quick else HINGES:
        for fold in FOLDS:
            params = {"kind": "hinge", "fold": fold, "loss": loss, "C": HINGE_C}
            yield Cell(hinge_name(loss, fold), params, "ohsumed")
    for n_nodes in QUICK_NODES if quick else NODES:
        for seed in QUICK_NODE_SEEDS if quick else NODE_SEEDS:
            params = {"kind": "nodes", "fold": 1, "n_nodes": n_nodes, "seed": seed}
            yield Cell(nodes_name(n_nodes, seed), params, "ohsumed")
