"""Errors of a machine judge by length, against loops and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.selection import bias_by_length, bias_by_rank


def case(rng, n_queries=40, slope=0.0):
    """Documents of several queries; the machine likes long ones by ``slope`` per doubling."""
    documents = {f"q{q}-d{d}": float(np.exp2(rng.uniform(4, 9))) for q in range(n_queries)
                 for d in range(8)}  # fmt: skip
    human, machine = {}, {}
    for name, length in documents.items():
        q = name.partition("-")[0]
        relevant = rng.random() < 0.3
        chance = 0.2 + 0.6 * relevant + slope * (np.log2(length) - 6.5)
        human.setdefault(q, {})[name] = int(relevant)
        machine.setdefault(q, {})[name] = int(rng.random() < chance)
    return human, machine, documents


def flat(human, machine, lengths):
    return [
        (int(q[1:]), human[q][d], machine[q][d], lengths[d])
        for q in human for d in human[q] if d in lengths and machine.get(q, {}).get(d, -1) >= 0
    ]  # fmt: skip


@pytest.mark.parametrize("n_groups", [1, 4])
def test_groups_are_those_of_loops(rng, n_groups):
    human, machine, lengths = case(rng)
    rows = sorted(flat(human, machine, lengths), key=lambda row: row[3])
    found = bias_by_length(human, machine, lengths, n_groups=n_groups).groups
    assert len(found) == n_groups and sum(g.n_documents for g in found) == len(rows)
    for g in found:
        of_group = [row for row in rows if g.shortest <= row[3] <= g.longest]
        assert g.n_documents == len(of_group) and abs(len(of_group) - 320 / n_groups) <= 1
        people, model = (np.mean([row[i] for row in of_group]) for i in (1, 2))
        assert (g.human, g.machine, g.bias) == pytest.approx((people, model, model - people))
        assert g.low < g.bias < g.high


def test_the_interval_is_that_of_the_ranks(rng):
    """One document a query: ranks and lengths group the same pairs."""
    human, machine, lengths = case(rng, n_queries=60)
    first = {q: next(iter(documents)) for q, documents in human.items()}
    human = {q: {d: human[q][d]} for q, d in first.items()}
    [of_rank] = bias_by_rank(human, machine, {"a": {q: {d: 1.0} for q, d in first.items()}})
    [group] = bias_by_length(human, machine, lengths, n_groups=1).groups
    assert (group.low, group.high) == pytest.approx((of_rank.low, of_rank.high))


def test_the_slope_is_that_of_statsmodels(rng):
    sm = pytest.importorskip("statsmodels.api")
    human, machine, lengths = case(rng, slope=0.03)
    rows = np.array(flat(human, machine, lengths))
    X = np.column_stack([np.ones(len(rows)), rows[:, 1], np.log2(rows[:, 3])])
    fit = sm.OLS(rows[:, 2], X).fit(
        cov_type="cluster", cov_kwds={"groups": rows[:, 0].astype(int)}, use_t=True
    )
    found = bias_by_length(human, machine, lengths, confidence_level=0.9)
    assert found.slope == pytest.approx(fit.params[2])
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int(0.1)[2]))
    assert found.p == pytest.approx(fit.pvalues[2])


def test_a_taste_for_length_is_found_and_leniency_is_none(rng):
    human, machine, lengths = case(rng, n_queries=150, slope=0.06)
    found = bias_by_length(human, machine, lengths)
    assert 0.03 < found.low < 0.06 < found.high and found.p < 0.001
    assert found.groups[0].bias < found.groups[-1].bias
    # Long documents are never relevant, and the machine is lenient: a bias, but none by length.
    human = {q: {d: int(lengths[d] < 100) for d in of} for q, of in human.items()}
    lenient = {q: {d: max(g, int(rng.random() < 0.3)) for d, g in of.items()}
               for q, of in human.items()}  # fmt: skip
    found = bias_by_length(human, lenient, lengths)
    assert found.groups[-1].bias > 0.2 > found.groups[0].bias
    assert found.low < 0 < found.high


def test_rate_of_false_claims():
    rejected = 0
    for seed in range(200):
        human, machine, lengths = case(np.random.default_rng(seed), n_queries=30)
        rejected += bias_by_length(human, machine, lengths).p < 0.05
    assert 0.015 < rejected / 200 < 0.095


def test_documents_without_length_and_negative_grades(rng):
    human, machine, lengths = case(rng)
    few = dict(list(lengths.items())[:100])
    found = bias_by_length(human, machine, few)
    assert found.n_left_out == 220 and sum(g.n_documents for g in found.groups) == 100
    assert "220 documents that both judged have no length." in str(found)
    machine["q0"] = dict.fromkeys(machine["q0"], -1)
    human["q1"] = dict.fromkeys(human["q1"], -1)
    assert sum(g.n_documents for g in bias_by_length(human, machine, few).groups) == 84
    assert bias_by_length(human, machine, few).to_dict()["n_left_out"] == 220


def test_equal_lengths_and_few_queries(rng):
    human, machine, lengths = case(rng)
    same = bias_by_length(human, machine, dict.fromkeys(lengths, 7))
    assert len(same.groups) == 1 and np.isnan([same.slope, same.low, same.high, same.p]).all()
    assert same.to_frame("pandas").loc[0, ["shortest", "longest"]].tolist() == [7, 7]
    two = {q: human[q] for q in ("q0", "q1")}
    assert np.isnan(bias_by_length(two, machine, lengths).p)
    agreed = bias_by_length(human, human, lengths)
    assert agreed.slope == pytest.approx(0, abs=1e-12) and agreed.groups[0].bias == 0


def test_bad_arguments_are_named(rng):
    human, machine, lengths = case(rng)
    with pytest.raises(ValueError, match="n_groups must be a whole number >= 1, got 0"):
        bias_by_length(human, machine, lengths, n_groups=0)
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1"):
        bias_by_length(human, machine, lengths, confidence_level=1)
    with pytest.raises(ValueError, match="lengths must hold documents that both judged, got none"):
        bias_by_length(human, machine, {"other": 1})
    for length in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"lengths must be finite numbers > 0, got .* 'q0-d0'"):
            bias_by_length(human, machine, lengths | {"q0-d0": length})
    with pytest.raises(ValueError, match="lengths must be numbers"):
        bias_by_length(human, machine, {"q0-d0": "a text"})


@pytest.mark.parametrize("n_queries", [4, 29])
def test_no_interval_of_the_slope_from_few_queries(rng, n_queries):
    human, machine, lengths = case(rng, n_queries=n_queries)
    found = bias_by_length(human, machine, lengths)
    assert np.isfinite(found.slope) and np.isnan([found.low, found.high, found.p]).all()
    assert "no interval with fewer than 30 queries" in str(found)
