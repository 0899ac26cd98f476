"""The verdict in words: who leads, who may be best, what the queries can show, contradictions."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import leaderboard
from rankwise.datasets import RankingData, Run
from rankwise.metrics.significance import detectable_difference, queries_needed
from rankwise.selection import evaluate_systems

N = 200


def noisy(**systems):
    """Values of systems, given as (quality, noise), on the same queries."""
    rng = np.random.default_rng(0)
    queries = rng.uniform(0.3, 0.5, N)
    return {name: queries + mean + rng.normal(0, sd, N) for name, (mean, sd) in systems.items()}


CASES = {
    "one system": ({"a": [0.1, 0.2, 0.3]}, "a has score 0.2000", ""),
    "two, open": (noisy(a=(0.02, 0.1), b=(0.02, 0.1)), "is not significant: either may be", ""),
    "two, decided": (noisy(a=(0.2, 0.1), b=(0, 0.1)), "better than b.", "needs"),
    "all decided": (
        noisy(a=(0.4, 0.1), b=(0.2, 0.1), c=(0, 0.1)),
        "It is significantly better than b and c.",
        "may be the best",
    ),
    "many decided": (
        noisy(a=(0.4, 0.1), **{f"s{i}": (0.03 * i, 0.1) for i in range(6)}),
        "better than all 6 other systems.",
        "may be the best",
    ),
    "all open": (
        noisy(a=(0, 0.1), b=(0, 0.1), c=(0, 0.1)),
        "Any of the 3 systems may be the best: nobody is significantly behind.",
        "others",
    ),
    "some open": (
        noisy(a=(0.2, 0.1), b=(0.2, 0.1), c=(0, 0.1)),
        "2 of 3 systems may be the best: b and a. c is significantly behind.",
        "others",
    ),
    "worse mean, not behind": (
        noisy(a=(0.2, 0.02), b=(0.16, 0.02), c=(0.14, 1.0)),
        "b is significantly behind although c, which is not, has a worse mean",
        "",
    ),
    "better on more": (
        {"a": np.full(N, 0.5) + 0.001 * np.arange(N) / N, "b": np.r_[[0.52] * 120, [0.3] * 80]},
        "b beats a on 120 units and loses on 80, but its losses are larger (0.2 against 0.02",
        "",
    ),
    "by Wilcoxon, the test favours the worse mean": (
        {"a": np.full(N, 0.5) + 0.001 * np.arange(N) / N, "b": np.r_[[0.52] * 190, [0.0] * 10]},
        "It differs significantly from b.",
        "better than b",
    ),
    "by Wilcoxon, the test agrees": (
        noisy(a=(0.2, 0.1), b=(0, 0.1)),
        "It is significantly better than b.",
        "differs",
    ),
    "tied": (
        {"a": [0.5, 0.5], "b": [0.5, 0.5]},
        "a and b share the lead with score",
        "0.0000 to b",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_sentences(case):
    values, expected, absent = CASES[case]
    test = "wilcoxon" if "Wilcoxon" in case else "t"
    text = leaderboard(values, test=test).verdict()
    assert expected in text
    assert not absent or absent not in text


def test_what_the_queries_show_and_how_many_settle_it():
    values = noisy(a=(0.03, 0.1), b=(0.0, 0.1), c=(-0.3, 0.1))
    board = leaderboard(values)
    lead = board.rows()[0]["mean"] - board.rows()[1]["mean"]
    shown = detectable_difference(values)
    assert 0 < lead < shown
    needed = queries_needed(values, lead)
    text = board.verdict()
    assert (
        f"With these 200 units, a difference of {shown:.2g} is found with probability 0.8" in text
    )
    assert f"needs about {float(f'{needed:.2g}'):,.0f} units." in text


def test_a_lead_that_far_more_queries_would_settle():
    a = np.tile([0.4, 0.6], 100)
    values = {"a": a, "b": a[::-1] - 1e-4, "c": a - np.tile([0.2, 0.4], 100)}
    text = leaderboard(values).verdict()
    assert "A lead of 0.0001, as over b, needs more than 100 times as many units." in text


@pytest.mark.parametrize(
    ("test", "words"), [("t", "p, ranks and intervals cannot be relied on"), ("wilcoxon", "skewed")]
)
def test_the_verdict_doubts_skewed_values(test, words):
    rare = np.r_[np.full(38, 0.05), -0.2, -0.3]  # a loss that occurs more often decides
    values = {"a": 0.5 + rare, "b": np.full(40, 0.5)}
    board = leaderboard(values, test=test)
    assert "skewed" in board.verdict().splitlines()[-1] and words in board.verdict()
    assert "skewed" not in leaderboard(noisy(a=(0.2, 0.1), b=(0, 0.1)), test=test).verdict()


def test_smaller_is_better_turns_the_verdict():
    values = noisy(a=(0.2, 0.1), b=(0.2, 0.1), c=(0, 0.1))
    text = leaderboard(values, greater_is_better=False).verdict()
    assert text.startswith("c leads with score")
    assert "significantly better than" in text


def test_values_of_different_queries():
    nan = np.nan
    values = {"a": [0.9, 0.8, 0.7, 0.9, nan, nan], "b": [nan, nan, 0.8, 0.95, 0.5, 0.4]}
    text = leaderboard(values, missing="pairs").verdict()
    assert text.startswith("b leads with score 0.6625")
    assert "a has the better mean (0.8250), but over other units" in text
    apart = {"a": [0.9, 0.8, 0.7, nan], "b": [nan, nan, 0.8, 0.95]}
    assert "The differences could not be tested." in leaderboard(apart, missing="pairs").verdict()


@pytest.mark.parametrize(("lowest", "has_leader"), [(1, False), (0, True)])
def test_another_measure_has_no_leader_if_all_tie(lowest, has_leader):
    """Where every row is relevant, AP is 1 for every order."""
    rng = np.random.default_rng(0)
    y = np.tile([lowest, 1, 1, 1, 3], 60)
    qid = np.repeat(np.arange(60), 5)
    ids = np.array([f"d{row}" for row in range(len(y))])
    data = RankingData(rng.normal(size=(len(y), 1)), y, qid=qid, doc_ids=ids)
    systems = {
        "b": 9.0 * (y == 3) - (y == 1),  # grades 3, 0, 1, 1, 1
        "a": rng.uniform(size=len(y)) - (y == 0),  # the grade 0 comes last
    }
    runs = {name: Run.from_data(data, scores, tag=name) for name, scores in systems.items()}
    board = evaluate_systems(data, runs, measures=["nDCG@10", "AP"])
    assert board.verdict().startswith("b leads")
    assert ("By AP, a leads" in board.verdict()) == has_leader
