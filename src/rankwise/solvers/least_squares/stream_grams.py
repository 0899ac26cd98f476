"""Gram statistics of rows that arrive in pieces: the bits of rows in memory.

What :func:`rankwise.solvers.least_squares.gram.fold_grams` does with all rows at hand, done with
the chunks that :mod:`rankwise.streams.query_cutting` hands out: the same blocks, precision and
order of sums. Chunks are multiplied on all cores while the next ones arrive.

Float32 blocks are multiplied in float64 where there are few rows. Where nobody knows how many there
will be, the first ones are multiplied in both precisions, until one of the sums is the right one:
``PRECISE_FLOPS`` multiplications more, once.

Memory: ``N_LANES`` p x p sums for each block map, one p x p product and a few chunks of rows a
thread; nothing grows with the rows. Large queries over pairs of different grades are summed in
another order than in memory (equal to rounding).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.runtime.threads import Lanes
from rankwise.solvers.least_squares.gram import (
    BlockMap,
    Problem,
    add_chunk,
    add_piece,
    is_precise,
    n_lanes,
)
from rankwise.solvers.least_squares.statistics import Gram, GramSum, OpenQuery
from rankwise.typing import FloatArray

# Sums over pairs of different grades take a p x p matrix for each grade.
_LANES_OF_GRADES = 2


class StreamGrams:
    """Statistics of each fold for each block map; a sink for the cutters.

    Parameters
    ----------
    maps : sequence of block maps
    n_folds : int
    lanes : Lanes
        Does the work.
    n_rows : int or None
        Number of all rows, which decides the precision of float32 blocks; None: not known.

    Attributes
    ----------
    edges : list of (query id, fold, list of OpenQuery, one for each block map)
        Queries that may go on elsewhere.
    """

    def __init__(
        self, maps: Sequence[BlockMap], n_folds: int, lanes: Lanes, n_rows: int | None = None
    ) -> None:
        self._maps, self._n_folds, self._lanes, self._n_rows = maps, n_folds, lanes, n_rows
        self._of_maps: list[dict[bool, _Sums]] = []
        self._n_seen = 0
        self._n_chunks: dict[int, int] = defaultdict(int)
        self._n_pieces = 0
        self._scratch = threading.local()
        self.edges: list[tuple[Any, int, list[OpenQuery]]] = []

    def chunk(self, fold: int, rows: Problem) -> None:
        """Add whole queries."""
        self._count(rows)
        lane = self._n_chunks[fold] % n_lanes(self._n_folds)
        self._n_chunks[fold] += 1
        for place, sums in self._places(fold, lane):
            self._lanes.put(place, sums.work_of_chunk(fold, lane, rows, self._scratch))

    def piece(self, fold: int, rows: Problem) -> None:
        """Add rows of the large query at hand."""
        self._count(rows)
        lanes = n_lanes(self._n_folds)
        if rows.graph == "distinct":
            lanes = min(lanes, _LANES_OF_GRADES)
        lane = self._n_pieces % lanes
        self._n_pieces += 1
        for place, sums in self._places(fold, lane):
            self._lanes.put(place, sums.work_of_piece(lane, rows, self._scratch))

    def close(self, fold: int, edge: Any) -> None:
        """Finish the large query: into the total, or, for an edge, to :attr:`edges`."""
        self._lanes.wait()
        self._n_pieces = 0
        opened = [
            {precise: part.opened() for precise, part in sums.items()} for sums in self._of_maps
        ]
        if edge is not None:
            self.edges.append((edge, fold, [self._right(queries) for queries in opened]))
            return
        for sums, queries in zip(self._of_maps, opened, strict=True):
            for precise, query in queries.items():
                sums[precise].close(fold, query)

    def grams(self) -> list[list[Gram]]:
        """For each block map, the statistics of each fold."""
        self._lanes.wait()
        if not self._of_maps:
            return [[Gram.zeros(phi.n_features_out)] * self._n_folds for phi in self._maps]
        return [self._right(sums).grams() for sums in self._of_maps]

    @staticmethod
    def _right(by_precision: dict[bool, Any]) -> Any:
        """The precise one, unless there were too many rows for it."""
        return by_precision.get(True) or by_precision[False]

    def _count(self, rows: Problem) -> None:
        """Begin with the first rows, and drop what the number of rows rules out."""
        if not self._of_maps:
            self._of_maps = [
                {
                    precise: _Sums(phi, self._n_folds, precise)
                    for precise in self._precisions(phi, rows)
                }
                for phi in self._maps
            ]
        self._n_seen += len(rows.y)
        for sums in self._of_maps:
            if len(sums) > 1 and not is_precise(self._n_seen, sums[True].p):
                del sums[True]

    def _precisions(self, phi: BlockMap, rows: Problem) -> list[bool]:
        if phi(rows.X[:1]).dtype == np.float64:
            return [True]
        if self._n_rows is None:
            return [True, False]
        return [is_precise(self._n_rows, phi.n_features_out)]

    def _places(self, fold: int, lane: int) -> list[tuple[int, _Sums]]:
        """All sums, each with a lane for its work; neighbours go to different threads."""
        parts = [part for sums in self._of_maps for part in sums.values()]
        first = fold * n_lanes(self._n_folds) + lane
        return [(first + number, part) for number, part in enumerate(parts)]


class _Sums:
    """Sums of one block map in one precision."""

    def __init__(self, phi: BlockMap, n_folds: int, precise: bool) -> None:
        self.phi, self.p, self.precise = phi, phi.n_features_out, precise
        self._sums: list[dict[int, GramSum]] = [{} for _ in range(n_folds)]
        self._closed = [Gram.zeros(self.p) for _ in range(n_folds)]
        self._shift: OpenQuery | None = None
        self._open: dict[int, OpenQuery] = {}
        self._kind: Problem | None = None

    def work_of_chunk(self, fold: int, lane: int, rows: Problem, scratch: Any) -> Any:
        if lane not in self._sums[fold]:
            self._sums[fold][lane] = GramSum(self.p)
        sum_ = self._sums[fold][lane]

        def work() -> None:
            scratch.product = add_chunk(
                sum_, rows, self.phi, precise=self.precise, product=_product(scratch)
            )

        return work

    def work_of_piece(self, lane: int, rows: Problem, scratch: Any) -> Any:
        self._kind = rows
        if self._shift is None:
            self._shift = OpenQuery.about(self.phi(rows.X), rows.y)
        if lane not in self._open:
            self._open[lane] = OpenQuery(self._shift.shift, self._shift.target_shift)
        part, precise = self._open[lane], self.precise or rows.graph == "distinct"

        def work() -> None:
            scratch.product = add_piece(
                part, rows, self.phi, precise=precise, product=_product(scratch)
            )

        return work

    def opened(self) -> OpenQuery:
        """The large query at hand, which is then gone."""
        assert self._shift is not None
        whole, parts = self._shift, self._open
        for lane in sorted(parts):
            whole.merge(parts[lane])
        self._shift, self._open = None, {}
        return whole

    def close(self, fold: int, query: OpenQuery) -> None:
        assert self._kind is not None
        gram = query.gram(self._kind.graph, self._kind.query_weight)
        self._closed[fold] = self._closed[fold] + gram

    def grams(self) -> list[Gram]:
        for fold, sums in enumerate(self._sums):
            for lane in sorted(sums):
                self._closed[fold] = self._closed[fold] + sums.pop(lane).gram()
        return self._closed


def _product(scratch: Any) -> FloatArray | None:
    return getattr(scratch, "product", None)
