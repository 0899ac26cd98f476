"""Kernels by name: parameters, data-dependent defaults and grids of widths.

With ``x`` a new row and ``z`` a row of the fit,

- linear ``x.z``, polynomial (or poly) ``(gamma x.z + coef0)^degree``, sigmoid
  ``tanh(gamma x.z + coef0)``,
- rbf ``exp(-gamma |x - z|_2^2)``, laplacian ``exp(-gamma |x - z|_1)``,
- perceptron ``delta - |x - z|_2``, stump ``delta - |x - z|_1`` [1]_,
- any callable ``K(X, Z)`` with one row per row of X and one column per row of Z, symmetric or not,
- precomputed: X itself holds the values.

References
----------
.. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankwise.features.distances import absolute_distances_to, build_squared_distances
from rankwise.features.kernel import Kernel
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import distinct_rows
from rankwise.runtime.callers import callers_level
from rankwise.typing import Float64Array, Matrix, densify, is_sparse

__all__ = [
    "IgnoredParameterWarning",
    "Kernel",
    "check_kernel_params",
    "default_gamma",
    "find_searched_gamma",
    "gamma_candidates",
    "gamma_grid",
    "kernel_name",
    "median_gamma",
    "resolve_kernel",
    "resolve_kernel_of_fit",
    "warn_of_ignored_gamma",
]

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
# Number of distinct rows whose pairs give the median distance.
MEDIAN_ROWS = 1000


class IgnoredParameterWarning(UserWarning):
    """Warning that a parameter has no effect, such as ``gamma`` of a linear kernel.

    To silence it in a search over kernels, use
    ``warnings.simplefilter("ignore", rankwise.IgnoredParameterWarning)``.
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
        values["delta"] = _box_diameter(X, 2 if kernel == "perceptron" else 1)
    _check_numbers(kernel, values)
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

    Raises
    ------
    ValueError
        If a list contains anything but numbers > 0.

    Warns
    -----
    IgnoredParameterWarning
        If the kernel has no gamma. The only candidate is then None.
    """
    if kernel_name(kernel) not in WITH_GAMMA:
        warn_of_ignored_gamma(kernel, gamma)
        return [None]
    if isinstance(gamma, str) and gamma == "grid":
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
    several = gamma == "grid" if isinstance(gamma, str) else np.ndim(gamma) > 0
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


def _check_numbers(kernel: str, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name == "degree":
            allowed, rule = isinstance(value, Integral) and int(value) >= 1, "an integer >= 1"
        else:
            allowed, rule = isinstance(value, Real) and np.isfinite(float(value)), "a finite number"
        if not allowed:
            raise ValueError(f"{name} of the {kernel} kernel must be {rule}, got {value!r}.")


def _box_diameter(X: Matrix, norm: int) -> float:
    """Diameter of the rows' bounding box in the L1 or L2 norm."""
    ends = [X.max(axis=0), X.min(axis=0)]
    high, low = (np.asarray(densify(end)).ravel().astype(np.float64) for end in ends)
    return float(np.linalg.norm(high - low, norm))
