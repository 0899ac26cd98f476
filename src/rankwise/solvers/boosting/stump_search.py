"""Decision stumps: the columns they are searched in, the search, and their weighted sum.

A search for the stump that agrees most with signed weights is one pass over the prepared columns,
with threads working on separate columns. Its result is bit-identical for any number of threads and
any row order.

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
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import check_columns_read
from rankwise.features.binning import MAX_BINS, find_bins, midpoints
from rankwise.kernels.binning import midpoint
from rankwise.kernels.boosting_rounds import (
    add_stumps,
    choose_bin,
    choose_sorted,
    search_bins,
    search_sorted,
)
from rankwise.runtime.jit import convert_layout, is_ready
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.rounds import SignEnsemble
from rankwise.structure.state_rules import Array, Rule, floats, integers
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse

GROUP = 4  # columns that the kernel takes together
SMALL_SEARCH = 400_000  # values, up to which one thread is quicker
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
        self._n_threads = 1 if X.shape[0] * X.shape[1] < SMALL_SEARCH else available_threads()
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
        missing = codes > n_cuts
        return Cut(
            int(self.features[m]), threshold, int(gain), codes > code, int(missing_gain),
            missing if missing.any() else None,
        )  # fmt: skip


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
        missing = None
        if n_present < len(u):
            missing = np.zeros(len(u), dtype=bool)
            missing[self.order[m, n_present:]] = True
        threshold = _threshold(midpoint(low, high), low, self.ties_above)
        return Cut(feature, float(threshold), int(gain), above, int(missing_gain), missing)


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


def _dense_blocks(X: Matrix) -> Iterator[tuple[int, FloatArray]]:
    """First column and dense values of a few columns at a time."""
    table = X.tocsc() if is_sparse(X) else X
    for first in range(0, X.shape[1], COLUMNS_AT_ONCE):
        block = table[:, first : first + COLUMNS_AT_ONCE]
        yield first, densify(block)


ROWS_AT_ONCE = 4096
SMALL_SUM = 20_000  # rows times columns, up to which one thread is quicker


@dataclass(frozen=True, eq=False)
class StumpEnsemble(SignEnsemble):
    """Stumps in the order in which they were found; all arrays are (n_rounds,).

    Rows whose value is above the threshold go up if the direction is 1 and down if it is -1, by the
    step (> 0); the other rows go the other way. ``missing`` is 1 if rows without a value go up, -1
    if they go down, 0 if they do neither.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "features": integers("n_rounds", low=0, below="n_features_in_"),
        "thresholds": Array(("n_rounds",), numbers="not NaN"),
        "directions": integers("n_rounds", low=-1, high=1),
        "steps": floats("n_rounds"),
        "missing": integers("n_rounds", low=-1, high=1),
    }
    _by_round = tuple(_structure)

    features: Int64Array
    thresholds: Float64Array
    directions: NDArray[np.int8]
    steps: Float64Array
    missing: NDArray[np.int8]

    @classmethod
    def empty(cls) -> StumpEnsemble:
        """No stumps."""
        none = np.empty(0)
        return cls(none.astype(np.int64), none, none.astype(np.int8), none, none.astype(np.int8))

    def single(self, base: Stump, step: float) -> Self:
        """An ensemble of a single stump."""
        return type(self)(
            np.array([base.feature], dtype=np.int64),
            np.array([base.threshold]),
            np.array([base.direction], dtype=np.int8),
            np.array([step]),
            np.array([base.missing], dtype=np.int8),
        )

    def score(self, X: Matrix) -> Float64Array:
        """Sum over all stumps of ``step`` for rows that go up and ``-step`` for rows that go down.

        The stumps of a column add up to a piecewise constant function. Evaluation takes O(log
        n_rounds) per row and column, whereas the sum over stages takes O(n_rounds) per row.
        """
        used, indptr, thresholds, values, missing = self.pieces()
        check_columns_read(used[-1:], X.shape[1])
        out = np.zeros(X.shape[0])
        if X.shape[0] * len(used) < SMALL_SUM and not is_ready(add_stumps):
            table = densify(X)  # compiled code takes longer to load than this
            for m, (column, low, high) in enumerate(zip(used, indptr, indptr[1:], strict=False)):
                cells = table[:, column]
                below = np.searchsorted(thresholds[low:high], cells)
                missed = np.isnan(cells)
                below[missed] = 0
                out += np.where(missed, missing[m], values[below + low + m])
            return out

        def add(start: int) -> None:
            rows = slice(start, start + ROWS_AT_ONCE)
            block = X[rows].toarray() if is_sparse(X) else X[rows]
            add_stumps(convert_layout(block), used, indptr, thresholds, values, missing, out[rows])

        n_threads = 1 if X.shape[0] * len(used) < SMALL_SUM else available_threads()
        thread_map(add, range(0, X.shape[0], ROWS_AT_ONCE), n_threads)
        return out

    def prepare(self, X: Matrix) -> Matrix:
        """Rows in the form that ``sides`` takes."""
        return X.tocsc() if is_sparse(X) else X

    def sides(self, prepared: Matrix) -> Iterator[NDArray[np.bool_]]:
        """Rows that go up, stump by stump; values may be missing only as in training."""
        for change in self._directions(prepared):
            yield change > 0

    def changes(self, prepared: Matrix) -> Iterator[Float64Array]:
        """Contribution of every stump to the scores of the rows."""
        for direction, step in zip(self._directions(prepared), self.steps.tolist(), strict=True):
            yield step * direction

    def _directions(self, prepared: Matrix) -> Iterator[NDArray[np.int8]]:
        """1 for rows that go up, -1 for those that go down, stump by stump."""
        used, place = np.unique(self.features, return_inverse=True)
        check_columns_read(used[-1:], prepared.shape[1])
        table = prepared[:, used]
        columns = np.ascontiguousarray(densify(table).T)
        holes = [np.flatnonzero(np.isnan(column)) for column in columns]
        for m, threshold, up, missing in zip(
            place, self.thresholds, self.directions, self.missing, strict=True
        ):
            direction = np.where(columns[m] > threshold, up, -up)
            direction[holes[m]] = missing
            yield direction

    def importances(self, n_features: int) -> Float64Array:
        """Share of each feature in the sum of all steps; 0 without stumps."""
        totals = np.bincount(self.features, self.steps, minlength=n_features)
        return totals / (totals.sum() or 1.0)

    def pieces(self) -> tuple[Int64Array, Int64Array, Float64Array, Float64Array, Float64Array]:
        """The piecewise constant functions of single features that the stumps add up to.

        Returns features, indptr, thresholds, values and missing. The features are the n_used ones
        of some stump, ascending. ``thresholds[indptr[m]:indptr[m + 1]]`` are those of feature m,
        ascending. The values of feature m start at ``indptr[m] + m``; value k applies if k
        thresholds are below. ``missing``, (n_used,), is the value for rows in which the feature is
        missing.
        """
        order = np.lexsort((self.thresholds, self.features))
        used, place, counts = np.unique(self.features, return_inverse=True, return_counts=True)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        thresholds, steps = self.thresholds[order], (self.directions * self.steps)[order]
        pieces = [
            # Below all thresholds every stump counts against its direction; each threshold passed
            # turns one around, which is twice its step.
            np.concatenate([[0.0], 2.0 * np.cumsum(column_steps)]) - column_steps.sum()
            for column_steps in np.split(steps, indptr[1:-1])
        ]
        missing = np.bincount(place, self.missing * self.steps, minlength=len(used))
        return used, indptr, thresholds, np.concatenate([np.empty(0), *pieces]), missing
