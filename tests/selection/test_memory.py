"""The memory audit: seen queries, gains on both groups, verdicts, and folds by document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from rankwise import RankingData, RidgeRanker, compare
from rankwise.datasets import Fold, Qrels, lint
from rankwise.report.html import leaderboard_section
from rankwise.selection import (
    DocumentKFold,
    Leaderboard,
    evaluate_systems,
    memory_audit,
    query_folds,
)
from rankwise.selection.memory import compare_groups

TRAIN = {"t1": {"d1": 1, "d2": 0}, "t2": {"d3": 2}}
TEST = {
    "q1": {"d1": 1, "d4": 1},  # one of two was relevant in training
    "q2": {"d2": 1},  # judged in training, not relevant
    "q3": {"d3": 1, "d1": 2},
    "q4": {"d5": 0},  # nothing relevant
}


def rows_of(judged, **words):
    pairs = [(q, d, grade) for q, found in judged.items() for d, grade in found.items()]
    qid, doc_ids, y = (np.array(column) for column in zip(*pairs, strict=True))
    return RankingData(np.zeros((len(y), 1)), y.astype(float), qid=qid, doc_ids=doc_ids, **words)


def frame_of(judged, item="doc_id"):
    rows = rows_of(judged)
    return pd.DataFrame({"qid": rows.qid, item: rows.doc_ids, "label": rows.y})


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        (TRAIN, TEST, {}),
        (rows_of(TRAIN), rows_of(TEST), {}),
        (Qrels.from_data(rows_of(TRAIN)), TEST, {}),
        ([{"t1": TRAIN["t1"]}, {"t2": TRAIN["t2"]}], rows_of(TEST), {}),
        (frame_of(TRAIN), frame_of(TEST), {}),
        (frame_of(TRAIN, "item"), frame_of(TEST, "item"), {"doc_id": "item"}),
    ],
)
def test_seen_queries_in_all_forms(train, test, words):
    audit = memory_audit(None, train, test, **words)
    assert dict(zip(audit.qids, audit.n_relevant.tolist(), strict=True)) == {
        q: n for q, n in {"q1": 2, "q2": 1, "q3": 2, "q4": 0}.items() if q in audit.qids
    }
    assert [q for q, seen in zip(audit.qids, audit.seen, strict=True) if seen] == ["q1", "q3"]
    assert [q for q, new in zip(audit.qids, audit.unseen, strict=True) if new] == ["q2"]
    assert (audit.n_queries, audit.n_seen) == (3, 2)
    assert (audit.share_of_queries, audit.share_of_pairs) == (2 / 3, 3 / 5)


def test_an_id_may_repeat_within_a_query():
    """Users are no documents: several rows of a query have the same one."""
    train = pd.DataFrame({"qid": [1, 1, 2], "user": ["a", "a", "b"], "label": [1, 1, 0]})
    test = pd.DataFrame({"qid": [3, 3, 4], "user": ["a", "a", "b"], "label": [1, 0, 1]})
    audit = memory_audit(None, train, test, doc_id="user")
    assert audit.seen.tolist() == [True, False]


def test_which_rows_are_relevant():
    train, test = rows_of(TRAIN), rows_of({"q1": {"d3": 2, "": 2}, "q2": {"d1": 1}})
    audit = memory_audit(None, train, test, rel=2)
    assert audit.qids == ["q1"]
    assert (audit.n_relevant.tolist(), audit.n_relevant_seen.tolist()) == ([1], [1])
    missed = rows_of({"q2": {"d1": 1}})
    test = rows_of({"q1": {"d9": 1}, "q2": {"d8": 0}}, missed=missed)
    assert memory_audit(None, train, test).seen.tolist() == [False, True]
    unjudged = replace(rows_of(TRAIN), judged=np.array([False, True, True]))
    assert memory_audit(None, unjudged, TEST).seen.tolist() == [False, False, True]


def make_board(n_seen, n_unseen, gain_seen, gain_unseen, seed=0, **words):
    """Board of two systems on queries of one relevant document, whose ranks set the gains."""
    rng = np.random.default_rng(seed)
    n = n_seen + n_unseen
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(n)}
    train = {f"t{i}": {f"d{i}": 1} for i in range(n_seen)}
    chance = np.repeat([gain_seen, gain_unseen], [n_seen, n_unseen])
    runs = {}
    for name, first in (("old", np.full(n, 0.4)), ("new", 0.4 + chance)):
        hits = rng.random(n) < first
        runs[name] = {q: {f"d{i}": 2.0 if hits[i] else 0.5, "x": 1.0} for i, q in enumerate(qrels)}
    words = {"measures": ["P@1", "AP"], "baseline": "old"} | words
    return evaluate_systems(qrels, runs, train=train, **words), train, qrels


def test_gains_are_those_of_the_groups():
    board, _, _ = make_board(60, 90, 0.4, 0.1)
    audit = board.memory
    values = board.per_query("AP")
    gains = values["new"] - values["old"]
    row = next(row for row in audit.rows if row.measure == "AP")
    seen = np.array([int(q[1:]) < 60 for q in board.qids])
    assert audit.seen.tolist() == seen.tolist()
    first, second = gains[seen], gains[~seen]
    assert (row.n_seen, row.n_unseen) == (60, 90)
    np.testing.assert_allclose(
        [row.gain, row.seen, row.unseen], [gains.mean(), first.mean(), second.mean()]
    )
    welch = ttest_ind(first, second, equal_var=False)
    ends = welch.confidence_interval(0.95)
    np.testing.assert_allclose(row.p_value, welch.pvalue)
    np.testing.assert_allclose([row.difference_low, row.difference_high], [ends.low, ends.high])
    assert row.seen_low < row.seen < row.seen_high
    ordered = sorted(row.p_value for row in audit.rows)
    assert sorted(row.p_corrected for row in audit.rows) == pytest.approx(
        [2 * ordered[0], max(2 * ordered[0], ordered[1])]
    )


@pytest.mark.parametrize("sizes", [(2, 30), (4, 60), (20, 20), (50, 8)])
@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 5.0])
def test_two_groups_have_the_more_careful_of_two_tests(sizes, spread, rng):
    first, second = spread * rng.standard_normal(sizes[0]), rng.standard_normal(sizes[1]) + 0.5
    found = compare_groups(first, second, 0.9)
    tests = [ttest_ind(first, second, equal_var=equal) for equal in (True, False)]
    ends = [test.confidence_interval(0.9) for test in tests]
    expected = [
        first.mean() - second.mean(),
        min(end.low for end in ends),
        max(end.high for end in ends),
        max(test.pvalue for test in tests),
    ]
    np.testing.assert_allclose(found, expected)


def test_groups_too_small_to_compare():
    one, two, none = np.array([0.5]), np.array([0.1, 0.2]), np.array([])
    assert np.isnan(compare_groups(none, two, 0.95)).all()
    np.testing.assert_allclose(compare_groups(one, two, 0.95)[0], 0.35)
    for first, second in ((one, two), (np.zeros(3), np.zeros(4))):
        assert np.isnan(compare_groups(first, second, 0.95)[1:]).all()


@pytest.mark.parametrize(
    ("sizes", "gains", "verdict"),
    [
        ((150, 150), (0.5, 0.0), "memory"),
        ((150, 150), (0.4, 0.4), "holds"),
        ((150, 150), (0.5, 0.25), "holds"),
        ((150, 2), (0.4, 0.0), "open"),
        ((150, 0), (0.4, 0.0), "open"),
        ((150, 150), (0.0, 0.0), "no gain"),
        ((150, 150), (-0.3, 0.0), "no gain"),
    ],
)
def test_verdicts(sizes, gains, verdict):
    board, _, _ = make_board(*sizes, *gains)
    assert [row.verdict for row in board.memory.rows] == [verdict, verdict]
    warned = [line for line in board.memory.describe("P@1") if line.startswith("warning: ")]
    assert bool(warned) == (verdict in ("memory", "open"))
    assert ("mainly on seen queries" in " ".join(warned)) == (verdict == "memory")


def test_a_gain_that_unseen_queries_may_have_is_open():
    """A significant difference does not rule out a gain on the few unseen queries."""
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(175)}
    runs = {
        name: {f"q{i}": {f"d{i}": 2.0 if i < n else 0.5, "x": 1.0} for i in range(175)}
        for name, n in (("old", 0), ("new", 30))
    }
    train = dict(list(qrels.items())[:150])
    board = evaluate_systems(qrels, runs, measures="AP", baseline="old", train=train)
    (row,) = board.memory.rows
    assert row.p_corrected < 0.05 and row.gain_low > 0 and row.seen_low > 0
    assert (row.seen, row.unseen, row.verdict) == (pytest.approx(0.1), 0.0, "open")
    assert row.unseen_high > row.seen


def test_a_loss_that_is_smaller_is_a_gain():
    data = rows_of({f"q{i}": {f"d{i}": 1, f"e{i}": 0} for i in range(40)})
    train = {f"t{i}": {f"d{i}": 1} for i in range(20)}
    good = np.where(data.y > 0, 1.0, 0.0)
    board = evaluate_systems(
        data, {"new": good, "old": 1 - good}, measures="MAE", baseline="old", train=train
    )
    (row,) = board.memory.rows
    assert (row.gain, row.seen, row.unseen) == (1.0, 1.0, 1.0)


def test_frames_with_columns_of_their_own():
    rename = {"qid": "session", "doc_id": "item", "label": "clicked"}
    test = frame_of(TEST | {"q5": {"d3": 0, "d9": 1}}).rename(columns=rename)
    test["score"] = np.arange(len(test))
    board = evaluate_systems(
        test,
        {"score": "column:score"},
        label="clicked",
        qid="session",
        doc_id="item",
        train=frame_of(TRAIN).rename(columns=rename),
    )
    seen = dict(zip(board.memory.qids, board.memory.seen.tolist(), strict=True))
    assert seen == {"q1": True, "q2": False, "q3": True, "q4": False, "q5": False}
    runs = {"run": {q: dict.fromkeys(found, 1.0) for q, found in TEST.items()}}
    board = evaluate_systems(TEST, runs, doc_id="item", train=frame_of(TRAIN, "item"))
    assert board.memory.n_seen == 2


def test_text_and_files_keep_the_audit():
    board, _, _ = make_board(150, 150, 0.5, 0.0)
    audit = board.memory
    text = " ".join(str(board).split())
    assert "Memory: 150 of 300 queries (50.0%), and 50.0% of the relevant pairs, have" in text
    assert "new - old, P@1: seen queries +0." in text and "(n = " not in str(audit)
    assert "new gains in P@1 mainly on seen queries" in text and "in AP mainly" not in text
    assert "AP mainly on seen queries" in str(audit)
    read = Leaderboard.from_json(board.to_json())
    assert read.memory.to_dict() == audit.to_dict() and str(read) == str(board)
    assert any("mainly on seen queries" in note for _, note in leaderboard_section(board)["notes"])
    assert "mainly on seen queries" in board.to_markdown() and "Memory" in board.to_latex()
    frame = audit.to_frame("pandas")
    assert frame["verdict"].tolist() == ["memory", "memory"]
    assert (
        Leaderboard.from_dict(make_board(9, 9, 0, 0)[0].to_dict() | {"memory": None}).memory is None
    )


def test_a_small_share_is_one_line():
    board, _, _ = make_board(10, 290, 0.5, 0.5)
    lines = [line for line in board.memory.describe("P@1") if line]
    assert len(lines) == 1 and lines[0].startswith("Memory: 10 of 300 queries (3.3%)")


def test_notes_say_what_does_not_match():
    found = memory_audit(None, {"t": {"D1": 1}}, {"q": {"d1": 1}})
    assert "no relevant document of the test is relevant in training; check" in found.notes[0]
    found = memory_audit(None, {"q": {"d1": 1}, "p": {"d2": 1}}, {"q": {"d1": 1}, "p": {"d3": 1}})
    assert "2 test queries have the id of a training query" in found.notes[0]
    board, _, _ = make_board(20, 20, 0.1, 0.1, baseline=None)
    assert "gains are unknown without a baseline: baseline=" in board.memory.notes[0]
    assert board.memory.rows == []


def make_folds(n_queries=30, seed=0):
    """Queries of five documents of a collection of 12."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 5)
    doc_ids = np.array([str(d) for _ in range(n_queries) for d in rng.permutation(12)[:5]])
    X = rng.standard_normal((len(qid), 2))
    y = (X[:, 0] + rng.standard_normal(len(qid)) > 0.8).astype(float)
    return RankingData(X, y, qid=qid, doc_ids=doc_ids)


def test_boards_of_compare():
    data = make_folds()
    folds = query_folds(data, 3)
    words = {"measures": ["AP"], "baseline": "one", "isolate": False}
    board = compare({"ridge": RidgeRanker(), "one": "column:1"}, folds, **words)
    audit = memory_audit(board, folds)
    pairs = [(set(f.train.doc_ids[f.train.y > 0]), f.test) for f in folds]
    expected = [
        any(test.doc_ids[i] in known for i in np.flatnonzero((test.qid == q) & (test.y > 0)))
        for known, test in pairs
        for q in test.groups.ids
    ]
    assert audit.seen.tolist() == expected and audit.n_seen > 0
    assert memory_audit(board, list(folds)).to_dict() == audit.to_dict()
    # The table that compare split: validation parts are training rows, too.
    whole = memory_audit(board, data)
    assert (whole.n_relevant == audit.n_relevant).all()
    assert (whole.n_relevant_seen >= audit.n_relevant_seen).all()
    gains = board.values("ridge") - board.values("one")
    assert audit.rows[0].gain == pytest.approx(np.nanmean(gains))
    with pytest.raises(ValueError, match="train must have the folds of the leaderboard, 3, got 2"):
        memory_audit(board, list(folds)[:2])
    with pytest.raises(ValueError, match="test must not be given with folds"):
        memory_audit(board, folds, data)


@pytest.mark.parametrize(
    ("train", "test", "words", "message"),
    [
        (rows_of(TRAIN), None, {}, "test must hold the judgements of the test queries"),
        (TRAIN, {"q": {"d": 0}}, {}, r"test must have a relevant document \(grade >= 1\)"),
        (TRAIN, TEST, {"doc_id": "user"}, "doc_id names a column of a frame, but there is none"),
        ([], TEST, {}, "judgements must hold at least one source"),
        (RankingData(np.zeros((1, 1)), [1.0], qid=[1]), TEST, {}, "train must have document ids"),
        (
            Fold(rows_of(TRAIN), None, rows_of(TEST), ""),
            None,
            {},
            "train must have the folds of the leaderboard, 0, got 1",
        ),
    ],
)
def test_wrong_arguments(train, test, words, message):
    with pytest.raises(ValueError, match=message):
        memory_audit(None, train, test, **words)


def test_folds_keep_linked_queries_together():
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(60), 3)
    doc_ids = rng.integers(0, 400, len(qid)).astype(str)
    y = np.tile([1.0, 1.0, 0.0], 60)
    data = RankingData(rng.standard_normal((180, 2)), y, qid=qid, doc_ids=doc_ids)
    folds = DocumentKFold(doc_ids, 4, shuffle=True, random_state=1)
    tested = []
    for train, test in folds.split(data.X, y, qid=qid):
        assert not {*doc_ids[train][y[train] > 0]} & {*doc_ids[test][y[test] > 0]}
        assert len(train) + len(test) == 180 and not {*qid[train]} & {*qid[test]}
        tested += np.unique(qid[test]).tolist()
    assert sorted(tested) == list(range(60))
    board = compare(RidgeRanker(), data, cv=folds, measures=["AP"], isolate=False)
    assert folds.get_n_splits() == len(board.folds) == 4
    assert memory_audit(board, data).n_seen == 0


def test_purged_folds_have_no_seen_queries():
    data = make_folds()
    with pytest.raises(ValueError, match=r"link 2\d of 30 queries \(sets: \d+\). Set purge="):
        next(DocumentKFold(data.doc_ids, 3).split(data.X, data.y, qid=data.qid))
    for train, test in DocumentKFold(data.doc_ids, 3, purge=True).split(
        data.X, data.y, groups=data.qid
    ):
        relevant = {*data.doc_ids[test][data.y[test] > 0]}
        assert not relevant & {*data.doc_ids[train]} and len(train) < 100
    with pytest.raises(ValueError, match="purge=True leaves no relevant row"):
        next(DocumentKFold(["a", "a"], 2, purge=True).split([[1], [2]], [1, 1], qid=[1, 2]))
    with pytest.raises(ValueError, match=r"y must have one value per row, 150 in all"):
        next(DocumentKFold(data.doc_ids, 3).split(data.X, None, qid=data.qid))
    with pytest.raises(ValueError, match="DocumentKFold needs the query of every row"):
        next(DocumentKFold(data.doc_ids, 3).split(data.X, data.y))


def test_lint_counts_seen_queries():
    report = lint(Fold(rows_of(TRAIN), None, rows_of(TEST), ""))
    (found,) = [
        row for row in report.rows if row.what == "queries with a relevant document of training"
    ]
    assert (found.level, found.count, found.total, found.examples) == (
        "warning",
        2,
        3,
        ("q1", "q3"),
    )
    assert found.note.startswith("60.0% of the relevant pairs")
