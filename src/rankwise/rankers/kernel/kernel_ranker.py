"""The kernel rankers' common form: exact, or on the columns of a Nystroem map."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.row_hash import LeastRows
from rankwise.checks.rows import FitData
from rankwise.features.kernel import Kernel
from rankwise.features.kernels import MEDIAN_ROWS
from rankwise.features.landmarks import draw_landmarks, n_candidates, salt_of
from rankwise.features.nystroem_map import NystroemMap, nystroem_map
from rankwise.rankers.kernel.kernel_model import KERNEL_CONSTRAINTS, KernelModel
from rankwise.solvers.least_squares.design import NodeDesign
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.streams.checked_stream import StreamData
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import Part, Rule, Sometimes, floats, require_attributes
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Matrix

APPROXIMATION_CONSTRAINTS: dict[str, Any] = {
    **KERNEL_CONSTRAINTS,
    "approximation": [StrOptions({"nystroem"}), None],
    "n_landmarks": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


class LandmarkDesign(NodeDesign):
    """Nystroem features, which scores do not need: kernel values are read out at once."""

    def scores(self, X: Matrix, read_out: list[Float64Array]) -> Float64Array:
        landmarks: Any = self.maps[0]
        return landmarks.scores(X, read_out[0].astype(np.float64, copy=False))


class KernelRanker(KernelModel):
    """A kernel ranker with an approximation by landmarks.

    Subclasses have, besides those of :class:`KernelModel`, the parameters ``approximation``,
    ``n_landmarks`` and ``random_state``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "nystroem_": Sometimes(Part((NystroemMap,))),
        "output_weights_": Sometimes(floats("n_outputs")),
    }

    approximation: str | None
    n_landmarks: int
    random_state: Any

    def _check_expansion(self) -> None:
        if hasattr(self, "nystroem_"):
            require_attributes(self, "output_weights_", "intercept_")
        else:
            super()._check_expansion()

    def _smaller(self) -> str:
        return ', or use approximation="nystroem"'

    def _kernel_design(self, data: FitData, gamma: float | None) -> Any:
        kernel = self._resolve(data, gamma)
        if self.approximation != "nystroem" or kernel.name == "linear":
            return super()._kernel_design(data, gamma)
        return LandmarkDesign([self._landmark_map(data, kernel)])

    def _landmark_map(self, data: FitData, kernel: Kernel) -> NystroemMap:
        rows = draw_landmarks(
            data.X, self.n_landmarks, "uniform", kernel, check_random_state(self.random_state)
        )
        return nystroem_map(kernel, data.X[rows], data.X.dtype)

    def _keeps_rows(self) -> bool:
        return self.approximation != "nystroem" and super()._keeps_rows()

    def _check_stream(self, rows: RowStream, has_validation: bool) -> None:
        super()._check_stream(rows, has_validation)
        if self._has_landmarks() and not rows.reiterable:
            raise ValueError(
                "landmarks are drawn from all rows before these are summed, and an iterator can be "
                "read once. Pass a callable that returns a new iterator each time: "
                "stream(make_chunks)."
            )

    def _stream_data(self, data: FitData) -> FitData:
        if not isinstance(data, StreamData) or not self._has_landmarks():
            return data
        # The rows that widths and landmarks are drawn from, of all rows in a stream.
        salt = salt_of(copy.deepcopy(self.random_state))
        draws = [LeastRows(MEDIAN_ROWS), LeastRows(n_candidates(self.n_landmarks, "uniform"), salt)]
        return replace(data, X=data.checked.sample(draws))

    def _has_landmarks(self) -> bool:
        return self.approximation == "nystroem" and self.kernel != "linear"

    def _set_fitted(
        self, design: Any, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        for name in ("nystroem_", "output_weights_"):
            vars(self).pop(name, None)
        super()._set_fitted(design, problem, fit, penalties, chosen)

    def _set_model(self, design: Any, coefs: Sequence[Float64Array]) -> None:
        if not isinstance(design, NodeDesign):
            super()._set_model(design, coefs)
            return
        nystroem = design.maps[0]
        assert isinstance(nystroem, NystroemMap)
        self.nystroem_ = nystroem
        self.kernel_ = self.nystroem_.kernel
        self.gamma_ = self.kernel_.gamma
        self.intercept_ = 0.0
        self.output_weights_ = coefs[0]

    def _path_coef(self, design: Any, fit: PathFit) -> Float64Array:
        if isinstance(design, NodeDesign):
            return fit.coefs[0]
        return super()._path_coef(design, fit)

    def _scores(self, X: Matrix) -> Float64Array:
        if not hasattr(self, "nystroem_"):
            return super()._scores(X)
        return self.nystroem_.scores(X, self.output_weights_[:, None])[:, 0] + self.intercept_
