"""Formula (8) of ELMRank on a whole grid, and its exact cross-validation.

The stabilised solution of ``A b = B`` is ``b = (A'A + I/C)^-1 A'B`` [1]_, ``A = (2/m) H'PH + lam``
and ``B = (2/m) H'Py``. Because A is symmetric, ``b = Re[(A + i/sqrt(C))^-1 B]``: ridge with the
complex penalty ``eta = (lam + i/sqrt(C)) m/2`` on the sum of squares. One eigendecomposition serves
every (lam, C). The block formula of ridge gives every held-out residual; each fold uses the eta
that corresponds to its number of training rows.

Complexity: O(min(m, n)^2 max(m, n)) for m rows and n columns, and O(sum_f b_f^2 (min(m, n) + b_f))
for each (lam, C), b_f the rows of fold f.

References
----------
.. [1] Chen, Peng, Zhou, Li & Pan, "Extreme learning machine for ranking: Generalization analysis
   and applications", Neural Networks 53 (2014), equations 5-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.kernels.complex_folds import add_squared_solutions, fold_products, shrinkages
from rankwise.solvers.least_squares.eigen_path import RELATIVE_CUT
from rankwise.typing import Float64Array, Int64Array

# ELMRank's grids: lam 1e-5 ... 1e1, C 2^1 ... 2^25.
LAM_GRID = 10.0 ** np.arange(-5, 2)
C_GRID = 2.0 ** np.arange(1, 26)
# Eigenvalues of the n x n side below this share of the largest are left to the rest.
NEGLIGIBLE = 1e-14
# Number of entries of fold systems that are solved together: as many as the L2 cache holds.
TILE_NUMBERS = 60_000


@dataclass(frozen=True, eq=False)
class StabilisedPath:
    """Eigenbasis of ``G = Phi' L Phi`` in which (8) is diagonal.

    The solution for the complex penalty ``eta = half (lam + i/sqrt(C))`` is
    ``Re[basis (moment / (values + eta))]``.
    """

    values: Float64Array  # (p,): eigenvalues of G, ascending, >= 0
    basis: Float64Array  # (n, p): columns orthogonal to each other
    moment: Float64Array  # (p,)
    half: float  # half the weight of all ordered pairs in G

    def coef(self, penalty: Float64Array) -> Float64Array:
        """Solutions for each column of ``penalty`` (2, G), shape (G, n).

        Numerically singular directions are dropped, so without a penalty the minimum-norm solution
        is returned.
        """
        real, imaginary = self.half * penalty[:, :, None]
        shifted = self.values + real
        cut = singular_below(self.values)
        regular = (self.values > cut) | (real > cut) | (imaginary > cut)
        squared = shifted * shifted + imaginary * imaginary
        shrunk = np.divide(
            self.moment * shifted, squared, out=np.zeros_like(squared), where=regular
        )
        return shrunk @ self.basis.T


@dataclass(frozen=True, eq=False)
class ComplexPath(StabilisedPath):
    """The path of one group of rows, with the factors that give its held-out residuals.

    Here G is the centred Gram matrix of the weighted rows, and ``half`` half of their weight.
    """

    # (m, r): unit vectors U of the last r eigenvalues in the space of the scaled rows
    left: Float64Array
    target: Float64Array  # (r,): U' y of the scaled target
    direction: Float64Array  # (m,): unit vector of the intercept: square roots of the weights
    scaled: Float64Array  # (m,): target times the square roots of the weights
    weight: Float64Array  # (m,)

    def held_out(self, folds: FoldPlan, penalty: Float64Array) -> Float64Array:
        """Weighted squared error of all held-out rows after subtracting the intercepts, shape (G,).

        ``penalty`` is (2, G), see :func:`complex_penalties`; no column is (0, 0).
        """
        m, r = self.left.shape
        values = self.values[len(self.values) - r :]
        columns = r if r == m - 1 else r + 1  # with m - 1 directions there is no remainder
        errors = np.zeros(penalty.shape[1])
        for first, last, size, train in folds.batches:
            entries, rows = size * (size + 3) // 2, folds.order[first:last]
            products = np.empty((len(rows) // size * entries, columns))
            fold_products(self.left, self.target, self.direction, self.scaled, rows, size, products)
            step = min(len(errors), max(16, TILE_NUMBERS // (2 * entries)))
            together = entries * max(1, TILE_NUMBERS // (2 * entries * step))
            for lo in range(0, len(errors), step):
                part = np.ascontiguousarray(penalty[:, lo : lo + step])
                shrunk = np.empty((columns, 2 * part.shape[1]))
                shrinkages(values, part, 0.5 * train, singular_below(values), shrunk)
                for top in range(0, len(products), together):
                    systems = products[top : top + together] @ shrunk
                    add_squared_solutions(systems, size, errors[lo : lo + step])
        return errors


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Folds of rows; those of equal size and weight are adjacent, because they share penalties."""

    order: Int64Array  # rows of all folds, fold by fold
    # (first, last, size, train): folds of `size` rows each at order[first:last]; `train` is the
    # weight of the other rows
    batches: tuple[tuple[int, int, int, float], ...]


def plan_folds(folds: Sequence[Int64Array], weight: Float64Array) -> FoldPlan:
    """Plan for the rows of each fold (not all rows; none empty) and the weights of all rows."""
    total = float(weight.sum())
    alike: dict[tuple[int, float], list[Int64Array]] = {}
    for rows in folds:
        alike.setdefault((len(rows), total - float(weight[rows].sum())), []).append(rows)
    order = [np.concatenate(group) for group in alike.values()]
    ends = np.cumsum([len(rows) for rows in order]).tolist()
    batches = zip([0, *ends], ends, alike, strict=False)
    return FoldPlan(
        np.concatenate(order), tuple((first, last, *key) for first, last, key in batches)
    )


def complex_paths(
    columns: Float64Array, y: Float64Array, weight: Float64Array | None = None
) -> Iterator[ComplexPath]:
    """Decompose several designs, ``columns`` (n_draws, m, n), on the same rows.

    A reflection maps the direction of the intercept to the first coordinate. The other m - 1
    coordinates hold the centred problem without its trivial null vector. ``weight`` gives the
    repetitions of each row, > 0.
    """
    m, n = columns.shape[1:]
    weight = np.ones(m) if weight is None else weight
    scale = np.sqrt(weight)
    norm = np.sqrt(weight.sum())
    mirror = scale.copy()
    mirror[0] += norm
    tau = 2.0 / (mirror @ mirror)
    scaled = scale * y
    rest = (scaled - mirror * (tau * (mirror @ scaled)))[1:]
    centred = columns if (weight == 1.0).all() else scale[:, None] * columns
    through = (tau * mirror) @ centred
    centred = centred[:, 1:] - mirror[1:, None] * through[:, None, :]
    turned = centred.transpose(0, 2, 1)
    dual = m - 1 <= n
    values, inner = np.linalg.eigh(centred @ turned if dual else turned @ centred)
    values = np.maximum(values, 0.0)
    bases = turned @ inner if dual else inner
    moments = rest @ inner if dual else ((rest @ centred)[:, None, :] @ inner)[:, 0]
    for draw, vectors in enumerate(inner):
        spectrum, basis, target = values[draw], bases[draw], moments[draw]
        if not dual:
            reached = spectrum > NEGLIGIBLE * spectrum[-1]
            vectors = (centred[draw] @ basis[:, reached]) / np.sqrt(spectrum[reached])
            target = rest @ vectors
        along = (-tau * mirror[1:]) @ vectors
        left = mirror[:, None] * along
        left[1:] += vectors
        yield ComplexPath(
            spectrum,
            basis,
            moments[draw],
            0.5 * norm**2,
            left,
            target,
            scale / norm,
            scaled,
            weight,
        )


def singular_below(values: Float64Array) -> float:
    """Threshold for eigenvalue and penalty below which a direction is numerically singular."""
    return RELATIVE_CUT * float(values.max(initial=0.0))


def complex_penalties(lam: Float64Array, C: Float64Array) -> Float64Array:
    """Real parts ``lam`` and imaginary parts ``1 / sqrt(C)`` of the grid, C fastest; (2, G)."""
    return np.stack([np.repeat(lam, len(C)), np.tile(1.0 / np.sqrt(C), len(lam))])
