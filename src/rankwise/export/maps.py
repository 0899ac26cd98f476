"""Building blocks of fitted models: maps of rows, chained from the features to the score.

A ranker becomes a tuple of these maps (:mod:`rankwise.export.chains`). Every format writes the maps
that it can express.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.kernel import Kernel
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array


class ExportError(ValueError):
    """A model cannot be expressed in a format."""


@dataclass(frozen=True, eq=False)
class Affine:
    """``x @ weights + offset``.

    Attributes
    ----------
    weights : ndarray of shape (n_in, n_out)
    offset : ndarray of shape (n_out,)
    """

    weights: Float64Array
    offset: Float64Array


@dataclass(frozen=True, eq=False)
class Scaled:
    """``(x - center) / spread``, column by column.

    Attributes
    ----------
    center, spread : ndarray of shape (n_in,)
        Parameters per column; ``spread`` > 0, and inf makes a column 0.
    to_unit : bool
        Whether the training rows were scaled to [0, 1].
    factor, shift : ndarray of shape (n_in,), optional
        Set if the library computes ``x * factor + shift`` instead, which rounds differently.
    """

    center: Float64Array
    spread: Float64Array
    to_unit: bool = False
    factor: Float64Array | None = None
    shift: Float64Array | None = None

    def scale(self, x: Float64Array, columns: Int64Array) -> Float64Array:
        """Scaled values, rounded as the library does; ``columns`` gives the column of each."""
        if self.factor is None or self.shift is None:
            return (x - self.center[columns]) / self.spread[columns]
        return x * self.factor[columns] + self.shift[columns]


@dataclass(frozen=True, eq=False)
class HiddenNodes:
    """Hidden nodes, see :mod:`rankwise.features.random_nodes`.

    Attributes
    ----------
    weights : ndarray of shape (n_in, n_out)
    biases : ndarray of shape (n_out,)
    activation : str
    """

    weights: Float64Array
    biases: Float64Array
    activation: str


@dataclass(frozen=True, eq=False)
class KernelValues:
    """Values of a kernel with known rows.

    Attributes
    ----------
    kernel : Kernel
        Named kernel that is neither linear nor precomputed.
    rows : ndarray of shape (n_out, n_in)
    """

    kernel: Kernel
    rows: Float64Array


@dataclass(frozen=True, eq=False)
class Terms:
    """Products of columns.

    Attributes
    ----------
    factors : ndarray of shape (n_out, degree), int64
        Columns that each term multiplies, padded with -1.
    """

    factors: Int64Array


@dataclass(frozen=True, eq=False)
class RunningSums:
    """0, then the sums of the first one, two, ... columns, each times its step.

    Attributes
    ----------
    steps : ndarray of shape (n_in,)
    """

    steps: Float64Array


@dataclass(frozen=True, eq=False)
class VoteMean:
    """Mean class number of votes; each hypothesis votes by the thresholds that its score reaches.

    Attributes
    ----------
    thresholds : ndarray of shape (n_in, n_classes - 1)
    voices : ndarray of shape (n_in,)
        Weights of the votes.
    """

    thresholds: Float64Array
    voices: Float64Array


@dataclass(frozen=True, eq=False)
class Trees:
    """Sum of trees.

    Attributes
    ----------
    trees : tuple of ScoreTree
    constant : float
        Constant added to the sum.
    has_missing : bool
        Whether values were missing in the training rows, as far as the model knows.
    categories : dict of int to ndarray
        Category for each number, by column of text or ordered categories.
    tells_missing : bool
        Whether the model knows; XGBoost's do not.
    """

    trees: tuple[ScoreTree, ...]
    constant: float = 0.0
    has_missing: bool = False
    categories: dict[int, NDArray[Any]] = field(default_factory=dict)
    tells_missing: bool = True


@dataclass(frozen=True, eq=False)
class Filled:
    """Replace NaN by 0."""


@dataclass(frozen=True, eq=False)
class Sum:
    """Weighted sum of the single-column results of chains on the same rows, minus their levels.

    Attributes
    ----------
    chains : tuple of tuple of maps
    weights, levels : ndarray of shape (n_chains,)
    """

    chains: tuple[tuple[Map, ...], ...]
    weights: Float64Array
    levels: Float64Array


Map = (
    Affine
    | Scaled
    | HiddenNodes
    | KernelValues
    | Terms
    | RunningSums
    | VoteMean
    | Trees
    | Filled
    | Sum
)
Chain = tuple[Map, ...]


def linear(coef: Any, intercept: float = 0.0) -> Affine:
    """Weighted sum of columns as one column."""
    weights = np.asarray(coef, dtype=np.float64).reshape(-1, 1)
    return Affine(weights, np.array([float(intercept)]))


def merge_maps(chain: Chain) -> Chain:
    """Merge neighbouring affine maps and linear nodes of a chain."""
    out: list[Map] = []
    for step in chain:
        match step:
            case HiddenNodes(weights=weights, biases=biases, activation="linear"):
                step = Affine(weights, biases)
            case _:
                pass
        match out, step:
            case [*_, Affine() as before], Affine():
                weights = before.weights @ step.weights
                out[-1] = Affine(weights, before.offset @ step.weights + step.offset)
            case _:
                out.append(step)
    return tuple(out)
