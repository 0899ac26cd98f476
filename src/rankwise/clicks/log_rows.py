"""Rows of a new click log: told apart by list, merged within it, sorted, and counted if odd."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rankwise.kernels.click_codes import count_repeats
from rankwise.typing import Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog, Codes, Ids

# Sessions and users with more lists than this are reported: programs, or an id that many share.
MANY_LISTS = 1000
# From here on, kernels code ids: below, compiling them takes longer than their work.
MANY_ROWS = 1 << 17


def arrange_rows(log: ClickLog) -> ClickLog:
    """Sort rows by list and place, merge rows of one document in one list, and count oddities.

    Lists are those of one user. Where a session shows documents of a query repeatedly, it is split
    by time if it shows two or more documents at every time, as pages of results do; else the rows
    of a document are merged, since some systems log an impression and its click as two rows.
    """
    if log.session is not None:
        _count_steps_back(log)
        log = _merge_repeats(_split_by_time(_split_by_user(log)))
        keys = (log.session.codes, log.query.codes, log.place)  # type: ignore[union-attr]
        log = log if _are_sorted(*keys) else log.take(np.lexsort(keys[::-1]))
    _count_oddities(log)
    return log


def encode_numbers(keys: Int64Array) -> tuple[Codes, Int64Array]:
    """Codes by first appearance, and the distinct keys; hashing beats sorting tenfold here."""
    encoded = pa.array(keys).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_numpy()


def _count_steps_back(log: ClickLog) -> None:
    if log.time is None or log.session is None:
        return
    code, time = log.session.codes, log.time
    if not _are_sorted(code):
        order = np.argsort(code, kind="stable")
        code, time = code[order], time[order]
    _note(log, "time_backwards", int(((np.diff(code) == 0) & (np.diff(time) < 0)).sum()))


def _split_by_user(log: ClickLog) -> ClickLog:
    """Make the rows of each user of a session a session of their own."""
    session, user = log.session, log.user
    if session is None or user is None:
        return log
    key = session.codes.astype(np.int64) * len(user) + user.codes
    distinct = encode_numbers(key)[1]
    of_session = np.bincount(distinct // len(user))
    if of_session.max() == 1:
        return log
    _note(log, "shared_sessions", int((of_session > 1).sum()))
    return replace(log, session=_split(session, key))


def _split_by_time(log: ClickLog) -> ClickLog:
    """Make the pages of a query that a session shows repeatedly sessions of their own."""
    session, time = log.session, log.time
    if session is None or time is None or not _may_repeat(log):
        return log
    code, distinct = encode_numbers(_keys_of_documents(log))
    if len(distinct) == len(log):
        return log
    list_of = encode_numbers(session.codes.astype(np.int64) * len(log.query) + log.query.codes)[0]
    again = np.bincount(code)[code] > 1
    rows = np.flatnonzero((np.bincount(list_of, again) > 0)[list_of])
    moment = np.unique(time[rows], return_inverse=True)[1]
    pages = list_of[rows].astype(np.int64) * (moment.max() + 1) + moment
    page, distinct = encode_numbers(pages)
    shown = encode_numbers(page * np.int64(len(log.document)) + log.document.codes[rows])[1]
    sizes = np.bincount(shown // len(log.document))
    lists = distinct // (moment.max() + 1)
    several = np.bincount(lists, minlength=list_of.max() + 1) > 1
    small = np.bincount(lists, sizes < 2, list_of.max() + 1) > 0
    chosen = (several & ~small)[list_of[rows]]
    if not chosen.any():
        return log
    _note(log, "split_lists", len(np.unique(list_of[rows[chosen]])))
    key = session.codes.astype(np.int64) * (moment.max() + 2)
    key[rows[chosen]] += 1 + moment[chosen]
    return replace(log, session=_split(session, key))


def _split(session: Ids, key: Int64Array) -> Ids:
    """Sessions by ``key``, each within one session; all but the first get a number."""
    code, distinct = encode_numbers(key)
    first = np.full(len(distinct), len(key))
    np.minimum.at(first, code, np.arange(len(key)))
    parent = session.codes[first]
    names = session.names[parent].tolist()
    seen: dict[int, int] = {}
    for i, old in enumerate(parent.tolist()):
        seen[old] = seen.get(old, 0) + 1
        names[i] += f" ({seen[old]})" if seen[old] > 1 else ""
    return replace(session, codes=code, values=pa.array(names))


def _may_repeat(log: ClickLog) -> bool:
    """Whether a list may hold a document twice; for sure, if sessions are contiguous."""
    assert log.session is not None
    # A key for every row takes as much memory as all else; logs are mostly written by session.
    if len(log) < MANY_ROWS or not _are_sorted(log.session.codes):
        return True
    return count_repeats(log.session.codes, log.pairs.code, len(log.pairs.query)) > 0


def _keys_of_documents(log: ClickLog) -> Int64Array:
    assert log.session is not None
    return log.session.codes.astype(np.int64) * len(log.pairs.query) + log.pairs.code


def _merge_repeats(log: ClickLog) -> ClickLog:
    """Keep one row of each document in a list: the first one that was clicked, if any was."""
    if not _may_repeat(log):
        return log
    code, distinct = encode_numbers(_keys_of_documents(log))
    if len(distinct) == len(log):
        return log
    _note(log, "repeated_rows", len(log) - len(distinct))
    order = np.argsort(~log.click, kind="stable")
    kept = np.sort(order[np.unique(code[order], return_index=True)[1]])
    of_code = np.empty(len(distinct), dtype=np.int64)
    of_code[code[kept]] = kept
    differ = np.zeros(len(log), dtype=bool)
    for column in (log.place, log.weight, log.time):
        if column is not None:
            differ |= column != column[of_code[code]]
    _note(log, "differing_repeats", int(differ.sum()))
    return log.take(kept)


def _are_sorted(*keys: Codes) -> bool:
    """Whether rows are in lexicographic order."""
    tied = np.ones(len(keys[0]) - 1, dtype=bool)
    for key in keys:
        step = np.diff(key)
        if (step[tied] < 0).any():
            return False
        tied &= step == 0
    return True


def _count_oddities(log: ClickLog) -> None:
    """Count what is odd but kept."""
    if log.session is not None:
        list_of = log.lists.code
        inner = np.diff(list_of) == 0
        step = np.diff(log.place)
        _note(log, "shared_places", int((inner & (step == 0)).sum()))
        starts = log.place[log.lists.indptr[:-1]] != 1
        gaps = np.bincount(list_of[1:][inner & (step > 1)], minlength=log.n_lists) > 0
        _note(log, "lists_with_gaps", int((starts | gaps).sum()))
        ids = log.session if log.user is None else log.user
        lists_of = np.bincount(ids.codes[log.lists.indptr[:-1]])
        _note(log, "crowded_users", int((lists_of > MANY_LISTS).sum()))
    _note(log, "only_clicks", len(log) if len(log) > 1 and log.click.all() else 0)
    last = log.place[log.click].max(initial=0)
    _note(log, "below_last_click", int((log.place > last).sum()) if last else len(log))


def _note(log: ClickLog, problem: str, count: int) -> None:
    if count:
        log.problems[problem] = count
