"""Base of the boosting adapters: columns, labels, row order, validation and stored trees.

An adapter defines its parameters and translates them. This module makes the three libraries behave
alike. Queries may be unsorted and of any type, and any real labels are accepted. The order of the
rows does not change the model (``_rows``). Categories have the same codes in every table
(:mod:`rankwise.trees.columns`). Early stopping uses any measure of :mod:`rankwise.metrics` under
its own convention. Trees are stored as the library's own text and checked before parsing
(``_stored``), so models can be pickled, copied and saved. The text numbers the columns; the parsed
object has their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.positions import check_positions
from rankwise.checks.rows import check_fit, check_rows, check_validation, collected
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.rankers.adapters._params import constraint_list
from rankwise.rankers.adapters._rows import (
    Labels,
    TrainingRows,
    check_query_weights,
    check_weight_range,
    library_matrix,
)
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import available_threads
from rankwise.structure.rules import Bytes, Number, Part, Plain, Rule, Sometimes, floats, require
from rankwise.trees.columns import FROM_DTYPE, ColumnTable, encode_rows
from rankwise.trees.ensemble import TreeEnsemble
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix, is_sparse

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="right")
VALUES_PER_THREAD = 2_000_000


class ValidationMonitor:
    """Evaluates the measure on the validation rows after every tree.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    n_samples : int
        Number of validation rows.
    values : list of float
        Values of the measure so far. NaN if it scores no query, such as a rank correlation of equal
        scores.
    """

    def __init__(self, measure: Measure, rows: FitData) -> None:
        self.X = library_matrix(rows.X)
        self.n_samples = len(rows.y)
        self.values: list[float] = []
        self._measure, self._y, self._groups = measure, rows.y, rows.groups
        if np.isnan(measure.mean(rows.y, np.arange(self.n_samples, dtype=float), rows.groups)):
            raise ValueError(
                f"measure {str(measure)!r} must score at least one query of X_val, got none. "
                "Pass validation queries that have relevant rows, or another measure."
            )

    def __call__(self, scores: ArrayLike) -> float:
        """Append the measure of these scores; returns its value, negated if smaller is better."""
        scores = np.array(scores, dtype=np.float64)
        self.values.append(self._measure.mean(self._y, scores, self._groups))
        return float(self._ascending()[-1])

    @property
    def best_iteration(self) -> int:
        """1-based number of the first tree with the best value."""
        return 1 + int(np.argmax(self._ascending()))

    def _ascending(self) -> Float64Array:
        values = np.array(self.values)
        values = values if self._measure.greater_is_better else -values
        return np.where(np.isnan(values), -np.inf, values)


class BoostedRanker(Ranker):
    """Base of the boosting adapters.

    A subclass has the parameters ``n_estimators, monotone_constraints, categorical_features, gain,
    measure, early_stopping_rounds, params, n_jobs, random_state`` and further ones of its own. It
    defines ``_train``, ``_stored_copy``, ``_library_booster``, ``_parse``, ``_predict``,
    ``_n_rounds``, ``_stored_trees`` and ``_importances``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "model_": Bytes(),
        "best_iteration_": Number("i", low=0),
        "columns_": Part((ColumnTable,)),
        "feature_importances_": floats("n_features_in_"),
        "validation_scores_": Sometimes(Plain()),
    }

    # Weights per query cannot be split by rows, as bagging does, so routing must be explicit.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": None}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [AT_LEAST_ONE],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "reg_lambda": [NOT_NEGATIVE],
        "monotone_constraints": [dict, "array-like", None],
        "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
        "gain": [StrOptions({"auto", "exp2", "linear"})],
        "measure": [str],
        "early_stopping_rounds": [AT_LEAST_ONE, None],
        "params": [dict, None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), AT_LEAST_ONE, None],
        "random_state": ["random_state"],
    }
    _library: ClassVar[str]
    _errors: ClassVar[tuple[type[Exception], ...]]  # that training with the library raises
    _in_float32: ClassVar[bool] = False  # whether the library rounds rows to float32
    _own_names: ClassVar[frozenset[str]]  # library names of the parameters of the adapter

    n_estimators: int
    monotone_constraints: Any
    categorical_features: Any
    gain: str
    measure: str
    early_stopping_rounds: int | None
    params: dict[str, Any] | None
    n_jobs: int | None
    random_state: Any
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

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
        measure = self._check_parameters()
        X = collected(X)
        start, columns = self._start(init_model)
        self.columns_ = ColumnTable.of(X, self.categorical_features, sample_weight)
        if columns is not None:
            shape = getattr(X, "shape", ())
            if len(shape) == 2:  # first, because the message about categories is less specific
                self._check_start(init_model, shape[1], getattr(X, "columns", None))
            self.columns_ = self.columns_.continuing(columns)
        rows = self.columns_.encode(X)
        data = check_fit(self, rows, y, qid, sample_weight, allow_nan=True)
        self._check_start(init_model, self.n_features_in_, getattr(self, "feature_names_in_", None))
        check_weight_range(data)
        self._check_data(data)
        places = None
        if position is not None:
            places = check_positions(position, data)
        X_val, y_val, qid_val = validation
        if X_val is not None:
            X_val = encode_rows(self, self.columns_, collected(X_val))
        held_out = check_validation(self, data, X_val, y_val, qid_val, allow_nan=True)
        self._constraints()
        if self.params:
            self._check_params()
        self._set_score_name(data.y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        monitor = None if held_out is None else ValidationMonitor(measure, held_out)
        model = start
        if len(data.y) > 1:  # a query has a pair, otherwise the check of the rows has raised
            training = TrainingRows.of(data, self.gain, places)
            previous = self._parse(start, None) if start else None
            try:
                model = self._train(training, monitor, seed, previous) or start
            except self._errors as error:  # such as a subsample that draws none of a few rows
                raise ValueError(
                    f"{self._library} cannot train {type(self).__name__} with these parameters on "
                    f"these rows: {error}"
                ) from error
        return self._publish(model, monitor)

    def fit_share(
        self,
        rows: tuple[Any, Any, Any, Any],
        names: list[str] | None,
        labels: Labels,
        validation: tuple[Any, Any, Any],
        seed: int,
        network: Any,
    ) -> Self:
        """Train jointly with other processes, each of which holds a share of the rows.

        Parameters
        ----------
        rows : X, y, qid and sample_weight of this share
            Rows of whole queries, without categorical columns.
        names : list of str, optional
            Names of the columns.
        labels : Labels
            Labels of the rows of all shares.
        validation : X_val, y_val and qid_val
            Validation rows, identical in all processes.
        seed : int
            Seed, identical in all processes.
        network : object
            A connection from :meth:`networks`. None: there are no other processes.

        Returns
        -------
        self
            All processes have the same trees.
        """
        measure = self._check_parameters()
        self.columns_ = ColumnTable({}, {})
        X, y, qid, weight = rows
        data = check_fit(self, X, y, qid, weight, allow_nan=True, names=names, part=True)
        check_weight_range(data)
        self._check_data(data)
        held_out = check_validation(self, data, *validation, allow_nan=True)
        self._constraints()
        if self.params:
            self._check_params()
        self._set_score_name(data.y)
        monitor = None if held_out is None else ValidationMonitor(measure, held_out)
        training = TrainingRows.of(data, self.gain, None, labels)
        with nullcontext() if network is None else self._in_network(network):
            model = self._train(training, monitor, seed, None)
        return self._publish(model, monitor)

    def networks(self, hosts: Sequence[str], ports: Sequence[int], here: str) -> list[Any]:
        """Connections between the shares: for each one, the argument of :meth:`fit_share`.

        Parameters
        ----------
        hosts : sequence of str
            Hosts of the processes that hold the shares.
        ports : sequence of int
            A free port on each host.
        here : str
            Address of this machine for the hosts. The returned object must exist until all
            processes are done.
        """
        return [None] if len(hosts) == 1 else self._networks(hosts, ports, here)

    def _publish(self, model: bytes, monitor: ValidationMonitor | None) -> Self:
        """Set the fitted attributes."""
        self._booster = self._ensemble = None
        self.model_ = model
        self.best_iteration_ = 0
        self.feature_importances_ = np.zeros(self.n_features_in_)
        if self.model_:
            self.best_iteration_ = self._n_rounds(self.booster_)
            gains = np.asarray(self._importances(self.booster_), dtype=np.float64)
            self.feature_importances_ = gains / (gains.sum() or 1.0)
        if monitor is not None:
            self.validation_scores_ = np.array(monitor.values)
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        A category that ``fit`` has not seen counts as missing. If there was nothing to learn (a
        single row, or no varying feature for CatBoost), all scores are 0.
        """
        rows = library_matrix(self._check_rows(X))
        if not self.model_:
            return np.zeros(rows.shape[0])
        booster = self._booster if self._booster is not None else self.booster_
        return np.asarray(self._predict(booster, rows), dtype=np.float64)

    def encoded_rows(self, X: FrameLike) -> Any:
        """Rows as input of the trees of :meth:`tree_ensemble`.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 or float64
            Rows with codes for categories and NaN for missing values.
        """
        rows = self._check_rows(X)
        return rows.toarray() if is_sparse(rows) else rows

    def tree_ensemble(self) -> TreeEnsemble:
        """Trees as flat arrays, read from ``model_``."""
        check_is_fitted(self)
        if self._ensemble is None:
            stored = self.stored_trees()
            self._ensemble = TreeEnsemble.of(
                stored.trees, stored.constant, in_float32=self._in_float32
            )
        return self._ensemble

    def stored_trees(self) -> StoredTrees:
        """Trees read from ``model_``, for rows from :meth:`encoded_rows`."""
        check_is_fitted(self)
        n_categories = self.columns_.n_categories(self.n_features_in_)
        return self._stored_trees(self.model_, n_categories)

    @property
    def booster_(self) -> Any:
        """Model object of the library; None if there was nothing to learn.

        Its features have the column names of X, with ``_`` for characters that the library forbids.
        """
        check_is_fitted(self)
        if self._booster is None and self.model_:
            names = getattr(self, "feature_names_in_", None)
            self._booster = self._parse(self.model_, None if names is None else list(names))
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
            rounds = self._n_rounds(self.booster_)
            require(self.best_iteration_ == rounds, "best_iteration_", f"be {rounds}",
                    self.best_iteration_)  # fmt: skip

    def _train(
        self, rows: TrainingRows, monitor: ValidationMonitor | None, seed: int, previous: Any
    ) -> bytes:
        """Trees as bytes, cut after the best tree if training stops early; empty if there are none.

        The trees of ``previous`` come first.
        """
        raise NotImplementedError

    def _stored_copy(self, booster: Any) -> bytes:
        """All trees of a model object of the library as bytes."""
        raise NotImplementedError

    def _library_booster(self, model: Any) -> Any:
        """Model object of the library in a user's object; None for objects without one."""
        raise NotImplementedError

    def _networks(self, hosts: Sequence[str], ports: Sequence[int], here: str) -> list[Any]:
        """Implementation of :meth:`networks` for several hosts."""
        raise TypeError(f"{self._library} can train on a single machine only. Fit it locally.")

    def _in_network(self, network: Any) -> AbstractContextManager[Any]:
        """Context in which ``_train`` trains jointly with the other processes."""
        raise NotImplementedError

    def _parse(self, model: bytes, names: list[str] | None) -> Any:
        """Model object of the library with the given feature names."""
        raise NotImplementedError

    def _predict(self, booster: Any, X: Matrix) -> Any:
        raise NotImplementedError

    def _n_rounds(self, booster: Any) -> int:
        raise NotImplementedError

    def _stored_trees(self, model: bytes, n_categories: Any) -> StoredTrees:
        raise NotImplementedError

    def _importances(self, booster: Any) -> Any:
        """Importance of each feature, >= 0."""
        raise NotImplementedError

    def _check_params(self) -> None:
        """Raise ValueError if the library does not know one of ``params``."""
        raise NotImplementedError

    def _check_data(self, data: FitData) -> None:
        """Raise if the library does not support the weights or categories."""
        check_query_weights(data, type(self).__name__)

    def _check_rows(self, X: FrameLike) -> Matrix:
        """Checked rows as input of the library, with codes for categories."""
        check_is_fitted(self)
        if self.columns_.nominal or self.columns_.ordered:
            X = encode_rows(self, self.columns_, collected(X))
        return check_rows(self, X, allow_nan=True)

    def _constraints(self) -> list[int] | None:
        """Direction of every column; None without ``monotone_constraints``."""
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        constraints, n_features = self.monotone_constraints, self.n_features_in_
        return constraint_list(constraints, n_features, names, self.columns_.nominal)

    def _start(self, init_model: Any) -> tuple[bytes, ColumnTable | None]:
        """Trees to continue from, and the codes of their categories."""
        if init_model is None:
            return b"", None
        if isinstance(init_model, BoostedRanker) and init_model._library == self._library:
            check_is_fitted(init_model)
            return init_model.model_, init_model.columns_
        booster = self._library_booster(init_model)
        if booster is None:
            raise TypeError(
                f"init_model must be a fitted {type(self).__name__} or a model of {self._library}, "
                f"got {type(init_model).__name__}."
            )
        return self._stored_copy(booster), ColumnTable({}, {})

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
        return self.n_jobs if self.n_jobs > 0 else max(1, available_threads() + 1 + self.n_jobs)

    def _check_parameters(self) -> Measure:
        """Check all parameters, even unused ones, and return the measure."""
        self._validate_params()
        taken = sorted(set(self.params or {}) & self._own_names)
        if taken:
            raise ValueError(
                f"params must not hold {taken}, because {type(self).__name__} sets them. "
                "Use its own parameter instead."
            )
        return parse(self.measure)
