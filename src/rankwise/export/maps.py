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
    """``x @ weights + offset``, with weights (n_in, n_out) and offset (n_out,)."""

    weights: Float64Array
    offset: Float64Array


@dataclass(frozen=True, eq=False)
class Scaled:
    """``(x - center) / spread``, column by column; all arrays are (n_in,)."""

    center: Float64Array
    spread: Float64Array  # > 0; inf makes a column 0
    to_unit: bool = False  # whether the training rows were scaled to [0, 1]
    # With ``shift``, set if the library computes ``x * factor + shift``, which rounds differently
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

    Weights are (n_in, n_out) and biases (n_out,).
    """

    weights: Float64Array
    biases: Float64Array
    activation: str


@dataclass(frozen=True, eq=False)
class KernelValues:
    """Values of a kernel with known rows (n_out, n_in)."""

    kernel: Kernel  # neither linear nor precomputed
    rows: Float64Array


@dataclass(frozen=True, eq=False)
class Terms:
    """Products of columns."""

    factors: Int64Array  # (n_out, degree), columns that each term multiplies, padded with -1


@dataclass(frozen=True, eq=False)
class RunningSums:
    """0, then the sums of the first one, two, ... columns, each times its step, (n_in,)."""

    steps: Float64Array


@dataclass(frozen=True, eq=False)
class VoteMean:
    """Mean class number of votes; a hypothesis votes by the thresholds that its score reaches."""

    thresholds: Float64Array  # (n_in, n_classes - 1)
    voices: Float64Array  # (n_in,), weights of the votes


@dataclass(frozen=True, eq=False)
class Trees:
    """Sum of trees and a constant."""

    trees: tuple[ScoreTree, ...]
    constant: float = 0.0
    # Whether values were missing in the training rows, as far as the model knows
    has_missing: bool = False
    # Category for each number, by column of text or ordered categories
    categories: dict[int, NDArray[Any]] = field(default_factory=dict)
    tells_missing: bool = True  # whether the model knows; XGBoost's do not


@dataclass(frozen=True, eq=False)
class Filled:
    """Replace NaN by 0."""


@dataclass(frozen=True, eq=False)
class Sum:
    """Weighted sum of the single-column results of chains on the same rows, minus their levels.

    Weights and levels are (n_chains,).
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
