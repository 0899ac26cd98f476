"""Types of arrays and matrices, and a test for sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class SparseMatrix(Protocol):
    """The used interface of a scipy sparse array or matrix; scipy does not provide types."""

    data: Any
    indices: Any
    indptr: Any
    has_sorted_indices: Any
    has_canonical_format: Any

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def nnz(self) -> Any: ...
    @property
    def size(self) -> Any: ...
    @property
    def format(self) -> str: ...
    @property
    def T(self) -> Any: ...
    def toarray(self) -> NDArray[Any]: ...
    def tocsr(self) -> Any: ...
    def tocsc(self) -> Any: ...
    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Any: ...
    def copy(self) -> Any: ...
    def sum_duplicates(self) -> None: ...
    def sorted_indices(self) -> Any: ...
    def max(self, axis: Any = None) -> Any: ...
    def min(self, axis: Any = None) -> Any: ...
    def multiply(self, other: Any) -> Any: ...
    def sum(self, axis: Any = None, dtype: Any = None) -> Any: ...
    def mean(self, axis: Any = None, dtype: Any = None) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...


class SparseLike(Protocol):
    """A scipy sparse array or matrix of any format."""

    @property
    def nnz(self) -> Any: ...
    def toarray(self) -> Any: ...
    def tocsr(self) -> Any: ...


# NumPy types most arithmetic as "some float", so the aliases state intent rather than proof.
Float64Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[Any]
Int64Array: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = NDArray[Any] | SparseMatrix  # shape (n_samples, n_features); sparse: CSR
# Frames of pandas, polars and arrow have __array__, which ArrayLike requires.
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
FrameLike: TypeAlias = ArrayLike | SparseLike


def is_sparse(X: object) -> TypeIs[SparseMatrix]:
    """Whether X is a scipy sparse array or matrix."""
    return sparse.issparse(X)


def canonicalize(X: Matrix) -> Any:
    """X with one entry per cell of a sparse matrix; copied only if some cell has several."""
    if not is_sparse(X) or X.has_canonical_format:
        return X
    summed: Any = X.copy()
    summed.sum_duplicates()
    return summed


def densify(X: Matrix) -> NDArray[Any]:
    """X as an ndarray; an ndarray is returned unchanged."""
    return X.toarray() if is_sparse(X) else X


__all__ = [
    "ArrayLike",
    "Float64Array",
    "FloatArray",
    "FrameLike",
    "Int64Array",
    "Matrix",
    "SparseMatrix",
    "canonicalize",
    "densify",
    "is_sparse",
]


def join_rows(parts: Sequence[Any]) -> Any:
    """Join the rows of several matrices or arrays."""
    if len(parts) == 1:
        return parts[0]
    if any(map(is_sparse, parts)):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
