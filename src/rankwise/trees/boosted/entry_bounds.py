"""Bounds on the gains of sparse columns, so that most of them are not searched again.

A split of a leaf with the derivatives G and H parts some rows with entries of a column, of g and h,
from all others. With ``c = h + L2``, ``C = H + 2 L2`` and the centred gradient ``r = g - G c / C``,
both sides are worth

    g^2 / c + (G - g)^2 / (C - c) = (r^2 / c) C / (C - c) + G^2 / C.

A leaf that lost few rows to its smaller sibling has nearly the histogram of its parent. The entries
that are gone bound the change of ``|r| / sqrt(c)``. A column whose bound lies below the worth of a
column that looks best cannot win. No split changes by that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_splits import write_entry_bounds
from rankwise.kernels.boosted_trees import LOWER
from rankwise.trees.boosted.coded_rows import EntryCodes
from rankwise.typing import Float64Array, Int64Array

UNKNOWN = np.iinfo(np.int64).max
# Bounds hold for splits with at least this share of what a side needs: leaves need different sums.
LOWEST_SHARE = 0.9
SLACK = 1 - 1e-9  # bounds are rounded
N_PROMISING = 32  # fewer than there are columns in a mask that is narrowed


class EntryBounds:
    """Bounds on ``|r| / sqrt(c)`` of the splits of each column, by slot of a histogram.

    ``unit`` is (2,), see :class:`rankwise.trees.boosted.growing_tree.GrowingTree`; ``penalty`` is
    L2.
    """

    def __init__(
        self, codes: EntryCodes, n_bins: Int64Array, n_slots: int, unit: Any, penalty: float
    ) -> None:
        self._codes, self._n_bins, self._unit, self._penalty = codes, n_bins, unit, penalty
        self._zero_codes = codes.zero_codes[codes.columns].astype(np.int64)
        self._roots, self._means = np.zeros((n_slots, len(n_bins))), np.zeros(n_slots)
        # Smallest sum of second derivatives of a side for which the bound holds.
        self._leasts = np.full((n_slots, len(n_bins)), UNKNOWN)

    def start(self, slot: int, total: int) -> None:
        """Forget the bounds of a slot, which a leaf takes."""
        self._leasts[slot], self._means[slot] = UNKNOWN, self._mean(total)

    @np.errstate(all="ignore")  # of derivatives too large for squares; see :meth:`narrow`
    def follow(self, leaf: Any, sizes: Int64Array, sums: Int64Array, stored: Int64Array) -> None:
        """Keep the bounds of a slot when its leaf lost rows.

        ``sizes`` and ``sums`` are the absolute gradients and the packed derivatives of the lost
        entries of each column, ``stored`` the latter of those that stay.
        """
        roots, mean = self._roots[leaf.slot], self._means[leaf.slot]
        least = leaf.least * self._unit[1] + self._penalty
        lost = (sums & LOWER) * self._unit[1]
        # c of a side shrinks by at most what is lost, to no less than the least; r changes by the
        # lost gradients, and with the mean of the leaf.
        roots *= np.sqrt(1 + lost / least)
        roots += (sizes * self._unit[0] + abs(mean) * lost) / np.sqrt(least)
        self._means[leaf.slot] = self._mean(leaf.total)
        change = abs(self._means[leaf.slot] - mean)
        roots += change * np.sqrt((stored & LOWER) * self._unit[1] + self._penalty)

    @np.errstate(all="ignore")
    def narrow(
        self, leaf: Any, line: Int64Array, stored: Int64Array, mask: NDArray[np.bool_], gain: Any
    ) -> None:
        """Leave out columns of the mask that cannot have the best split of a leaf.

        ``line`` is the leaf's histogram, ``stored`` the packed sum of the entries of each column.
        ``gain`` returns the largest gain of the columns of a mask.
        """
        roots = self._roots[leaf.slot]
        g, h = (leaf.total >> 32) * self._unit[0], (leaf.total & LOWER) * self._unit[1]
        both = h + 2 * self._penalty
        # The other side has all rows without an entry.
        entries = (stored & LOWER) * self._unit[1]
        others = np.maximum(leaf.least * self._unit[1], h - entries) + self._penalty
        factors, alone = both / others, g * g / both

        def worths() -> Float64Array:
            return np.where(mask, roots * roots * factors, -1.0)

        def search(columns: Int64Array) -> None:
            low = max(1, int(LOWEST_SHARE * leaf.least))
            write_entry_bounds(
                self._n_bins, self._zero_codes, self._codes.starts, line, columns, low, self._unit,
                self._penalty, self._means[leaf.slot], roots,
            )  # fmt: skip
            self._leasts[leaf.slot, columns] = low

        search(np.flatnonzero(mask & (self._leasts[leaf.slot] > leaf.least)))
        promising = np.argpartition(worths(), -N_PROMISING)[-N_PROMISING:]
        search(promising)
        best = np.zeros_like(mask)
        best[promising[np.argmax(worths()[promising])]] = True
        # Gains are differences to the worth of the leaf that is not split.
        floor = (g * g / (h + self._penalty) + gain(best)) * SLACK - alone
        # Not ">=": where squares overflow, no column is left out.
        mask &= ~(worths() < floor)
        search(np.flatnonzero(mask))
        mask &= ~(worths() < floor)

    def _mean(self, total: int) -> float:
        g, h = (total >> 32) * self._unit[0], (total & LOWER) * self._unit[1]
        return float(g / (h + 2 * self._penalty))
