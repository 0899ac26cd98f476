"""Learnt fusion: what it learns, held-out lists, weights, queries for engines, learning curves."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import rankwise
from rankwise import LSRRank, RankBoost, RankLR, RankSVM, RidgeRanker, evaluate
from rankwise.datasets import Qrels, judge
from rankwise.fusion import (
    LearnedFusion,
    NonNegativeRanker,
    ProbabilisticFusion,
    fuse,
    fusion_table,
    hybrid_query,
    learning_curve,
    pool_runs,
)
from tests.fusion.lists import as_mapping, random_lists


@pytest.fixture(scope="module")
def judged():
    """Three systems of different quality over 30 queries, and the judgements."""
    rng = np.random.default_rng(5)
    systems = {"good": {}, "fair": {}, "noise": {}}
    qid, doc_ids, relevance = [], [], []
    for query in range(30):
        grades = rng.integers(0, 3, 40) * (rng.random(40) < 0.3)
        for name, spread in zip(systems, (1.0, 2.5, 1e3), strict=True):
            scores = grades + rng.normal(0, spread, 40)
            kept = np.argsort(-scores)[: rng.integers(20, 35)]
            systems[name][f"q{query}"] = {f"d{d}": float(scores[d]) for d in kept}
        for document in range(40):
            if rng.random() < 0.8:
                qid.append(f"q{query}")
                doc_ids.append(f"d{document}")
                relevance.append(int(grades[document]))
    return systems, Qrels(np.array(qid), np.array(doc_ids), np.array(relevance))


def ap(run, qrels):
    rows = judge(qrels, run)
    preset = {"preset": "trec_eval", "doc_ids": rows.doc_ids, "retrieved": rows.retrieved}
    return evaluate(rows.y, rows.scores, rows.qid, "AP", **preset)["AP"]


def test_features_of_missing_documents():
    systems = {
        "a": {"q": {"x": 4.0, "y": 2.0, "z": 0.0}, "p": {"x": 1.0}},
        "b": {"q": {"y": -3.0}},
    }
    table = fusion_table(systems, rank_constant=1)
    wanted = {
        "score(a)": [4, 2, 0, 1], "score(b)": [-3, -3, -3, 0],
        "rank(a)": [1, 2, 3, 1], "rank(b)": [2, 1, 2, 1],
        "reciprocal_rank(a)": [1 / 2, 1 / 3, 1 / 4, 1 / 2], "reciprocal_rank(b)": [0, 1 / 2, 0, 0],
        "min_max(a)": [1, 0.5, 0, 0], "min_max(b)": [0, 0, 0, 0],
        "z(a)": [1.5**0.5, 0, -(1.5**0.5), 0], "z(b)": [0, 0, 0, 0],
        "missing(a)": [0, 0, 0, 0], "missing(b)": [1, 0, 1, 1],
    }  # fmt: skip
    assert table.feature_names == list(wanted)
    assert pytest.approx(np.array(list(wanted.values())).T) == table.X
    assert table.doc_ids.tolist() == ["x", "y", "z", "x"]


def test_labels_of_unjudged_documents():
    systems = {"a": {"q": {"x": 4.0, "y": 2.0, "z": 0.0}, "p": {"x": 1.0}}}
    qrels = Qrels(np.array(["q", "q"]), np.array(["y", "w"]), np.array([2, 1]))
    whole = fusion_table(systems, qrels, features=["min_max"])
    assert whole.y.tolist() == [0, 2, 0]  # p has no judgement
    judged = fusion_table(systems, qrels, features="min_max", unjudged="ignore")
    assert (judged.y.tolist(), judged.X.tolist()) == ([2], [[0.5]])


def test_learnt_weights_beat_equal_ones(judged):
    systems, qrels = judged
    for options in ({}, {"nonnegative": True}, {"unjudged": "ignore"}, {"features": ["min_max"]}):
        fusion = LearnedFusion(**options)
        held_out = fusion.fuse_held_out(systems, qrels, folds=5)
        assert ap(held_out, qrels) > ap(fuse(systems, "rrf"), qrels) + 0.02, options
        weights = fusion.fit(systems, qrels).weights_
        assert sorted(weights, key=lambda name: -weights[name]) == ["good", "fair", "noise"]
        assert sum(map(abs, weights.values())) == pytest.approx(1)


def test_reciprocal_ranks_are_a_weighted_rule(judged):
    systems, qrels = judged
    fusion = LearnedFusion(nonnegative=True, rank_constant=20).fit(systems, qrels)
    run = fuse(systems, "rrf", weights=list(fusion.weights_.values()), rank_constant=20)
    learnt = as_mapping(fusion.fuse(systems))
    scale = fusion.estimator_.coef_.sum()
    for query, scores in as_mapping(run).items():
        assert learnt[query] == pytest.approx({d: s * scale for d, s in scores.items()})


def test_held_out_queries_are_not_seen(judged):
    systems, qrels = judged
    few = {name: {q: lists[q] for q in list(lists)[:4]} for name, lists in systems.items()}
    options = {"features": ["z", "missing"]}
    run = as_mapping(LearnedFusion(RidgeRanker(), **options).fuse_held_out(few, qrels))
    for query in run:
        rest = qrels.qid != query
        others = Qrels(qrels.qid[rest], qrels.doc_ids[rest], qrels.relevance[rest])
        expected = LearnedFusion(RidgeRanker(), **options).fit(few, others).fuse(few)
        assert run[query] == pytest.approx(as_mapping(expected)[query])


def test_any_ranker(judged):
    systems, qrels = judged
    fusion = LearnedFusion(RankBoost(n_estimators=20), features=["z", "rank", "missing"])
    run = fusion.fit(systems, qrels).fuse(dict(reversed(systems.items())))
    assert as_mapping(run) == as_mapping(fusion.fuse(systems))  # systems are found by name
    with pytest.raises(AttributeError, match="weights_ needs a linear ranker on one feature"):
        _ = fusion.weights_
    assert clone(fusion).get_params()["features"] == ["z", "rank", "missing"]


@pytest.mark.parametrize("ranker", [RankLR, RankSVM])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_dependent_features_converge(ranker, C):
    # In one query, min-max and z are multiples of the score plus a constant. Warnings are errors.
    systems = random_lists(0, n_queries=1, n_documents=200, n_systems=3, whole=True)
    rng = np.random.default_rng(1)
    documents = np.array([f"d{i}" for i in range(200)])
    grades = (rng.random(200) < 0.1).astype(int)
    qrels = Qrels(np.array(["q0"] * 200), documents, grades)
    table = fusion_table(systems, qrels, features=["score", "min_max", "z"])
    assert np.linalg.matrix_rank(table.X - table.X.mean(axis=0)) == 3
    model = ranker(C=C).fit(table.X, table.y, qid=table.qid)
    assert model.n_iter_ < 100


def test_save_and_load(judged, tmp_path):
    systems, qrels = judged
    fusion = LearnedFusion(nonnegative=True).fit(systems, qrels)
    loaded = rankwise.load(fusion.save(tmp_path / "fusion.skops"))
    assert loaded.weights_ == fusion.weights_
    assert as_mapping(loaded.fuse(systems)) == as_mapping(fusion.fuse(systems))


def test_queries_for_elasticsearch(judged):
    systems, qrels = judged
    fusion = LearnedFusion(nonnegative=True).fit(systems, qrels)
    retrievers = {name: {"standard": {"query": {"match": {name: "x"}}}} for name in systems}
    body = json.loads(json.dumps(hybrid_query(fusion, retrievers=retrievers, window=50)))
    rrf = body["retriever"]["rrf"]
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 50)
    used = {name: weight for name, weight in fusion.weights_.items() if weight > 0}
    assert [part["weight"] for part in rrf["retrievers"]] == list(used.values())
    assert [part["retriever"] for part in rrf["retrievers"]] == [retrievers[name] for name in used]
    scores = LearnedFusion(nonnegative=True, features="min_max").fit(systems, qrels)
    linear = hybrid_query(scores)["retriever"]["linear"]["retrievers"]
    assert {part["normalizer"] for part in linear} == {"minmax"}
    with pytest.raises(ValueError, match="retrievers must have an entry for 'good'"):
        hybrid_query(fusion, retrievers={})
    assert "size" not in body
    assert hybrid_query(fusion, window=5)["size"] == 5
    with pytest.raises(ValueError, match="window must be a whole number >= 1, got 0"):
        hybrid_query(fusion, window=0)


def test_rank_fusion_of_elasticsearch_has_two_retrievers(judged):
    # Its documentation demands two; systems of weight 0 are left out beyond that.
    systems, qrels = judged
    fusion = LearnedFusion(nonnegative=True).fit(systems, qrels)
    fusion.estimator_.coef_ = np.array([0.0, 2.0, 0.0])
    parts = hybrid_query(fusion)["retriever"]["rrf"]["retrievers"]
    assert [part["weight"] for part in parts] == [0.0, 1.0]
    fusion.set_params(features="min_max")
    (part,) = hybrid_query(fusion)["retriever"]["linear"]["retrievers"]
    assert part["weight"] == 1.0
    one = LearnedFusion(nonnegative=True).fit({"good": systems["good"]}, qrels)
    with pytest.raises(ValueError, match="weights must be of two or more systems, got 1"):
        hybrid_query(one)


def test_pipelines_for_opensearch(judged):
    systems, qrels = judged
    for feature, name in (
        ("reciprocal_rank", "score-ranker-processor"),
        ("min_max", "normalization-processor"),
    ):
        fusion = LearnedFusion(nonnegative=True, features=[feature]).fit(systems, qrels)
        (processor,) = hybrid_query(fusion, "opensearch")["phase_results_processors"]
        weights = processor[name]["combination"]["parameters"]["weights"]
        assert weights == list(fusion.weights_.values())
        assert sum(weights) == pytest.approx(1)


def test_weights_that_no_engine_takes(judged):
    systems, qrels = judged
    turned = {**systems, "worst": {q: {d: -s for d, s in of.items()} for q, of in
                                   systems["good"].items()}}  # fmt: skip
    fusion = LearnedFusion(features="min_max").fit(turned, qrels)
    with pytest.raises(ValueError, match=r"weights must be >= 0 .* Fit with nonnegative=True"):
        hybrid_query(fusion)
    with pytest.raises(ValueError, match="features must be 'reciprocal_rank' or 'min_max'"):
        hybrid_query(LearnedFusion(features="z", nonnegative=True).fit(systems, qrels))
    with pytest.raises(ValueError, match="rank_constant must be a whole number >= 1"):
        hybrid_query(LearnedFusion(rank_constant=0.5, nonnegative=True).fit(systems, qrels))
    with pytest.raises(
        ValueError, match="rank_constant must be <= 10000 for OpenSearch, got 20000"
    ):
        hybrid_query(
            LearnedFusion(rank_constant=2e4, nonnegative=True).fit(systems, qrels), "opensearch"
        )
    with pytest.raises(ValueError, match="engine must be one of 'elasticsearch', 'opensearch'"):
        hybrid_query(LearnedFusion(nonnegative=True).fit(systems, qrels), "solr")


def test_learning_curve(judged):
    systems, qrels = judged
    fusion = LearnedFusion(nonnegative=True)
    curve = learning_curve(fusion, systems, qrels, n_judged=[5, 29], n_draws=4, random_state=1)
    assert curve.learned.shape == curve.baseline.shape == (2, 4)
    assert curve.gain[0] > 0
    low, high = curve.interval()[0]
    assert low <= curve.gain[0] <= high
    heading, columns, *rows = str(curve).splitlines()
    assert heading == "AP, baseline rrf; gain with the middle 95 % of the draws"
    assert columns.split() == ["n_judged", "learned", "baseline", "gain", "low", "high"]
    assert [int(row.split()[0]) for row in rows] == [5, 29]
    order = np.random.RandomState(1).permutation(30)
    pool = pool_runs(systems)
    drawn = np.isin(qrels.qid, pool.groups.ids[order[:5]])
    left = Qrels(qrels.qid[~drawn], qrels.doc_ids[~drawn], qrels.relevance[~drawn])
    few = Qrels(qrels.qid[drawn], qrels.doc_ids[drawn], qrels.relevance[drawn])
    assert curve.learned[0, 0] == pytest.approx(ap(fusion.fit(systems, few).fuse(systems), left))
    assert curve.baseline[0, 0] == pytest.approx(ap(fuse(systems, "rrf"), left))
    with pytest.raises(ValueError, match=r"n_judged must lie in \[1, 29\]"):
        learning_curve(fusion, systems, qrels, n_judged=[30])


@pytest.mark.parametrize("fusion", [LearnedFusion(), ProbabilisticFusion()])
def test_ids_that_nobody_knows(judged, fusion):
    systems, qrels = judged
    other = {q: {f"x{d}": s for d, s in of.items()} for q, of in systems["good"].items()}
    with pytest.raises(ValueError, match="qrels judge no document of system 'other'"):
        fusion.fit({**systems, "other": other}, qrels)
    with pytest.raises(ValueError, match="qrels judge no document of system 'empty'"):
        fusion.fit({**systems, "empty": {"q": {}}}, qrels)
    with pytest.raises(ValueError, match="qrels judge no document of the runs"):
        fusion.fit({"other": other}, qrels)
    with pytest.raises(ValueError, match="runs hold no document"):
        fusion.fit({"a": {"q": {}}, "b": {"q": {}}}, qrels)


def entry_points():
    """Every function that takes runs, as a function of runs, judgements and systems."""
    learned, by_position = LearnedFusion(nonnegative=True), ProbabilisticFusion("map")

    def fit_fuse(fusion, runs, qrels, systems):
        return fusion.fit(runs, qrels, systems=systems).fuse(runs, systems=systems).scores

    def curve(runs, qrels, systems):
        options = {"n_judged": [2], "n_draws": 2, "systems": systems}
        return learning_curve(learned, runs, qrels, **options).learned

    return {
        "fuse": lambda runs, qrels, systems: fuse(runs, systems=systems).scores,
        "fusion_table": lambda runs, qrels, systems: fusion_table(runs, qrels, systems=systems).X,
        "LearnedFusion.fit": partial(fit_fuse, learned),
        "LearnedFusion.fuse_held_out": lambda runs, qrels, systems: (
            learned.fuse_held_out(runs, qrels, systems=systems, folds=2).scores
        ),
        "ProbabilisticFusion.fit": partial(fit_fuse, by_position),
        "ProbabilisticFusion.fuse_held_out": lambda runs, qrels, systems: (
            by_position.fuse_held_out(runs, qrels, systems=systems, folds=2).scores
        ),
        "learning_curve": curve,
    }


@pytest.mark.parametrize("name", entry_points())
def test_lists_of_mappings_and_frames_are_fused_everywhere(judged, name):
    systems, qrels = judged
    call = entry_points()[name]
    runs, names = [*systems.values()], [*systems]
    frames = [
        pd.DataFrame([(q, d, s) for q, docs in lists.items() for d, s in docs.items()],
                     columns=["qid", "docno", "score"])
        for lists in runs
    ]  # fmt: skip
    expected = call(systems, qrels, None)
    for given, systems_ in [(runs, names), (runs, None), (frames, names), (frames, None)]:
        np.testing.assert_array_equal(call(given, qrels, systems_), expected)
    with pytest.raises(ValueError, match="systems must name each of the"):
        call(runs, qrels, names[:1])


@pytest.mark.parametrize("fusion", [
    LearnedFusion(LSRRank("linear", lam=1.0), features=("score", "rank", "min_max", "z")),
    *(ProbabilisticFusion(rule) for rule in ("bayes", "map", "pos", "prob", "seg", "slide")),
])  # fmt: skip
def test_ids_do_not_order_documents_with_equal_scores(fusion):
    rng = np.random.default_rng(0)
    queries, documents = [f"q{i}" for i in range(6)], [f"{i:02d}" for i in range(20)]

    def other_id(document):
        return f"{7 * int(document) % 20:02d}"

    systems = [
        {q: {d: float(rng.integers(4)) for d in documents[: rng.integers(5, 20)]} for q in queries}
        for _ in range(3)
    ]
    qid, doc_ids = np.repeat(queries, 20), np.array(documents * 6)
    qrels = Qrels(qid, doc_ids, rng.integers(0, 2, 120))
    renamed = [
        {q: {other_id(d): s for d, s in lists[q].items()} for q in lists} for lists in systems
    ]
    renamed_qrels = Qrels(qid, np.array([*map(other_id, doc_ids)]), qrels.relevance)
    found = as_mapping(fusion.fit(systems, qrels).fuse(systems))
    for query, scores in as_mapping(fusion.fit(renamed, renamed_qrels).fuse(renamed)).items():
        expected = {other_id(d): s for d, s in found[query].items()}
        assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_bad_arguments(judged):
    systems, qrels = judged
    with pytest.raises(ValueError, match="nonnegative=True bounds the default ranker"):
        LearnedFusion(RidgeRanker(), nonnegative=True).fit(systems, qrels)
    with pytest.raises(ValueError, match=r"features must be among 'score', .* got 'extrema'"):
        LearnedFusion(features=["extrema"]).fit(systems, qrels)
    with pytest.raises(ValueError, match="features must name each feature once"):
        LearnedFusion(features=["z", "z"]).fit(systems, qrels)
    with pytest.raises(ValueError, match="unjudged must be one of 'zero', 'ignore'"):
        fusion_table(systems, qrels, unjudged="skip")
    other = Qrels(np.array(["x"]), np.array(["y"]), np.array([1]))
    with pytest.raises(ValueError, match="qrels judge no document of the runs"):
        LearnedFusion().fit(systems, other)
    fusion = LearnedFusion().fit(systems, qrels)
    with pytest.raises(ValueError, match="runs must be of the systems of fit, good, fair, noise"):
        fusion.fuse({"good": systems["good"]})
    with pytest.raises(ValueError, match=r"folds must lie in \[2, 30\]"):
        fusion.fuse_held_out(systems, qrels, folds=31)


def test_without_the_bound_non_negative_is_least_squares(rng):
    X = rng.random((60, 3))
    y, qid = np.round(3 * X[:, 0] + X[:, 1] + 0.1 * rng.random(60)), np.arange(60) // 12
    for query_weight in ("pair", "document", "query"):
        bounded = NonNegativeRanker(0.01, query_weight=query_weight)
        coef = bounded.fit(X[:, :2], y, qid=qid).coef_
        free = LSRRank("linear", lam=0.01, query_weight=query_weight).fit(X[:, :2], y, qid=qid)
        assert (free.coef_ > 0).all()
        assert coef == pytest.approx(free.coef_, rel=1e-8)


def test_optimality_of_non_negative_weights(rng):
    X = rng.normal(size=(80, 4))
    y, qid, lam = X @ [1.0, -2.0, 0.5, -0.1] + rng.normal(size=80), np.arange(80) // 20, 0.05
    w = NonNegativeRanker(lam).fit(X, y, qid=qid).coef_
    gradient, pairs = 2 * lam * w, 4 * 20**2
    for query in range(4):
        rows = qid == query
        dX = (X[rows][:, None] - X[rows][None]).reshape(-1, 4)
        dy = (y[rows][:, None] - y[rows]).ravel()
        gradient = gradient + 2 * dX.T @ (dX @ w - dy) / pairs
    assert (w >= 0).all() and (w == 0).any()
    assert np.abs(gradient[w > 0]).max() < 1e-8
    assert (gradient[w == 0] >= -1e-8).all()


def test_leaving_a_query_out_is_cross_validation_by_queries(rng):
    X = rng.normal(size=(40, 3))
    y, qid = np.round(X[:, 0] - X[:, 1] + rng.normal(size=40)), np.repeat(np.arange(5), 8)
    splits = [(np.flatnonzero(qid != q), np.flatnonzero(qid == q)) for q in range(5)]
    one = NonNegativeRanker("loqo", measure="Misranking").fit(X, y, qid=qid)
    other = NonNegativeRanker("cv", cv=splits, measure="Misranking").fit(X, y, qid=qid)
    assert one.cv_results_["fold_test_scores"] == pytest.approx(
        other.cv_results_["fold_test_scores"]
    )
    validated = NonNegativeRanker("val", measure="Misranking")
    validated.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert validated.coef_.shape == (3,)
    with pytest.raises(ValueError, match="needs all rows in memory, got a stream"):
        NonNegativeRanker().fit(rankwise.streams.stream([(X, y, qid)]), None)


def test_scikit_learn_conventions():
    check_estimator(NonNegativeRanker(), on_skip=None)


@pytest.mark.parametrize("fusion", [LearnedFusion(), ProbabilisticFusion()])
def test_judgements_of_another_type(judged, fusion):
    with pytest.raises(TypeError, match="qrels must be Qrels, got str"):
        fusion.fit(judged[0], "qrels.txt")
