"""Hashes of rows by their values alone, and orders of rows that they determine.

Folds, subsamples and landmarks are chosen by hashes and not by position, so that the same rows in
any order give the same choice. Equal rows of a query are merged: the result of an iterative solver
depends in its last digits on the order of its sums, so only merged rows in a fixed order make a
weight exactly equivalent to repetition.

The bits of a value are mixed by the finaliser of SplitMix64 [1]_, which maps 0 to 0, and multiplied
by an odd number of its column (or row); products are summed modulo 2^64. Zeros therefore add
nothing, a CSR matrix and its dense form have the same hashes, and sums of blocks can be added in
any order.

References
----------
.. [1] Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.kernels.sorting import hash_rows, join_queries, order_queries
from rankwise.runtime.jit import is_ready
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, canonicalize, is_sparse, join_rows

_ROWS_PER_CHUNK = 4096
# Values that NumPy hashes before compiled code would be loaded.
FEW_CELLS = 1 << 20

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def row_hashes(
    X: Matrix,
    y: Float64Array | None = None,
    n_threads: int = 1,
    numbers: Int64Array | None = None,
) -> Hashes:
    """Exact integer hash, uint64, of every row and, if given, its label.

    ``numbers`` are the row numbers of X to which ``y`` belongs; None: all.

    NaN is allowed; float32 and float64 of the same values, dense and CSR, have equal hashes. Other
    rows collide with probability 2^-64. O(n_samples n_features), in chunks of rows; zeros add
    nothing, so CSR needs no zeros.
    """
    # Odd numbers: one per column and a last one for the label.
    draws = np.random.default_rng(20130613).integers(0, 2**63, X.shape[1] + 1, dtype=np.uint64)
    multipliers = np.roll(draws, -1) | np.uint64(1)
    n = X.shape[0] if numbers is None else len(numbers)
    keys = np.empty(n, dtype=np.uint64)

    def write(first: int) -> None:
        rows = slice(first, first + _ROWS_PER_CHUNK)
        block = X[rows if numbers is None else numbers[rows]]
        if is_sparse(block):
            terms = _bits(block.data) * multipliers[block.indices]
            ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            keys[rows] = ends[block.indptr[1:]] - ends[block.indptr[:-1]]
        else:
            block = np.ascontiguousarray(block, dtype=np.float64)
            if n * X.shape[1] <= FEW_CELLS and not is_ready(hash_rows):
                terms = _bits(block) * multipliers[:-1]
                keys[rows] = terms.sum(axis=1, dtype=np.uint64)
            else:
                hash_rows(block.view(np.uint64), multipliers, keys[rows])
        if y is not None:
            keys[rows] += _bits(y[rows]) * multipliers[-1]

    thread_map(write, range(0, n, _ROWS_PER_CHUNK), n_threads)
    return keys


def scramble(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """uint64 to uint64, one to one, 0 to 0: the finaliser of SplitMix64."""
    z = z ^ (z >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def canonical_order(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
    place: Int64Array | None = None,
    numbers: Int64Array | None = None,
) -> tuple[Int64Array, Int64Array]:
    """Row numbers in an order that depends on content alone, and the rows per query in it.

    Boosting libraries break ties by row order, sample rows by position and sum in input order, so a
    shuffled file would give a different model. Before the first tree all scores are equal, so a
    file sorted by grade would even leak the labels into the first ranking. Bags of rows drawn by
    position would differ too. Here rows are sorted by a hash of their values and queries by a hash
    of their rows. Any order of the same rows then trains a bit-identical model.

    ``X[order]`` holds whole queries one after the other; the sizes are (n_queries,). NaN is
    allowed; float32 and float64 of the same values, dense and CSR, give one order. Weights are > 0;
    whole weights order queries as repeated rows would. ``place`` is the position >= 0 at which each
    row was shown; the rows of a query are then sorted by it first. ``numbers`` are the row numbers
    of X to which the other arrays belong, whose positions are returned; None: all. Only rows that
    agree in all values, in weight and in place, or collide in 64 bits, keep their input order.
    O(n_samples n_features).
    """
    row_key = row_hashes(X, y, numbers=numbers)
    if place is not None:
        row_key ^= scramble(place.astype(np.uint64) + np.uint64(1))
    # Rows of zeros with label 0 have the hash 0. As a term, 0 would count for no row.
    terms, ties = scramble(np.maximum(row_key, np.uint64(1))), np.zeros(len(row_key))
    if weight is not None:
        ties = weight
        is_whole = not (weight % 1).any() and weight.max(initial=0) < 2.0**63
        terms = terms * (weight.astype(np.uint64) if is_whole else _bits(weight))
    filled = groups.sizes > 0
    query_key = np.zeros(groups.n_queries, dtype=np.uint64)
    query_key[filled] = np.add.reduceat(groups.sort(terms), groups.indptr[:-1][filled])
    codes = groups.codes()
    first = np.zeros(len(row_key), dtype=np.int64) if place is None else place
    order = np.lexsort((ties, row_key, first, codes, query_key[codes]))
    sizes = groups.sizes[np.argsort(query_key, kind="stable")]
    return order, sizes[sizes > 0]


def merge_in_order(
    X: Matrix, y: Float64Array, groups: QueryGroups, weight: Float64Array | None
) -> tuple[Int64Array, Int64Array, Float64Array | None]:
    """Distinct rows of each query in canonical order: row numbers, indptr, weights.

    Copies count where queries are put in order, unlike in :func:`distinct_rows_of_queries`.
    Weights are None if all are 1.
    """
    order, sizes = canonical_order(X, y, groups, weight)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    hashes = row_hashes(X, y)[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = hashes[1:] != hashes[:-1]
    is_new[starts[:-1]] = True
    first = np.flatnonzero(is_new)
    copies = np.ones(len(order)) if weight is None else weight[order]
    totals = np.add.reduceat(copies, first)
    indptr = np.searchsorted(first, starts).astype(np.int64)
    return order[first], indptr, totals if (totals != 1).any() else None


def distinct_rows(X: Matrix, most: int | None = None, salt: int | None = None) -> Int64Array:
    """Row numbers of distinct rows in the order of their keys; the first ``most`` of them.

    Repeated rows are kept once, so neither repetition nor row order changes the result. The keys
    are the hashes or, with a salt, a random order that the salt determines.
    """
    _, first = np.unique(row_keys(X, salt), return_index=True)
    return first[:most].astype(np.int64)


def row_keys(X: Matrix, salt: int | None = None) -> Hashes:
    """Hash of every row; a salt from 0 to 2^63 - 1 gives a different hash."""
    hashes = row_hashes(X)
    return hashes if salt is None else scramble(hashes ^ np.uint64(salt))


class LeastRows:
    """The distinct rows with the smallest keys, as :func:`distinct_rows`, for rows in parts.

    At most ``most`` rows are kept.
    """

    def __init__(self, most: int, salt: int | None = None) -> None:
        self._most, self._salt = most, salt
        self._keys: Hashes = np.zeros(0, dtype=np.uint64)
        self._rows: Matrix | None = None

    def add(self, X: Matrix) -> None:
        """Add more rows; all parts must have the same format and dtype."""
        keys = np.concatenate([self._keys, row_keys(X, self._salt)])
        self._keys, kept = np.unique(keys, return_index=True)
        self._keys, kept = self._keys[: self._most], kept[: self._most]
        n_before = 0 if self._rows is None else self._rows.shape[0]
        new = np.sort(kept[kept >= n_before])
        both = (
            X[new - n_before] if self._rows is None else join_rows([self._rows, X[new - n_before]])
        )
        place = np.arange(n_before + len(new))
        place[n_before:] = new
        self._rows = both[np.searchsorted(place, kept)]

    def joined(self, other: LeastRows) -> LeastRows:
        """Selection from the rows seen by this object and another one with the same salt."""
        both = LeastRows(self._most, self._salt)
        for part in (self, other):
            if part._rows is not None:
                both.add(part._rows)
        return both

    def rows(self) -> Matrix:
        """The rows, in the order of their keys."""
        assert self._rows is not None
        return self._rows


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Scrambled bits of the values as float64; all NaN are equal, and -0.0 equals 0.0."""
    values = values.astype(np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return scramble(values.view(np.uint64))


VALUES_PER_BLOCK = 1 << 17

UInt64Array = NDArray[np.uint64]


@dataclass(frozen=True)
class TableHash:
    """Results of one pass over a matrix, or over several stacked matrices.

    ``rows`` is (n_samples,), all others are (n_features,).
    """

    rows: UInt64Array
    columns: UInt64Array
    first: UInt64Array  # mixed bits of the first row
    constant: NDArray[np.bool_]  # whether all rows equal the first one (all NaN counts as constant)
    n_nan: Int64Array
    n_inf: Int64Array

    def below(self, other: TableHash) -> TableHash:
        """Hash of the matrix of ``other`` with this one below it."""
        empty = len(other.rows) == 0, len(self.rows) == 0
        same = (self.first == other.first) | any(empty)
        return TableHash(
            np.concatenate([other.rows, self.rows]),
            other.columns + self.columns,
            self.first if empty[0] else other.first,
            other.constant & self.constant & same,
            other.n_nan + self.n_nan,
            other.n_inf + self.n_inf,
        )


def hash_table(X: Matrix, first_row: int = 0) -> TableHash:
    """Hash a matrix whose first row is row ``first_row`` of the whole.

    O(stored values): a few passes over blocks that stay in the cache, on all threads.
    """
    n_rows, n_columns = X.shape
    row_factors, column_factors = _factors(first_row, n_rows), _factors(0, n_columns)
    if is_sparse(X):
        return _hash_csr(X, row_factors, column_factors)
    first = _mix_bits(X[:1]).ravel() if n_rows else np.zeros(n_columns, dtype=np.uint64)
    rows = np.zeros(n_rows, dtype=np.uint64)
    step = max(1, VALUES_PER_BLOCK // max(1, n_columns))

    def block(start: int) -> tuple[UInt64Array, NDArray[np.bool_], Int64Array, Int64Array]:
        part = X[start : start + step]
        mixed = _mix_bits(part)
        rows[start : start + step] = mixed @ column_factors
        finite = np.isfinite(part)
        n_nan = n_inf = np.zeros(n_columns, dtype=np.int64)
        if not finite.all():
            n_nan = np.isnan(part).sum(axis=0)
            n_inf = np.isinf(part).sum(axis=0)
        columns = row_factors[start : start + step] @ mixed
        return columns, (mixed == first).all(axis=0), n_nan, n_inf

    columns, n_nan, n_inf = (np.zeros(n_columns, dtype=t) for t in (np.uint64, int, int))
    constant = np.ones(n_columns, dtype=bool)
    for part_columns, part_constant, part_nan, part_inf in thread_map(
        block, range(0, n_rows, step)
    ):
        columns += part_columns
        constant &= part_constant
        n_nan += part_nan
        n_inf += part_inf
    return TableHash(rows, columns, first, constant, n_nan, n_inf)


def _mix_bits(values: NDArray[Any]) -> UInt64Array:
    """Mixed bits of numbers; −0.0 is treated as 0, all NaN as one, and float32 not converted."""
    values = values + values.dtype.type(0)
    if values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    words = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return scramble(words.astype(np.uint64))


def _factors(start: int, n: int) -> UInt64Array:
    """Odd pseudo-random numbers for rows or columns ``start`` to ``start + n``."""
    return scramble(np.arange(start + 1, start + n + 1, dtype=np.uint64)) | np.uint64(1)


def _hash_csr(X: Any, row_factors: UInt64Array, column_factors: UInt64Array) -> TableHash:
    n_rows, n_columns = X.shape
    X = canonicalize(X)
    mixed = sparse.csr_matrix((_mix_bits(X.data), X.indices, X.indptr), shape=X.shape)
    stored = X.indices[mixed.data != 0]
    n_stored = np.bincount(stored, minlength=n_columns)
    first = (
        mixed[:1].toarray().ravel().astype(np.uint64) if n_rows else np.zeros(n_columns, np.uint64)
    )
    constant = n_stored == 0
    full = np.flatnonzero(n_stored == n_rows) if n_rows else np.empty(0, dtype=int)
    constant[full] = [(mixed[:, j].data == first[j]).sum() == n_rows for j in full]
    return TableHash(
        np.asarray(mixed @ column_factors),
        np.asarray(mixed.T @ row_factors),
        first,
        constant,
        np.bincount(X.indices[np.isnan(X.data)], minlength=n_columns),
        np.bincount(X.indices[np.isinf(X.data)], minlength=n_columns),
    )


SAMPLED_ROWS = 256


def training_fingerprint(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None = None,
    *,
    numbers: Int64Array | None = None,
    previous: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Counts and a hash of training rows.

    ``n_samples, n_features, n_queries`` (int), ``dtype`` (str) and ``sha256`` (str, the first 16
    hexadecimal digits). ``numbers`` are the row numbers of X that count; None: all. ``previous`` is
    the fingerprint of the rows seen before (``partial_fit``): counts add up and the hash continues.
    O(n_samples + 256 n_features).
    """
    n_samples, n_features = len(y), X.shape[1]
    counts = {"n_samples": n_samples, "n_features": n_features, "n_queries": groups.n_queries}
    digest = hashlib.sha256()
    if previous is not None:
        digest.update(previous["sha256"].encode())
    digest.update(f"{n_samples} {n_features} {X.dtype}".encode())
    for part in (y, sample_weight, groups.indptr, groups.order, *_sampled_entries(X, numbers)):
        digest.update(b"-" if part is None else np.ascontiguousarray(part).data)
    if previous is not None:
        for what in ("n_samples", "n_queries"):
            counts[what] += previous[what]
    return {**counts, "dtype": str(X.dtype), "sha256": digest.hexdigest()[:16]}


def _sampled_entries(X: Matrix, numbers: Int64Array | None) -> tuple[np.ndarray[Any, Any], ...]:
    """Row, column and value of the non-zero entries of the sampled rows, row by row."""
    n_samples = X.shape[0] if numbers is None else len(numbers)
    steps = np.linspace(0, max(n_samples - 1, 0), min(n_samples, SAMPLED_ROWS)).astype(np.int64)
    rows = X[steps if numbers is None else numbers[steps]]
    if is_sparse(rows):
        rows = rows.tocsr()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        column, value = rows.indices, rows.data
    else:
        row, column = np.nonzero(rows)
        value = rows[row, column]
    return row.astype(np.int64), column.astype(np.int64), value


CHUNK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows of each query; queries are consecutive."""

    rows: Int64Array  # (n_merged,), one input row for each merged row
    indptr: Int64Array  # (n_queries + 1,)
    weight: Float64Array  # (n_merged,), sums of the weights
    position: Int64Array  # (n_samples,), merged row of each input row
    share: Float64Array  # (n_samples,), share of each input row in the weight of its merged row


def sort_rows(groups: QueryGroups, sample_weight: Float64Array | None) -> MergedRows:
    """Rows in group order without merging, for inputs where merging would take too long."""
    order = groups.rows(np.arange(groups.n_queries))
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    return MergedRows(order, groups.indptr, weight, np.argsort(order), np.ones(len(order)))


def merge_rows(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
) -> MergedRows:
    """Merge the rows of each query that are equal in features and label; O(N d)."""
    position = np.empty(len(y), dtype=np.int64)
    rows, indptr, total = distinct_rows_of_queries(X, y, groups, sample_weight, position=position)
    total = np.ones(len(rows)) if total is None else total
    weight = 1.0 if sample_weight is None else sample_weight
    return MergedRows(rows, indptr, total, position, weight / total[position])


def distinct_rows_of_queries(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
    shown_at: Int64Array | None = None,
    position: Int64Array | None = None,
    n_threads: int = 1,
    numbers: Int64Array | None = None,
) -> tuple[Int64Array, Int64Array, Float64Array | None]:
    """Distinct rows of each query in the order of :func:`merge_rows`, in little memory.

    Returns the rows (n_merged,), indptr (n_queries + 1,) and the weights (n_merged,), None if all
    are 1. ``shown_at`` holds the position at which each row was shown: rows of different positions
    differ, and the rows of a query are sorted by it first. ``position`` is an output array, filled
    with the merged row of each input row. ``numbers`` are the row numbers of X to which the other
    arrays belong, whose positions are returned; None: all.

    Needs 24 bytes per row. The weights of equal rows are added in ascending order, so their sum is
    bit-identical for any input order.
    """
    n, chunks = len(y), query_chunks(groups.indptr, CHUNK_ROWS)
    ordered, is_new, sizes, query_keys = _order(
        row_hashes(X, y, n_threads, numbers), groups, sample_weight, shown_at, n_threads
    )
    by_content = np.lexsort(query_keys)
    indptr = np.concatenate([[0], np.cumsum(sizes[by_content])]).astype(np.int64)
    starts = np.empty(groups.n_queries, dtype=np.int64)
    starts[by_content] = indptr[:-1]
    n_merged = int(indptr[-1])
    out = np.empty(n_merged, dtype=np.int64)
    has_weight = sample_weight is not None or n_merged < n
    weights = np.zeros(0)
    if sample_weight is not None:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    totals = np.zeros(n_merged if has_weight else 0)
    merged_of_row = np.zeros(0, dtype=np.int64) if position is None else position

    def join(queries: tuple[int, int]) -> None:
        join_queries(
            ordered, is_new, groups.indptr, starts, *queries, weights, out, totals, merged_of_row
        )

    if n <= FEW_ROWS:
        join_few(ordered, is_new, groups.indptr, starts, weights, out, totals, merged_of_row)
    else:
        thread_map(join, chunks, n_threads)
    return out, indptr, totals if has_weight and (totals != 1).any() else None


def _order(
    hashes: Hashes,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
    shown_at: Int64Array | None,
    n_threads: int,
) -> tuple[Int64Array, NDArray[np.bool_], Int64Array, tuple[Float64Array, NDArray[np.uint64]]]:
    """Rows of each query sorted by content, and a mask of the distinct ones.

    For each query, also the number of distinct rows, and the keys by which queries are sorted (the
    last one first): a hash of their distinct rows, and a sum of their weights.
    """
    keys, n = hashes[None], len(hashes)
    if shown_at is not None:
        hashes ^= scramble(shown_at.astype(np.uint64) + np.uint64(1))
        keys = np.stack([hashes, shown_at.astype(np.uint64)])
    hash_line = 0
    if sample_weight is not None:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
        keys, hash_line = np.concatenate([weights.view(np.uint64)[None], keys]), 1
    rows = np.arange(n) if groups.order is None else groups.order.copy()
    is_new = np.empty(n, dtype=bool)
    sizes = np.empty(groups.n_queries, dtype=np.int64)
    query_keys, sums = np.empty(groups.n_queries, dtype=np.uint64), np.empty(groups.n_queries)

    def sort(queries: tuple[int, int]) -> None:
        order_queries(
            keys, hash_line, groups.indptr, *queries, rows, is_new, sizes, query_keys, sums
        )

    if n <= FEW_ROWS:
        order_few(keys, hash_line, groups.indptr, rows, is_new, sizes, query_keys, sums)
        return rows, is_new, sizes, (sums, query_keys)
    thread_map(sort, query_chunks(groups.indptr, CHUNK_ROWS), n_threads)
    return rows, is_new, sizes, (sums, query_keys)


# Rows up to which NumPy is done in milliseconds.
FEW_ROWS = 20_000
_TO_SHARE = 2.0**-64


def order_few(
    keys: NDArray[np.uint64],
    hash_line: int,
    indptr: Int64Array,
    rows: Int64Array,
    is_new: NDArray[np.bool_],
    sizes: Int64Array,
    query_keys: NDArray[np.uint64],
    sums: Float64Array,
) -> None:
    """Sort the rows of all queries, see :func:`rankwise.kernels.sorting.order_queries`.

    O(n log n) for n rows.
    """
    n_queries, lengths = len(sizes), np.diff(indptr)
    query = np.repeat(np.arange(n_queries), lengths)
    rows[:] = rows[np.lexsort((*keys[:, rows], query))]
    hashes = keys[hash_line, rows]
    is_new[:] = True
    is_new[1:] = hashes[1:] != hashes[:-1]
    is_new[indptr[:-1][lengths > 0]] = True
    sizes[:] = np.bincount(query[is_new], minlength=n_queries)
    # The hash of zeros with label 0 is 0, which would count as no row.
    z = scramble(np.maximum(hashes, np.uint64(1)))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(z * is_new, dtype=np.uint64)])
    query_keys[:] = ends[indptr[1:]] - ends[indptr[:-1]]
    weight = keys[0].view(np.float64)[rows] if hash_line > 0 else 1.0
    # Unlike other sums of NumPy, this one adds row by row.
    sums[:] = np.bincount(query, weight * (z.astype(np.float64) * _TO_SHARE), n_queries)


def join_few(
    rows: Int64Array,
    is_new: NDArray[np.bool_],
    indptr: Int64Array,
    starts: Int64Array,
    weights: Float64Array,
    out: Int64Array,
    totals: Float64Array,
    places: Int64Array,
) -> None:
    """Move distinct rows together, see :func:`rankwise.kernels.sorting.join_queries`."""
    count = np.concatenate([[0], np.cumsum(is_new)])
    place = count[1:] - 1 + np.repeat(starts - count[indptr[:-1]], np.diff(indptr))
    out[place[is_new]] = rows[is_new]
    if len(totals):
        totals[:] = np.bincount(place, weights[rows] if len(weights) else None, len(totals))
    if len(places):
        places[rows] = place
