"""Figures and counts in the documentation are those of the stored outputs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def load():
    spec = importlib.util.spec_from_file_location("stored_figures", DOCS / "stored_figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


stored_figures = load()
KEYS = sorted(path.stem for path in stored_figures.FOLDER.glob("*.txt"))
CODE = re.compile(r"^ *>>> (?:.*\S.*\n)+|^\.\. (?:code-block|math)::.*\n(?:\n| +.*\n)*", re.M)
NO_FIGURE = re.compile(
    r"^\.\. plot-of::.*$|"
    r"``[^`]*``|:\w+:`[^`]*`|LETOR [34]\.0|arXiv:\d+\.\d+|[Vv]ersion 0\.1(?:\.0)?|\b0\.1\.0\b"
    r"|(?:above|[Bb]elow|at least) 0?\.0?5"
    r"|(?:rankwise|Python|scikit-learn) \d\.\d+(?: and \d\.\d+)?|\b\d\.\d+ or later"
    r"|^ +- [\d./ ]+$",  # cells of the table in tests/metrics/test_convention_table.py
    re.M,
)
WHOLE = re.compile(r"(?<![\w.])\d\d+(?![\w.]*\d)")
DECIMAL = re.compile(r"(?<![\w.-])\d*\.\d+(?!\.?\d)")
# Pages whose figures have tests of their own (tests/papers, tests/export), or are versions.
OTHER_PAGES = {"bounds", "errata", "export", "versions"}
MARKS = {"=": "met", "+": "better", "-": "missed", "~": "not evidence"}
# Sizes of data sets, and settings that the output does not print.
OF_THE_DATA = {
    "challenge-cf-letor": {"1239"},
    "challenge-methods": {"784", "106", "251", "54"},
    "challenge-ordinal": {"54", "152", "2000", "10000"},
    "csovo": {"45"},
    "elmrank-recommendation": {"17", "50", "65"},
    "ordinal-benchmark": {"19", "30"},
    "rankboost-missing": {"100", "300"},
    "stacking": {"106", "63"},
}
PAGES = sorted(path for path in DOCS.glob("*.rst") if "figures-of::" in path.read_text("utf-8"))
FINDINGS = sorted(stored_figures.FOLDER.glob("*.rst"))

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
        marks = Counter(cell.mark for (*_, kind), cell in table.cells.items() if kind == "ours")
        printed = {verdict.strip(): int(n) for n, verdict in counts}
        for mark, verdict in MARKS.items():
            assert marks[mark] == printed.get(verdict, 0), table.title


@pytest.mark.parametrize("path", [*PAGES, *FINDINGS], ids=lambda path: path.stem)
def test_figures_of_the_pages_are_those_of_the_outputs(path):
    text = path.read_text("utf-8")
    if path in FINDINGS:
        text = f".. figures-of:: {path.stem}\n\n{text}"
    assert list(stored_figures.problems(text)) == []


def without_figures(text):
    """What is left of a page without its figures, code, and numbers that are no results."""
    for pattern in (CODE, stored_figures.FIGURE, stored_figures.COUNTS_OF, NO_FIGURE):
        text = pattern.sub("", text)
    return text


@pytest.mark.parametrize(
    "path", [*sorted(DOCS.glob("*.rst")), *FINDINGS], ids=lambda path: path.stem
)
def test_every_decimal_names_its_cell(path):
    """No page has a decimal that does not come from a stored output."""
    if path.stem in OTHER_PAGES:
        pytest.skip("tested elsewhere, or generated")
    left = without_figures(path.read_text("utf-8"))
    assert [line for line in left.splitlines() if DECIMAL.search(line)] == []


@pytest.mark.parametrize("key", KEYS)
def test_whole_numbers_stand_in_the_output(key):
    """Numbers from 10 on in the findings of an experiment, as sizes and settings."""
    findings, _, _ = (
        (stored_figures.FOLDER / f"{key}.rst").read_text("utf-8").partition("The run\n")
    )
    section = without_figures(findings)
    output = (stored_figures.FOLDER / f"{key}.txt").read_text("utf-8")
    said, stored = (set(WHOLE.findall(one.replace(",", ""))) for one in (section, output))
    assert said - stored - OF_THE_DATA.get(key, set()) == set()


def cells(key, table, column):
    """Our cells of a column by row, in all tables whose titles begin so."""
    return [
        (row, cell)
        for title, found in stored_figures.read(key).tables.items()
        for (row, head, kind), cell in found.cells.items()
        if title.startswith(table) and head == column and kind == "ours"
    ]


def counted(key, column, passed):
    """How many published cells of a column have one of the marks ``passed``, and how many any."""
    marks = [cell.mark for _, cell in cells(key, "Table", column) if cell.mark in set("=+-")]
    return sum(mark in passed for mark in marks), len(marks)


def test_counts_in_words():
    """Counts that no cell holds: said in words, and counted here."""
    page = " ".join(" ".join(path.read_text("utf-8").split()) for path in FINDINGS)
    assert "Three of ELMRank's 17 published values are missed" in page
    assert counted("elmrank-recommendation", "ELMRank", "-") == (3, 17)
    assert "meets or improves four of its five values" in page
    assert counted("elmrank-recommendation", "RankBoost", "=+") == (4, 5)
    assert "All ten published values of ELMRank are met" in page
    assert counted("elmrank-qsar", "ELMRank", "=") == (10, 10)
    assert "Each misses one value on DHFR" in page
    assert [counted("elmrank-qsar", name, "-")[0] for name in ("SVR", "RankSVM")] == [1, 1]
    assert "The values of the twelve perceptrons are met" in page
    perceptrons = cells("ranking-tree-synthetic", "Table 1", "rank loss")[:-2]
    assert [cell.mark for _, cell in perceptrons] == 12 * ["="]

    assert "lowest mean rank of 19 methods" in page
    assert "on 30 data sets, of which 25 count in the ranks" in page
    tables = stored_figures.read("ordinal-benchmark").tables
    errors = tables["Mean absolute error on the test rows, mean over the splits"]
    assert (len(errors.rows), len(errors.columns)) == (19, 30)
    assert "Ranks by mean absolute error over 25 data sets" in tables
    assert "on four of the five sets with nominal columns" in page
    gains = cells("ordinal-benchmark", "RankingTree on nominal", "one-hot minus as such")
    assert [cell.value > 0 for _, cell in gains].count(True) == 4
    assert len(gains) == 5

    assert "With SVMs, CSOVO has lower costs on seven." in page
    costs = stored_figures.read("csovo").tables["Random costs: mean cost of a test row"]
    of = {key: cell.value for key, cell in costs.cells.items()}
    names = ("SVM, CSOVO", "logistic, least expected cost")
    ours, logistic = ([of[name, head, "ours"] for head in costs.columns] for name in names)
    assert [a < b for a, b in zip(ours, logistic, strict=True)].count(True) == 7
    assert len(ours) == 8


def test_what_is_said_of_pairs():
    """The text on PrunedRankSVM and its docstring; a difference within its ± is chance."""
    tables = [
        (title, table)
        for title, table in stored_figures.read("pruned-ranksvm").tables.items()
        if title.endswith(" kernel")
    ]
    svr, ahead, share_behind = 0, set(), []
    for title, table in tables:
        for row in table.rows:
            shares, losses, leads, totals = (
                table.cells.get((row, column, "ours"))
                for column in (
                    "share kept",
                    "random minus all",
                    "minus random pairs",
                    "minus all pairs",
                )
            )
            svr += row == "SVR" and totals.value + totals.error < 0
            if losses is not None and losses.value + losses.error < 0:
                share_behind.append(shares.value)
            if leads is not None and leads.value - leads.error > 0:
                ahead.add((title, row.split()[0]))
    page = (stored_figures.FOLDER / "pruned-ranksvm.rst").read_text("utf-8")
    assert "better than support vector regression in seven of the eight tables" in page
    assert (svr, len(tables)) == (7, 8)
    assert ahead == {("MovieLens, RBF kernel", "nearest")}
    assert max(share_behind) < 0.13
    for name in ("pairwise", "pruned_pairs"):
        assert "From 13 % of the pairs on" in (DOCS / f"{name}.rst").read_text("utf-8")


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
        ("0.1 <Table 1 | third, w >= 0 | x>", "no row 'third, w >= 0'"),
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
