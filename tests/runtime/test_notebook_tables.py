"""Results and data at the end of a notebook's cell: many features, hostile names, odd numbers."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankwise import RidgeRanker, compare, evaluate, leaderboard
from rankwise.clicks import ClickLog
from rankwise.clicks import judgements as judge_clicks
from rankwise.datasets import Fold, FoldedData, MultiLabelData, RankingData, lint, summarize_rows
from rankwise.datasets.rating_features import SideTables
from rankwise.distributed import plan
from rankwise.explain import (
    FeatureImportances,
    explain_pair,
    explain_ranking,
    explain_scores,
    feature_effect,
    feature_importances,
    permutation_importances,
)
from rankwise.metrics import significance
from rankwise.preferences import Comparisons, Orders
from rankwise.runtime.result import NotebookTable, ResultColumns, ResultList
from rankwise.selection import DriftReport, find_drift, find_regressions

BAD = "<script>alert('&\"')</script>\x1b[31m\n</td>"
RNG = np.random.default_rng(0)
X, QID = RNG.random((60, 300)), np.repeat([f"{BAD}{i}" for i in range(6)], 10)
Y = np.tile(np.arange(5.0), 12)
NAMES = [f"{BAD}, a long name of feature {j}" for j in range(300)]
FRAME = pd.DataFrame(X, columns=NAMES)
DATA = RankingData(X, Y, qid=QID, feature_names=NAMES, name=BAD, score_columns={BAD: X[:, 0]})
MODEL = RidgeRanker().fit(FRAME, Y, qid=QID)
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 5e-324])
PAIR = explain_pair(MODEL, FRAME[:1], FRAME[1:2])
SUMMARY = summarize_rows(FRAME, QID, estimator=MODEL)
LOG = ClickLog.from_columns(
    query=[BAD, BAD, "r", "r"] * 5,
    document=["d", BAD, "d", "e"] * 5,
    place=[1, 2, 2, 1] * 5,
    click=[1, 0, 0, 1, 0] * 4,
    session=[f"{BAD}{i // 4}" for i in range(20)],
)
VALUES = {f"{BAD}{i}": RNG.random(20) for i in range(12)}
GAPS = {
    name: np.where(np.arange(20) < 3 * (name[-1] == "1"), np.nan, v) for name, v in VALUES.items()
}
CODED = RankingData(
    np.c_[[0.0, np.nan, 1.0], X[:3, :2]],
    [1.0, np.nan, 0.0],
    qid=["q", "q", "q"],
    feature_names=["colour", "b", "c"],
    categories={0: np.array([BAD, "red"])},
    judged=np.array([True, False, True]),
)
FAILED = compare(["ridge"], replace(DATA, y=np.full(60, 1.0)), cv=2, measures="AP")

SHOWN = {
    "board": lambda: leaderboard(VALUES),
    "board with gaps": lambda: leaderboard(GAPS, missing="pairs"),
    "board of one": lambda: leaderboard({BAD: VALUES[f"{BAD}0"]}),
    "board of equals": lambda: leaderboard({BAD: np.ones(9), "b": np.ones(9)}),
    "board of huge values": lambda: leaderboard({BAD: np.full(9, 1e99), "b": np.arange(9.0)}),
    "board without values": lambda: FAILED,
    "evaluation": lambda: evaluate(Y, MODEL.predict(FRAME), QID, ["AP", "nDCG@3"]),
    "evaluation of nothing": lambda: evaluate([0, 0], [1.0, 2.0], [0, 0], ["AP", "MRR"]),
    "ranking": lambda: explain_ranking(MODEL, FRAME, QID),
    "scores": lambda: explain_scores(MODEL, FRAME, FRAME[:9]),
    "pair": lambda: PAIR,
    "pair of odd values": lambda: replace(PAIR, values=np.resize(ODD, 300)),
    "effect": lambda: feature_effect(MODEL, FRAME, QID, 0),
    "importances": lambda: feature_importances(MODEL),
    "permutation": lambda: permutation_importances(MODEL, FRAME, Y, QID, n_repeats=2),
    "odd importances": lambda: FeatureImportances(NAMES[:7], ODD, BAD),
    "importances without features": lambda: FeatureImportances(["a", "b"], np.zeros(2), BAD),
    "lint": lambda: lint(replace(DATA, X=np.ones((60, 300)))),
    "lint without findings": lambda: lint(RankingData(X[:, :2], Y, qid=np.repeat(range(6), 10))),
    "summary": lambda: SUMMARY,
    "drift": lambda: find_drift(SUMMARY, FRAME * np.nan, QID, estimator=None),
    "paired test": lambda: significance.paired_test(*list(VALUES.values())[:2]),
    "equal pairs": lambda: significance.paired_test(np.ones(9), np.ones(9)),
    "comparisons with the best": lambda: significance.compare_to_best(VALUES, n_resamples=99),
    "no regressions": lambda: find_regressions(leaderboard(VALUES, baseline=f"{BAD}0")),
    "clicks": lambda: LOG,
    "click summary": LOG.summary,
    "judgements": lambda: judge_clicks(LOG),
    "comparisons": lambda: Comparisons.from_pairs([[BAD, "b"]] * 40, ["first", "tie"] * 20),
    "orders": lambda: Orders.from_lists([[BAD, ("b", "c")]] * 40),
    "plan": lambda: plan(RidgeRanker(alpha=1.0), (X, Y, QID)),
    "data": lambda: DATA,
    "sparse data": lambda: replace(DATA, X=sparse.csr_array(X)),
    "data with categories": lambda: CODED,
    "data with odd values": lambda: RankingData(np.tile(ODD, (3, 1)), [0, 1, 2], qid=[0, 0, 0]),
    "empty data": lambda: DATA.take(np.arange(0)),
    "odd columns": lambda: ResultColumns(item=[BAD] * 8, value=[*ODD, None]),
    "no columns": lambda: ResultColumns(),
    "empty list": lambda: ResultList(significance.Comparison),
    "no rows": lambda: ResultList(dict),
}  # fmt: skip
COLOURS = re.compile(r"(?:color|background|fill|stroke|border[a-z-]*) ?[:=] ?\"?([^;\"!]+)")


@pytest.mark.parametrize("name", SHOWN)
def test_tables_are_short_safe_and_without_colours(name):
    shown = SHOWN[name]()
    assert isinstance(shown, NotebookTable)
    short, page = repr(shown), shown._repr_html_()
    assert len(short) < 500 and "\n" not in short and "\x1b" not in short
    parts = ET.fromstring(page)  # whatever a name holds, it is text
    assert {part.tag for part in parts.iter()} <= {
        *("div", "style", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"),
        *("svg", "line", "circle"),
    }
    for part in parts.iter():
        assert not any(name.startswith("on") or name == "href" for name in part.attrib)
        for what in ("x1", "x2", "cx"):
            assert 0 <= float(part.get(what, 0)) <= 120
    for found in COLOURS.findall(page.split("</style>")[0]):
        assert found.strip() in (
            "inherit",
            "none",
            "currentColor",
            "collapse",
            "1px solid currentColor",
        )
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb\(", page.split("</style>")[0])
    widths = {len(row) for row in parts.iter("tr")}
    assert len(widths) <= 1 and len(page) < 60_000


@pytest.mark.parametrize(
    "shown",
    [
        SideTables(age=X[:, 0], year=X[:, 1], flags=X > 0.5),
        Fold(DATA, None, DATA),
        FoldedData(BAD, tuple(NAMES), lambda i: Fold(DATA, DATA, DATA)),
        MultiLabelData(X, (X > 0.5).astype(int), tuple(NAMES), tuple(NAMES), BAD),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_short_data(shown):
    assert len(repr(shown)) < 500
    assert "\n" not in repr(shown)


def drawn(shown):
    rows = [row for row in ET.fromstring(shown._repr_html_()).iter("tr") if row[0].tag == "td"]
    return [[dict(shape.attrib) for shape in row.iter() if "y1" in shape.attrib] for row in rows]


def test_bars_start_at_zero_and_grow_with_the_value():
    names = ["a", "b", "c", "d"]
    found = FeatureImportances(names, np.array([4.0, 2.0, 1.0, 0.0]), "shares")
    bars = [bar for (bar,) in drawn(found)]
    assert [(float(bar["x1"]), float(bar["x2"])) for bar in bars] == [
        (4.0, 116.0), (4.0, 60.0), (4.0, 32.0), (4.0, 4.0),
    ]  # fmt: skip
    two = replace(PAIR, names=["a", "b"], values=np.array([-1.0, 1.0]), row_a=[0, 0], row_b=[1, 1])
    (left,), (right,) = drawn(two)
    assert left["x1"] == right["x1"] == "60.0" and (left["x2"], right["x2"]) == ("4.0", "116.0")


def test_intervals_have_the_scale_of_the_table():
    board = leaderboard(VALUES)
    rows = board.rows()
    ends = [row[end] for row in rows for end in ("low", "high")]
    low, high = min(ends), max(ends)
    for row, ((line),) in zip(rows, drawn(board), strict=True):
        for end, name in (("low", "x1"), ("high", "x2")):
            assert float(line[name]) == pytest.approx(
                4 + 112 * (row[end] - low) / (high - low), abs=0.06
            )


def test_the_plan_counts_what_it_knows():
    job = plan(RidgeRanker(alpha=1.0), (X, Y, QID))
    page = ET.fromstring(job._repr_html_())
    assert page.find("p/strong").text == "Plan to fit RidgeRanker on partitions"
    assert [cell.text for cell in next(page.iter("tr"))] == ["next step", "sums"]


def test_data_show_their_first_rows():
    rows = [[cell.text for cell in row] for row in ET.fromstring(CODED._repr_html_()).iter("tr")]
    assert rows[0] == ["qid", "y", "colour", "b", "c"]
    assert [row[1:3] for row in rows[1:]] == [["1", rows[1][2]], ["nan", None], ["0", "red"]]
    assert rows[1][2].startswith("<script>")
    page = DATA._repr_html_()
    assert "50 more rows</p>" in page and "to_frame" not in page
    assert len(next(ET.fromstring(page).iter("tr"))) == 12  # qid, y, a score, 8 features, …
    rows = [[cell.text for cell in row] for row in ET.fromstring(LOG._repr_html_()).iter("tr")]
    assert rows[0] == ["session", "query", "document", "place", "click"] and len(rows) == 11


def test_lint_without_findings_shows_the_data():
    page = ET.fromstring(SHOWN["lint without findings"]()._repr_html_())
    lines = [line.text for line in page.findall("p")]
    assert lines[1].startswith("data: 60 rows, 6 queries, 2 features; rows by label: 0: 12, 1: 12")
    assert lines[-1] == "No rows."


def test_drift_says_yes_or_no():
    column = find_drift(SUMMARY, FRAME, QID).columns[0]
    columns = [replace(column, has_moved=True), column]
    moved = DriftReport(columns, [], 0.95)
    assert {row[6].text for row in ET.fromstring(moved._repr_html_()).iter("tr")} == {
        "has_moved", "yes", "no"
    }  # fmt: skip
    assert moved.to_dict()["columns"][0]["has_moved"] is True


def test_features_with_names_of_other_columns_hide_no_labels():
    X = np.array([[7.0, 8.0]])
    data = RankingData(X, [2], qid=[1], feature_names=["y", "qid"])
    shown, _ = data._first_rows(1)
    assert {name: list(column) for name, column in shown.items()} == {
        "qid": [1], "y": [2], "y (feature)": [7.0], "qid (feature)": [8.0],
    }  # fmt: skip
