"""Statistics of least-squares problems that add: over chunks, folds, batches and workers.

A pair graph couples the rows of a query, so a query's block of ``Phi' L Phi`` needs its whole
weight. While rows of it may still come, :class:`OpenQuery` keeps for each grade k (one slot for
all where all pairs count) ``A_k = sum w z z'``, ``s_k = sum w z`` and ``W_k = sum w`` of
``z = (phi, y)`` about a fixed shift, from which the block is

``c (sum_k (W - [distinct] W_k) A_k - s s' + [distinct] sum_k s_k s_k')``.

These sums add too, so the rows may come in pieces and from several workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rankwise.structure.rules import Number, Part, Rule, Table, floats
from rankwise.typing import Float64Array, FloatArray

# Numbers kept for the grades of an open query, p^2 each: 512 MB, 64 grades of 1,000 columns.
MOST_OPEN_NUMBERS = 64 * 1000**2


@dataclass(frozen=True, eq=False)
class Gram:
    """Additive statistics of a least-squares problem with p columns; all float64.

    Attributes
    ----------
    matrix : ndarray of shape (p, p)
        ``Phi' L Phi``.
    rhs : ndarray of shape (p,)
        ``Phi' L y``.
    target_norm : float
        ``y' L y``.
    sums : ndarray of shape (p,)
        ``Phi' w``; used for an unpenalised intercept of a pointwise problem.
    target_sum, weight : float
        ``w'y`` and ``sum(w)``.
    pairs : float
        ``sum_q c_q W_q^2``, the weight of all ordered pairs.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "matrix": floats("n_sums", "n_sums"),
        "rhs": floats("n_sums"),
        "target_norm": Number(),
        "sums": floats("n_sums"),
        "target_sum": Number(),
        "weight": Number(),
        "pairs": Number(),
    }

    matrix: Float64Array
    rhs: Float64Array
    target_norm: float
    sums: Float64Array
    target_sum: float
    weight: float
    pairs: float = 0.0

    @classmethod
    def zeros(cls, p: int) -> Gram:
        """Statistics of no rows."""
        return cls(np.zeros((p, p)), np.zeros(p), 0.0, np.zeros(p), 0.0, 0.0)

    def __add__(self, other: Gram) -> Gram:
        return Gram(
            self.matrix + other.matrix,
            self.rhs + other.rhs,
            self.target_norm + other.target_norm,
            self.sums + other.sums,
            self.target_sum + other.target_sum,
            self.weight + other.weight,
            self.pairs + other.pairs,
        )

    def __sub__(self, other: Gram) -> Gram:
        return Gram(
            self.matrix - other.matrix,
            self.rhs - other.rhs,
            self.target_norm - other.target_norm,
            self.sums - other.sums,
            self.target_sum - other.target_sum,
            self.weight - other.weight,
            self.pairs - other.pairs,
        )

    def centred(self) -> Gram:
        """Pointwise statistics with the unpenalised intercept eliminated."""
        mean = self.sums / self.weight
        return Gram(
            self.matrix - np.outer(self.sums, mean),
            self.rhs - mean * self.target_sum,
            self.target_norm - self.target_sum**2 / self.weight,
            self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )

    def transformed(self, basis: Float64Array) -> Gram:
        """Statistics of ``Phi @ basis``; basis of shape (p, r)."""
        return Gram(
            basis.T @ self.matrix @ basis,
            basis.T @ self.rhs,
            self.target_norm,
            basis.T @ self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )

    def moved(self, step: Float64Array, target_step: float) -> Gram:
        """Pointwise statistics of ``Phi + step`` and ``y + target_step``; step of shape (p,)."""
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


class GramSum:
    """Running sums of the statistics of p columns, added to in place."""

    _structure: ClassVar[dict[str, Rule]] = {
        "matrix": floats("n_sums", "n_sums"),
        "rhs": floats("n_sums"),
        "target_norm": Number(),
        "sums": floats("n_sums"),
        "target_sum": Number(),
        "weight": Number(),
        "pairs": Number(),
    }

    def __init__(self, p: int) -> None:
        self.matrix, self.rhs, self.target_norm = np.zeros((p, p)), np.zeros(p), 0.0
        self.sums, self.target_sum, self.weight = np.zeros(p), 0.0, 0.0
        self.pairs = 0.0

    def add_sums(self, block: FloatArray, y: Float64Array, w: Float64Array) -> None:
        """Add ``Phi' w``, ``w'y`` and ``sum(w)``."""
        self.sums += w.astype(block.dtype) @ block
        self.target_sum += float(w @ y)
        self.weight += float(w.sum())

    def add_block(
        self, block: FloatArray, target: Float64Array, product: FloatArray | None = None
    ) -> None:
        """Add ``block' block`` and what belongs to it; ``product`` (p, p) is scratch space."""
        self.matrix += np.matmul(block.T, block, out=product)
        self.rhs += block.T @ target.astype(block.dtype)
        self.target_norm += float(target @ target)

    def add(self, gram: Gram) -> None:
        """Add statistics."""
        self.matrix += gram.matrix
        self.rhs += gram.rhs
        self.target_norm += gram.target_norm
        self.sums += gram.sums
        self.target_sum += gram.target_sum
        self.weight += gram.weight
        self.pairs += gram.pairs

    def gram(self) -> Gram:
        """The sums so far; they share memory with this object."""
        return Gram(
            self.matrix,
            self.rhs,
            self.target_norm,
            self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )


@dataclass(eq=False)
class OpenQuery:
    """Sums of a query that may go on, one slot a grade (one for all where all pairs count).

    Attributes
    ----------
    shift : ndarray of shape (p,)
    target_shift : float
        ``L 1 = 0``, so any shift is allowed; one near the rows keeps the subtraction of the
        rank-one terms from cancelling.
    slots : dict of float to GramSum
        Pointwise statistics of the rows of each grade about the shift.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "shift": floats("n_sums"),
        "target_shift": Number(),
        "slots": Table(Number(), Part((GramSum,))),
    }

    shift: Float64Array
    target_shift: float
    slots: dict[float, GramSum] = field(default_factory=dict)

    @classmethod
    def about(cls, block: FloatArray, y: Float64Array) -> OpenQuery:
        """No rows yet; the shift is the mean of the given ones."""
        return cls(block.mean(axis=0, dtype=np.float64), float(y.mean()))

    def add(
        self,
        block: FloatArray,
        y: Float64Array,
        w: Float64Array | None,
        *,
        graph: str,
        product: FloatArray | None = None,
    ) -> None:
        """Add rows; ``block`` of shape (n_rows, p) is overwritten.

        Raises
        ------
        ValueError
            When the grades take more memory than ``MOST_OPEN_NUMBERS``.
        """
        block -= self.shift.astype(block.dtype)
        target = y - self.target_shift
        w = np.ones(len(y)) if w is None else w
        if graph == "all":
            _add_rows(self._slot(0.0), block, target, w, product)
            return
        for grade in np.unique(y).tolist():
            rows = y == grade
            _add_rows(self._slot(grade), block[rows], target[rows], w[rows], product)

    def merge(self, other: OpenQuery) -> None:
        """Add the rows of another part of the same query."""
        step = other.shift - self.shift
        target_step = other.target_shift - self.target_shift
        for grade, slot in other.slots.items():
            gram = slot.gram()
            if step.any() or target_step:
                gram = gram.moved(step, target_step)
            self._slot(grade).add(gram)

    def gram(self, graph: str, query_weight: str) -> Gram:
        """Statistics of the rows so far."""
        p = len(self.shift)
        parts = [slot.gram() for slot in self.slots.values()]
        weight = sum(part.weight for part in parts)
        s = sum((part.sums for part in parts), np.zeros(p))
        t = sum(part.target_sum for part in parts)
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

    def _slot(self, grade: float) -> GramSum:
        p = len(self.shift)
        if grade not in self.slots:
            most = max(1, MOST_OPEN_NUMBERS // p**2)
            if len(self.slots) >= most:
                raise ValueError(
                    f'graph="distinct" keeps at most {most} grades of {p} columns of a query that '
                    f'may go on, and {grade!r} is one more. Use graph="all", fewer columns, or '
                    "pass all rows at once."
                )
            self.slots[grade] = GramSum(p)
        return self.slots[grade]


def _add_rows(
    slot: GramSum,
    block: FloatArray,
    y: Float64Array,
    w: Float64Array,
    product: FloatArray | None,
) -> None:
    """Pointwise statistics of the rows; overwrites ``block``."""
    slot.add_sums(block, y, w)
    root = np.sqrt(w)
    if (w != 1).any():
        block *= root[:, None].astype(block.dtype)
    slot.add_block(block, y * root, product)


def query_factor(weight: float, query_weight: str) -> float:
    """``c_q`` of a query of the given total weight."""
    return float(weight) ** -{"pair": 0, "document": 1, "query": 2}[query_weight]


def ordered_pairs(totals: Float64Array, query_weight: str) -> float:
    """``sum_q c_q W_q^2`` of queries of the given total weights."""
    totals = totals[totals > 0]
    return float((totals ** {"pair": 2, "document": 1, "query": 0}[query_weight]).sum())
