"""Critical-difference diagrams: what is ranked in what, the drawing, its place in the page."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from rankwise import leaderboard
from rankwise.metrics.significance import average_ranks
from rankwise.report import plot_critical_difference, plot_rank_intervals, write_report
from rankwise.report.axes import light
from rankwise.report.rank_diagram import draw_ranks, rank_diagram

from .conftest import make_board
from .test_report import Page

QUALITIES = {f"r{i}": 0.03 * i for i in range(5)}


@pytest.fixture(scope="module")
def boards():
    return {f"set {seed}": make_board(rankers=QUALITIES, seed=seed) for seed in range(6)}


def test_data_sets_are_blocks(boards):
    found = rank_diagram(boards)
    means = {
        name: [next(r["mean"] for r in b.rows() if r["ranker"] == name) for b in boards.values()]
        for name in QUALITIES
    }
    expected = average_ranks(means)
    assert found.blocks == "data sets"
    assert found.ranks.names == expected.names
    np.testing.assert_array_equal(found.ranks.ranks, expected.ranks)
    assert found.ranks.n_blocks == 6
    assert found.left_out == ["catboost", "broken"]


def test_queries_are_blocks_of_one_board(board):
    found = rank_diagram(board, "AP", confidence_level=0.9)
    values = {name: board.per_query("AP")[name] for name in ("ridge", "pairwise_elm", "lightgbm")}
    expected = average_ranks(values, confidence_level=0.9)
    assert (found.blocks, found.measure, found.ranks.confidence_level) == ("queries", "AP", 0.9)
    assert found.ranks.names == expected.names
    np.testing.assert_array_equal(found.ranks.ranks, expected.ranks)
    counted = rank_diagram(board).ranks.n_blocks
    assert counted == board.n_counted() == 57


def test_smaller_can_be_better():
    board = make_board(measures=("MSD",))
    assert rank_diagram(board).ranks.names[0] == board.best


def test_rankers_of_all_boards_are_compared(boards):
    other = make_board(rankers={"r0": 0.0, "r3": 0.1, "new": 0.2})
    found = rank_diagram({**boards, "other": other})
    assert sorted(found.ranks.names) == ["r0", "r3"]
    assert set(found.left_out) == {"r1", "r2", "r4", "new", "catboost", "broken"}


def test_the_drawing_has_a_bar_for_every_clique_and_a_line_for_every_name(boards):
    ranks = rank_diagram(boards).ranks
    figure = plot_critical_difference(boards)
    assert isinstance(figure, Figure)
    axes = figure.axes[0]
    bars = [line for line in axes.lines if to_hex(line.get_color()) == light("accent")]
    joined = [
        [n for n, r in zip(ranks.names, ranks.ranks, strict=True) if x[0] <= r <= x[1]]
        for x in (bar.get_xdata() for bar in bars)
    ]
    assert joined == ranks.cliques()
    assert bars
    ends = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 3]
    np.testing.assert_allclose([x[0] for x in ends], ranks.ranks)
    shown = [text.get_text() for text in axes.texts]
    assert f"critical difference {ranks.critical_difference:.2f}" in shown
    for place, (name, rank) in enumerate(zip(ranks.names, ranks.ranks, strict=True)):
        is_left = place < 3
        assert (f"{name}\u2002{rank:.2f}" if is_left else f"{rank:.2f}\u2002{name}") in shown


def test_drawings_of_rank_intervals_grow_with_the_rankers(board):
    two = leaderboard({"a": [0.5, 0.6, 0.4], "b": [0.4, 0.6, 0.3]})
    few, many = (plot_rank_intervals(b).get_figheight() for b in (two, board))
    assert 1 < few < many < 4


def test_few_blocks_give_a_critical_difference_beyond_the_axis(rng, tmp_path):
    table = rng.normal(size=(2, 3))
    ranks = average_ranks({f"r{j}": table[:, j] for j in range(3)})
    assert ranks.critical_difference > 2
    figure = draw_ranks(ranks)
    figure.savefig(tmp_path / "ranks.svg")
    assert f"{ranks.critical_difference:.2f}" in (tmp_path / "ranks.svg").read_text("utf-8")


def test_the_page_shows_ranks_of_three_rankers_or_more(board, boards, tmp_path):
    page = Page(write_report(board, tmp_path / "one.html", boards=boards).read_text("utf-8"))
    assert {"section-ranks", "section-ranks-over-data-sets"} <= set(page.ids)
    assert "in each of 57 queries" in page.text
    assert "in each of 6 data sets" in page.text
    assert "Left out: catboost, broken." in page.text
    two = make_board(rankers={"a": 0.0, "b": 0.1})
    page = Page(write_report(two, tmp_path / "two.html").read_text("utf-8"))
    assert not [name for name in page.ids if name.startswith("section-ranks")]


@pytest.mark.parametrize(
    ("boards", "measure", "error", "message"),
    [
        ({}, None, ValueError, "boards must hold at least two Leaderboards"),
        ([1], None, TypeError, "mapping from data sets to Leaderboards, got list"),
        ({"a": 1}, None, TypeError, "got dict"),
        ({"a": make_board()}, None, ValueError, "at least two blocks"),
        ({"a": make_board()}, "P@3", ValueError, "got 'P@3'. Measures of the leaderboard of 'a'"),
        (make_board(rankers={"a": 0.0}), None, ValueError, "finished on every fold, got a"),
    ],
)
def test_what_cannot_be_drawn(boards, measure, error, message):
    with pytest.raises(error, match=message):
        plot_critical_difference(boards, measure)
