"""Random perceptrons and stumps: features of -1 and 1 whose inner products estimate a distance.

For a direction u the product of the signs of ``u.x - b`` and ``u.z - b`` is -1 where b lies between
the two projections: over an interval of length R that holds both it integrates to
``R - 2 |u.x - u.z|``. Over directions on the sphere ``|u.(x - z)|`` has the mean
``kappa |x - z|_2`` with ``kappa = Gamma(d/2) / (sqrt(pi) Gamma((d + 1)/2))``, over coordinates
``|x - z|_1 / d``. So with n perceptrons ``sqrt(R / (2 kappa n)) sign(u.x - b)`` the inner product
has the mean ``delta - |x - z|_2``, the perceptron kernel, and with stumps drawn in proportion to
the ranges of their features ``delta - |x - z|_1``, the stump kernel [1]_. Its error is of order
``1 / sqrt(n)``.

Composition: random directions or features x random thresholds within the training rows x signs.

References
----------
.. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Matrix
from rankwise.validation import check_rows

SIGN_KERNELS = ("perceptron", "stump")
SLICE_ROWS = 512


@dataclass(frozen=True, eq=False)
class SignMap:
    """Signs of projections less thresholds, callable on blocks of rows.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_nodes), or of int64 of shape (n_nodes,)
        Directions, or the features of stumps.
    biases : ndarray of shape (n_nodes,)
    sizes : ndarray of shape (n_nodes,)
        Magnitude of each output.
    """

    weights: FloatArray
    biases: FloatArray
    sizes: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Outputs of shape (n_rows, n_nodes), in the precision of ``X``; 0 counts as positive."""
        out = np.empty((X.shape[0], len(self.biases)), dtype=X.dtype)
        # Compared with float64 thresholds: a float32 row is on the side of its exact values.
        for lo in range(0, X.shape[0], SLICE_ROWS):
            part = project(X[lo : lo + SLICE_ROWS], self.weights) >= self.biases
            np.multiply(np.where(part, 1.0, -1.0), self.sizes, out=out[lo : lo + SLICE_ROWS])
        return out


def project(X: Matrix, weights: FloatArray) -> Float64Array:
    """Projections on directions (n_features, n_nodes), or features by number (n_nodes,)."""
    if weights.ndim == 2:
        return np.asarray(X @ weights)
    rows = X.toarray() if sparse.issparse(X) else X
    return rows[:, weights].astype(np.float64)


def mean_projection(n_features: int) -> float:
    """``kappa``: mean of ``|u.v|`` over the sphere for a unit vector v."""
    log = gammaln(0.5 * n_features) - gammaln(0.5 * (n_features + 1))
    return float(np.exp(log) / np.sqrt(np.pi))


class RandomPerceptrons(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random perceptrons or stumps that approximate the kernel of all of them.

    Parameters
    ----------
    kernel : {"perceptron", "stump"}, default="perceptron"
        ``delta - |x - z|_2`` or ``delta - |x - z|_1``.
    n_nodes : int, default=1000
        >= 1, number of perceptrons or stumps, one feature each.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (n_features_in_, n_nodes), or int64 (n_nodes,)
        Directions of length 1, or the features of stumps.
    biases_ : ndarray of shape (n_nodes,)
        Thresholds, uniform between the least and the largest projection of the training rows.
    sizes_ : ndarray of shape (n_nodes,)
        Magnitude of each node's output; the sign is that of ``projection - bias``.
    delta_ : float
        What the kernel is estimated up to: the inner product of a row with itself. Where only
        differences of scores count, as with thresholds, it has no effect.

    Notes
    -----
    Fit and transform cost O(n_samples n_features n_nodes), stumps O(n_samples n_nodes). The mean of
    an inner product over the draws is the kernel for rows whose projections lie within those of
    the training rows, and its error falls as ``n_nodes^(-1/2)``; rows further out are taken to the
    edge. Thresholds within the projected rows, not within a ball around them, leave less error.
    Nyström features of the same kernel need fewer columns on few rows. Features are not scaled
    before: the kernel is one of distances.

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
    >>> (perceptrons.delta_ - F @ F.T).round(1)
    array([[0. , 5. , 1. ],
           [5. , 0. , 4.2],
           [1. , 4.2, 0. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(SIGN_KERNELS))],
        "n_nodes": [Interval(Integral, 1, None, closed="left")],
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> RandomPerceptrons:
        """Draw the nodes within the rows of ``X``; ``y`` is not used."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        random = check_random_state(self.random_state)
        if self.kernel == "perceptron":
            directions = random.standard_normal((X.shape[1], self.n_nodes))
            self.weights_ = directions / np.linalg.norm(directions, axis=0)
            low, high = _range_of_projections(X, self.weights_)
            halves = (high - low) / (2.0 * mean_projection(X.shape[1]))
        else:
            least, most = _range_of_projections(X, np.arange(X.shape[1]))
            total = float((most - least).sum())
            shares = (most - least) / total if total > 0 else None
            self.weights_ = random.choice(X.shape[1], self.n_nodes, p=shares)
            low, high = least[self.weights_], most[self.weights_]
            halves = np.full(self.n_nodes, 0.5 * total)
        self.biases_ = low + (high - low) * random.uniform(size=self.n_nodes)
        self.sizes_ = np.sqrt(halves / self.n_nodes)
        self.delta_ = float(self.sizes_ @ self.sizes_)
        self._n_features_out = self.n_nodes
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Outputs of shape (n_samples, n_nodes), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return SignMap(self.weights_, self.biases_, self.sizes_)(X)


def _range_of_projections(X: Matrix, weights: FloatArray) -> tuple[Float64Array, Float64Array]:
    """Least and largest projection of the rows on every direction."""
    n_nodes = weights.shape[-1]
    low, high = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    for lo in range(0, X.shape[0], SLICE_ROWS):
        projections = project(X[lo : lo + SLICE_ROWS], weights)
        np.minimum(low, projections.min(axis=0), out=low)
        np.maximum(high, projections.max(axis=0), out=high)
    return low, high
