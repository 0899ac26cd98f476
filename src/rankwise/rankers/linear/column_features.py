"""Columns of X as features of a pointwise linear ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.checks.column_ranges import column_means, column_scales
from rankwise.checks.dominant_columns import SQUARES, ColumnLimit
from rankwise.rankers.streamed import StreamedFeatures
from rankwise.rows.fit_data import FitData
from rankwise.solvers.least_squares.design import LinearDesign, ShiftedColumns
from rankwise.solvers.least_squares.gram import CHUNK_ROWS


@dataclass(frozen=True)
class ColumnFeatures(StreamedFeatures):
    """Columns of X, shifted by their means if there is an intercept.

    Attributes
    ----------
    intercept : bool
        Whether the model has an intercept.
    scaled : bool
        Whether columns are divided by powers of two, which does not change an unpenalised solution.
    """

    intercept: bool
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
