"""Small data sets of the literature, as counts."""

from __future__ import annotations

import numpy as np

# Citations among four journals of statistics: Stigler, Statistical Science 9 (1994); row: cited.
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITATIONS = np.array(
    [[714, 730, 498, 221], [33, 425, 68, 17], [320, 813, 1072, 142], [284, 276, 325, 188]]
)

# Baseball, American League East, 1987: wins of the home team (row), and its losses, against each
# team: Agresti, "Categorical Data Analysis", 2nd edition (2002), table 10.10.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
HOME_WINS = np.array(
    [
        [0, 4, 4, 4, 6, 4, 6],
        [3, 0, 4, 4, 6, 6, 4],
        [2, 4, 0, 2, 4, 4, 6],
        [3, 5, 2, 0, 4, 4, 6],
        [5, 2, 3, 4, 0, 5, 6],
        [2, 3, 3, 4, 4, 0, 2],
        [2, 1, 1, 2, 1, 3, 0],
    ]
)
HOME_LOSSES = np.array(
    [
        [0, 3, 2, 3, 1, 2, 0],
        [3, 0, 2, 3, 0, 1, 3],
        [5, 3, 0, 4, 3, 2, 0],
        [3, 1, 5, 0, 3, 2, 1],
        [1, 5, 3, 2, 0, 2, 0],
        [5, 3, 4, 3, 2, 0, 4],
        [5, 5, 6, 4, 6, 4, 0],
    ]
)

# Chocolate puddings of six brands: Davidson, JASA 65 (1970), table 1: i, j, wins of i, of j, ties.
PUDDINGS = np.array(
    [
        [1, 2, 19, 22, 16], [1, 3, 16, 19, 12], [2, 3, 19, 19, 10], [1, 4, 18, 23, 13],
        [2, 4, 23, 19, 9], [3, 4, 19, 20, 15], [1, 5, 13, 19, 18], [2, 5, 16, 20, 12],
        [3, 5, 16, 15, 17], [4, 5, 17, 14, 16], [1, 6, 18, 21, 12], [2, 6, 22, 20, 12],
        [3, 6, 13, 18, 10], [4, 6, 14, 19, 18], [5, 6, 11, 21, 12],
    ]
)  # fmt: skip


def list_citations():
    """Pairs (cited, citing), outcomes and numbers of citations."""
    places = [(i, j) for i in range(4) for j in range(4) if i != j]
    pairs = [(JOURNALS[i], JOURNALS[j]) for i, j in places]
    return pairs, np.ones(len(pairs)), [CITATIONS[i, j] for i, j in places]


def list_baseball():
    """Pairs (home, away), outcomes and numbers of games."""
    places = [(i, j) for i in range(7) for j in range(7) if i != j]
    pairs = [(TEAMS[i], TEAMS[j]) for i, j in places]
    wins, losses = ([table[i, j] for i, j in places] for table in (HOME_WINS, HOME_LOSSES))
    return pairs * 2, np.repeat([1, 0], len(pairs)), wins + losses


def list_puddings():
    """Pairs of brands, outcomes and numbers of judges."""
    pairs = PUDDINGS[:, :2].tolist()
    return pairs * 3, np.repeat([1, 0, 0.5], len(pairs)), PUDDINGS[:, 2:].T.ravel()
