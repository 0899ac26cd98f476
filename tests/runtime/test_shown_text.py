"""Hostile names from files, in everything that people look at."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from typer.testing import CliRunner

from rankwise import leaderboard
from rankwise.cli.main import app
from rankwise.explain import FeatureImportances
from rankwise.metrics.statistics.all_pairs import average_ranks
from rankwise.preferences import read_comparisons
from rankwise.report import plot_leaderboard, plot_rank_intervals, write_report
from rankwise.runtime.messages import escape_figure, escape_hidden, escape_spreadsheet, escape_table
from rankwise.selection.leaderboard import leaderboard_table, leaderboard_text

HOSTILE = {
    "escape": "a\x1b[31mred\x1b[0m",
    "csi": "a\x9b31m",
    "title": "a\x1b]0;title\x07",
    "bell": "a\x07\x08b",
    "bidi": "a\u202egpj.exe",
    "isolate": "a\u2066b\u2069",
    "line": "a\nnote: all is well",
    "return": "a\rb",
    "paragraph": "a\u2029b\x85c",
    "invisible": "a\u200bb\ufeff",
    "link": "[x](javascript:alert(1))",
    "image": "![x](http://evil.example/p.png)",
    "reference": "[x][y]",
    "autolink": "<javascript:alert(1)> https://evil.example www.evil.example",
    "tag": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "entity": "&lt;b&gt;",
    "attribute": "\" onmouseover=\"alert(1)' x='",
    "table": "a | b ` c ` ~~d~~ **e** _f_",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+cmd|'x'!A0",
    "minus": "-2+3+cmd|'x'!A0",
    "at": "@SUM(1+1)*cmd|'x'!A0",
    "tab": "\t=1+1",
    "wide": "\uff1d1+1",
    "dollars": "cost $x_1$ and $y",
    "one dollar": "5$ \\$ \\frac{",
    "latex": "\\input{/etc/passwd} \\write18{ls} %#&_^~{}",
    "jinja": "{{ 7 * 7 }}{% raw %}",
    "rich": "[bold red]x[/]",
}
FORMULAS = {"formula", "plus", "minus", "at", "tab", "wide"}
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e"
                     "\u2060-\u206f\ufeff]")  # fmt: skip


_COMMANDS = (
    "begin centering caption toprule midrule bottomrule end uparrow downarrow textbackslash "
    "textasciitilde textasciicircum textbar textless textgreater"
)
NAMES = list(HOSTILE.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files whose systems, items and columns have all these names."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    rows = [(name, f"t{t}", rng.random()) for t in range(8) for name in NAMES]
    write(folder / "board.csv", pd.DataFrame(rows, columns=["system", "task", "score"]))
    wide = pd.DataFrame(rng.random((6, len(NAMES))), columns=NAMES)
    write(folder / "wide.csv", wide.assign(task=list("abcdef")))
    write(folder / "bad.csv", pd.DataFrame([*rows, rows[4]], columns=["system", "task", "score"]))
    pairs = [(a, b, "model_a") for a, b in pairwise([*NAMES, NAMES[0]])]
    write(folder / "votes.csv", pd.DataFrame(pairs, columns=["model_a", "model_b", "winner"]))
    judged = wide.assign(qid=[1, 1, 1, 2, 2, 2], label=[1, 0, 1, 0, 1, 0], text=NAMES[:6])
    write(folder / "judged.csv", judged)
    return folder


def write(path, frame):
    frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)


@pytest.fixture(scope="module")
def board(folder):
    return leaderboard(folder / "board.csv", baseline=HOSTILE["link"])


def check_terminal(text):
    assert not _HIDDEN.search(text)
    assert "\nnote: all is well" not in text


def test_text_of_boards(board):
    assert {row["ranker"] for row in json.loads(json.dumps(board.to_dict()))["rows"]} == {*NAMES}
    for text in (str(board), leaderboard_text(board, 60)):
        check_terminal(text)
        assert all(escape_hidden(name) in text for name in NAMES)


@pytest.mark.parametrize(
    "words",
    [
        ["board", "board.csv"],
        ["board", "wide.csv"],
        ["board", "bad.csv"],
        ["board", "board.csv", "--baseline", HOSTILE["title"]],
        ["board", "board.csv", "--baseline", "nobody\x1b[31m"],
        ["board", "board.csv", "--score", HOSTILE["bidi"]],
        ["prefer", "votes.csv"],
        ["prefer", "votes.csv", "--item-a", HOSTILE["line"]],
        ["lint", "judged.csv"],
        ["cv", "judged.csv", "--ranker", "ridge"],
        ["cv", "judged.csv", "--ranker", f"column:{HOSTILE['escape']}"],
    ],
    ids=" ".join,
)
def test_terminal(folder, words):
    found = CliRunner().invoke(app, [words[0], str(folder / words[1]), *words[2:]])
    assert found.stdout or found.stderr
    check_terminal(found.stdout)
    check_terminal(found.stderr)


class _Page(HTMLParser):
    """Elements and attributes of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.links, self.text = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {key for key, _ in attrs}
        self.links += [value for key, value in attrs if key in ("href", "src", "xlink:href")]

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_html(tmp_path, board):
    values = {f"s{k}": column for k, column in enumerate(board.per_query().values())}
    plain = write_report(
        leaderboard(values, baseline="s0"), tmp_path / "plain.html", command="rankwise board"
    )
    found = write_report(board, tmp_path / "a.html", command=f"rankwise board {NAMES}")
    text = found.read_text("utf-8")
    assert not _HIDDEN.search(text)
    page, other = _Page(text), _Page(plain.read_text("utf-8"))
    assert set(page.tags) == set(other.tags) and page.attributes == other.attributes
    assert page.tags.count("script") == other.tags.count("script")
    assert all(link.startswith("#") for link in page.links)
    shown = "".join(page.text)
    assert all(escape_hidden(name, keep="\n\t") in shown for name in NAMES)


def test_markdown_and_latex(board):
    for form in ("markdown", "latex"):
        text = leaderboard_table(board, form)
        check_terminal(text)
        assert all(escape_table(name, form) in text for name in NAMES)
        if form == "latex":
            assert {*re.findall(r"\\[A-Za-z]+", text)} <= {f"\\{w}" for w in _COMMANDS.split()}
            continue
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len(rows) == len(NAMES) + 2
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        sentences = text.replace(", p < 0.05", "")
        assert not re.search(r"(?<!\\)[\[\]<>`$&~]|(?<!\\):(?=//)|www\.|\]\(", sentences)


def test_spreadsheets(folder, board, tmp_path):
    text = board.to_csv()
    wanted = {
        f"'{name}" if kind in FORMULAS else name.replace("\r", r"\r")
        for kind, name in HOSTILE.items()
    }
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert {row[1] for row in rows[1:]} == wanted
    measured = pd.read_csv(folder / "board.csv").rename(columns={"score": HOSTILE["formula"]})
    header = leaderboard(measured, score=[HOSTILE["formula"]]).to_csv()
    names = next(csv.reader(io.StringIO(header, newline="")))
    assert all(cell[:1] not in "=+-@\t\r" for cell in names if cell)
    assert {*read_comparisons(folder / "votes.csv").items.tolist()} == {*NAMES}
    out = tmp_path / "items.csv"
    words = ["prefer", str(folder / "votes.csv"), "--out", str(out)]
    assert CliRunner().invoke(app, words).exit_code == 0
    with open(out, encoding="utf-8", newline="") as file:
        assert {row["item"] for row in csv.DictReader(file)} == wanted


def test_numbers_in_spreadsheets_stay():
    for cell in (-1.5, -3, None, True, "-1.5", "+2", "-1e-5", "b", ""):
        assert escape_spreadsheet(cell) == cell
    assert escape_spreadsheet("-b") == "'-b" and escape_spreadsheet("--1") == "'--1"


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("plot", [plot_leaderboard, plot_rank_intervals])
def test_figures(board, plot):
    figure = plot(board)
    figure.savefig(io.BytesIO(), format="svg")  # a formula would raise, or be drawn as one
    shown = [text.get_text() for text in figure.findobj(Text)]
    assert {*map(escape_figure, NAMES)} <= {*shown}
    assert not any(map(_HIDDEN.search, shown))
    assert not any(text._preprocess_math(text.get_text())[1] for text in figure.findobj(Text))


def test_texts_of_results():
    for names in (NAMES[:10], NAMES[10:20], NAMES[20:]):
        for found in (
            FeatureImportances(names, np.arange(len(names)) + 1.0, "gain"),
            average_ranks({name: [1.0, 2.0, k] for k, name in enumerate(names)}),
        ):
            check_terminal(str(found))
            assert all(escape_hidden(name) in str(found) for name in names)


def test_texts_of_people_stay():
    for text in (
        "BM25 + RM3",
        "naïve_model v1.2 (α=0.5)",
        "模型-1",
        "خوارزمية",
        "👩\u200d🔬",
        "a_b",
    ):
        assert escape_hidden(text) == escape_figure(text) == escape_spreadsheet(text) == text
        assert escape_table(text, "markdown") == text
    assert escape_hidden("\ud800") == r"\ud800"
