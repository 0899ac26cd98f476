"""Export of models to RankLib's text format, which Elasticsearch and OpenSearch also read.

RankLib numbers features from 1 and stores thresholds and leaf values in float32. A value goes left
if it is at most the threshold. Missing values are read as 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.own_model import own_model
from rankwise.export.parts import (
    LinearPart,
    ModelPart,
    TreePart,
    drop_missing_tests,
    part_of,
    warn_of_missing,
)
from rankwise.runtime.output import write_file
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array


def to_ranklib(estimator: Any, path: str | Path | None = None) -> str:
    """Write a fitted model in RankLib's format.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, or sum of trees or stumps; or a pipeline of StandardScaler, MinMaxScaler,
        MaxAbsScaler or RobustScaler and such a model.
    path : path-like, optional
        File to write in addition.

    Returns
    -------
    str
        "## Linear Regression" with a constant and weights, or "## LambdaMART" with an ensemble of
        trees. The first column is feature 1.

    Raises
    ------
    ExportError
        If the model is neither, or splits categories.

    Warns
    -----
    UserWarning
        If trees had missing values in training, or are of XGBoost, which does not tell.

    Notes
    -----
    Linear models are exact in float64; scalers and constants are part of the weights. Every float32
    value takes the same path through the trees; scores are sums of float32 numbers.

    Composition: chain of maps x RankLib's text.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_ranklib
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> print(to_ranklib(tree))
    ## LambdaMART
    ## No. of trees = 1
    <BLANKLINE>
    <ensemble>
      <tree id="1" weight="1.0">
        <split>
          <feature> 1 </feature>
          <threshold> 2.0 </threshold>
          <split pos="left">
            <output> 0.0 </output>
          </split>
          <split pos="right">
            <output> 1.0 </output>
          </split>
        </split>
      </tree>
    </ensemble>
    <BLANKLINE>
    """
    text = ranklib_text(part_of(own_model(estimator), "to_ranklib"), "RankLib")
    if path is not None:
        write_file(path, text.encode("ascii"))
    return text


def ranklib_text(part: ModelPart, format: str) -> str:
    """Text of a linear model or of trees; ``format`` is used in warnings."""
    if isinstance(part, LinearPart):
        weights, constant = unscale_weights(part)
        entries = [f"{number}:{weight!r}" for number, weight in enumerate(weights.tolist(), 1)]
        line = " ".join([f"0:{constant!r}", *entries])
        return f"## Linear Regression\n## Lambda = 0.0\n{line}\n"
    assert isinstance(part, TreePart)
    warn_of_missing(part.trees, format)
    trees = [drop_missing_tests(tree) for tree in part.trees.trees]
    lines = ["## LambdaMART"]
    constant = part.trees.constant
    roots = [_split(tree, 0, 2) for tree in trees]
    if constant or not roots:
        roots.append(
            ["    <split>", f"      <output> {_number(constant)} </output>", "    </split>"]
        )
    lines += [f"## No. of trees = {len(roots)}", "", "<ensemble>"]
    for number, root in enumerate(roots, 1):
        lines += [f'  <tree id="{number}" weight="1.0">', *root, "  </tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def unscale_weights(part: LinearPart) -> tuple[Float64Array, float]:
    """Weights for the features before scaling, and the constant."""
    weights, constant = part.sum.weights[:, 0], float(part.sum.offset[0])
    for step in reversed(part.scaled):
        weights = weights / step.spread
        constant -= float(weights @ step.center)
    return weights, constant


def _split(tree: ScoreTree, root: int, depth: int) -> list[str]:
    """Lines of a tree, with a stack instead of recursion, for trees of any depth."""
    lines: list[str] = []
    waiting: list[tuple[int, int, str] | str] = [(root, depth, "")]
    while waiting:
        now = waiting.pop()
        if isinstance(now, str):
            lines.append(now)
            continue
        node, level, side = now
        indent = "  " * level
        lines.append(f"{indent}<split{side}>")
        waiting.append(f"{indent}</split>")
        if tree.feature[node] < 0:
            lines.append(f"{indent}  <output> {_number(tree.values[node])} </output>")
            continue
        lines.append(f"{indent}  <feature> {int(tree.feature[node]) + 1} </feature>")
        lines.append(f"{indent}  <threshold> {_number(tree.threshold[node])} </threshold>")
        waiting.append((int(tree.right[node]), level + 1, ' pos="right"'))
        waiting.append((int(tree.left[node]), level + 1, ' pos="left"'))
    return lines


def _number(value: Any) -> str:
    """Shortest text of a float32 number."""
    return str(np.float32(value))
