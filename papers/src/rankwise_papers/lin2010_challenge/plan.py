"""Which cells there are: every method on every fold of three open sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankwise._registry import REGISTRY
from rankwise.experiments import Cell

CF_LETOR = "cystic-fibrosis-text"  # CF-LETOR is made from this collection
# Data set → number of folds.
FOLDS = {"mq2008": 5, "ohsumed": 5, "mslr-slices": 3}
HIGHEST_GRADE = {
    "mq2008": 2, "ohsumed": 2, "ohsumed-min": 2, "lambdarank": 4, "mslr-slices": 4,
    "yahoo-ltrc-1": 4, CF_LETOR: 4,
}  # fmt: skip
WEIGHTS = ("none", "rank", "query", "rank_query", "gain")
# The report has 1000 and 5000; sets as small as ours need fewer.
ROUNDS = (100, 1000, 5000)
# ORBoost as in the report's tables of row weights; written out, so that no default decides.
ALL_STUMPS = {"form": "all", "estimator": "stump", "base_iter": 100, "max_bins": 255}
DEGREES = (1, 2, 3, 4)
COSTS = ("err", "absolute")
# ERR-oriented costs are hundredths of absolute ones, the less the longer the query.
GRIDS = {"err": [10.0**k for k in range(-1, 7)], "absolute": [10.0**k for k in range(-3, 3)]}
SMALL_ROWS = 500  # the report's own size is not in the text at hand
RANKERS = {
    "orsvm": "ordinal_svm",
    "small": "ordinal_svm",
    "powers": "poly_ordinal_svm",
    "cross": "poly_ordinal_svm",
    "boost": "orboost",
    "ridge": "ridge",
}


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    folds : dict of str to int
        Number of folds of every data set.
    n_small_sets : int
    seeds : range
        Draws of random terms.
    degrees, costs, weights : tuple
        Of the powers, with each degree; of ORBoost's rows.
    """

    folds: dict[str, int]
    n_small_sets: int
    seeds: range
    degrees: tuple[int, ...]
    costs: tuple[str, ...]
    weights: tuple[str, ...]


FULL = Extent(FOLDS, 100, range(3), DEGREES, COSTS, WEIGHTS)
QUICK = Extent({"mslr-slices": 1}, 10, range(1), (1, 4), ("err",), WEIGHTS[:2])
# On CF-LETOR, whose kernel machines take minutes.
CF_FULL = Extent({CF_LETOR: 5}, 20, range(3), DEGREES, COSTS, WEIGHTS)
CF_QUICK = Extent({CF_LETOR: 1}, 2, range(1), (1,), ("err",), WEIGHTS[:1])


def cell_name(data: str, fold: int, method: str) -> str:
    """Name of a cell."""
    return f"{data}/fold{fold}/{method}"


def methods(extent: Extent) -> dict[str, dict[str, Any]]:
    """What a cell computes, by the last part of its name."""
    n_sets = extent.n_small_sets
    small = {"kind": "small", "costs": "err", "C": GRIDS["err"]}
    small |= {"n_sets": n_sets, "n_rows": SMALL_ROWS}
    return {
        **{f"orsvm/{c}": {"kind": "orsvm", "costs": c, "C": GRIDS[c]} for c in COSTS},
        f"orsvm/small{n_sets}": small,
        **{
            f"powers{degree}/{costs}": {
                "kind": "powers", "degree": degree, "costs": costs, "C": GRIDS[costs],
            }
            for costs in extent.costs
            for degree in extent.degrees
        },
        **{
            f"cross/{costs}/seed{seed}": {
                "kind": "cross", "seed": seed, "costs": costs, "C": GRIDS[costs],
            }
            for costs in extent.costs
            for seed in extent.seeds
        },
        **{
            f"orboost/{weight}": {
                "kind": "boost", "weight": weight, "rounds": list(ROUNDS), **ALL_STUMPS,
            }
            for weight in extent.weights
        },
        "ridge": {"kind": "ridge"},
    }  # fmt: skip


def cells(wanted: Extent) -> Iterator[Cell]:
    """All cells whose estimator is registered."""
    for data, n_folds in wanted.folds.items():
        for fold in range(1, n_folds + 1):
            for method, params in methods(wanted).items():
                if RANKERS[params["kind"]] in REGISTRY:
                    yield Cell(cell_name(data, fold, method), {"fold": fold, **params}, data)
