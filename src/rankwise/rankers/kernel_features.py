"""Feature maps of kernels, exact or from landmarks, and their least-squares equation.

A linear kernel is solved on the columns of X. Other kernels are solved on an N x N matrix or on the
columns of a Nystroem map. These are three designs of the same problem."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rankwise.checks.column_sizes import SQUARES, ColumnLimit, far_means, kernel_limit
from rankwise.checks.parameter_constraints import MAX_BYTES_CONSTRAINT, StrOptions, minimum
from rankwise.equation import Equation
from rankwise.features.kernels import (
    GAMMA_CONSTRAINT,
    KERNEL_NAMES,
    MEDIAN_ROWS,
    Kernel,
    KernelColumns,
    check_kernel_params,
    check_symmetric,
    find_searched_gamma,
    gamma_candidates,
    resolve_kernel_of_fit,
    warn_of_ignored_gamma,
)
from rankwise.features.nystroem import (
    NystroemMap,
    draw_landmarks,
    n_candidates,
    nystroem_map,
    salt_of,
)
from rankwise.groups import FitData, RowStream
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import (
    SELECTION_CONSTRAINTS,
    build_closed_form,
    least_squares_path,
)
from rankwise.rankers.streamed import StreamedFeatures
from rankwise.row_order import LeastRows
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.messages import callers_level
from rankwise.solvers.least_squares.design import (
    AnyDesign,
    KernelColumnsDesign,
    KernelDesign,
    LandmarkDesign,
    LinearDesign,
    ShiftedColumns,
)
from rankwise.solvers.least_squares.expansion import LEAVE_OUT_MATRICES, MATRICES, Penalise
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.tuning import Penalty
from rankwise.typing import Matrix, Seed

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": GAMMA_CONSTRAINT,
    "kernel_params": [dict, None],
    "max_bytes": MAX_BYTES_CONSTRAINT,
    **SELECTION_CONSTRAINTS,
}
APPROXIMATION_CONSTRAINTS: dict[str, Any] = {
    **KERNEL_CONSTRAINTS,
    "approximation": [StrOptions({"nystroem"}), None],
    "n_landmarks": [minimum(1)],
    "random_state": ["random_state"],
}
# Rows for each landmark from which a note names landmarks. Chosen on three folds of OHSUMED and two
# of MQ2008 with 1,000 landmarks, so never for fewer. 3,000 rows take .42 (LSRRank), .10 (CLSRRank),
# .15 to .21 (RankSVM) and .26 to .35 (RankLR) of the exact CPU time, searches less; nDCG@10 changes
# by +.002 +- .003 and -.002 +- .003 (LSRRank, CLSRRank). SVRank's exact steps get cheaper as rows
# leave them: landmarks take .88 of its time at 4,000 rows, .54 at 5,000 (-.0001 +- .0001). Of two
# other sets, one is level and MSLR loses .01 at 3,000 rows (benchmarks.bench_kernel_rankers).
ROWS_PER_LANDMARK, ROWS_PER_LANDMARK_OF_STEPS = 3, 5
LEAST_LANDMARKS = 1000


@dataclass(frozen=True, eq=False)
class KernelFeatures(StreamedFeatures):
    """Kernel parameters before the rows are known; fields without comments are the ranker's."""

    kernel: Any
    gamma: Any
    kernel_params: Mapping[str, Any] | None
    max_bytes: int
    takes_shift: bool = True  # whether the loss ignores a constant added to the scores
    intercept: bool = False  # whether the model has an intercept
    approximation: str | None = None
    n_landmarks: int = 0
    random_state: Seed = None
    # Penalised quantity; with "coefficients", a linear kernel is also an expansion over the rows.
    penalise: Penalise = "norm"
    leaves_out: bool = False  # whether a search leaves rows out exactly, which needs more memory
    conditioned: bool = False  # whether the solver copes with columns of X that dominate the others
    cheaper: Sequence[str] = ()  # approximations that the ranker has, the usual first
    rows_per_landmark: int = ROWS_PER_LANDMARK

    @classmethod
    def of(cls, ranker: Any, **options: Any) -> KernelFeatures:
        """Features with the parameters of a ranker, and landmarks if it has parameters of them."""
        given: dict[str, Any] = {}
        if hasattr(ranker, "approximation"):
            given = {
                "approximation": ranker.approximation,
                "n_landmarks": ranker.n_landmarks,
                "random_state": ranker.random_state,
                "cheaper": ("nystroem",),
            }
        return cls(
            ranker.kernel, ranker.gamma, ranker.kernel_params, ranker.max_bytes, **given | options
        )

    @property
    def searched(self) -> Sequence[Any]:
        """The searched width."""
        return (find_searched_gamma(self.kernel, self.gamma),)

    @property
    def is_linear(self) -> bool:
        """Whether the features are the columns of X."""
        return self.kernel == "linear" and self.penalise == "norm"

    @property
    def adds_batches(self) -> bool:
        """True only if the features are the columns of X."""
        return self.is_linear

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Column limit of squares, or of the kernel."""
        if self.is_linear:
            return None if self.conditioned else SQUARES
        return kernel_limit(self.kernel)

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], AnyDesign]]:
        """One design for each width, without storing its matrix."""
        if self.is_linear:
            check_kernel_params("linear", self.kernel_params)
            warn_of_ignored_gamma("linear", self.gamma)
            shift = np.zeros(rows.X.shape[1])
            if self.intercept and rows.X.shape[0] >= rows.X.shape[1]:
                shift = far_means(rows.X[:CHUNK_ROWS])
            yield {}, LinearDesign(ShiftedColumns(shift, ones=False))
            return
        if self.approximation is None:
            self._check_size(rows.X.shape[0])
        for gamma in gamma_candidates(rows.X, self.kernel, self.gamma):
            # A single width is no column of cv_results_.
            parameters = {} if self.searched == (None,) else {"gamma": gamma}
            yield parameters, self._design(rows, gamma)

    def check_stream(self, name: str, rows: RowStream) -> None:
        """Raise if the model would grow with the stream, or if landmarks need to read it twice."""
        keeps_rows = not self.is_linear and self.approximation != "nystroem"
        if keeps_rows or self.kernel == "precomputed":
            raise ValueError(
                f"A stream needs a model that does not store the rows, but {name} with "
                f'kernel={self.kernel!r} stores them. Use RankRLS(kernel="linear"), '
                'RankRLS(approximation="nystroem"), or random nodes (PairwiseELM).'
            )
        if self._is_nystroem and not rows.reiterable:
            raise ValueError(
                "landmarks read the stream twice, but an iterator can be read only once. Pass a "
                "callable that returns a new iterator each time: stream(make_chunks)."
            )

    def sample(self, rows: FitData) -> FitData:
        """Sample from the whole stream, used to choose widths and landmarks."""
        draws = self.sample_draws()
        if rows.stream is None or not draws:
            return rows
        return replace(rows, X=rows.stream.sample(draws))

    def sample_draws(self) -> tuple[LeastRows, ...]:
        """Draws from all rows for choosing widths and landmarks; none if not needed."""
        if not self._is_nystroem:
            return ()
        salt = salt_of(copy.deepcopy(self.random_state))
        candidates = n_candidates(self.n_landmarks, "uniform")
        return LeastRows(MEDIAN_ROWS), LeastRows(candidates, salt)

    def landmarks(self, rows: FitData, kernel: Kernel) -> NystroemMap:
        """Nystroem map of randomly drawn rows."""
        return nystroem_map(kernel, self._draw_landmarks(rows, kernel), rows.X.dtype)

    @property
    def _is_nystroem(self) -> bool:
        return self.approximation == "nystroem" and self.kernel != "linear"

    def _design(self, rows: FitData, gamma: float | str | None) -> AnyDesign:
        kernel = resolve_kernel_of_fit(self.kernel, rows, gamma, self.kernel_params)
        if self._is_nystroem:
            return LandmarkDesign([self.landmarks(rows, kernel)])
        if self.approximation == "landmarks":
            if kernel.name == "precomputed":
                raise ValueError(
                    'approximation="landmarks" needs a kernel that is computed from rows, got '
                    'kernel="precomputed". Set approximation=None.'
                )
            landmarks = self._draw_landmarks(rows, kernel)
            return KernelColumnsDesign([KernelColumns(kernel, landmarks, rows.X.dtype)])
        if self.approximation == "pcg":
            return KernelDesign(kernel, rows.X.astype(np.float64, copy=False), None)
        return self._expansion(rows, kernel)

    def _draw_landmarks(self, rows: FitData, kernel: Kernel) -> Matrix:
        random_state = check_random_state(self.random_state)
        return rows.X[draw_landmarks(rows.X, self.n_landmarks, "uniform", kernel, random_state)]

    def _check_size(self, n: int) -> None:
        """Raise if an exact model of ``n`` rows is too large; name landmarks if they are faster."""
        leaves_out = self.leaves_out and self.penalise == "norm"
        matrices = LEAVE_OUT_MATRICES if leaves_out else MATRICES
        needed = 8 * n * n * matrices
        has_landmarks = bool(self.cheaper) and self.kernel != "precomputed"
        if needed > self.max_bytes:
            ways = " or ".join(f'"{way}"' for way in self.cheaper)
            fix = f"or use approximation={ways}" if has_landmarks else "or fit fewer rows"
            raise ValueError(
                f"max_bytes={self.max_bytes} is less than the {needed} bytes that an exact kernel "
                f"model of n_samples={n} rows needs ({matrices} matrices of n_samples x n_samples "
                f"float64). Increase max_bytes, {fix}."
            )
        n_landmarks = max(self.n_landmarks, LEAST_LANDMARKS)
        if has_landmarks and n >= self.rows_per_landmark * n_landmarks:
            warnings.warn(
                f"The exact kernel model of n_samples={n} rows takes longer to fit than one with "
                f"{n_landmarks} landmarks, which ranks about as well. Consider "
                f'approximation="{self.cheaper[0]}", n_landmarks={n_landmarks}.',
                UserWarning,
                stacklevel=callers_level(),
            )

    def _expansion(self, rows: FitData, kernel: Kernel) -> KernelDesign:
        X = rows.X.astype(np.float64, copy=False)
        kept = rows.kept if kernel.name == "precomputed" else None
        X = X if kept is None else X[:, kept]
        with np.errstate(over="ignore", invalid="ignore"):
            K = np.asarray(kernel(X, X), dtype=np.float64)
            total = K.sum()
        if not np.isfinite(total):
            raise ValueError(
                f"kernel must be finite between training rows, got kernel={self.kernel!r} with "
                f"values that overflow (gamma={kernel.gamma}, kernel_params={self.kernel_params}). "
                "Scale X, or change these parameters."
            )
        given = kernel.name in ("callable", "precomputed")  # named kernels are symmetric
        if given and self.penalise == "norm":
            check_symmetric(K, self.kernel)
        definite = kernel.definite == "positive" or (
            kernel.definite == "conditional" and self.takes_shift
        )
        return KernelDesign(kernel, X, K, definite, kept)


def kernel_least_squares(
    ranker: Any, loss: SquaredLoss, penalty: Penalty, **options: Any
) -> Equation:
    """Equation of a kernel ranker with this loss, and options of :class:`KernelFeatures`."""
    value = getattr(ranker, penalty.name)
    features = KernelFeatures.of(
        ranker,
        leaves_out=isinstance(value, str) and value in ("loqo", "lpo"),
        takes_shift=loss.takes_shift,
        intercept=loss.intercept,
        **options,
    )
    make_path = partial(least_squares_path, max_bytes=ranker.max_bytes)
    return build_closed_form(features, loss, penalty, make_path=make_path)
