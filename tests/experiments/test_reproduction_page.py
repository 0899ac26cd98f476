"""The page: self-contained, every value with its verdict, every footnote with its text."""

from __future__ import annotations

import csv

import pytest

from rankwise.experiments import Figure, Reproduction, ResultTable, Series, Value, reproduce
from rankwise_papers.framework.reproduction_page import (
    plot_figure,
    plot_table,
    write_csv,
    write_page,
)
from tests.report.test_report import Page


@pytest.fixture
def page(toy, tmp_path):
    reproduction = reproduce(toy)
    return Page(write_page(reproduction, tmp_path / "new" / "toy.html", "rankwise x").read_text())


def test_the_page_nests_loads_nothing_and_links_inside(page):
    inside = {f"#{name}" for name in page.ids}
    assert {reference for reference in page.references if reference} <= inside
    assert len(page.ids) == len(set(page.ids))


def test_the_page_says_everything(page):
    for text in (
        "Means of numbers",
        "Nobody, 1 (2000)",
        "10 of 11 cells",
        "1 met, 1 missed, 1 no published value, 1 not run.",
        "standard deviation over seeds",
        "The paper's numbers are made up.",
        "absent: 1 cell left out. absent.csv is not on this machine.",
        "Draw numbers.",
        "large: 10,000",
        "rankwise x",
        "Mean by size",
        "mean, paper",
    ):
        assert text in page.text, text


def test_text_is_escaped(tmp_path):
    value = Value("<b>", "a & b", 0.5, paper=0.5, tolerance=0.1, note="<script>x</script>")
    reproduction = Reproduction(
        "k", "<i>", "", True, "- <u>", [], [ResultTable("t", "<t>", [value])]
    )
    page = Page(write_page(reproduction, tmp_path / "p.html").read_text())
    assert not {"b", "i", "u"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert "<script>x</script>" in page.text


def test_values_beyond_the_edge_and_without_a_scale_are_drawn():
    values = [
        Value("exact", "x", 0.5, paper=0.5, tolerance=0.0),
        Value("far", "x", 9.0, paper=0.5, tolerance=0.01, error=0.1),
        Value("far", "y", 9.0, paper=0.5, tolerance=0.01, larger_is_better=False),
        Value("ours", "y", 9.0),
    ]
    figure = plot_table(ResultTable("t", "T", values))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["x", "y"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["exact", "far"]
    dots = [line for axes in panels for line in axes.lines if len(line.get_xdata()) == 1]
    ends = [dot.get_marker() for dot in dots]
    assert ends == ["o", ">", "<"]
    assert plot_table(ResultTable("t", "T", values[-1:])) is None


def test_figures_show_ours_with_a_band_and_the_papers_dashed():
    lines = [
        Series("both", [1, 10], [0.1, 0.2], [0.01, 0.02], [0.1, 0.3]),
        Series("published", [1, 10], paper=[0.1, 0.3]),
    ]
    (axes,) = plot_figure(Figure("f", "F", "n", "y", lines, log_x=True)).axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "--"]
    assert len(axes.collections) == 1
    assert axes.get_xscale() == "log"


def test_csv_has_a_row_per_value(toy, tmp_path):
    reproduction = reproduce(toy, quick=True)
    with write_csv(reproduction, tmp_path / "new" / "toy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(reproduction.tables[0].values)
    assert float(rows[0]["ours"]) == reproduction.tables[0].values[0].ours
    assert rows[3] | {"ours": "0.5", "verdict": "no published value"} == rows[3]
