"""What the boosting adapters share: labels, row order, validation, stored trees.

An adapter names its parameters and translates them; everything that makes the three libraries
behave alike is here. Queries may be unsorted and of any type; any real labels are taken; any order
of the rows trains the same model (``_rows``); early stopping follows any measure of
:mod:`rankwise.metrics` under its own convention; the trees are kept as the library's own text,
and checked before they are parsed (``_stored``), so that models pickle, copy and save.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.row_hash import canonical_order
from rankwise.checks.rows import FitData, check_fit, check_rows, check_validation
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import available_threads
from rankwise.structure.rules import Bytes, Number, Plain, Rule, Sometimes, floats, require
from rankwise.trees.ensemble import TreeEnsemble
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, is_sparse

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="right")
LARGEST_GRADE = 30  # 2**grade - 1 is what LightGBM and XGBoost take up to here
LABEL_SPAN = 4.0  # real-valued labels are spread over the usual range of grades


VALUES_PER_THREAD = 2_000_000


@dataclass(frozen=True)
class TrainingRows:
    """Checked rows in canonical order, whole queries one after the other.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), float64
        Whole grades 0..30 as they are, all other labels mapped linearly onto 0..4.
    exp2 : bool
        Whether the gain of a label is 2**y - 1 instead of y.
    sizes : ndarray of shape (n_queries,), int64
    """

    X: Matrix
    y: Float64Array
    exp2: bool
    sizes: Int64Array

    def qid(self) -> Int64Array:
        """Query number of every row, ascending."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class ValidationMonitor:
    """Measures the scores of the validation rows after every tree.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    n_samples : int
    values : list of float
        What the measure gave so far; NaN where it scores no query (a rank correlation of equal
        scores, say).
    """

    def __init__(self, measure: Measure, rows: FitData) -> None:
        self.X = _library_matrix(rows.X)
        self.n_samples = len(rows.y)
        self.values: list[float] = []
        self._measure, self._y, self._groups = measure, rows.y, rows.groups
        if np.isnan(measure.mean(rows.y, np.arange(self.n_samples, dtype=float), rows.groups)):
            raise ValueError(
                f"measure {str(measure)!r} must score at least one query of X_val, got none. "
                "Pass validation queries that have relevant rows, or another measure."
            )

    def __call__(self, scores: ArrayLike) -> float:
        """Add the measure of these scores; returns it so that larger is better."""
        scores = np.array(scores, dtype=np.float64)
        self.values.append(self._measure.mean(self._y, scores, self._groups))
        return float(self._ascending()[-1])

    @property
    def best_iteration(self) -> int:
        """1-based number of the first best tree."""
        return 1 + int(np.argmax(self._ascending()))

    def _ascending(self) -> Float64Array:
        values = np.array(self.values)
        values = values if self._measure.greater_is_better else -values
        return np.where(np.isnan(values), -np.inf, values)


class BoostedRanker(Ranker):
    """Base of the adapters.

    A subclass has the parameters ``n_estimators, gain, measure, early_stopping_rounds, params,
    n_jobs, random_state`` and its own, and defines ``_train``, ``_parse``, ``_predict``,
    ``_n_rounds``, ``_stored_trees`` and ``_importances``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "model_": Bytes(),
        "best_iteration_": Number("i", low=0),
        "feature_importances_": floats("n_features_in_"),
        "validation_scores_": Sometimes(Plain()),
    }

    # A weight is no repetition in any of the libraries: LightGBM weighs rows and not pairs,
    # XGBoost takes weights per query, CatBoost reweighs its sampled pairs.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": UNUSED}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [AT_LEAST_ONE],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "reg_lambda": [NOT_NEGATIVE],
        "gain": [StrOptions({"auto", "exp2", "linear"})],
        "measure": [str],
        "early_stopping_rounds": [AT_LEAST_ONE, None],
        "params": [dict, None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), AT_LEAST_ONE, None],
        "random_state": ["random_state"],
    }
    _in_float32: ClassVar[bool] = False  # whether the library rounds rows to float32
    _own_names: ClassVar[frozenset[str]]  # the library's names of what has a parameter here

    n_estimators: int
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
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on judged rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            NaN means missing; an entry absent from a CSR matrix is 0.
        y : array-like of shape (n_samples,)
            Any finite numbers, larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of every row, any dtype and order; None: all rows are one query.
        X_val, y_val, qid_val : optional
            Validation rows: ``measure`` is taken on them after every tree, and training stops
            when it has not improved for ``early_stopping_rounds`` trees.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For wrong input, naming it.
        """
        data = check_fit(self, X, y, qid, allow_nan=True)
        validation = check_validation(self, data, X_val, y_val, qid_val, allow_nan=True)
        measure = self._check_parameters()
        self._set_score_name(data.y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        monitor = None if validation is None else ValidationMonitor(measure, validation)
        self._booster = self._ensemble = None
        self.model_ = b""
        self.best_iteration_ = 0
        self.feature_importances_ = np.zeros(self.n_features_in_)
        if _has_pairs(data):
            self.model_ = self._train(self._training_rows(data), monitor, seed)
        if self.model_:
            self.best_iteration_ = self._n_rounds(self.booster_)
            gains = np.asarray(self._importances(self.booster_), dtype=np.float64)
            self.feature_importances_ = gains / (gains.sum() or 1.0)
        if monitor is not None:
            self.validation_scores_ = np.array(monitor.values)
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        Where there was nothing to learn (no pair to order, no feature that varies for CatBoost),
        every score is 0.
        """
        check_is_fitted(self)
        rows = _library_matrix(check_rows(self, X, allow_nan=True))
        if not self.model_:
            return np.zeros(rows.shape[0])
        return np.asarray(self._predict(self.booster_, rows), dtype=np.float64)

    def encoded_rows(self, X: FrameLike) -> Any:
        """Rows as the trees of :meth:`tree_ensemble` take them.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 or float64
            NaN where missing.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, allow_nan=True)
        return rows.toarray() if is_sparse(rows) else rows

    def tree_ensemble(self) -> TreeEnsemble:
        """The trees as flat arrays, read from ``model_``."""
        check_is_fitted(self)
        if self._ensemble is None:
            stored = self._stored_trees(self.model_)
            self._ensemble = TreeEnsemble.of(
                stored.trees, stored.constant, in_float32=self._in_float32
            )
        return self._ensemble

    @property
    def booster_(self) -> Any:
        """The library's own model object; None where there was nothing to learn."""
        check_is_fitted(self)
        if self._booster is None and self.model_:
            self._booster = self._parse(self.model_)
        return self._booster

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and fitted state, the trees as bytes."""
        state: Any = super().__getstate__()
        return {key: state[key] for key in state if key not in ("_booster", "_ensemble")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_booster": None, "_ensemble": None})

    def _check_structure(self) -> None:
        if self.model_:
            rounds = self._n_rounds(self.booster_)
            require(self.best_iteration_ == rounds, "best_iteration_", f"be {rounds}",
                    self.best_iteration_)  # fmt: skip

    def _train(self, rows: TrainingRows, monitor: ValidationMonitor | None, seed: int) -> bytes:
        """The trees as bytes, cut at the best one where training stops early; empty: none."""
        raise NotImplementedError

    def _parse(self, model: bytes) -> Any:
        raise NotImplementedError

    def _predict(self, booster: Any, X: Matrix) -> Any:
        raise NotImplementedError

    def _n_rounds(self, booster: Any) -> int:
        raise NotImplementedError

    def _stored_trees(self, model: bytes) -> StoredTrees:
        raise NotImplementedError

    def _importances(self, booster: Any) -> Any:
        """One number >= 0 per feature."""
        raise NotImplementedError

    def _training_rows(self, data: FitData) -> TrainingRows:
        X = _library_matrix(data.X)
        is_grade = bool(
            (data.y >= 0).all() and (data.y % 1 == 0).all() and data.y.max() <= LARGEST_GRADE
        )
        if self.gain == "exp2" and not is_grade:
            raise ValueError(
                f"gain='exp2' needs whole grades from 0 to {LARGEST_GRADE}, got labels from "
                f"{data.y.min()} to {data.y.max()}. Use gain='auto' or gain='linear'."
            )
        exp2 = is_grade and self.gain != "linear"
        y = data.y
        if not is_grade:
            y = y / np.abs(y).max()  # the span of huge labels would overflow
            y = y - y.min()
            y = y * (LABEL_SPAN / y.max())
        order, sizes = canonical_order(X, y, data.groups)
        return TrainingRows(X[order], y[order], exp2, sizes)

    def _threads(self, X: Matrix) -> int:
        """Threads for a table: few values get few, whatever there is.

        The libraries' threads wait for each other at every leaf; on cores that others use too,
        two threads on a small table were measured up to 30 times slower than one.
        """
        if self.n_jobs is None:
            values = X.nnz if is_sparse(X) else X.size
            return max(1, min(available_threads(), values // VALUES_PER_THREAD))
        return self.n_jobs if self.n_jobs > 0 else max(1, available_threads() + 1 + self.n_jobs)

    def _check_parameters(self) -> Measure:
        """Raise where a parameter is wrong, used or not; returns the measure."""
        self._validate_params()
        taken = sorted(set(self.params or {}) & self._own_names)
        if taken:
            raise ValueError(
                f"params must not hold {taken}: {type(self).__name__} sets them. "
                "Use its parameter of that meaning."
            )
        return parse(self.measure)


def _library_matrix(X: Matrix) -> Any:
    """X itself where dense; sparse arrays as a CSR matrix in the one form all libraries take."""
    if not is_sparse(X):
        return X
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    indices, indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    matrix: Any = sparse.csr_matrix((X.data, indices, indptr), shape=X.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _has_pairs(data: FitData) -> bool:
    """Whether some query has rows of different labels."""
    if len(data.y) == 0:
        return False
    y, indptr = data.groups.sort(data.y), data.groups.indptr
    starts = np.repeat(indptr[:-1], data.groups.sizes)
    return bool((y != y[starts]).any())
