"""Row sampling for trees: by query, or by gradient (GOSS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array, Int64Array

Rows: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class QuerySampling:
    """A random share (in (0, 1]) of the queries, drawn anew for every tree."""

    share: float = 1.0

    def draws(self, number: int) -> bool:
        """Whether the tree of a number leaves rows out."""
        return self.share < 1

    def draw_and_rescale(
        self,
        rng: np.random.Generator,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> NDArray[np.bool_]:
        """Rows that a tree follows, as a mask; the derivatives are not changed."""
        # Whole queries: the gradients of a query are computed from all of its rows.
        return np.repeat(draw_share(rng, self.share, len(indptr) - 1), np.diff(indptr))


@dataclass(frozen=True)
class GradientSampling:
    """The rows with the largest gradients, and a random sample of the others (GOSS) [1]_.

    The derivatives of the sampled rows are scaled up to represent the omitted rows. If gradients
    are equal, the first rows are taken.

    References
    ----------
    .. [1] Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.
    """

    top: float  # share of rows taken because of their large gradients
    other: float  # share of all rows, drawn from the rest; top + other <= 1
    first: int = 0  # number of the first tree that leaves rows out

    def __post_init__(self) -> None:
        if self.top + self.other > 1:
            raise ValueError(
                f"top_rate + other_rate must be at most 1, got {self.top} + {self.other}. Lower "
                "one of them."
            )

    def draws(self, number: int) -> bool:
        """Whether the tree of a number leaves rows out."""
        return number >= self.first

    def draw_and_rescale(
        self,
        rng: np.random.Generator,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> NDArray[np.bool_]:
        """Rows that a tree follows, as a mask; scales the derivatives of those drawn."""
        n = len(gradients)
        # At least one row of either kind, so that a tree of few rows can be grown.
        follows = _largest(np.abs(gradients), max(1, round(self.top * n)))
        rest = np.flatnonzero(~follows)
        taken = min(len(rest), max(1, round(self.other * n)))
        if taken:
            rest_drawn = rest[rng.choice(len(rest), taken, replace=False)]
            # The sums over the drawn rows then estimate those over all of the rest without bias.
            gradients[rest_drawn] *= len(rest) / taken
            hessians[rest_drawn] *= len(rest) / taken
            follows[rest_drawn] = True
        return follows


def draw_share(rng: np.random.Generator, share: float, n: int) -> NDArray[np.bool_]:
    """A random share of n items, at least one."""
    mask = np.zeros(n, dtype=bool)
    mask[rng.choice(n, max(1, round(share * n)), replace=False)] = True
    return mask


def _largest(values: Float64Array, n: int) -> NDArray[np.bool_]:
    """The n largest values; ties go to the first. O(len(values))."""
    if n >= len(values):
        return np.ones(len(values), dtype=bool)
    least = np.partition(values, len(values) - n)[len(values) - n]
    # Rows equal to the least value fill the places that are left, the first rows first.
    mask = values > least
    mask[np.flatnonzero(values == least)[: n - int(mask.sum())]] = True
    return mask
