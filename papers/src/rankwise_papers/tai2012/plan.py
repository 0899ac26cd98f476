"""Which cells there are: every data set with all methods, sized to what each costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rankwise.experiments import Cell

ALPHA = 0.01
TRAIN_SHARE = 0.9
N_SUBSET_SPLITS = 100


@dataclass(frozen=True)
class Extent:
    """How much is run of one data set.

    Attributes
    ----------
    n_splits : int
        For full BR, PLST, CPLST, partial BR and their curves.
    cs : (int, int)
        Draws of the rows of compressed sensing, and splits of each.
    cs_curve : tuple of int
        Numbers of rows M for its curve.
    tree : (int, int)
        Splits, and most dimensions, of PLST and partial BR with model trees.
    tree_cs : (int, int)
        The same of compressed sensing with model trees; no more splits than its curve has.
    ours : int
        Splits of the tuned method.
    subsets : tuple of int
        Numbers of rows of random subsets, each split as the whole set is.
    """

    n_splits: int = 20
    cs: tuple[int, int] = (1, 20)
    cs_curve: tuple[int, ...] = ()
    tree: tuple[int, int] = (0, 0)
    tree_cs: tuple[int, int] = (0, 0)
    ours: int = 20
    subsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class Labelled:
    """One data set.

    Attributes
    ----------
    title : str
    n_axes, sparsity : int
        The published M and s.
    grid : tuple of int
        Dimensions of the curves, and of the tables of curves.
    full, quick : Extent
        ``quick`` is None where a quick run leaves the set out.
    every : bool
        Whether curves have every dimension up to the last of the grid.
    """

    title: str
    n_axes: int
    sparsity: int
    grid: tuple[int, ...]
    full: Extent = field(default_factory=Extent)
    quick: Extent | None = None
    every: bool = False

    @property
    def curve(self) -> tuple[int, ...]:
        """Dimensions of the curves of ridge regression and model trees."""
        return tuple(range(1, self.grid[-1] + 1)) if self.every else self.grid


# fmt: off
SETS: dict[str, Labelled] = {
    "delicious": Labelled(
        "delicious", 129, 25, (1, 2, 5, 10, 20, 40, 80, 129, 200, 300, 500, 750, 983),
        Extent(cs=(2, 20), cs_curve=(40, 300), tree=(1, 10), ours=10),
    ),
    "corel5k": Labelled(
        "corel5k", 16, 5, (1, 2, 4, 8, 16, 32, 64, 128, 200, 300, 374),
        Extent(cs=(10, 20), cs_curve=(16, 32, 64, 128), tree=(1, 64), tree_cs=(1, 64)),
        every=True,
    ),
    "mediamill-discretized": Labelled(
        "mediamill, discretised", 11, 18, (1, 2, 4, 8, 11, 16, 32, 64, 101),
        Extent(cs=(1, 5), tree=(1, 4), ours=3),
    ),
    "yeast": Labelled(
        "yeast", 4, 11, tuple(range(1, 15)),
        Extent(cs=(10, 20), cs_curve=tuple(range(1, 15)), tree=(5, 14), tree_cs=(5, 14)),
        Extent(20, (2, 20), (4, 14), ours=1),
    ),
    "emotions": Labelled(
        "emotions", 1, 3, tuple(range(1, 7)),
        Extent(
            cs=(10, 20), cs_curve=tuple(range(1, 7)), tree=(10, 6), tree_cs=(5, 6),
            subsets=(593, 296, 198, 148, 119, 99, 85, 59),
        ),
        Extent(20, (5, 20), (1, 2, 4, 6), (1, 6), (1, 6), 2, (119,)),
    ),
}
# fmt: on


def extent(name: str, quick: bool) -> Extent | None:
    """That of a full or of a quick run."""
    return SETS[name].quick if quick else SETS[name].full


def cells(quick: bool) -> Iterator[Cell]:
    """All cells, the cheap ones of every set first."""
    for name, known in SETS.items():
        limits = extent(name, quick)
        if limits is not None:
            for kind, params in _work(known, limits):
                yield Cell(
                    f"{name}/{kind}", {"kind": kind.partition("/")[0], **params}, f"mulan-{name}"
                )


def _work(known: Labelled, limits: Extent) -> Iterator[tuple[str, dict[str, Any]]]:
    grid, every = list(known.grid), list(known.curve)
    size = {"n_axes": known.n_axes, "sparsity": known.sparsity}
    yield "statistics", {}
    yield "ridge", {"n_splits": limits.n_splits, "n_axes": known.n_axes, "grid": every}
    for draw in range(limits.cs[0]):
        yield f"cs/{draw}", {"draw": draw, "n_splits": limits.cs[1], **size}
    for n_axes in limits.cs_curve:
        curve = {"draw": 0, "n_splits": min(5, limits.cs[1])}
        yield f"cs-curve/{n_axes}", {**curve, "n_axes": n_axes, "sparsity": known.sparsity}
    for n_rows in limits.subsets:
        subset = {"n_rows": n_rows, "n_splits": N_SUBSET_SPLITS, "n_draws": limits.cs[0]}
        yield f"subset/{n_rows}", {**subset, **size}
    for split in range(limits.tree[0]):
        yield f"tree/{split}", {"split": split, "grid": [m for m in every if m <= limits.tree[1]]}
    for split in range(limits.tree_cs[0]):
        wanted = [m for m in every if m <= limits.tree_cs[1]]
        yield (
            f"tree-cs/{split}",
            {"split": split, "draw": 0, "grid": wanted, "sparsity": known.sparsity},
        )
    yield "times", size
    for split in range(limits.ours):
        yield f"ours/{split}", {"split": split, "grid": grid}
