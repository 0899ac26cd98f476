"""Random hidden nodes: features drawn independently of the labels.

With random weights ``a_k`` and biases ``b_k``, the output of node ``k`` for row ``x`` is

- sigmoid ``1 / (1 + exp(-(a.x + b)))``, tanh, relu, sine and hardlimit of ``a.x + b``,
- linear ``a.x + b`` itself,
- gaussian ``exp(-b |x - a|^2)`` with ``b > 0``.

References
----------
.. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing Letters
   39 (2014), section 3: weights uniform on [-1, 1], biases uniform on [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.column_sizes import node_limit, warn_of_dominant_columns
from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.features.feature_transformer import FeatureTransformer
from rankwise.structure.state_rules import Number, Rule, Word, floats
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Matrix, is_sparse

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


def _hardlimit_inplace(z: FloatArray) -> None:
    np.greater_equal(z, 0, out=z, casting="unsafe")


_ACTIVATE = {
    "sigmoid": _sigmoid_inplace,
    "linear": lambda z: None,
    "tanh": lambda z: np.tanh(z, out=z),
    "relu": lambda z: np.maximum(z, 0, out=z),
    "sine": lambda z: np.sin(z, out=z),
    "hardlimit": _hardlimit_inplace,
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
    random_state : int, RandomState or None, default=None
        Seed for drawing weights and biases.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features_in_, n_nodes)
    biases_ : ndarray of shape (n_nodes,)

    Notes
    -----
    O(n_samples n_features n_nodes). Features are used as they are: scale them to about [0, 1], or
    sigmoid nodes saturate.

    References
    ----------
    .. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing
       Letters 39 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RandomNodes
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
        weight_law: WeightLaw = "uniform",
        random_state: int | np.random.RandomState | None = None,
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
        self.weights_ = nodes.weights
        self.biases_ = nodes.biases
        self._n_features_out = self.n_nodes
        return self

    def transform(self, X: FrameLike) -> FloatArray:
        """Node outputs of shape (n_samples, n_nodes), in the precision of ``X``."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return NodeMap(self.weights_, self.biases_, self.activation).astype(X.dtype)(X)
