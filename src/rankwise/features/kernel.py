"""One kernel function, evaluated between two blocks of rows.

Linear, polynomial (``coef0 >= 0``), rbf and laplacian kernels are positive definite; perceptron and
stump kernels are conditionally positive definite (for coefficients that sum to 0, so that ``delta``
cancels); the sigmoid is indefinite in general. The formulas are in
:mod:`rankwise.features.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rankwise.features.distances import absolute_distances_to, build_squared_distances
from rankwise.runtime.threads import thread_map
from rankwise.structure.rules import Number, Optional, Plain, Rule, Word, require
from rankwise.typing import Float64Array, FloatArray, Matrix, densify, is_sparse

# Rows evaluated at a time: a slice of distances becomes kernel values while it is in the caches.
SLICE_ROWS = 512
# Side length of the blocks in which a matrix is compared with its transpose.
_SQUARE = 256
# Below this number of feature differences, one thread is faster.
_SMALL_WORK = 1e7
# Highest degree of the polynomial kernel, which is computed by repeated multiplication.
LARGEST_DEGREE = 1000

Evaluate = Callable[[Matrix, FloatArray], None]


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, callable on two blocks of rows.

    Attributes
    ----------
    name : str
        One of ``KERNELS``, or "callable".
    gamma : float or None
        > 0; None if the kernel has no gamma.
    degree : int
        Degree of the polynomial kernel, >= 1.
    coef0 : float
        Constant of the polynomial and sigmoid kernels.
    delta : float
        Constant of the perceptron and stump kernels.
    function : callable or None
        User-defined kernel ``K(X, Z, **keywords)``.
    keywords : dict
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "name": Word(),
        "gamma": Optional(Number(low=0)),
        "degree": Number("i", low=1, high=LARGEST_DEGREE),
        "coef0": Number(),
        "delta": Number(),
        "function": Plain(),
        "keywords": Plain(),
    }

    name: str
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    delta: float = 0.0
    function: Callable[..., Any] | None = None
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def definite(self) -> str:
        """Definiteness: "positive", "conditional" (for coefficients that sum to 0) or "unknown"."""
        if self.name == "polynomial":
            return "positive" if self.coef0 >= 0 else "unknown"
        return _DEFINITE.get(self.name, "unknown")

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Values of shape (n_x, n_z); float32 if both X and Z are, else float64.

        A callable kernel is called once with the two matrices as they are. For a precomputed
        kernel, X holds the values, with one column per row of Z.

        Notes
        -----
        O(n_x n_z n_features). Distances are sums over feature differences, so equal rows have
        distance 0 and the values of X with itself are symmetric.
        """
        dtype = block_dtype(X, Z)
        if self.function is not None:
            return _check_values(self.function(X, Z, **self.keywords), X, Z, dtype)
        if self.name == "precomputed":
            return _check_values(densify(X), X, Z, dtype)
        out = np.empty((X.shape[0], Z.shape[0]), dtype=dtype)
        if self.name in _FROM_PRODUCTS:
            _FROM_PRODUCTS[self.name](self, _products(X, Z, out))
            return out
        evaluate = self.against(Z, dtype, sparse_rows=is_sparse(X))
        slices = [slice(lo, lo + SLICE_ROWS) for lo in range(0, X.shape[0], SLICE_ROWS)]
        n_threads = None if float(out.size) * X.shape[1] > _SMALL_WORK else 1
        thread_map(lambda rows: evaluate(X[rows], out[rows]), slices, n_threads)
        return out

    def against(self, Z: Matrix, dtype: Any, *, sparse_rows: bool) -> Evaluate:
        """Return a function that writes the kernel values of a block of rows with Z into an array.

        Work that depends only on Z is done once. The function runs on the calling thread.

        Parameters
        ----------
        Z : ndarray or CSR of shape (n_z, n_features)
        dtype : dtype
            dtype of the arrays to write, float32 or float64.
        sparse_rows : bool
            Whether the blocks are CSR.
        """
        if self.name in _FROM_DISTANCES:
            distances_to, finish = _FROM_DISTANCES[self.name]
            write = distances_to(Z, dtype, sparse_rows=sparse_rows)

            def from_distances(X: Matrix, out: FloatArray) -> None:
                write(X, out)
                finish(self, out)

            return from_distances
        if self.name in _FROM_PRODUCTS:
            finish_products = _FROM_PRODUCTS[self.name]

            def from_products(X: Matrix, out: FloatArray) -> None:
                finish_products(self, _products(X, Z, out))

            return from_products

        def whole(X: Matrix, out: FloatArray) -> None:
            out[:] = self(X, Z)

        return whole

    def diagonal(self, X: Matrix) -> Float64Array:
        """Values of every row with itself, shape (n_rows,), for a named kernel; O(N d)."""
        if self.name in _FROM_DISTANCES:
            out = np.zeros(X.shape[0])
            _FROM_DISTANCES[self.name][1](self, out)
            return out
        squares = X.multiply(X) if is_sparse(X) else np.square(X)
        out = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        _FROM_PRODUCTS[self.name](self, out)
        return out

    def _check_structure(self) -> None:
        known = {*_FROM_PRODUCTS, *_FROM_DISTANCES, "precomputed", "callable"}
        require(self.name in known, "name", f"be one of {sorted(known)}", self.name)
        require((self.name == "callable") == callable(self.function), "function",
                "be the function of a callable kernel", self.function)  # fmt: skip
        require(type(self.keywords) is dict, "keywords", "be a dict", self.keywords)
        needs_gamma = self.name in ("polynomial", "rbf", "laplacian", "sigmoid")
        require(self.gamma is not None or not needs_gamma, "gamma", "be a number", None)


def check_symmetric(K: FloatArray, kernel: Any) -> None:
    """Raise if ``K(X, X)`` is not symmetric, for methods that penalise its norm."""
    largest = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    slices = [slice(lo, lo + _SQUARE) for lo in range(0, len(K), _SQUARE)]

    def agree(above: slice, left: slice) -> bool:
        block, other = K[above, left], K[left, above].T
        bound = 1e-8 * (largest + np.abs(other))
        return bool((np.abs(block - other) <= bound).all())

    if not all(agree(slices[i], slices[j]) for i in range(len(slices)) for j in range(i + 1)):
        raise ValueError(
            f"kernel must be symmetric if its norm is penalised, got kernel={kernel!r} with "
            "K(X, X) != K(X, X)'. CLSRRank takes any kernel."
        )


def block_dtype(X: Matrix, Z: Matrix) -> Any:
    """float32 if both are, else float64."""
    return np.float32 if X.dtype == Z.dtype == np.float32 else np.float64


# Values from products and distances, in place -----------------------------------------------------


def _products(X: Matrix, Z: Matrix, out: FloatArray) -> FloatArray:
    """``X Z'`` in ``out``; symmetric for X with itself."""
    if not is_sparse(X) and not is_sparse(Z):
        return np.matmul(X, Z.T, out=out)
    product = X @ Z.T
    out[:] = densify(product)
    return out


def _to_linear_inplace(kernel: Kernel, out: FloatArray) -> None:
    """Do nothing: ``X Z'`` is the linear kernel."""


def _to_polynomial_inplace(kernel: Kernel, out: FloatArray) -> None:
    assert kernel.gamma is not None
    out *= kernel.gamma
    out += kernel.coef0
    base = out.copy()
    for _ in range(kernel.degree - 1):
        out *= base


def _to_sigmoid_inplace(kernel: Kernel, out: FloatArray) -> None:
    assert kernel.gamma is not None
    out *= kernel.gamma
    out += kernel.coef0
    np.tanh(out, out=out)


def _to_exponential_inplace(kernel: Kernel, out: FloatArray) -> None:
    assert kernel.gamma is not None
    out *= -kernel.gamma
    np.exp(out, out=out)


def _to_perceptron_inplace(kernel: Kernel, out: FloatArray) -> None:
    np.sqrt(out, out=out)
    np.subtract(kernel.delta, out, out=out)


def _to_stump_inplace(kernel: Kernel, out: FloatArray) -> None:
    np.subtract(kernel.delta, out, out=out)


_FROM_PRODUCTS = {
    "linear": _to_linear_inplace,
    "polynomial": _to_polynomial_inplace,
    "sigmoid": _to_sigmoid_inplace,
}
_FROM_DISTANCES = {
    "rbf": (build_squared_distances, _to_exponential_inplace),
    "laplacian": (absolute_distances_to, _to_exponential_inplace),
    "perceptron": (build_squared_distances, _to_perceptron_inplace),
    "stump": (absolute_distances_to, _to_stump_inplace),
}
_DEFINITE = {
    "linear": "positive",
    "rbf": "positive",
    "laplacian": "positive",
    "perceptron": "conditional",
    "stump": "conditional",
}


def _check_values(values: Any, X: Matrix, Z: Matrix, dtype: Any) -> FloatArray:
    """Values of a callable or precomputed kernel as an array of the right shape."""
    values = np.asarray(densify(values))
    expected = (X.shape[0], Z.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"kernel must give one row per row of X and one column per row of the fit, shape "
            f"{expected}, got {values.shape}."
        )
    values = values.astype(dtype, copy=False)
    if not np.isfinite(values).all():
        raise ValueError("kernel must give finite values, got NaN or infinity.")
    return values
