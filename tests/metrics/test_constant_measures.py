"""Measures that are the same for every order of the rows: grades from 1 up, and one grade only."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

import rankwise
from rankwise import RankingData, RidgeRanker, compare, evaluate
from rankwise.datasets import Run, lint
from rankwise.metrics import UndefinedMeasureWarning, parse
from rankwise.metrics.default import why_constant
from rankwise.rankers import evaluate_stream
from rankwise.selection import evaluate_systems
from rankwise.streams import stream

BINARY = ["AP", "P@5", "RR", "R@5", "Rprec", "Success@1", "RBP", "AP(rel=0)"]
NOTE = r"AP: every order of the rows has the same value.* \(labels are 1 to 5\): set AP\(rel=3\)"


@pytest.fixture
def stars():
    """Twelve queries of ten rows, rated by 1 to 5 stars."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 3)), np.arange(120) // 10
    y = np.clip(np.round(X[:, 0] + rng.normal(size=120) + 3), 1, 5)
    y[:10] = np.tile([1, 2, 3, 4, 5], 2)
    return X, y, qid


@pytest.mark.parametrize("spec", BINARY)
def test_every_row_is_relevant(stars, spec):
    X, y, qid = stars
    with pytest.warns(
        UndefinedMeasureWarning, match=r"every row is relevant at rel=.*: set .*rel=3"
    ):
        result = evaluate(y, X[:, 0], qid, spec)
    with pytest.warns(UndefinedMeasureWarning):
        assert result[spec] == evaluate(y, -X[:, 0], qid, spec)[spec]
    fixed = str(replace(parse(spec), rel=3))
    assert evaluate(y, X[:, 0], qid, fixed)[fixed] != evaluate(y, -X[:, 0], qid, fixed)[fixed]


def test_a_single_grade(stars):
    X, y, qid = stars
    for spec in ("nDCG@10", "ERR@5", "DCG", "AP"):
        with pytest.warns(
            UndefinedMeasureWarning, match=f"{spec}: every order .* all labels are 2"
        ):
            evaluate(np.full(len(y), 2), X[:, 0], qid, spec)


@pytest.mark.parametrize(
    "case", ["zeros", "unjudged", "threshold", "gains", "one query of one grade", "no labels"]
)
def test_no_false_alarm(stars, case):
    X, y, qid = stars
    words, spec, rows = {}, "AP", slice(None)
    if case == "zeros":
        y[3] = 0
    elif case == "unjudged":  # counts as not relevant
        words["judged"] = np.arange(len(y)) != 3
    elif case == "threshold":
        spec = "AP(rel=2)"
    elif case == "gains":
        spec = "nDCG@10"
    elif case == "one query of one grade":  # such as a fold
        rows, y = slice(10), np.ones(len(y))
    else:
        spec, y = "Misranking", y + 0.5
    evaluate(y[rows], X[rows, 0], qid[rows], spec, **words)


def test_runs_against_judgements_of_relevant_documents():
    """The usual qrels: unjudged documents count as not relevant, and a run may find no others."""
    for grades in (1, 2), (1, 1):
        qrels = {q: {"d1": grades[0], "d2": grades[1]} for q in ("q1", "q2")}
        for documents in (("d1", "d9"), ("d1",), ("d1", "d2", "d9")):
            run = {q: {d: 0.5 - 0.1 * i for i, d in enumerate(documents)} for q in ("q1", "q2")}
            evaluate(qrels, run, ["AP", "P@1"])
            board = evaluate_systems(qrels, {"a": run, "b": run}, measures=["AP"])
            assert not any("every order" in note for row in board.rows() for note in row["notes"])
    perfect = {"q1": {"d1": 0.9, "d2": 0.5}}
    evaluate({"q1": {"d1": 1, "d2": 1}}, perfect, ["AP"])


def test_runs_over_rated_documents(stars):
    """Runs that rank all rated documents, and no others."""
    X, y, qid = stars
    ids = np.array([f"d{i}" for i in range(len(y))])
    data = RankingData(X, y, qid=qid.astype(str), doc_ids=ids)
    runs = {name: Run(data.qid, ids, X[:, j]) for j, name in enumerate("ab")}
    board = evaluate_systems(data, runs, measures=["AP", "nDCG@10"])
    assert [note for note in board.rows()[0]["notes"] if note.startswith("AP: every order")]
    with pytest.warns(UndefinedMeasureWarning, match=NOTE):
        evaluate(data, runs["a"], ["AP"])


def test_comparisons_and_boards_say_so(stars):
    X, y, qid = stars
    data = RankingData(X, y, qid=qid)
    board = compare(["ridge"], data, measures=["AP", "nDCG@10"], isolate=False, cv=3)
    told = str(board)
    assert "AP: every order of the rows has the same value" in told
    assert "set AP(rel=3)" in told
    assert "parameters are chosen by nDCG@10, as AP cannot choose them" in told
    expected = compare(["ridge"], data, measures=["nDCG@10"], isolate=False, cv=3)
    for one, other in zip(board.cells, expected.cells, strict=True):
        assert one.chosen == other.chosen
    with pytest.raises(ValueError, match=r"Parameters cannot be chosen by .*: set AP\(rel=3\)"):
        compare(["ridge"], data, measures=["nDCG@10"], select_by="AP", isolate=False, cv=3)
    board = evaluate_systems(data, {"a": X[:, 0], "b": X[:, 1]}, measures=["AP", "nDCG@10"])
    notes = [note for note in board.rows()[0]["notes"] if "every order" in note]
    assert len(notes) == 1 and notes[0].startswith("AP")
    assert "every order" not in str(
        compare(["ridge"], data, isolate=False, cv=3, measures="nDCG@10")
    )


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("RidgeRanker", {"alpha": "cv"}),
        ("RankSVM", {"C": "cv"}),
        ("RankSVM", {"C": [0.1, 1.0]}),
        ("PairwiseELM", {"C": "val", "n_nodes": 5}),
        ("RankLR", {"C": "cv"}),
        ("RankRLS", {"alpha": "cv"}),
        ("LambdaMART", {"n_estimators": 3}),
        ("LambdaMART", {"n_estimators": 3, "objective": "logistic", "early_stopping_rounds": 2}),
        ("RankBoost", {"n_estimators": 3, "early_stopping_rounds": 2}),
        ("McRank", {"n_estimators": 3}),
        ("AdaRank", {}),
        ("CoordinateAscent", {}),
        ("AutoRanker", {"n_trials": 2, "cv": 2}),
        ("StackingRanker", {"estimators": ["linear_regression", "ridge"], "cv": 2}),
    ],
)
def test_nothing_is_chosen_by_a_constant_measure(stars, name, params):
    X, y, qid = stars
    validation = {}
    if "val" in params.values() or "n_estimators" in params:
        validation = {"X_val": X[60:], "y_val": y[60:], "qid_val": qid[60:]}
    ranker = getattr(rankwise, name)(measure="AP", **params)
    with pytest.raises(ValueError, match=r"cannot be chosen by .*: set AP\(rel=3\)"):
        ranker.fit(X[:60], y[:60], qid=qid[:60], **validation)


def test_searches_of_scikit_learn_warn(stars):
    X, y, qid = stars
    ranker = RidgeRanker(measure="AP")
    search = GridSearchCV(ranker, {"alpha": [0.1, 1]}, cv=2)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.warns(UndefinedMeasureWarning, match=NOTE),
    ):
        search.fit(X, y, qid=qid)


def test_parts_of_a_stream_say_nothing(stars):
    X, y, qid = stars
    y[60:] -= 1
    ranker = RidgeRanker().fit(X, y, qid=qid)
    rows = stream([(X[:60], y[:60], qid[:60]), (X[60:], y[60:], qid[60:])])
    evaluate_stream(ranker, rows, ["AP"])
    rows = stream([(X[:60], y[:60], qid[:60])])
    with pytest.warns(UndefinedMeasureWarning, match=NOTE):
        evaluate_stream(ranker, rows, ["AP"])


@pytest.mark.parametrize(
    ("labels", "level"),
    [
        (lambda y: y, "error"),
        (lambda y: np.minimum(y, 2), "error"),
        (lambda y: y - 1, None),
        (lambda y: y + 0.5, None),  # targets of a regression
        (lambda y: 100 * y, None),  # counts
    ],
)
def test_lint(stars, labels, level):
    X, y, qid = stars
    report = lint(RankingData(X, labels(y), qid=qid))
    found = [f for f in report.rows if f.what.startswith("labels that start at 1")]
    assert [f.level for f in found] == ([] if level is None else [level])
    if level == "error":
        assert not report.ok
        assert f"set rel={np.median(np.unique(labels(y)) + 0.1):.0f}" in found[0].note


def test_the_only_judgement_of_a_measure_without_threshold():
    y = np.array([1.0, 2.0])
    assert why_constant(parse("MAE"), y) is None
    assert why_constant(parse("Tau"), y) is None
    assert why_constant(parse("Judged@10"), np.ones(2)) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(y, y, None, ["MAE", "Tau", "Pearson"])
