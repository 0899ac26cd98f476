"""Feature effects: place of a document in its query as one feature varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from rankwise.explain import FeatureEffect
from rankwise.report.axes import FONT, panels, style
from rankwise.report.colours import light, series
from rankwise.runtime.shown_text import escape_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12


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
        _draw(axes, effect)
    figure.supylabel("share of its query outranked", fontsize=FONT, color=light("ink"))
    return figure


def _draw(axes: Axes, effect: FeatureEffect) -> None:
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
