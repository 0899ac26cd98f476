"""Pages of the experiments are put together from findings, stored outputs and protocols."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from rankwise_papers.experiments import EXPERIMENTS

DOCS = Path(__file__).parents[2] / "docs"
PLOT = re.compile(r"^\.\. plot-of:: (.+)\n( +:lines:)?", re.M)


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("experiment_pages")


@pytest.fixture
def plots(monkeypatch):
    pytest.importorskip("docutils", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("stored_plots")


def test_every_experiment_has_findings_and_a_stored_output():
    folder = DOCS / "reproduce"
    for suffix in ("rst", "txt"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == set(EXPERIMENTS)


def test_a_page_holds_findings_verdicts_protocol_and_output(pages, tmp_path):
    pages.write(tmp_path)
    page = (tmp_path / "plst.rst").read_text("utf-8")
    title, said, run = pages.findings("plst")
    parts = [title, said, "verdicts-of-tables::", "rankwise reproduce plst", run, "protocol::"]
    places = [page.index(part) for part in [*parts, "/reproduce/plst.txt"]]
    assert places == sorted(places)
    table = (tmp_path / "table.inc").read_text("utf-8")
    assert all(table.count(f"/generated/reproduce/{key}") == 2 for key in EXPERIMENTS)


def test_every_experiment_has_a_plot_of_its_stored_values(plots):
    for key in EXPERIMENTS:
        output = plots.stored_figures.read(key)
        text = (DOCS / "reproduce" / f"{key}.rst").read_text("utf-8")
        asked = PLOT.findall(text)
        for address, lines in asked:
            figure, title, _ = plots.draw_columns(output, address, bool(lines))
            columns = [one.strip() for one in address.partition(" | ")[2].split(";")]
            table = output.tables[title]
            for drawn, name in zip(figure.axes[0].containers, columns, strict=True):
                values = {
                    cell.value
                    for (_, column, kind), cell in table.cells.items()
                    if column == output.column(table, name) and kind == "ours"
                }
                across, up = drawn.lines[0].get_data()
                assert len(up) >= 2
                assert set(up if lines else across) <= values
        assert asked or plots.draw_differences(output) is not None, key


def test_differences_are_percent_of_the_published_value(plots):
    read = plots.stored_figures
    cell = read.Cell
    table = read.StoredTable(
        "Table 1",
        {
            ("a", "x", "ours"): cell(1.1, None, "+"),
            ("a", "x", "paper"): cell(1.0, None, ""),
            ("b", "x", "ours"): cell(-3.0, None, "-"),
            ("b", "x", "paper"): cell(-2.0, None, ""),
            ("c", "x", "ours"): cell(5.0, None, "~"),  # not evidence
            ("c", "x", "paper"): cell(2.0, None, ""),
            ("d", "x", "ours"): cell(5.0, None, ""),  # nothing published
        },
    )
    found = plots.differences(table)
    assert [(one.row, one.mark, round(one.percent, 6)) for one in found] == [
        ("a", "+", 10.0),
        ("b", "-", -50.0),
    ]
    same = read.StoredTable(
        "Table 2",
        {("a", "x", "ours"): cell(1.0, None, "="), ("a", "x", "paper"): cell(1.0, None, "")},
    )
    assert plots.differences(same) == []


def test_verdicts_are_counted_by_table(plots):
    counted = plots.stored_figures.counted
    assert counted("33 met, 2 no published value") == {"met": "33", "no published value": "2"}
    assert counted("42 not run. The data are not on this machine.") == {"not run": "42"}
    for key in EXPERIMENTS:
        output = plots.stored_figures.read(key)
        for verdict, number in output.by_verdict().items():
            parts = [counted(table.counts).get(verdict, "0") for table in output.tables.values()]
            assert sum(map(int, parts)) == int(number), (key, verdict)
