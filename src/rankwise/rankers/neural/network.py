"""Layers of a network: their first weights, and what they make of rows.

``h_0 = x``, ``h_k = act(h_{k-1} W_k + b_k)``, and the last layer has one node and no activation.
The same function computes with NumPy's arrays and torch's tensors; this module needs NumPy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.typing import Float64Array


def first_layers(sizes: Sequence[int], rng: np.random.RandomState) -> list[Float64Array]:
    """Weights drawn uniformly within ``sqrt(6 / (n_in + n_out))`` [1]_, intercepts 0.

    Parameters
    ----------
    sizes : sequence of int
        Nodes of each layer, from the number of inputs to the number of outputs.
    rng : RandomState

    Returns
    -------
    list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,), layer by layer.

    References
    ----------
    .. [1] Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
       networks", AISTATS 2010, equation 16.
    """
    weights = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (n_in + n_out))
        weights += [rng.uniform(-bound, bound, (n_in, n_out)), np.zeros(n_out)]
    return weights


def outputs(X: Any, weights: Sequence[Any], activation: Callable[[Any], Any]) -> Any:
    """Output of every row, shape (n_samples,); O(n_samples) times the number of weights."""
    hidden = X
    for layer in range(0, len(weights) - 2, 2):
        hidden = activation(hidden @ weights[layer] + weights[layer + 1])
    return (hidden @ weights[-2] + weights[-1])[:, 0]


def relu(values: Float64Array) -> Float64Array:
    """The positive part."""
    return np.maximum(values, 0.0)


def sigmoid(values: Float64Array) -> Float64Array:
    """``1 / (1 + exp(-v))``, without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * values))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": relu, "sigmoid": sigmoid, "tanh": np.tanh}
