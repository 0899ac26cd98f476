"""Experiments on fusion: choice of settings, measures, tables."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run
from rankwise.experiments import Verdict
from rankwise.fusion import LearnedFusion, fuse, pool_runs
from rankwise_papers import fusion_choice, fusion_tables
from rankwise_papers.fusion_cross_encoder import tables as encoder_tables
from rankwise_papers.fusion_measures import measure_run
from rankwise_papers.fusion_robust03.experiment import FusionRobust03
from rankwise_papers.fusion_trec_covid import experiment as covid


@pytest.fixture(scope="module")
def judged():
    """A good and a poor system on 12 queries, and the judgements."""
    rng = np.random.default_rng(0)
    systems, qid, documents, relevance = {"good": {}, "poor": {}}, [], [], []
    for query in range(12):
        grades = (rng.random(40) < 0.2).astype(int)
        for name, spread in (("good", 0.4), ("poor", 3.0)):
            scores = grades + rng.normal(0, spread, 40)
            kept = np.argsort(-scores)[:30]
            systems[name][f"q{query}"] = {f"d{d}": float(scores[d]) for d in kept}
        qid += [f"q{query}"] * 35
        documents += [f"d{d}" for d in range(35)]
        relevance += grades[:35].tolist()
    return systems, Qrels(np.array(qid), np.array(documents), np.array(relevance))


def test_sixteen_settings_are_declared():
    names = [name for name, _, _ in fusion_choice.settings()]
    assert len(set(names)) == len(names) == 16


def test_settings_are_chosen_without_the_measured_queries(judged):
    systems, qrels = judged
    pool = pool_runs(systems)
    run, chosen = fusion_choice.fuse_nested(pool, qrels, 3, 0)
    assert len(chosen) == 3 and len(run) == len(pool)
    fold = pool.groups.split(3, random_state=0)[0]
    test = pool.groups.ids[fold]
    # Other judgements of a fold change nothing that its queries are fused by.
    flipped = np.where(np.isin(qrels.qid, test), 1 - qrels.relevance, qrels.relevance)
    again, _ = fusion_choice.fuse_nested(pool, Qrels(qrels.qid, qrels.doc_ids, flipped), 3, 0)
    rows = np.isin(pool.qid, test)
    assert np.array_equal(run.scores[rows], again.scores[rows])
    assert not np.array_equal(run.scores[~rows], again.scores[~rows])
    # The choice is that of the folds of the other queries.
    train = pool.take(np.flatnonzero(~rows))
    assert fusion_choice.choose(train, qrels, 0) == chosen[0]


def test_the_setting_with_the_best_held_out_ap_is_chosen(judged):
    systems, qrels = judged
    pool, reached = pool_runs(systems), {}
    for name, options, ranker in fusion_choice.settings():
        fusion = LearnedFusion(ranker, **options)
        run = fusion.fuse_held_out(pool, qrels, folds=5, random_state=1)
        reached[name] = np.mean(measure_run(run, qrels, {"AP": "AP(ties=stable)"})["AP"])
    assert reached[fusion_choice.choose(pool, qrels, 1)] >= max(reached.values()) - 0.01


def test_binary_preference_is_that_of_trec_eval(judged):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    systems, qrels = judged
    rng = np.random.default_rng(3)
    grades = np.where(rng.random(len(qrels.qid)) < 0.1, -1, qrels.relevance)
    kept = rng.random(len(grades)) < 0.7  # others are not judged
    qrels = Qrels(qrels.qid[kept], qrels.doc_ids[kept], grades[kept])
    run = fuse(systems)
    nested: dict[str, dict[str, int]] = {}
    for query, document, grade in zip(qrels.qid, qrels.doc_ids, qrels.relevance, strict=True):
        nested.setdefault(str(query), {})[str(document)] = int(grade)
    lists: dict[str, dict[str, float]] = {}
    for query, document, score in zip(run.qid, run.doc_ids, run.scores, strict=True):
        lists.setdefault(str(query), {})[str(document)] = float(score)
    found = pytrec_eval.RelevanceEvaluator(nested, {"bpref"}).evaluate(lists)
    expected = [of["bpref"] for of in found.values()]
    ours = measure_run(run, qrels, {"bpref": "bpref"}, all_queries=True)["bpref"]
    assert sorted(ours) == pytest.approx(sorted(expected), abs=1e-12)


def test_documents_judged_before_are_taken_out():
    run = Run(np.array(["1", "1", "2"]), np.array(["a", "b", "a"]), np.array([3.0, 2.0, 1.0]), "")
    left = covid._without(run, {("1", "a")})
    assert left.doc_ids.tolist() == ["b", "a"]


def test_nist_scores_are_met():
    experiment = covid.FusionTrecCovid()
    published = experiment.published("published.csv")
    runs = {
        row["run"]: {name: [float(row[name])] * 3 for name in (*covid.MEASURES, "RBP", "bpref")}
        for row in published
        if row["round"] == "5"
    }
    nist = experiment.tables({"5/runs": runs}, False)[0]
    assert {value.verdict for value in nist.values} == {Verdict.MET}
    assert len(nist.values) == 15


def test_effectiveness_tests_the_first_measure():
    rng = np.random.default_rng(0)
    base = rng.random(20)
    rows = {
        "a": {"AP": base, "P": base},
        "b": {"AP": base + 0.1 + rng.normal(0, 0.01, 20), "P": base},
        "c": None,
    }
    values = {
        (v.row, v.column): v for v in fusion_tables.effectiveness(rows, ("AP", "P"), {"p": "a"})
    }
    assert values["b", "p"].ours == pytest.approx(0, abs=1e-6)
    assert ("a", "p") not in values
    assert values["c", "AP"].ours is None
    assert fusion_tables.best(rows, "AP") == "b"


def test_published_values_of_other_queries_are_no_evidence():
    row = {"nDCG@10": [0.5, 0.6, 0.7], "AP": [0.5, 0.6, 0.7]}
    results = {f"scifact/{name}": row for name in (*encoder_tables.UNTRAINED,)}
    table = encoder_tables.make(results)[0]
    verdicts = {v.row: v.verdict for v in table.values if v.paper is not None}
    assert verdicts == {"bm25": Verdict.NOT_EVIDENCE, "encoder": Verdict.NOT_EVIDENCE}


def test_curves_say_how_many_draws_they_hold():
    point = {"learnt": 0.3, "rule": 0.25, "chosen": "z"}
    results = {f"nested curve/{draw}": [point] * 5 for draw in range(3)}
    table = FusionRobust03().tables(results, False)[-1]
    assert "first 3 of the draws" in table.caption
    gains = [value.ours for value in table.values if value.column == "gain"]
    assert gains == pytest.approx([0.05] * 5)
