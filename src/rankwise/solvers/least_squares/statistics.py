"""Statistics of least-squares problems that add: over chunks, folds, batches and workers.

A pair graph couples the rows of a query, so a query's block of ``Phi' L Phi`` depends on the
query's total weight. While more rows of a query may arrive, :class:`OpenQuery` keeps for each grade
k (one slot in all if all pairs count) ``A_k = sum w z z'``, ``s_k = sum w z`` and ``W_k = sum w``
of ``z = (phi, y)`` about a fixed shift, from which the block is

``c (sum_k (W - [distinct] W_k) A_k - s s' + [distinct] sum_k s_k s_k')``.

These sums are additive too, so the rows may come in pieces and from several workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rankwise.losses.squared_loss import Problem, count_ordered_pairs, query_factor
from rankwise.structure.rules import Dictionary, Instance, Number, Rule, floats
from rankwise.typing import Float64Array, FloatArray

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

    def rows_gram(self, block: FloatArray, y: Float64Array, w: Float64Array | None) -> Gram:
        """Statistics of rows of one slot; ``block`` of shape (n_rows, p) is overwritten."""
        block -= self.shift.astype(block.dtype)
        return Gram.of_rows(block, y - self.target_shift, w)

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
