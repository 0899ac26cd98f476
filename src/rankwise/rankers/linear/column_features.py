"""The columns of X as features of a pointwise linear ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.checks.column_ranges import column_means, column_scales
from rankwise.checks.dominant_columns import SQUARES, ColumnLimit
from rankwise.checks.row_hash import LeastRows
from rankwise.checks.rows import FitData
from rankwise.solvers.least_squares.design import LinearDesign, ShiftedColumns
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.streams.row_stream import RowStream


@dataclass(frozen=True)
class ColumnFeatures:
    """The columns of X, shifted by their means where there is an intercept.

    Attributes
    ----------
    intercept : bool
    scaled : bool
        Whether columns are divided by powers of two, which an unpenalised solution does not feel.
    """

    intercept: bool
    scaled: bool = False

    @property
    def searched(self) -> Sequence[Any]:
        """Nothing."""
        return ()

    @property
    def adds_batches(self) -> bool:
        """Always."""
        return True

    @property
    def column_limit(self) -> ColumnLimit | None:
        """That of squares; none where columns are scaled."""
        return None if self.scaled else SQUARES

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], LinearDesign]]:
        """The one design."""
        n_samples, n_features = rows.X.shape
        scale = column_scales(rows.X) if self.scaled else None
        shift = np.zeros(n_features)
        # Columns far from zero would cancel in the centred Gram matrix; the first rows tell where
        # they are, and all that a stream has. The N x N system of wide rows is centred itself,
        # and sparse rows stay sparse in it.
        if self.intercept and n_samples >= n_features:
            head = rows.X[:CHUNK_ROWS]
            if scale is None:
                shift = column_means(head)
            else:  # sums of the largest values may overflow
                shift = column_means(head @ sparse.diags_array(1.0 / scale)) * scale
        yield {}, LinearDesign(ShiftedColumns(shift, False, scale))

    def check_stream(self, name: str, rows: RowStream) -> None:
        """Every stream will do."""

    def sample(self, rows: FitData) -> FitData:
        """The first rows: they tell where the columns are."""
        return rows

    def sample_draws(self) -> tuple[LeastRows, ...]:
        """None: the first rows will do."""
        return ()
