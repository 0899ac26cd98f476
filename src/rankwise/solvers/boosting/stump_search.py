"""The decision stump that agrees most with signed weights, over all columns at once.

A search is one pass over the prepared columns, with threads working on separate columns. Its result
is bit-identical for any number of threads and any row order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.stump_columns import bin_stump_columns, sort_stump_columns
from rankwise.typing import Float64Array, Int64Array, Matrix

GROUP = 4  # columns that the kernel takes together
SMALL = 400_000  # values, up to which one thread is quicker
SHARES = 3  # parts of the columns per thread, for balance


@dataclass(frozen=True, eq=False)
class Stump:
    """A column, a cut, and the side that goes up."""

    feature: int
    threshold: float
    direction: int  # 1: values above the threshold go up, -1: down
    gain: int  # weight that agrees minus weight that disagrees, > 0, in units of the weights
    side: NDArray[np.bool_]  # (n_rows,): rows that go up
    missing: int = 0  # 1: rows without a value go up, -1: they go down, 0: there are none


class StumpSearch:
    """Training rows, prepared for repeated searches.

    X is (n_rows, n_features), with NaN for missing values; ``rows``, (n_rows,), are its rows in the
    order of the weights and sides. A column has at most ``max_bins`` (2 to 255) bins, for which
    ``weight`` gives the repetitions of the rows of X; None cuts between all values. With
    ``ties_above``, a value exactly at a cut, midway between two training values, lies above it.

    A search reads every value of X once, as a byte if the column is binned: O(n_rows n_features).
    """

    def __init__(
        self,
        X: Matrix,
        rows: Int64Array,
        max_bins: int | None,
        weight: Float64Array | None,
        *,
        ties_above: bool = False,
    ) -> None:
        if max_bins is None:
            self._columns = sort_stump_columns(X, rows, ties_above=ties_above)
        else:
            self._columns = bin_stump_columns(X, rows, max_bins, weight, ties_above=ties_above)
        self._gains = [np.zeros(len(columns.features), np.int64) for columns in self._columns]
        self._n_threads = 1 if X.shape[0] * X.shape[1] < SMALL else available_threads()
        self._parts = [
            (k, first, min(first + step, len(columns.features)))
            for k, columns in enumerate(self._columns)
            for step in [self._step(len(columns.features))]
            for first in range(0, len(columns.features), step)
        ]

    def best(self, u: Int64Array, total: int, slack: int) -> Stump | None:
        """Stump with the largest gain; None if no gain exceeds ``slack``.

        ``u``, (n_rows,), is positive where a row should go up, and ``total`` is its sum. Gains that
        differ by at most ``slack`` count as equal; ties go to the first feature and its lowest cut.
        """

        def search(part: tuple[int, int, int]) -> None:
            k, first, last = part
            self._columns[k].search(u, total, first, last, self._gains[k])

        thread_map(search, self._parts, self._n_threads)
        best = max((int(gains.max()) for gains in self._gains), default=0)
        if best <= slack:
            return None
        # Gains within the slack of the best differ by rounding: the first feature among them wins.
        floor = best - slack
        feature, k, m = min(
            (int(columns.features[m]), k, m)
            for k, (columns, gains) in enumerate(zip(self._columns, self._gains, strict=True))
            for m in np.flatnonzero(gains >= floor)[:1].tolist()
        )
        cut = self._columns[k].choose(m, u, total, floor)
        side = cut.above if cut.gain > 0 else ~cut.above
        direction, missing = 1 if cut.gain > 0 else -1, 0
        if cut.missing is not None:
            # Missing values go where they agree, independently of the cut; down if they cancel.
            missing = 1 if cut.missing_gain > 0 else -1
            side = np.where(cut.missing, missing > 0, side)
        gain = abs(cut.gain) + abs(cut.missing_gain)
        return Stump(feature, cut.threshold, direction, gain, side, missing)

    def _step(self, n_columns: int) -> int:
        """Number of columns per part: a multiple of the kernel's block of columns."""
        groups = -(-n_columns // GROUP)
        return max(1, -(-groups // (SHARES * self._n_threads))) * GROUP
