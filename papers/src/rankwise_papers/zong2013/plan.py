"""Which cells there are: fits on every fold, whole paths of the kernels, the grid of Figure 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rankwise.experiments import Cell
from rankwise_papers.zong2013.methods import OURS, PAPER, Method

PRESETS = {"ohsumed": "letor3", "td2003": "letor3", "td2004": "letor3", "mq2008": "letor4"}
RAW = "ohsumed-min"  # OHSUMED before its features are scaled
FOLDS = range(1, 6)
SEEDS, QUICK_SEEDS, OUR_SEEDS = range(10), range(3), range(3)
CUTOFFS = range(1, 11)
EXPONENTS = range(-30, 21)  # of C: the paper's grid (even ones) and those between
PATHS = tuple(method for method in PAPER if method.settings and "kernel" in method.settings)
NODES, NODE_SEEDS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000), range(5)
HINGE_C = tuple(10.0**k for k in range(-6, 3))
STOPPED_C, PASSES = (0.1, 1.0), (1, 2, 5, 20)
QUICK_NODES, QUICK_NODE_SEEDS = (10, 50, 200, 1000), range(2)


@dataclass(frozen=True)
class HingePath:
    """RankSVM for a grid of C, with one thing changed.

    Attributes
    ----------
    name : str
        In cell names.
    title : str
    loss : {"squared_hinge", "hinge"}
    query_weight : {"pair", "query"}
        Every pair counts the same, or every query.
    scaling : {"query", "global", "none"}
        Min-max within queries, which is how LETOR publishes the features, or over the training
        rows, or none.
    C : tuple of float
    """

    name: str
    title: str
    loss: str
    query_weight: str = "pair"
    scaling: str = "query"
    C: tuple[float, ...] = HINGE_C

    @property
    def data(self) -> str:
        """Name of the data set."""
        return "ohsumed" if self.scaling == "query" else RAW


SQUARED = HingePath("squared_hinge", "squared hinge", "squared_hinge")
HINGE = HingePath("hinge", "hinge", "hinge")
# A query of 150 rows has 1 / 22,500 of its weight where every query counts the same.
_QUERY_C = tuple(10.0**k for k in range(-2, 7))
CHANGED = (
    HingePath(
        "squared_hinge, queries", "squared hinge, every query counts the same", "squared_hinge",
        query_weight="query", C=_QUERY_C,
    ),
    HingePath(
        "hinge, queries", "hinge, every query counts the same", "hinge", query_weight="query",
        C=_QUERY_C,
    ),
    HingePath(
        "squared_hinge, global", "squared hinge, features scaled over all training rows",
        "squared_hinge", scaling="global",
    ),
    HingePath(
        "squared_hinge, raw", "squared hinge, features as they are", "squared_hinge",
        scaling="none", C=tuple(10.0**k for k in range(-9, 0)),
    ),
)  # fmt: skip


def fit_name(data: str, method: Method, fold: int, seed: int) -> str:
    """Name of the cell of one fit."""
    return f"{data}/fold{fold}/{method.name}" + (f"/seed{seed}" if method.is_drawn else "")


def seeds_of(data: str, method: Method, quick: bool) -> range:
    """Seeds of a method; a single one if it is deterministic."""
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


def hinge_name(path: HingePath, fold: int) -> str:
    """Name of the cell of one of RankSVM's paths on OHSUMED."""
    return f"ohsumed/fold{fold}/rank-svm/{path.name}"


def early_stop_name(fold: int) -> str:
    """Name of the cell of solutions that are stopped early."""
    return f"ohsumed/fold{fold}/rank-svm/stopped"


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
    for path in () if quick else (SQUARED, HINGE, *CHANGED):
        for fold in FOLDS:
            params = {
                "kind": "hinge", "fold": fold, "loss": path.loss, "C": path.C,
                "query_weight": path.query_weight, "scaling": path.scaling,
            }  # fmt: skip
            yield Cell(hinge_name(path, fold), params, path.data)
    for fold in () if quick else FOLDS:
        params = {"kind": "stopped", "fold": fold, "C": STOPPED_C, "passes": PASSES}
        yield Cell(early_stop_name(fold), params, "ohsumed")
    for n_nodes in QUICK_NODES if quick else NODES:
        for seed in QUICK_NODE_SEEDS if quick else NODE_SEEDS:
            params = {"kind": "nodes", "fold": 1, "n_nodes": n_nodes, "seed": seed}
            yield Cell(nodes_name(n_nodes, seed), params, "ohsumed")
