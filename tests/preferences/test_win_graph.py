"""Connection by wins, against a search for paths."""

from __future__ import annotations

import itertools
import warnings
from unittest import mock

import numpy as np
import pytest

from rankwise.preferences import PairwisePreferences
from rankwise.preferences.strength_newton import check_connected


def reaches_all(wins, m):
    """Whether a path of wins leads from every item to every other."""
    for start in range(m):
        reached, open_items = {start}, [start]
        while open_items:
            item = open_items.pop()
            found = {loser for winner, loser in wins if winner == item} - reached
            reached |= found
            open_items += found
        if len(reached) < m:
            return False
    return True


def test_all_graphs_of_three_items():
    items = np.array(["a", "b", "c"])
    edges = [(i, j) for i in range(3) for j in range(3) if i != j]
    connected = 0
    for size in range(1, 7):
        for wins in itertools.combinations(edges, size):
            winners, losers = np.array(wins).T
            if reaches_all(wins, 3):
                connected += 1
                check_connected(winners, losers, items, penalised=False)
            else:
                with pytest.raises(ValueError, match=r"\{"):
                    check_connected(winners, losers, items, penalised=False)
    assert connected == 18  # labelled strongly connected digraphs on three nodes


def test_long_lists_are_cut():
    items = np.array([f"m{i}" for i in range(20)])
    winners, losers = np.arange(0, 20, 2), np.arange(1, 20, 2)
    with pytest.raises(ValueError, match=r"\{m0, m1\}, .*\{m8, m9\} and 5 more groups"):
        check_connected(winners, losers, items, penalised=False)
    circle = np.arange(19)
    with pytest.raises(ValueError, match=r"\{m0, m1, m2, m3 and 15 more\} lost .*\{m19\} beat no"):
        check_connected(
            np.append(circle, 0), np.append((circle + 1) % 19, 19), items, penalised=False
        )


def has_circle_of_wins(wins, ties, m):
    """Whether a circle has more wins than ties, by all simple circles."""
    steps = dict.fromkeys(wins, 1)
    for i, j in ties:
        steps.setdefault((i, j), -1)
        steps.setdefault((j, i), -1)
    return any(
        all(step in steps for step in circle) and sum(steps[step] for step in circle) > 0
        for size in range(2, m + 1)
        for items in itertools.permutations(range(m), size)
        for circle in [list(zip(items, (*items[1:], items[0]), strict=True))]
    )


@pytest.mark.parametrize("ties", ["davidson", "rao_kupper"])
def test_ties_have_an_estimate_if_a_circle_has_more_wins_than_ties(ties):
    """Random games of three or four items: a fit succeeds just where the rule says."""
    rng = np.random.default_rng(0)
    found = {True: 0, False: 0}
    for _ in range(120):
        m = int(rng.integers(2, 5))
        games = [(*rng.permutation(m)[:2].tolist(), rng.random() < 0.6) for _ in range(2 * m)]
        wins = {(i, j) for i, j, tied in games if not tied}
        tied = {(i, j) for i, j, tied in games if tied}
        both = [*wins, *tied, *((j, i) for i, j in tied)]
        if not tied or not reaches_all(both, m):
            continue
        circle = has_circle_of_wins(wins, tied, m)
        found[circle] += 1
        pairs = [(f"m{i}", f"m{j}") for i, j, _ in games]
        outcomes = [0.5 if tie else 1.0 for *_, tie in games]
        model = PairwisePreferences(ties)
        if circle:
            assert np.abs(model.fit(pairs, outcomes).strengths_).max() < 30
            continue
        with pytest.raises(ValueError, match="parameter of ties has no finite estimate"):
            model.fit(pairs, outcomes)
        # Without the check, Newton steps find no maximum either.
        with (
            mock.patch("rankwise.preferences.pairwise_preferences.check_tie_effect"),
            pytest.raises(ValueError, match="the likelihood has no maximum"),
        ):
            model.fit(pairs, outcomes)
    assert min(found.values()) >= 8


def test_a_penalty_warns_of_items_that_only_won_or_lost():
    pairs = [["a", "b"], ["b", "c"], ["c", "b"], ["c", "d"]]
    with pytest.warns(UserWarning, match=r"\{a\} won all comparisons and \{d\} lost all"):
        PairwisePreferences(alpha=0.1).fit(pairs, [1, 1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PairwisePreferences(alpha=0.1).fit([*pairs, ["d", "a"]], [1, 1, 1, 1, 1])
