"""A fitted tree as a drawing: questions at the nodes, bars of class shares, classes at the leaves.

Leaves stand side by side in their order, every inner node over the middle of its two children.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rankwise.report.axes import FONT
from rankwise.report.colours import light
from rankwise.trees.text import FittedTree, TreeReader
from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMN, _ROW = 1.25, 0.95  # inches that a leaf is wide, a level high
_BAR_WIDTH, _BAR_HEIGHT = 0.72, 0.14  # in columns and rows
_LINE = 24  # characters of a condition before it is broken


def plot_tree(
    estimator: FittedTree,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    digits: int = 3,
) -> Figure:
    """Draw a fitted tree.

    Parameters
    ----------
    estimator : RankingTree
        Fitted.
    max_depth : int >= 0, optional
        Levels below the root that are drawn; nodes there that go on end in dots.
    feature_names : sequence of str, optional
        None: those of the fit, else ``x0``, ``x1``, ...
    class_names : sequence of str, optional
        None: ``classes_``.
    digits : int >= 1, default=3
        Significant digits of thresholds.

    Returns
    -------
    matplotlib.figure.Figure
        Rows for which the condition under a node holds go left; a bar has the shares of the
        classes, from the lowest one, light, to the highest, dark.
    """
    reader = TreeReader.of(estimator, feature_names, class_names, digits)
    tree = estimator.tree_
    deepest = int(tree.depth.max()) if max_depth is None else min(max_depth, int(tree.depth.max()))
    place = node_places(tree, deepest)
    n_columns = int(np.nanmax(place)) + 1
    figure = Figure(
        figsize=(max(3.5, _COLUMN * n_columns), _ROW * (deepest + 1) + 0.4), layout="constrained"
    )
    axes = figure.subplots()
    ramp = LinearSegmentedColormap.from_list("ranks", [light("rule"), light("accent")])
    colours = ramp(np.linspace(0, 1, tree.counts.shape[1]))
    for node in np.flatnonzero(~np.isnan(place)).tolist():
        x, y = float(place[node]), -float(tree.depth[node])
        is_last = tree.depth[node] == deepest
        if tree.feature[node] >= 0 and not is_last:
            for child in (tree.left[node], tree.right[node]):
                ends = [x, float(place[child])], [y - 0.3, y - 1 + _BAR_HEIGHT + 0.17]
                axes.plot(*ends, color=light("muted"), linewidth=0.8, zorder=1)
            text = break_lines(reader.conditions(node)[0])
        elif tree.feature[node] >= 0:
            text = "..."
        else:
            text = reader.classes[estimator.node_classes_[node]]
        _draw_node(axes, x, y, text, tree.counts[node], colours, is_leaf=tree.feature[node] < 0)
    axes.set_xlim(-0.6, n_columns - 0.4)
    axes.set_ylim(-deepest - 0.6, 0.35)
    axes.axis("off")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    figure.legend(
        handles, reader.classes, loc="outside lower center", ncols=len(colours), frameon=False,
        fontsize=FONT - 1, handlelength=1.0,
    )  # fmt: skip
    return figure


def _draw_node(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    counts: Float64Array,
    colours: np.ndarray,
    *,
    is_leaf: bool,
) -> None:
    """A bar of class shares, the weight over it, the text under it."""
    widths = _BAR_WIDTH * counts / counts.sum()
    starts = x - _BAR_WIDTH / 2 + np.cumsum(widths) - widths
    for start, width, colour in zip(starts, widths, colours, strict=True):
        axes.add_patch(Rectangle((start, y), width, _BAR_HEIGHT, color=colour, linewidth=0))
    axes.text(
        x, y + _BAR_HEIGHT + 0.02, f"{counts.sum():g}", ha="center", va="bottom",
        fontsize=FONT - 3, color=light("muted"),
    )  # fmt: skip
    axes.text(
        x, y - 0.04, text, ha="center", va="top", fontsize=FONT - 2, color=light("ink"),
        weight="bold" if is_leaf else "normal",
        bbox={"facecolor": light("paper"), "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def node_places(tree: Tree, deepest: int) -> Float64Array:
    """Horizontal place of every node that is drawn, NaN of the others."""
    place = np.full(tree.n_nodes, np.nan)
    drawn, todo = [], [0]
    next_column = 0
    while todo:  # in the order of reading, left first
        node = todo.pop()
        drawn.append(node)
        if tree.feature[node] < 0 or tree.depth[node] == deepest:
            place[node] = next_column
            next_column += 1
        else:
            todo += [int(tree.right[node]), int(tree.left[node])]
    for node in reversed(drawn):
        if np.isnan(place[node]):
            place[node] = (place[tree.left[node]] + place[tree.right[node]]) / 2
    return place


def break_lines(condition: str) -> str:
    """The condition in lines of a few words."""
    lines = [""]
    for word in condition.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
