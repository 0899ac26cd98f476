"""What a log holds, what is odd about it, and whether it can tell examination from relevance.

A click needs a user who looks and a document worth a click. A log that shows every pair of query
and document at one place only cannot separate the two. Places are linked where pairs were shown at
both and clicks go both ways; only the examination of linked places can be compared [1]_.

References
----------
.. [1] Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position bias without
   intrusive interventions", WSDM 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri, stdtrit

from rankwise.kernels.click_cells import order_by_pair, sum_cells
from rankwise.metrics.statistics.intervals import wilson_interval
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog, Codes

# Every count of ``ClickLog.problems``: what it counts, and what was done about it.
PROBLEMS = {
    "places_from_0": "rows had places from 0; all places were raised by 1",
    "repeated_rows": "rows repeated a document of their list; merged into its first clicked row",
    "differing_repeats": "repeated rows had another place, weight or time; merged like the others",
    "shared_sessions": "sessions have several users; they were split by user",
    "split_lists": "lists of a session showed documents repeatedly; they were split by time",
    "time_backwards": "rows are earlier than the row before them in their session; kept",
    "shared_places": "rows share their place with another document of the list; kept",
    "lists_with_gaps": "lists do not start at place 1 or skip places; kept",
    "crowded_users": "users or sessions have more than 1000 lists, as programs do; kept",
    "below_last_click": "rows lie below the last place ever clicked; kept",
    "only_clicks": "rows are all clicked: what was shown and not clicked is missing; kept",
    "clicks_without_impression": "clicks belong to no impression; left out",
    "clicks_without_query": "clicks name no search of the log; left out",
    "repeated_clicks": "clicks repeat a click of the same search and document; counted once",
    "repeated_searches": "searches repeat the id of an earlier one; left out",
    "several_texts": "searches have several texts; the first one counts",
    "queries_with_several_texts": "query ids have several texts; texts are not read",
    "without_text": "impressions belong to a search without a text; left out",
    "without_place": "impressions have no place; left out",
    "searches_without_impressions": "searches showed nothing; left out",
    "other_events": "events are neither impressions nor clicks; left out",
    "unnamed_hits": "hits of searches have no id; left out, those below keep their places",
    "without_time": "impressions have no time; the times of all are left out",
    "without_user": "searches have no client; each is a user of its own",
    "unnamed_events": "events lack the id of their search or document; left out",
    "unread_lines": "lines are neither searches nor clicks; left out",
}
MOST_PLACES = 20
MOST_GROUPS = 6
# In place of 0 trials; its square is still a number.
LEAST_TRIALS = 1e-100


class Cells(NamedTuple):
    """Sums over equal rows: of one pair and one slot, such as a place. Sorted by pair and slot."""

    pair: Int64Array
    slot: Int64Array
    n: Float64Array
    clicks: Float64Array


def count_cells(log: ClickLog, slot: Codes | None = None) -> Cells:
    """Sum weights and clicks by pair and slot; None: by place, slot 0 is place 1. O(rows)."""
    slot = log.place - np.int32(1) if slot is None else slot
    n_pairs, n_rows = len(log.pairs.query), len(log)
    indptr, order = group_rows(log)
    cuts = np.empty(n_pairs + 1, dtype=np.int64)
    n_slots = int(slot.max()) + 1
    most = min(n_rows, n_pairs * n_slots)
    cell_slot, n, clicks = np.empty(most, dtype=np.int64), np.empty(most), np.empty(most)
    weight = np.empty(0) if log.weight is None else log.weight
    sum_cells(indptr, order, slot, log.click, weight, n_slots, cuts, cell_slot, n, clicks)
    pair = np.repeat(np.arange(n_pairs), np.diff(cuts))
    end = len(pair)
    return Cells(pair, cell_slot[:end].copy(), n[:end].copy(), clicks[:end].copy())


def group_rows(log: ClickLog) -> tuple[Codes, Codes]:
    """Rows of each pair: those of pair p are ``order[indptr[p]:indptr[p + 1]]``."""
    indptr = np.zeros(len(log.pairs.query) + 1, dtype=np.int32)
    order = np.empty(len(log), dtype=np.int32)
    order_by_pair(log.pairs.code, indptr, order)
    return indptr, order


def find_components(cells: Cells, n_slots: int) -> list[Int64Array]:
    """Groups of places, from 1, between which clicks go both ways; the largest group first.

    A pair that was clicked at k and shown at j says how much more k is examined at most. Ratios
    have a finite estimate if such pairs lead from each place of a group to each other, as wins must
    in Bradley-Terry models. Places without clicks are in no group.
    """
    clicked = cells.clicks > 0
    known = np.bincount(cells.slot, clicked, n_slots) > 0
    shown = known[cells.slot]
    n = n_slots + int(cells.pair.max(initial=-1)) + 1
    # From a place to the pairs that were clicked there, and from a pair to where it was shown.
    start = np.concatenate([cells.slot[clicked], n_slots + cells.pair[shown]])
    end = np.concatenate([n_slots + cells.pair[clicked], cells.slot[shown]])
    graph = coo_array((np.ones(len(start)), (start, end)), shape=(n, n))
    label = connected_components(graph, connection="strong")[1][:n_slots]
    slots = np.flatnonzero(known)
    parts = [slots[label[slots] == number] + 1 for number in np.unique(label[slots])]
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def name_groups(parts: list[Int64Array]) -> str:
    """Groups of places, such as 1–3, 7 | 4; at most MOST_GROUPS of them."""
    names = [name_places(part) for part in parts[:MOST_GROUPS]]
    if len(parts) > MOST_GROUPS:
        names.append(f"{len(parts) - MOST_GROUPS} groups more")
    return " | ".join(names) or "none"


def name_places(places: NDArray[Any]) -> str:
    """Places as ranges, such as 1–3, 7."""
    places = np.asarray(places)
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    runs = np.split(places, cuts)
    return ", ".join(f"{r[0]}" if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


@dataclass(frozen=True, eq=False)
class LogSummary:
    """Description of a log; ``print`` it.

    ``impressions``, ``clicks`` and ``place_impressions`` are sums of weights.
    ``place_impressions``, ``rate``, ``low`` and ``high`` have one value for each ``place`` that was
    shown. The interval of the click rate is Wilson's, with users (or sessions) as independent
    units. ``lists`` is None if there are no sessions. ``moved_pairs`` counts pairs that were shown
    at two or more places, ``arms`` the rows of each arm.

    ``components`` are groups of places between which clicks go both ways: a pair clicked at one
    place was shown at the other, and the other way round, directly or through other places. One
    group: the examination of its places can be compared. Places without clicks are in no group.
    """

    impressions: float
    clicks: float
    lists: int | None
    queries: int
    documents: int
    pairs: int
    place: Int64Array
    place_impressions: Float64Array
    rate: Float64Array
    low: Float64Array
    high: Float64Array
    moved_pairs: int
    components: list[Int64Array]
    arms: dict[str, int]
    problems: dict[str, int]
    level: float

    @property
    def identifies_examination(self) -> bool:
        """Whether clicks go both ways between all places with clicks, of which there are several.

        :func:`~rankwise.clicks.propensities` refuses other logs of several places.
        """
        return len(self.components) == 1 and len(self.components[0]) >= min(len(self.place), 2)

    def verdict(self) -> str:
        """Whether the log can tell examination from relevance, in one sentence or two."""
        if len(self.place) == 1:
            return "All impressions are at one place, so click rates need no correction for places."
        if not self.identifies_examination:
            return (
                "Clicks do not go both ways between all places, so examination cannot be told from "
                f"relevance across these groups: {name_groups(self.components)}. Randomise a part "
                "of the traffic to link them."
            )
        linked = self.components[0]
        which = "them all" if len(linked) == len(self.place) else f"places {name_places(linked)}"
        silent = np.setdiff1d(self.place, linked)
        rest = f" No clicks at places {name_places(silent)}." if len(silent) else ""
        return (
            f"{self.moved_pairs} pairs were shown at several places and link {which}: "
            f"examination can be told from relevance, if it depends on the place alone.{rest}"
        )

    def __str__(self) -> str:
        lists = "no sessions" if self.lists is None else f"{self.lists} lists"
        lines = [
            f"{self.impressions:g} impressions, {self.clicks:g} clicks, {lists}, {self.queries} "
            f"queries, {self.documents} documents, {self.pairs} pairs",
            f"place  impressions  click rate  {self.level:.0%} interval",
        ]
        columns = (self.place, self.place_impressions, self.rate, self.low, self.high)
        for place, n, rate, low, high in list(zip(*columns, strict=True))[:MOST_PLACES]:
            lines.append(f"{place:5d}  {n:11g}  {rate:10.4f}  {low:.4f} to {high:.4f}")
        if len(self.place) > MOST_PLACES:
            lines.append(f"and {len(self.place) - MOST_PLACES} places more")
        if self.arms:
            lines.append("arms: " + ", ".join(f"{a or '(none)'} {n}" for a, n in self.arms.items()))
        lines.append(self.verdict())
        lines += [f"note: {count} {PROBLEMS[name]}" for name, count in self.problems.items()]
        return join_lines(lines)


def summarize(log: ClickLog, level: float = 0.95) -> LogSummary:
    """Describe a log, see :class:`LogSummary`; O(n log n) for n rows."""
    check_level(level)
    place = np.flatnonzero(np.bincount(log.place))
    code = np.searchsorted(place, log.place)
    n = np.bincount(code, log.counts)
    clicks = np.bincount(code, log.counts * log.click)
    rate = np.divide(clicks, n, out=np.zeros(len(n)), where=n > 0)
    low, high = wilson_interval(rate, _units(log, code, rate, level), level)
    cells = count_cells(log)
    by_pair = np.bincount(cells.pair)
    arms = {}
    if log.arm is not None:
        arms = dict(zip(log.arm.names.tolist(), np.bincount(log.arm.codes).tolist(), strict=False))
    return LogSummary(
        float(n.sum()),
        float(clicks.sum()),
        None if log.session is None else log.n_lists,
        log.query.n_present,
        log.document.n_present,
        len(log.pairs.query),
        place,
        n,
        rate,
        low,
        high,
        int((by_pair > 1).sum()),
        find_components(cells, log.n_places),
        arms,
        dict(log.problems),
        level,
    )


def _units(log: ClickLog, code: Int64Array, rate: Float64Array, level: float) -> Float64Array:
    """Number of independent trials at each place, with the variance that clusters have.

    A user who is shown a place many times repeats the same habit: such rows count for less. The
    variance is that of leaving out every user once, and few or unequal users widen intervals as t
    widens the normal.
    """
    n_places, w = len(rate), log.counts
    plain = np.bincount(code, w, n_places)
    independent = plain**2 / np.maximum(np.bincount(code, w**2, n_places), LEAST_TRIALS)
    key, inverse = np.unique(log.clusters * n_places + code, return_inverse=True)
    place = key % n_places
    n_clusters = np.bincount(place, minlength=n_places)
    share = np.bincount(inverse, w) / np.maximum(plain[place], LEAST_TRIALS)
    total = np.bincount(inverse, w * (log.click - rate[code])) / np.maximum(1.0 - share, 1e-9)
    variance = np.bincount(place, total**2, n_places) * (1.0 - 1.0 / n_clusters)
    equal = 1.0 / np.maximum(np.bincount(place, share**2, n_places), LEAST_TRIALS)
    tail = (1 + level) / 2
    variance *= (stdtrit(np.maximum(equal - 1.0, 1.0), tail) / ndtri(tail)) ** 2
    clustered = np.divide(
        plain**2 * rate * (1 - rate), variance, out=np.full(n_places, np.inf), where=variance > 0
    )
    clustered = np.where(n_clusters == 1, 1.0, clustered)
    alone = n_clusters == np.bincount(code, minlength=n_places)
    return np.maximum(
        np.where(alone, independent, np.minimum(clustered, independent)), LEAST_TRIALS
    )


def note_unit(unit: str, top: str, linked: bool = True) -> str:
    """Sentence about the slot whose examination is 1, where that is not the topmost one."""
    why = "is looked at significantly less, or its clicks are missing"
    if not linked:
        why = "has few clicks or none, and none that link it"
    return f"examination is relative to {unit}, which has 1: {top} {why}"
