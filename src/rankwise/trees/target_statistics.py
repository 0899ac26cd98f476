"""Numbers in place of categories, estimated from labels.

The statistic of a category estimates by how much the labels of its rows exceed those of the other
rows of their queries. The statistics of all columns are estimated together, as the effects of an
additive model, so that a column does not carry what another one explains. They are shrunk towards
0, the statistic of unknown categories.

A training row may not see its own label, or those of its query: its tree would learn from a number
that later rows do not have [1]_. Queries therefore come in a random order, in blocks, and the rows
of a block receive the statistics of the blocks before it. Later rows receive those of all rows.

References
----------
.. [1] Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.column_table import ColumnTable
from rankwise.typing import Float64Array, Int64Array

CategoricalEncoding = Literal["auto", "subset", "ordered"]
# Chosen on seeds and splits 0 to 4 of benchmarks/study_categories.py. A strength of 1 costs .005
# nDCG@10 at 10,000 levels and nothing elsewhere; components of variance, other numbers of blocks
# and of sweeps differ by less than their errors. Not kept: statistics of each column alone (.005
# worse at 200 levels, .027 at 1,000), means over several orders (.003 to .007 worse), statistics
# from other folds of queries, and gains, roots or normal scores in place of labels.
STRENGTH = 3.0  # weight of the rows that a category seems to have at the prior
N_BLOCKS = 16
N_SWEEPS = 2  # over the columns in every block, from the estimates of the block before
LAST_SWEEPS = 4  # over all rows
LEAST_Z = 2.0  # of the variance between the categories of a column that has effects
MOST_IN_SUBSETS = 16  # categories of a column that "auto" splits by subsets
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """Encoding of the nominal columns of a fit: by codes at first, then some by statistics."""

    codes: ColumnTable  # all nominal columns by codes; -1: unknown to the fit that this continues
    earlier: ColumnTable | None  # of that fit, with statistics to keep
    encoded: list[int]  # columns that receive statistics

    @classmethod
    def of(
        cls, columns: ColumnTable, earlier: ColumnTable | None, encoding: CategoricalEncoding
    ) -> ColumnEncoder:
        """Choose the columns to encode; the fit that this one continues has chosen before."""
        if earlier is not None:
            is_kept = {"auto": True, "subset": not earlier.statistics,
                       "ordered": earlier.nominal.keys() == earlier.statistics.keys()}  # fmt: skip
            if not is_kept[encoding]:
                raise ValueError(
                    "categorical_encoding must be that of the fit that warm_start continues, which "
                    f"replaced the categories of columns {sorted(earlier.statistics)} by numbers, "
                    f"got {encoding!r}. Set it to what it was, or warm_start=False."
                )
            continued = columns.continue_codes(earlier, "warm_start")
            codes = replace(continued, statistics={}, prior={})
            return cls(codes, earlier, sorted(earlier.statistics))
        most = {"auto": MOST_IN_SUBSETS, "subset": np.inf, "ordered": -1}[encoding]
        encoded = [j for j, categories in columns.nominal.items() if len(categories) > most]
        return cls(columns, None, encoded)

    def encode_rows(
        self,
        X: Any,
        order: Int64Array,
        y: Float64Array,
        indptr: Int64Array,
        weight: Float64Array | None,
        seed: int,
    ) -> tuple[Any, ColumnTable]:
        """Rows with values in place of codes, and the table that encodes later rows.

        ``order`` gives the distinct rows, query by query; other rows keep their codes. ``y`` and
        ``weight`` are those of the distinct rows.
        """
        nominal, encoded = self.codes.nominal, self.encoded
        if not encoded:
            return X, self.codes
        sizes = [len(nominal[column]) for column in encoded]
        cells = order[:, None], np.array(encoded)
        codes = X[cells].astype(np.float64)
        values, statistics = encode_in_order(codes, sizes, y, indptr, weight, seed)
        by_column, prior = dict(zip(encoded, statistics, strict=True)), dict.fromkeys(encoded, 0.0)
        if self.earlier is not None:
            by_column, prior = self.earlier.statistics, self.earlier.prior
        # Frames may give an array that is read-only. The encoded columns are never the user's own.
        X = X if X.flags.writeable else X.copy()
        X[cells] = values
        return X, replace(self.codes, statistics=by_column, prior=prior)


def encode_in_order(
    codes: NDArray[np.float64],
    n_categories: list[int],
    y: Float64Array,
    indptr: Int64Array,
    weight: Float64Array | None,
    seed: int,
) -> tuple[Float64Array, list[Float64Array]]:
    """Values of the training rows, and the statistics of the categories of each column.

    ``codes`` is (n_rows, n_columns), NaN where missing, as are the values; negative codes are
    unknown and have the value 0. Rows of a query follow each other, and ``indptr`` is
    (n_queries + 1,). The order of the queries depends on their given order and the seed.
    O(N_BLOCKS N_SWEEPS n_rows n_columns).

    All results are float32 numbers, see :class:`rankwise.trees.column_table.ColumnTable`.
    """
    indptr = np.unique(indptr)  # without empty queries
    sizes = np.diff(indptr)
    # Rows in the random order of the queries: the blocks before a block are the first rows.
    chosen = np.random.default_rng(seed).permutation(len(sizes))
    ends = np.cumsum(sizes[chosen])
    starts = ends - sizes[chosen]
    rows = np.repeat(indptr[:-1][chosen] - starts, sizes[chosen]) + np.arange(len(y))
    effects = CategoryEffects(
        codes[rows], n_categories, y[rows], starts, None if weight is None else weight[rows]
    )
    values = np.empty(codes.T.shape)
    cuts = np.unique(np.arange(N_BLOCKS + 1) * len(sizes) // N_BLOCKS)
    for first, last in pairwise(cuts):
        if first:
            effects.estimate(int(first), N_SWEEPS)
        part = slice(starts[first], ends[last - 1])
        values[:, part] = effects.read(part)
    effects.estimate(len(sizes), LAST_SWEEPS)
    out = np.empty(codes.shape)
    out[rows] = values.T
    out[np.isnan(codes)] = np.nan
    return _round(out), [_round(statistics[:-1]) for statistics in effects.statistics]


class CategoryEffects:
    """Additive effects of the categories of several columns on labels, by ridge regression.

    Queries have effects of their own, without a penalty. Columns whose categories differ no more
    than those of random ids do have none: trees would split their noise. Block coordinate descent
    starts from the estimates of the call before.
    """

    def __init__(
        self,
        codes: NDArray[np.float64],
        n_categories: list[int],
        y: Float64Array,
        starts: Int64Array,
        weight: Float64Array | None,
    ) -> None:
        self._starts = starts
        self._query = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(y))))
        # Labels of any size: neither their differences nor sums of them overflow.
        target = y / (np.abs(y).max() or 1.0)
        self._target = target - target.min()
        # Missing and unknown values have the last category, whose effect remains 0.
        self._codes = [
            np.where(column >= 0, column, size).astype(np.int64)
            for column, size in zip(codes.T, n_categories, strict=True)
        ]
        self.statistics = [np.zeros(size + 1) for size in n_categories]
        # Queries of equal labels say nothing about categories.
        low, high = (part.reduceat(y, starts) for part in (np.minimum, np.maximum))
        self._weight = np.where(low < high, 1.0, 0.0)[self._query]
        if weight is not None:
            self._weight *= weight
        totals = np.add.reduceat(self._weight, starts)
        sums = np.add.reduceat(self._weight * self._target, starts)
        centred = self._target - (sums / np.maximum(totals, _TINY))[self._query]
        self._chosen = [j for j, size in enumerate(n_categories) if self._differ(j, size, centred)]

    def _differ(self, column: int, size: int, centred: Float64Array) -> bool:
        """Whether the categories of a column differ in an analysis of variance."""
        codes, weight = self._codes[column], self._weight
        counts = np.bincount(codes, weight, size + 1)[:size]
        sums = np.bincount(codes, weight * centred, size + 1)[:size]
        squares = np.bincount(codes, weight * centred**2, size + 1)[:size].sum()
        between = (sums**2 / np.maximum(counts, _TINY)).sum()
        n_seen, n_more = np.count_nonzero(counts), counts.sum() - np.count_nonzero(counts)
        if n_more < 1:  # no category has two rows
            return False
        variance = (squares - between) / n_more
        error = variance * np.sqrt(2 * n_seen * (1 + n_seen / n_more))
        return bool(between - n_seen * variance > LEAST_Z * error)

    def estimate(self, n_queries: int, n_sweeps: int) -> None:
        """Estimate the effects from the first queries."""
        starts = self._starts[:n_queries]
        n_rows = len(self._target) if n_queries == len(self._starts) else self._starts[n_queries]
        query, weight = self._query[:n_rows], self._weight[:n_rows]
        totals = np.maximum(np.add.reduceat(weight, starts), _TINY)
        codes = [column[:n_rows] for column in self._codes]
        sizes = [len(statistics) for statistics in self.statistics]
        counts = [np.bincount(c, weight, size) for c, size in zip(codes, sizes, strict=True)]
        effects = [statistics[c] for statistics, c in zip(self.statistics, codes, strict=True)]
        residual = self._target[:n_rows] - sum(effects)
        for _ in range(n_sweeps):
            for j in self._chosen:
                column = codes[j]
                means = np.add.reduceat(weight * residual, starts) / totals
                excess = weight * (residual - means[query] + effects[j])
                statistics = np.bincount(column, excess, sizes[j]) / (counts[j] + STRENGTH)
                statistics[-1] = 0.0
                residual += effects[j]
                effects[j] = statistics[column]
                residual -= effects[j]
                self.statistics[j] = statistics

    def read(self, rows: slice) -> Float64Array:
        """Effects of the categories of some rows, (n_columns, n_rows)."""
        both = zip(self.statistics, self._codes, strict=True)
        return np.array([statistics[codes[rows]] for statistics, codes in both])


def _round(values: Float64Array) -> Float64Array:
    return values.astype(np.float32).astype(np.float64)
