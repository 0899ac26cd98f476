"""Whether comparisons connect all items: a path of wins must lead from each item to each other.

Otherwise some items can be made stronger than all others without making any outcome less likely,
and the likelihood has no maximum.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import (
    NegativeCycleError,
    bellman_ford,
    connected_components,
    csgraph_from_dense,
)

from rankwise.runtime.callers import callers_level
from rankwise.typing import Int64Array

_MOST_COMPONENTS, _MOST_ITEMS = 5, 4


def check_connected(
    winners: Int64Array, losers: Int64Array, items: NDArray[np.str_], *, penalised: bool
) -> None:
    """Check that paths of wins connect all items.

    If they do not and no penalty keeps strengths finite, the error names the components. With a
    penalty, groups of items that were never compared with one another give a UserWarning. A tie is
    a win of both.
    """
    m = len(items)
    wins = coo_array((np.ones(len(winners)), (winners, losers)), shape=(m, m)).tocsr()
    n_groups, group = connected_components(wins, connection="weak")
    if n_groups > 1:
        problem = f"no comparison connects {_list(group, items)}"
        if not penalised:
            raise ValueError(
                f"{problem}, so their strengths cannot be compared. Fit each group on its own, "
                "add comparisons, or pass alpha > 0."
            )
        warnings.warn(
            f"{problem}: only the penalty relates their strengths.",
            UserWarning,
            stacklevel=callers_level(),
        )
    if penalised:
        return
    n_strong, strong = connected_components(wins, connection="strong")
    if n_strong > 1:
        across = strong[winners] != strong[losers]
        ahead, behind = strong[winners[across]], strong[losers[across]]
        top = np.setdiff1d(ahead, behind)
        bottom = np.setdiff1d(behind, ahead)
        raise ValueError(
            f"strengths have no finite estimates: of the {n_strong} groups of items that beat one "
            f"another, {_list_chosen(strong, top, items)} lost to no item outside, and "
            f"{_list_chosen(strong, bottom, items)} beat no item outside. Leave these items out, "
            "add comparisons, or pass alpha > 0."
        )


def check_tie_effect(
    winners: Int64Array, losers: Int64Array, tied: tuple[Int64Array, Int64Array], n_items: int
) -> None:
    """Check that a parameter of ties has a finite estimate.

    If on no circle of comparisons there are more wins (all in one direction) than ties, then all
    wins can become certain while all ties remain likely: a win needs a difference of at least the
    parameter, a tie of at most that.
    """
    wins = coo_array((np.ones(len(winners)), (winners, losers)), shape=(n_items, n_items)).tocsr()
    if connected_components(wins, connection="strong")[0] < n_items:
        return  # a circle of wins alone
    # Differences of strengths that allow all this are the distances in this graph, if a circle of
    # negative length does not rule them out.
    lengths = np.full((n_items, n_items), np.inf)
    lengths[tied] = lengths[tied[::-1]] = 1.0
    lengths[winners, losers] = -1.0
    try:
        bellman_ford(csgraph_from_dense(lengths, null_value=np.inf))
    except NegativeCycleError:
        return
    raise ValueError(
        "the parameter of ties has no finite estimate: on no circle of comparisons there are more "
        "wins than ties. Pass ties='half' or alpha > 0, or add comparisons."
    )


def _list_chosen(component: Int64Array, chosen: Int64Array, items: NDArray[np.str_]) -> str:
    return _list(np.where(np.isin(component, chosen), component, -1), items)


def _list(component: Int64Array, items: NDArray[np.str_]) -> str:
    """Components in braces, the largest first; -1 is none."""
    numbers, first, sizes = np.unique(component, return_index=True, return_counts=True)
    order = [number for number in numbers[np.lexsort((first, -sizes))].tolist() if number >= 0]
    shown = []
    for number in order[:_MOST_COMPONENTS]:
        names = items[component == number].tolist()
        more = f" and {len(names) - _MOST_ITEMS} more" if len(names) > _MOST_ITEMS else ""
        shown.append("{" + ", ".join(names[:_MOST_ITEMS]) + more + "}")
    rest = len(order) - _MOST_COMPONENTS
    return ", ".join(shown) + (f" and {rest} more groups" if rest > 0 else "")
