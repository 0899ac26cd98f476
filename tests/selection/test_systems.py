"""Systems that exist already, measured side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from rankwise import save
from rankwise.datasets import Qrels, RankingData, Run, judge, write_run
from rankwise.metrics import evaluate
from rankwise.metrics.significance import compare_to_baseline
from rankwise.rankers import RidgeRanker
from rankwise.report import write_report
from rankwise.selection import Leaderboard, evaluate_systems, read_systems
from tests.selection.helpers import graded_data


@pytest.fixture
def data(rng):
    data = graded_data(rng)
    names = np.array([f"d{row}" for row in range(data.n_samples)])
    return replace(data, doc_ids=names, feature_names=[f"x{j}" for j in range(data.n_features)])


def column(data, number):
    return np.asarray(data.X[:, number], dtype=float)


def by_query(result, spec):
    values = zip(map(str, result.qids), result.per_query[spec], strict=True)
    return dict(values)


def found(board, system, measure):
    values = board.per_query(measure)[system]
    return dict(zip(map(str, board.qids), values, strict=True))


def test_rows_of_scores_columns_models_and_runs(data):
    model = LinearRegression().fit(data.X, data.y)
    board = evaluate_systems(
        data,
        {
            "array": column(data, 0),
            "column": "column:x1",
            "model": model,
            "run": Run.from_data(data, column(data, 1)),
        },
        measures=["AP", "nDCG@3"],
        baseline="array",
    )
    scores = {
        "array": column(data, 0),
        "column": column(data, 1),
        "model": model.predict(data.X),
        "run": column(data, 1),
    }
    for measure in board.measures:
        for name, of in scores.items():
            expected = by_query(evaluate(data.y, of, data.qid, measure), measure)
            assert found(board, name, measure) == pytest.approx(expected, nan_ok=True)
    expected = {row.name: row for row in compare_to_baseline(board.per_query(), "array")}
    for row in board.rows():
        if row["ranker"] != "array":
            of = row["against_baseline"]["AP"]
            assert of["p_corrected"] == expected[row["ranker"]].p_corrected


def test_runs_are_measured_as_trec_eval_does(data):
    """Unjudged documents take places; a query that one run lacks counts as not answered."""
    qrels = Qrels.from_data(data)
    first, *others = dict.fromkeys(qrels.qid.tolist())
    whole = Run.from_data(data, column(data, 0))
    unjudged = Run(
        np.append(whole.qid, [first] * 3),
        np.append(whole.doc_ids, ["u1", "u2", "u3"]),
        np.append(whole.scores, [9e9, 8e9, 7e9]),
    )
    kept = whole.qid != first
    part = Run(whole.qid[kept], whole.doc_ids[kept], whole.scores[kept])
    measure = "AP(ties=stable)"
    for judgments in (qrels, data):
        board = evaluate_systems(judgments, {"u": unjudged, "p": part}, measures=[measure])
        told = judge(qrels, unjudged)
        expected = evaluate(told.y, told.scores, told.qid, measure, retrieved=told.retrieved)
        assert found(board, "u", measure) == by_query(expected, measure)
        mine = found(board, "p", measure)
        told = judge(qrels, part)
        expected = evaluate(told.y, told.scores, told.qid, measure, retrieved=told.retrieved)
        assert {q: mine[q] for q in others} == by_query(expected, measure)
        assert mine[first] == 0 or np.isnan(mine[first])
        assert f"1 of {len(others) + 1} queries have no answer" in str(board)
    alone = evaluate_systems(qrels, {"p": part}, measures=[measure])
    assert list(alone.qids) == others
    every = evaluate_systems(qrels, {"p": part}, measures=[measure], all_queries=True)
    assert len(every.qids) == len(others) + 1


PEERS = {
    "AP": "map", "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10", "P@5": "P_5", "RR": "recip_rank",
    "R@10": "recall_10",
}  # fmt: skip


def test_runs_beside_pytrec_eval():
    """Ties, missed and unjudged documents, grades below 0, queries without relevant documents."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(0)
    grades = {}
    for q in range(20):
        lowest, highest = (-1 if q % 5 == 0 else 0), (0 if q % 7 == 3 else 3)
        judged = rng.choice(40, rng.integers(5, 25), replace=False)
        values = rng.integers(lowest, highest + 1, len(judged)).tolist()
        grades[f"q{q}"] = {f"d{d}": g for d, g in zip(judged.tolist(), values, strict=True)}
    runs = {}
    for name, spread in (("ties", 4), ("close", 10_000)):
        runs[name] = {}
        for q in grades:
            docs = rng.choice(40, rng.integers(5, 30), replace=False).tolist()
            scores = (1 + rng.integers(0, spread, len(docs)) * 1e-9).tolist()
            runs[name][q] = {f"d{d}": s for d, s in zip(docs, scores, strict=True)}
    del runs["close"]["q0"]  # counts as not answered beside the other run
    qrels = Qrels(*_triples(grades))
    systems = {name: Run(*_triples(run)) for name, run in runs.items()}
    board = evaluate_systems(qrels, systems, measures=list(PEERS), preset="trec_eval")
    assert any(max(of.values()) < 1 for of in grades.values())
    for name, run in runs.items():
        peer = pytrec_eval.RelevanceEvaluator(grades, {*PEERS.values()}).evaluate(run)
        for spec, of_peer in PEERS.items():
            mine = found(board, name, spec)
            expected = {q: peer[q][of_peer] if q in peer else 0.0 for q in grades}
            assert mine == pytest.approx(expected, abs=1e-12)


def _triples(of) -> list[Any]:
    rows = [(q, d, x) for q, row in of.items() for d, x in row.items()]
    return [np.array(part) for part in zip(*rows, strict=True)]


def test_ties_of_runs_are_broken_by_document(data):
    run = Run(*(part[::-1] for part in (*_ids(data), np.zeros(data.n_samples))))
    board = evaluate_systems(data, {"run": run}, measures="AP", preset="trec_eval")
    told = judge(Qrels.from_data(data), run)
    words = {"doc_ids": told.doc_ids, "preset": "trec_eval"}
    expected = evaluate(told.y, told.scores, told.qid, "AP", **words)
    assert list(found(board, "run", "AP").values()) == expected.per_query["AP"].tolist()


def _ids(data):
    return data.qid.astype(str), data.doc_ids


def test_a_frame_and_its_score_columns(data):
    frame = pd.DataFrame({"x0": data.X[:, 0], "x1": data.X[:, 1], "production": data.X[:, 1] / 3})
    frame = frame.assign(label=data.y, qid=data.qid)
    model = RidgeRanker().fit(frame[["x1", "x0"]], data.y, qid=data.qid)
    board = evaluate_systems(frame, {"now": "column:production", "new": model}, measures="AP")
    assert board.per_query()["now"].tolist() == pytest.approx(
        evaluate(data.y, data.X[:, 1], data.qid, "AP").per_query["AP"].tolist(), nan_ok=True
    )
    expected = evaluate(data.y, model.predict(frame[["x1", "x0"]]), data.qid, "AP")
    assert board.per_query()["new"].tolist() == pytest.approx(
        expected.per_query["AP"].tolist(), nan_ok=True
    )


def test_a_board_of_systems_speaks_of_no_fits(data, tmp_path):
    board = evaluate_systems(data, {"a": column(data, 0), "b": "column:x1"}, baseline="b")
    text = str(board)
    assert "Against the baseline b, nDCG@10:" in text
    for word in ("fold", "validation", "fit s", "MB"):
        assert word not in text
    page = write_report(board, tmp_path / "report.html").read_text("utf-8")
    assert "Folds and choices" not in page
    assert ">Cost<" not in page
    assert str(Leaderboard.from_dict(board.to_dict())) == text


@pytest.mark.parametrize(
    ("systems", "words", "told"),
    [
        ({}, {}, "systems must name at least one system"),
        ({"a": "ridge"}, {}, "Use compare(…) to fit rankers by name"),
        ({"a": [1.0, 2.0]}, {}, "a: got 2 scores for"),
        ({"a": "column:y9"}, {}, "a: column:y9 must name a feature or a score column"),
        ({"a": "column:x0"}, {"baseline": "b"}, "baseline must name one of the systems"),
        ({"a": "column:x0"}, {"measures": []}, "measures must name at least one measure"),
        ({"a": "column:x0"}, {"confidence_level": 2}, "confidence_level must lie between"),
    ],
)
def test_what_cannot_be_measured(data, systems, words, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        evaluate_systems(data, systems, **words)


@pytest.mark.parametrize("systems", [[{"q": {"d": 1.0}}], "a.run", None])
def test_systems_without_names_are_refused(systems):
    with pytest.raises(TypeError, match=r"systems must map names to systems, got (list|str|NoneT)"):
        evaluate_systems({"q": {"d": 1}}, systems)


def test_runs_without_a_common_query_or_document(data):
    run = Run.from_data(data, column(data, 0))
    other = Run(np.char.add(run.qid, "x"), run.doc_ids, run.scores)
    with pytest.raises(ValueError, match="b and the judgments have no query in common"):
        evaluate_systems(data, {"a": run, "b": other})
    other = Run(run.qid, np.char.add(run.doc_ids, "x"), run.scores)
    with pytest.raises(ValueError, match="have queries in common, but no document with a grade"):
        evaluate_systems(data, {"a": run, "b": other})
    with pytest.raises(ValueError, match="the data have none"):
        evaluate_systems(replace(data, doc_ids=None), {"a": run})
    with pytest.raises(TypeError, match="qrels have no rows to score, but b needs them"):
        evaluate_systems(Qrels.from_data(data), {"a": run, "b": column(data, 0)})


def test_score_columns_follow_their_rows(data):
    scored = replace(data, score_columns={"now": np.arange(data.n_samples, dtype=float)})
    rows = np.arange(data.n_samples)[::-2]
    assert scored.take(rows).score_columns["now"].tolist() == rows.tolist()
    with pytest.raises(ValueError, match=r"score_columns\['now'\] must have n_samples"):
        RankingData(data.X, data.y, qid=data.qid, score_columns={"now": np.zeros(3)})


def test_intervals_of_bounded_measures_stay_in_bounds(data):
    few = data.queries([0, 1])
    noise = np.random.default_rng(1).random(few.n_samples)
    systems = {"a": few.y, "b": -few.y, "c": noise}
    measures = ["nDCG@10", "AP", "Tau", "Misranking", "DCG"]
    board = evaluate_systems(few, systems, measures=measures, correction="holm")
    cut = 0
    for row in board.rows():
        for spec, (low, high) in {
            "nDCG@10": (0, 1), "AP": (0, 1), "Tau": (-1, 1), "Misranking": (0, 1),
            "DCG": (0, np.inf),
        }.items():  # fmt: skip
            of = row["measures"][spec]
            assert low <= of["low"] <= of["mean"] <= of["high"] <= high
            cut += of["low"] == low or of["high"] == high
            if of["diff_low"] is not None:
                assert low - high <= of["diff_low"] <= of["diff_high"] <= high - low
    assert cut > 2


@pytest.mark.parametrize(
    ("runs", "all_queries", "notes"),
    [
        ({"a": ["q1", "q2"]}, False, {"a": []}),
        (
            {"a": ["q1"]},
            False,
            {"a": ["1 of 2 judged queries are not in the run and do not count"]},
        ),
        ({"a": ["q1"]}, True, {"a": ["1 of 2 queries have no answer in the run"]}),
        (
            {"a": ["q1", "q2", "q8"]},
            False,
            {"a": ["1 of 3 queries of the run are not judged and do not count"]},
        ),
        (
            {"a": ["q1"], "b": ["q1", "q9"]},
            False,
            {
                "a": ["1 of 2 judged queries are not in any run and do not count"],
                "b": [
                    "1 of 2 queries of the run are not judged and do not count",
                    "1 of 2 judged queries are not in any run and do not count",
                ],
            },
        ),
    ],
)
def test_queries_that_do_not_count_are_counted(runs, all_queries, notes):
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}}
    systems = {name: {query: {"d": 1.0} for query in asked} for name, asked in runs.items()}
    board = evaluate_systems(qrels, systems, measures=["AP"], all_queries=all_queries)
    assert {row["ranker"]: row["notes"] for row in board.rows()} == notes


# Systems in files --------------------------------------------------------------------------------


def test_systems_are_read_from_files(data, tmp_path):
    write_run(Run.from_data(data, column(data, 0), "tag"), tmp_path / "now.run.gz")
    np.savetxt(tmp_path / "new=scores.txt", column(data, 1))
    model = RidgeRanker().fit(data.X, data.y, qid=data.qid)
    save(model, tmp_path / "model.rankwise")
    files = [tmp_path / "now.run.gz", f"best={tmp_path / 'model.rankwise'}", "column:x0",
             "price=column:x1", str(tmp_path / "new=scores.txt")]  # fmt: skip
    systems = read_systems(files)
    assert list(systems) == ["now", "best", "x0", "price", "new=scores"]
    given = {"now": Run.from_data(data, column(data, 0)), "best": model, "x0": column(data, 0),
             "price": column(data, 1), "new=scores": column(data, 1)}  # fmt: skip
    means = [[row["mean"] for row in evaluate_systems(data, s).rows()] for s in (systems, given)]
    assert means[0] == means[1]
    assert [*read_systems(tmp_path / "now.run.gz")] == ["now"]


def test_files_that_are_no_systems_are_named(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 0.5 t\n")
    with pytest.raises(FileNotFoundError, match=r"'no.run' is not a file. Name scores, a TREC run"):
        read_systems(["no.run"])
    with pytest.raises(ValueError, match="systems must have different names, but two"):
        read_systems([tmp_path / "a.run", "a=column:1"])
    with pytest.raises(ValueError, match="systems must name at least one system, got none"):
        read_systems([])
    (tmp_path / "b.run").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(ValueError, match="holds LETOR text, not a run"):
        read_systems(tmp_path / "b.run")
