"""Lines of rankers: who stands out among many, names at their ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from rankwise import fusion
from rankwise.report import plot_curves, plot_learning_curve, write_report
from rankwise.report.axes import MOST_NAMES, light, looks, series
from rankwise.report.plots import growth
from rankwise.selection import LearningCurve

from .conftest import make_board
from .test_report import Page


def many(n, baseline=None):
    board = make_board(rankers={f"ranker_{i}": 0.01 * i for i in range(n)})
    board.settings = replace(board.settings, baseline=baseline)
    return board


def strong_lines(figure):
    lines = figure.axes[0].lines
    return {line.get_label() for line in lines if to_hex(line.get_color()) != light("muted")}


def test_eight_lines_have_colours_and_markers():
    found = looks([f"r{i}" for i in range(8)])
    assert len({look.colour for look in found.values()}) == 8
    assert len({look.marker for look in found.values()}) == 8
    assert len({look.sign for look in found.values()}) == 8
    assert [look.css for look in found.values()] == [f"var(--series-{i + 1})" for i in range(8)]
    assert strong_lines(plot_curves(many(8))) == {f"ranker_{i}" for i in range(8)}


def test_of_more_lines_the_best_and_the_baseline_stand_out():
    board = many(9, "ranker_2")
    figure = plot_curves(board)
    assert strong_lines(figure) == {board.best, "ranker_2"}
    by_name = {line.get_label(): line for line in figure.axes[0].lines}
    assert len(by_name) == 9
    assert to_hex(by_name[board.best].get_color()) == series(0)
    assert by_name[board.best].get_zorder() > by_name["ranker_3"].get_zorder()
    assert strong_lines(plot_curves(many(9))) == {many(9).best}


@pytest.mark.parametrize("n", [3, 9, MOST_NAMES])
def test_names_do_not_overlap(n):
    figure = plot_curves(many(n))
    figure.canvas.draw()
    axes = figure.axes[0]
    assert len(axes.texts) == n
    ends = []
    for text in axes.texts:
        middle = axes.transData.transform((0, text.xyann[1]))[1]
        half = Text.get_window_extent(text).height / 2  # without the arrow
        ends.append((middle - half, middle + half))
    assert all(upper[0] >= lower[1] - 1.5 for lower, upper in pairwise(sorted(ends)))


def test_of_very_many_only_those_that_stand_out_are_named():
    board = many(MOST_NAMES + 1, "ranker_0")
    named = {text.get_text() for text in plot_curves(board).axes[0].texts}
    assert named == {board.best, "ranker_0"}


@pytest.fixture(scope="module")
def curve():
    boards = [make_board(seed=seed) for seed in range(3)]
    return LearningCurve(np.array([5, 20, 80]), boards)


def test_a_learning_curve_has_means_and_intervals_of_the_boards(curve):
    axes = plot_learning_curve(curve, "AP").axes[0]
    for line in axes.lines:
        np.testing.assert_array_equal(line.get_xdata(), [5, 20, 80])
        np.testing.assert_array_equal(line.get_ydata(), curve.means("AP")[line.get_label()])
    assert [line.get_label() for line in axes.lines] == curve.rankers[:3]
    for line, bars in zip(axes.lines, axes.collections, strict=True):
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_array_equal(ends, curve.intervals("AP")[line.get_label()])
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "AP"


def test_a_learning_curve_of_fusion(rng):
    learned, rule = rng.random((2, 3, 40))
    curve = fusion.JudgementCurve(np.array([5, 10, 20]), learned, rule, "AP", "rrf")
    found = growth(curve)
    assert list(found.means) == ["learned", "rrf"]
    np.testing.assert_allclose(found.means["rrf"], rule.mean(axis=1))
    assert ((learned < found.intervals["learned"][:, :1]).sum(axis=1) == 1).all()
    assert len(plot_learning_curve(curve).axes[0].lines) == 2


def test_no_learning_curve():
    with pytest.raises(TypeError, match="curve must be a LearningCurve, got list"):
        plot_learning_curve([1, 2])


def test_the_page_has_the_curve_and_names_its_lines_on_a_phone(board, curve, tmp_path):
    text = write_report(board, tmp_path / "r.html", learning_curve=curve).read_text("utf-8")
    page = Page(text)
    assert "section-learning-curve" in page.ids
    assert text.count('<ul class="legend"') == 2  # curves over cut-offs, learning curves
    legend = text[text.rindex('<ul class="legend"') :].split("</ul>")[0]
    assert legend.count("<li>") == 3
    assert 'color: var(--series-1)">●</span> ' in legend
    assert f"{curve.means()['ridge'][1]:.4f}" in page.text
    assert "section-learning-curve" not in write_report(board, tmp_path / "p.html").read_text()
