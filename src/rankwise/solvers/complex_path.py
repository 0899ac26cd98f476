"""Formula (8) of ELMRank on a whole grid, and its exact cross-validation.

The stabilised solution of ``A b = B`` is ``b = (A'A + I/C)^-1 A'B`` [1]_, ``A = (2/m) H'PH + lam``
and ``B = (2/m) H'Py``. As A is symmetric, ``b = Re[(A + i/sqrt(C))^-1 B]``: ridge with the complex
penalty ``eta = (lam + i/sqrt(C)) m/2`` on the sum of squares. One eigendecomposition serves every
(lam, C); the block formula of ridge gives every held-out residual, each fold with the eta of its
own number of training rows.

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

from rankwise.features.random_nodes import NodeMap
from rankwise.kernels.complex_folds import add_squared_solutions, fold_products, shrinkages
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix

# ELMRank's grids: lam 1e-5 ... 1e1, C 2^1 ... 2^25.
LAM_GRID = 10.0 ** np.arange(-5, 2)
C_GRID = 2.0 ** np.arange(1, 26)
# Eigenvalues of the n x n side below this share of the largest are left to the rest.
NEGLIGIBLE = 1e-14
# Entries of fold systems that are solved together: what the second cache holds.
TILE_NUMBERS = 60_000


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
        """Solutions for each column of ``penalty`` (2, G), shape (G, n)."""
        shifted = self.values + self.half * penalty[0][:, None]
        imaginary = self.half * penalty[1][:, None]
        return (self.moment * shifted / (shifted * shifted + imaginary * imaginary)) @ self.basis.T


@dataclass(frozen=True, eq=False)
class ComplexPath(StabilisedPath):
    """The path of one group of rows, with what gives its held-out residuals.

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

    def held_out(self, folds: Sequence[Int64Array], penalty: Float64Array) -> Float64Array:
        """Weighted squared error of all held-out rows, intercepts taken off, shape (G,).

        Parameters
        ----------
        folds : sequence of int arrays
            Rows of each fold; not all rows.
        penalty : ndarray of shape (2, G)
            See :func:`complex_penalties`.
        """
        m, r = self.left.shape
        columns = r if r == m - 1 else r + 1  # with m - 1 directions nothing is left over
        errors = np.zeros(penalty.shape[1])
        for rows, size, train in _batches(folds, self.weight, penalty.shape[1]):
            entries = size * (size + 3) // 2
            products = np.empty((len(rows) // size * entries, columns))
            fold_products(self.left, self.target, self.direction, self.scaled, rows, size, products)
            step = max(16, TILE_NUMBERS // (2 * len(products)))
            for lo in range(0, len(errors), step):
                part = penalty[:, lo : lo + step]
                shrunk = np.empty((columns, 2 * part.shape[1]))
                shrinkages(
                    self.values[len(self.values) - r :],
                    np.ascontiguousarray(part),
                    0.5 * train,
                    shrunk,
                )
                add_squared_solutions(products @ shrunk, size, errors[lo : lo + step])
        return errors


def complex_paths(
    columns: Float64Array, y: Float64Array, weight: Float64Array | None = None
) -> Iterator[ComplexPath]:
    """Decompose several designs on the same rows.

    A reflection takes the intercept's direction to the first coordinate; the other m - 1 hold the
    centred problem without a null vector of its own.

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
    if m - 1 <= n:
        values, inner = np.linalg.eigh(centred @ turned)
    else:
        values, inner = np.linalg.eigh(turned @ centred)
    for draw, (spectrum, vectors) in enumerate(zip(values, inner, strict=True)):
        spectrum = np.maximum(spectrum, 0.0)
        if m - 1 <= n:
            basis = turned[draw] @ vectors
            moment = target = rest @ vectors
        else:
            basis, moment = vectors, (rest @ centred[draw]) @ vectors
            reached = spectrum > NEGLIGIBLE * spectrum[-1]
            vectors = (centred[draw] @ basis[:, reached]) / np.sqrt(spectrum[reached])
            target = rest @ vectors
        left = np.empty((m, vectors.shape[1]))
        along = (tau * mirror[1:]) @ vectors
        left[0] = -mirror[0] * along
        np.multiply(mirror[1:, None], -along, out=left[1:])
        left[1:] += vectors
        yield ComplexPath(
            spectrum,
            basis,
            moment,
            0.5 * norm**2,
            left,
            target,
            scale / norm,
            scaled,
            weight,
        )


@dataclass(frozen=True, eq=False)
class TunedDraws:
    """Node draws that each chose their own (lam, C).

    Attributes
    ----------
    scores : ndarray of shape (n_test,)
        Mean of the draws' scores.
    draw_scores : ndarray of shape (n_draws, n_test)
    lam, C : ndarray of shape (n_draws,)
    errors : ndarray of shape (n_draws, n_lam, n_C)
        Squared error of all held-out rows, the folds' own intercepts taken off.
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

    For few rows and many calls (450,000 fits in minutes): nothing is checked, no estimator is
    built, and the caller sets one BLAS thread (``rankwise._threads.single_threaded_blas``).

    Parameters
    ----------
    X_train, y_train : (m, d), (m,)
        Training rows, dense float64 or CSR, and targets.
    X_test : (t, d)
        Rows to score.
    maps : sequence of NodeMap
        The draws, all of one size.
    folds : int array of shape (m,) or (n_draws, m)
        Fold 0 ... k-1 of each training row, the same for all draws or one row for each draw.
        Every fold holds a row, and k >= 2.
    lam, C : array-like of shape (n_lam,), (n_C,)
        Grids; ``lam > 0``, ``C`` may hold ``np.inf``. The first least error in (lam, C) order is
        chosen.
    sample_weight : ndarray of shape (m,), optional
        Repetitions of each training row, > 0.

    Returns
    -------
    TunedDraws
    """
    lam = np.asarray(lam, dtype=np.float64)
    C = np.asarray(C, dtype=np.float64)
    penalty = complex_penalties(lam, C)
    members = [_members(row) for row in np.atleast_2d(folds)]
    n_draws = len(maps)
    chosen = np.empty(n_draws, dtype=np.int64)
    errors = np.empty((n_draws, penalty.shape[1]))
    draw_scores = np.empty((n_draws, X_test.shape[0]))
    hidden = np.stack([nodes.rows(X_train) for nodes in maps])
    for draw, path in enumerate(complex_paths(hidden, y_train, sample_weight)):
        errors[draw] = path.held_out(members[draw % len(members)], penalty)
        best = chosen[draw] = errors[draw].argmin()
        coef = path.coef(penalty[:, best, None])[0]
        draw_scores[draw] = maps[draw].rows(X_test) @ coef
    return TunedDraws(
        draw_scores.mean(axis=0),
        draw_scores,
        lam[chosen // len(C)],
        C[chosen % len(C)],
        errors.reshape(n_draws, len(lam), len(C)),
    )


def complex_penalties(lam: Float64Array, C: Float64Array) -> Float64Array:
    """Real parts ``lam`` and imaginary parts ``1 / sqrt(C)`` of the grid, C fastest; (2, G)."""
    return np.stack([np.repeat(lam, len(C)), np.tile(1.0 / np.sqrt(C), len(lam))])


def _members(fold: Int64Array) -> list[Int64Array]:
    order = np.argsort(fold, kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold))[:-1])


def _batches(
    folds: Sequence[Int64Array], weight: Float64Array, n_grid: int
) -> list[tuple[Int64Array, int, float]]:
    """(rows, rows of a fold, training weight) of folds that share one product."""
    total = float(weight.sum())
    alike: dict[tuple[int, float], list[Int64Array]] = {}
    for rows in folds:
        alike.setdefault((len(rows), total - float(weight[rows].sum())), []).append(rows)
    batches = []
    for (size, train), group in alike.items():
        together = max(1, TILE_NUMBERS // (size * (size + 3) * n_grid))
        for lo in range(0, len(group), together):
            batches.append((np.concatenate(group[lo : lo + together]), size, train))
    return batches
