"""Plots of one model: contributions of features, effect of a feature, a fitted tree.

At a tree's nodes, bars show the shares of the classes, or the scores. Leaves stand side by side in
order; every inner node is centred above its two children.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from rankwise.explain import FeatureEffect, PairExplanation, RankingExplanation, ScoreExplanation
from rankwise.report.axes import FONT, MOST_PANELS, light, panels, series, style
from rankwise.runtime.messages import escape_figure
from rankwise.trees.tree_text import TreeReader, check_no_classes, has_scores
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BAR = 0.26  # inches


def plot_contributions(
    explanation: PairExplanation | RankingExplanation | ScoreExplanation, most: int = 15
) -> Figure:
    """Plot bars of the largest contributions of features.

    Parameters
    ----------
    explanation : PairExplanation, RankingExplanation or ScoreExplanation
        For a pair, bars show how much each feature contributes to A (right) or to B (left), with
        standard errors of sampled values. For a ranking or scores, bars show the mean absolute
        contribution of each feature.
    most : int, default=15
        Number of features shown; the other features of a pair are summed in a last bar.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from rankwise import LambdaMART, explain_pair
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.report import plot_contributions
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = LambdaMART(10).fit(train.X, train.y, qid=train.qid)
    >>> figure = plot_contributions(explain_pair(ranker, test.X[0], test.X[1]))
    >>> figure.savefig("contributions.svg")  # doctest: +SKIP
    """
    if not isinstance(explanation, PairExplanation):
        values = explanation.importances()
        order = np.argsort(-values, kind="stable")[:most]
        names = [str(explanation.names[j]) for j in order]
        return _bars(names, values[order], None, "mean size of the contribution to the score")
    order = explanation.order()
    shown, rest = order[:most], order[most:]
    values, error = explanation.values[shown], explanation.error
    names = [str(explanation.names[j]) for j in shown]
    errors = None if error is None else error[shown]
    if len(rest):
        names.append(f"{len(rest)} others")
        values = np.append(values, explanation.values[rest].sum())
        errors = None if errors is None else np.append(errors, 0.0)
    label = f"contribution to {explanation.score_a:.4g} minus {explanation.score_b:.4g}"
    return _bars(names, values, errors, label)


def _bars(
    names: list[str], values: Float64Array, errors: Float64Array | None, label: str
) -> Figure:
    figure, (axes,) = panels(1, 0.6 + _BAR * len(names), most=1)
    places = np.arange(len(names))[::-1]
    colours = [light("better" if value >= 0 else "worse") for value in values]
    axes.barh(places, values, 0.7, color=colours, xerr=errors, ecolor=light("ink"))
    style(axes)
    axes.grid(False, axis="y")
    axes.grid(True, axis="x", color=light("rule"), linewidth=0.8)
    axes.axvline(0.0, color=light("ink"), linewidth=0.8)
    axes.set_yticks(places, [escape_figure(name) for name in names], fontsize=FONT - 1)
    axes.set_xlabel(escape_figure(label))
    return figure


def plot_feature_effect(effects: FeatureEffect | Sequence[FeatureEffect]) -> Figure:
    """Plot the share of its query that a document outranks as one feature varies.

    Parameters
    ----------
    effects : FeatureEffect or sequence of FeatureEffect
        Results of :func:`rankwise.explain.feature_effect`, one panel each, at most twelve. The line
        is the mean over queries, dots mark the grid, and the band covers the middle half of the
        queries.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If ``effects`` contains anything but FeatureEffects.
    ValueError
        If ``effects`` is empty.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.explain import feature_effect
    >>> train = load_dataset("lambdarank")[0].train
    >>> ranker = RidgeRanker().fit(train.X, train.y, qid=train.qid)
    >>> effect = feature_effect(ranker, train.X, train.qid, 10)
    >>> plot_feature_effect(effect).savefig("effect.pdf")  # doctest: +SKIP
    """
    shown = [effects] if isinstance(effects, FeatureEffect) else list(effects)
    for effect in shown:
        if not isinstance(effect, FeatureEffect):
            raise TypeError(
                f"effects must be FeatureEffects, got {type(effect).__name__}. Pass results "
                "of rankwise.explain.feature_effect."
            )
    if not shown:
        raise ValueError("effects must hold at least one FeatureEffect, got an empty sequence.")
    shown = shown[:MOST_PANELS]
    figure, grid = panels(len(shown), height=2.2, share_y=True)
    for axes, effect in zip(grid, shown, strict=False):
        _draw_effect(axes, effect)
    figure.supylabel("share of its query outranked", fontsize=FONT, color=light("ink"))
    return figure


def _draw_effect(axes: Axes, effect: FeatureEffect) -> None:
    low, high = effect.band().T
    colour = series(0)
    if effect.grid.dtype.kind in "biuf":
        x = effect.grid.astype(np.float64)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(x, effect.mean, "o-", color=colour, linewidth=1.8, markersize=3)
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    else:
        x = np.arange(len(effect.grid), dtype=np.float64)
        axes.vlines(x, low, high, color=colour, alpha=0.3, linewidth=6)
        axes.plot(x, effect.mean, "o", color=colour, markersize=5)
        axes.set_xticks(x, [escape_figure(str(value)) for value in effect.grid])
    axes.axhline(0.5, color=light("muted"), linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_ylim(-0.02, 1.02)
    axes.set_title(escape_figure(effect.name), fontsize=FONT, loc="left", color=light("ink"))
    style(axes)


_COLUMN, _ROW = 1.25, 0.95  # width of a leaf and height of a level in inches
_BAR_WIDTH, _BAR_HEIGHT = 0.72, 0.14  # in columns and rows
_LINE = 24  # characters per line of a condition


def plot_tree(
    estimator: Any,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    digits: int = 3,
) -> Figure:
    """Draw a fitted tree.

    Parameters
    ----------
    estimator : RankingTree, RankingForest, LambdaMART or an adapter of a boosting library
        Fitted.
    tree : int >= 0, default=0
        Number of the tree in an ensemble.
    max_depth : int >= 0, optional
        Number of levels drawn below the root; branches that go deeper end in dots.
    feature_names : sequence of str, optional
        Names of the features (default: those of the fit, else ``x0``, ``x1``, ...).
    class_names : sequence of str, optional
        Names of the classes of a RankingTree (default: ``classes_``).
    digits : int >= 1, default=3
        Significant digits of thresholds, scores and gains.

    Returns
    -------
    matplotlib.figure.Figure
        Rows that satisfy the condition below a node go left. The condition names the side of
        missing values if the column had some in training (in XGBoost: for every column). The weight
        of the training rows is above a node (in XGBoost the sum of their second derivatives).

        A RankingTree has bars with the shares of the classes, from the lowest (light) to the
        highest (dark). Other trees show the score of every leaf, with a bar to the right if it is
        positive and to the left if it is negative, and the gain of every split if the model keeps
        gains.

    Raises
    ------
    ValueError
        If a list does not have one name for each column or class, or the tree does not exist.
    NotFittedError, TypeError
        If the estimator is not fitted, or has no trees that can be drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LambdaMART
    >>> from rankwise.report import plot_tree
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = LambdaMART(n_estimators=20).fit(X, y, qid=qid)
    >>> figure = plot_tree(ranker, tree=19, feature_names=["bm25", "age", "clicks"], max_depth=2)
    """
    if has_scores(estimator):
        check_no_classes(estimator, class_names)
        reader = TreeReader.of_ensemble(estimator, tree, feature_names, digits)
        return _draw_tree(reader, max_depth, _ScoreNodes(reader))
    reader = TreeReader.of(estimator, feature_names, class_names, digits)
    if tree != 0:
        raise ValueError(f"tree must be 0 for a single tree, got {tree}.")
    return _draw_tree(reader, max_depth, _ClassNodes(reader))


class _ClassNodes:
    """Bars with the shares of the classes."""

    def __init__(self, reader: TreeReader) -> None:
        self._reader, self._tree = reader, reader.estimator.tree_
        ramp = LinearSegmentedColormap.from_list("ranks", [light("rule"), light("accent")])
        self._colours = ramp(np.linspace(0, 1, self._tree.counts.shape[1]))

    def leaf(self, node: int) -> str:
        """Text below a leaf."""
        return self._reader.classes[self._reader.estimator.node_classes_[node]]

    def note(self, node: int) -> str:
        """Text above a node."""
        return f"{self._tree.counts[node].sum():g}"

    def draw_bar(self, axes: Axes, node: int, x: float, y: float) -> None:
        """Draw the bar of a node."""
        counts = self._tree.counts[node]
        widths = _BAR_WIDTH * counts / counts.sum()
        starts = x - _BAR_WIDTH / 2 + np.cumsum(widths) - widths
        for start, width, colour in zip(starts, widths, self._colours, strict=True):
            axes.add_patch(Rectangle((start, y), width, _BAR_HEIGHT, color=colour, linewidth=0))

    def add_legend(self, figure: Figure) -> None:
        """Name the colours below the drawing."""
        handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in self._colours]
        figure.legend(
            handles, [escape_figure(name) for name in self._reader.classes],
            loc="outside lower center", ncols=len(handles), frameon=False, fontsize=FONT - 1,
            handlelength=1.0,
        )  # fmt: skip


class _ScoreNodes:
    """Bars with the scores of the leaves, to both sides of the middle."""

    def __init__(self, reader: TreeReader) -> None:
        self._digits = reader.digits
        self._tree: Any = reader.estimator.tree_
        self._largest = np.abs(self._tree.values[self._tree.is_leaf]).max() or 1.0

    def leaf(self, node: int) -> str:
        """Text below a leaf."""
        return f"{self._tree.values[node]:.{self._digits}g}"

    def note(self, node: int) -> str:
        """Text above a node."""
        parts = []
        if self._tree.cover is not None:
            parts.append(f"{self._tree.cover[node]:g}")
        if self._tree.gain is not None and not self._tree.is_leaf[node]:
            parts.append(f"gain {self._tree.gain[node]:.{self._digits}g}")
        return ", ".join(parts)

    def draw_bar(self, axes: Axes, node: int, x: float, y: float) -> None:
        """Draw the bar of a leaf, or a line for an inner node."""
        middle = y + _BAR_HEIGHT / 2
        if not self._tree.is_leaf[node]:
            ends = [x - _BAR_WIDTH / 4, x + _BAR_WIDTH / 4]
            axes.plot(ends, [middle, middle], color=light("rule"), linewidth=2, zorder=2)
            return
        share = float(self._tree.values[node] / self._largest)
        colour = light("accent" if share > 0 else "muted")
        start, width = min(x, x + share * _BAR_WIDTH / 2), abs(share) * _BAR_WIDTH / 2
        axes.add_patch(Rectangle((start, y), width, _BAR_HEIGHT, color=colour, linewidth=0))
        axes.plot([x, x], [y, y + _BAR_HEIGHT], color=light("ink"), linewidth=0.8, zorder=3)

    def add_legend(self, figure: Figure) -> None:
        """Add nothing, since there are no classes to name."""


def _draw_tree(
    reader: TreeReader, max_depth: int | None, nodes: _ClassNodes | _ScoreNodes
) -> Figure:
    tree = reader.estimator.tree_
    deepest = int(tree.depth.max()) if max_depth is None else min(max_depth, int(tree.depth.max()))
    place = node_places(tree, deepest)
    n_columns = int(np.nanmax(place)) + 1
    figure = Figure(
        figsize=(max(3.5, _COLUMN * n_columns), _ROW * (deepest + 1) + 0.4), layout="constrained"
    )
    axes = figure.subplots()
    for node in np.flatnonzero(~np.isnan(place)).tolist():
        x, y = float(place[node]), -float(tree.depth[node])
        is_last = tree.depth[node] == deepest
        if tree.feature[node] >= 0 and not is_last:
            for child in (tree.left[node], tree.right[node]):
                ends = [x, float(place[child])], [y - 0.3, y - 1 + _BAR_HEIGHT + 0.17]
                axes.plot(*ends, color=light("muted"), linewidth=0.8, zorder=1)
            to_left, to_right = reader.conditions(node)
            text = break_lines(to_left)
            if to_right.endswith(" or missing"):
                text += "\nmissing: right"
        elif tree.feature[node] >= 0:
            text = "..."
        else:
            text = nodes.leaf(node)
        nodes.draw_bar(axes, node, x, y)
        axes.text(
            x, y + _BAR_HEIGHT + 0.02, nodes.note(node), ha="center", va="bottom",
            fontsize=FONT - 3, color=light("muted"),
            bbox={"facecolor": light("paper"), "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        axes.text(
            x, y - 0.04, escape_figure(text, keep="\n"), ha="center", va="top", fontsize=FONT - 2,
            color=light("ink"),
            weight="bold" if tree.feature[node] < 0 else "normal",
            bbox={"facecolor": light("paper"), "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    axes.set_xlim(-0.6, n_columns - 0.4)
    axes.set_ylim(-deepest - 0.6, 0.35)
    axes.axis("off")
    nodes.add_legend(figure)
    return figure


def node_places(tree: Any, deepest: int) -> Float64Array:
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
    """Break a condition into lines of a few words."""
    lines = [""]
    for word in condition.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
