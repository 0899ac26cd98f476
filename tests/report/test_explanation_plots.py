"""Bars of contributions: their lengths, names and the rest in one."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RidgeRanker
from rankwise.explain import (
    FeatureEffect,
    explain_pair,
    explain_ranking,
    explain_scores,
    feature_effect,
)
from rankwise.report import plot_contributions, plot_feature_effect, write_report


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
    few, many = (plot_contributions(explained, most=most).get_figheight() for most in (1, 5))
    assert 0.5 < few < many < 4


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


def test_lines_of_feature_effects(fitted):
    ranker, X = fitted
    effects = [feature_effect(ranker, X, np.arange(40) % 4, j, n_points=5) for j in range(3)]
    drawn = plot_feature_effect(effects).axes
    for effect, axes in zip(effects, drawn, strict=True):
        assert axes.get_title(loc="left") == effect.name
        np.testing.assert_array_equal(axes.lines[0].get_xdata(), effect.grid)
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), effect.mean)
    (axes,) = plot_feature_effect(effects[0]).axes
    (band,) = axes.collections
    assert not any(band.get_linewidths())
    corners = band.get_paths()[0].vertices
    for place, value in enumerate(effects[0].grid):
        ends = corners[corners[:, 0] == value][:, 1]
        assert (ends.min(), ends.max()) == pytest.approx(tuple(effects[0].band()[place]))


def test_categories_are_named(fitted):
    ranker, X = fitted
    effect = feature_effect(ranker, X, np.arange(40) % 4, 0, n_points=3)
    named = FeatureEffect("kind", np.array(["blog", "news", "shop"]), effect.values, effect.queries)
    (axes,) = plot_feature_effect(named).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["blog", "news", "shop"]


def test_what_is_no_feature_effect():
    with pytest.raises(TypeError, match="effects must be FeatureEffects, got int"):
        plot_feature_effect([1])
    with pytest.raises(ValueError, match="at least one FeatureEffect, got an empty sequence"):
        plot_feature_effect([])


def test_the_page_has_feature_effects_where_there_are_some(fitted, board, tmp_path):
    ranker, X = fitted
    effects = [feature_effect(ranker, X, np.arange(40) % 4, j) for j in range(2)]
    page = write_report(board, tmp_path / "r.html", feature_effects=effects).read_text("utf-8")
    assert 'id="section-feature-effects"' in page
    assert "section-feature-effects" not in write_report(board, tmp_path / "s.html").read_text()
