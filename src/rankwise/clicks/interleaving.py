"""Interleaving: one list of two systems, and a test of what the clicks on it say about them.

References
----------
- Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM
  2008 (team draft).
- Joachims, "Evaluating retrieval performance using clickthrough data", 2003 (balanced).
- Schuth et al., "Multileaved comparisons for fast online evaluation", CIKM 2014 (team draft of
  several systems).
- Bi et al., "Debiased balanced interleaving at Amazon Search", CIKM 2022.
- Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and
  asymptotic confidence sequences", Annals of Statistics 52, 2024.
- Chapelle, Joachims, Radlinski and Yue, "Large-scale validation and analysis of interleaved
  search evaluation", TOIS 30, 2012.
- Fagerland, Lydersen and Laake, "The McNemar test for binary matched-pairs data: mid-p and
  asymptotic are better than exact conditional", BMC Medical Research Methodology 13, 2013.
- Bell and McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
  samples", Survey Methodology 28, 2002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from rankwise.clicks.log import ClickLog
from rankwise.clicks.readers import CREDIT
from rankwise.clicks.simulation import check_examination, examination_at
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.results import as_run
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES
from rankwise.datasets.readers.trec import trec_order
from rankwise.groups import QueryGroups
from rankwise.metrics.statistics.paired import sign_flip_p_values
from rankwise.metrics.statistics.sample_size import time_uniform_half_width
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import text_array
from rankwise.runtime.messages import check_choice, check_whole, join_lines
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

METHODS = ("team_draft", "balanced", "debiased")


@dataclass(frozen=True, eq=False)
class Interleaving(Result):
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

    _labels = "systems"

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
    random_state: Seed = None,
) -> Interleaving:
    """Merge the lists of two systems, or of more by team draft, for every query.

    Parameters
    ----------
    *runs : Run, path, frame or mapping
        Result lists of each system, see :func:`rankwise.fusion.as_run`, for the same queries.
    method : {"team_draft", "balanced", "debiased"}
        - "team_draft": in every round, each system picks its best remaining document, in random
          order. A click counts for the system that picked the document (Radlinski et al. 2008; for
          several systems Schuth et al. 2014). If all systems pick the same documents in the same
          order, clicks of this round count for none;
        - "balanced": the systems alternate, and a coin decides which is first. A click counts for
          the system that ranks the document higher (Joachims 2003). If the lists differ by a
          shift, the result is misleading;
        - "debiased": lists as in "balanced". With examination v, a click is worth v(rank in the
          system's list) divided by the mean v of its positions under both sides of the coin. Its
          mean is the number of clicks that the system's own list would get if examination depends
          on the position alone (Bi et al. 2022).
    names : sequence of str, optional
        Names of the systems. None: "a", "b", …
    k : int >= 1, optional
        Length of the interleaved lists. None: all documents.
    examination : array-like of shape (n_places,), optional
        Examination v by position, for "debiased". None: 1 / log2(1 + position).
    random_state : int, RandomState, Generator or None, default=None

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
    A longer list would have an advantage, because only this list has documents below the end of the
    shorter one. Therefore all lists compete only up to the length of the shortest one, and a draft
    ends with the last round in which every system is sure to find a document. The remaining
    documents follow below, without credit.

    Examples
    --------
    >>> from rankwise.clicks import interleave
    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 2, "x": 1}}
    >>> merged = interleave(a, b, random_state=1)
    >>> merged.doc_ids.tolist(), sorted(merged.team[:2].tolist()), str(merged.team[2])
    (['x', 'y', 'z'], ['a', 'b'], '')
    """
    check_choice("method", method, METHODS)
    if len(runs) < 2 or (len(runs) > 2 and method != "team_draft"):
        few = "two or more runs" if method == "team_draft" else "two runs"
        raise ValueError(f"method {method!r} merges {few}, got {len(runs)}.")
    if k is not None:
        check_whole("k", k, 1)
    if examination is not None:
        check_examination(examination)
    systems = tuple(names or (chr(ord("a") + i) for i in range(len(runs))))
    if len(set(systems)) != len(runs) or "" in systems:
        raise ValueError(f"names must be {len(runs)} different names, got {list(systems)}.")
    lists = [read_lists(run) for run in runs]
    _check_queries(lists, systems)
    rng = make_generator(random_state)
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
            no_team = [method == "debiased" or a == b for a, b in worth]
            teams = [-1 if no else int(np.argmax(w)) for no, w in zip(no_team, worth, strict=True)]
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
        free = []  # the first n documents of each system that are not placed
        for documents, start in zip(ranked, left, strict=True):
            unplaced = (d for d in islice(documents, start, None) if d not in placed)
            free.append(list(islice(unplaced, n)))
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


def _append_rest(merged: list[str], ranked: list[list[str]]) -> list[str]:
    """Documents that are not merged yet, by rank."""
    placed, rest = set(merged), []
    for place in range(max(map(len, ranked))):
        for documents in ranked:
            if place < len(documents) and documents[place] not in placed:
                placed.add(documents[place])
                rest.append(documents[place])
    return rest


# Below, the sequence for many users says little: see the notes of always_valid_interval.
FEW_USERS = 30
UNITS = ("list", "query", "user")


@dataclass(frozen=True)
class InterleavingTest(Result):
    """Outcome of an interleaving experiment; positive values favour the first system.

    Attributes
    ----------
    systems : tuple of str
    delta : float
        Mean difference of credited clicks, first system minus second.
    low, high : float
        Interval of ``delta`` (t, by users), for one look at the data.
    p_value : float
        Of the hypothesis that the systems are alike, by flipping signs of whole users; flips as
        extreme as the log count half (mid-p).
    p_exact : float
        The same with such flips counted whole: it is below the level at most as often as the level
        says, but less often where most users have one credited click.
    wins, losses, ties : int
        Lists on which the first system has more, fewer, or as many credited clicks.
    n_lists, n_users : int
    sequential_low, sequential_high : float
        Interval of ``delta`` that holds at all times at once, however often one looks and whenever
        one stops (asymptotic confidence sequence, Waudby-Smith et al. 2024).
    confidence_level : float
    variance : float
        Of the difference of one list, with the dependence within users.
    effective_users : float
        Number of equally heavy users that say as much: 1 / (sum of the squared weights of users).
    notes : list of str
        What a reader of the test must know.
    """

    systems: tuple[str, str]
    delta: float
    low: float
    high: float
    p_value: float
    p_exact: float
    wins: int
    losses: int
    ties: int
    n_lists: int
    n_users: int
    sequential_low: float
    sequential_high: float
    confidence_level: float
    variance: float
    effective_users: float
    notes: list[str]

    def lists_needed(self, delta: float, power: float = 0.8) -> int:
        """Lists that a test needs to find a difference of ``delta`` with the given power.

        Raises
        ------
        ValueError
            If ``delta`` is 0 or ``power`` is not in (0, 1).
        """
        if not delta or not 0 < power < 1:
            raise ValueError(
                f"delta must not be 0 and power must be in (0, 1), got {delta} and {power}."
            )
        z = ndtri((1 + self.confidence_level) / 2) + ndtri(power)
        return math.ceil(z**2 * self.variance / delta**2)

    def __str__(self) -> str:
        a, b = self.systems
        lines = [
            f"{a} minus {b}: {self.delta:+.4f} credited clicks a list, {self.confidence_level:.0%} "
            f"interval {self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.4f}",
            f"at any time: {self.sequential_low:+.4f} to {self.sequential_high:+.4f}",
            f"{self.n_lists} lists of {self.n_users} users: {a} wins {self.wins}, {b} wins "
            f"{self.losses}, {self.ties} ties",
        ]
        return join_lines(lines + [f"note: {note}" for note in self.notes])


@names_its_class
def interleaving_test(
    log: ClickLog,
    *,
    systems: tuple[str, str] | None = None,
    unit: Literal["list", "query", "user"] = "list",
    confidence_level: float = 0.95,
    horizon: int = 1000,
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> InterleavingTest:
    """Test which of two systems gets more clicks on interleaved lists.

    Parameters
    ----------
    log : ClickLog
        Clicks on lists of :func:`interleave`, with ``credit``; or a log whose ``arm`` is the team
        of each row ("" for none), where each click is worth 1.
    systems : (str, str), optional
        The two systems to compare. None: those of the log, in order, if there are two.
    unit : {"list", "query", "user"}
        Unit that has weight 1 in ``delta``: every list, or every query or user whatever the number
        of its lists.
    confidence_level : float in (0, 1)
    horizon : int >= 1
        Number of users at which the sequential interval is narrowest. Do not change it during an
        experiment, because the interval is then no longer valid.
    n_resamples : int >= 1
        Number of random sign flips of the test. With few users, the test is exact.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    InterleavingTest

    Raises
    ------
    ValueError
        If the log has no sessions, neither credit nor two arms, no credited click, or fewer than
        two users.

    Notes
    -----
    The test treats users as independent: if the systems are equally good, all differences of a user
    could have had the opposite sign. If the log has no users, sessions count as users. Intervals
    are wider if few users have most of the lists. In 1,000 simulations with 400 lists of 60 users
    who differ in taste, one of whom has 2, 30, 60 or 90 % of the lists, 95 % intervals contained
    the true value in 94, 94, 99 and 99 % of the cases, and sequential intervals in all of them
    (:doc:`/click_estimates`).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.clicks import ClickLog, interleaving_test
    >>> n = 40
    >>> log = ClickLog.from_columns(
    ...     ["q"] * 2 * n, ["x", "y"] * n, [1, 2] * n, [1, 0] * 30 + [0, 1] * 10,
    ...     session=np.repeat(np.arange(n), 2), arm=["a", "b"] * n,
    ... )
    >>> test = interleaving_test(log)
    >>> round(test.delta, 9), test.wins, test.losses, test.p_value < 0.01
    (0.5, 30, 10, True)
    """
    check_level(confidence_level)
    check_whole("horizon", horizon, 1)
    check_choice("unit", unit, UNITS)
    log._require_sessions("interleaving_test")
    names, worth = _worth(log, systems)
    indptr = log.lists.indptr
    first = indptr[:-1]
    counts = np.add.reduceat(log.counts, first) / np.diff(indptr)
    # Rows that stand for more impressions than others of their list count for more.
    difference = np.add.reduceat(worth * log.click * log.counts, first)
    difference /= np.maximum(counts, 1e-300)
    if not difference.any():
        raise ValueError(
            f"no click is worth more to {names[0]!r} or to {names[1]!r}. Check the arms of the log."
        )
    users = np.unique(log.clusters[first], return_inverse=True)[1]
    n_users, n_lists = int(users.max()) + 1, len(first)
    if n_users < 2:
        raise ValueError("interleaving_test needs two users or more, got 1.")
    share = _shares(unit, log, counts, users)
    delta = float((share * difference).sum())
    sums = np.bincount(users, share * difference)
    weight = np.bincount(users, share)
    effective = 1.0 / float((weight**2).sum())
    # Leaves out every user once (Bell & McCaffrey 2002): a heavy user draws the mean to himself,
    # so that his residual alone says too little.
    left_out = (sums - weight * delta) / np.maximum(1.0 - weight, 1e-300)
    se = math.sqrt(float((left_out**2).sum()) * (n_users - 1) / n_users)
    t = float(stdtrit(max(effective - 1.0, 1.0), (1 + confidence_level) / 2))
    # The sequence is one of many users; as t widens the normal for few, it is widened, too.
    wide = time_uniform_half_width(effective, confidence_level, horizon) * math.sqrt(effective)
    wide = max(wide * t / float(ndtri((1 + confidence_level) / 2)), t)
    seed: Any = make_generator(random_state).integers(2**63)  # both see the same flips
    flips = {"n_resamples": n_resamples, "random_state": seed}
    p_mid, p_exact = (
        float(sign_flip_p_values(sums[:, None], **flips, mid_p=mid)[0]) for mid in (True, False)
    )
    notes = []
    if effective < FEW_USERS:
        notes.append(
            f"the users count as {effective:.1f} equal ones, the heaviest has {weight.max():.0%} "
            f"of the weight; below {FEW_USERS}, do not stop by the interval at any time"
        )
    return InterleavingTest(
        names, delta, delta - t * se, delta + t * se, p_mid, p_exact,
        int((difference > 0).sum()), int((difference < 0).sum()), int((difference == 0).sum()),
        n_lists, n_users, delta - wide * se, delta + wide * se, confidence_level, se**2 * n_lists,
        effective, notes,
    )  # fmt: skip


def _worth(log: ClickLog, systems: tuple[str, str] | None) -> tuple[tuple[str, str], Float64Array]:
    """Names of the systems, and worth of a click on each row: first system minus second."""
    if log.credit is not None:
        names = _two_of(systems or log.systems, log.systems)
        first, second = (log.credit[:, log.systems.index(name)] for name in names)
        return names, first - second
    there = [] if log.arm is None else [name for name in log.arm.names.tolist() if name]
    if log.arm is None or not there:
        raise ValueError(
            "interleaving_test needs the team of every row: pass the log a column arm, or credit."
        )
    names = _two_of(systems or sorted(there), there)
    arm = log.arm.names[log.arm.codes]
    return names, (arm == names[0]).astype(np.float64) - (arm == names[1])


def _two_of(names: Sequence[str], there: Sequence[str]) -> tuple[str, str]:
    if len(names) != 2 or names[0] == names[1] or not {*names} <= {*there}:
        raise ValueError(
            f"systems must be two arms of the log, got {', '.join(names)}; it has "
            f"{', '.join(there)}."
        )
    return names[0], names[1]


def _shares(unit: str, log: ClickLog, weight: Float64Array, users: Int64Array) -> Float64Array:
    """Share of each list in delta, for lists that stand for ``weight`` lists each; sum 1."""
    if unit == "list":
        return weight / weight.sum()
    query = log.query.codes[log.lists.indptr[:-1]]
    key = users if unit == "user" else np.unique(query, return_inverse=True)[1]
    total = np.bincount(key, weight)
    return weight / (total[key] * len(total))


def join_credit(log: ClickLog, path: Path) -> ClickLog:
    """Credit of every row of a log, from a table that ``rankwise clicks interleave`` wrote."""
    worth, systems = _read(path)
    query, document = log.query.names[log.query.codes], log.document.names[log.document.codes]
    credit = []
    for key in zip(query.tolist(), document.tolist(), log.place.tolist(), strict=True):
        if key not in worth:
            raise ValueError(
                f"{path} does not show {key[1]!r} of query {key[0]!r} at place {key[2]}, but the "
                "log does. Pass the file of the lists that were served, or keep their rows."
            )
        credit.append(worth[key])
    return replace(log, credit=np.array(credit), systems=systems)


def _read(path: Path) -> tuple[dict[tuple[str, str, int], list[float]], tuple[str, ...]]:
    """Credits by query, document and place, and the names of their systems."""
    file = DelimitedFile.of(path, ",", MAX_DECOMPRESSED_BYTES)
    with file.name_in_errors():
        names = file.header
    columns = [name for name in names if name.startswith(CREDIT)]
    if not columns or not {"qid", "doc_id", "place"} <= {*names}:
        raise ValueError(
            f"{path} must have the columns qid, doc_id, place and credit_…, got "
            f"{', '.join(names)}. Write it by 'rankwise clicks interleave'."
        )
    table = read_cells(file)
    queries, documents = (table.texts(names.index(name)).tolist() for name in ("qid", "doc_id"))
    places = table.integers(names.index("place")).tolist()
    credits = zip(*(table.reals(names.index(name)).tolist() for name in columns), strict=True)
    worth: dict[tuple[str, str, int], list[float]] = {}
    keys = zip(queries, documents, places, strict=True)
    for row, (key, credit) in enumerate(zip(keys, map(list, credits), strict=True)):
        if worth.setdefault(key, credit) != credit:
            raise ValueError(
                f"{table.where(row)}: credits must be the same for every row of document "
                f"{key[1]!r} at place {key[2]}."
            )
    return worth, tuple(name.removeprefix(CREDIT) for name in columns)
