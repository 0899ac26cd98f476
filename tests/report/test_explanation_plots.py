"""Bars of contributions: their lengths, names and the rest in one."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RidgeRanker
from rankwise.explain import explain_pair, explain_ranking, explain_scores
from rankwise.report import plot_contributions


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(40, 6))
    return RidgeRanker().fit(X, np.clip(np.round(X[:, 0] + 1), 0, 2)), X


def test_bars_of_a_pair(fitted):
    ranker, X = fitted
    explained = explain_pair(ranker, X[0], X[1])
    (axes,) = plot_contributions(explained, most=4).axes
    widths = [bar.get_width() for bar in axes.patches]
    order = explained.order()
    np.testing.assert_allclose(widths[:4], explained.values[order[:4]])
    assert sum(widths) == pytest.approx(explained.score_a - explained.score_b)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [*(f"x{j}" for j in order[:4]), "2 others"]


def test_bars_of_a_ranking(fitted):
    ranker, X = fitted
    explained = explain_ranking(ranker, X, np.arange(40) % 4)
    (axes,) = plot_contributions(explained).axes
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(explained.importances(), reverse=True)


def test_bars_of_scores(fitted):
    ranker, X = fitted
    explained = explain_scores(ranker, X, X[:10])
    (axes,) = plot_contributions(explained, most=3).axes
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(explained.importances(), reverse=True)[:3]
