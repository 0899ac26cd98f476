"""Every result: frames, dicts, JSON, text, HTML and short reprs from one base."""

import importlib
import inspect
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import is_dataclass

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from rankwise import RidgeRanker, compare, evaluate, leaderboard
from rankwise._registry import REGISTRY
from rankwise.clicks import ClickLog, InterleavingTest, OffPolicyEstimate, Propensities, interleave
from rankwise.clicks import judgements as judge_clicks
from rankwise.datasets import Fold, Qrels, RankingData, Run, judge, lint, summarize_rows
from rankwise.decisions import (
    AnswerRule,
    CutRule,
    PolicyCost,
    RerankSignal,
    compare_weights,
    label_budget,
    list_scores,
    rerank_budget,
)
from rankwise.distributed import plan
from rankwise.explain import (
    explain_pair,
    explain_ranking,
    explain_scores,
    feature_effect,
    feature_importances,
    permutation_importances,
)
from rankwise.export import ParityCertificate
from rankwise.export.verification import RowDifference
from rankwise.fusion import JudgementCurve, pool_runs
from rankwise.metrics import (
    calibration,
    confusion,
    evaluate_labels,
    kappa_interval,
    relevance_calibration,
)
from rankwise.metrics import significance as tests_of
from rankwise.preferences import Comparisons, Orders, rank_simultaneously
from rankwise.runtime import renames
from rankwise.runtime.result import BACKENDS, Result, ResultColumns, ResultList
from rankwise.selection import (
    LearningCurve,
    Tuned,
    bias_by_length,
    bias_by_rank,
    difference_bounds,
    evaluate_systems,
    evaluate_with_judge,
    find_drift,
    find_regressions,
    next_judgements,
)
from rankwise.selection.leaderboard import how_adjusted
from rankwise_papers.framework import Figure, Outcome, Reproduction, ResultTable, Series, Value

BAD = "<script>alert('&')</script>"
RNG = np.random.default_rng(0)
X, QID = RNG.random((40, 3)), np.repeat(["q1", BAD, "q3", "q4"], 10)
Y = (X[:, 0] * 3).astype(int)
DATA = RankingData(np.c_[X[:, :2], np.ones(40)], Y, qid=QID, feature_names=(BAD, "b", "c"))
FRAME = pd.DataFrame(X, columns=[BAD, "b", "c"])
MODEL = RidgeRanker().fit(FRAME, Y, qid=QID)
TABLE = {BAD: RNG.random(20) / 4, "new": RNG.random(20) / 4, "now": 0.5 + RNG.random(20) / 4}
BOARD = leaderboard(TABLE, baseline="now")
RUNS = {
    BAD: {q: {f"d{i}": i + 0.5 for i in range(4)} for q in "pqrst"},
    "b": {q: {f"d{i}": 0.5 - i for i in range(4)} for q in "pqrst"},
}
HUMAN = {q: {"d0": k % 2, "d1": 1, "d2": 0} for k, q in enumerate("pqr")}
MACHINE = {q: {f"d{i}": (i + k) % 2 for i in range(4)} for k, q in enumerate("pqrst")}
LOG = ClickLog.from_columns(
    query=[BAD, BAD, "r", "r"] * 5,
    document=["d1", "d2", "d3", "d4"] * 5,
    place=[1, 2, 2, 1] * 5,
    click=[1, 0, 0, 1, 0, 1, 1, 0, 1, 1] * 2,
)
GAMES = Comparisons.from_pairs([[BAD, "b"], ["b", "c"], ["c", BAD]], ["first", "tie", "second"])
ORDERS = Orders.from_lists([[BAD, ("b", "c")], ["c", "b"]])
GRAM = 3.0 * np.eye(3)
CALIBRATED = calibration(RNG.integers(0, 3, 40), RNG.dirichlet([1, 1, 1], 40))
REPEATS = np.arange(6.0).reshape(2, 3)
VALUE = Value(BAD, "AP", ours=0.5, paper=0.4, tolerance=0.2)
SERIES = Series(BAD, [1, 2], [0.1, 0.2])
FIGURE = Figure("f", BAD, "x", "y", [SERIES])
OUTCOME = Outcome(BAD, "done", 0.5, 1.0)
DIFFERENCE = RowDifference(3, 0.1, 0.2, BAD)
CERTIFICATE = ParityCertificate(BAD, "me", 3, 1, 5, 0.1, 1e-6, 0, 0, 1, DIFFERENCE)
SUMMARY = summarize_rows(FRAME, QID, estimator=MODEL)
BOUNDS = difference_bounds(HUMAN, RUNS, "P@3")
LENGTHS = {f"d{i}": 10.0 * 2**i for i in range(4)}
DRIFT = find_drift(SUMMARY, FRAME + 5, QID, estimator=MODEL)
REPORT = lint(DATA)
BIAS = bias_by_length(HUMAN, MACHINE, LENGTHS)
BY_RANK = bias_by_rank(HUMAN, MACHINE, RUNS)
JUDGED = evaluate_with_judge(HUMAN, MACHINE, RUNS, "P@3")
EVALUATED = evaluate(Y, MODEL.predict(FRAME), QID, ["AP", "nDCG@3"])
COMPARED = tests_of.compare_to_best(TABLE, n_resamples=99)
ANSWERS = AnswerRule(at_most=0.9).fit([1.0, 2.0, 3.0], [0, 1, 1], [BAD, "p", "q"])
CUTS = CutRule(at_least=0.5, confidence_level=None).fit(X[:, 0], Y > 0, QID)
AUDIT = evaluate_systems(HUMAN, RUNS, measures="P@3", baseline="b", train={"p": HUMAN["q"]}).memory
SIGNALS = pd.DataFrame({BAD: np.tile([0.1, 0.9], 12), "q": np.repeat(np.arange(12), 2)})
WEIGHTS = compare_weights(SIGNALS.assign(label=np.tile([0, 1], 12)), {BAD: 1.0}, n_resamples=0)

# Every result of a public function, and every record that one holds.
RESULTS = [
    BOARD,
    BOARD.cells[0],
    EVALUATED,
    evaluate(qrels=HUMAN, run=RUNS[BAD], measures="P@3", judge=MACHINE),
    evaluate_labels([[1, 0], [0, 1]], [[0.1, 0.3], [0.2, 0.4]]),
    confusion([BAD, "b", "b"], [BAD, BAD, "b"], [BAD, "b"]),
    kappa_interval(Y, Y[::-1]),
    CALIBRATED,
    CALIBRATED.lines[0],
    relevance_calibration(Y, X[:, 0], QID),
    tests_of.paired_test(TABLE[BAD], TABLE["now"]),
    tests_of.average_ranks(TABLE),
    COMPARED,
    COMPARED[0],
    tests_of.RunErrors(np.ones(2), np.ones(2)),
    tests_of.rank_intervals(np.tri(3, k=-1, dtype=bool)),
    tests_of.bootstrap_interval(RNG.normal(size=60), n_resamples=99),
    tests_of.prediction_powered_mean([0.1, 0.4, 0.2], [0.3, 0.5, 0.2], [0.3, 0.4]),
    JUDGED,
    BIAS,
    BIAS.groups[0],
    BY_RANK,
    BY_RANK[0],
    AUDIT,
    AUDIT.rows[0],
    BOUNDS,
    BOUNDS[0],
    next_judgements(HUMAN, RUNS, "P@3"),
    find_regressions(BOARD),
    SUMMARY,
    SUMMARY.columns["b"],
    DRIFT,
    DRIFT.columns[0],
    REPORT,
    REPORT.rows[0],
    REPORT.parts[0],
    LearningCurve(np.array([5, 10]), [BOARD, BOARD]),
    Tuned(MODEL, {"alpha": 1.0}, [{"params": {BAD: 1.0, "kernel": BAD}, "score": 0.5}]),
    LOG.summary(),
    GAMES,
    ORDERS,
    judge_clicks(LOG),
    Propensities(np.arange(3), np.ones(3), np.ones(3), np.array([1, np.nan, 2]), "em", 0.95, [BAD]),
    OffPolicyEstimate(0.1, 0.0, 0.2, 5.0, 2.0, 9, 0.1, "CTR", BAD, 0.95),
    interleave(*RUNS.values(), names=[BAD, "b"], random_state=0),
    InterleavingTest((BAD, "b"), *np.arange(5.0).tolist(), *range(5), 0.0, 1.0, 0.95, 1.0, 2.0, []),
    list_scores([1.0, 2.0], [0, 1], [BAD, "q"]),
    ANSWERS.report_,
    ANSWERS.decide([1.0, 2.0], [BAD, "q"]),
    CUTS.report_,
    PolicyCost(BAD, *np.arange(4.0).tolist()),
    CUTS.decide([1.0, 2.0], [BAD, "q"]),
    WEIGHTS,
    rerank_budget(RUNS[BAD], RUNS["b"], HUMAN, price=1.0),
    RerankSignal(BAD, *np.arange(7.0).tolist()),
    label_budget(X[:, 0], X[:, 1], DATA, sizes=[2], cv=2),
    explain_pair(MODEL, FRAME[:1], FRAME[1:2]),
    explain_ranking(MODEL, FRAME, QID),
    explain_scores(MODEL, FRAME, FRAME[:9]),
    feature_effect(MODEL, FRAME, QID, 0),
    feature_importances(MODEL),
    permutation_importances(MODEL, FRAME, Y, QID, n_repeats=2),
    CERTIFICATE,
    DIFFERENCE,
    JudgementCurve(np.array([5, 10]), REPEATS, REPEATS - 1, "AP", BAD),
    pool_runs(RUNS),
    rank_simultaneously(np.arange(3.0), GRAM, random_state=0),
    ResultColumns(rank=np.array([1, 2]), item=np.array([BAD, "b"])),
    Qrels(np.array([BAD, "q"]), np.array(["d", "e"]), np.array([1, 0])),
    Run(np.array([BAD, "q"]), np.array(["d", "e"]), np.array([1.0, 0.5])),
    judge(HUMAN, RUNS[BAD]),
    Reproduction("k", BAD, "p", True, "t", [OUTCOME], [ResultTable("t", BAD, [VALUE])], [FIGURE]),
    ResultTable("t", BAD, [VALUE]),
    VALUE,
    OUTCOME,
    SERIES,
    FIGURE,
]
PACKAGES = (
    "clicks", "datasets", "decisions", "distributed", "experiments", "explain", "export", "fusion",
    "labels", "metrics", "metrics.significance", "preferences", "rankers", "report", "selection",
    "text", "trees",
)  # fmt: skip
# What functions return to be passed on: rows, result lists' sources, models' parts and plans.
DATA_OBJECTS = {
    "ClickLog", "ClassCosts", "CysticFibrosis", "Fold", "FoldedData", "Measure",
    "MultiLabelData", "OrdinalData", "Plan", "QsarData", "RankingData", "Ratings",
    "RowStream", "SideTables", "Statistics", "TextCollection", "ImportedBooster",
}  # fmt: skip


def name_of(result):
    return type(result).__name__


every_result = pytest.mark.parametrize("result", RESULTS, ids=name_of)


def subclasses(kind):
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def test_the_list_is_complete():
    own = {kind for kind in subclasses(Result) if kind.__module__.startswith("rankwise")}
    shown = {type(result) for result in RESULTS}
    missing = own - shown - {base for kind in shown for base in kind.__bases__}
    assert {kind.__name__ for kind in missing} <= {"MeanValues", "PermutationImportances"} - {
        kind.__name__ for kind in shown
    }
    assert len(shown) >= 55


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_return_results(package):
    module = importlib.import_module(f"rankwise.{package}")
    for name in module.__all__:
        function = getattr(module, name)
        if not inspect.isfunction(function):
            continue
        said = str(inspect.signature(function).return_annotation)
        kind = getattr(inspect.getmodule(inspect.unwrap(function)), said, None)
        if inspect.isclass(kind) and (is_dataclass(kind) or issubclass(kind, tuple | dict)):
            assert issubclass(kind, Result) or said in DATA_OBJECTS, (name, said)


@every_result
@pytest.mark.parametrize("backend", BACKENDS)
def test_frames(result, backend):
    frame = nw.from_native(result.to_frame(backend), eager_only=True)
    assert nw.get_native_namespace(frame).__name__ == backend
    assert len(frame) >= 1 and len(frame.columns) >= 1


@every_result
def test_dicts_and_json(result, tmp_path):
    found = result.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert json.loads(result.to_json()) == found
    assert result.to_json(tmp_path / "r.json") is None
    assert json.loads((tmp_path / "r.json").read_text("utf-8")) == found


@every_result
def test_texts(result):
    assert str(result).strip() and len(repr(result)) < 500
    page = result._repr_html_()
    table = ET.fromstring(page).find("table")
    widths = {len(row) for row in table.iter("tr")}
    assert len(widths) == 1 and "<script" not in page
    # Legible on light and dark pages: no colour is set but that of the text around.
    assert (
        set(re.findall(r"color: (\w+)", page)) == {"inherit"}
        and "#" not in page.split("</style>")[0]
    )


ONE_CLASS = confusion([0, 0], [0, 1], [0, 1])
HEADINGS = {
    "Confusion": (ONE_CLASS, "Confusion of 2 rows: MAE 0.5000, accuracy 0.5000"),
    "Calibration": (CALIBRATED, "Calibration of 40 rows: mean error"),
    "FeatureEffect": (
        feature_effect(MODEL, FRAME, QID, 0, n_points=3),
        f"Share of documents outranked by {BAD}: mean and middle half over queries, n = 4",
    ),
    "Propensities": (
        Propensities(np.arange(2), np.ones(2), np.ones(2), np.array([1, np.nan]), "em", 0.9),
        "Examination relative to place 1, by em: estimates and 90% intervals",
    ),
    "JudgementCurve": (
        JudgementCurve(np.array([5, 10]), REPEATS, REPEATS - 1, "AP", "rrf"),
        "AP, baseline rrf; gain with the middle 95 % of the draws",
    ),
    "LearningCurve": (LearningCurve(np.array([5, 10]), [BOARD, BOARD]), "score"),
    "PairExplanation": (explain_pair(MODEL, FRAME[:1], FRAME[1:2]), "score 1.379 against 0.04082"),
    "ScoreExplanation": (explain_scores(MODEL, FRAME, FRAME[:9]), "expected score 0.9908"),
    "Judgements": (judge_clicks(LOG), "4 pairs, 2 queries, ctr; 95% intervals"),
    "RowSummary": (SUMMARY, "40 rows, 4 queries, 3 columns"),
    "Leaderboard": (BOARD, "data: 20 units, ordered by score"),
    "EvaluationResult": (EVALUATED, "EvaluationResult of 4 queries"),
    "EvaluationResult, two judges": (
        evaluate(qrels=HUMAN, run=RUNS[BAD], measures="P@3", judge=MACHINE),
        "EvaluationResult of 3 queries with human and machine judgements, 2 with those of the",
    ),
    "Comparisons": (GAMES, "3 comparisons of 3 items"),
    "Orders": (ORDERS, "2 orders of 3 items"),
    "LogSummary": (LOG.summary(), "20 impressions, 12 clicks, no sessions"),
    "LintReport": (REPORT, "Lint of data: 0 errors, 1 warning"),
    "DriftReport": (DRIFT, "0 of 4 columns have moved (Rao-Scott tests"),
}


@pytest.mark.parametrize("name", HEADINGS)
def test_headings_say_what_the_columns_cannot(name):
    result, heading = HEADINGS[name]
    assert str(result).splitlines()[0].startswith(heading)
    title = ET.fromstring(result._repr_html_()).find("p/strong")
    assert title.text.startswith(heading)


def test_leaderboards_show_what_their_text_says():
    values = {name: column.copy() for name, column in TABLE.items()}
    values["new"][:4] = np.nan
    board = leaderboard(values, missing="pairs")
    page = ET.fromstring(board._repr_html_())
    header = [cell.text for cell in page.iter("th")]
    assert header == [None, "system", "score", None, "adjusted", "ranks"]
    _heading, *lines = [line.text for line in page.findall("p")]
    assert lines[:-1] == board.verdict().splitlines()
    assert lines[-1].startswith("Means over 20 units") and how_adjusted(board) in lines[-1]
    close = leaderboard({"a": TABLE[BAD], "b": TABLE[BAD] + [0.1, -0.1] * 10})
    lines = [line.text for line in ET.fromstring(close._repr_html_()).findall("p")]
    [intervals] = (
        line for line in lines if line and line.startswith("Differences to the best with p >=")
    )
    assert intervals in str(close)


@pytest.mark.parametrize(
    "board, said",
    [
        (BOARD, "<Leaderboard of 3 systems on 20 units, best by score: now>"),
        (
            compare(["ridge"], DATA, cv=2, measures="AP"),
            "<Leaderboard of 1 ranker on 4 queries in 2 folds, best by AP: ridge>",
        ),
        (
            compare(["ridge"], Fold(DATA, DATA, DATA), measures="AP"),
            "<Leaderboard of 1 ranker on 4 queries in 1 fold, best by AP: ridge>",
        ),
    ],
    ids=["table", "folds", "fold"],
)
def test_short_leaderboards(board, said):
    assert repr(board) == said


def test_short_leaderboards_of_long_names():
    board = leaderboard({"a\n" * 500: TABLE["now"], "b": TABLE["new"]})
    assert len(repr(board)) < 500 and "\n" not in repr(board)


def test_plans_are_short():
    estimator = RidgeRanker(alpha=1.0)
    rows = (RNG.random((20, 300)), np.arange(20), np.repeat([0, 1], 10))
    assert repr(plan(estimator, rows)) == "Plan(RidgeRanker, stage='sums')"


def test_preferences_name_their_items():
    assert GAMES.to_frame("pandas")["winner"].tolist() == [BAD, "tie", BAD]
    frame = ORDERS.to_frame("pandas")
    assert frame["item"].tolist() == [BAD, "b", "c", "c", "b"]
    assert (
        frame["place"].tolist() == [1, 2, 2, 1, 2] and frame["order"].tolist() == [0] * 3 + [1] * 2
    )


def test_frames_name_statistics_alike():
    board, records = BOARD.to_frame("pandas"), COMPARED.to_frame("pandas")
    shared = ["difference", "difference_low", "difference_high", "p_value", "p_corrected", "effect"]
    assert {*shared} <= {*records} and {f"score {name}" for name in shared} <= {*board}


@pytest.mark.parametrize("entry", REGISTRY.values(), ids=REGISTRY)
def test_estimators_link_to_their_page(entry):
    module, _, name = entry.path.partition(":")
    own = getattr(importlib.import_module(module), name)
    link = own._get_doc_link(object.__new__(own))
    address = "https://rankwise.readthedocs.io/en/latest/generated/api/"
    assert link.startswith(address) and link.endswith(f".{name}.html")
    package, _, public = link.removeprefix(address).removesuffix(".html").rpartition(".")
    assert getattr(importlib.import_module(package), public) is own
    assert type("Own", (own,), {})._get_doc_link(object.__new__(type("Own", (own,), {}))) == ""


def test_undefined_numbers_are_shown_and_missing_values_are_empty():
    assert list(ONE_CLASS.to_frame("pandas")["rows"]) == [2, 0]
    assert str(ONE_CLASS).splitlines()[-1].split() == ["1", "0", "0", "0", "nan", "nan"]
    assert str(HEADINGS["Propensities"][0]).splitlines()[-1].split()[-1] == "nan"
    assert str(ResultColumns(a=[-0.0, 1.0])).splitlines()[1].split() == ["0"]
    assert str(ResultColumns(a=[1.0, None], b=["x", "y"])).splitlines()[-1].split() == ["y"]


@every_result
@pytest.mark.parametrize("name", ["text", "to_text", "as_text"])
def test_old_names(result, name):
    with pytest.raises(AttributeError, match=f"{name} is now __str__: use str"):
        getattr(result, name)


def test_old_names_of_fields(monkeypatch):
    monkeypatch.setitem(renames.PARAMETERS, "evidence", ("p_value",))
    test = tests_of.paired_test([0.1, 0.2, 0.4], [0.2, 0.1, 0.3])
    with pytest.raises(AttributeError, match="evidence is now p_value"):
        test.evidence  # noqa: B018
    with pytest.raises(AttributeError, match="'PairedTest' object has no attribute 'q_value'"):
        test.q_value  # noqa: B018
    with pytest.raises(AttributeError, match="to_table is now to_latex, to_markdown and to_csv"):
        BOARD.to_table("latex")


def test_the_library_of_frames(monkeypatch):
    result = tests_of.rank_intervals(np.zeros((2, 2), dtype=bool))
    hidden = []
    for backend in BACKENDS:
        assert type(result.to_frame()).__module__.startswith(backend)
        hidden.append(backend)
        monkeypatch.setitem(__import__("sys").modules, backend, None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        result.to_frame()
    with pytest.raises(ValueError, match="backend must be one of"):
        result.to_frame("spark")


def test_many_features_and_no_findings():
    names = [f"feature {j} with a long name" for j in range(300)]
    wide = feature_importances(RidgeRanker().fit(RNG.random((9, 300)), np.arange(9), qid=0))
    wide.names[:] = names
    assert len(repr(wide)) < 500 and "270 more rows: see to_frame()" in wide._repr_html_()
    assert len(wide.to_frame("polars")) == 300
    empty = ResultList(type(BOUNDS[0]))
    assert empty.to_frame("polars").columns == list(BOUNDS.to_frame("polars").columns)
    assert empty.to_dict() == {"rows": []} and empty == [] and str(empty)


def test_contributions_are_shown_by_document():
    many = explain_ranking(MODEL, FRAME, np.arange(40) // 2)
    for found in (
        explain_ranking(MODEL, FRAME, QID),
        explain_scores(MODEL, FRAME, FRAME[:9]),
        many,
    ):
        header, *rows = ET.fromstring(found._repr_html_()).iter("tr")
        assert header[-1].text == "largest contributions" and len(rows) == 30
        assert "10 more rows: see to_frame()" in found._repr_html_()
        texts = [[cell.text for cell in row] for row in rows]
        for text in texts:
            number = int(text[-3])
            assert text[-2] == f"{found.scores[number]:.4f}"
            largest = found.names[np.abs(found.values[number]).argmax()]
            assert text[-1].startswith(largest)
    assert str(many).splitlines()[-1] == "10 more queries: see to_frame()"


def test_contributions_are_long():
    found = explain_ranking(MODEL, FRAME, QID)
    frame = found.to_frame("pandas")
    assert list(frame) == ["query", "rank", "row", "score", "feature", "contribution"]
    assert len(frame) == X.size
    back = frame.pivot(index="row", columns="feature", values="contribution")[[BAD, "b", "c"]]
    np.testing.assert_array_equal(back.to_numpy(), found.values)
