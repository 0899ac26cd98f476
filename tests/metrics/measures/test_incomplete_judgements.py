"""infAP, Judged, Unjudged, RBPResidual and condensed lists against loops over one ranked query."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rankwise import evaluate
from rankwise.datasets import judge
from rankwise.kernels.ranking_agreement import EPSILON
from rankwise.metrics import PRESETS, parse

TOP = ["nDCG@3", "DCG@4", "MeanNDCG", "AP", "AP@3", "P@3", "R@2", "Rprec", "Success@2", "RR",
       "ERR@4", "RBP", "RBP@3"]  # fmt: skip


def inferred_ap(kinds, n_relevant):
    """Kinds of the retrieved rows: "r"elevant, "n"ot, "p"ooled without judgement, "-" outside."""
    total = 0.0
    for rank, kind in enumerate(kinds):
        above = kinds[:rank]
        if kind == "r":
            r, n, p = (above.count(kind) for kind in "rnp")
            if rank == 0:
                total += 1.0
            else:
                share = (r + EPSILON) / (r + n + 2 * EPSILON)
                total += 1 / (rank + 1) + rank / (rank + 1) * ((r + n + p) / rank) * share
    return total / n_relevant


def judged_share(kinds, k):
    return sum(kind in "rn" for kind in kinds[:k]) / len(kinds[:k])


def residual(kinds, k, p):
    read = kinds[:k]
    weights = [(1 - p) * p**rank for rank in range(len(read))]
    unjudged = sum(w for w, kind in zip(weights, read, strict=True) if kind in "p-")
    return unjudged + 1 - sum(weights)


def random_query(rng, n=6, levels=2):
    kinds = rng.choice(list("rrnnp-"), n)
    kinds[0] = "r"
    retrieved = np.ones(n, dtype=bool)
    retrieved[n - 1] = rng.random() < 0.5
    return kinds, rng.integers(0, levels, n) / 4, retrieved


def columns(kinds, retrieved):
    return {
        "judged": np.isin(kinds, ["r", "n"]),
        "pooled": kinds != "-",
        "retrieved": retrieved,
    }


def orders(scores, retrieved):
    """Every order of the retrieved rows that the scores allow."""
    rows = np.flatnonzero(retrieved).tolist()
    return [
        list(order) for order in permutations(rows) if (np.diff(scores[list(order)]) <= 0).all()
    ]


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_the_mean_over_orders_is_that_of_all_permutations(rng, levels):
    for _ in range(25):
        kinds, scores, retrieved = random_query(rng, levels=levels)
        y = (kinds == "r").astype(float)
        ranked = ["".join(kinds[order]) for order in orders(scores, retrieved)]
        wanted = {
            "infAP": np.mean([inferred_ap(r, int(y.sum())) for r in ranked]),
            "Judged@3": np.mean([judged_share(r, 3) for r in ranked]),
            "Unjudged": np.mean([1 - judged_share(r, 9) for r in ranked]),
            "RBPResidual(p=0.6)@4": np.mean([residual(r, 4, 0.6) for r in ranked]),
            "RBPResidual": np.mean([residual(r, 9, 0.8) for r in ranked]),
        }
        found = evaluate(y, scores, None, list(wanted), **columns(kinds, retrieved))
        for spec, value in wanted.items():
            assert found[spec] == pytest.approx(value, abs=1e-12), spec


@pytest.mark.parametrize("ties", ["stable", "worst", "best"])
def test_other_rules_for_ties_follow_their_order(rng, ties):
    for _ in range(25):
        kinds, scores, retrieved = random_query(rng)
        y = (kinds == "r").astype(float)
        key = {"stable": np.zeros(6), "worst": y, "best": -y}[ties]
        order = [row for row in np.lexsort((key, -scores)) if retrieved[row]]
        spec = f"infAP(ties={ties})"
        found = evaluate(y, scores, None, spec, **columns(kinds, retrieved))[spec]
        assert found == pytest.approx(inferred_ap("".join(kinds[order]), y.sum()), abs=1e-12)


def test_large_blocks_of_ties_agree_with_a_sample_of_their_orders(rng):
    kinds = rng.choice(list("rnnp-"), 300)
    y, n = (kinds == "r").astype(float), len(kinds)
    words = columns(kinds, np.ones(n, dtype=bool))
    expected = evaluate(y, np.zeros(n), None, "infAP", **words)["infAP"]
    values = [evaluate(y, rng.random(n), None, "infAP", **words)["infAP"] for _ in range(400)]
    assert abs(np.mean(values) - expected) < 5 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("spec", TOP)
@pytest.mark.parametrize("ties", ["mean", "stable", "docid", "worst"])
def test_condensed_lists_are_lists_without_the_unjudged_rows(rng, spec, ties):
    n = 300
    y = rng.choice([0, 0, 0, 1, 2, 3], n)
    scores, qid = rng.integers(0, 4, n) / 2, rng.integers(0, 25, n)
    judged, ids = rng.random(n) < 0.6, np.array([f"d{row:03}" for row in range(n)])
    retrieved = rng.random(n) < 0.8
    name, _, cutoff = spec.partition("@")
    at = f"@{cutoff}" if cutoff else ""
    whole, condensed = f"{name}(ties={ties}){at}", f"{name}(ties={ties},judged_only=True){at}"
    words = {"retrieved": retrieved, "doc_ids": ids}
    found = evaluate(y, scores, qid, [condensed, whole], judged=judged, **words)
    kept = evaluate(
        y[judged], scores[judged], qid[judged], whole, **{w: words[w][judged] for w in words}
    )
    wanted = dict(zip(kept.qids.tolist(), kept.per_query[whole].tolist(), strict=True))
    for query, value in zip(found.qids.tolist(), found.per_query[condensed], strict=True):
        np.testing.assert_allclose(value, wanted[query], rtol=1e-12)
    assert not np.array_equal(found.per_query[condensed], found.per_query[whole])


def test_a_query_without_judged_rows_counts_as_one_without_relevant_rows():
    y, scores, qid, judged = [1, 0, 1], [3, 2, 1], list("aab"), [True, True, False]
    found = evaluate(y, scores, qid, ["AP(judged_only=True)", "AP(judged_only=True,empty=0)"],
                     judged=judged)  # fmt: skip
    np.testing.assert_equal(found.per_query["AP(judged_only=True)"], [1.0, np.nan])
    assert found["AP(judged_only=True,empty=0)"] == 0.5


def test_measures_do_not_change_in_the_company_of_condensed_ones(rng):
    n = 400
    y, scores, qid = rng.integers(0, 4, n), rng.integers(0, 9, n), rng.integers(0, 9, n)
    judged = rng.random(n) < 0.5
    specs = ["nDCG@3", "AP", "nDCG(judged_only=True)@7", "AP(judged_only=True)@2", "infAP"]
    together = evaluate(y, scores, qid, specs, judged=judged)
    for spec in specs:
        alone = evaluate(y, scores, qid, spec, judged=judged)
        np.testing.assert_array_equal(together.per_query[spec], alone.per_query[spec])


def test_rbp_of_any_completion_lies_between_rbp_and_its_residual(rng):
    n = 200
    y, scores, qid = rng.integers(0, 2, n), rng.random(n), rng.integers(0, 9, n)
    judged = rng.random(n) < 0.5
    known = np.where(judged, y, 0)
    low, rest = (
        evaluate(known, scores, qid, spec, judged=judged).per_query[spec]
        for spec in ("RBP", "RBPResidual")
    )
    full = evaluate(y, scores, qid, "RBP").per_query["RBP"]
    best = evaluate(np.where(judged, y, 1), scores, qid, "RBP").per_query["RBP"]
    assert (low <= full).all() and (full <= low + rest).all()
    sizes = np.unique(qid, return_counts=True)[1][np.argsort(np.unique(qid, return_index=True)[1])]
    np.testing.assert_allclose(best + 0.8**sizes, low + rest, rtol=1e-12)


def test_nothing_retrieved_has_nothing_judged():
    words = {"retrieved": [False, False], "judged": [True, True]}
    found = evaluate([1, 0], [0.0, 0.0], None, ["Judged@5", "RBPResidual", "infAP"], **words)
    assert np.isnan(found["Judged@5"])
    assert dict(found) | {"Judged@5": None} == {"Judged@5": None, "RBPResidual": 1, "infAP": 0}


def test_negative_grades_are_of_the_pool_and_unjudged():
    run = {"q": {"d1": 4.0, "d2": 3.0, "d3": 2.0, "d4": 1.0}}
    rows = judge(run=run, qrels={"q": {"d2": -1, "d3": 1, "d5": -1}})
    assert dict(zip(rows.doc_ids, zip(rows.judged, rows.pooled, strict=True), strict=True)) == {
        "d1": (False, False),
        "d2": (False, True),
        "d3": (True, True),
        "d4": (False, False),
        "d5": (False, True),
    }
    found = evaluate(rows, ["infAP", "Judged@3"])
    assert found["infAP"] == pytest.approx(inferred_ap("-pr-", 1), abs=1e-15)
    assert found["Judged@3"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["infAP", "Judged@5", "Unjudged", "RBPResidual", "Bpref",
                                  "nDCG(judged_only=True)", "P(judged_only=True)@2"])  # fmt: skip
def test_rows_that_do_not_say_which_are_judged_are_refused(name):
    message = "depends on which rows are judged, but the rows do not say which are judged"
    with pytest.raises(ValueError, match=message):
        evaluate([0, 1], [1, 2], None, name)


def test_masks_that_contradict_each_other_are_named():
    with pytest.raises(ValueError, match=r"pooled must be True for every judged row, got False at"):
        evaluate([0, 1], [1, 2], None, "infAP", judged=[True, True], pooled=[True, False])
    with pytest.raises(ValueError, match="pooled needs judged"):
        evaluate([0, 1], [1, 2], None, "infAP", pooled=[True, False])
    with pytest.raises(ValueError, match="pooled must hold n_samples=2 truth values"):
        evaluate([0, 1], [1, 2], None, "infAP", judged=[True, True], pooled=[1, 0])


@pytest.mark.parametrize("spec", TOP)
def test_judged_only_is_printed_if_it_is_set(spec):
    name, _, cutoff = spec.partition("@")
    at = f"@{cutoff}" if cutoff else ""
    condensed = parse(f"{name}(judged_only=True){at}")
    assert "judged_only=True" in str(condensed) and parse(str(condensed)) == condensed
    assert condensed != parse(spec) and "judged_only" not in str(parse(spec))
    assert parse(f"{name}(judged_only=False){at}") == parse(spec)
    for preset in PRESETS:
        assert parse(str(condensed), preset) == condensed
    with pytest.raises(ValueError, match="judged_only must be True or False, got 'yes'"):
        parse(f"{name}(judged_only=yes){at}")
