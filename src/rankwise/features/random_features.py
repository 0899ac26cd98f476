"""Features drawn at random, independently of the labels: nodes, Fourier features, perceptrons.

Random hidden nodes have random weights ``a_k`` and biases ``b_k`` [1]_. The output of node ``k``
for row ``x`` is

- sigmoid ``1 / (1 + exp(-(a.x + b)))``, tanh, relu, sine and hardlimit of ``a.x + b``,
- linear ``a.x + b`` itself,
- gaussian ``exp(-b |x - a|^2)`` with ``b > 0``.

Random Fourier features are cosines and sines whose inner products approximate a shift-invariant
kernel, the mean of ``cos(w.(x - z))`` over random frequencies ``w`` [2]_. They are normal with
variance ``2 gamma`` for ``exp(-gamma |x - z|_2^2)``, and Cauchy with scale ``gamma`` in each
coordinate for ``exp(-gamma |x - z|_1)``. With D frequencies, the columns are divided by
``sqrt(D)``, so that their inner product is the mean over the D draws. Its error is of order
``1 / sqrt(D)``.

Random perceptrons and stumps are signs whose inner products estimate a distance. For a direction u,
the signs of ``u.x - b`` and ``u.z - b`` differ if b lies between the two projections. If b is drawn
from a density q that covers them, the indicator of that event times ``1 / q(b)`` has the mean
``|u.x - u.z|``. Averaged over directions on the sphere, this is ``kappa |x - z|_2`` with
``kappa = Gamma(d/2) / (sqrt(pi) Gamma((d + 1)/2))``. Averaged over coordinates drawn with
probabilities pi and divided by pi, it is ``|x - z|_1``. Therefore the inner products of n
perceptrons of size ``(2 kappa n q(b))^(-1/2)`` have the mean ``delta - |x - z|_2``, the perceptron
kernel, and those of n stumps of size ``(2 pi n q(b))^(-1/2)`` have the mean ``delta - |x - z|_1``,
the stump kernel [3]_. The error is of order ``1 / sqrt(n)``, and smallest if the thresholds are
dense among the rows. Half of q is therefore uniform over the range of the training rows, and half
follows their quantiles.

References
----------
.. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing Letters
   39 (2014), section 3: weights uniform on [-1, 1], biases uniform on [0, 1].
.. [2] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 20 (2007).
.. [3] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.column_sizes import DISTANCES, node_limit, warn_of_dominant_columns
from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_columns_read, check_rows
from rankwise.features.kernels import NAMED_WIDTHS, resolve_kernel
from rankwise.row_order import distinct_rows
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import FiniteResults, restore_on_error
from rankwise.runtime.scikit_learn import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from rankwise.structure.state_rules import TRAINED_ON, Either, Number, Rule, Word, floats, integers
from rankwise.typing import (
    ArrayLike,
    Float64Array,
    FloatArray,
    FrameLike,
    Matrix,
    Seed,
    densify,
    is_sparse,
)


class FeatureTransformer(FiniteResults, TransformerMixin, BaseEstimator):
    """Transformer of dense and CSR rows in float32 and float64."""

    _structure: ClassVar[dict[str, Rule]] = TRAINED_ON

    def fit_transform(  # type: ignore[override]  # takes no other fit parameters
        self, X: FrameLike, y: ArrayLike | None = None
    ) -> Any:
        """:meth:`fit` and :meth:`transform` of the same rows."""
        transformer: Any = self
        with restore_on_error(self):
            return transformer.fit(X, y).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


Activation = Literal["sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit"]
WeightLaw = Literal["uniform", "normal"]
ACTIVATIONS = ("sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit")
WEIGHT_LAWS = ("uniform", "normal")
# Rows activated at a time: few enough for a core's caches, and enough to keep overhead low.
SLICE_ROWS = 512


@dataclass(frozen=True, eq=False)
class NodeMap:
    """Weights and biases of hidden nodes, callable on blocks of rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "weights": floats("n_features_in_", "n_nodes"),
        "biases": floats("n_nodes"),
        "activation": Word(ACTIVATIONS),
    }

    weights: FloatArray
    biases: FloatArray
    activation: str

    @property
    def n_features_out(self) -> int:
        """Number of nodes."""
        return self.weights.shape[1]

    def astype(self, dtype: Any) -> NodeMap:
        """The same nodes in another precision."""
        return NodeMap(
            self.weights.astype(dtype, copy=False),
            self.biases.astype(dtype, copy=False),
            self.activation,
        )

    def __call__(self, X: Matrix, out: FloatArray | None = None) -> FloatArray:
        """Node outputs, shape (n_rows, n_nodes); written to ``out`` if given."""
        if out is None:
            out = np.empty((X.shape[0], self.n_features_out), dtype=self.weights.dtype)
        for lo in range(0, X.shape[0], SLICE_ROWS):
            rows = X if X.shape[0] <= SLICE_ROWS else X[lo : lo + SLICE_ROWS]  # slicing CSR is slow
            block = out[lo : lo + SLICE_ROWS]
            if is_sparse(rows):
                block[:] = rows @ self.weights
            else:
                np.matmul(rows, self.weights, out=block)
            if self.activation == "gaussian":
                self._to_gaussian_inplace(rows, block)
            else:
                block += self.biases
                _ACTIVATE[self.activation](block)
        return out

    def rows(self, X: Matrix) -> FloatArray:
        """All node outputs in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)

    def _to_gaussian_inplace(self, X: Matrix, out: FloatArray) -> None:
        """Turn ``out = X @ weights`` into ``exp(-b |x - a|^2)``."""
        if is_sparse(X):
            norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            norms = np.einsum("ij,ij->i", X, X)
        out *= -2
        out += norms[:, None]
        out += np.einsum("ij,ij->j", self.weights, self.weights)
        np.maximum(out, 0, out=out)  # rounding may leave a tiny negative square
        out *= -self.biases
        np.exp(out, out=out)


def _sigmoid_inplace(z: FloatArray) -> None:
    with np.errstate(over="ignore"):  # exp(-z) = inf gives the limit 0
        np.negative(z, out=z)
        np.exp(z, out=z)
        z += 1
        np.reciprocal(z, out=z)


_ACTIVATE = {
    "sigmoid": _sigmoid_inplace,
    "linear": lambda z: None,
    "tanh": lambda z: np.tanh(z, out=z),
    "relu": lambda z: np.maximum(z, 0, out=z),
    "sine": lambda z: np.sin(z, out=z),
    "hardlimit": lambda z: np.greater_equal(z, 0, out=z, casting="unsafe"),
}


def sum_outputs(maps: Sequence[Any], weights: Sequence[FloatArray], X: Matrix) -> Float64Array:
    """``sum_k maps[k](X) @ weights[k]``, shape (n_rows, n_columns).

    Slices of the outputs are used while they are in the cache. Large opposite weights cancel: the
    sum is taken in the precision of the weights, whatever the type of the outputs.
    """
    total = np.zeros((X.shape[0], weights[0].shape[1]))
    for lo in range(0, X.shape[0], SLICE_ROWS):
        rows = X[lo : lo + SLICE_ROWS]
        for phi, coef in zip(maps, weights, strict=True):
            total[lo : lo + SLICE_ROWS] += phi(rows).astype(coef.dtype) @ coef
    return total


def draw_nodes(
    n_features: int,
    n_nodes: int,
    activation: str,
    random_state: np.random.RandomState,
    weight_law: str = "uniform",
) -> NodeMap:
    """Draw nodes: weights U[-1, 1] or N(0, 1), biases U[0, 1] (gaussian: U(0, 1])."""
    shape = (n_features, n_nodes)
    if weight_law == "uniform":
        weights = random_state.uniform(-1.0, 1.0, shape)
    else:
        weights = random_state.standard_normal(shape)
    biases = random_state.uniform(0.0, 1.0, n_nodes)
    if activation == "gaussian":
        biases = 1.0 - biases  # (0, 1]: a width must be positive
    return NodeMap(weights, biases, activation)


class RandomNodes(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    """Transform rows to the outputs of random hidden nodes.

    Parameters
    ----------
    n_nodes : int, default=1000
        Number of nodes, >= 1.
    activation : {"sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit"}
        Activation function of the nodes (default "sigmoid").
    weight_law : {"uniform", "normal"}, default="uniform"
        Distribution of the weights: "uniform" is U[-1, 1], "normal" is N(0, 1). Biases are always
        U[0, 1] (gaussian nodes: U(0, 1]).
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing weights and biases.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features_in_, n_nodes)
    biases_ : ndarray of shape (n_nodes,)

    Notes
    -----
    O(n_samples n_features n_nodes) time; memory is that of the result and of n_features x n_nodes
    weights. Features are used as they are: scale them to about [0, 1], or sigmoid nodes saturate.

    References
    ----------
    .. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing
       Letters 39 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import RandomNodes
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> RandomNodes(n_nodes=3, random_state=0).fit_transform(X).shape
    (2, 3)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "weights_": floats("n_features_in_", "n_nodes"),
        "biases_": floats("n_nodes"),
        "_n_features_out": Number("i", low=0, size="n_nodes"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_nodes": [minimum(1)],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "weight_law": [StrOptions(set(WEIGHT_LAWS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_nodes: int = 1000,
        activation: Activation = "sigmoid",
        *,
        weight_law: WeightLaw = "uniform",
        random_state: Seed = None,
    ) -> None:
        self.n_nodes = n_nodes
        self.activation = activation
        self.weight_law = weight_law
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Draw the nodes for the number of columns of ``X``; its values and ``y`` are ignored."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        warn_of_dominant_columns(self, X, node_limit(self.activation))
        nodes = draw_nodes(
            X.shape[1],
            self.n_nodes,
            self.activation,
            check_random_state(self.random_state),
            self.weight_law,
        )
        self.weights_: FloatArray = nodes.weights
        self.biases_: FloatArray = nodes.biases
        self._n_features_out = self.n_nodes
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Node outputs of shape (n_samples, n_nodes), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return NodeMap(self.weights_, self.biases_, self.activation).astype(X.dtype)(X)


FOURIER_KERNELS = ("rbf", "laplacian")


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random frequencies, callable on blocks of rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "frequencies": floats("n_features_in_", "n_frequencies"),
    }

    frequencies: FloatArray

    @property
    def n_features_out(self) -> int:
        """Two columns per frequency: first all cosines, then all sines."""
        return 2 * self.frequencies.shape[1]

    def astype(self, dtype: Any) -> FourierMap:
        """The same map in another precision."""
        return FourierMap(self.frequencies.astype(dtype, copy=False))

    def __call__(self, X: Matrix) -> FloatArray:
        """Features of shape (n_rows, n_features_out), in the precision of the map."""
        n = self.frequencies.shape[1]
        out = np.empty((X.shape[0], 2 * n), dtype=self.frequencies.dtype)
        for lo in range(0, X.shape[0], SLICE_ROWS):
            block = out[lo : lo + SLICE_ROWS]
            phase = np.asarray(X[lo : lo + SLICE_ROWS] @ self.frequencies, dtype=out.dtype)
            np.cos(phase, out=block[:, :n])
            np.sin(phase, out=block[:, n:])
        out *= n**-0.5
        return out

    def rows(self, X: Matrix) -> Float64Array:
        """All features in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)


class RandomFourier(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    """Random Fourier features that approximate the rbf or the laplacian kernel.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="rbf"
        ``exp(-gamma |x - z|_2^2)`` or ``exp(-gamma |x - z|_1)``.
    gamma : float > 0, "scale", "auto" or None, default=None
        None: 1 / the median distance; the names are scikit-learn's, see
        :func:`rankwise.features.kernels.resolve_kernel`.
    n_frequencies : int, default=500
        Number of frequencies, >= 1. Each gives two features, a cosine and a sine.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the frequencies.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_frequencies)
        The drawn frequencies.
    gamma_ : float
        Value used for ``gamma``.

    Notes
    -----
    O(n_samples n_features n_frequencies) time; memory is that of the result and of n_features x
    n_frequencies weights. The error of an inner product is of order ``n_frequencies^(-1/2)``,
    whatever the rows. Nyström features need fewer columns if there are few rows or if the rows lie
    close together; random Fourier features need no landmarks.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 20 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import RandomFourier
    >>> X = np.array([[0.0], [1.0]])
    >>> F = RandomFourier(gamma=1.0, n_frequencies=10_000, random_state=0).fit_transform(X)
    >>> (F @ F.T).round(2)  # the kernel: 1 and 0.37
    array([[1.  , 0.38],
           [0.38, 1.  ]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "gamma_": Number(low=0),
        "frequencies_": floats("n_features_in_", "n_frequencies"),
        "_n_features_out": Number("i", low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(FOURIER_KERNELS))],
        "gamma": [POSITIVE, StrOptions(set(NAMED_WIDTHS)), None],
        "n_frequencies": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Literal["rbf", "laplacian"] = "rbf",
        gamma: float | Literal["scale", "auto"] | None = None,
        *,
        n_frequencies: int = 500,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_frequencies = n_frequencies
        self.random_state = random_state

    def fit(self, X: FrameLike, y: ArrayLike | None = None) -> Self:
        """Choose ``gamma`` if it is not given, and draw the frequencies; ``y`` is ignored."""
        self._validate_params()
        X = check_rows(self, X, reset=True)
        warn_of_dominant_columns(self, X, DISTANCES)
        kernel = resolve_kernel(self.kernel, X, self.gamma)
        assert kernel.gamma is not None
        self.gamma_: float = kernel.gamma
        random, shape = check_random_state(self.random_state), (X.shape[1], self.n_frequencies)
        if self.kernel == "rbf":
            self.frequencies_ = np.sqrt(2 * self.gamma_) * random.standard_normal(shape)
        else:
            self.frequencies_: Float64Array = self.gamma_ * random.standard_cauchy(shape)
        self._n_features_out = FourierMap(self.frequencies_).n_features_out
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Features of shape (n_samples, 2 n_frequencies), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return FourierMap(self.frequencies_).astype(X.dtype)(X)


SIGN_KERNELS = ("perceptron", "stump")
# Number of distinct rows for the quantiles, and number of intervals of equal mass.
QUANTILE_ROWS, N_PARTS = 1000, 32


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
    random_state : int, RandomState, Generator or None, default=None
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
    Fit and transform take O(n_samples n_features n_nodes), for stumps O(n_samples n_nodes); memory
    is that of the result and of n_features x n_nodes weights. If the projections of two rows lie
    within those of the training rows, the expectation of their inner product is the kernel, and its
    error falls as ``n_nodes^(-1/2)``. Projections outside count as if at the edge. Half of the
    thresholds are uniform over the range and half follow the quantiles of 1,000 rows; the node
    sizes correct for this density. Row order does not matter. On few rows, Nyström features of the
    same kernel need fewer columns. The kernel depends on distances, and features are not scaled
    here.

    References
    ----------
    .. [1] Lin & Li, "Support vector machinery for infinite ensemble learning", JMLR 9 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import RandomPerceptrons
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> perceptrons = RandomPerceptrons(n_nodes=100_000, random_state=0)
    >>> F = perceptrons.fit_transform(X)
    >>> abs(perceptrons.delta_ - F @ F.T).round(1)
    array([[0. , 5. , 1. ],
           [5. , 0. , 4.2],
           [1. , 4.2, 0. ]])
    """

    biases_: Float64Array

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
        *,
        random_state: Seed = None,
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
            self.weights_: Float64Array = random.choice(features, self.n_nodes, p=chances)
            parts, chance = parts[:, self.weights_], chances[self.weights_]
        self.biases_, spread = _draw_thresholds(parts, random)
        self.sizes_: Float64Array = np.sqrt(spread / (2.0 * chance * self.n_nodes))
        self.delta_: float = float(self.sizes_ @ self.sizes_)
        self._n_features_out = self.n_nodes
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Outputs of shape (n_samples, n_nodes), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        out = np.empty((X.shape[0], len(self.biases_)), dtype=X.dtype)
        # Thresholds are float64, so that float32 rows are compared by their exact values. A row on
        # a threshold counts as positive.
        for lo in range(0, X.shape[0], SLICE_ROWS):
            part = project(X[lo : lo + SLICE_ROWS], self.weights_) >= self.biases_
            np.multiply(np.where(part, 1.0, -1.0), self.sizes_, out=out[lo : lo + SLICE_ROWS])
        return out


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
