"""Errors of a machine judge by rank, against loops and the paired t test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankwise.selection import bias_by_rank


def case(rng, n_systems=2, lenient_first=0.0):
    names = [f"d{d}" for d in range(12)]
    queries = [f"q{q}" for q in range(40)]
    runs = {
        f"s{s}": {q: {d: rng.random() for d in names if rng.random() < 0.8} for q in queries}
        for s in range(n_systems)
    }
    human = {q: {d: int(rng.integers(-1, 3)) for d in names if rng.random() < 0.8} for q in queries}
    machine = {q: {d: int(rng.integers(-1, 3)) for d in names} for q in queries[5:]}
    for q in queries[5:]:
        first = max(runs["s0"][q], key=runs["s0"][q].get)
        if rng.random() < lenient_first:
            machine[q][first] = 2
    return runs, human, machine


def pairs_by_rank(runs, human, machine, rel):
    found = {}
    for run in runs.values():
        for q, documents in run.items():
            ranked = sorted(documents, key=documents.get, reverse=True)
            for rank, d in enumerate(ranked, start=1):
                if human.get(q, {}).get(d, -1) >= 0 and machine.get(q, {}).get(d, -1) >= 0:
                    pair = human[q][d] >= rel, machine[q][d] >= rel
                    found.setdefault(rank, []).append((q, *pair))
    return found


@pytest.mark.parametrize("rel", [1, 2])
def test_shares_are_those_of_loops(rng, rel):
    runs, human, machine = case(rng, n_systems=3)
    wanted = pairs_by_rank(runs, human, machine, rel)
    found = bias_by_rank(human, machine, runs, k=6, rel=rel)
    assert [b.rank for b in found] == [1, 2, 3, 4, 5, 6]
    for b in found:
        people, model = (np.mean([pair[i] for pair in wanted[b.rank]]) for i in (1, 2))
        assert b.n_documents == len(wanted[b.rank])
        assert (b.human, b.machine) == pytest.approx((people, model))
        assert b.bias == pytest.approx(model - people) and b.low < b.bias < b.high


def test_the_interval_of_one_system_is_students_t(rng):
    runs, human, machine = case(rng, n_systems=1)
    wanted = pairs_by_rank(runs, human, machine, 1)
    for b in bias_by_rank(human, machine, runs, confidence_level=0.9):
        people, model = (np.array([pair[i] for pair in wanted[b.rank]], float) for i in (1, 2))
        ends = stats.ttest_rel(model, people).confidence_interval(0.9)
        if np.abs(model - people).sum() >= 20:  # otherwise too few errors for Student's t
            assert (b.low, b.high) == pytest.approx((ends.low, ends.high))
        assert b.low <= ends.low + 1e-9 and ends.high - 1e-9 <= b.high


def test_copies_of_a_system_add_no_certainty(rng):
    runs, human, machine = case(rng, n_systems=1)
    copies = dict.fromkeys("abc", runs["s0"])
    for one, three in zip(
        bias_by_rank(human, machine, runs), bias_by_rank(human, machine, copies), strict=True
    ):
        assert three.n_documents == 3 * one.n_documents
        assert (three.low, three.high) == pytest.approx((one.low, one.high))


def test_leniency_at_the_first_rank_is_seen_there(rng):
    runs, human, machine = case(rng, n_systems=1, lenient_first=1.0)
    first, *others = bias_by_rank(human, machine, runs)
    assert first.low > 0.05 and first.machine == 1
    assert sum(b.low > 0.05 or b.high < -0.05 for b in others) <= 2


def test_bad_arguments_are_named(rng):
    runs, human, machine = case(rng)
    with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
        bias_by_rank(human, machine, runs, k=0)
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1"):
        bias_by_rank(human, machine, runs, confidence_level=1)
    with pytest.raises(ValueError, match="judged no document of the systems in common"):
        bias_by_rank(human, {"other": {"d": 1}}, runs)
    [only] = bias_by_rank({"q": {"d": 1}}, {"q": {"d": 0}}, {"a": {"q": {"d": 1.0}}})
    assert only.bias == -1 and np.isnan(only.low)
