"""The numbers behind the plots, the plots, and their way into the page."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from rankwise import leaderboard
from rankwise.metrics import parse
from rankwise.report import (
    plot_costs,
    plot_curves,
    plot_differences,
    plot_leaderboard,
    plot_paths,
)
from rankwise.report.axes import pushed_apart
from rankwise.report.page import (
    count,
    format_signed,
    inline,
    number,
    p_value,
    seconds,
    setting,
    size,
)
from rankwise.report.plots import curves, differences, paths, step_line

from .conftest import FOLDS, N_QUERIES, make_board


def test_curves_are_means_of_fold_means(board):
    found = curves(board)
    assert (found.name, found.cutoffs) == ("nDCG", list(range(1, 11)))
    assert set(found.means) == {"ridge", "pairwise_elm", "lightgbm"}
    ends = [means[-1] for means in found.means.values()]
    assert ends == sorted(ends, reverse=True)
    for row in board.rows():
        if row["rank"]:
            assert found.means[row["ranker"]][-1] == pytest.approx(row["mean"])
    spec = str(parse("nDCG@4"))
    cells = [board.cell("ridge", fold).values[spec] for fold in FOLDS]
    expected = np.mean([np.nanmean(values) for values in cells])
    assert found.means["ridge"][3] == pytest.approx(expected)


def test_differences_are_turned_so_that_up_is_better():
    smaller_is_better = make_board(measures=("MSD",))
    best = smaller_is_better.best
    assert best == "ridge"  # the lowest values
    for one in differences(smaller_is_better):
        values = smaller_is_better.per_query()
        difference = values[best] - values[one.ranker]
        known = difference[~np.isnan(difference)]
        np.testing.assert_allclose(one.values, np.sort(known)[::-1])
        assert one.better == (known > 0).sum()
        assert one.better + one.equal + one.worse == 3 * (N_QUERIES - 1)
        assert (np.diff(one.values) <= 0).all()


def test_paths_are_of_rankers_that_chose_one_number(board):
    found = {path.ranker: path for path in paths(board)}
    assert set(found) == {"ridge", "pairwise_elm"}
    path = found["pairwise_elm"]
    assert path.parameter == "C"
    np.testing.assert_array_equal(path.values, 2.0 ** np.arange(-6, 8, 2))  # infinity left out
    assert list(path.scores) == list(FOLDS)
    for number_of_fold, fold in enumerate(FOLDS):
        assert path.chosen[fold] == 2.0 ** (-2 + 2 * number_of_fold)
        assert path.scores[fold][list(path.values).index(path.chosen[fold])] == pytest.approx(0.4)


def test_each_plot_is_a_figure_of_its_own(board):
    for plot in (plot_costs, plot_curves, plot_differences, plot_leaderboard, plot_paths):
        figure = plot(board)
        assert isinstance(figure, Figure)
        assert figure is not plot(board)
    assert len(plot_differences(board, "AP").axes) == 2
    axes = plot_curves(board).axes[0]
    assert [line.get_label() for line in axes.lines] == list(curves(board).means)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), next(iter(curves(board).means.values())))


def test_nothing_to_draw_is_none():
    board = make_board(measures=("AP",), rankers={"plain": 0.0})
    assert plot_curves(board) is None
    assert plot_differences(board) is None
    assert plot_paths(board) is None
    assert plot_costs(board) is None
    assert plot_costs(leaderboard({"a": [0.5, 0.6], "b": [0.4, 0.6]})) is None
    assert plot_leaderboard(make_board(rankers={})) is None


@pytest.mark.parametrize("measure", [None, "AP"])
def test_the_picture_of_a_board_shows_its_rows(board, measure):
    rows = [row for row in board.rows(measure) if row["rank"]]
    left, right = plot_leaderboard(board, measure).axes
    assert [label.get_text() for label in left.get_yticklabels()] == [r["ranker"] for r in rows]
    for axes, (low, dot, high) in (
        (left, ("low", "mean", "high")),
        (right, ("diff_low", "diff", "diff_high")),
    ):
        bars = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
        dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
        assert dots == [row[dot] for row in rows]
        assert {(row[low], row[high]) for row in rows if row[low] is not None} <= {*bars}
    assert [text.get_text() for text in right.texts] == ["ranks", "1–2", "1–2", "3"]


def test_without_tests_the_picture_has_means_only():
    apart = {"a": [0.9, 0.8, 0.7, np.nan], "b": [np.nan, np.nan, 0.8, 0.95]}
    assert len(plot_leaderboard(leaderboard(apart, missing="pairs")).axes) == 1
    assert len(plot_leaderboard(leaderboard({"a": [0.9, 0.8]})).axes) == 1


def test_costs_have_a_point_and_a_name_for_every_ranker(board):
    rows = {row["ranker"]: row for row in board.rows() if row["rank"]}
    figure = plot_costs(board)
    for axes, what in zip(figure.axes, ("fit_seconds", "predict_seconds"), strict=True):
        assert [text.get_text() for text in axes.texts] == list(rows)
        expected = [(row[what], row["mean"]) for row in rows.values()]
        (points,) = axes.collections
        np.testing.assert_allclose(points.get_offsets(), expected)
    figure.canvas.draw()
    for axes in figure.axes:
        frames = [text.get_window_extent() for text in axes.texts]
        pairs = [(a, b) for i, a in enumerate(frames) for b in frames[:i]]
        assert not any(a.overlaps(b) for a, b in pairs)


def test_of_many_costs_only_the_best_are_named():
    board = make_board(rankers={f"r{i}": 0.02 * i for i in range(20)})
    is_open = {row["ranker"] for row in board.rows() if row["rank_low"] == 1}
    for axes in plot_costs(board).axes:
        assert is_open <= {text.get_text() for text in axes.texts} < {*board.rankers}


def test_labels_are_pushed_apart():
    wanted = np.array([0.5, 0.51, 0.2, 0.505])
    places = pushed_apart(wanted, 0.05)
    assert (np.argsort(places) == np.argsort(wanted)).all()
    assert np.diff(np.sort(places)).min() >= 0.05 - 1e-12
    np.testing.assert_allclose(pushed_apart(np.array([0.1, 0.9]), 0.05), [0.1, 0.9])


def test_many_queries_become_quantiles():
    values = np.sort(np.random.default_rng(0).normal(size=5000))[::-1]
    heights, edges = step_line(values)
    assert len(edges) == len(heights) + 1 == 401
    assert (edges[0], edges[-1]) == (0, 5000)
    assert heights[0] == values[0]
    assert heights[-1] == values[-1]
    heights, edges = step_line(values[:3])
    np.testing.assert_array_equal(edges, [0, 1, 2, 3])


def test_svg_is_one_element_with_its_own_ids():
    figure = Figure(figsize=(2, 1))
    axes = figure.subplots()
    axes.plot([1, 2], [3.123456789, 4], "o", label="<a>")
    axes.set_yticks([0.575, 4])
    text = inline(figure, "one", "Title & more", "said <so>")
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")
    assert '<title id="one-title">Title &amp; more</title>' in text
    assert "said &lt;so&gt;" in text
    assert ">0.575</text>" in text  # labels keep their digits, coordinates do not
    assert not re.search(r'\bd="[^"]*\.\d{3}', text)
    assert "metadata" not in text
    assert "xmlns" not in text
    assert 'id="figure_1"' not in text
    other = inline(figure, "two", "t", "d")
    assert not set(ids(text)) & set(ids(other))
    assert inline(figure, "one", "Title & more", "said <so>") == text


def ids(text):
    return re.findall(r'\bid="([^"]+)"', text)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (number(0.12345), "0.1235"),
        (number(None), "–"),
        (number(math.nan), "–"),
        (number(-1.5, 1), "−1.5"),
        (format_signed(0.01), "+0.0100"),
        (format_signed(-0.01), "−0.0100"),
        (p_value(0.0004), "< 0.001"),
        (p_value(0.04), "0.040"),
        (p_value(None), "–"),
        (seconds(0.00123), "1.23 ms"),
        (seconds(0.25), "250 ms"),
        (seconds(12.345), "12.3 s"),
        (seconds(600), "10 min"),
        (seconds(10_000), "2.78 h"),
        (size(12_345_678), "12 MB"),
        (size(2_500_000_000), "2.50 GB"),
        (setting(2.0**-10), "2⁻¹⁰"),
        (setting(4.0), "4"),
        (setting(0.3), "0.3"),
        (setting("rbf"), "rbf"),
        (setting(31), "31"),
        (count(1234567), "1\u2009234\u2009567"),
    ],
)
def test_numbers_are_written_for_people(found, expected):
    assert found == expected
