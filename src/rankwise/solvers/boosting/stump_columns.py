"""Columns of training rows, converted once into the form that a stump search reads.

A column is stored as bins of one byte per row. If it must be cut between all values and has more
than 255, it is stored as row numbers by ascending value. Both forms return the gain of their best
cut and then the cut. Missing values have a bin of their own, or the last places.

A cut lies midway between two neighbouring training values, so only new rows can hold exactly that
value. Such rows belong below the cut by default and above it with ``ties_above``. In the second
case, the threshold is the largest number below the middle, so that ``x > threshold`` remains the
test for every user of the stumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import MAX_BINS, find_bins, midpoints
from rankwise.kernels.binning import midpoint
from rankwise.kernels.stump_search import choose_bin, choose_sorted, search_bins, search_sorted
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse

COLUMNS_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Cut:
    """A column cut in two."""

    feature: int
    threshold: float
    gain: int  # sum of the weights of the rows above minus that of the rows below
    above: NDArray[np.bool_]  # (n_rows,): value above the threshold; arbitrary for missing values
    missing_gain: int  # sum of the weights of the rows without a value
    missing: NDArray[np.bool_] | None  # (n_rows,): rows without a value; None if there are none


@dataclass(frozen=True, eq=False)
class BinnedStumpColumns:
    """Bins of one byte."""

    features: Int64Array  # (n_columns,)
    # (n_columns, n_rows): code <= c exactly if the value is at most cuts[c]. Missing values have
    # the last code plus one.
    codes: NDArray[np.uint8]
    cuts: list[Float64Array]
    _n_cuts: Int64Array = field(init=False)
    _histogram: Int64Array = field(init=False)

    def __post_init__(self) -> None:
        n_cuts = np.array([len(cuts) for cuts in self.cuts], dtype=np.int64)
        # The dataclass is frozen; these two follow from the codes and cuts.
        object.__setattr__(self, "_n_cuts", n_cuts)
        object.__setattr__(self, "_histogram", np.zeros((len(n_cuts), 256), dtype=np.int64))

    def search(self, u: Int64Array, total: int, first: int, last: int, gain: Int64Array) -> None:
        """Write the largest absolute gain of columns ``first:last`` into ``gain``."""
        search_bins(self.codes, u, self._n_cuts, total, first, last, self._histogram, gain)

    def choose(self, m: int, u: Int64Array, total: int, floor: int) -> Cut:
        """Lowest cut of column ``m`` whose absolute gain in the last search reached ``floor``."""
        n_cuts = self._n_cuts[m]
        # Reads the histogram that the search has left of this column.
        code, gain, missing_gain = choose_bin(self._histogram[m], n_cuts, total, floor)
        codes, threshold = self.codes[m], float(self.cuts[m][code])
        missing = _any_of(codes > n_cuts)
        return Cut(
            int(self.features[m]), threshold, int(gain), codes > code, int(missing_gain), missing
        )


@dataclass(frozen=True, eq=False)
class SortedStumpColumns:
    """Row numbers by ascending value."""

    features: Int64Array  # (n_columns,)
    order: NDArray[np.integer]  # (n_columns, n_rows), int32 or int64
    is_cut: NDArray[np.bool_]  # (n_columns, n_rows): whether the value at the next place is larger
    # (n_columns,): number of rows with a value; rows without one come after them
    n_present: Int64Array
    X: Matrix  # (n_rows, n_features)
    rows: Int64Array  # (n_rows,): row of X of every row number
    ties_above: bool

    def search(self, u: Int64Array, total: int, first: int, last: int, gain: Int64Array) -> None:
        """Write the largest absolute gain of columns ``first:last`` into ``gain``."""
        search_sorted(self.order, self.is_cut, self.n_present, u, total, first, last, gain)

    def choose(self, m: int, u: Int64Array, total: int, floor: int) -> Cut:
        """Lowest cut of column ``m`` whose absolute gain reaches ``floor``."""
        n_present = self.n_present[m]
        place, gain, missing_gain = choose_sorted(
            self.order[m], self.is_cut[m], n_present, u, total, floor
        )
        feature = int(self.features[m])
        low, high = (
            float(self.X[self.rows[self.order[m, k]], feature]) for k in (place, place + 1)
        )
        # Above are all rows but those up to the place; missing ones are told apart by the caller.
        above = np.ones(len(u), dtype=bool)
        above[self.order[m, : place + 1]] = False
        missing = np.zeros(len(u), dtype=bool)
        missing[self.order[m, n_present:]] = True
        threshold = _threshold(midpoint(low, high), low, self.ties_above)
        return Cut(feature, float(threshold), int(gain), above, int(missing_gain), _any_of(missing))


Columns = BinnedStumpColumns | SortedStumpColumns


def bin_stump_columns(
    X: Matrix,
    rows: Int64Array,
    max_bins: int,
    weight: Float64Array | None,
    *,
    ties_above: bool = False,
) -> list[Columns]:
    """Put every column in at most ``max_bins`` (2 to 255) bins.

    ``rows``, (n_rows,), is the order of the rows of X in the columns; ``weight``, (n_rows,), gives
    the repetitions of the rows of X. With ``ties_above``, a value equal to a cut lies above it.
    """
    codes = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    cuts = []
    for first, block in _dense_blocks(X):
        bins = find_bins(block, max_bins, weight)
        unordered, out = bins.codes(block), codes[first : first + block.shape[1]]

        def take(
            j: int, unordered: NDArray[np.uint8] = unordered, out: NDArray[np.uint8] = out
        ) -> None:
            np.take(unordered[j], rows, out=out[j], mode="clip")  # "raise" copies out first

        thread_map(take, range(len(out)))
        thresholds = _threshold(bins.cuts, bins.below, ties_above)
        cuts += np.split(thresholds, bins.indptr[1:-1])
    return [BinnedStumpColumns(np.arange(X.shape[1]), codes, cuts)]


def sort_stump_columns(X: Matrix, rows: Int64Array, *, ties_above: bool = False) -> list[Columns]:
    """Prepare every column for cuts between all its values; columns of up to 255 values are binned.

    ``rows``, (n_rows,), is the order of the rows of X in the columns. With ``ties_above``, a value
    equal to a cut lies above it.
    """
    index = np.int32 if len(rows) < 2**31 else np.int64
    binned, codes, cuts = [], [], []
    features, orders, are_cuts, counts = [], [], [], []
    for first, block in _dense_blocks(X):

        def sort(j: int, block: FloatArray = block) -> tuple[FloatArray, NDArray, NDArray]:
            column = block[rows, j]
            order = np.argsort(column, kind="stable").astype(index)
            values = column[order]
            return values, order, np.append(values[1:] > values[:-1], False)  # NaN is last

        for j, (values, order, is_cut) in enumerate(thread_map(sort, range(block.shape[1])), first):
            places = np.flatnonzero(is_cut)
            n_present = len(values) - int(np.count_nonzero(np.isnan(values)))
            # One code more than cuts, and one for missing values, must fit into a byte.
            if len(places) < MAX_BINS:
                code = np.empty(len(rows), dtype=np.uint8)
                # Cuts before each place: a cut after a place does not count for itself.
                code[order] = np.cumsum(is_cut) - is_cut
                code[order[n_present:]] = len(places) + 1
                low, high = (values[at].astype(np.float64) for at in (places, places + 1))
                binned.append(j)
                codes.append(code)
                cuts.append(_threshold(midpoints(low, high), low, ties_above))
            else:
                features.append(j)
                orders.append(order)
                are_cuts.append(is_cut)
                counts.append(n_present)
    columns: list[Columns] = []
    if binned:
        columns.append(BinnedStumpColumns(np.array(binned), np.stack(codes), cuts))
    if features:
        order, is_cut, n_present = np.stack(orders), np.stack(are_cuts), np.array(counts)
        columns.append(
            SortedStumpColumns(np.array(features), order, is_cut, n_present, X, rows, ties_above)
        )
    return columns


def _threshold(cut: Any, low: Any, ties_above: bool) -> Any:
    """Thresholds of ``x > threshold`` for cuts just above the training values ``low``."""
    # Not below low, which the midpoint of neighbouring floats can equal.
    return np.maximum(np.nextafter(cut, -np.inf), low) if ties_above else cut


def _any_of(rows: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return rows if rows.any() else None


def _dense_blocks(X: Matrix) -> Iterator[tuple[int, FloatArray]]:
    """First column and dense values of a few columns at a time."""
    table = X.tocsc() if is_sparse(X) else X
    for first in range(0, X.shape[1], COLUMNS_AT_ONCE):
        block = table[:, first : first + COLUMNS_AT_ONCE]
        yield first, densify(block)
