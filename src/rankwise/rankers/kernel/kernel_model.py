"""What the closed-form rankers with a kernel share: the kernel, its width, and prediction.

A linear kernel is solved on the columns of X, any other one on an N x N matrix, or on the columns
of a Nystroem map: three designs of one problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from rankwise.checks.column_ranges import far_means
from rankwise.checks.dominant_columns import SQUARES, ColumnLimit, kernel_limit
from rankwise.checks.rows import FitData
from rankwise.features.kernel import Kernel, check_symmetric
from rankwise.features.kernels import KERNELS, gamma_candidates, resolve_kernel_of_fit
from rankwise.metrics import parse
from rankwise.rankers.closed_form import (
    DEFAULT_FOLDS,
    SELECTION_CONSTRAINTS,
    ClosedFormRanker,
    linear_model,
)
from rankwise.solvers.least_squares.design import Design, LinearDesign, ShiftedColumns
from rankwise.solvers.least_squares.eigen_path import NotSemidefiniteError
from rankwise.solvers.least_squares.expansion import (
    LEAVE_OUT_MATRICES,
    MATRICES,
    Expansion,
    Penalise,
)
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import (
    Number,
    Optional,
    Part,
    Rows,
    Rule,
    Sometimes,
    floats,
    require,
    require_attributes,
)
from rankwise.tuning.folds import row_splits
from rankwise.tuning.held_out import mean_defined, per_query
from rankwise.tuning.penalty import Penalties
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

# 8 GiB: about 13,000 rows.
DEFAULT_MAX_BYTES = 2**33
SLICE_ROWS = 512
KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"grid"}), None],
    "kernel_params": [dict, None],
    "max_bytes": [Interval(Integral, 1, None, closed="left")],
    **SELECTION_CONSTRAINTS,
}


@dataclass(eq=False)
class KernelDesign:
    """An expansion over training rows.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR of shape (N, n_features)
        Training rows in float64 (of a precomputed kernel: the values between them).
    expansion : Expansion, or None
        None: the kernel between the rows is not held, or no more.
    kept : ndarray of bool, or None
        Rows passed to ``fit`` that have a weight; None: all. They are columns of what a
        precomputed kernel gets.
    """

    kernel: Kernel
    X: Matrix
    expansion: Expansion | None
    kept: Any = None

    def values(self, X: Matrix) -> Float64Array:
        """``K(X, X_fit)``, shape (n_rows, N)."""
        X = X.astype(np.float64, copy=False)
        if self.kernel.name == "precomputed" and self.kept is not None:
            X = X[:, self.kept]
        return np.asarray(self.kernel(X, self.X), dtype=np.float64)

    def scores(self, X: Matrix, coefs: Float64Array) -> Float64Array:
        """``K(X, X_fit) @ coefs.T``, shape (n_rows, n_C); slices of X unless K is the user's."""
        size = SLICE_ROWS if self.kernel.function is None else max(1, X.shape[0])
        parts = [self.values(X[lo : lo + size]) @ coefs.T for lo in range(0, X.shape[0], size)]
        return np.concatenate(parts)


class KernelModel(ClosedFormRanker):
    """A closed-form ranker whose scores may be a kernel expansion.

    Subclasses have the parameters ``kernel``, ``gamma``, ``kernel_params`` and ``max_bytes``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": Sometimes(floats("n_coefficients")),
        "kernel_": Sometimes(Part((Kernel,))),
        "gamma_": Sometimes(Optional(Number(low=0))),
        "dual_coef_": Sometimes(floats("n_support")),
        "X_fit_": Sometimes(Rows("n_support", "n_features_in_")),
        "intercept_": Sometimes(Number()),
        "n_iter_": Sometimes(Number("i", low=0)),
        "objective_": Sometimes(Number(finite=False)),
        "dual_gap_": Sometimes(Number(finite=False)),
    }

    _penalise: ClassVar[Penalise] = "norm"
    n_features_in_: int
    kernel: Any
    gamma: Any
    kernel_params: dict[str, Any] | None
    max_bytes: int

    def _column_limit(self) -> ColumnLimit | None:
        is_linear = self.kernel == "linear" and self._penalise == "norm"
        return SQUARES if is_linear else kernel_limit(self.kernel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the path and choose from it.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            A stream carries labels, queries and weights: see :func:`rankwise.stream`.
            For ``kernel="precomputed"`` the kernel between the rows, (n_samples, n_samples).
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets, larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, any dtype and order; None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), optional
            Repetitions of each row, >= 0: a pair weighs the product of its rows' weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val"; not used with a number, "cv",
            "loqo" and "lpo".
        """
        self._fit(X, y, qid, sample_weight, (X_val, y_val, qid_val))
        return self

    def _check_structure(self) -> None:
        if hasattr(self, "coef_"):
            n = self._n_coefficients()
            require(len(self.coef_) == n, "coef_", f"have {n} entries", len(self.coef_))
        else:
            self._check_expansion()

    def _n_coefficients(self) -> int:
        """Number of entries of ``coef_``."""
        return self.n_features_in_

    def _check_expansion(self) -> None:
        """Check the model that has no ``coef_``."""
        require_attributes(self, "dual_coef_", "kernel_", "intercept_")
        name = self.kernel_.name
        require((name == "precomputed") != hasattr(self, "X_fit_"), "X_fit_",
                "be there but for a precomputed kernel", name)  # fmt: skip
        if name == "precomputed":
            n = self.n_features_in_
            require(len(self.dual_coef_) == n, "dual_coef_", f"have {n} entries",
                    len(self.dual_coef_))  # fmt: skip

    def _streams(self) -> bool:
        """Whether statistics of rows add up: not where the model consists of training rows."""
        if self._penalise == "norm" and (self.kernel is None or self.kernel == "linear"):
            return True
        raise AttributeError(
            f"partial_fit needs a model that does not grow with the rows; {type(self).__name__} "
            f'with kernel={self.kernel!r} keeps them. RankRLS(kernel="linear") and random nodes '
            "(PairwiseELM) do not."
        )

    def _keeps_rows(self) -> bool:
        """Whether the model consists of training rows."""
        return self.kernel not in (None, "linear") or self._penalise != "norm"

    def _check_stream(self, rows: RowStream, has_validation: bool) -> None:
        if self._keeps_rows() or self.kernel == "precomputed":
            raise ValueError(
                f"A stream needs a model that does not grow with the rows; {type(self).__name__} "
                f'with kernel={self.kernel!r} keeps them. Use RankRLS(kernel="linear"), '
                'RankRLS(approximation="nystroem"), or random nodes (PairwiseELM).'
            )
        super()._check_stream(rows, has_validation)

    @available_if(_streams)
    def partial_fit(  # type: ignore[override]  # a descriptor
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add a batch of rows; the model is that of one ``fit`` on all batches (linear kernel).

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``.
        """
        return super().partial_fit(X, y, qid=qid, sample_weight=sample_weight)

    def _grid(self, value: Any, has_validation: bool) -> tuple[str, Penalties]:
        way, penalties = super()._grid(value, has_validation)
        if way == "fixed" and np.ndim(self.gamma) + isinstance(self.gamma, str) > 0:
            way = "val" if has_validation else "cv"
        return way, penalties

    def _designs(self, data: FitData) -> Iterator[tuple[dict[str, Any], Design]]:
        for gamma in self._gammas(data):
            yield {"gamma": gamma}, self._kernel_design(data, gamma)

    def _design(self, data: FitData) -> Design:
        return self._kernel_design(data, self.gamma)

    def _gammas(self, data: FitData) -> list[float | None]:
        """Widths to choose from."""
        return gamma_candidates(data.X, self.kernel, self.gamma)

    def _kernel_design(self, data: FitData, gamma: float | None) -> Any:
        kernel = self._resolve(data, gamma)
        if kernel.name == "linear" and self._penalise == "norm":
            shift = np.zeros(data.X.shape[1])
            if self._problem(data).intercept and data.X.shape[0] >= data.X.shape[1]:
                shift = far_means(data.X[:CHUNK_ROWS])
            return LinearDesign(ShiftedColumns(shift, ones=False))
        return self._expansion(data, kernel)

    def _resolve(self, data: FitData, gamma: float | None) -> Kernel:
        return resolve_kernel_of_fit(self.kernel, data, gamma, self.kernel_params)

    def _expansion(self, data: FitData, kernel: Kernel) -> KernelDesign:
        n = data.X.shape[0]
        value = getattr(self, self._penalty)
        leaves_out = isinstance(value, str) and value in ("loqo", "lpo")
        leaves_out = leaves_out and self._penalise == "norm"
        matrices = LEAVE_OUT_MATRICES if leaves_out else MATRICES
        needed = 8 * n * n * matrices
        if needed > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.max_bytes} is less than the {needed} bytes that an exact kernel "
                f"model of n_samples={n} rows takes ({matrices} matrices of n_samples x n_samples "
                f"float64). Raise max_bytes{self._smaller()}."
            )
        X = data.X.astype(np.float64, copy=False)
        kept = data.kept if kernel.name == "precomputed" else None
        X = X if kept is None else X[:, kept]
        with np.errstate(over="ignore", invalid="ignore"):
            K = np.asarray(kernel(X, X), dtype=np.float64)
            total = K.sum()
        if not np.isfinite(total):
            raise ValueError(
                f"kernel must be finite between training rows, got kernel={self.kernel!r} with "
                f"values that overflow (gamma={kernel.gamma}, kernel_params={self.kernel_params}). "
                "Scale X, or change them."
            )
        problem = self._problem(data)
        given = kernel.name in ("callable", "precomputed")  # the named ones are symmetric
        if given and self._penalise == "norm":
            check_symmetric(K, self.kernel)
        centred = problem.graph != "pointwise" or problem.intercept
        definite = kernel.definite == "positive" or (kernel.definite == "conditional" and centred)
        expansion = Expansion(K, problem, self._penalise, definite, self.max_bytes)
        return KernelDesign(kernel, X, expansion, kept)

    def _smaller(self) -> str:
        """How to do with less memory."""
        return ", or fit fewer rows"

    def _fit_way(
        self,
        way: str,
        design: Any,
        problem: Problem,
        penalties: Penalties,
        data: FitData,
        vali: FitData | None,
    ) -> PathFit:
        if not isinstance(design, KernelDesign):
            return super()._fit_way(way, design, problem, penalties, data, vali)
        try:
            fit = self._fit_expansion(way, design, penalties, data, vali)
            design.expansion = None  # the next width has a kernel of the same size
            return fit
        except NotSemidefiniteError as error:
            raise ValueError(
                f"kernel must be positive semidefinite where its norm is penalised, got "
                f"kernel={self.kernel!r}. {error} CLSRRank takes any kernel."
            ) from error

    def _fit_expansion(
        self,
        way: str,
        design: KernelDesign,
        penalties: Penalties,
        data: FitData,
        vali: FitData | None,
    ) -> PathFit:
        expansion, measure = design.expansion, parse(self.measure)
        assert expansion is not None
        if way == "loqo":
            coefs, scores = expansion.leave_query_out(penalties, measure)
            return PathFit([coefs], scores, None)
        if way == "lpo":
            coefs, scores = expansion.leave_pair_out(penalties)
            return PathFit([coefs], scores, None)
        coefs, scores = expansion.solve(penalties), None
        if way == "val":
            assert vali is not None
            held = design.scores(vali.X, coefs) + expansion.intercepts(coefs)
            scores = mean_defined(per_query(measure, vali.y, held, vali.groups))[None, :]
        elif way == "cv" and (self.cv is None or isinstance(self.cv, Integral)):
            scores = expansion.cross_validate(penalties, measure, int(self.cv or DEFAULT_FOLDS))
        elif way == "cv":
            scores = expansion.split_scores(penalties, measure, row_splits(self.cv, data))
        return PathFit([coefs], scores, None)

    def _set_fitted(
        self, design: Any, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        for name in ("coef_", "intercept_", "X_fit_", "dual_coef_", "kernel_", "gamma_"):
            vars(self).pop(name, None)
        super()._set_fitted(design, problem, fit, penalties, chosen)
        if problem.intercept:
            self.intercept_ = self._intercept(problem, fit, chosen)

    def _intercept(self, problem: Problem, fit: PathFit, chosen: int) -> float:
        """The constant with which the scores of the training rows have the mean of the targets."""
        if fit.grams is not None:
            parts = zip(fit.grams, fit.coefs, strict=True)
            sums = [gram.sums @ coef[chosen] for gram, coef in parts]
            constant = float((fit.grams[0].target_sum - np.mean(sums)) / fit.grams[0].weight)
            # A linear model holds what its columns are shifted by.
            return constant + (self.intercept_ if hasattr(self, "coef_") else 0.0)
        scores = [
            self._scores(problem.X[lo : lo + CHUNK_ROWS])
            for lo in range(0, problem.X.shape[0], CHUNK_ROWS)
        ]
        return float(np.average(problem.y - np.concatenate(scores), weights=problem.sample_weight))

    def _set_model(self, design: Any, coefs: Sequence[Float64Array]) -> None:
        if isinstance(design, LinearDesign):
            self.coef_, self.intercept_ = linear_model(design, coefs)
            return
        self.kernel_, self.gamma_ = design.kernel, design.kernel.gamma
        self.dual_coef_ = coefs[0]
        self.intercept_ = 0.0
        if design.kernel.name != "precomputed":
            self.X_fit_ = design.X
        elif design.kept is not None:  # rows without weight have columns all the same
            self.dual_coef_ = np.zeros(len(design.kept))
            self.dual_coef_[design.kept] = coefs[0]

    def _scores(self, X: Matrix) -> Float64Array:
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_
        X = X.astype(np.float64, copy=False)
        if not hasattr(self, "X_fit_"):
            return np.asarray(X @ self.dual_coef_) + self.intercept_
        size = SLICE_ROWS if self.kernel_.function is None else max(1, X.shape[0])
        parts = [
            np.asarray(self.kernel_(X[lo : lo + size], self.X_fit_)) @ self.dual_coef_
            for lo in range(0, X.shape[0], size)
        ]
        return np.concatenate(parts) + self.intercept_

    def _chunk_rows(self, n_samples: int) -> int:
        # A kernel of the user's sees all rows at once.
        return n_samples if callable(self.kernel) else super()._chunk_rows(n_samples)

    def _path_coef(self, design: Any, fit: PathFit) -> Float64Array:
        if isinstance(design, KernelDesign):
            return fit.coefs[0]
        return super()._path_coef(design, fit)
