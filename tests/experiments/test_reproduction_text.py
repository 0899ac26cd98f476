"""Tables as text: every number, mark and footnote stands where it should."""

from __future__ import annotations

import pytest

from rankwise.experiments import Reproduction, ResultTable, Value
from rankwise_papers.framework.reproduction import reproduction_text

TABLE = ResultTable(
    "t1",
    "Table 1",
    [
        Value("fold 1", "A", 0.5, 0.01, 0.5, 0.02, tolerance=0.1),
        Value("fold 1", "B", 0.7, None, 0.5, tolerance=0.1, note="More data."),
        Value("fold 2", "A", 0.3, None, 0.5, tolerance=0.1, note="Less data."),
        Value("fold 2", "B", None, None, 0.5, tolerance=0.1, note="More data."),
        Value("mean", "A", 10.25, None),
        Value("mean", "C", 0.1, None, 0.5, tolerance=0.1, not_evidence="Worse than a constant."),
    ],
    caption="Means.",
    error_is="deviation",
    digits=2,
)


def make(tables):
    return Reproduction("toy", "Toy", "Nobody", False, "", [], tables)


def test_a_table_reads_like_this():
    assert reproduction_text(make([TABLE])).splitlines()[7:] == [
        "                        A          B          C",
        "fold 1  ours    0.50±0.01 =     0.70 +[1]",
        "        paper   0.50±0.02       0.50",
        "fold 2  ours    0.30      -[2]     –  [1]",
        "        paper   0.50            0.50",
        "mean    ours   10.25                       0.10 ~[3]",
        "        paper                              0.50",
        "",
        "1 met, 1 better, 1 missed, 1 not evidence, 1 no published value, 1 not run",
        "",
        "= met, + better, - missed, ~ not evidence, no mark: no published value",
        "1 met, 1 better, 1 missed, 1 not evidence, 1 no published value, 1 not run",
        "",
        "[1] More data.",
        "[2] Less data.",
        "[3] Worse than a constant.",
    ]


def test_a_narrow_terminal_gets_blocks_of_columns():
    lines = reproduction_text(make([TABLE]), width=40).splitlines()
    heads = [line.split() for line in lines if line.strip() in ("A", "B", "C", "B          C")]
    assert ["A"] in heads and ["A", "B", "C"] not in heads
    assert [name for head in heads for name in head] == ["A", "B", "C"]
    assert max(map(len, lines[7:-8])) <= 40
    narrowest = reproduction_text(make([TABLE]), width=1)  # a column each, never none
    assert [line.strip() for line in narrowest.splitlines() if line.strip() in "ABC" and line] == [
        "A",
        "B",
        "C",
    ]


def test_a_table_of_ours_alone_has_one_line_a_row():
    table = ResultTable("own", "Own", [Value("a", "x", 1.0), Value("b", "x", 2.0)], digits=1)
    assert "a  1.0\nb  2.0\n" in reproduction_text(make([table])).replace(" \n", "\n")


def test_a_table_of_which_nothing_was_run_is_two_lines():
    values = [Value(f"r{i}", "x", paper=0.5, tolerance=0.1, note="No data.") for i in range(3)]
    text = reproduction_text(make([ResultTable("t", "Table 3", values, caption="Long.")]))
    assert "\n\nTable 3\n3 not run. No data.\n\n" in text
    assert "Long." not in text and "[1]" not in text


def test_nothing_at_all_is_still_a_text():
    assert reproduction_text(make([])) == "toy: Toy\nNobody\n0 of 0 cells, 0 s of computing"


@pytest.mark.parametrize("direction", [True, False, None])
def test_counts_add_up(direction):
    values = [
        Value(str(i), "x", 0.1 * i, paper=0.5, tolerance=0.11, larger_is_better=direction)
        for i in range(10)
    ]
    counts = make([ResultTable("t", "T", values)]).counts()
    above, below = 3, 4
    expected = {
        True: {"met": 3, "better": above, "missed": below},
        False: {"met": 3, "better": below, "missed": above},
        None: {"met": 3, "missed": above + below},
    }
    assert counts == expected[direction]
