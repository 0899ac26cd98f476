"""Verdict of a comparison in words: the same sentences in reports, terminals and notebooks.

``board`` is a :class:`rankwise.selection.Leaderboard`, whose file imports this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.metrics.significance import queries_needed
from rankwise.metrics.statistics.sample_size import spread_is_rough
from rankwise.metrics.statistics.stratified import FEW_QUERIES
from rankwise.selection.standing import has_rank_intervals, is_adjusted, level_of

_MOST_NAMED = 4
_MOST_TIMES = 100  # as many queries as there are


def describe_verdict(board: Any, measure: str | None = None) -> list[str]:
    """Sentences on a comparison, the most important first.

    They say who leads; who may be the best; which difference the queries can show, and how many
    queries would settle the lead; where means and tests order rankers differently, and why.
    """
    name = board.measures[0] if measure is None else measure
    rows = [row for row in board.rows(name) if row["rank"]]
    if not rows:
        return [f"No {board.settings.contestant} finished."]
    best = rows[0]
    value = f"{name} {best['mean']:.4f}"
    if best["low"] is not None:
        interval = f"{level_of(board.settings)} interval {best['low']:.4f} to {best['high']:.4f}"
        value += f" ({interval})"
    if len(rows) == 1:
        only = f"the only {board.settings.contestant} with values on every fold"
        return [f"{best['ranker']} has {value}" + (f"; {only}." if len(board.rankers) > 1 else ".")]
    tied = [row["ranker"] for row in rows if row["diff"] == 0.0]
    leads = f"{best['ranker']} leads" if len(tied) < 2 else f"{_join_names(tied)} share the lead"
    return [
        f"{leads} with {value}.",
        *_describe_open(board, rows),
        *_what_would_settle(board, rows, name),
        *_where_orders_differ(board, rows, name),
        *_warn_of_few(board),
    ]


def _warn_of_few(board: Any) -> list[str]:
    """Sentence on tests with few queries, if there are few."""
    n, unit = len(board.qids), board.settings.unit
    if n >= FEW_QUERIES or len(board.rankers) < 2:
        return []
    return [
        f"Few {unit}: what happens in one of ten may be missing among {n}; p, ranks and intervals "
        "cannot be relied on if such a case would decide."
    ]


def may_be_best(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that no other is significantly better than; without ranks, than the best is."""
    if has_rank_intervals(rows):
        return [row for row in rows if row["rank_low"] == 1]
    return [row for row in rows if not row["separable"]]


def _describe_open(board: Any, rows: list[dict[str, Any]]) -> list[str]:
    best, others, contestant = rows[0], rows[1:], board.settings.contestant
    if all(row["separable"] is None for row in others):
        return ["The differences could not be tested."]
    open_rows = may_be_best(rows)
    names = [row["ranker"] for row in open_rows]
    if names == [best["ranker"]]:
        better = _by_direction(
            board, others, "is significantly better than", "differs significantly from"
        )
        behind = (
            _join_names([row["ranker"] for row in others])
            if len(others) <= _MOST_NAMED
            else f"all {len(others)} other {contestant}s"
        )
        return [f"It {better} {behind}."]
    if len(rows) == 2 and len(names) == 2:
        lead = abs(others[0]["diff"])
        if not lead:
            return ["Either may be the best."]
        return [
            f"The difference of {lead:.4f} to {names[1]} is not significant: either may be the "
            "best."
        ]
    if len(names) == len(rows):
        return [
            f"Any of the {len(rows)} {contestant}s may be the best: nobody is significantly behind."
        ]
    text = f"{len(names)} of {len(rows)} {contestant}s may be the best: {_join_names(names)}."
    rest = [row for row in rows if row not in open_rows]
    behind = _by_direction(board, rest, "significantly behind", "significantly different")
    if all(row["separable"] for row in rest):
        who = rest[0]["ranker"] if len(rest) == 1 else "The others"
        return [f"{text} {who} {'is' if len(rest) == 1 else 'are'} {behind}."]
    behind = _by_direction(board, rest, "behind", "different from")
    return [f"{text} Each of the others is significantly {behind} at least one {contestant}."]


def _by_direction(board: Any, rows: list[dict[str, Any]], means: str, neither: str) -> str:
    """The first phrase, or the second if a test favours a row that has a worse mean than the best.

    Wilcoxon's test can: it asks who is better on more queries.
    """
    is_turned = board.settings.test == "wilcoxon" and any(r["wins"] > r["losses"] for r in rows)
    return neither if is_turned else means


def _what_would_settle(board: Any, rows: list[dict[str, Any]], measure: str) -> list[str]:
    """Smallest difference to be found, and number of queries that would show the lead."""
    # More queries would not help against runs that differ.
    found = None if board.run_errors else board.detectable_difference(measure)
    if found is None:
        return []
    unit, n = board.settings.unit, len(board.qids)
    text = (
        f"With these {n:,} {unit}, a difference of {found:.2g} is found with probability 0.8 "
        f"(median pair of {board.settings.contestant}s{spread_is_rough(n)})."
    )
    rivals = [row for row in may_be_best(rows) if row is not rows[0]]
    lead = abs(rivals[0]["diff"] or 0.0) if rivals else 0.0
    # A lead above what the median pair shows is not significant because this pair varies more.
    if not 0.0 < lead < found:
        return [text]
    values = board.per_query(measure)
    try:
        needed = queries_needed(
            {row["ranker"]: values[row["ranker"]] for row in rows},
            lead,
            confidence_level=board.settings.confidence_level,
            random_state=board.settings.random_state,
            strata=board.fold_of_query,
        )
    except ValueError:
        settled = "more than ten million"
    else:
        many = needed > _MOST_TIMES * n  # a number that nobody will judge says no more than this
        times = f"more than {_MOST_TIMES} times as many"
        settled = times if many else f"about {float(f'{needed:.2g}'):,.0f}"
    rival = rivals[0]["ranker"]
    return [f"{text} A lead of {lead:.2g}, as over {rival}, needs {settled} {unit}."]


def _where_orders_differ(board: Any, rows: list[dict[str, Any]], measure: str) -> list[str]:
    """Sentences on means, tests and numbers of better queries that contradict each other."""
    best, unit = rows[0], board.settings.unit
    turn = 1 if board.greater_is_better(measure) else -1
    said = []
    top = max(rows, key=lambda row: turn * row["mean"])
    if is_adjusted(rows) and turn * (top["mean"] - best["mean"]) > 0:
        said.append(
            f"{top['ranker']} has the better mean ({top['mean']:.4f}), but over other {unit}; on "
            f"the {unit} of all, {best['ranker']} is ahead."
        )
    behind = [row for row in rows[1:] if row["separable"]]
    close = [row for row in rows[1:] if row["separable"] is False]
    if behind and close and behind[0]["rank"] < close[-1]["rank"] and not is_adjusted(rows):
        said.append(
            f"{behind[0]['ranker']} is significantly behind although {close[-1]['ranker']}, which "
            f"is not, has a worse mean: the differences between {close[-1]['ranker']} and "
            f"{best['ranker']} vary more."
        )
    values = board.per_query(measure)
    rival = max(rows[1:], key=lambda row: row["wins"] - row["losses"])
    if rival["wins"] > rival["losses"]:
        gains = turn * (values[rival["ranker"]] - values[best["ranker"]])
        won, lost = gains[gains > 0], -gains[gains < 0]
        # Folds of unequal size can turn the order of means too; then this is not the reason.
        if len(lost) and np.mean(lost) > np.mean(won):
            said.append(
                f"{rival['ranker']} beats {best['ranker']} on {rival['wins']:,} {unit} and loses "
                f"on {rival['losses']:,}, but its losses are larger ({np.mean(lost):.2g} against "
                f"{np.mean(won):.2g} on average), so its mean is worse."
            )
    for other in board.measures if measure == board.measures[0] else []:
        first = next(iter(board.rows(other)))
        row = next(row for row in board.rows(other) if row["ranker"] == best["ranker"])
        if first["rank"] and row["diff"] != 0.0:
            is_behind = {True: "significantly behind", False: "not significantly behind"}
            known = is_behind.get(row["separable"])
            end = f"; there {best['ranker']} is {known}" if known else ""
            said.append(f"By {other}, {first['ranker']} leads ({first['mean']:.4f}){end}.")
    return said


def _join_names(names: list[str]) -> str:
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
