"""Gram statistics of rows that arrive in pieces: the bits of rows in memory.

What :func:`rankwise.solvers.gram.fold_grams` does with all rows at hand, done with the chunks that
:mod:`rankwise.solvers.cutting` hands out: the same blocks, precision and order of sums. Chunks are
multiplied on all cores while the next ones arrive.

Memory: ``N_LANES`` p x p sums for each block map, one p x p product and a few chunks of rows a
thread; nothing grows with the rows. Large queries over pairs of different grades are summed in
another order than in memory (equal to rounding).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from rankwise._threads import Lanes
from rankwise.solvers.gram import BlockMap, Problem, add_chunk, add_piece, n_lanes, precise_from
from rankwise.solvers.statistics import Gram, GramSum, OpenQuery

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
    precise : bool
        Whether all blocks are multiplied in float64, not only the first rows'.
    """

    def __init__(
        self, maps: Sequence[BlockMap], n_folds: int, lanes: Lanes, *, precise: bool = False
    ) -> None:
        self._maps, self._n_folds, self._lanes, self._precise = maps, n_folds, lanes, precise
        self._sums: list[list[dict[int, GramSum]]] = [[{} for _ in range(n_folds)] for _ in maps]
        self._closed = [[Gram.zeros(phi.n_features_out) for _ in range(n_folds)] for phi in maps]
        self._n_chunks: dict[int, int] = defaultdict(int)
        self._n_rows: dict[int, int] = defaultdict(int)
        self._n_giant_rows: dict[int, int] = defaultdict(int)
        self._open: list[list[OpenQuery]] = []
        self._n_pieces = 0
        self._scratch = threading.local()
        self.edges: list[tuple[Any, int, list[OpenQuery]]] = []

    def chunk(self, fold: int, rows: Problem) -> None:
        """Add whole queries."""
        lane = self._n_chunks[fold] % n_lanes(self._n_folds)
        start = self._n_rows[fold] * self._n_folds
        self._n_chunks[fold] += 1
        self._n_rows[fold] += len(rows.y)
        for number, phi in enumerate(self._maps):
            p = phi.n_features_out
            sums = self._sums[number][fold]
            if lane not in sums:
                sums[lane] = GramSum(p)
            precise = self._precise or precise_from(start, p)
            work = partial(self._add_chunk, sums[lane], rows, phi, precise)
            self._lanes.put(self._place(number, fold, lane), work)

    def piece(self, fold: int, rows: Problem) -> None:
        """Add rows of the large query at hand."""
        lanes = n_lanes(self._n_folds)
        if rows.graph == "distinct":
            lanes = min(lanes, _LANES_OF_GRADES)
        if not self._open:
            abouts = [OpenQuery.about(phi(rows.X), rows.y) for phi in self._maps]
            self._open = [
                [OpenQuery(about.shift, about.target_shift) for _ in range(lanes)]
                for about in abouts
            ]
        lane = self._n_pieces % lanes
        start = self._n_giant_rows[fold] * self._n_folds
        self._n_pieces += 1
        self._n_giant_rows[fold] += len(rows.y)
        for number, phi in enumerate(self._maps):
            precise = self._precise or rows.graph == "distinct"
            precise = precise or precise_from(start, phi.n_features_out)
            work = partial(self._add_piece, self._open[number][lane], rows, phi, precise)
            self._lanes.put(self._place(number, fold, lane), work)
        self._template = rows

    def close(self, fold: int, edge: Any) -> None:
        """Finish the large query: into the total, or, for an edge, to :attr:`edges`."""
        self._lanes.wait()
        opened = []
        for lanes in self._open:
            for other in lanes[1:]:
                lanes[0].merge(other)
            opened.append(lanes[0])
        self._open, self._n_pieces = [], 0
        if edge is not None:
            self.edges.append((edge, fold, opened))
            return
        graph, query_weight = self._template.graph, self._template.query_weight
        for number, query in enumerate(opened):
            closed = self._closed[number]
            closed[fold] = closed[fold] + query.gram(graph, query_weight)

    def grams(self) -> list[list[Gram]]:
        """For each block map, the statistics of each fold."""
        self._lanes.wait()
        for closed, sums in zip(self._closed, self._sums, strict=True):
            for fold, lanes in enumerate(sums):
                for lane in sorted(lanes):
                    closed[fold] = closed[fold] + lanes.pop(lane).gram()
        return self._closed

    def _place(self, number: int, fold: int, lane: int) -> int:
        """Lanes next to each other go to different threads."""
        return number + fold * n_lanes(self._n_folds) + lane

    def _add_chunk(self, sum_: GramSum, rows: Problem, phi: BlockMap, precise: bool) -> None:
        product = getattr(self._scratch, "product", None)
        self._scratch.product = add_chunk(sum_, rows, phi, precise=precise, product=product)

    def _add_piece(self, part: OpenQuery, rows: Problem, phi: BlockMap, precise: bool) -> None:
        product = getattr(self._scratch, "product", None)
        self._scratch.product = add_piece(part, rows, phi, precise=precise, product=product)
