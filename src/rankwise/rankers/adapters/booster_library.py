"""What the adapters need of a boosting library, and what they give it: training rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from rankwise.groups import FitData
from rankwise.metrics.measure import Measure
from rankwise.row_order import canonical_order
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix, is_sparse


@dataclass(frozen=True, eq=False)
class BoosterInput:
    """Input of one training run."""

    rows: TrainingRows
    # Parameters of the ranker under the names of the library, then the user's ``params``.
    params: Mapping[str, Any]
    n_trees: int  # number of trees to add
    nominal: Collection[int]  # columns that hold codes of unordered categories
    monitor: ValidationMonitor | None = None  # called with the validation scores after every tree
    early_stopping_rounds: int | None = None  # trees without improvement; None without ``monitor``
    previous: Any = None  # model object of the library, whose trees come first
    # Connection to the other processes that train the same model.
    network: Mapping[str, Any] | None = None

    def last_iteration(self, n_before: int) -> int:
        """Number of trees to keep, the ``n_before`` of ``previous`` included."""
        if self.monitor is None or self.early_stopping_rounds is None:
            return n_before + self.n_trees
        return n_before + self.monitor.best


class BoosterLibrary(Protocol):
    """A boosting library: trains, stores, reads and evaluates its trees.

    A *booster* is the library's own model object. Stored trees are bytes, in a text format of the
    library and checked before parsing, so models can be pickled, copied and saved. They number the
    columns; a parsed booster has the names of the columns.
    """

    name: str
    errors: ClassVar[tuple[type[Exception], ...]]  # what training raises
    in_float32: bool  # whether the library rounds rows to float32
    # Whether the library adds leaves in float64 in the order of the trees. TreeEnsemble then
    # returns the same bits as ``predict``, up to ten times as fast.
    sums_float64: bool
    auto_gain: str  # meaning of ``gain="auto"``; "auto" depends on the labels
    # Library name of each parameter of the ranker that the library receives.
    names: ClassVar[Mapping[str, str]]
    # Further library names that must not stand in ``params``, because the ranker sets them.
    reserved: frozenset[str]
    # Names that the library takes for one and the same parameter; those of parameters that the
    # ranker sets must not stand in ``params`` either.
    synonyms: ClassVar[tuple[frozenset[str], ...]]

    def known_params(self, params: Mapping[str, Any], n_features: int) -> set[str]:
        """Names of parameters that the library accepts, among them the known ones of ``params``."""
        ...

    def check_data(self, ranker: Any, data: FitData, directions: Sequence[int]) -> None:
        """Raise if the library does not support the weights, categories or constraints."""
        ...

    def train(self, given: BoosterInput) -> bytes:
        """Trees as bytes, cut after the best tree if training stops early; empty if there are none.

        The trees of ``given.previous`` come first.
        """
        ...

    def find_booster(self, model: Any) -> Any:
        """Booster in a user's object; None for objects without one."""
        ...

    def dump(self, booster: Any) -> bytes:
        """All trees of a booster as bytes."""
        ...

    def load(self, model: bytes, n_features: int, names: Sequence[str] | None) -> Any:
        """Booster of checked bytes, with the given feature names."""
        ...

    def predict(self, booster: Any, X: Matrix, nominal: Collection[int], n_threads: int) -> Any:
        """Score of every row."""
        ...

    def count_trees(self, booster: Any) -> int:
        """Number of trees of a booster."""
        ...

    def read_trees(self, model: bytes, n_categories: Any, /) -> StoredTrees:
        """Trees in our own form; BoosterError if they are damaged."""
        ...

    def importances(self, ranker: Any) -> Any:
        """Importance of each feature, >= 0."""
        ...

    def networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> tuple[list[dict[str, Any]], Any]:
        """Connection of each share, and an object that must exist until all processes are done."""
        ...


LARGEST_GRADE = 30  # LightGBM and XGBoost accept 2**grade - 1 up to this grade
WEIGHTS = (1e-30, 1e30)  # the libraries store weights as float32
LARGEST_LABEL_COUNT = 2**16
LABEL_SPAN = 4.0  # real-valued labels are mapped onto the usual range of grades


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """Labels of all training rows; this process may hold only a part of the rows."""

    low: float  # smallest label
    high: float  # largest label
    is_grade: bool  # whether all labels are whole grades from 0 to 30
    values: Float64Array | None  # distinct labels, ascending; None if more than 65,536

    @classmethod
    def of(cls, y: Float64Array) -> TrainingLabels:
        """Summary of the labels of at least one row."""
        whole = (y >= 0).all() and (y % 1 == 0).all() and y.max() <= LARGEST_GRADE
        values = np.unique(y)
        few = len(values) <= LARGEST_LABEL_COUNT
        low, high = float(values[0]), float(values[-1])
        return cls(low, high, bool(whole), values if few else None)

    def joined(self, other: TrainingLabels) -> TrainingLabels:
        """Combine with the summary of other labels."""
        values = None
        if self.values is not None and other.values is not None:
            values = np.union1d(self.values, other.values)
            values = values if len(values) <= LARGEST_LABEL_COUNT else None
        return TrainingLabels(
            min(self.low, other.low),
            max(self.high, other.high),
            self.is_grade and other.is_grade,
            values,
        )

    def mapped(self, y: Float64Array) -> Float64Array:
        """Whole grades unchanged; all other labels mapped linearly onto 0..4."""
        if self.is_grade:
            return y
        largest = max(abs(self.low), abs(self.high))  # the range of huge labels would overflow
        low, high = self.low / largest, self.high / largest
        return (y / largest - low) * (LABEL_SPAN / (high - low))


@dataclass(frozen=True)
class TrainingRows:
    """Checked rows in canonical order, sorted by query."""

    X: Matrix
    y: Float64Array  # whole grades 0..30 unchanged; all other labels mapped linearly onto 0..4
    exp2: bool  # whether the gain of a label is 2**y - 1 instead of y
    sizes: Int64Array  # (n_queries,), number of rows of each query
    weight: Float64Array | None = None  # > 0
    # Places at which the rows were shown; if given, the rows of a query are sorted by place.
    position: Int64Array | None = None
    # Distinct labels of all rows, ascending; None if more than 65,536.
    label_values: Float64Array | None = None

    @classmethod
    def of(
        cls,
        data: FitData,
        gain: str,
        position: Int64Array | None,
        labels: TrainingLabels | None = None,
    ) -> TrainingRows:
        """Bring checked rows into canonical order; ``labels`` also summarises other rows.

        ``gain="exp2"`` needs labels that are whole grades.
        """
        X = library_matrix(data.X)
        labels = TrainingLabels.of(data.y) if labels is None else labels
        if gain == "exp2" and not labels.is_grade:
            raise ValueError(
                f"gain='exp2' needs whole grades from 0 to {LARGEST_GRADE}, got labels from "
                f"{labels.low} to {labels.high}. Use gain='auto' or gain='linear'."
            )
        y = labels.mapped(data.y)
        order, sizes = canonical_order(X, y, data.groups, data.sample_weight, position)
        position = None if position is None else position[order]
        weight = None if data.sample_weight is None else data.sample_weight[order]
        exp2 = labels.is_grade and gain != "linear"
        values = None if labels.values is None else labels.mapped(labels.values)
        return cls(X[order], y[order], exp2, sizes, weight, position, values)

    def qid(self) -> Int64Array:
        """Query number of every row, ascending."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def query_weight(self) -> Float64Array | None:
        """Weight of every query, shape (n_queries,), if its rows have equal weights."""
        return None if self.weight is None else self.weight[np.cumsum(self.sizes) - self.sizes]


def check_weight_range(data: FitData) -> None:
    """Raise if a weight is outside the range of float32, in which the libraries store weights."""
    weight = data.sample_weight
    if weight is None or not len(weight):
        return
    low, high = WEIGHTS
    odd = weight[(weight < low) | (weight > high)]
    if len(odd):
        raise ValueError(
            f"sample_weight must be 0 or lie between {low:g} and {high:g}, got {odd[0]:g}. "
            "Scale the weights to about 1."
        )


def check_query_weights(data: FitData, owner: str) -> None:
    """Raise if the rows of a query differ in weight; the message names the first such query."""
    if data.sample_weight is None:
        return
    weight, indptr = data.groups.sort(data.sample_weight), data.groups.indptr
    first = np.repeat(weight[np.minimum(indptr[:-1], len(weight) - 1)], data.groups.sizes)
    differs = np.flatnonzero(weight != first)
    if len(differs):
        row = int(differs[0])
        query = data.groups.ids[np.searchsorted(indptr, row, side="right") - 1]
        raise ValueError(
            f"sample_weight must be equal for all rows of a query, because {owner} weights "
            f"queries, got {first[row]:g} and {weight[row]:g} in query {query}. Pass one weight "
            "per query, repeated for its rows, or use LightGBMRanker, which weights rows."
        )


def library_matrix(X: Matrix) -> Any:
    """Dense X unchanged; sparse arrays as a CSR matrix in the form that all libraries accept."""
    if not is_sparse(X):
        return X
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    indices, indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    matrix: Any = sparse.csr_matrix((X.data, indices, indptr), shape=X.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def deal_large_queries(
    y: Float64Array, sizes: Int64Array, limit: int
) -> tuple[Int64Array, Int64Array]:
    """Split queries of more than ``limit`` rows into equal parts with the same mix of labels.

    ``y`` is (n_samples,), sorted by query, and ``sizes`` (n_queries,) counts the rows of each.
    Returns row numbers (n_samples,), sorted by part, and the number of rows of each part, at most
    ``limit``.
    """
    parts: list[Int64Array] = []
    start = 0
    for size in sizes:
        rows = np.arange(start, start + size)
        start += size
        n_parts = -(-size // limit)
        if n_parts > 1:
            rows = rows[np.argsort(y[rows], kind="stable")]
        parts += [rows[part::n_parts] for part in range(n_parts)]
    return np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.int64)


class ValidationMonitor(StagedMeasure):
    """Evaluates the measure on the validation rows after every tree."""

    def __init__(self, measure: Measure, rows: FitData) -> None:
        super().__init__(measure, rows.y, rows.groups)
        self.X, self.n_samples = library_matrix(rows.X), len(rows.y)

    def __call__(self, scores: ArrayLike) -> float:
        """Append the measure of these scores; returns its value, negated if smaller is better."""
        self.record(np.array(scores, dtype=np.float64))
        return float(self._ascending()[-1])
