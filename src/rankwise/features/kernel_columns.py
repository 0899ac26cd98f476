"""Kernel values with landmarks as columns, for kernels that need not be definite or symmetric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.features.kernel import Kernel
from rankwise.typing import Float64Array, FloatArray, Matrix


@dataclass(frozen=True, eq=False)
class KernelColumns:
    """``K(X, landmarks)``, callable on blocks of rows."""

    kernel: Kernel
    landmarks: Matrix  # (n_landmarks, n_features)
    dtype: Any  # precision of the values

    @property
    def n_features_out(self) -> int:
        """Number of landmarks."""
        return self.landmarks.shape[0]

    def astype(self, dtype: Any) -> KernelColumns:
        """The same columns in another precision."""
        return KernelColumns(self.kernel, self.landmarks.astype(dtype), dtype)

    def __call__(self, X: Matrix) -> FloatArray:
        """Values of shape (n_rows, n_landmarks)."""
        return np.asarray(self.kernel(X, self.landmarks)).astype(self.dtype, copy=False)

    def rows(self, X: Matrix) -> Float64Array:
        """All values in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)
