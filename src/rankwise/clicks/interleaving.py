"""Interleaving: one list of two systems, and what the clicks on it say about them.

References
----------
- Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM
  2008 (team draft).
- Joachims, "Evaluating retrieval performance using clickthrough data", 2003 (balanced).
- Schuth et al., "Multileaved comparisons for fast online evaluation", CIKM 2014 (team draft of
  several systems).
- Bi et al., "Debiased balanced interleaving at Amazon Search", CIKM 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.clicks.simulation import check_examination, examination_at
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec_ids import trec_order
from rankwise.groups import QueryGroups
from rankwise.runtime.column_values import text_array
from rankwise.typing import ArrayLike, Float64Array, Int64Array

METHODS = ("team_draft", "balanced", "debiased")


@dataclass(frozen=True, eq=False)
class Interleaving:
    """Interleaved lists, one row per document; log them, with ``team`` or ``credit``.

    Attributes
    ----------
    qid, doc_ids : ndarray of shape (n_rows,) of str
    place : ndarray of shape (n_rows,), int64
        From 1.
    team : ndarray of shape (n_rows,) of str
        System that a click counts for; "" for none. It is the ``arm`` of a :class:`ClickLog`.
        Lists of method "debiased" have no teams: their clicks count for both systems.
    credit : ndarray of shape (n_rows, n_systems), float64
        What a click is worth to each system.
    systems : tuple of str
    """

    qid: NDArray[Any]
    doc_ids: NDArray[Any]
    place: Int64Array
    team: NDArray[Any]
    credit: Float64Array
    systems: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.place)


def interleave(
    *runs: Any,
    method: Literal["team_draft", "balanced", "debiased"] = "team_draft",
    names: tuple[str, ...] | list[str] | None = None,
    k: int | None = None,
    examination: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Interleaving:
    """Merge the lists of two systems, or of more by team draft, for every query.

    Parameters
    ----------
    *runs : Run, path, frame or mapping
        Result lists of each system, see :func:`rankwise.fusion.as_run`, for the same queries.
    method : {"team_draft", "balanced", "debiased"}
        - "team_draft": in every round, the systems pick their best document left, in random order;
          a click counts for the system that picked the document (Radlinski et al. 2008; of several
          systems Schuth et al. 2014). A round in which all systems pick the same documents in the
          same order counts for none: its clicks say nothing of which is better;
        - "balanced": the systems alternate, one coin decides who is first; a click counts for the
          system that ranks the document higher (Joachims 2003). Lists that differ by a shift
          mislead it;
        - "debiased": lists as in "balanced". A click is worth v(rank in the system's list) over the
          mean v of its places under both sides of the coin, for the examination v: its mean is the
          number of clicks that the system's own list would get, if users are position-based (Bi et
          al. 2022).
    names : sequence of str, optional
        Names of the systems. None: "a", "b", …
    k : int >= 1, optional
        Length of the interleaved lists. None: all documents.
    examination : array-like of shape (n_places,), optional
        Examination v by place, for "debiased". None: 1 / log2(1 + place).
    random_state : int, Generator or None

    Returns
    -------
    Interleaving

    Raises
    ------
    ValueError
        If there are fewer than two runs, more than two and ``method`` is not "team_draft", or their
        queries differ, or an examination is negative.

    Notes
    -----
    A longer list would win by its length: below the shorter list, only the longer one has something
    to be clicked. So all lists are cut to the shortest one before they compete, and a draft ends
    with the last round in which every system is sure to find a document; what is left follows
    below, without credit.

    Examples
    --------
    >>> from rankwise.clicks import interleave
    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 2, "x": 1}}
    >>> merged = interleave(a, b, random_state=1)
    >>> merged.doc_ids.tolist(), sorted(merged.team[:2].tolist()), str(merged.team[2])
    (['x', 'y', 'z'], ['a', 'b'], '')
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if len(runs) < 2 or (len(runs) > 2 and method != "team_draft"):
        few = "two or more runs" if method == "team_draft" else "two runs"
        raise ValueError(f"method {method!r} merges {few}, got {len(runs)}.")
    if k is not None and (not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be a whole number >= 1, got {k!r}.")
    if examination is not None:
        check_examination(examination)
    systems = tuple(names or (chr(ord("a") + i) for i in range(len(runs))))
    if len(set(systems)) != len(runs) or "" in systems:
        raise ValueError(f"names must be {len(runs)} different names, got {list(systems)}.")
    lists = [read_lists(run) for run in runs]
    _check_queries(lists, systems)
    rng = np.random.default_rng(random_state)
    rows: list[tuple[str, str, int, str]] = []
    credits: list[list[float]] = []
    for query in lists[0]:
        ranked = [of_system[query] for of_system in lists]
        depth = min(map(len, ranked))
        if method == "team_draft":
            merged, teams = _draft([r[:depth] for r in ranked], rng)
            worth = [[float(t == i) for i in range(len(runs))] for t in teams]  # -1: none
        else:
            merged, worth = _balance([r[:depth] for r in ranked], method, k, examination, rng)
            # A click of a debiased list has a worth to both: the larger one names no winner.
            teams = [_leader(w) if method == "balanced" else -1 for w in worth]
        rest = _append_rest(merged, ranked)
        merged, teams = merged + rest, teams + [-1] * len(rest)
        worth += [[0.0] * len(runs)] * len(rest)
        for place, (document, team) in enumerate(zip(merged[:k], teams[:k], strict=True), 1):
            rows.append((query, document, place, systems[team] if team >= 0 else ""))
        credits += worth[:k]
    qid, doc_ids, place, team = zip(*rows, strict=True)
    return Interleaving(
        text_array(qid), text_array(doc_ids), np.array(place), text_array(team),
        np.array(credits), systems,
    )  # fmt: skip


def read_lists(run: Any) -> dict[str, list[str]]:
    """Documents of every query, best first, in trec_eval's order of ties."""
    read = as_run(run)
    groups = QueryGroups.from_qid(read.qid, len(read))
    order = trec_order(groups.codes(), read.scores, read.doc_ids)
    names = read.doc_ids[order].tolist()
    bounds = groups.indptr.tolist()
    ids = groups.ids.tolist()
    return {query: names[bounds[i] : bounds[i + 1]] for i, query in enumerate(ids)}


def _check_queries(lists: list[dict[str, list[str]]], systems: tuple[str, ...]) -> None:
    for of_system, name in zip(lists, systems, strict=True):
        missing = sorted({*lists[0]} ^ {*of_system})
        if missing:
            raise ValueError(
                f"runs must have the same queries, but {missing[0]!r} is not in both "
                f"{systems[0]!r} and {name!r}. Leave such queries out."
            )
    if not lists[0]:
        raise ValueError("runs hold no query.")


def _draft(ranked: list[list[str]], rng: np.random.Generator) -> tuple[list[str], list[int]]:
    """Documents in the order of the draft, and the team that picked each; -1 for none.

    It ends where a system could come away from a round without a document, since the others would
    win by what they have left.
    """
    merged: list[str] = []
    teams: list[int] = []
    placed: set[str] = set()
    n = len(ranked)
    left = [0] * n  # first document of each system that may still be free
    while True:
        free = [_find_free(ranked[i], left[i], placed, n) for i in range(n)]
        heads = {documents[0] for documents in free if documents}
        if len(heads) < n and min(map(len, free)) < n:
            return merged, teams
        # The list is the same for every order of the teams, so that their names would be noise.
        shared = all(documents == free[0] for documents in free)
        for team in rng.permutation(n).tolist():
            documents = ranked[team]
            while documents[left[team]] in placed:
                left[team] += 1
            placed.add(documents[left[team]])
            merged.append(documents[left[team]])
            teams.append(-1 if shared else team)


def _find_free(documents: list[str], start: int, placed: set[str], n: int) -> list[str]:
    """The first n documents of a list that are not placed; all above ``start`` are."""
    return list(islice((d for d in islice(documents, start, None) if d not in placed), n))


def _balance(
    ranked: list[list[str]],
    method: str,
    k: int | None,
    examination: ArrayLike | None,
    rng: np.random.Generator,
) -> tuple[list[str], list[list[float]]]:
    """Balanced list for a coin, and the worth of a click on each of its documents."""
    both = [_alternate(ranked[0], ranked[1]), _alternate(ranked[1], ranked[0])]
    merged = both[int(rng.integers(2))]
    ranks = [{d: r for r, d in enumerate(documents, 1)} for documents in ranked]
    if method == "balanced":
        worst = len(merged) + 1
        gaps = [ranks[1].get(d, worst) - ranks[0].get(d, worst) for d in merged]
        return merged, [[float(gap > 0), float(gap < 0)] for gap in gaps]
    shown = [{d: r for r, d in enumerate(documents[:k], 1)} for documents in both]

    def examine(table: dict[str, int], document: str) -> float:
        place = table.get(document)
        if place is None:
            return 0.0
        if examination is None:
            return 1.0 / float(np.log2(1.0 + place))
        return float(examination_at(np.array([place]), examination)[0])

    worth = []
    for document in merged:
        mean = sum(examine(table, document) for table in shown) / 2
        worth.append([examine(table, document) / mean if mean else 0.0 for table in ranks])
    return merged, worth


def _alternate(first: list[str], second: list[str]) -> list[str]:
    """Balanced interleaving: the list that is behind adds its next document, if it is new."""
    merged: list[str] = []
    i = j = 0
    while i < len(first) or j < len(second):
        if i < len(first) and (i <= j or j >= len(second)):
            document, i = first[i], i + 1
        else:
            document, j = second[j], j + 1
        if document not in merged:
            merged.append(document)
    return merged


def _leader(worth: list[float]) -> int:
    """System to which a click is worth most; -1 if both get the same."""
    return -1 if worth[0] == worth[1] else int(np.argmax(worth))


def _append_rest(merged: list[str], ranked: list[list[str]]) -> list[str]:
    """Documents that are not merged yet, by rank."""
    placed, rest = set(merged), []
    for place in range(max(map(len, ranked))):
        for documents in ranked:
            if place < len(documents) and documents[place] not in placed:
                placed.add(documents[place])
                rest.append(documents[place])
    return rest
