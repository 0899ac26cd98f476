"""Equations with a squared loss, which is solved in closed form from sums of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.checks.column_ranges import column_means, column_scales
from rankwise.checks.dominant_columns import SQUARES, ColumnLimit
from rankwise.equation import Equation, FeatureMap
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.streamed import StreamedFeatures, StreamPath
from rankwise.rows.fit_data import FitData
from rankwise.solvers.least_squares.design import LinearDesign, ShiftedColumns
from rankwise.solvers.least_squares.expansion import ExpansionPath
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.solvers.least_squares.kernel_design import AnyDesign, KernelDesign
from rankwise.solvers.least_squares.path_selection import LeastSquaresPath, PathFit
from rankwise.streams.checked_stream import StreamData
from rankwise.tuning.penalty import Penalties, inverse
from rankwise.tuning.penalty_search import Penalty, SolutionPath

# Grid of Zong & Huang: 2^-30, 2^-28, ..., 2^20.
DEFAULT_GRID = 2.0 ** np.arange(-30, 21, 2)
# Penalties for a mean over pairs: 10^2, 10^1.5, ..., 10^-8.
MEAN_GRID = 10.0 ** np.arange(2, -8.5, -0.5)
WAYS = ("cv", "loqo", "lpo", "val")
# Allowed penalties of a squared loss.
C_OF_SUM = Penalty("C", "C", DEFAULT_GRID, WAYS, unpenalised=True)
ALPHA = Penalty("alpha", "alpha", inverse(DEFAULT_GRID), WAYS, unpenalised=True)
LAM = Penalty("lam", "lam", MEAN_GRID, WAYS, unpenalised=True)
C_OF_MEAN = Penalty("C", "mean", inverse(MEAN_GRID), WAYS, unpenalised=True)
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "measure": [str],
    "cv": ["cv_object"],
}


def build_closed_form(
    features: FeatureMap, loss: SquaredLoss, penalty: Penalty, **options: Any
) -> Equation:
    """Equation with a squared loss; ``options`` are fields of :class:`Equation`."""
    options.setdefault("make_path", least_squares_path)
    return Equation(features, loss, penalty=penalty, pairs=loss.graph != "pointwise", **options)


def least_squares_path(
    rows: FitData,
    design: AnyDesign,
    loss: SquaredLoss,
    penalties: Penalties,
    *,
    max_bytes: int = 2**62,
) -> SolutionPath[PathFit]:
    """Path of a squared loss on columns, on the rows of a stream, or on an expansion over rows.

    A stream with fewer rows than columns is read into memory.
    """
    if isinstance(design, KernelDesign):
        return ExpansionPath(rows, design, loss, penalties, max_bytes=max_bytes)
    if isinstance(rows, StreamData):
        every = rows.checked.all_rows(design.n_columns)
        if every is None:
            return StreamPath(rows, design, loss, penalties)
        rows = every
    return LeastSquaresPath(rows, design, loss, penalties)


@dataclass(frozen=True)
class ColumnFeatures(StreamedFeatures):
    """Columns of X, shifted by their means if there is an intercept."""

    intercept: bool
    # Whether columns are divided by powers of two, which does not change an unpenalised solution.
    scaled: bool = False

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Column limit of squares; None if columns are scaled."""
        return None if self.scaled else SQUARES

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], LinearDesign]]:
        """The single design of the columns."""
        n_samples, n_features = rows.X.shape
        scale = column_scales(rows.X) if self.scaled else None
        shift = np.zeros(n_features)
        # Columns with large means would cancel in the centred Gram matrix, so the means of the
        # first rows (all that a stream provides) are subtracted. The N x N system of wide rows
        # is centred directly, which keeps sparse rows sparse.
        if self.intercept and n_samples >= n_features:
            head = rows.X[:CHUNK_ROWS]
            if scale is None:
                shift = column_means(head)
            else:  # sums of the original values may overflow
                shift = column_means(head @ sparse.diags_array(1.0 / scale)) * scale
        yield {}, LinearDesign(ShiftedColumns(shift, False, scale))
