"""Random perceptrons and stumps: sign features whose inner products estimate a distance.

For a direction u, the signs of ``u.x - b`` and ``u.z - b`` differ if b lies between the two
projections. If b is drawn from a density q that covers them, the indicator of that event times
``1 / q(b)`` has the mean ``|u.x - u.z|``. Averaged over directions on the sphere, this is
``kappa |x - z|_2`` with ``kappa = Gamma(d/2) / (sqrt(pi) Gamma((d + 1)/2))``. Averaged over
coordinates drawn with probabilities pi and divided by pi, it is ``|x - z|_1``. Therefore the inner
products of n perceptrons of size ``(2 kappa n q(b))^(-1/2)`` have the mean ``delta - |x - z|_2``,
the perceptron kernel, and those of n stumps of size ``(2 pi n q(b))^(-1/2)`` have the mean
``delta - |x - z|_1``, the stump kernel [1]_. The error is of order ``1 / sqrt(n)``, and smallest if
the thresholds are dense among the rows. Half of q is therefore uniform over the range of the
training rows, and half follows their quantiles.

Composition: random directions or features x random thresholds x signs.

References
----------
.. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import gammaln
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.checks.rows import check_columns_read, check_rows
from rankwise.features.feature_transformer import FeatureTransformer
from rankwise.row_order import distinct_rows
from rankwise.structure.state_rules import Either, Number, Rule, floats, integers
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Matrix, densify

SIGN_KERNELS = ("perceptron", "stump")
SLICE_ROWS = 512
# Number of distinct rows for the quantiles, and number of intervals of equal mass.
QUANTILE_ROWS, N_PARTS = 1000, 32


@dataclass(frozen=True, eq=False)
class SignMap:
    """Signs of projections minus thresholds, callable on blocks of rows."""

    # Directions of perceptrons (n_features, n_nodes), or feature numbers of stumps (n_nodes,),
    # int64.
    weights: FloatArray
    biases: FloatArray  # (n_nodes,)
    sizes: FloatArray  # (n_nodes,): magnitude of each output

    def __call__(self, X: Matrix) -> FloatArray:
        """Outputs of shape (n_rows, n_nodes), in the precision of ``X``; 0 counts as positive."""
        out = np.empty((X.shape[0], len(self.biases)), dtype=X.dtype)
        # Thresholds are float64, so that float32 rows are compared by their exact values.
        for lo in range(0, X.shape[0], SLICE_ROWS):
            part = project(X[lo : lo + SLICE_ROWS], self.weights) >= self.biases
            np.multiply(np.where(part, 1.0, -1.0), self.sizes, out=out[lo : lo + SLICE_ROWS])
        return out


def project(X: Matrix, weights: FloatArray) -> Float64Array:
    """Project rows on directions (n_features, n_nodes), or select features by number (n_nodes,)."""
    if weights.ndim == 2:
        return np.asarray(X @ weights)
    check_columns_read(weights, X.shape[1])
    rows = densify(X)
    return rows[:, weights].astype(np.float64)


def mean_projection(n_features: int) -> float:
    """``kappa``: mean of ``|u.v|`` over the sphere for a unit vector v."""
    log = gammaln(0.5 * n_features) - gammaln(0.5 * (n_features + 1))
    return float(np.exp(log) / np.sqrt(np.pi))


class RandomPerceptrons(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    """Random perceptrons or stumps that approximate the perceptron or the stump kernel.

    Parameters
    ----------
    kernel : {"perceptron", "stump"}, default="perceptron"
        ``delta - |x - z|_2`` or ``delta - |x - z|_1``.
    n_nodes : int, default=1000
        Number of perceptrons or stumps, >= 1. Each gives one feature.
    random_state : int, RandomState or None, default=None
        Seed for drawing directions and thresholds.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features_in_, n_nodes), or int64 (n_nodes,)
        Directions of length 1, or the features of stumps.
    biases_ : ndarray of shape (n_nodes,)
        Thresholds, between the least and the largest projection of the training rows.
    sizes_ : ndarray of shape (n_nodes,)
        Magnitude of each node's output; the sign is that of ``projection - bias``.
    delta_ : float
        Constant of the estimated kernel: the inner product of a row with itself. It has no effect
        on models that use only score differences or thresholds.

    Notes
    -----
    Fit and transform take O(n_samples n_features n_nodes), for stumps O(n_samples n_nodes). If the
    projections of two rows lie within those of the training rows, the expectation of their inner
    product is the kernel, and its error falls as ``n_nodes^(-1/2)``. Projections outside count as
    if at the edge. Half of the thresholds are uniform over the range and half follow the quantiles
    of 1,000 rows; the node sizes correct for this density. Row order does not matter. On few rows,
    Nyström features of the same kernel need fewer columns. The kernel depends on distances, and
    features are not scaled here.

    References
    ----------
    .. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RandomPerceptrons
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> perceptrons = RandomPerceptrons(n_nodes=100_000, random_state=0)
    >>> F = perceptrons.fit_transform(X)
    >>> abs(perceptrons.delta_ - F @ F.T).round(1)
    array([[0. , 5. , 1. ],
           [5. , 0. , 4.2],
           [1. , 4.2, 0. ]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "weights_": Either(
            (
                floats("n_features_in_", "n_nodes"),
                integers("n_nodes", low=0, below="n_features_in_"),
            )
        ),
        "biases_": floats("n_nodes"),
        "sizes_": floats("n_nodes"),
        "delta_": Number(),
        "_n_features_out": Number("i", low=0, size="n_nodes"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(SIGN_KERNELS))],
        "n_nodes": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Literal["perceptron", "stump"] = "perceptron",
        n_nodes: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_nodes = n_nodes
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Draw the nodes from the range of the rows of ``X``; ``y`` is ignored."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        random = check_random_state(self.random_state)
        sample = X[distinct_rows(X, QUANTILE_ROWS)].astype(np.float64)
        if self.kernel == "perceptron":
            directions = random.standard_normal((X.shape[1], self.n_nodes))
            self.weights_ = directions / np.linalg.norm(directions, axis=0)
            parts = _parts(X, sample, self.weights_)
            chance = np.full(self.n_nodes, mean_projection(X.shape[1]))
        else:
            features = np.arange(X.shape[1])
            parts = _parts(X, sample, features)
            chances = _chances_of_features(parts)
            self.weights_ = random.choice(features, self.n_nodes, p=chances)
            parts, chance = parts[:, self.weights_], chances[self.weights_]
        self.biases_, spread = _draw_thresholds(parts, random)
        self.sizes_ = np.sqrt(spread / (2.0 * chance * self.n_nodes))
        self.delta_ = float(self.sizes_ @ self.sizes_)
        self._n_features_out = self.n_nodes
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Outputs of shape (n_samples, n_nodes), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return SignMap(self.weights_, self.biases_, self.sizes_)(X)


def _parts(X: Matrix, sample: Matrix, weights: FloatArray) -> Float64Array:
    """Ends of intervals of about equal mass of each projection, shape (N_PARTS + 1, n_nodes).

    The outermost ends include all rows.
    """
    ends = np.quantile(project(sample, weights), np.linspace(0, 1, N_PARTS + 1), axis=0)
    for lo in range(0, X.shape[0], SLICE_ROWS):
        projections = project(X[lo : lo + SLICE_ROWS], weights)
        np.minimum(ends[0], projections.min(axis=0), out=ends[0])
        np.maximum(ends[-1], projections.max(axis=0), out=ends[-1])
    return ends


def _chances_of_features(parts: Float64Array) -> Float64Array:
    """Probabilities of the stumps' features: half by range, half by distance between quantiles."""
    ranges = parts[-1] - parts[0]
    if not ranges.any():
        return np.full(len(ranges), 1.0 / len(ranges))
    # Mean distance between two random rows, summed over the intervals between them.
    below = np.arange(1, N_PARTS)[:, None] / N_PARTS
    distances = (np.diff(0.5 * (parts[1:] + parts[:-1]), axis=0) * below * (1 - below)).sum(axis=0)
    return 0.5 * (ranges / ranges.sum() + distances / distances.sum())


def _draw_thresholds(
    parts: Float64Array, random: np.random.RandomState
) -> tuple[Float64Array, Float64Array]:
    """A threshold for each column of ``parts``, and 1 / its density; 0 if all rows are equal."""
    n_nodes = parts.shape[1]
    by_part, place = random.uniform(size=n_nodes) < 0.5, random.uniform(size=n_nodes)
    number = random.uniform(size=n_nodes)
    widths = np.diff(parts, axis=0)
    filled = np.cumsum(widths > 0, axis=0)  # empty intervals get no threshold
    nodes, n_filled = np.arange(n_nodes), np.maximum(filled[-1], 1)
    chosen = np.argmax(filled > number * n_filled, axis=0)
    within = parts[chosen, nodes] + place * widths[chosen, nodes]
    ranges = parts[-1] - parts[0]
    biases = np.where(by_part, within, parts[0] + place * ranges)
    inside = np.minimum((parts[1:-1] <= biases).sum(axis=0), N_PARTS - 1)
    width = widths[inside, nodes]
    known = width > 0
    density = 0.5 / np.where(known, ranges, 1.0)
    density += 0.5 / (n_filled * np.where(known, width, 1.0))
    return biases, np.where(known, 1.0 / density, 0.0)
