"""Array aliases and the protocols that the parts of a ranker meet."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64Array: TypeAlias = NDArray[np.float64]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
Int64Array: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = Any  # ndarray (n_samples, n_features) or scipy CSR of the same shape
FrameLike: TypeAlias = Any  # ndarray, CSR, pandas or polars frame

__all__ = [
    "ArrayLike",
    "FeatureMap",
    "Float64Array",
    "FloatArray",
    "FrameLike",
    "Int64Array",
    "Matrix",
    "RankerLike",
]


class FeatureMap(Protocol):
    """Maps rows to another representation, chunk by chunk."""

    n_features_out: int

    def __call__(self, X: Matrix) -> FloatArray:
        """Return the mapped rows, shape (n_rows, n_features_out)."""
        ...


class RankerLike(Protocol):
    """What comparison and reports need of an estimator."""

    def fit(self, X: FrameLike, y: ArrayLike, *, qid: ArrayLike | None = None) -> Any: ...

    def predict(self, X: FrameLike) -> FloatArray: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
