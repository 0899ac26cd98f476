"""Bar plots of the contributions of features to scores."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankwise.explain import PairExplanation, RankingExplanation, ScoreExplanation
from rankwise.report.axes import FONT, panels, style
from rankwise.report.colours import light
from rankwise.runtime.shown_text import escape_figure
from rankwise.typing import Float64Array

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
