"""Rows with several labels each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.typing import Matrix


@dataclass(frozen=True, eq=False)
class MultiLabelData:
    """Rows with 0/1 labels.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features), float64
        Features as published, not scaled; missing values are NaN.
    Y : ndarray or CSR of shape (n_samples, n_labels), int64
        1 if a row has the label, else 0; CSR if X is CSR.
    feature_names, label_names : tuple of str
        Names; empty if the file has none.
    name : str
    """

    X: Matrix
    Y: Any
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    name: str = ""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        kind = "dense" if isinstance(self.X, np.ndarray) else "CSR"
        per_row = float(self.Y.sum()) / max(self.n_samples, 1)
        name = f"{self.name!r}: " if self.name else ""
        return (
            f"MultiLabelData({name}{self.n_samples} rows, {self.n_features} features, "
            f"{self.n_labels} labels, {per_row:.2f} a row, {kind})"
        )
