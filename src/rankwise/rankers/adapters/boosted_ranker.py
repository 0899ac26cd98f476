"""Base of the boosting adapters: columns, labels, row order, validation and stored trees.

An adapter has its parameters and a :class:`BoosterLibrary`. This module makes the three libraries
behave alike. Queries may be unsorted and of any type, and any real labels are accepted. The order
of the rows does not change the model. Categories have the same codes in every table
(:mod:`rankwise.trees.column_table`). Early stopping uses any measure of :mod:`rankwise.metrics`
under its own convention. Trees are stored as the library's own text, which is checked before
anything reads it. LightGBM's trees are scored by our own code, with the bits of its predict; those
of XGBoost and CatBoost by the library, whose sums differ from ours in the last bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import (
    N_JOBS,
    NOT_NEGATIVE,
    POSITIVE,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_fit, check_positions, check_validation
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, Measure, MeasureLike
from rankwise.row_order import canonical_order
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.frames import Table
from rankwise.runtime.messages import did_you_mean
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import available_threads, threads_asked
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.structure.state_rules import Bytes, Number, Plain, Rule, Sometimes, floats, require
from rankwise.trees.column_table import FROM_DTYPE, CategoricalInput, ColumnTable
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, is_sparse


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
    # returns the same bits as ``predict``, at no cost of time.
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

    n_samples: int

    def __init__(self, measure: Measure, rows: FitData) -> None:
        super().__init__(measure, rows.y, rows.groups)
        self.X, self.n_samples = library_matrix(rows.X), len(rows.y)

    def __call__(self, scores: ArrayLike) -> float:
        """Append the measure of these scores; returns its value, negated if smaller is better."""
        self.record(np.array(scores, dtype=np.float64))
        return float(self._ascending()[-1])


VALUES_PER_THREAD = 2_000_000


class BoostedRanker(ChoosesRounds, CategoricalInput, Ranker):
    """Base of the boosting adapters.

    A subclass has the parameters ``n_estimators, monotone_constraints, categorical_features, gain,
    measure, early_stopping_rounds, params, n_jobs, random_state``, further ones of its own, and the
    library that trains with them.
    """

    _library: ClassVar[BoosterLibrary]

    _structure: ClassVar[dict[str, Rule]] = {
        "model_": Bytes(),
        "best_iteration_": Number("i", low=0),
        "feature_importances_": floats("n_features_in_"),
        "validation_scores_": Sometimes(Plain()),
    }

    # Weights per query cannot be split by rows, as bagging does, so routing must be explicit.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": None}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [minimum(1)],
        "learning_rate": [POSITIVE],
        "reg_lambda": [NOT_NEGATIVE],
        "monotone_constraints": [dict, "array-like", None],
        "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
        "gain": [StrOptions({"auto", "exp2", "linear"})],
        "measure": MEASURE_KINDS,
        "early_stopping_rounds": [minimum(1), None],
        **CHOICE,
        "params": [dict, None],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    n_estimators: int
    monotone_constraints: Any
    categorical_features: Any
    gain: str
    measure: MeasureLike
    early_stopping_rounds: int | None
    params: dict[str, Any] | None
    n_jobs: int | None
    random_state: Any
    n_features_in_: int

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
        init_model: Any = None,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Features. NaN means missing; an entry absent from a CSR matrix is 0. Categorical columns
            are chosen by ``categorical_features``.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0, see the notes of the class. Rows of weight 0 are left out.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every tree. Training stops
            after ``early_stopping_rounds`` trees without improvement.
        init_model : fitted ranker of this class, or the library's model, optional
            Model to continue from: ``n_estimators`` trees are added to its trees. Categories keep
            the codes of this model.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        validation = (X_val, y_val, qid_val)
        return self._fit(X, y, qid, sample_weight, validation, init_model)

    def _fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        qid: ArrayLike | QueryGroups | None,
        sample_weight: ArrayLike | None,
        validation: tuple[Any, Any, Any],
        init_model: Any,
        position: ArrayLike | None = None,
    ) -> Self:
        self._check_parameters()
        if chooses_rounds(self, validation[0]):
            n_before = 0
            if isinstance(init_model, BoostedRanker):
                n_before = init_model.best_iteration_
            elif self._start(init_model)[0]:
                n_before = self._library.count_trees(self._library.find_booster(init_model))
            by_row = {"qid": qid, "sample_weight": sample_weight, "position": position}
            return fit_chosen(
                self, X, y, by_row, validation, init_model=init_model, n_before=n_before
            )
        table = Table.of(X)
        start, columns = self._start(init_model)
        self.columns_ = ColumnTable.of(table, self.categorical_features, sample_weight)
        if columns is not None:
            shape = getattr(table.rows, "shape", ())
            if len(shape) == 2:  # first, because the message about categories is less specific
                self._check_start(init_model, shape[1], getattr(table.rows, "columns", None))
            self.columns_ = self.columns_.continue_codes(columns)
        data = check_fit(self, self.columns_.encode(table), y, qid, sample_weight, allow_nan=True)
        self._check_start(init_model, self.n_features_in_, getattr(self, "feature_names_in_", None))
        positions = None if position is None else check_positions(position, data)
        X_val, y_val, qid_val = validation
        if X_val is not None:
            X_val = self._encode(X_val)
        return self._train(data, (X_val, y_val, qid_val), position=positions, start=start)

    def _fit_share(
        self,
        rows: tuple[Any, Any, Any, Any],
        names: list[str] | None,
        labels: TrainingLabels,
        validation: tuple[Any, Any, Any],
        seed: int,
        network: Any,
    ) -> Self:
        """Train jointly with other processes, each of which holds whole queries of the rows.

        ``rows`` (X, y, qid, sample_weight) of this share have no categorical columns; ``labels``
        are those of all shares. ``validation`` and ``seed`` are the same in all processes, and so
        are the trees. ``network``: from ``_networks``; None: there are no other processes.
        """
        self._check_parameters()
        self.columns_: ColumnTable = ColumnTable({}, {})
        X, y, qid, weight = rows
        data = check_fit(self, X, y, qid, weight, allow_nan=True, names=names, part=True)
        return self._train(data, validation, labels=labels, seed=seed, network=network)

    def _networks(self, hosts: Sequence[str], ports: Sequence[int], here: str) -> list[Any]:
        """Connections between the shares: for each one, the argument of ``_fit_share``.

        ``ports`` has a free port on each of the hosts; ``here`` is the address of this machine for
        them. The ranker must exist until all processes are done.
        """
        if len(hosts) == 1:
            return [None]
        self._network_owner = None  # ends the network of workers that have died
        connections, self._network_owner = self._library.networks(hosts, ports, here)
        return connections

    def _train(
        self,
        data: FitData,
        validation: tuple[Any, Any, Any],
        *,
        position: Int64Array | None = None,
        labels: TrainingLabels | None = None,
        seed: int | None = None,
        start: bytes = b"",
        network: Any = None,
    ) -> Self:
        """Train on checked rows, after the trees ``start``, and set the fitted attributes."""
        library, nominal = self._library, self.columns_.nominal
        check_weight_range(data)
        directions = constraint_list(
            self.monotone_constraints, self.n_features_in_, self._column_names(), nominal
        )
        library.check_data(self, data, directions or ())
        held_out = check_validation(self, data, *validation, allow_nan=True)
        if seed is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        params = self._library_params(data.X, directions, seed)
        self._set_score_name(data.y)
        monitor = None if held_out is None else ValidationMonitor(parse(self.measure), held_out)
        model = start
        # Rows of this process alone have a pair, or else the check of the rows has raised.
        if len(data.y) > 1 or network is not None:
            gain = library.auto_gain if self.gain == "auto" else self.gain
            given = BoosterInput(
                TrainingRows.of(data, gain, position, labels),
                params,
                self.n_estimators,
                nominal,
                monitor,
                None if monitor is None else self.early_stopping_rounds,
                library.load(start, self.n_features_in_, None) if start else None,
                network,
            )
            try:
                model = library.train(given) or start
            except library.errors as error:  # such as a subsample that draws none of a few rows
                raise ValueError(
                    f"{library.name} cannot train {type(self).__name__} with these parameters on "
                    f"these rows: {error}"
                ) from error
        self._booster = self._ensemble = None
        self.model_ = model
        self.best_iteration_ = 0
        self.feature_importances_ = np.zeros(self.n_features_in_)
        if self.model_:
            self.best_iteration_: int = self._count_rounds()
            gains = np.asarray(library.importances(self), dtype=np.float64)
            self.feature_importances_: Float64Array = gains / (gains.sum() or 1.0)
        vars(self).pop("validation_scores_", None)  # of an earlier fit
        if monitor is not None:
            self.validation_scores_: NDArray[Any] = np.array(monitor.values)
        return self

    def _library_params(self, X: Matrix, directions: list[int] | None, seed: int) -> dict[str, Any]:
        """Parameters under the names of the library, then ``params``, all of them known to it."""
        library = self._library
        values = {
            **self.get_params(deep=False),
            "monotone_constraints": directions,
            "n_jobs": self._threads(X),
            "random_state": seed,
        }
        translated = {
            library_name: values[name]
            for name, library_name in library.names.items()
            if values[name] is not None
        }
        params = {**translated, **(self.params or {})}
        if self.params:
            known = library.known_params(params, self.n_features_in_) | library.reserved
            if unknown := [name for name in self.params if name not in known]:
                hint = did_you_mean(unknown[0], known, f"See {library.name}'s list of parameters.")
                raise ValueError(
                    f"params must hold parameters of {library.name}, got {unknown[0]!r} for "
                    f"{type(self).__name__}. {hint}"
                )
        return params

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        A category that ``fit`` has not seen counts as missing. If there was nothing to learn (a
        single row, or no varying feature for CatBoost), all scores are 0.
        """
        rows = self._check_rows(X)
        if not self.model_:
            return np.zeros(rows.shape[0])
        n_threads = self._threads(rows)
        # TreeEnsemble cannot score nodes that read 0 as missing (zero_as_missing=True).
        if self._library.sums_float64 and not self._tree_ensemble().zero_missing.any():
            return self._tree_ensemble().score(rows, n_threads)
        booster = self._booster if self._booster is not None else self.booster_
        scores = self._library.predict(
            booster, library_matrix(rows), self.columns_.nominal, n_threads
        )
        return np.asarray(scores, dtype=np.float64)

    def _tree_ensemble(self) -> TreeEnsemble:
        """Trees as flat arrays, read from ``model_``."""
        check_is_fitted(self)
        if self._ensemble is None:
            stored = self._stored_trees()
            self._ensemble = TreeEnsemble.of(
                stored.trees, stored.constant, in_float32=self._library.in_float32
            )
        return self._ensemble

    def _stored_trees(self) -> StoredTrees:
        """Trees read from ``model_``, for rows from ``_encoded_rows``."""
        check_is_fitted(self)
        if not self.model_:
            return StoredTrees(())
        n_categories = self.columns_.n_categories(self.n_features_in_)
        return self._library.read_trees(self.model_, n_categories)

    @property
    def booster_(self) -> Any:
        """Model object of the library; None if there was nothing to learn.

        Its features have the column names of X, with ``_`` for characters that the library forbids.
        """
        check_is_fitted(self)
        if self._booster is None and self.model_:
            self._booster = self._library.load(
                self.model_, self.n_features_in_, self._column_names()
            )
        return self._booster

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and fitted state, with the trees as bytes."""
        state: Any = super().__getstate__()
        return {key: state[key] for key in state if key not in ("_booster", "_ensemble")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_booster": None, "_ensemble": None})

    def _check_structure(self) -> None:
        self.columns_.check_width(self.n_features_in_)
        if self.model_:
            rounds = self._count_rounds()
            require(self.best_iteration_ == rounds, "best_iteration_", f"be {rounds}",
                    self.best_iteration_)  # fmt: skip

    def _count_rounds(self) -> int:
        if self._library.sums_float64:  # one tree a round
            return self._tree_ensemble().n_trees
        return self._library.count_trees(self.booster_)

    def _column_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _start(self, init_model: Any) -> tuple[bytes, ColumnTable | None]:
        """Trees to continue from, and the codes of their categories."""
        if init_model is None:
            return b"", None
        if isinstance(init_model, BoostedRanker) and init_model._library is self._library:
            check_is_fitted(init_model)
            return init_model.model_, init_model.columns_
        library = self._library
        booster = library.find_booster(init_model)
        if booster is None:
            raise TypeError(
                f"init_model must be a fitted {type(self).__name__} or a model of {library.name}, "
                f"got {type(init_model).__name__}."
            )
        return library.dump(booster), ColumnTable({}, {})

    def _check_start(self, init_model: Any, n_features: int, names: Any) -> None:
        """Raise if the columns of X are not those of ``init_model``."""
        if not isinstance(init_model, BoostedRanker):
            return
        before = getattr(init_model, "feature_names_in_", None)
        renamed = before is not None and names is not None and list(before) != list(names)
        if renamed or init_model.n_features_in_ != n_features:
            raise ValueError(
                f"init_model must be fitted on the columns of X, got a model of "
                f"{init_model.n_features_in_} columns for {n_features}"
                f"{' with other names' if renamed else ''}. Pass the same columns in order."
            )

    def _threads(self, X: Matrix) -> int:
        """Number of threads for a table; small tables get few threads on any machine.

        The threads of the libraries wait for each other at every leaf. On busy cores, two threads
        on a small table were up to 30 times slower than one.
        """
        if self.n_jobs is None:
            values = X.nnz if is_sparse(X) else X.size
            return max(1, min(available_threads(), values // VALUES_PER_THREAD))
        return threads_asked(self.n_jobs)

    def _written_as(self, name: str) -> frozenset[str]:
        """All names of a parameter of the ranker in the library."""
        named = frozenset({name, self._library.names.get(name, name)})
        return named.union(*(names for names in self._library.synonyms if names & named))

    def _check_parameters(self) -> None:
        """Check all parameters, even unused ones."""
        self._validate_params()
        library, given = self._library, self.get_params(deep=False)
        own = library.reserved.union(*map(self._written_as, (*given, *library.reserved)))
        taken = sorted(own & set(self.params or ()))
        if taken:
            meant = [name for name in given if self._written_as(name).intersection(taken)]
            raise ValueError(
                f"params must not hold {taken}, because {type(self).__name__} sets them. "
                f"Use its own parameter instead{': ' if meant else ''}{', '.join(meant)}."
            )
        parse(self.measure)


class PositionFit(FiniteResults):
    """Adds to a boosting adapter the correction of clicks for the places of the rows."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"position": True}

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
        init_model: Any = None,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Features. NaN means missing; an entry absent from a CSR matrix is 0. Categorical columns
            are chosen by ``categorical_features``.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0, see the notes of the class. Rows of weight 0 are left out.
        position : array-like of shape (n_samples,), optional
            Place at which each row was shown when its clicks were recorded, integers >= 0. The
            library estimates the bias of every place and corrects the labels for it (LightGBM:
            objective "lambdarank" only; XGBoost: ``lambdarank_unbiased``).
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every tree. Training stops
            after ``early_stopping_rounds`` trees without improvement.
        init_model : fitted ranker of this class, or the library's model, optional
            Model to continue from (of the library: a Booster or its scikit-learn class):
            ``n_estimators`` trees are added to its trees. Categories keep the codes of this model.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        validation = (X_val, y_val, qid_val)
        ranker: Any = self
        return ranker._fit(X, y, qid, sample_weight, validation, init_model, position)


_DIRECTIONS = (-1, 0, 1)


def library_names(names: Sequence[str], forbidden: re.Pattern[str]) -> list[str]:
    """Distinct column names, with ``_`` for characters that a library forbids."""
    taken: set[str] = set()
    out = []
    for column, name in enumerate(names):
        word = forbidden.sub("_", str(name)) or f"Column_{column}"
        if word in taken:
            word = f"{word}_{column}"
        while word in taken:
            word += "_"
        taken.add(word)
        out.append(word)
    return out


def constraint_list(
    constraints: Any, n_features: int, names: Sequence[str] | None, nominal: Collection[int]
) -> list[int] | None:
    """Direction of every column, -1, 0 or 1; None if there are no constraints.

    ``constraints`` is the parameter ``monotone_constraints``: a mapping from names or numbers of
    columns to directions, or an array (n_features,). ``names`` are those of the columns, if X has
    names. The columns in ``nominal`` are categorical: they have no order, so a constraint on them
    is an error.
    """
    if constraints is None:
        return None
    directions = [0] * n_features
    if isinstance(constraints, Mapping):
        for key, direction in constraints.items():
            directions[_column(key, n_features, names)] = direction
    else:
        directions = np.asarray(constraints).tolist()
        if not isinstance(directions, list) or len(directions) != n_features:
            raise ValueError(
                f"monotone_constraints must have n_features={n_features} entries, got "
                f"{constraints!r}. Pass one of -1, 0 and 1 per column, or a dict of columns."
            )
    for column, direction in enumerate(directions):
        if direction not in _DIRECTIONS:
            raise ValueError(
                f"monotone_constraints must be -1, 0 or 1, got {direction!r} for column {column}. "
                "1: the score never decreases as the feature grows; -1: it never increases."
            )
        if direction and column in nominal:
            raise ValueError(
                f"monotone_constraints must be 0 for column {column}, which has unordered "
                "categories. Pass an ordered categorical, or remove the constraint."
            )
    return [int(direction) for direction in directions]


def _column(key: Any, n_features: int, names: Sequence[str] | None) -> int:
    if isinstance(key, str):
        if names is not None and key in names:
            return list(names).index(key)
        hint = did_you_mean(key, names or (), "Name columns of X, or number them.")
        raise ValueError(f"monotone_constraints must name columns of X, got {key!r}. {hint}")
    if not isinstance(key, int | np.integer) or not 0 <= key < n_features:
        raise ValueError(
            f"monotone_constraints must number columns from 0 to {n_features - 1}, got {key!r}."
        )
    return int(key)
