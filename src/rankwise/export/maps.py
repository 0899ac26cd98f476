"""Building blocks of fitted models: maps of rows, chained from the features to the score.

A ranker becomes a tuple of these maps (:mod:`rankwise.export.chains`). Every format writes the maps
that it can express, under the names of the features that the model reads.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.features.kernels import Kernel
from rankwise.trees.tree_ensemble import ScoreTree
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
    """Hidden nodes, see :mod:`rankwise.features.random_features`.

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
class CategoryValues:
    """Numbers that trees compare in place of the categories of a column."""

    # (n_categories,), ascending: what rows of an exported file hold. Positions in the list of
    # categories if these have names, else the categories themselves.
    keys: Float64Array
    values: Float64Array  # (n_categories,), float32 numbers
    prior: float  # value of any other key

    def encode(self, keys: Float64Array) -> Float64Array:
        """Value of each key; NaN, a missing value, stays NaN."""
        place = np.searchsorted(self.keys, keys)
        known, values = np.append(self.keys, np.nan), np.append(self.values, self.prior)
        values = np.where(known[place] == keys, values[place], self.prior)
        return np.where(np.isnan(keys), np.nan, values)

    def goes_left(self, threshold: float) -> tuple[Float64Array, Float64Array, bool]:
        """Keys that go left and right at a threshold, and whether unknown ones go left."""
        is_left = self.values <= threshold
        return self.keys[is_left], self.keys[~is_left], bool(self.prior <= threshold)


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
    # By column that is encoded and tested by a tree, whose thresholds then are those of the values
    encoded: dict[int, CategoryValues] = field(default_factory=dict)

    def encode(self, rows: Float64Array) -> Float64Array:
        """Rows as the trees read them, with values in place of the keys of encoded columns."""
        if not self.encoded:
            return rows
        out = rows.astype(np.float64)
        for column, known in self.encoded.items():
            out[:, column] = known.encode(out[:, column])
        return out

    def with_float32_keys(self) -> Trees:
        """The trees as a program reads them that rounds rows to float32 first."""
        encoded = {
            column: replace(known, keys=known.keys.astype(np.float32).astype(np.float64))
            for column, known in self.encoded.items()
        }
        return replace(self, encoded=encoded)


@dataclass(frozen=True, eq=False)
class Sum:
    """Weighted sum of the single-column results of chains on the same rows, minus their levels.

    Weights and levels are (n_chains,); ``categories`` and ``encoded`` are those of :class:`Trees`.
    """

    chains: tuple[tuple[Map, ...], ...]
    weights: Float64Array
    levels: Float64Array
    categories: dict[int, NDArray[Any]] = field(default_factory=dict)
    encoded: dict[int, CategoryValues] = field(default_factory=dict)


# The key of a column that no value has: it is 1 where a value is missing, or nowhere.
NEVER = float("inf")


@dataclass(frozen=True)
class Column:
    """A column made from one column: its values, or whether they are the key."""

    source: int
    key: Any = None  # text or number; then the column is 1 or 0. None: the values themselves
    fill: Any = None  # in place of missing values; None: they stay missing


@dataclass(frozen=True, eq=False)
class MadeColumns:
    """Columns that are chosen, filled, or encoded as 0 and 1.

    Rows of exported files hold positions in :attr:`categories` in place of text, and -1 in place of
    unknown text.
    """

    columns: tuple[Column, ...]

    def then(self, after: MadeColumns) -> MadeColumns:
        """Both steps as one."""
        return MadeColumns(
            tuple(_compose(self.columns[made.source], made) for made in after.columns)
        )

    @property
    def categories(self) -> dict[int, list[str]]:
        """Text that the columns know, by source."""
        known: dict[int, dict[str, None]] = {}
        for made in self.columns:
            if isinstance(made.key, str):
                known.setdefault(made.source, {})[made.key] = None
        return {source: list(texts) for source, texts in sorted(known.items())}

    def read_as_text(self, n_columns: int) -> dict[int, list[str]]:
        """:attr:`categories`, and no text of columns that are not used, which may hold any."""
        unused = {*range(n_columns)} - {made.source for made in self.columns}
        return dict(sorted({**self.categories, **{source: [] for source in unused}}.items()))

    def numbers(self) -> list[tuple[int, float, float]]:
        """Source, key and filling of each column, as numbers; NaN for None."""
        listed = self.categories
        return [
            (
                made.source,
                float(listed[made.source].index(made.key))
                if isinstance(made.key, str)
                else np.nan
                if made.key is None
                else float(made.key),
                np.nan if made.fill is None else float(made.fill),
            )
            for made in self.columns
        ]

    def make(
        self, rows: Float64Array, *, fill: bool = True, dtype: Any = np.float64
    ) -> Float64Array:
        """The columns of rows of numbers, which are first rounded to ``dtype``.

        Without ``fill``, missing values of columns that are not encoded stay missing.
        """
        out = np.empty((len(rows), len(self.columns)))
        for place, (source, key, filling) in enumerate(self.numbers()):
            x = rows[:, source].astype(dtype).astype(np.float64)
            key = float(dtype(key))
            is_value = np.isnan(key)
            values = x if is_value else (x == key).astype(np.float64)
            if not np.isnan(filling) and (fill or not is_value):
                values = np.where(np.isnan(x), filling, values)
            out[:, place] = values
        return out


def _compose(first: Column, after: Column) -> Column:
    if after.key is None:
        # An encoded column has no missing values.
        fill = after.fill if first.fill is None else first.fill
        return replace(first, fill=fill)
    if first.key is not None and after.key != NEVER:
        raise ExportError("columns that are encoded twice cannot be exported. Encode them once.")
    fill = after.fill if first.fill is None else float(first.fill == after.key)
    return Column(first.source, after.key, fill)


Map = (
    Affine
    | MadeColumns
    | Scaled
    | HiddenNodes
    | KernelValues
    | Terms
    | RunningSums
    | VoteMean
    | Trees
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
        if isinstance(step, HiddenNodes) and step.activation == "linear":
            step = Affine(step.weights, step.biases)
        match out, step:
            case [*_, Affine() as before], Affine():
                weights = before.weights @ step.weights
                out[-1] = Affine(weights, before.offset @ step.weights + step.offset)
            case [*_, MadeColumns() as before], MadeColumns():
                out[-1] = before.then(step)
            case _:
                out.append(step)
    return tuple(out)


# Blanks end a name in LightGBM's file, and the others end one in its JSON.
LIGHTGBM_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f\"',:\[\]{}=]")
XGBOOST_FORBIDDEN = re.compile(r"[\[\]<\x00-\x1f\x7f]")
NONE_FORBIDDEN = re.compile(r"(?!)")


def steps_of(estimator: Any) -> list[Any]:
    """Active steps of a pipeline, also of pipelines in it, and the best of searches; the model."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    if not hasattr(estimator, "steps"):
        return [estimator]
    active = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return [inner for step in active for inner in steps_of(step)]


def first_step(estimator: Any) -> Any:
    """First estimator that reads the features: the first active step of a pipeline."""
    return steps_of(estimator)[0]


def feature_names(estimator: Any, given: Sequence[str] | None = None) -> list[str]:
    """Distinct feature names in the order of the columns: given, from the fit, or f1, f2, ..."""
    first = first_step(estimator)
    if not hasattr(first, "n_features_in_"):
        check_is_fitted(first)
        raise TypeError(f"a model must know its features, got a {type(first).__name__}.")
    n = int(first.n_features_in_)
    known = getattr(first, "feature_names_in_", None) if given is None else given
    numbered = [f"f{number}" for number in range(1, n + 1)]
    return check_names_of(numbered if known is None else [str(name) for name in known], n)


def column_word(names: Sequence[str] | None, column: int) -> str:
    """The column in messages: by its name, or by its number if it has none."""
    if names is None or column >= len(names) or names[column] == f"f{column + 1}":
        return f"column {column}"
    return f"column {str(names[column])!r}"


def check_names_of(names: list[str], n: int) -> list[str]:
    """The names; ValueError unless they are n distinct ones."""
    if len(names) != n:
        raise ValueError(
            f"features must have one name for each of the {n} columns, got {len(names)}."
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"features must be distinct, got {', '.join(twice)} more than once.")
    return names


def replace_forbidden(names: Sequence[str], forbidden: re.Pattern[str], format: str) -> list[str]:
    """Distinct names with ``_`` for each character that a format forbids.

    A warning that names the format is issued if a name changes.
    """
    allowed: list[str] = []
    taken = {name for name in names if name and not forbidden.search(name)}
    for column, name in enumerate(names):
        word = name
        if name not in taken:
            word = forbidden.sub("_", name) or f"f{column + 1}"
            while word in taken:
                word += "_"
            taken.add(word)
        allowed.append(word)
    changed = [pair for pair in zip(names, allowed, strict=True) if pair[0] != pair[1]]
    if changed:
        warnings.warn(
            f"{format} does not accept {len(changed)} of the feature names; the first, "
            f"{changed[0][0]!r}, becomes {changed[0][1]!r}. Pass features=[...] to choose others.",
            UserWarning,
            stacklevel=3,
        )
    return allowed
