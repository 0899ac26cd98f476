"""Gram statistics ``Phi' L Phi``, ``Phi' L y``, ``y' L y``: from rows, in parts, in batches.

The statistics are additive over queries, and so over chunks, folds, ``partial_fit`` calls and
workers. Cross-validation needs only the total minus a fold. No N x N matrix and no list of pairs is
formed, so memory does not depend on the number of rows.

All rows go through :func:`accumulate`, in parts: those in memory by :func:`fold_grams`, those of
streams, batches and workers by :func:`accumulate_chunks`, which finds the same parts. Parts are
multiplied on all cores and added in order. Rows that arrive in pieces therefore give a result
bit-identical to rows in memory, on any number of threads.

Complexity: O(N p^2) for N rows and p columns; memory for p^2 numbers per fold, and twice that per
thread.

A pair graph couples the rows of a query, so a query's block of ``Phi' L Phi`` depends on the
query's total weight. While more rows of a query may arrive, :class:`OpenQuery` keeps for each grade
k (one slot in all if all pairs count) ``A_k = sum w z z'``, ``s_k = sum w z`` and ``W_k = sum w``
of ``z = (phi, y)`` about a fixed shift, from which the block is

``c (sum_k (W - [distinct] W_k) A_k - s s' + [distinct] sum_k s_k s_k')``.

These sums are additive too, so the rows may come in pieces and from several workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np

from rankwise.groups import FitData, plain_id
from rankwise.losses.squared_loss import Problem, RowPart, count_ordered_pairs, query_factor
from rankwise.runtime.threads import thread_imap
from rankwise.streams.checked_stream import group_rows
from rankwise.streams.cutter import Cutter, Folds
from rankwise.structure.state_rules import (
    Dictionary,
    Instance,
    Number,
    Optional,
    Plain,
    Rule,
    floats,
    require,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Rows per BLAS call: two to four thousand is the fast range (benchmarks/bench_closed_form.py).
CHUNK_ROWS = 3000
# A query with more rows than this is processed in pieces.
GIANT_ROWS = 4 * CHUNK_ROWS
# Products of float32 blocks are formed in float64 while that costs less than about a second.
PRECISE_FLOPS = 5e10


class BlockMap(Protocol):
    """Maps a chunk of rows to columns of the least-squares problem."""

    @property
    def n_features_out(self) -> int: ...

    def __call__(self, X: Matrix) -> FloatArray: ...

    def rows(self, X: Matrix) -> Any: ...


class GramSums:
    """Sums of one block map under one weighting of the queries.

    ``folds`` are the statistics of each fold without the edges: queries that may have more rows
    elsewhere. ``edges`` holds those as (query, fold, OpenQuery).
    """

    p: int
    phi: BlockMap
    precise: bool

    def __init__(self, phi: BlockMap, query_weight: str, n_folds: int, precise: bool) -> None:
        self.phi, self.p, self.precise = phi, phi.n_features_out, precise
        self.folds: list[Gram] = [Gram.zeros(self.p) for _ in range(n_folds)]
        self.edges: list[tuple[Any, int, OpenQuery]] = []
        self._query_weight = query_weight
        self._large: dict[int, Gram] = {}
        self._opened: dict[Any, OpenQuery] = {}
        self._last: tuple[RowPart, str] | None = None

    def tasks(self, part: RowPart) -> Iterator[Callable[[], Callable[[], None]]]:
        """Tasks for any thread; each returns a function to call in order, which adds its result."""
        if part.query is None:

            def whole() -> Callable[[], None]:
                rows = replace(part.take(), query_weight=self._query_weight)
                gram = Gram.of_queries(self._block(rows.X, self.precise), rows)
                return lambda: self.folds[part.fold].add_inplace(gram)

            yield whole
            return
        rows = part.take()
        # Its first rows give the shift, so pieces of a query must come in order, as they do.
        if part.query not in self._opened:
            self._opened[part.query] = OpenQuery.about(self.phi(rows.X), rows.y)
        if rows.graph == "all":
            yield lambda: self._piece(part, rows, 0.0)
            return
        # "distinct": a row pairs with all but its own grade, which each grade's sums tell apart.
        for grade in np.unique(rows.y).tolist():
            of_grade = rows.piece(np.flatnonzero(rows.y == grade))
            yield lambda grade=grade, of_grade=of_grade: self._piece(part, of_grade, grade)

    def close(self) -> GramSums:
        """Finish the current large query: add it to its fold or, for an edge, to :attr:`edges`."""
        if self._last is not None:
            part, graph = self._last
            opened, self._last = self._opened.pop(part.query), None
            if part.is_edge:
                self.edges.append((part.query, part.fold, opened))
            else:
                gram = opened.gram(graph, self._query_weight)
                self._large.setdefault(part.fold, Gram.zeros(self.p)).add_inplace(gram)
        return self

    def finish(self) -> GramSums:
        """Finish all queries."""
        self.close()
        for fold, large in self._large.items():
            large.add_inplace(self.folds[fold])
            self.folds[fold] = large
        return self

    def _piece(self, part: RowPart, rows: Problem, grade: float) -> Callable[[], None]:
        opened = self._opened[part.query]
        block = self._block(rows.X, self.precise or rows.graph == "distinct")
        block -= opened.shift.astype(block.dtype)
        gram = Gram.of_rows(block, rows.y - opened.target_shift, rows.sample_weight)

        def add() -> None:
            if self._last is not None and self._last[0].query != part.query:
                self.close()
            self._last = part, rows.graph
            opened.add_inplace(grade, gram)

        return add

    def _block(self, X: Matrix, precise: bool) -> FloatArray:
        block = self.phi(X)
        return block.astype(np.float64, copy=False) if precise else block


def accumulate(
    parts: Iterable[RowPart],
    maps: Sequence[tuple[BlockMap, str]],
    n_folds: int = 1,
    *,
    n_rows: int | None,
    n_threads: int | None = None,
) -> list[GramSums]:
    """Statistics of all rows for each block map and weighting of the queries; one pass.

    The total number of rows, ``n_rows``, decides the precision of float32 blocks. If it is unknown,
    the first blocks are multiplied in both precisions until the right one is known. This costs
    ``PRECISE_FLOPS`` extra multiplications once.
    """
    found = []
    for phi, weight in maps:
        precise = [True, False] if n_rows is None else [is_precise(n_rows, phi.n_features_out)]
        found.append([GramSums(phi, weight, n_folds, each) for each in precise])

    def tasks() -> Iterator[Callable[[], Callable[[], None]]]:
        n_seen = 0
        for part in parts:
            for both in found:
                phi = both[0].phi
                # Float64 blocks have one precision; the second sum would be the same.
                if len(both) > 1 and not n_seen and phi(part.take().X[:1]).dtype == np.float64:
                    del both[1]
                # So many rows that float32 is the choice, as it would be if their number were
                # known.
                if len(both) > 1 and not is_precise(n_seen + part.n_rows, both[0].p):
                    del both[0]
                for sums in both:
                    yield from sums.tasks(part)
            n_seen += part.n_rows

    with closing(thread_imap(lambda task: task(), tasks(), n_threads)) as results:
        # Threads multiply in any order; sums are added in the order of the parts, on this one.
        for add in results:
            add()
    return [both[0].finish() for both in found]


def accumulate_chunks(
    chunks: Iterable[FitData | Problem],
    template: Problem,
    maps: Sequence[tuple[BlockMap, str]],
    n_folds: int = 1,
    folds: Folds | None = None,
    *,
    n_rows: int | None,
    n_threads: int | None = None,
    edges: tuple[bool, bool] = (False, False),
) -> list[GramSums]:
    """:func:`accumulate` for rows that come in pieces, see :class:`rankwise.streams.cutter.Cutter`.

    ``template`` supplies the pair graph; ``edges`` says whether the first and the last query may
    have more rows elsewhere.
    """
    cutter = Cutter(template, folds, chunk_rows=CHUNK_ROWS, giant_rows=GIANT_ROWS, edges=edges)
    return accumulate(cutter.cut(chunks), maps, n_folds, n_rows=n_rows, n_threads=n_threads)


def fold_grams(
    problem: Problem, phi: BlockMap, fold_queries: Sequence[Int64Array] | None = None
) -> list[Gram]:
    """Statistics of each fold of queries (of all queries if ``fold_queries`` is None).

    Float32 blocks are multiplied in float32 and accumulated in float64 once the work exceeds
    ``PRECISE_FLOPS``; below, they are centred and multiplied in float64.
    """
    n_rows, groups = problem.X.shape[0], problem.groups
    folds = [np.arange(groups.n_queries)] if fold_queries is None else list(fold_queries)
    giants: list[tuple[int, int]] = []
    if problem.graph == "distinct":
        giant = groups.sizes > GIANT_ROWS
        giants = [(fold, q) for fold, some in enumerate(folds) for q in some[giant[some]].tolist()]
        folds = [queries[~giant[queries]] for queries in folds]
    sums = accumulate(
        problem.parts(folds, CHUNK_ROWS, GIANT_ROWS),
        [(phi, problem.query_weight)],
        len(folds),
        n_rows=n_rows,
        n_threads=None if n_rows * phi.n_features_out > 1e6 else 1,
    )[0]
    for fold, query in giants:
        sums.folds[fold].add_inplace(_giant_distinct_gram(problem, phi, query))
    return sums.folds


def is_precise(n_rows: int, p: int) -> bool:
    """Whether float32 blocks are converted to float64 before multiplication, for this many rows."""
    return n_rows * p * p <= PRECISE_FLOPS


def total(grams: Sequence[Gram]) -> Gram:
    """Sum in order."""
    return reduce(Gram.__add__, grams)


def _giant_distinct_gram(problem: Problem, phi: BlockMap, query: int) -> Gram:
    """Statistics of one large query over pairs of different grades, with all rows given; in
    float64.

    The weights of the grades are known, so one matrix for all grades and p numbers per grade
    suffice.
    """
    rows = problem.groups.rows(query)
    rows = rows[np.argsort(problem.y[rows], kind="stable")]
    y, p = problem.y[rows], phi.n_features_out
    w = np.ones(len(y)) if problem.sample_weight is None else problem.sample_weight[rows]
    grade = np.unique(y, return_inverse=True)[1]
    of_grade, weight = np.bincount(grade, w), float(w.sum())
    scale = np.sqrt(w * (weight - of_grade[grade]))

    def columns(lo: int) -> Float64Array:
        part = slice(lo, lo + CHUNK_ROWS)
        return np.column_stack([phi(problem.piece(rows[part]).X), y[part]])

    shift = columns(0).mean(axis=0)

    def work(lo: int) -> tuple[Int64Array, Float64Array, Float64Array]:
        part, z = slice(lo, lo + CHUNK_ROWS), columns(lo)
        z -= shift
        # Rows are sorted by grade: a chunk holds runs, summed by reduceat.
        first = np.flatnonzero(np.diff(grade[part], prepend=-1))
        sums = np.add.reduceat(z * w[part, None], first, axis=0)
        z *= scale[part, None]
        return grade[part][first], sums, z.T @ z

    matrix, sums = np.zeros((p + 1, p + 1)), np.zeros((len(of_grade), p + 1))
    for grades, part_sums, product in thread_imap(work, range(0, len(y), CHUNK_ROWS)):
        sums[grades] += part_sums
        matrix += product
    s = sums.sum(axis=0)
    # L = diag(w (W - W_grade)) - w w' + the same within grades, see OpenQuery.
    matrix += sums.T @ sums - np.outer(s, s)
    c = query_factor(weight, problem.query_weight)
    return replace(
        Gram.zeros(p),
        matrix=c * matrix[:p, :p],
        rhs=c * matrix[:p, p],
        target_norm=float(c * matrix[p, p]),
        pairs=c * weight**2,
    )


# Numbers kept for the grades of an open query, p^2 each: 512 MB, 64 grades of 1,000 columns.
MOST_OPEN_NUMBERS = 64 * 1000**2


@dataclass(eq=False)
class Gram:
    """Additive statistics of a least-squares problem with p columns; sums of them are float64."""

    _structure: ClassVar[dict[str, Rule]] = {
        "matrix": floats("n_sums", "n_sums"),
        "rhs": floats("n_sums"),
        "target_norm": Number(),
        "sums": floats("n_sums"),
        "target_sum": Number(),
        "weight": Number(),
        "pairs": Number(),
    }

    matrix: Float64Array  # (p, p): Phi' L Phi
    rhs: Float64Array  # (p,): Phi' L y
    target_norm: float  # y' L y
    sums: Float64Array  # (p,): Phi' w; used for an unpenalised intercept of a pointwise problem
    target_sum: float  # w'y
    weight: float  # sum(w)
    pairs: float = 0.0  # sum_q c_q W_q^2, the weight of all ordered pairs

    @classmethod
    def zeros(cls, p: int) -> Gram:
        """Statistics of no rows."""
        return cls(np.zeros((p, p)), np.zeros(p), 0.0, np.zeros(p), 0.0, 0.0)

    @classmethod
    def of_queries(cls, block: FloatArray, rows: Problem) -> Gram:
        """Statistics of whole queries; ``block``, their columns, is overwritten."""
        groups = rows.groups
        if rows.graph == "pointwise":
            return cls.of_rows(block, rows.y, rows.sample_weight)
        factor = rows.factor(slice(None), groups)
        # Sums between bounds: reduceat would give empty queries the next row's weight.
        totals = np.diff(np.concatenate([[0.0], np.cumsum(factor.weight)])[groups.indptr])
        block = factor.apply(block, 0, groups.n_queries)
        target = factor.apply(rows.y[:, None].copy(), 0, groups.n_queries)[:, 0]
        gram = _squares(block, target)
        gram.pairs = count_ordered_pairs(totals, rows.query_weight)
        return gram

    @classmethod
    def of_rows(cls, block: FloatArray, y: Float64Array, w: Float64Array | None) -> Gram:
        """Pointwise statistics; ``block``, the columns of the rows, is overwritten."""
        w = np.ones(len(y)) if w is None else w
        sums, root = w.astype(block.dtype) @ block, np.sqrt(w)
        # Unit weights save a pass over the block.
        if (w != 1).any():
            block *= root[:, None].astype(block.dtype)
        gram = _squares(block, y * root)
        gram.sums, gram.target_sum, gram.weight = sums, float(w @ y), float(w.sum())
        return gram

    def __add__(self, other: Gram) -> Gram:
        return Gram(*(a + b for a, b in zip(_values(self), _values(other), strict=True)))

    def __sub__(self, other: Gram) -> Gram:
        return Gram(*(a - b for a, b in zip(_values(self), _values(other), strict=True)))

    def add_inplace(self, other: Gram) -> None:
        """Add statistics."""
        self.matrix += other.matrix
        self.rhs += other.rhs
        self.target_norm += other.target_norm
        self.sums += other.sums
        self.target_sum += other.target_sum
        self.weight += other.weight
        self.pairs += other.pairs

    def centred(self) -> Gram:
        """Pointwise statistics with the unpenalised intercept eliminated."""
        mean = self.sums / self.weight
        return replace(
            self,
            matrix=self.matrix - np.outer(self.sums, mean),
            rhs=self.rhs - mean * self.target_sum,
            target_norm=self.target_norm - self.target_sum**2 / self.weight,
        )

    def transformed(self, basis: Float64Array) -> Gram:
        """Statistics of ``Phi @ basis``; basis of shape (p, r)."""
        return replace(
            self,
            matrix=basis.T @ self.matrix @ basis,
            rhs=basis.T @ self.rhs,
            sums=basis.T @ self.sums,
        )

    def moved(self, step: Float64Array, target_step: float) -> Gram:
        """Pointwise statistics of ``Phi + step`` and ``y + target_step``; step of shape (p,)."""
        # Half of weight step step' in each of the two transposed terms below.
        mean_step = np.outer(self.sums + 0.5 * self.weight * step, step)
        return Gram(
            self.matrix + mean_step + mean_step.T,
            self.rhs
            + self.sums * target_step
            + step * (self.target_sum + self.weight * target_step),
            self.target_norm + target_step * (2 * self.target_sum + self.weight * target_step),
            self.sums + self.weight * step,
            self.target_sum + self.weight * target_step,
            self.weight,
            self.pairs,
        )


def _values(gram: Gram) -> tuple[Any, ...]:
    return tuple(getattr(gram, name) for name in Gram._structure)


def _squares(block: FloatArray, target: Float64Array) -> Gram:
    """``block' block`` with the matching right-hand side and target norm."""
    rhs = block.T @ target.astype(block.dtype)
    return Gram(block.T @ block, rhs, float(target @ target), np.zeros(len(rhs)), 0.0, 0.0)


@dataclass(eq=False)
class OpenQuery:
    """Sums of a query that may continue, one slot per grade (one in all if all pairs count).

    ``L 1 = 0``, so any shift is allowed; one near the rows keeps the subtraction of the rank-one
    terms from cancelling.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "shift": floats("n_sums"),
        "target_shift": Number(),
        "slots": Dictionary(Number(), Instance((Gram,))),
    }

    shift: Float64Array  # (p,)
    target_shift: float
    # Pointwise statistics of the rows of each grade about the shift
    slots: dict[float, Gram] = field(default_factory=dict)

    @classmethod
    def about(cls, block: FloatArray, y: Float64Array) -> OpenQuery:
        """Empty sums whose shift is the mean of the given rows."""
        return cls(block.mean(axis=0, dtype=np.float64), float(y.mean()))

    def add_inplace(self, grade: float, gram: Gram) -> None:
        """Add statistics of rows of one slot, if its memory stays within ``MOST_OPEN_NUMBERS``."""
        p = len(self.shift)
        if grade not in self.slots:
            most = max(1, MOST_OPEN_NUMBERS // p**2)
            if len(self.slots) >= most:
                raise ValueError(
                    f'graph="distinct" keeps at most {most} grades of {p} columns of a query that '
                    f'may go on, and {grade!r} is one more. Use graph="all", fewer columns, or '
                    "pass all rows at once."
                )
            self.slots[grade] = Gram.zeros(p)
        self.slots[grade].add_inplace(gram)

    def merge_inplace(self, other: OpenQuery) -> None:
        """Add the rows of another part of the same query."""
        step = other.shift - self.shift
        target_step = other.target_shift - self.target_shift
        for grade, gram in other.slots.items():
            # Sums about different shifts do not add; equal shifts skip the rounding.
            moved = gram.moved(step, target_step) if step.any() or target_step else gram
            self.add_inplace(grade, moved)

    def gram(self, graph: str, query_weight: str) -> Gram:
        """Statistics of the rows so far."""
        p, parts = len(self.shift), self.slots.values()
        weight = sum(part.weight for part in parts)
        s = sum((part.sums for part in parts), np.zeros(p))
        t = sum(part.target_sum for part in parts)
        # The formula at the top, slot by slot.
        matrix, rhs, norm = -np.outer(s, s), -s * t, -(t**2)
        for part in parts:
            factor = weight
            if graph == "distinct":
                factor -= part.weight
                matrix += np.outer(part.sums, part.sums)
                rhs += part.sums * part.target_sum
                norm += part.target_sum**2
            matrix += factor * part.matrix
            rhs += factor * part.rhs
            norm += factor * part.target_norm
        c = query_factor(weight, query_weight)
        return Gram(c * matrix, c * rhs, c * norm, np.zeros(p), 0.0, 0.0, c * weight**2)


@dataclass(eq=False)
class RunningGram:
    """Statistics of all batches so far for one block map.

    The finished queries of a batch go straight into the total. The query of the last row stays
    open, because it may continue in the next batch.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "closed": Instance((Gram,)),
        "open_query": Optional(Instance((OpenQuery,))),
        "open_id": Plain(),
        "seen": Plain(),
    }

    closed: Gram  # queries that are complete
    open_query: OpenQuery | None = None
    open_id: Any = None  # id of the open query; None if batches have no qid
    seen: set[Any] = field(default_factory=set)  # ids of complete queries

    def update(self, problem: Problem, phi: BlockMap, *, has_qid: bool) -> Gram:
        """Add a batch and return the statistics of everything so far."""
        ids = [plain_id(value) for value in problem.groups.ids] if has_qid else [None]
        goes_on = self.open_query is not None and self.open_id in ids
        if problem.graph != "pointwise":
            self._check_ids(ids)
            problem = group_rows(problem, self.open_id)
        (sums,) = accumulate_chunks(
            [problem],
            problem,
            [(phi, problem.query_weight)],
            n_rows=0,
            n_threads=None if len(problem.y) * phi.n_features_out > 1e6 else 1,
            # The first query may have begun earlier, the last may go on; rows of a pointwise loss
            # are independent.
            edges=(goes_on, problem.graph != "pointwise"),
        )
        for query, _, opened in sums.edges:
            query_id = query if has_qid else None
            if self.open_query is not None and query_id == self.open_id:
                self.open_query.merge_inplace(opened)
                continue
            if self.open_query is not None:
                # Another query has begun, so the open one is complete.
                self.closed = self._sum_all(problem)
                self.seen.add(self.open_id)
            self.open_query, self.open_id = opened, query_id
        self.seen.update(ids if problem.graph != "pointwise" else [])
        # The open query may still come; it counts as seen only when it is complete.
        self.seen.discard(self.open_id)
        self.closed = self.closed + sums.folds[0]
        return self._sum_all(problem)

    def _sum_all(self, problem: Problem) -> Gram:
        if self.open_query is None:
            return self.closed
        return self.closed + self.open_query.gram(problem.graph, problem.query_weight)

    def _check_structure(self) -> None:
        n = len(self.closed.rhs)
        shift = self.closed.rhs if self.open_query is None else self.open_query.shift
        require(len(shift) == n, "open_query.shift", f"have {n} entries", len(shift))
        require(type(self.seen) is set, "seen", "be a set", self.seen)

    def _check_ids(self, ids: list[Any]) -> None:
        streaming_without = self.open_query is not None and self.open_id is None
        if self.open_query is not None and streaming_without != (ids == [None]):
            raise ValueError(
                "qid must be given in every batch or in none. Without it all rows are one query."
            )
        for value in ids:
            if value in self.seen:
                raise ValueError(
                    f"qid {value!r} came back after other queries. Pass the rows of a query in "
                    "one batch, or in consecutive batches at the end of one and the start of the "
                    "next."
                )
