"""Model types that search engines support, extracted from a chain: linear, trees, network.

Some formats keep categories and compare in float64. For engines that compare in float32, thresholds
are such that rows take the same branches: a tree tests ``x <= T`` in float64. Let t be the largest
float32 number that is not above T. For every float32 number x, ``x <= t`` holds if and only if
``x <= T``. If a scaler g precedes the tree, t is the largest float32 number with ``g(t) <= T``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.chains import chain_of, columns_of, engine_names
from rankwise.export.maps import (
    NEVER,
    Affine,
    Chain,
    ExportError,
    HiddenNodes,
    MadeColumns,
    Scaled,
    Trees,
    category_columns,
    column_word,
    feature_names,
)
from rankwise.prediction import innermost
from rankwise.runtime.messages import callers_level
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array

# The scalers of a model, and what follows: a weighted sum, a sum of trees, or layers of a network.
ModelPart = tuple[tuple[Scaled, ...], Chain]


def part_of(estimator: Any, format: str, activations: Sequence[str] = ()) -> ModelPart:
    """Convert a model to a type that a search engine supports.

    The model may be a pipeline of scalers and a model. ``format`` is named in errors (ExportError
    if it does not support the model). ``activations`` are those of networks that the format
    supports; empty if it supports no networks. Trees have no scalers left before them, and float32
    thresholds, such that no float32 row takes another branch.
    """
    chain = behind_columns(chain_of(estimator))
    _warn_of_fillings(estimator, format, of_numbers=True)
    scaled, rest = split_scalers(chain)
    match rest:
        case (Trees() as trees,):
            _refuse_categories(trees, estimator, format, is_scaled=bool(scaled))
            trees = _send_fillings(trees, scaled, estimator)
            return (), (_unscale_thresholds(trees, scaled, np.float32),)
        case _ if is_network(rest, activations):
            return scaled, rest
    networks = f", and networks of {', '.join(activations)} nodes" if activations else ""
    raise ExportError(
        f"{format} takes linear models, sums of trees{networks}, with scalers before them; "
        f"{describe_model(estimator, chain)} Use to_onnx."
    )


def behind_columns(chain: Chain) -> Chain:
    """The maps on columns that the first steps make, which engines without encoders are offered."""
    return chain[1:] if chain and isinstance(chain[0], MadeColumns) else chain


def _send_fillings(trees: Trees, scaled: tuple[Scaled, ...], estimator: Any) -> Trees:
    """The trees with missing values on the side of what an imputer puts in their place."""
    made = columns_of(estimator)
    numbers = [] if made is None else made.numbers()
    filling = np.array([fill if np.isnan(key) else np.nan for _, key, fill in numbers])
    if np.isnan(filling).all():
        return trees
    grown = []
    for tree in trees.trees:
        inner = np.flatnonzero((tree.feature >= 0) & ~np.isnan(filling[tree.feature]))
        values = filling[tree.feature[inner]]
        for step in scaled:
            values = step.scale(values, tree.feature[inner])
        missing_left = tree.missing_left.copy()
        missing_left[inner] = values <= tree.threshold[inner]
        grown.append(replace(tree, missing_left=missing_left))
    return replace(trees, trees=tuple(grown), has_missing=True)


def _warn_of_fillings(estimator: Any, format: str, *, of_numbers: bool) -> None:
    """Warn of values that the pipeline puts in place of missing ones, which ``format`` cannot.

    They are categories that are then encoded, and numbers if so asked: trees with sides for missing
    values send them to the side of these.
    """
    made = columns_of(estimator)
    if made is None:
        return
    names = feature_names(estimator)
    said = [
        f"{names[column.source]!r} as {column.fill if column.key is None else column.key!r}"
        for column in made.columns
        if (of_numbers and column.key is None and column.fill is not None)
        or (column.key not in (None, NEVER) and column.fill == 1.0)
    ]
    if said:
        warnings.warn(
            f"the pipeline reads missing values of {', '.join(said)}, which {format} cannot. Give "
            "the features these values where the table has none.",
            UserWarning,
            stacklevel=callers_level(),
        )


def split_scalers(chain: Chain) -> tuple[tuple[Scaled, ...], Chain]:
    """The scalers that a chain begins with, and the other maps."""
    n_scaled = 0
    while n_scaled < len(chain) and type(chain[n_scaled]) is Scaled:
        n_scaled += 1
    scaled: Any = chain[:n_scaled]
    return scaled, chain[n_scaled:]


def warn_of_missing(trees: Trees, format: str, instead: str = "") -> None:
    """Warn if trees had, or may have had, missing values in training but the format has none.

    ``instead``: setting with which the engine tells them apart.
    """
    if trees.has_missing:
        told = (
            "but this model had missing values in training and treats them separately. "
            f"{f'Pass {instead}' if instead else 'Fill them before training'}."
        )
    elif not trees.tells_missing:
        told = (
            "and models of XGBoost do not tell whether values were missing in training. If some "
            "were, rows without them rank otherwise there: "
            f"{f'pass {instead}' if instead else 'fill them before training'}."
        )
    else:
        return
    warnings.warn(f"{format} reads missing values as 0, {told}", UserWarning, stacklevel=3)


def warn_of_unknown_names(trees: Trees, format: str, estimator: Any) -> None:
    """Warn of columns of text whose unknown categories data frames make missing values.

    ``format`` is a library that reads frames; rows of numbers tell both apart.
    """
    names = getattr(innermost(estimator), "feature_names_in_", None)
    listed = []
    for column in sorted(trees.encoded.keys() & trees.categories.keys()):
        unknown = trees.encoded[column].prior
        parted = (
            (tree.feature == column) & ((unknown <= tree.threshold) != tree.missing_left)
            for tree in trees.trees
        )
        if any(nodes.any() for nodes in parted):
            listed.append(str(column) if names is None else repr(str(names[column])))
    if listed:
        warnings.warn(
            f"{format} turns unknown categories of data frames into missing values, which this "
            f"model tells apart in {', '.join(listed)}. Pass positions in the lists of categories, "
            "and -1 for unknown ones.",
            UserWarning,
            stacklevel=3,
        )


def drop_missing_tests(tree: ScoreTree) -> ScoreTree:
    """Tree for rows without missing values, whose root reaches no tests for missing values."""
    parting = (tree.feature >= 0) & np.isinf(tree.threshold)
    others = np.where(tree.threshold > 0, tree.left, tree.right)
    # By node, the first one at or below it that parts other values
    first = np.arange(len(tree.feature))
    while parting[first].any():
        first = np.where(parting[first], others[first], first)
    source = np.arange(len(first))
    source[0] = first[0]
    below = np.append(first, -1)  # of leaves, whose sides are -1
    return ScoreTree(
        tree.feature[source],
        tree.threshold[source],
        below[tree.left[source]],
        below[tree.right[source]],
        tree.missing_left[source],
        tree.values[source],
    )


def compose_scalers(scaled: tuple[Scaled, ...]) -> Scaled:
    """Combine one or more scalers into one."""
    first, *others = scaled
    center, spread = first.center, first.spread
    for step in others:
        center = center + step.center * spread
        spread = spread * step.spread
    return Scaled(center, spread, first.to_unit and not others)


def _unscale_thresholds(trees: Trees, scaled: tuple[Scaled, ...], dtype: Any) -> Trees:
    """Trees with thresholds for the features before scaling, which are numbers of the type."""
    out = []
    for tree in trees.trees:
        inner = np.flatnonzero(tree.feature >= 0)
        threshold = tree.threshold.copy()
        threshold[inner] = floor_before(scaled, threshold[inner], tree.feature[inner], dtype)
        out.append(replace(tree, threshold=threshold))
    return replace(trees, trees=tuple(out))


def is_network(layers: Chain, activations: Sequence[str]) -> bool:
    """Whether maps are layers of a network with one output; without hidden ones, a linear model."""
    *hidden, last = layers or (None,)
    known = all(
        type(layer) is Affine or (type(layer) is HiddenNodes and layer.activation in activations)
        for layer in hidden
    )
    return known and type(last) is Affine and last.weights.shape[1] == 1


def describe_model(estimator: Any, chain: Chain) -> str:
    """Description of an unsupported model."""
    names = [
        f"{step.activation} nodes" if isinstance(step, HiddenNodes) else _WORDS[type(step).__name__]
        for step in chain
    ]
    return f"{type(innermost(estimator)).__name__} is made of {', '.join(names)}."


_WORDS = {
    "Affine": "weighted sums",
    "MadeColumns": "encoded columns",
    "KernelValues": "kernel values",
    "RunningSums": "running sums",
    "Scaled": "scaled columns",
    "Sum": "a blend of models",
    "Terms": "products of features",
    "Trees": "trees",
    "VoteMean": "votes",
}

# A node's set of categories takes a bit for each number up to the largest.
LARGEST_CATEGORY = 2**20


def trees_of(estimator: Any, format: str, *, encoded: bool = False) -> Trees:
    """Trees of a model on its original features, with categories.

    The model is a sum of trees, or a pipeline of scalers and such a model. Its thresholds are kept,
    but if scalers precede the trees, they are such that every row takes the branches of the
    pipeline. ``format`` names the function in errors: ExportError is raised if the model is not a
    sum of trees, scales a column of categories, or reads categories (unless ``encoded``).
    """
    chain = behind_columns(chain_of(estimator))
    scaled, rest = split_scalers(chain)
    match rest:
        case (Trees() as trees,):
            _warn_of_fillings(estimator, format, of_numbers=False)
            if scaled or not encoded:
                _refuse_categories(trees, estimator, format, is_scaled=bool(scaled))
            trees = _send_fillings(trees, scaled, estimator)
            return _unscale_thresholds(trees, scaled, np.float64) if scaled else trees
        case _:
            raise ExportError(
                f"{format} takes sums of trees, with scalers before them; "
                f"{describe_model(estimator, chain)}{_members(estimator)} Use to_onnx."
            )


def _refuse_categories(trees: Trees, estimator: Any, format: str, *, is_scaled: bool) -> None:
    """Raise if trees split categories, or compare statistics that would look like numbers."""
    where, fix = "", "Use to_onnx, to_python, to_lightgbm or to_xgboost"
    if is_scaled:
        where, fix = " behind a scaler", "Fit without the scaler, which trees do not need"
    for column in trees.encoded:
        raise ExportError(
            f"{column_word(engine_names(estimator), column)} has categories in whose place the "
            f"trees compare statistics, which {format} cannot look up{where}. {fix}."
        )
    for tree in trees.trees:
        for node in tree.members:
            word = column_word(engine_names(estimator), int(tree.feature[node]))
            raise ExportError(
                f"{word} has unordered categories, which {format} cannot split{where}. {fix}, or "
                "encode them as columns of 0 and 1."
            )


def _members(estimator: Any) -> str:
    """Members of a blend that are no sums of trees, in words."""
    blend = innermost(estimator)
    members = zip(getattr(blend, "models_", ()), getattr(blend, "weights_", ()), strict=False)
    others = {
        type(innermost(model)).__name__
        for model, weight in members
        if weight > 0 and not isinstance(chain_of(model)[-1], Trees)
    }
    return f" No trees: {', '.join(sorted(others))}." if others else ""


def separate_float32(thresholds: Float64Array) -> Float64Array:
    """Thresholds (n,) that no finite float32 number equals, with the same float32 numbers below.

    A threshold that is a float32 number becomes the next float64 number above it. Readers that test
    ``<`` then send float32 rows the same way as readers that test ``<=``. Every float64 row still
    takes its branch unless its value is exactly that next number.
    """
    with np.errstate(over="ignore"):
        is_float32 = thresholds.astype(np.float32).astype(np.float64) == thresholds
    moved = is_float32 & np.isfinite(thresholds)
    separate = thresholds.copy()
    separate[moved] = np.nextafter(thresholds[moved], np.inf)
    return separate


def constant_tree(value: float) -> ScoreTree:
    """A tree of one leaf."""
    none = np.array([-1])
    return ScoreTree(none, np.array([np.nan]), none, none, np.array([False]), np.array([value]))


def breadth_first(tree: ScoreTree) -> list[int]:
    """Nodes that the root reaches, level by level; a right child is next to its sibling."""
    order = [0]
    for node in order:
        if tree.feature[node] >= 0:
            order += [int(tree.left[node]), int(tree.right[node])]
    return order


def level_order(tree: ScoreTree) -> tuple[list[int], list[int]]:
    """Inner nodes and leaves that the root reaches, level by level."""
    order = np.array(breadth_first(tree))
    inner = tree.feature[order] >= 0
    return order[inner].tolist(), order[~inner].tolist()


def node_weights(tree: ScoreTree) -> Float64Array:
    """Weight of the training rows in each node; without it, the number of leaves below."""
    if tree.cover is not None:
        return tree.cover
    inner, leaves = level_order(tree)
    weights = np.zeros(len(tree.feature))
    weights[leaves] = 1.0
    for node in reversed(inner):
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights


def positive_weights(tree: ScoreTree) -> Float64Array:
    """Weights in which leaves without training rows have a millionth of the root's weight.

    Contributions by paths divide by the weights of nodes.
    """
    inner, leaves = level_order(tree)
    weights = node_weights(tree).copy()
    weights[leaves] = np.maximum(weights[leaves], 1e-6 * (weights[0] or 1.0))
    for node in reversed(inner):
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights


def mean_values(tree: ScoreTree, weights: Float64Array) -> Float64Array:
    """Value of each leaf, and the weighted mean of the leaves below each other node."""
    inner, _ = level_order(tree)
    values = tree.values.copy()
    for node in reversed(inner):
        sides = np.array([tree.left[node], tree.right[node]])
        total = weights[sides].sum()
        values[node] = weights[sides] @ values[sides] / total if total > 0 else values[sides].mean()
    return values


def check_numbered(trees: Trees, names: Sequence[str] | None, format: str) -> None:
    """Raise ExportError unless categories are whole numbers from 0 to 2**20, bits of sets."""
    sides = [(column, known.keys) for column, known in trees.encoded.items()]
    for tree in trees.trees:
        for node, members in tree.members.items():
            sides += [(int(tree.feature[node]), side) for side in members]
    for column, values in sides:
        whole = (values == np.floor(values)) & (values >= 0) & (values <= LARGEST_CATEGORY)
        if not whole.all():
            raise ExportError(
                f"categories of {column_word(names, column)} must be whole numbers from 0 to "
                f"{LARGEST_CATEGORY} for {format}, got {values[~whole][0]:g}. Number the "
                "categories before training."
            )


def check_float32_keys(chain: Chain, names: Sequence[str] | None) -> None:
    """Raise ExportError if rows of float32 numbers cannot tell the categories of a column apart."""
    for column, has_twin in category_columns(chain):
        if has_twin:
            raise ExportError(
                f"categories of {column_word(names, column)} must be distinct as float32 numbers "
                "for ONNX, the type of its rows. Convert them to text before training, or use "
                "to_python."
            )


Float32Array = NDArray[np.float32]
DOWN, UP = np.float32(-np.inf), np.float32(np.inf)
# Solr adds this slack to every threshold that it reads.
SOLR_SLACK = np.float32(1e-6)
_NEIGHBOURS = 3
# Number of inf if float32 or float64 numbers are counted from 0.0, and unsigned numbers as wide
_COUNTED: dict[Any, tuple[int, Any]] = {
    np.float32: (0x7F800000, np.uint32),
    np.float64: (0x7FF0000000000000, np.uint64),
}


def floor_float32(values: Any) -> Float32Array:
    """Largest float32 numbers that are not above the values."""
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
    return np.where(near > exact, _next(near, DOWN), near).astype(np.float32)


def floor_before(
    scaled: tuple[Scaled, ...], thresholds: Float64Array, features: Int64Array, dtype: Any
) -> NDArray[Any]:
    """Largest numbers (n,) of the type whose scaled values are not above the thresholds (n,).

    The scalers are applied one after the other; ``features`` (n,) are the columns of the
    thresholds.
    """

    def within(x: NDArray[Any]) -> NDArray[np.bool_]:
        values = x.astype(np.float64)
        for step in scaled:
            values = step.scale(values, features)
        return values <= thresholds

    # Bisect the numbers between -inf, which is below everything, and inf.
    infinite = _COUNTED[dtype][0]
    low, high = np.full(len(thresholds), -infinite), np.full(len(thresholds), infinite)
    while (low < high).any():
        # The sum of both may be too large for an integer.
        middle = (low >> 1) + (high >> 1) + (((low & 1) + (high & 1) + 1) >> 1)
        fits = within(_number_to_float(middle, dtype))
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _number_to_float(low, dtype)


def subtract_slack(thresholds: Any) -> Float32Array:
    """Float32 numbers that become the given thresholds when Solr adds its slack of 1e-6.

    The sum is the float32 floor of the threshold, with exceptions that no sum in float32 can give:
    5 in a million thresholds between -1 and 1, 1 in 100 between -1e-4 and 1e-4, and most within
    1e-6 of 0. In these cases, the sum is on the same side of 0, a value of many rows. It is the
    next larger possible sum if the threshold is a float32 number itself, which may be the value of
    a row, and otherwise the nearest one: a unit in the last place, or 1.2e-13, away.
    """
    exact = np.asarray(thresholds, dtype=np.float64)
    wanted = floor_float32(exact)
    middle = (wanted - SOLR_SLACK).astype(np.float32)
    tried = [middle]
    for way in (DOWN, UP):
        step = middle
        for _ in range(_NEIGHBOURS):
            step = _next(step, way)
            tried.append(step)
    candidates = np.stack(tried)
    sums = candidates + SOLR_SLACK
    with np.errstate(invalid="ignore"):  # infinite thresholds stay infinite
        distance = np.abs(sums.astype(np.float64) - exact)
    faults = (sums != wanted).astype(np.int64)
    faults += (sums < wanted) & (wanted == exact)
    faults += 2 * ((sums < 0) != (wanted < 0))
    best = np.lexsort((distance, faults), axis=0)[0]
    chosen = np.take_along_axis(candidates, best[None], axis=0)[0]
    return np.where(np.isinf(wanted), wanted, chosen).astype(np.float32)


def _next(values: Float32Array, way: np.float32) -> Float32Array:
    """Float32 neighbours on one side; infinity beyond the last number."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, way)


def _number_to_float(numbers: Int64Array, dtype: Any) -> NDArray[Any]:
    """Numbers of the type by their position in ascending order, counted from 0.0."""
    sizes = np.abs(numbers).astype(_COUNTED[dtype][1]).view(dtype)
    return np.where(numbers < 0, -sizes, sizes)
