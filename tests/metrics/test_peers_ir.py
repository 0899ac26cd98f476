"""The presets trec_eval and gdeval, and ranx's conventions, against the programs themselves."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.fusion import as_run
from rankwise.metrics import evaluate
from rankwise.selection import evaluate_systems
from tests.metrics import _peers as peers
from tests.metrics._cases import ragged

LEVELS = (None, 6, 1)  # distinct scores, ties, all tied


def ours(y, f, qid, spec, preset=None):
    ids = [f"d{row:06}" for row in range(len(y))]
    words = {"preset": preset, "doc_ids": ids, "judged": np.ones(len(y), dtype=bool)}
    return evaluate(y, f, qid, [spec], **words).per_query[spec]


def assert_equal(got, wanted, what, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("levels", LEVELS)
def test_trec_eval(rng, levels):
    y, f, qid = ragged(rng, levels=levels, n_queries=60, most=25)
    names = ["ndcg", "map", "recip_rank", "Rprec", "bpref", "infAP", "set_P", "set_recall"]
    pairs = {name: name for name in names} | {"ndcg": "nDCG", "map": "AP", "recip_rank": "RR"}
    for k in (1, 2, 3, 5, 10, 40):
        pairs |= {
            f"ndcg_cut.{k}": f"nDCG@{k}",
            f"map_cut.{k}": f"AP@{k}",
            f"P.{k}": f"P@{k}",
            f"recall.{k}": f"R@{k}",
            f"success.{k}": f"Success@{k}",
        }
    for theirs, spec in pairs.items():
        wanted = peers.trec_eval(y, f, qid, theirs)
        for name in (spec, theirs, theirs.replace(".", "_")):
            assert_equal(ours(y, f, qid, name, "trec_eval"), wanted, name)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("name", ["bpref", "infAP"])
def test_unjudged_and_missed_documents(rng, levels, rel, name):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = incomplete_case(rng, levels)
    peer = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=rel).evaluate(run)
    spec = f"{name}(rel={rel})"
    result = evaluate(qrels, as_run(run), spec, preset="trec_eval")
    wanted = [peer[q][name] for q in result.qids.tolist()]
    assert_equal(result.per_query[spec], wanted, spec)
    assert 0 < np.mean(wanted) < 1
    board = evaluate_systems(qrels, {"a": run}, measures=spec, preset="trec_eval")
    assert_equal(board.per_query()["a"], wanted, "board")


CONDENSED = {
    "map": "AP(judged_only=True)",
    "ndcg": "nDCG(judged_only=True)",
    "ndcg_cut_5": "nDCG(judged_only=True)@5",
    "P_5": "P(judged_only=True)@5",
    "recall_5": "R(judged_only=True)@5",
    "recip_rank": "RR(judged_only=True)",
    "Rprec": "Rprec(judged_only=True)",
    "success_1": "Success(judged_only=True)@1",
    "set_P": "P(judged_only=True)",
}


@pytest.mark.parametrize("levels", LEVELS)
def test_condensed_lists_are_those_of_trec_eval_with_its_option_j(rng, levels):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = incomplete_case(rng, levels)
    names = {name.replace("_5", ".5").replace("_1", ".1") for name in CONDENSED}
    peer = pytrec_eval.RelevanceEvaluator(qrels, names, judged_docs_only_flag=True).evaluate(run)
    ours = evaluate(qrels, as_run(run), [*CONDENSED.values()], preset="trec_eval")
    for name, spec in CONDENSED.items():
        wanted = [peer[q][name] for q in ours.qids.tolist()]
        assert_equal(ours.per_query[spec], wanted, spec)


@pytest.mark.parametrize("theirs", ["infAP", "infAP(rel=2)", "Judged@1", "Judged@5", "Judged@50",
                                    "Judged", "Bpref(rel=2)", "AP(judged_only=True)",
                                    "P(judged_only=True,rel=2)@5", "nDCG(judged_only=True)@5",
                                    "RR(judged_only=True)"])  # fmt: skip
def test_ir_measures_of_unjudged_documents(rng, theirs):
    library = pytest.importorskip("ir_measures")
    run, qrels = incomplete_case(rng, None)
    if theirs.startswith("Judged"):  # negative grades are judgements there
        qrels = {q: {d: g for d, g in grades.items() if g >= 0} for q, grades in qrels.items()}
    parsed = library.parse_measure(theirs)
    peer = {m.query_id: m.value for m in library.iter_calc([parsed], qrels, run)}
    ours = evaluate(qrels, as_run(run), theirs, preset="trec_eval")
    assert_equal(ours.per_query[theirs], [peer[q] for q in ours.qids.tolist()], theirs)


def incomplete_case(rng, levels):
    """(run, qrels) with unjudged, missed and negatively graded documents."""
    run, qrels = {}, {}
    for q in map(str, range(60)):
        names = rng.permutation([f"d{number}" for number in range(30)]).tolist()
        scores = rng.random(20) if levels is None else rng.integers(0, levels, 20) / 4
        run[q] = dict(zip(names[:20], scores.tolist(), strict=False))
        n = int(rng.integers(1, 20))
        lowest, most = [(-2, 4), (0, 1), (1, 3), (-1, 2)][int(q) % 4]
        qrels[q] = dict(zip(names[30 - n :], rng.integers(lowest, most, n).tolist(), strict=True))
        qrels[q][names[0]] = 0  # a run without a judged document is refused
    return run, qrels


def test_trec_eval_sees_the_ties_of_float32():
    y, qid = np.array([1.0, 0.0]), np.zeros(2, dtype=int)
    f = np.array([1.0 + 1e-9, 1.0])
    theirs = peers.trec_eval(y, f, qid, "ndcg_cut.2")
    assert ours(y, f, qid, "nDCG@2", "trec_eval") == 1.0
    assert_equal(ours(y, f.astype(np.float32), qid, "nDCG@2", "trec_eval"), theirs, "ndcg")
    assert theirs < 1.0


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(
    ("theirs", "spec"),
    [
        ("nDCG@10", "nDCG@10"),
        ("nDCG", "nDCG"),
        ("nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@3"),
        ("AP", "AP"),
        ("AP@5", "AP@5"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("P@5", "P@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("R@5", "R@5"),
        ("R(rel=3)@5", "R(rel=3)@5"),
        ("RR", "RR"),
        ("RR(rel=2)", "RR(rel=2)"),
        ("Rprec", "Rprec"),
        ("Rprec(rel=2)", "Rprec(rel=2)"),
        ("Success@2", "Success@2"),
    ],
)
def test_ir_measures(rng, levels, theirs, spec):
    y, f, qid = ragged(rng, levels=levels)
    wanted = peers.ir_measures(y, f, qid, theirs)
    printed = 5.1e-6 if "exp" in theirs else 1e-12  # through gdeval.pl, which prints 5 digits
    assert_equal(ours(y, f, qid, spec, "trec_eval"), wanted, theirs, printed)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("levels", LEVELS)
def test_gdeval_prints_our_values(rng, tmp_path, levels, k):
    y, f, qid = ragged(rng, levels=levels)
    wanted = peers.gdeval(y, f, qid, k, tmp_path)
    assert np.isnan(wanted).any()
    for spec, values in zip([f"nDCG@{k}", f"ERR@{k}"], wanted, strict=True):
        assert_equal(ours(y, f, qid, spec, "gdeval"), values, spec, 5.1e-6)


@pytest.mark.parametrize("levels", [None, 6])
def test_ranx(rng, levels):
    y, f, qid = ragged(rng, levels=levels)
    for theirs, spec in {
        "ndcg@5": "nDCG(gain='linear',empty=0,ties='stable')@5",
        "ndcg_burges@5": "nDCG(empty=0,ties='stable')@5",
        "map": "AP(empty=0,ties='stable')",
    }.items():
        wanted = peers.ranx(y, f, qid, theirs)
        assert_equal(ours(y, f, qid, spec), wanted, theirs)
    binary = np.minimum(y, 1.0)  # ranx's RBP weighs grades
    wanted = peers.ranx(binary, f, qid, "rbp.80")
    assert_equal(ours(y, f, qid, "RBP(p=0.8,ties='stable')"), wanted, "rbp.80")
