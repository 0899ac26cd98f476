"""Ranks that the tests of all pairs leave open, and groups of systems they do not separate."""

from __future__ import annotations

from string import ascii_letters
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rankwise.typing import Int64Array


class RankIntervals(NamedTuple):
    """Lowest and highest rank of every system, both from 1 (the best) to the number of systems."""

    low: Int64Array
    high: Int64Array


def rank_intervals(is_better: NDArray[np.bool_]) -> RankIntervals:
    """Ranks of systems between those that are certainly better and those that are certainly worse.

    Parameters
    ----------
    is_better : ndarray of shape (n_systems, n_systems), bool
        Entry (i, j): system i is significantly better than system j, by tests that are corrected
        for all pairs.

    Returns
    -------
    RankIntervals
        From 1 + the number of systems that are significantly better to the number of systems less
        those that are significantly worse.

    Raises
    ------
    ValueError
        If the table is not square, or names two systems better than each other.

    Notes
    -----
    If the chance of any false claim among the pairs is at most alpha, all intervals together
    contain the true ranks with probability 1 - alpha [1]_, [2]_. A system that shares its true
    value with others has all ranks of this group, and its interval contains them all.
    O(n_systems²).

    .. [1] Al Mohamad, Goeman & van Zwet, "Simultaneous confidence intervals for ranks with
       application to ranking institutions", Biometrics 78(1):238-247, 2022.
    .. [2] Klein, Wright & Wieczorek, "A joint confidence region for an overall ranking of
       populations", J. R. Statist. Soc. C 69(3):589-606, 2020.

    Examples
    --------
    The first system is better than the third; nothing else is known.

    >>> low, high = rank_intervals(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool))
    >>> low.tolist(), high.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    is_better = np.asarray(is_better, dtype=bool)
    if is_better.ndim != 2 or len(set(is_better.shape)) > 1 or (is_better & is_better.T).any():
        raise ValueError(
            "is_better must be a square table in which no two systems are better than each other, "
            f"got shape {is_better.shape}. Set entry (i, j) if system i is better than system j."
        )
    return RankIntervals(1 + is_better.sum(axis=0), len(is_better) - is_better.sum(axis=1))


def order_by_tests(is_better: NDArray[np.bool_]) -> tuple[Int64Array, NDArray[np.bool_]]:
    """Order of systems that no test contradicts, and the tests that do not contradict each other.

    Systems are given in the order of their means, which stays where it can. Tests of pairs on
    queries of their own may go round in a circle, of which none then counts. O(n_systems²).
    """
    part = connected_components(is_better, directed=True, connection="strong")[1]
    is_better = is_better & (part[:, None] != part)
    n_better, order = is_better.sum(axis=0), np.arange(len(is_better))
    if np.tril(is_better).any():
        for position in range(len(order)):
            system = int(np.flatnonzero(n_better == 0)[0])
            order[position] = system
            n_better = n_better - is_better[system]
            n_better[system] = len(order)  # taken: out of reach of all that follow
    return order, is_better


def compact_letters(are_separable: NDArray[np.bool_]) -> list[str]:
    """Letters of which two systems share one if and only if they are not separable.

    Parameters
    ----------
    are_separable : ndarray of shape (n_systems, n_systems), bool
        Symmetric table of the pairs that differ significantly; systems in the order of their means.

    Returns
    -------
    list of str
        Letters of every system, "a" for the group of the first; beyond 52 groups, their numbers
        with points between.

    Notes
    -----
    Groups are cliques of the graph of pairs that are not separable [1]_. Each is grown from a pair
    that no group holds so far by the following systems in turn, so there are at most as many as
    pairs, and as few as possible if the groups are runs of neighbouring systems.
    O(n_groups · n_systems²).

    .. [1] Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
       J. Comput. Graph. Statist. 13(2):456-466, 2004.

    Examples
    --------
    >>> compact_letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    close = ~np.asarray(are_separable, dtype=bool)
    np.fill_diagonal(close, True)
    groups: list[list[int]] = []
    is_open = close.copy()
    for first in range(len(close)):
        while is_open[first].any():
            group = [first]
            fits = close[first].copy()
            # Pairs that have no group come first; the others then fill the group up.
            for candidates in (is_open[first].copy(), fits.copy()):
                for system in np.flatnonzero(candidates).tolist():
                    if fits[system] and system not in group:
                        group.append(system)
                        fits &= close[system]
            is_open[np.ix_(group, group)] = False
            groups.append(sorted(group))
    names = list(ascii_letters) if len(groups) <= len(ascii_letters) else _numbers(len(groups))
    between = "" if len(groups) <= len(ascii_letters) else "."
    members: list[list[str]] = [[] for _ in close]
    for name, group in zip(names, groups, strict=False):
        for system in group:
            members[system].append(name)
    return [between.join(letters) for letters in members]


def _numbers(n: int) -> list[str]:
    return [str(number) for number in range(1, n + 1)]
