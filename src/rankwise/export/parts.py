"""Model types that search engines support, extracted from a chain: linear, trees, network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.export.chains import chain_of
from rankwise.export.float32 import move_before
from rankwise.export.maps import Affine, Chain, ExportError, HiddenNodes, Scaled, Trees
from rankwise.prediction import innermost
from rankwise.trees.score_tree import ScoreTree


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Weighted sum of scaled features."""

    scaled: tuple[Scaled, ...]
    sum: Affine


@dataclass(frozen=True, eq=False)
class TreePart:
    """Sum of trees on the original features.

    The thresholds are float32 numbers, such that no float32 row takes another branch.
    """

    trees: Trees


@dataclass(frozen=True, eq=False)
class NetworkPart:
    """Layers on scaled features."""

    scaled: tuple[Scaled, ...]
    layers: tuple[Affine | HiddenNodes, ...]


ModelPart = LinearPart | TreePart | NetworkPart


def part_of(estimator: Any, format: str, activations: Sequence[str] = ()) -> ModelPart:
    """Convert a model to a type that a search engine supports.

    The model may be a pipeline of scalers and a model. ``format`` is named in errors (ExportError
    if it does not support the model). ``activations`` are those of networks that the format
    supports; empty if it supports no networks.
    """
    chain = chain_of(estimator)
    n_scaled = 0
    while n_scaled < len(chain) and type(chain[n_scaled]) is Scaled:
        n_scaled += 1
    scaled: Any = chain[:n_scaled]
    match chain[n_scaled:]:
        case (Affine() as weighted,) if weighted.weights.shape[1] == 1:
            return LinearPart(scaled, weighted)
        case (Trees() as trees,):
            return TreePart(_unscale_thresholds(trees, scaled))
        case (*layers,) if layers and activations and _is_network(layers, activations):
            return NetworkPart(scaled, tuple(layers))  # type: ignore[arg-type]
        case _:
            networks = f", and networks of {', '.join(activations)} nodes" if activations else ""
            raise ExportError(
                f"{format} takes linear models, sums of trees{networks}, with scalers before them; "
                f"{describe_model(estimator, chain)} Use to_onnx."
            )


def warn_of_missing(trees: Trees, format: str) -> None:
    """Warn if trees had, or may have had, missing values in training but the format has none."""
    if trees.has_missing:
        warnings.warn(
            f"{format} reads missing values as 0, but this model had missing values in training "
            "and treats them separately. Fill them before training.",
            UserWarning,
            stacklevel=3,
        )
    elif not trees.tells_missing:
        warnings.warn(
            f"{format} reads missing values as 0, and models of XGBoost do not tell whether values "
            "were missing in training. If some were, rows without them rank otherwise there: fill "
            "them before training.",
            UserWarning,
            stacklevel=3,
        )


def drop_missing_tests(tree: ScoreTree) -> ScoreTree:
    """Tree for rows without missing values, without nodes that test for missing values."""
    parting = (tree.feature >= 0) & np.isinf(tree.threshold)
    if not parting.any():
        return tree

    def reached(node: int) -> int:
        while parting[node]:
            node = int(tree.left[node] if tree.threshold[node] > 0 else tree.right[node])
        return node

    kept, waiting, sides = [], [reached(0)], []
    while waiting:
        node = waiting.pop()
        kept.append(node)
        if tree.feature[node] >= 0:
            sides.append((node, reached(int(tree.left[node])), reached(int(tree.right[node]))))
            waiting += sides[-1][1:]
    place = np.full(len(tree.feature), -1)
    place[kept] = np.arange(len(kept))
    left, right = np.full(len(kept), -1), np.full(len(kept), -1)
    for node, to_left, to_right in sides:
        left[place[node]], right[place[node]] = place[to_left], place[to_right]
    return ScoreTree(
        tree.feature[kept],
        tree.threshold[kept],
        left,
        right,
        tree.missing_left[kept],
        tree.values[kept],
    )


def compose_scalers(scaled: tuple[Scaled, ...]) -> Scaled:
    """Combine one or more scalers into one."""
    first, *others = scaled
    center, spread = first.center, first.spread
    for step in others:
        center = center + step.center * spread
        spread = spread * step.spread
    return Scaled(center, spread, first.to_unit and not others)


def _unscale_thresholds(trees: Trees, scaled: tuple[Scaled, ...]) -> Trees:
    """Trees with thresholds for the features before scaling, in float32."""
    out = []
    for tree in trees.trees:
        if tree.members:
            column = int(tree.feature[next(iter(tree.members))])
            raise ExportError(
                f"column {column} has unordered categories, which trees of search engines cannot "
                "split. Encode them as columns of 0 and 1, or use to_onnx."
            )
        out.append(move_before(scaled, tree))
    return replace(trees, trees=tuple(out))


def _is_network(layers: list[Any], activations: Sequence[str]) -> bool:
    *hidden, last = layers
    known = all(
        type(layer) is Affine or (type(layer) is HiddenNodes and layer.activation in activations)
        for layer in hidden
    )
    return known and type(last) is Affine and last.weights.shape[1] == 1


def describe_model(estimator: Any, chain: Chain) -> str:
    """Description of an unsupported model."""
    names = []
    for step in chain:
        match step:
            case HiddenNodes(activation=activation):
                names.append(f"{activation} nodes")
            case _:
                names.append(_WORDS[type(step).__name__])
    return f"{type(innermost(estimator)).__name__} is made of {', '.join(names)}."


_WORDS = {
    "Affine": "weighted sums",
    "Filled": "columns with filled gaps",
    "KernelValues": "kernel values",
    "RunningSums": "running sums",
    "Scaled": "scaled columns",
    "Sum": "a blend of models",
    "Terms": "products of features",
    "Trees": "trees",
    "VoteMean": "votes",
}
