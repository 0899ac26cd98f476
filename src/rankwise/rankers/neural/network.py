"""Layers of a network: initial weights and outputs.

``h_0 = x``, ``h_k = act(h_{k-1} W_k + b_k)``, and the last layer has one node and no activation.
The same function works on NumPy arrays and torch tensors; this module needs only NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.typing import Float64Array

_VALUES_PER_BLOCK = 2**22


def first_layers(sizes: Sequence[int], rng: np.random.RandomState) -> list[Float64Array]:
    """Initial weights, uniform within ``+-sqrt(6 / (n_in + n_out))``; intercepts are 0.

    ``sizes`` are the numbers of nodes of the layers, from the inputs to the outputs. The list
    holds weights (n_in, n_out) and intercepts (n_out,) of each layer in turn. The limit is equation
    16 of Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010.
    """
    weights = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (n_in + n_out))
        weights += [rng.uniform(-bound, bound, (n_in, n_out)), np.zeros(n_out)]
    return weights


def outputs(X: Any, weights: Sequence[Any], activation: Callable[[Any], Any]) -> Any:
    """Output for every row, shape (n_samples,); costs O(n_samples) times the number of weights."""
    hidden = X
    for layer in range(0, len(weights) - 2, 2):
        hidden = activation(hidden @ weights[layer] + weights[layer + 1])
    return (hidden @ weights[-2] + weights[-1])[:, 0]


def first_pair_layers(
    n_inputs: int, n_nodes: int, rng: np.random.RandomState
) -> list[Float64Array]:
    """Initial weights of a pairwise network with one hidden layer, see :func:`first_layers`.

    Returns weights of the row itself and of the other row, each (n_inputs, n_nodes); intercepts
    (n_nodes,); output weights (n_nodes, 1).
    """
    both, intercepts, output, _ = first_layers([2 * n_inputs, n_nodes, 1], rng)
    return [both[:n_inputs], both[n_inputs:], intercepts, output]


def pair_outputs(X: Any, weights: Sequence[Any], activation: Callable[[Any], Any]) -> Iterator[Any]:
    """Sum over the other rows j of ``w . act(A x_i + B x_j + b)``, in blocks of rows i.

    m rows cost O(m^2 n_nodes).
    """
    own, other, intercepts, output = weights
    at_own, at_other = X @ own + intercepts, X @ other
    step = max(1, _VALUES_PER_BLOCK // (len(X) * len(intercepts)))
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        pairs = activation(at_own[rows, None, :] + at_other[None, :, :]).sum(1)
        itself = activation(at_own[rows] + at_other[rows])
        yield ((pairs - itself) @ output)[:, 0]


def relu(values: Float64Array) -> Float64Array:
    """Positive part of the values."""
    return np.maximum(values, 0.0)


def sigmoid(values: Float64Array) -> Float64Array:
    """``1 / (1 + exp(-v))``, without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * values))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": relu, "sigmoid": sigmoid, "tanh": np.tanh}
