"""Every way to a measure gives the same values: on ties, unjudged and missed documents, any ids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from rankwise import RankingData, compare, evaluate
from rankwise.datasets import Qrels, Run, judge, write_qrels, write_run
from rankwise.metrics import make_scorer
from rankwise.selection import evaluate_systems

MEASURES = ["nDCG@5", "nDCG", "AP", "AP@3", "P@5", "R@5", "Rprec", "RR", "Success@2", "ERR@5"]
PEERS = ["ndcg_cut_5", "ndcg", "map", "map_cut_3", "P_5", "recall_5", "Rprec", "recip_rank",
         "success_2"]  # fmt: skip


def case(seed, ids):
    """Nested run and judgements with few scores, so that most documents are tied."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for q in rng.permutation(12).tolist():
        documents = (rng.permutation(200)[:20] + 1).tolist()
        names = [ids(document) for document in documents]
        scores = (rng.integers(0, 3, 20) / 2).tolist()
        grades = rng.integers(0, 1 if q == 3 else 4, 20).tolist()
        run[ids(q)] = dict(zip(names[:13], scores, strict=False))
        qrels[ids(q)] = dict(zip(names[4:], grades, strict=False))
    return run, qrels


def by_query(result, spec):
    return dict(zip(map(str, result.qids.tolist()), result.per_query[spec], strict=True))


def board_values(board, spec, name="a"):
    return dict(zip(map(str, board.qids.tolist()), board.per_query(spec)[name], strict=True))


def frame(nested, column):
    rows = [(q, d, x) for q, of in nested.items() for d, x in of.items()]
    return pd.DataFrame(rows, columns=["qid", "doc_id", column])


def assert_same(found, expected, where):
    assert found.keys() == expected.keys(), where
    for query, value in expected.items():
        np.testing.assert_allclose(found[query], value, rtol=1e-12, atol=1e-12, err_msg=where)


@pytest.mark.parametrize("preset", [None, "trec_eval", "gdeval"])
@pytest.mark.parametrize("ids", [str, int, "d{:02}".format], ids=["text", "integers", "names"])
def test_runs(tmp_path, ids, preset):
    run, qrels = case(0, ids)
    as_run, as_qrels = frame(run, "score"), frame(qrels, "relevance")
    typed = Run(*(as_run[c].astype(str).to_numpy() for c in ("qid", "doc_id")),
                as_run["score"].to_numpy())  # fmt: skip
    judged = Qrels(*(as_qrels[c].astype(str).to_numpy() for c in ("qid", "doc_id")),
                   as_qrels["relevance"].to_numpy())  # fmt: skip
    write_run(typed, tmp_path / "a.run")
    write_qrels(judged, tmp_path / "a.qrels")
    expected = evaluate(judged, typed, MEASURES, preset=preset)
    rows = judge(qrels, run)
    order = np.random.default_rng(1).permutation(len(rows))
    arrays = evaluate(
        rows.y[order],
        rows.scores[order],
        rows.qid[order],
        MEASURES,
        preset=preset,
        doc_ids=rows.doc_ids[order],
        retrieved=rows.retrieved[order],
    )
    ways = {
        "mappings": evaluate(qrels, run, MEASURES, preset=preset),
        "frames": evaluate(as_qrels, as_run, MEASURES, preset=preset),
        "paths": evaluate(str(tmp_path / "a.qrels"), tmp_path / "a.run", MEASURES, preset=preset),
        "parts": evaluate([qrels], [{q: of} for q, of in run.items()], MEASURES, preset=preset),
        "judged": evaluate(rows, MEASURES, preset=preset),
        "arrays": arrays,
    }
    for way, found in ways.items():
        for spec in MEASURES:
            assert_same(by_query(found, spec), by_query(expected, spec), f"{way} {spec}")
    boards = {
        "mappings": evaluate_systems(qrels, {"a": run}, measures=MEASURES, preset=preset),
        "frames": evaluate_systems(as_qrels, {"a": as_run}, measures=MEASURES, preset=preset),
        "path": evaluate_systems(
            tmp_path / "a.qrels", {"a": tmp_path / "a.run"}, measures=MEASURES, preset=preset
        ),
    }
    for way, board in boards.items():
        for spec in MEASURES:
            assert_same(board_values(board, spec), by_query(expected, spec), f"{way} {spec}")
    if preset == "trec_eval":
        pytrec_eval = pytest.importorskip("pytrec_eval")
        texts = [{str(q): {str(d): x for d, x in of.items()} for q, of in nested.items()}
                 for nested in (qrels, run)]  # fmt: skip
        names = {name.replace("_", ".") if name[-1].isdigit() else name for name in PEERS}
        names = {name.replace("ndcg.cut", "ndcg_cut").replace("map.cut", "map_cut")
                 for name in names}  # fmt: skip
        peer = pytrec_eval.RelevanceEvaluator(texts[0], names).evaluate(texts[1])
        for spec, name in zip(MEASURES, PEERS, strict=False):
            theirs = {query: of[name] for query, of in peer.items()}
            assert_same(by_query(expected, spec), theirs, name)


class Feature(BaseEstimator):
    """Model whose score is the first feature."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(np.float64)


@pytest.mark.parametrize("preset", [None, "trec_eval", "lightgbm"])
@pytest.mark.parametrize("dtype", [int, str])
@pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")
def test_rows(preset, dtype):
    rng = np.random.default_rng(2)
    n = 240
    qid = rng.permutation(np.repeat(np.arange(12), 20)).astype(dtype)
    y, scores = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n) / 2
    names = np.array([f"d{d}" for d in rng.permutation(n)])
    X = np.column_stack([scores, rng.random(n)])
    data = RankingData(X, y, qid=qid, doc_ids=names, feature_names=["bm25", "other"])
    expected = evaluate(y, scores, qid, MEASURES, preset=preset, doc_ids=names)
    order = rng.permutation(n)
    by_id = preset == "trec_eval"
    ways = {"data": evaluate(data, scores, MEASURES, preset=preset)}
    if preset != "lightgbm":  # which ranks tied rows in the order of the rows
        ways["shuffled"] = evaluate(
            y[order], scores[order], qid[order], MEASURES, preset=preset, doc_ids=names[order]
        )
    for way, found in ways.items():
        for spec in MEASURES:
            assert_same(by_query(found, spec), by_query(expected, spec), f"{way} {spec}")
    words = {"measures": MEASURES, "preset": preset}
    run = Run(qid.astype(str), names, scores)
    boards = {
        "scores": evaluate_systems(data, {"a": scores}, **words),
        "column": evaluate_systems(data, {"a": "column:bm25"}, **words),
        "model": evaluate_systems(data, {"a": Feature().fit(X, y)}, **words),
        "run beside a column": evaluate_systems(data, {"a": run, "b": "column:bm25"}, **words),
        "compare": compare({"a": "column:bm25"}, data, cv=3, isolate=False, **words),
        "compare frozen": compare(
            {"a": FrozenEstimator(Feature().fit(X, y))}, data, cv=3, isolate=False, **words
        ),
        "compare run": compare(
            {"a": {q: dict(zip(names[qid == q].tolist(), scores[qid == q].tolist(), strict=True))
                   for q in np.unique(qid).tolist()}},
            data, cv=3, isolate=False, **words,
        ),
    }  # fmt: skip
    if preset != "lightgbm":
        boards["run"] = evaluate_systems(data, {"a": run}, **words)
    for way, board in boards.items():
        for spec in MEASURES:
            assert_same(board_values(board, spec), by_query(expected, spec), f"{way} {spec}")
    if not by_id:
        for spec in MEASURES:
            scorer = make_scorer(spec, preset=preset)
            found = scorer(Feature().fit(X, y), X, y, qid=qid)
            assert found == pytest.approx(expected[spec], rel=1e-12)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (({"q": {"d": 1.0}},), TypeError, "judgements need a run"),
        (([1, 0],), TypeError, "scores are missing"),
        (({"p": {"d": 1}}, {"q": {"d": 1.0}}, "AP"), ValueError, "have no document of a query"),
        (({"q": {"d": 1}}, {"q": {"d": 1.5}}, [1]), TypeError, "has its own query ids"),
        (({"q": {"d": 1}}, {"q": {"d": 1.5}}, "AP", "RR"), TypeError, "measures are passed twice"),
        (({"q": {"d": 0.5}}, {"q": {"d": 1.0}}, "AP"), ValueError, "can be read both ways"),
    ],
)
def test_wrong_objects_are_named(args, error, message):
    with pytest.raises(error, match=message):
        evaluate(*args)


def test_a_run_before_its_judgements_is_refused():
    run, qrels = (
        Run(*map(np.array, (["q"], ["d"], [1.0]))),
        Qrels(*map(np.array, (["q"], ["d"], [1]))),
    )
    for args in ((run, qrels), ({"q": {"d": 1.0}}, qrels), (run, {"q": {"d": 1}})):
        with pytest.raises(ValueError, match="pass the judgements first, then the run"):
            evaluate(*args)
    assert evaluate(qrels, run, "AP")["AP"] == 1.0


@pytest.mark.parametrize(
    "scores",
    [
        np.array([2**53, 2**53 + 1]),
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        [2**53, 2**53 + 1],
        [0.5, 2**53 + 1],
        np.array([2**70, 2**70 + 1], dtype=object),
        pd.Series([2**53, 2**53 + 1]),
        pd.Series([2**53, 2**53 + 1], dtype="Int64"),
    ],
    ids=["int64", "uint64", "list", "mixed", "object", "series", "nullable"],
)
def test_whole_scores_that_float64_changes_keep_their_order_or_are_refused(scores):
    assert evaluate([0, 1], scores, [1, 1], ["AP"])["AP"] == 1.0
    with pytest.raises(ValueError, match="float64 keeps"):
        evaluate([0, 1], scores, [1, 1], ["Pearson"])
    data = RankingData(np.zeros((2, 1)), np.array([0.0, 1.0]), qid=np.array([1, 1]))
    with pytest.raises(ValueError, match="float64 keeps"):
        evaluate_systems(data, {"a": scores}, measures="AP")
