"""Array aliases: what an annotation means here."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# NumPy types most arithmetic as "some float": the aliases say what is meant, not what is proved.
Float64Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[Any]
Int64Array: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = Any  # ndarray (n_samples, n_features) or scipy CSR of the same shape
FrameLike: TypeAlias = Any  # ndarray, CSR, pandas or polars frame

__all__ = [
    "ArrayLike",
    "Float64Array",
    "FloatArray",
    "FrameLike",
    "Int64Array",
    "Matrix",
]
