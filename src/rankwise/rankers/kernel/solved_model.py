"""What the kernel rankers with an iterative solver share: the search, and what they cannot do."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from rankwise.checks.rows import FitData
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.rankers.closed_form import DEFAULT_FOLDS
from rankwise.rankers.kernel.kernel_model import KernelModel
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.solvers.newton.pairwise_absolute_path import SolvedPath
from rankwise.streams.row_stream import RowStream
from rankwise.tuning.folds import fold_splits, row_splits
from rankwise.tuning.held_out import mean_defined, per_query
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Matrix


class SolvablePath(Protocol):
    """A problem with a grid of penalties."""

    def fit(self) -> SolvedPath: ...

    def split_scores(self, measure: Measure, splits: Any) -> Float64Array: ...


class SolvedModel(KernelModel):
    """A kernel ranker whose path is solved penalty by penalty, for all rows and for each fold.

    Subclasses define ``_path`` and ``_held_out`` and name their loss in ``_no_sums``.
    """

    _no_sums: ClassVar[str]
    _linear_in_y: ClassVar[bool] = False

    def _path(self, design: Any, problem: Problem, penalties: Penalties) -> SolvablePath:
        raise TypeError(f"{type(self).__name__} must define _path.")

    def _held_out(self, design: Any, path: Any, X: Matrix, fit: Any) -> Float64Array:
        raise TypeError(f"{type(self).__name__} must define _held_out.")

    def _fit_way(
        self,
        way: str,
        design: Any,
        problem: Problem,
        penalties: Penalties,
        data: FitData,
        vali: FitData | None,
    ) -> PathFit:
        path = self._path(design, problem, penalties)
        fit, measure = path.fit(), parse(self.measure)
        if way == "fixed":
            return fit
        if way == "val":
            assert vali is not None
            scores = self._held_out(design, path, vali.X, fit)
            values = mean_defined(per_query(measure, vali.y, scores, vali.groups))[None, :]
        elif self.cv is None or isinstance(self.cv, Integral):
            splits = fold_splits(data.X, data.y, data.groups, int(self.cv or DEFAULT_FOLDS))
            values = path.split_scores(measure, splits)
        else:
            values = path.split_scores(measure, row_splits(self.cv, data))
        return replace(fit, fold_scores=values)

    def _grid(self, value: Any, has_validation: bool) -> tuple[str, Penalties]:
        way, penalties = super()._grid(value, has_validation)
        grid, name = penalties.values, self._penalty
        if not (np.isfinite(grid) & (grid > 0)).all():
            raise ValueError(
                f"{name} must be > 0 and finite, got {value!r}. Near that limit the scores "
                "interpolate the targets."
            )
        return way, penalties

    def _check_stream(self, rows: RowStream, has_validation: bool) -> None:
        raise ValueError(
            f"{type(self).__name__} needs all rows in memory, got a stream: {self._no_sums} have "
            "no statistics that add up. Pass arrays, or use RankRLS."
        )

    def _adds_batches(self) -> bool:
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit: {self._no_sums} have no statistics that "
            "add up. Use RankRLS."
        )

    @available_if(_adds_batches)
    def partial_fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Not available: these losses have no statistics that add up."""
        return self
