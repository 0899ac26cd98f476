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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.features.random_nodes import NodeMap
from rankwise.kernels.complex_folds import add_squared_solutions, fold_products, shrinkages
from rankwise.solvers.least_squares.eigen_path import RELATIVE_CUT
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix, as_dense, is_sparse

# ELMRank's grids: lam 1e-5 ... 1e1, C 2^1 ... 2^25.
LAM_GRID = 10.0 ** np.arange(-5, 2)
C_GRID = 2.0 ** np.arange(1, 26)
# Eigenvalues of the n x n side below this share of the largest are left to the rest.
NEGLIGIBLE = 1e-14
# Number of entries of fold systems that are solved together: as many as the L2 cache holds.
TILE_NUMBERS = 60_000
# Number of draws that are decomposed together.
TOGETHER = 8
# Rows whose median is the common row, and the share of deviations up to which they are sparse.
FEW_ROWS, SPARSE_SHARE = 9, 0.2


@dataclass(frozen=True, eq=False)
class StabilisedPath:
    """Eigenbasis of ``G = Phi' L Phi`` in which (8) is diagonal.

    Attributes
    ----------
    values : ndarray of shape (p,)
        Eigenvalues Lambda >= 0 of G, ascending.
    basis : ndarray of shape (n, p)
        Columns orthogonal to each other.
    moment : ndarray of shape (p,)
        The solution for the complex penalty eta is ``Re[basis (moment / (Lambda + eta))]``.
    half : float
        ``eta = half (lam + i/sqrt(C))``: half the weight of all ordered pairs in G.
    """

    values: Float64Array
    basis: Float64Array
    moment: Float64Array
    half: float

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

    Attributes
    ----------
    left : ndarray of shape (m, r)
        Unit vectors U of the last r eigenvalues in the space of the scaled rows.
    target : ndarray of shape (r,)
        ``U' y`` of the scaled target.
    direction : ndarray of shape (m,)
        Unit vector of the intercept: square roots of the weights.
    scaled : ndarray of shape (m,)
        Target times the square roots of the weights.
    weight : ndarray of shape (m,)
    """

    left: Float64Array
    target: Float64Array
    direction: Float64Array
    scaled: Float64Array
    weight: Float64Array

    def held_out(self, folds: FoldPlan, penalty: Float64Array) -> Float64Array:
        """Weighted squared error of all held-out rows after subtracting the intercepts, shape (G,).

        Parameters
        ----------
        folds : FoldPlan
        penalty : ndarray of shape (2, G)
            See :func:`complex_penalties`; no column is (0, 0).
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
    """Folds of rows. Folds of equal size and weight are adjacent, because they share their
    penalties.

    Attributes
    ----------
    order : ndarray of int64
        Rows of all folds, fold by fold.
    batches : tuple of (first, last, size, train)
        Folds of ``size`` rows each at ``order[first:last]``; ``train``: weight of the other rows.
    """

    order: Int64Array
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
    """Decompose several designs on the same rows.

    A reflection maps the direction of the intercept to the first coordinate. The other m - 1
    coordinates hold the centred problem without its trivial null vector.

    Parameters
    ----------
    columns : ndarray of shape (n_draws, m, n)
    y : ndarray of shape (m,)
    weight : ndarray of shape (m,), optional
        Repetitions of each row, > 0.
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


@dataclass(frozen=True, eq=False)
class TunedDraws:
    """Result of node draws, each with its own choice of (lam, C).

    Attributes
    ----------
    scores : ndarray of shape (n_test,)
        Mean of the draws' scores.
    draw_scores : ndarray of shape (n_draws, n_test)
    lam, C : ndarray of shape (n_draws,)
    errors : ndarray of shape (n_draws, n_lam, n_C)
        Squared error of all held-out rows after subtracting each fold's own intercept.
    """

    scores: Float64Array
    draw_scores: Float64Array
    lam: Float64Array
    C: Float64Array
    errors: Float64Array


def tune_draws(
    X_train: Matrix,
    y_train: Float64Array,
    X_test: Matrix,
    maps: Sequence[NodeMap],
    folds: Int64Array,
    lam: ArrayLike = LAM_GRID,
    C: ArrayLike = C_GRID,
    sample_weight: Float64Array | None = None,
) -> TunedDraws:
    """Tune and fit ELMRank for each draw of the nodes on one group of rows; average the scores.

    Intended for few rows and many calls (450,000 fits in minutes). Input is not checked and no
    estimator is built. The caller must set one BLAS thread
    (``rankwise.runtime.threads.single_threaded_blas``).

    Parameters
    ----------
    X_train, y_train : (m, d), (m,)
        Training rows, dense float64 or CSR, and targets.
    X_test : (t, d)
        Rows to predict.
    maps : sequence of NodeMap
        The draws, all of the same size.
    folds : int array of shape (m,) or (n_draws, m)
        Fold 0 ... k-1 of each training row, the same for all draws or one row for each draw.
        Every fold needs at least one row, and k >= 2.
    lam, C : array-like of shape (n_lam,), (n_C,)
        Grids; ``lam >= 0``, and > 0 if ``C`` contains ``np.inf``. The smallest error is chosen;
        ties go to the first in (lam, C) order.
    sample_weight : ndarray of shape (m,), optional
        Repetitions of each training row, > 0.

    Returns
    -------
    TunedDraws
    """
    lam = np.asarray(lam, dtype=np.float64)
    C = np.asarray(C, dtype=np.float64)
    penalty = complex_penalties(lam, C)
    m, n_draws = X_train.shape[0], len(maps)
    plans = _plans(np.atleast_2d(folds), np.ones(m) if sample_weight is None else sample_weight)
    chosen = np.empty(n_draws, dtype=np.int64)
    errors = np.empty((n_draws, penalty.shape[1]))
    draw_scores = np.empty((n_draws, X_test.shape[0]))
    rows = _StackedRows.stacked(X_train, X_test)
    for start in range(0, n_draws, TOGETHER):
        hidden = np.stack([rows.hidden(nodes) for nodes in maps[start : start + TOGETHER]])
        paths = complex_paths(hidden[:, :m], y_train, sample_weight)
        for draw, path in enumerate(paths, start):
            errors[draw] = path.held_out(plans[draw % len(plans)], penalty)
            best = chosen[draw] = errors[draw].argmin()
            draw_scores[draw] = hidden[draw - start, m:] @ path.coef(penalty[:, best, None])[0]
    return TunedDraws(
        draw_scores.mean(axis=0),
        draw_scores,
        lam[chosen // len(C)],
        C[chosen % len(C)],
        errors.reshape(n_draws, len(lam), len(C)),
    )


def singular_below(values: Float64Array) -> float:
    """Threshold for eigenvalue and penalty below which a direction is numerically singular."""
    return RELATIVE_CUT * float(values.max(initial=0.0))


def complex_penalties(lam: Float64Array, C: Float64Array) -> Float64Array:
    """Real parts ``lam`` and imaginary parts ``1 / sqrt(C)`` of the grid, C fastest; (2, G)."""
    return np.stack([np.repeat(lam, len(C)), np.tile(1.0 / np.sqrt(C), len(lam))])


@dataclass(frozen=True, eq=False)
class _StackedRows:
    """Rows; also stored as a common row plus sparse deviations if most entries are equal."""

    rows: Matrix
    common: Float64Array | None
    deviations: Matrix

    @classmethod
    def stacked(cls, X_train: Matrix, X_test: Matrix) -> _StackedRows:
        """Training rows, then test rows."""
        if is_sparse(X_train):
            rows: Any = sparse.vstack([X_train, X_test], format="csr")
            return cls(rows, None, rows)
        rows = np.concatenate([X_train, as_dense(X_test)])
        common = np.median(rows[:FEW_ROWS], axis=0)
        deviations = rows - common
        if np.count_nonzero(deviations) > SPARSE_SHARE * rows.size:
            return cls(rows, None, rows)
        return cls(rows, common, sparse.csr_array(deviations))

    def hidden(self, nodes: NodeMap) -> Float64Array:
        """Node outputs of all rows."""
        if self.common is None or nodes.activation == "gaussian":
            return nodes.rows(self.rows)
        moved = nodes.biases + self.common @ nodes.weights
        return replace(nodes, biases=moved).rows(self.deviations)


def _plans(folds: Int64Array, weight: Float64Array) -> list[FoldPlan]:
    """The plan of each row of ``folds``."""
    counts = np.array([np.bincount(row, minlength=folds.max() + 1) for row in folds])
    first = plan_folds(_members(folds[0]), weight)
    if len(folds) == 1:
        return [first]
    if (weight != 1.0).any() or (counts != counts[0]).any():
        return [plan_folds(_members(row), weight) for row in folds]
    position = np.empty(counts.shape[1], dtype=np.int64)
    position[folds[0][first.order]] = np.arange(len(first.order))  # the last row of each fold
    orders = np.argsort(position[folds], axis=1, kind="stable")
    return [replace(first, order=order) for order in orders]


def _members(fold: Int64Array) -> list[Int64Array]:
    order = np.argsort(fold, kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold))[:-1])
