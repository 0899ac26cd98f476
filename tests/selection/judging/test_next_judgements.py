"""Documents to judge next, and the certainty of a sign, against sampled judgements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise.metrics import parse
from rankwise.selection import difference_bounds, next_judgements
from rankwise.selection.judging.completions import (
    PRIOR_JUDGEMENTS,
    Completions,
    expect_difference,
    share_widths,
)
from rankwise.selection.judging.difference_bounds import read_pool


def case(rng, n_queries=30, n_documents=30, length=10, judged=0.5, relevant=0.3):
    """(runs, judgements, complete judgements)."""
    runs = {"a": {}, "b": {}, "c": {}}
    complete = {}
    for q in map(str, range(n_queries)):
        names = [f"d{number}" for number in range(n_documents)]
        complete[q] = {d: int(rng.random() < relevant) for d in names}
        for run in runs.values():
            found = rng.permutation(names)[:length].tolist()
            run[q] = dict(zip(found, rng.random(length).tolist(), strict=True))
    known = {
        q: {d: g for d, g in grades.items() if rng.random() < judged} | {"other": 0}
        for q, grades in complete.items()
    }
    return runs, known, complete


def test_shares_add_up_to_the_width_of_the_bounds(rng):
    runs, known, _ = case(rng)
    pool = read_pool(known, runs, all_queries=True)
    for spec in ("P@5", "nDCG(empty=0)@5", "DCG@5", "RBP"):
        completions = Completions(pool, parse(spec), "a", "b")
        low, high = completions.extremes()
        shares = share_widths(completions, low, high)
        assert np.abs(shares).sum() == pytest.approx((high - low).mean())
        assert (shares[~completions.is_open] == 0).all()
        assert (shares * completions.advantage >= 0).all()
        if spec != "nDCG(empty=0)@5":  # a document adds its gain, whatever the others are
            assert low.mean() + np.maximum(-shares, 0).sum() == pytest.approx(
                np.nan_to_num(completions.differences()).mean()
            )


def test_a_judgement_narrows_the_bounds_by_its_gain(rng):
    runs, known, complete = case(rng)
    words = {"pairs": [("a", "b")], "all_queries": True}
    [before] = difference_bounds(known, runs, "DCG@5", **words)
    chosen = next_judgements(known, runs, "DCG@5", k=7, **words)
    assert len(chosen) == 7
    assert [c.gain for c in chosen] == sorted((c.gain for c in chosen), reverse=True)
    for c in chosen:
        assert c.doc_id not in known[c.qid]
        known[c.qid][c.doc_id] = complete[c.qid][c.doc_id]
    [after] = difference_bounds(known, runs, "DCG@5", **words)
    narrowed = (before.high - before.low) - (after.high - after.low)
    assert narrowed == pytest.approx(sum(c.gain for c in chosen))


def test_judging_all_that_is_asked_for_settles_every_pair(rng):
    runs, known, complete = case(rng, n_queries=6)
    n_asked = 0
    while chosen := next_judgements(known, runs, "nDCG@3", k=5):
        n_asked += len(chosen)
        for c in chosen:
            known[c.qid][c.doc_id] = complete[c.qid][c.doc_id]
    bounds = difference_bounds(known, runs, "nDCG@3")
    assert all(b.is_settled or b.low == b.high for b in bounds) and n_asked > 5
    full = difference_bounds(complete, runs, "nDCG@3")
    assert [(b.first, b.second) for b in bounds] == [(b.first, b.second) for b in full]


def test_documents_that_settle_several_pairs_come_first():
    runs = {
        "a": {"q": {"shared": 2.0, "d1": 1.0}},
        "b": {"q": {"d2": 2.0, "d3": 1.0}},
        "c": {"q": {"shared": 1.0, "d4": 2.0}},
    }
    pairs = [("a", "b"), ("b", "c")]
    first, *_ = next_judgements({"q": {"other": 1}}, runs, "P@2", pairs=pairs)
    assert first.doc_id in ("shared", "d2", "d3") and first.gain == pytest.approx(1.0)
    alike = next_judgements({"q": {"other": 1}}, runs, "P@2", pairs=[("a", "c")])
    assert {c.doc_id for c in alike} == {"d1", "d4"}


def test_certainty_is_the_share_of_the_signs_of_sampled_judgements(rng):
    """P and DCG are linear in relevance, so only the normal approximation differs."""
    for spec, judged in (("P@5", 0.7), ("DCG@5", 0.4), ("P@5", 0.2)):
        runs, known, _ = case(rng, judged=judged)
        pool = read_pool(known, runs, all_queries=True)
        completions = Completions(pool, parse(spec), "a", "b")
        expected, found = expect_difference(completions, *completions.extremes())
        is_known = completions.is_read & pool.judged
        n = np.bincount(pool.query, is_known, minlength=pool.n_queries)
        r = np.bincount(pool.query, is_known & (pool.grades > 0), minlength=pool.n_queries)
        share = (r.sum() + 1) / (n.sum() + 2)
        prior = PRIOR_JUDGEMENTS
        signs = []
        for _ in range(1500):
            chance = rng.beta(r + prior * share, n - r + prior * (1 - share))
            relevant = completions.is_open & (rng.random(len(pool.query)) < chance[pool.query])
            sampled = replace(pool, grades=np.where(relevant, pool.highest_grade, pool.grades))
            signs.append(Completions(sampled, parse(spec), "a", "b").differences().sum())
        assert expected == pytest.approx(np.mean(signs) / pool.n_queries, abs=0.01)
        positive = (np.array(signs) > 1e-12).mean() + (np.abs(signs) < 1e-12).mean() / 2
        assert found == pytest.approx(max(positive, 1 - positive), abs=0.04), spec


def test_documents_that_both_rank_alike_come_when_no_others_are_left():
    """They change the ideal, and so the weight of a query in the mean."""

    def ranked(names):
        return {name: -float(rank) for rank, name in enumerate(names)}

    runs = {
        "a": {"q": ranked(["good", "bad", "x"]), "p": ranked(["m", "n", "o", "r", "good"])},
        "b": {"q": ranked(["bad", "good", "x"]), "p": ranked(["m", "good", "n", "o", "r"])},
    }
    judgements = {"q": {"good": 1, "bad": 0}, "p": dict.fromkeys("mnor", 0) | {"good": 1}}
    assert not difference_bounds(judgements, runs, "nDCG@5")[0].is_settled
    [chosen] = next_judgements(judgements, runs, "nDCG@5")
    assert chosen.doc_id == "x" and chosen.gain > 0
    for grade, leader in ((0, "a"), (1, "b")):
        judgements["q"]["x"] = grade
        assert next_judgements(judgements, runs, "nDCG@5") == []
        assert difference_bounds(judgements, runs, "nDCG@5")[0].first == leader


def test_settled_pairs_are_certain_and_ask_for_nothing(rng):
    runs, _, complete = case(rng)
    for bounds in difference_bounds(complete, runs, "P@5"):
        assert bounds.certainty == 1 and bounds.n_open == 0
    assert next_judgements(complete, runs, "P@5") == []
    runs, known, _ = case(rng, judged=0.1)
    assert all(0.5 <= b.certainty < 1 for b in difference_bounds(known, runs, "P@5"))


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3"])
def test_the_number_of_documents_is_checked(rng, k):
    runs, known, _ = case(rng, n_queries=2)
    with pytest.raises(ValueError, match="k must be a whole number >= 1"):
        next_judgements(known, runs, k=k)


def test_other_measures_and_unknown_systems_are_refused(rng):
    runs, known, _ = case(rng, n_queries=2)
    with pytest.raises(ValueError, match="measure must take unjudged documents as not relevant"):
        next_judgements(known, runs, "infAP")
    with pytest.raises(ValueError, match="pairs must name two systems each"):
        next_judgements(known, runs, pairs=["ab"])
