"""Connection by wins, against a search for paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankwise.preferences.win_graph import check_connected


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
