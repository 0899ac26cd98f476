"""Figures and counts in the documentation are those of the stored outputs."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def load():
    spec = importlib.util.spec_from_file_location("stored_figures", DOCS / "stored_figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


stored_figures = load()
KEYS = sorted(path.stem for path in stored_figures.FOLDER.glob("*.txt"))
NO_FIGURE = re.compile(r"``[^`]*``|LETOR [34]\.0")
PAGES = sorted(path for path in DOCS.glob("*.rst") if "figures-of::" in path.read_text("utf-8"))

OUTPUT = """toy: An experiment
Nobody (2000)
4 of 4 cells, 1 s of computing

Table 1: error
What it is. ±: standard deviation.

                      x           long name
first   ours   0.1000±0.0200 =[1]   1,234
        paper  0.1100             1,200
second  ours   -0.5000       -

1 met, 1 missed, 1 no published value

Table 2: without a paper

    y
a  3.0  [1]
b    –

2 no published value

= met, + better, - missed, ~ not evidence, no mark: no published value
1 met, 1 missed, 3 no published value

[1] 7.5 is no cell.
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "toy.txt").write_text(OUTPUT, "utf-8")
    return tmp_path


def problems(folder, text):
    return list(stored_figures.problems(f".. figures-of:: toy\n\n{text}", folder))


@pytest.mark.parametrize("key", KEYS)
def test_every_printed_value_is_read(key):
    for table in stored_figures.read(key).tables.values():
        counts = re.findall(r"(\d+) ([a-z ]+)", table.counts)
        values = sum(int(n) for n, verdict in counts if verdict.strip() != "not run")
        assert sum(kind == "ours" for *_, kind in table.cells) == values, table.title


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_of_the_pages_are_those_of_the_outputs(path):
    assert list(stored_figures.problems(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("key", KEYS)
def test_results_name_the_cell_of_every_decimal(key):
    """Every decimal in the section of an experiment comes from its stored output."""
    text = (DOCS / "reproduce.rst").read_text("utf-8")
    start, end = f"\n.. figures-of:: {key}\n", f"\n.. literalinclude:: reproduce/{key}.txt\n"
    section = text[text.index(start) : text.index(end)]
    for pattern in (stored_figures.FIGURE, stored_figures.VERDICTS, NO_FIGURE):
        section = pattern.sub("", section)
    assert re.findall(r"[^\n]*(?<![\w.])\d*\.\d+[^\n]*", section) == []


@pytest.mark.parametrize(
    "figure",
    [
        "0.1 <Table 1 | first | x>",
        "0.10 ± 0.02 <Table 1 | first | x>",
        "10% <Table 1 | first | x>",
        "0.11 <Table 1 | first | x | paper>",
        "1,234 <Table 1: error | first | long name>",
        "1234 <Table 1 | first | long name>",
        "1,200 <Table 1 | first | long name | paper>",
        "0.5 <Table 1 | second | x>",
        "-0.5 <Table 1 | sec | x>",
        "3 <Table 2 | a | y>",
    ],
)
def test_figures_that_agree(folder, figure):
    assert problems(folder, f":figure:`{figure}`") == []


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("0.12 <Table 1 | first | x>", "the stored output 0.1 ± 0.02"),
        ("0.100 ± 0.030 <Table 1 | first | x>", "the stored output 0.1 ± 0.02"),
        ("0.5 ± 0.1 <Table 1 | second | x>", "has no ±"),
        ("0.1 <Table | first | x>", "more than one table"),
        ("0.1 <Table 1 | third | x>", "no row 'third'. It has: first; second"),
        ("0.1 <Table 1 | first | z>", "no column 'z'"),
        ("0.1 <Table 1 | second | long>", "is empty"),
        ("0.1 <Table 2 | b | y>", "no row 'b'"),
        ("0.1 <Table 1 | first>", "is not 'table | row | column'"),
    ],
)
def test_figures_that_drifted_are_named(folder, figure, message):
    (found,) = problems(folder, f":figure:`{figure}`")
    assert message in found


def test_counts(folder):
    output = stored_figures.read("toy", folder)
    assert output.verdicts("all") == "1 met, 1 missed, 3 no published value"
    assert output.verdicts("Table 2") == "2 no published value"
    assert problems(folder, ":verdicts:`all` and :verdicts:`Table 1`") == []
    (found,) = problems(folder, ":verdicts:`Table 3`")
    assert "no table 'Table 3'" in found


def test_figures_need_a_file():
    (found,) = stored_figures.problems(":figure:`1 <a | b | c>`")
    assert "no figures-of directive" in found
