"""Base of the online ordinal learners, which read row after row in ``fit`` or ``partial_fit``.

A learner holds hypotheses on explicit features, or on the support rows of a kernel. Results do not
depend on how the rows are split into blocks: consecutive calls of ``partial_fit`` are bit-identical
to one ``fit`` with ``shuffle=False``.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED

from rankwise.checks.classes import (
    check_classes,
    list_declared_classes,
    order_labels,
    order_of_labels,
)
from rankwise.checks.column_sizes import PRODUCTS, ColumnLimit, kernel_limit
from rankwise.checks.parameter_constraints import POSITIVE, Options, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_rows
from rankwise.features.kernels import (
    KERNEL_NAMES,
    NAMED_WIDTHS,
    WITH_GAMMA,
    Kernel,
    kernel_name,
    resolve_kernel,
    warn_of_ignored_gamma,
)
from rankwise.features.polynomial_terms import AffinePowers
from rankwise.groups import FitData, QueryGroups
from rankwise.kernels.perceptron_ranking import (
    LOSS,
    MISTAKES,
    SURVIVAL,
    prank_csr,
    prank_rows,
    prank_value,
)
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit
from rankwise.ordinal.score_probabilities import ScoreProbabilities
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.messages import callers_level
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.structure.state_rules import (
    Instance,
    MatrixRows,
    Number,
    Optional,
    Plain,
    Rule,
    Sometimes,
    floats,
    forget,
    integers,
    require,
    require_attributes,
)
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FrameLike,
    Int64Array,
    Matrix,
    SparseMatrix,
    densify,
    is_sparse,
)

BLOCK_VALUES, BLOCK_ROWS = 2**19, 8192  # values, and rows, of a block of features
SUPPORT_BLOCK = 1024
MAX_WEIGHTS = 2**27  # weights of all hypotheses: 1 GiB
# With fewer products of weights and entries, one thread is faster.
SMALL_WORK = 1e6
LEAST_PRANKS = 16  # per thread
# Kernel parameters that are computed from the rows of the fit if they are not given.
_FROM_ROWS = {"rbf": "gamma", "laplacian": "gamma", "perceptron": "delta", "stump": "delta"}


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """P hypotheses that are trained on the same rows.

    ``weights`` holds the weights of the columns, or the coefficients of the support rows of a
    kernel.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "weights": floats("n_weights", "n_hypotheses"),
        "thresholds": floats("n_hypotheses", "n_classes - 1"),
        "tallies": integers("n_hypotheses", 3, low=0),
    }

    weights: Float64Array
    thresholds: Float64Array  # on the scores, ascending
    tallies: Int64Array  # counts behind ``survival``, ``n_mistakes`` and ``total_loss``

    @classmethod
    def zeros(cls, n_rows: int, n_hypotheses: int, n_classes: int) -> Hypotheses:
        """Hypotheses that have not seen any row."""
        return cls(
            np.zeros((n_rows, n_hypotheses)),
            np.zeros((n_hypotheses, n_classes - 1)),
            np.zeros((n_hypotheses, 3), dtype=np.int64),
        )

    def copy(self) -> Hypotheses:
        """Copy with separate arrays."""
        return Hypotheses(self.weights.copy(), self.thresholds.copy(), self.tallies.copy())

    @property
    def survival(self) -> Int64Array:
        """Number of rows each hypothesis has seen since its last mistake, including that row."""
        return self.tallies[:, SURVIVAL]

    @property
    def n_mistakes(self) -> Int64Array:
        """Number of rows that each hypothesis assigned to a wrong class when it saw them."""
        return self.tallies[:, MISTAKES]

    @property
    def total_loss(self) -> Int64Array:
        """Sum over the rows of the distance in ranks between the predicted and the true class."""
        return self.tallies[:, LOSS]


class OnlineRanker(ScoreProbabilities, OrdinalRanker):
    """Base of learners that see one row at a time, so results depend on the order of the rows."""

    n_mistakes_: int
    total_loss_: int

    _structure: ClassVar[dict[str, Rule]] = {
        "X_fit_": Optional(MatrixRows("n_support", "n_features_in_")),
        "kernel_": Sometimes(Instance((Kernel,))),
        "hypotheses_": Instance((Hypotheses,)),
        "n_seen_": Number("i", low=0),
        "began_with_": Plain(),
        "coef_": Sometimes(floats("n_coefficients")),
        "dual_coef_": Sometimes(floats("n_support")),
        "n_mistakes_": Sometimes(Number("i", low=0)),
        "total_loss_": Sometimes(Number("i", low=0)),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": UNUSED}
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"qid": True, "classes": UNUSED}

    degree: int
    kernel: Any
    gamma: float | Literal["scale", "auto"] | None
    kernel_params: dict[str, Any] | None
    n_epochs: int
    shuffle: bool
    random_state: Any
    n_features_in_: int
    hypotheses_: Hypotheses
    X_fit_: Matrix
    n_seen_: int
    began_with_: dict[str, Any]
    _shaping: ClassVar[tuple[str, ...]] = ("degree", "kernel", "gamma", "kernel_params")
    _constant: ClassVar[bool] = False  # whether ``degree=1`` has a column of ones
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Options(Integral, {1, 2})],
        "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"}), callable, None],
        "gamma": [POSITIVE, StrOptions(set(NAMED_WIDTHS)), None],
        "kernel_params": [dict, None],
        "n_epochs": [minimum(1)],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "probability": ["boolean"],
        "classes": ["array-like", None],
    }

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train from scratch on every row, ``n_epochs`` times, shuffled or in the given order.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Checked, but without effect.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if scores would exceed the range of
            float64. The model then keeps its state from before the call.

        Warns
        -----
        UserWarning
            If ``shuffle=False`` and the rows are sorted by class.
        """
        self._validate_params()
        forget(self)
        data = check_ordinal_fit(self, X, y, qid, column_limit=column_limit(self.kernel))
        rng = check_random_state(self.random_state)
        self._start(data.X, rng, streams=False)
        codes = data.y.astype(np.int64)
        if not self.shuffle:
            _warn_of_label_order(self, data.y, "Shuffle the rows, or set shuffle=True.")
        for _ in range(self.n_epochs):
            order = rng.permutation(len(codes)) if self.shuffle else np.arange(len(codes))
            self._see(data.X, codes[order], order)
        self._publish()
        self._calibrate(data)
        return self

    def partial_fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on more rows, once and in order; ``n_epochs`` and ``shuffle`` have no effect.

        Parameters
        ----------
        X, y, qid
            As in ``fit``, but y need not contain all classes.
        classes : array-like of shape (n_classes,), optional
            All classes in ascending order. Required in the first call, unless the parameter
            ``classes`` is set or y is an ordered categorical. Later calls may only repeat them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If classes are not declared, or if y contains an undeclared class; if a parameter in
            ``began_with_`` has changed since training began; if ``probability=True``; or if scores
            would exceed the range of float64. The model then keeps its state from before the call.

        Warns
        -----
        UserWarning
            If the rows are sorted by class.
        """
        self._validate_params()
        self._add(X, y, classes, qid)
        return self

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Score ``w.x`` of every row, on the scale of ``thresholds_``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        return self._scores(X, self.hypotheses_.weights)[:, 0]

    def _check_structure(self) -> None:
        self._check_unchanged()
        known = self.hypotheses_
        if self.kernel is None:
            n_weights = self._features().n_features_out
        else:
            require_attributes(self, "kernel_")
            require(self.X_fit_ is not None, "X_fit_", "hold rows", None)
            n_weights = self.X_fit_.shape[0]
        expected = (n_weights, self._n_hypotheses)
        require(known.weights.shape == expected, "hypotheses_.weights", f"have shape {expected}",
                known.weights.shape)  # fmt: skip
        n_coefficients = len(getattr(self, "coef_", known.weights))
        require(n_coefficients == n_weights, "coef_", f"have {n_weights} entries", n_coefficients)

    def _add(self, X: FrameLike, y: ArrayLike, classes: ArrayLike | None, qid: Any) -> None:
        if self.probability:
            raise ValueError(
                "probability=True cannot be used with partial_fit, because calibration by "
                "cross-validation needs all rows at once. Use fit, or set probability=False and "
                "calibrate on later rows: CalibratedClassifierCV(FrozenEstimator(model))."
            )
        vars(self).pop("calibration_", None)
        first = not hasattr(self, "hypotheses_")
        if not first:
            self._check_unchanged()
        limit = column_limit(self.kernel)
        data = check_fit(
            self, X, y, qid, reset=first, read_classes=order_labels, column_limit=limit
        )
        known = None if first else self.classes_
        self.classes_: NDArray[Any] = declare(classes, self.classes, y, known)
        self._set_score_name()
        codes = numbers_of(data, self.classes_)
        _warn_of_label_order(self, codes, "Shuffle the rows.")
        if first:
            self._start(data.X, check_random_state(self.random_state), streams=True)
        else:
            self.hypotheses_ = self.hypotheses_.copy()
        self._see(data.X, codes, np.arange(len(codes)))
        self._publish()

    def _check_unchanged(self) -> None:
        """Raise ValueError if a parameter that shapes the model changed after training began."""
        for name, value in self.began_with_.items():
            if not _same(value, getattr(self, name)):
                raise ValueError(
                    f"{name} must stay as it was when training began, {value!r}, got "
                    f"{getattr(self, name)!r}. Set it back, or call fit to start again."
                )

    # Overridden by some learners ------------------------------------------------------------------

    def _publish(self) -> None:
        """Set the public fitted attributes, here those of a single hypothesis."""
        known = self.hypotheses_
        self._set_coef(known.weights[:, 0])
        self.thresholds_: Float64Array = known.thresholds[0]
        self.n_mistakes_, self.total_loss_ = int(known.n_mistakes[0]), int(known.total_loss[0])

    def _set_coef(self, weights: Float64Array) -> None:
        """Store the weights of the score as ``coef_``, or as ``dual_coef_`` if a kernel is used."""
        names = ["coef_", "dual_coef_"]
        if self.kernel is not None:
            names.reverse()
        setattr(self, names[0], weights)
        vars(self).pop(names[1], None)

    def _update_by_rows(
        self, features: Matrix, codes: Int64Array, coins: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Update the hypotheses in place from rows of explicit features, here as PRank does.

        ``coins`` marks the rows that each hypothesis sees. Returns the number of thresholds that
        each row lowered and raised, shape (n_rows, P, 2).
        """
        known = self.hypotheses_
        moves = np.zeros((*coins.shape, 2), dtype=np.int32)
        state = (coins, known.weights, known.thresholds, known.tallies, moves)

        def learn(span: tuple[int, int]) -> None:
            if is_sparse(features):
                arrays = (features.data, features.indices, features.indptr)
                prank_csr(*arrays, codes, *state, span)
            else:
                prank_rows(features, codes, *state, *span)

        n_entries = features.nnz if is_sparse(features) else features.size
        n_threads = available_threads() if n_entries * coins.shape[1] > SMALL_WORK else 1
        n_spans = max(1, min(n_threads, coins.shape[1] // LEAST_PRANKS))
        ends = np.linspace(0, coins.shape[1], n_spans + 1).astype(int).tolist()
        thread_map(learn, list(pairwise(ends)), n_threads)
        return moves

    def _update_by_values(
        self,
        values: Float64Array,
        code: int,
        coins: NDArray[np.bool_],
        weights: Float64Array,
        moves: NDArray[np.int32],
    ) -> bool:
        """Update hypotheses with the given ``weights`` from the kernel values of one row.

        Returns whether the row becomes a support row.
        """
        known = self.hypotheses_
        return prank_value(values, code, coins, weights, known.thresholds, known.tallies, moves)

    @property
    def _n_hypotheses(self) -> int:
        return 1

    def _coins(self, n_rows: int) -> NDArray[np.bool_]:
        """Mask of shape (n_rows, P): which of the next rows each hypothesis sees."""
        return np.ones((n_rows, self._n_hypotheses), dtype=np.bool_)

    # Rows -----------------------------------------------------------------------------------------

    def _start(self, X: Matrix, rng: np.random.RandomState, *, streams: bool) -> None:
        """Reset the hypotheses and record the parameters that shape the model."""
        n_columns = 0
        if self.kernel is None:
            warn_of_ignored_gamma(None, self.gamma)
            if self.kernel_params is not None:
                raise ValueError(
                    f"kernel_params needs a kernel, got {self.kernel_params!r} with kernel=None. "
                    "Remove kernel_params, or set kernel."
                )
            n_columns = self._features().n_features_out
            if n_columns * self._n_hypotheses > MAX_WEIGHTS:
                fix = 'kernel="linear"'
                if self.degree == 2:
                    fix = 'kernel="polynomial", gamma=1.0, kernel_params={"degree": 2}'
                raise ValueError(
                    f"degree={self.degree} with {X.shape[1]} columns needs {n_columns} weights for "
                    f"each of {self._n_hypotheses} hypotheses, more than {MAX_WEIGHTS} in all. "
                    f"Use {fix}, which stores support rows instead of column weights."
                )
            self.X_fit_ = None  # type: ignore[assignment]  # only with a kernel
        else:
            self.kernel_: Kernel = self._resolve(X, streams)
            shape = (0, X.shape[1])
            self.X_fit_ = sparse.csr_array(shape) if is_sparse(X) else np.empty(shape)
        self.hypotheses_ = Hypotheses.zeros(n_columns, self._n_hypotheses, len(self.classes_))
        self.n_seen_ = 0
        values = {name: getattr(self, name) for name in self._shaping}
        keywords = None if self.kernel_params is None else dict(self.kernel_params)
        self.began_with_ = {**values, "kernel_params": keywords}

    def _features(self) -> AffinePowers:
        return AffinePowers(self.n_features_in_, self.degree, self._constant)

    def _resolve(self, X: Matrix, streams: bool) -> Kernel:
        if self.degree != 1:
            raise ValueError(
                f"degree must be 1 if a kernel is used, got degree={self.degree} with "
                f'kernel={self.kernel!r}. Use kernel="polynomial" and kernel_params={{"degree": '
                f"{self.degree}}}."
            )
        name = _FROM_ROWS.get(self.kernel) if isinstance(self.kernel, str) else None
        params = self.kernel_params or {}
        by_rows = name and (params.get(name) if name == "delta" else self.gamma) is None
        if self.gamma == "scale" and kernel_name(self.kernel) in WITH_GAMMA:
            name, by_rows = "gamma", True
        if streams and by_rows:
            fix = "gamma=..." if name == "gamma" else 'kernel_params={"delta": ...}'
            raise ValueError(
                f"{name} of the {self.kernel} kernel must be a number in partial_fit, because "
                f"later rows are not known yet. Pass {fix}."
            )
        return resolve_kernel(self.kernel, X, self.gamma, params)

    def _see(self, X: Matrix, codes: Int64Array, order: Int64Array) -> None:
        """Make one pass over the rows ``X[order]``, whose class numbers are ``codes``."""
        deque(self._learn(X, codes, order), maxlen=0)

    def _learn(
        self, X: Matrix, codes: Int64Array, order: Int64Array
    ) -> Iterator[NDArray[np.int32]]:
        """Make one pass, yielding the threshold moves of each block of rows; X is never copied."""
        if self.kernel is not None:
            for rows in _slices(len(codes), SUPPORT_BLOCK):
                yield self._learn_by_values(X[order[rows]], codes[rows])
                self.n_seen_ += len(codes[rows])
            return
        phi = self._features()
        size = min(max(BLOCK_VALUES // phi.n_features_out, 1), BLOCK_ROWS)
        weight, entry = largest(self.hypotheses_.weights), 0.0
        for rows in _slices(len(codes), size):
            features = phi(X[order[rows]])
            # A step of a PRank is at most n_classes - 1 times a row, which bounds all weights.
            entry = max(entry, largest(features))
            weight += len(codes[rows]) * len(self.classes_) * entry
            check_range(phi.n_features_out * weight * entry)
            coins = self._coins(len(codes[rows]))
            yield self._update_by_rows(features, codes[rows], coins)
            self.n_seen_ += len(codes[rows])
        # Steps of least mean squares have no such bound, so the final weights are checked as well.
        check_range(phi.n_features_out * largest(self.hypotheses_.weights) * entry)

    def _learn_by_values(self, X: Matrix, codes: Int64Array) -> NDArray[np.int32]:
        """Train on rows by their kernel values with the support rows, evaluated row by row."""
        kind = SparseSupportRows if is_sparse(self.X_fit_) else SupportRows
        support, known = kind(self.X_fit_, X), self.hypotheses_.weights
        weights = np.zeros((support.n_kept + len(codes), self._n_hypotheses))
        weights[: support.n_kept] = known
        moves = np.zeros((len(codes), self._n_hypotheses, 2), dtype=np.int32)
        coins = self._coins(len(codes))
        value = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for row, code in enumerate(codes):
                offered = support.offer(row)
                values = np.asarray(self.kernel_(offered[-1:], offered), dtype=np.float64)[0]
                value = max(value, largest(values))
                if self._update_by_values(values, code, coins[row], weights, moves[row]):
                    support.n_kept += 1
        self.X_fit_ = support.kept()
        self.hypotheses_ = replace(self.hypotheses_, weights=weights[: support.n_kept].copy())
        check_range(value * largest(np.abs(weights).sum(axis=0)))
        return moves

    def _scores(self, X: FrameLike, weights: Float64Array) -> Float64Array:
        """Scores of shape (n_samples, P) under weights of shape (n_columns or n_support, P)."""
        X = check_rows(self, X)
        self._check_unchanged()
        scores = np.zeros((X.shape[0], weights.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            if self.kernel is None:
                phi = self._features()
                for rows in _slices(X.shape[0], max(BLOCK_VALUES // phi.n_features_out, 1)):
                    scores[rows] = phi(X[rows]) @ weights
            elif len(weights):
                for rows in _slices(X.shape[0], max(BLOCK_VALUES // len(weights), 1)):
                    block = X[rows].astype(np.float64, copy=False)
                    scores[rows] = self.kernel_(block, self.X_fit_) @ weights
        check_range(largest(scores))
        return scores


def largest(values: Matrix) -> float:
    """Largest absolute value; infinite if any value is NaN."""
    entries = values.data if is_sparse(values) else values
    most = float(np.maximum(entries.max(initial=0.0), -entries.min(initial=0.0)))
    return most if most < np.inf else np.inf


def check_range(bound: float) -> None:
    """Raise FloatingPointError if a bound of the scores is infinite or NaN.

    The guard of :mod:`rankwise.runtime.finite` then names the values of X or of the model that
    cause the overflow.
    """
    if not bound < np.inf:
        raise FloatingPointError("products of the rows with the weights overflow")


def _warn_of_label_order(estimator: Any, codes: NDArray[Any], fix: str) -> None:
    """Warn if the rows, which count more the later they come, are sorted by class."""
    if order := order_of_labels(codes):
        warnings.warn(
            f"{type(estimator).__name__} sees row after row, but y is in {order} order, so the "
            f"classes come one after another and the last ones count most. {fix}",
            UserWarning,
            stacklevel=callers_level(),
        )


def _same(old: Any, new: Any) -> bool:
    """Whether two values of a parameter are equal; arrays in ``kernel_params`` by their entries."""
    if isinstance(old, dict):
        known = isinstance(new, dict) and old.keys() == new.keys()
        return known and all(_same(old[key], new[key]) for key in old)
    return old is new or bool(np.array_equal(old, new))


def _slices(n: int, size: int) -> list[slice]:
    return [slice(lo, min(lo + size, n)) for lo in range(0, n, size)]


def column_limit(kernel: Any) -> ColumnLimit | None:
    """Column limit of a kernel, or of the products of a linear model (``kernel=None``)."""
    return PRODUCTS if kernel is None else kernel_limit(kernel)


class SupportRows:
    """Support rows of a kernel in a dense array, with space for all rows of a block."""

    n_kept: int  # number of rows kept so far; the row that was last offered is kept by raising it

    def __init__(self, kept: Any, block: Matrix) -> None:
        self._block, self.n_kept = densify(block).astype(np.float64, copy=False), len(kept)
        self._rows = np.empty((len(kept) + block.shape[0], block.shape[1]))
        self._rows[: len(kept)] = kept

    def offer(self, row: int) -> Matrix:
        """View of the kept rows followed by one row of the block; the next call changes it."""
        self._rows[self.n_kept] = self._block[row]
        return self._rows[: self.n_kept + 1]

    def kept(self) -> Matrix:
        """Copy of the kept rows."""
        return self._rows[: self.n_kept].copy()


class SparseSupportRows(SupportRows):
    """Support rows in a CSR matrix."""

    def __init__(self, kept: Any, block: Matrix) -> None:
        self._csr: SparseMatrix = sparse.csr_array(block, dtype=np.float64)
        self.n_kept: int = kept.shape[0]
        n_entries = kept.nnz + self._csr.nnz
        self._data = np.empty(n_entries)
        self._indices = np.empty(n_entries, dtype=np.int64)
        self._indptr = np.zeros(kept.shape[0] + block.shape[0] + 1, dtype=np.int64)
        self._data[: kept.nnz], self._indices[: kept.nnz] = kept.data, kept.indices
        self._indptr[: self.n_kept + 1] = kept.indptr

    def offer(self, row: int) -> Matrix:
        first, last = self._csr.indptr[row], self._csr.indptr[row + 1]
        start = self._indptr[self.n_kept]
        end = start + last - first
        self._data[start:end] = self._csr.data[first:last]
        self._indices[start:end] = self._csr.indices[first:last]
        self._indptr[self.n_kept + 1] = end
        return self._view(self.n_kept + 1)

    def kept(self) -> Matrix:
        return self._view(self.n_kept).copy()

    def _view(self, n_rows: int) -> Matrix:
        end = self._indptr[n_rows]
        arrays = (self._data[:end], self._indices[:end], self._indptr[: n_rows + 1])
        return sparse.csr_array(arrays, (n_rows, self._csr.shape[1]))


def declare(
    classes: ArrayLike | None,
    parameter: ArrayLike | None,
    y: ArrayLike,
    known: NDArray[Any] | None,
) -> NDArray[Any]:
    """Classes in ascending order: from the call, the estimator, the dtype of y or earlier calls.

    ``classes`` was passed to the call, ``parameter`` is the estimator's parameter ``classes``, and
    ``known`` holds the classes of earlier calls (None in the first call); all are (n_classes,). An
    ordered categorical y declares classes. Classes must be declared, be strictly ascending, and
    equal those of earlier calls.
    """
    of_y = list_declared_classes(y)
    named = [check_classes(each) for each in (classes, parameter) if each is not None]
    given = named[0] if named else of_y
    if given is None and known is None:
        raise ValueError(
            "classes must be given in the first call of partial_fit, got None. Pass all classes in "
            "ascending order, or pass y as an ordered categorical."
        )
    if given is None:
        assert known is not None
        return known
    for other in (*named, of_y, known):
        if other is not None and other.tolist() != given.tolist():
            raise ValueError(
                f"classes must stay {other.tolist()}, got {given.tolist()}. Use a new estimator "
                "for other classes."
            )
    return given


def numbers_of(data: FitData, classes: NDArray[Any]) -> Int64Array:
    """Class number of every row; a class that is not declared raises ValueError."""
    assert data.classes is not None
    number_of = {value: number for number, value in enumerate(classes.tolist())}
    present = data.y.astype(np.int64)
    numbers = np.array([number_of.get(value, -1) for value in data.classes.tolist()])
    codes = numbers[present]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y must contain declared classes only, got {data.classes.tolist()[present[row]]!r} at "
            f"row {row}. Declared classes: {classes.tolist()}. Declare all classes in the first "
            "call of partial_fit."
        )
    return codes
