"""Location and scale of the columns of X, and warnings of columns too large for an estimator.

Estimators whose optimum changes with the scale of the columns pass a :class:`ColumnLimit` to
:func:`rankwise.checks.rows.check_fit`, which compares the columns with it: a column dominates if
its root mean square (for "spread", its standard deviation) exceeds ``ratio`` times the typical
range of a column. The typical range is the lower median of the ranges of all non-constant columns,
or ``unit`` if the estimator itself sets the scale. A column whose mean is far from zero relative to
its range, such as a Unix time, therefore dominates by size but not by spread.

Ranges represent the other columns because a rare indicator or a heavy tail has a small standard
deviation but an ordinary range.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array, Matrix, is_sparse

# Means farther than this many standard deviations from zero reduce the precision of squares.
FAR = 100.0
# Columns whose largest values differ by less than this ratio are multiplied unscaled: their squares
# stay precise enough for the relative eigenvalue cutoff.
MODERATE = 2.0**18
# Largest values whose squares are far within float64, for any number of rows.
SAFE = 2.0**256


def column_means(X: Matrix) -> Float64Array:
    """Means of the columns in float64."""
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def far_means(X: Matrix) -> Float64Array:
    """Means of dense columns that are far from zero relative to their spread; 0 for the others."""
    if is_sparse(X):
        return np.zeros(X.shape[1])
    means, spread = column_means(X), np.std(X, axis=0, dtype=np.float64)
    return np.where(np.abs(means) > FAR * spread, means, 0.0)


def target_power(y: Float64Array) -> int:
    """Power of two by which targets are divided before they are squared; 0 for moderate ones."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest == 0.0 or (largest < SAFE and largest * SAFE > 1.0):
        return 0
    return int(np.frexp(largest)[1])


def column_scales(X: Matrix) -> Float64Array | None:
    """Powers of two near the largest value of each column; None if sizes are moderate.

    Columns of zeros have scale 1.
    """
    if is_sparse(X):
        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, np.abs(X.data))
    else:
        largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    used = largest[largest > 0]
    if not len(used):
        return None
    low, high = float(used.min()), float(used.max())
    if low * SAFE > 1.0 and high < SAFE and high < MODERATE * low:
        return None
    return np.where(largest > 0, 2.0 ** np.floor(np.log2(np.where(largest > 0, largest, 1.0))), 1.0)


MOST_ROWS = 4096  # rows that are read, equally spaced
# Largest number of columns named in the warning.
MOST_NAMED = 3


@dataclass(frozen=True)
class ColumnLimit:
    """How large a column may be.

    ``quantity`` is the root mean square ("size"), or the standard deviation ("spread") for
    estimators that centre the columns.
    """

    quantity: Literal["size", "spread"]
    ratio: float  # largest multiple of the typical range
    harm: str  # consequence of exceeding the limit, for the message
    unit: float | None = None  # scale used instead of the typical range
    fix: str = ""  # advice shown instead of scaling the columns in a pipeline


SATURATED_NODES = ColumnLimit("size", 1e3, "random nodes saturate", unit=1.0)
PRODUCTS = ColumnLimit("size", 1e3, "products of rows hardly depend on other columns")
CENTRED_PRODUCTS = ColumnLimit("spread", 1e3, PRODUCTS.harm)
DISTANCES = ColumnLimit("spread", 1e3, "distances of rows hardly depend on other columns")
# Squares this far apart leave a closed form few significant digits of the smaller one.
SQUARES = ColumnLimit("spread", 1e6, "rounding loses the other columns")
SATURATED_NETWORK = replace(SATURATED_NODES, harm="hidden nodes saturate", fix="Set scaling=True")
_BY_ACTIVATION = {"relu": SQUARES, "linear": SQUARES, "hardlimit": PRODUCTS}
_BY_KERNEL = {
    "rbf": DISTANCES,
    "laplacian": DISTANCES,
    "perceptron": DISTANCES,
    "stump": DISTANCES,
    "linear": PRODUCTS,
    "polynomial": PRODUCTS,
    "poly": PRODUCTS,
    "sigmoid": PRODUCTS,
}


def node_limit(activation: str) -> ColumnLimit:
    """The limit for random nodes, whose weights and biases are drawn for columns of magnitude 1."""
    return _BY_ACTIVATION.get(activation, SATURATED_NODES)


def kernel_limit(kernel: Any) -> ColumnLimit | None:
    """The limit for a kernel; None for kernel values passed by the user."""
    return _BY_KERNEL.get(kernel) if isinstance(kernel, str) else None


def warn_of_dominant_columns(estimator: Any, X: Any, limit: ColumnLimit | None) -> None:
    """Warn if checked rows have columns beyond ``limit``; None means no limit.

    Warns
    -----
    UserWarning
        If columns dominate; the message names the columns, their values and the fix.
    """
    if limit is None or not X.shape[0]:
        return
    columns = dominant_columns(X, limit)
    if not len(columns):
        return
    names = getattr(estimator, "feature_names_in_", None)
    parts = []
    for column in columns[:MOST_NAMED].tolist():
        label = f" ({str(names[column])!r})" if names is not None else ""
        values = X[:, [column]]
        parts.append(f"column {column}{label} from {values.min():.10g} to {values.max():.10g}")
    if len(columns) > MOST_NAMED:
        parts.append(f"and {len(columns) - MOST_NAMED} more")
    name = type(estimator).__name__
    fix = limit.fix or f"Scale the columns, as with make_pipeline(StandardScaler(), {name}())"
    warnings.warn(
        f"X must have columns of similar scale for {name}, or {limit.harm}. Too large or too far "
        f"from zero: {', '.join(parts)}. {fix}.",
        UserWarning,
        stacklevel=callers_level(),
    )


def dominant_columns(X: Any, limit: ColumnLimit) -> NDArray[np.int64]:
    """Columns beyond the limit, the largest first."""
    rows = X[:: -(-X.shape[0] // MOST_ROWS)]
    largest, ranges, means, variances = _moments(rows)
    squares = variances if limit.quantity == "spread" else variances + means**2
    half_sizes, half_ranges = 0.5 * largest * np.sqrt(squares), 0.5 * largest * ranges
    if limit.unit is not None:
        half_typical = 0.5 * limit.unit
    else:  # the lower median
        varying = np.sort(half_ranges[half_ranges > 0])
        half_typical = float(varying[(len(varying) - 1) // 2]) if len(varying) else np.inf
    beyond = np.flatnonzero(half_sizes / limit.ratio > half_typical)
    return beyond[np.argsort(-half_sizes[beyond], kind="stable")]


def _moments(rows: Any) -> tuple[NDArray[np.float64], ...]:
    """Largest absolute value of each column; range, mean and variance in units of it."""
    if not is_sparse(rows):
        largest = np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
        scaled = rows / np.where(largest > 0, largest, 1.0)
        return largest, np.ptp(scaled, axis=0), scaled.mean(axis=0), scaled.var(axis=0)
    n, d = rows.shape
    indices = rows.indices
    full = np.bincount(indices, minlength=d) == n
    largest, low, high = np.zeros(d), np.where(full, 1.0, 0.0), np.where(full, -1.0, 0.0)
    np.maximum.at(largest, indices, np.abs(rows.data))
    scaled = rows.data / np.where(largest > 0, largest, 1.0)[indices]
    np.minimum.at(low, indices, scaled)
    np.maximum.at(high, indices, scaled)
    means = np.bincount(indices, scaled, d) / n
    squares = np.bincount(indices, scaled**2, d) / n
    return largest, high - low, means, np.maximum(squares - means**2, 0.0)
