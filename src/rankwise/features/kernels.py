"""Kernel functions: their values, names, parameters and widths, and distances of rows.

With ``x`` a new row and ``z`` a row of the fit,

- linear ``x.z``, polynomial (or poly) ``(gamma x.z + coef0)^degree``, sigmoid
  ``tanh(gamma x.z + coef0)``,
- rbf ``exp(-gamma |x - z|_2^2)``, laplacian ``exp(-gamma |x - z|_1)``,
- perceptron ``delta - |x - z|_2``, stump ``delta - |x - z|_1`` [1]_,
- any callable ``K(X, Z)`` with one row per row of X and one column per row of Z, symmetric or not,
- precomputed: X itself holds the values.

Linear, polynomial (``coef0 >= 0``), rbf and laplacian kernels are positive definite; perceptron and
stump kernels are conditionally positive definite (for coefficients that sum to 0, so that ``delta``
cancels); the sigmoid is indefinite in general.

Distances between dense rows are sums over feature differences
(:mod:`rankwise.kernels.row_products`). If both sides are CSR, squared distances come from norms and
products, are recomputed from the differences for near rows, and L1 distances are scikit-learn's. If
only one side is CSR, it is made dense.

References
----------
.. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from rankwise.checks.parameter_constraints import POSITIVE, Hidden, StrOptions
from rankwise.groups import FitData
from rankwise.kernels.row_products import absolute_block, fill_squared_block, refine_near
from rankwise.row_order import distinct_rows
from rankwise.runtime.messages import callers_level
from rankwise.runtime.threads import thread_map
from rankwise.structure.state_rules import Number, Optional, Plain, Rule, Word, require
from rankwise.tuning import WAYS
from rankwise.typing import Float64Array, FloatArray, Matrix, canonicalize, densify, is_sparse

# Rows evaluated at a time: a slice of distances becomes kernel values while it is in the caches.
SLICE_ROWS = 512
# Side length of the blocks in which a matrix is compared with its transpose.
_SQUARE = 256
# Below this number of feature differences, one thread is faster.
_SMALL_WORK = 1e7
# Highest degree of the polynomial kernel, which is computed by repeated multiplication.
LARGEST_DEGREE = 1000
Evaluate = Callable[[Matrix, FloatArray], None]

KernelName = Literal[
    "laplacian", "linear", "perceptron", "poly", "polynomial", "rbf", "sigmoid", "stump"
]


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
        dtype = np.float32 if X.dtype == Z.dtype == np.float32 else np.float64
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

    def products(self, X: Matrix, Z: Matrix, coef: Float64Array) -> Float64Array:
        """``K(X, Z) @ coef`` by slices of X; a kernel of the user is called once.

        It may be slow, or depend on all rows.
        """
        size = SLICE_ROWS if self.function is None else max(1, X.shape[0])
        starts = range(0, X.shape[0], size)
        return np.concatenate([np.asarray(self(X[lo : lo + size], Z)) @ coef for lo in starts])

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


# Values from products and distances, in place -----------------------------------------------------


def _products(X: Matrix, Z: Matrix, out: FloatArray) -> FloatArray:
    """``X Z'`` in ``out``; symmetric for X with itself."""
    if not is_sparse(X) and not is_sparse(Z):
        return np.matmul(X, Z.T, out=out)
    product = X @ Z.T
    out[:] = densify(product)
    return out


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


_FROM_PRODUCTS = {
    "linear": lambda kernel, out: None,
    "polynomial": _to_polynomial_inplace,
    "sigmoid": _to_sigmoid_inplace,
}


def absolute_distances_to(Z: Matrix, dtype: Any, *, sparse_rows: bool) -> Distances:
    """Like :func:`build_squared_distances` for ``sum_k |x_k - z_k|``."""
    if sparse_rows and is_sparse(Z):
        fixed = _canonical(Z)

        def write(X: Matrix, out: FloatArray) -> None:
            from sklearn.metrics.pairwise import manhattan_distances  # slow to import

            out[:] = manhattan_distances(_canonical(X), fixed)

        return write
    return _dense(Z, dtype, absolute_block)


def build_squared_distances(Z: Matrix, dtype: Any, *, sparse_rows: bool) -> Distances:
    """Function that writes ``|x - z|^2`` for every row x of a block and every row z of Z.

    ``dtype`` is the precision of the differences between dense rows, float32 or float64; CSR rows
    use float64. ``sparse_rows`` says whether the blocks are CSR. O(n_x n_z n_features) for a block
    of n_x rows.
    """
    if not (sparse_rows and is_sparse(Z)):
        return _dense(Z, dtype, fill_squared_block)
    known = _canonical(Z)
    norms, transposed = _squared_norms(known), known.T.tocsr()

    def write(X: Matrix, out: FloatArray) -> None:
        X = _canonical(X)
        x_norms = _squared_norms(X)
        squares = (X @ transposed).toarray()
        squares *= -2
        squares += x_norms[:, None] + norms
        refine_near(squares, _arrays(X), x_norms, _arrays(known), norms, _NEAR)
        out[:] = squares

    return write


_FROM_DISTANCES = {
    "rbf": (build_squared_distances, _to_exponential_inplace),
    "laplacian": (absolute_distances_to, _to_exponential_inplace),
    "perceptron": (build_squared_distances, _to_perceptron_inplace),
    "stump": (absolute_distances_to, lambda kernel, out: np.subtract(kernel.delta, out, out=out)),
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


__all__ = ["Kernel", "gamma_grid", "median_gamma", "resolve_kernel"]  # the documentation lists them

# Parameters of each kernel besides gamma.
_PARAMS: dict[str, dict[str, float | None]] = {
    "linear": {},
    "polynomial": {"degree": 3, "coef0": 1.0},
    "rbf": {},
    "laplacian": {},
    "perceptron": {"delta": None},
    "stump": {"delta": None},
    "sigmoid": {"coef0": 1.0},
    "precomputed": {},
}
WITH_GAMMA = ("polynomial", "rbf", "laplacian", "sigmoid")
_WITH_WIDTH = {"rbf": build_squared_distances, "laplacian": absolute_distances_to}
KERNELS = tuple(_PARAMS)
ALIASES = {"poly": "polynomial"}
KERNEL_NAMES = (*KERNELS, *ALIASES)
# Names that scikit-learn gives to widths.
NAMED_WIDTHS = ("scale", "auto")
# Values of an estimator's parameter ``gamma``: with all ways of a search, and with the usual two.
Gamma = float | Sequence[float] | Literal["cv", "val", "scale", "auto"] | None
GammaOfPath = Gamma | Literal["loqo", "lpo"]
GAMMA_CONSTRAINT: list[Any] = [
    POSITIVE,
    "array-like",
    StrOptions({*WAYS, *NAMED_WIDTHS}),
    Hidden(StrOptions({"grid"})),  # find_searched_gamma gives its new word
    None,
]
# Number of distinct rows whose pairs give the median distance.
MEDIAN_ROWS = 1000


class IgnoredParameterWarning(UserWarning):
    """Warning that a parameter has no effect, such as ``gamma`` of a linear kernel.

    To silence it in a search over kernels, use
    ``warnings.simplefilter("ignore", rankwise.exceptions.IgnoredParameterWarning)``.
    """


def kernel_name(kernel: Any) -> Any:
    """Full name of a kernel: "polynomial" for "poly". Callables and None are returned unchanged."""
    return ALIASES.get(kernel, kernel) if isinstance(kernel, str) else kernel


def resolve_kernel(
    kernel: str | Callable[..., Any],
    X: Matrix,
    gamma: float | str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    weight: Float64Array | None = None,
) -> Kernel:
    """Resolve a kernel, including the parameters that depend on the training rows.

    Parameters
    ----------
    kernel : str or callable
        One of ``KERNELS``, "poly" for "polynomial", or ``K(X, Z)``, which returns an array of
        shape (n_x, n_z).
    X : ndarray or CSR of shape (n_samples, n_features)
        Training rows; for "precomputed", the values between them, (n_samples, n_samples).
    gamma : float > 0, "scale", "auto" or None, default=None
        None: rbf 1 / the median squared Euclidean distance, laplacian 1 / the median L1 distance
        (see :func:`median_gamma`), polynomial and sigmoid 1 / n_features. As in scikit-learn,
        "scale" is 1 / (n_features * X.var()) and "auto" is 1 / n_features. Kernels without a gamma
        ignore it, with an :class:`IgnoredParameterWarning` unless it is "scale" or "auto".
    params : dict, optional
        "degree" (int >= 1, default 3) and "coef0" (default 1.0) of the polynomial, "coef0" of the
        sigmoid, "delta" of the perceptron and stump kernels; keyword arguments of a callable.
        ``delta=None``: the diameter of the rows' bounding box (its diagonal for the perceptron, the
        sum of its sides for the stump), so that no value between the rows is negative. ``delta``
        shifts all scores; it has no effect if only score differences count.
    weight : ndarray of shape (n_samples,), optional
        Number of repetitions of each row, for the variance of "scale".

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it, its value and the allowed values.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features.kernels import resolve_kernel
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> rbf = resolve_kernel("rbf", X)
    >>> rbf.gamma, rbf.definite
    (0.25, 'positive')
    >>> rbf(X, X[:1]).ravel().round(3)
    array([1.   , 0.779, 0.105])
    """
    params = {} if params is None else dict(params)
    if callable(kernel):
        warn_of_ignored_gamma(kernel, gamma)
        return Kernel("callable", function=kernel, keywords=params)
    kernel = str(kernel_name(kernel))
    if kernel not in _PARAMS:
        raise ValueError(
            f"kernel must be one of {', '.join(KERNEL_NAMES)}, or a callable K(X, Z), got "
            f"{kernel!r}."
        )
    check_kernel_params(kernel, params)
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f'kernel="precomputed" needs X of shape (n_samples, n_samples) in fit, got {X.shape}.'
        )
    if kernel in WITH_GAMMA:
        gamma = _width(X, kernel, gamma, weight)
    else:
        warn_of_ignored_gamma(kernel, gamma)
        gamma = None
    values = {name: params.get(name, default) for name, default in _PARAMS[kernel].items()}
    if "delta" in values and values["delta"] is None:
        ends = [X.max(axis=0), X.min(axis=0)]
        high, low = (np.asarray(densify(end)).ravel().astype(np.float64) for end in ends)
        values["delta"] = float(np.linalg.norm(high - low, 2 if kernel == "perceptron" else 1))
    for name, value in values.items():
        if name == "degree":
            allowed, rule = isinstance(value, Integral) and int(value) >= 1, "an integer >= 1"
        else:
            allowed, rule = isinstance(value, Real) and np.isfinite(float(value)), "a finite number"
        if not allowed:
            raise ValueError(f"{name} of the {kernel} kernel must be {rule}, got {value!r}.")
    return Kernel(kernel, gamma=gamma, **values)


def scale_gamma(X: Matrix, weight: Float64Array | None = None) -> float:
    """``1 / (n_features * X.var())``, scikit-learn's "scale"; 1.0 if all values are equal.

    ``weight`` (n_samples,) is the number of repetitions of each row.
    """
    values = X.astype(np.float64, copy=False)
    if is_sparse(values):
        mean, square = (
            float(np.average(np.asarray(matrix.mean(axis=1)).ravel(), weights=weight))
            for matrix in (values, values.multiply(values))
        )
        variance = square - mean**2
    else:
        mean = np.average(values.mean(axis=1), weights=weight)
        variance = float(np.average(np.square(values - mean).mean(axis=1), weights=weight))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def median_gamma(X: Matrix, kernel: str = "rbf") -> float:
    """1 / the median distance between distinct rows (rbf: squared Euclidean, laplacian: L1).

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    kernel : {"rbf", "laplacian"}

    Returns
    -------
    float
        1.0 if all rows are equal.

    Notes
    -----
    Repeated rows count once. If there are more than ``MEDIAN_ROWS`` = 1,000 distinct rows, those
    with the smallest hashes are used, so that neither repetition nor row order matters.
    """
    rows = X[distinct_rows(X, MEDIAN_ROWS)].astype(np.float64)
    distances = np.empty((rows.shape[0], rows.shape[0]))
    _WITH_WIDTH[kernel](rows, np.float64, sparse_rows=is_sparse(rows))(rows, distances)
    pairs = distances[np.triu_indices(len(distances), 1)]
    median = float(np.median(pairs)) if len(pairs) else 1.0
    return 1.0 / median if np.finfo(np.float64).tiny <= median < np.inf else 1.0


def default_gamma(X: Matrix, kernel: str) -> float:
    """Value used for ``gamma=None``, see :func:`resolve_kernel`."""
    kernel = kernel_name(kernel)
    return median_gamma(X, kernel) if kernel in _WITH_WIDTH else 1.0 / X.shape[1]


def gamma_grid(X: Matrix, kernel: str = "rbf", n: int = 7) -> Float64Array:
    """Values of gamma to search, ascending: the default width times powers of two.

    The width is ``gamma^(-1/2)`` for rbf and ``1 / gamma`` for the others, so neighbouring values
    of gamma differ by a factor of 4 or 2. If n is odd, the default is in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features.kernels import gamma_grid
    >>> gamma_grid(np.array([[0.0], [1.0]]), n=3)
    array([0.25, 1.  , 4.  ])
    """
    step = 4.0 if kernel == "rbf" else 2.0
    return default_gamma(X, kernel) * step ** (np.arange(n) - n // 2)


def gamma_candidates(X: Matrix, kernel: Any, gamma: Any) -> list[Any]:
    """Candidate widths for an estimator's parameter ``gamma``: a number, a list or a name.

    Kernels without gamma have the only candidate None, and a warning says so.
    """
    if kernel_name(kernel) not in WITH_GAMMA:
        warn_of_ignored_gamma(kernel, gamma)
        return [None]
    if isinstance(gamma, str) and gamma in WAYS:
        return [float(value) for value in gamma_grid(X, kernel)]
    if np.ndim(gamma) == 0:
        return [gamma]
    try:
        gammas = np.asarray(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        gammas = np.zeros(0)
    if gammas.ndim != 1 or not gammas.size or not (gammas > 0).all():
        raise ValueError(f"gamma must be a number > 0 or a list of them, got {gamma!r}.")
    return [float(value) for value in gammas]


def warn_of_ignored_gamma(kernel: Any, gamma: Any) -> None:
    """Warn if ``gamma`` is passed for a kernel without one, unless it is a scikit-learn default."""
    if gamma is None or (isinstance(gamma, str) and gamma in NAMED_WIDTHS):
        return
    what = "a callable kernel (pass it in kernel_params)" if callable(kernel) else f"{kernel=}"
    message = f"gamma has no effect with {what}."
    warnings.warn(message, IgnoredParameterWarning, stacklevel=callers_level())


def find_searched_gamma(kernel: Any, gamma: Any) -> Any:
    """``gamma`` if it means several widths and the kernel has a gamma, else None."""
    if isinstance(gamma, str) and gamma == "grid":
        raise ValueError('gamma="grid" is now gamma="cv", or "val" with validation rows.')
    several = gamma in WAYS if isinstance(gamma, str) else np.ndim(gamma) > 0
    return gamma if several and kernel_name(kernel) in WITH_GAMMA else None


def resolve_kernel_of_fit(
    kernel: Any, data: FitData, gamma: float | str | None, params: Mapping[str, Any] | None
) -> Kernel:
    """Apply :func:`resolve_kernel` to the checked rows of a fit.

    A precomputed kernel has a column for every row passed to ``fit``, even for rows of weight 0.
    """
    if kernel == "precomputed":
        n_columns = data.X.shape[0] if data.kept is None else len(data.kept)
        if data.X.shape[1] != n_columns:
            raise ValueError(
                'kernel="precomputed" needs X of shape (n_samples, n_samples) in fit, got '
                f"{(n_columns, data.X.shape[1])}. Pass the kernel between all training rows."
            )
        if not params:
            warn_of_ignored_gamma(kernel, gamma)
            return Kernel("precomputed")
    return resolve_kernel(kernel, data.X, gamma, params, weight=data.sample_weight)


# Checks and defaults ------------------------------------------------------------------------------


def check_kernel_params(kernel: str, params: Mapping[str, Any] | None) -> None:
    """Raise ValueError if a named kernel does not have one of the parameters."""
    if unknown := sorted({*(params or {})} - _PARAMS[kernel].keys()):
        takes = ", ".join(_PARAMS[kernel]) or "none"
        raise ValueError(
            f"kernel_params of the {kernel} kernel: {takes}; got {', '.join(unknown)}. Drop it."
        )


def _width(X: Matrix, kernel: str, gamma: Any, weight: Float64Array | None) -> float:
    if gamma is None:
        return default_gamma(X, kernel)
    if isinstance(gamma, str) and gamma in NAMED_WIDTHS:
        return scale_gamma(X, weight) if gamma == "scale" else 1.0 / X.shape[1]
    if isinstance(gamma, Real) and 0 < float(gamma) < np.inf:
        return float(gamma)
    raise ValueError(f'gamma must be a finite number > 0, "scale", "auto" or None, got {gamma!r}.')


# Writes the distances of the rows into the array.
Distances = Callable[[Matrix, FloatArray], None]

# Rows of Z compared at a time: a panel and a row of output stay in a core's caches.
_PANEL_ROWS = 256
# Squared distances below this share of the squared norms have lost three digits to cancellation.
_NEAR = 1e-3


def _dense(Z: Matrix, dtype: Any, compare: Callable[..., None]) -> Distances:
    n_columns = Z.shape[1]
    Z = _align_rows(Z, dtype)
    panels = [
        (first, np.ascontiguousarray(Z[first : first + _PANEL_ROWS].T))
        for first in range(0, len(Z), _PANEL_ROWS)
    ]

    def write(X: Matrix, out: FloatArray) -> None:
        if X.shape[1] != n_columns:
            raise ValueError(
                f"X must have {n_columns} columns, as the rows of the fit have, got {X.shape[1]}."
            )
        rows = _align_rows(X, dtype)
        for first, panel in panels:
            compare(rows, panel, first, out)

    return write


def _align_rows(X: Matrix, dtype: Any) -> FloatArray:
    """Dense rows, padded with zero columns to a multiple of four."""
    n, d = X.shape
    rows = np.zeros((n, -(-d // 4) * 4), dtype=dtype)
    rows[:, :d] = densify(X)
    return rows


def _canonical(X: Matrix) -> Any:
    """Float64 CSR copy with sorted, unique indices."""
    return canonicalize(sparse.csr_array(X, dtype=np.float64))


def _squared_norms(X: Any) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _arrays(X: Any) -> tuple[np.ndarray[Any, Any], ...]:
    return X.data, X.indices, X.indptr


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
