"""One hash per row that depends only on its values, for an order independent of the file.

Folds, subsamples and landmarks are chosen by these hashes and not by position, so that the same
rows in any order give the same choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.kernels.row_hash import hash_rows
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse, join_rows

_ROWS_PER_CHUNK = 4096

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def row_hashes(X: Matrix, y: Float64Array | None = None, n_threads: int = 1) -> Hashes:
    """Exact integer hash, uint64, of every row and, if given, its label.

    NaN is allowed; float32 and float64 of the same values, dense and CSR, have equal hashes. Other
    rows collide with probability 2^-64. O(n_samples n_features), in chunks of rows; zeros add
    nothing, so CSR needs no zeros.
    """
    multipliers = _multipliers(X.shape[1])
    keys = np.empty(X.shape[0], dtype=np.uint64)

    def write(first: int) -> None:
        rows = slice(first, first + _ROWS_PER_CHUNK)
        block = X[rows]
        if is_sparse(block):
            terms = _bits(block.data) * multipliers[block.indices]
            ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            keys[rows] = ends[block.indptr[1:]] - ends[block.indptr[:-1]]
        else:
            block = np.ascontiguousarray(block, dtype=np.float64)
            hash_rows(block.view(np.uint64), multipliers, keys[rows])
        if y is not None:
            keys[rows] += _bits(y[rows]) * multipliers[-1]

    thread_map(write, range(0, X.shape[0], _ROWS_PER_CHUNK), n_threads)
    return keys


def scramble(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """uint64 to uint64, one to one, 0 to 0 (the finaliser of splitmix64)."""
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
    row was shown; the rows of a query are then sorted by it first. Only rows that agree in all
    values, in weight and in place, or collide in 64 bits, keep their input order. O(n_samples
    n_features).
    """
    row_key = row_hashes(X, y)
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


def _multipliers(n_features: int) -> np.ndarray[Any, Any]:
    """Fixed odd numbers: one per column and a last one for the label."""
    draws = np.random.default_rng(20130613).integers(0, 2**63, n_features + 1, dtype=np.uint64)
    return np.roll(draws, -1) | np.uint64(1)


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Scrambled bits of the values as float64; all NaN are equal, and -0.0 equals 0.0."""
    values = values.astype(np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return scramble(values.view(np.uint64))
