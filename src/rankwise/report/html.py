"""Self-contained HTML page of a comparison, and its content as plain values."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.report.figures import Further, figures
from rankwise.report.page import format_signed, number, render
from rankwise.report.plots import differences
from rankwise.runtime.files import write_file
from rankwise.selection.cells.result_store import writing
from rankwise.selection.leaderboard import (
    how_adjusted,
    queries_that_count,
    recall_of_rows,
    rows_left_out,
    shares_of_unjudged,
    what_can_be_seen,
)
from rankwise.selection.standing import (
    describe_columns,
    has_rank_intervals,
    how_tested,
    how_tested_against_baseline,
    is_adjusted,
    is_fitted,
    joint_interval,
    merge_notes,
    ranks_text,
)

if TYPE_CHECKING:
    from rankwise.datasets.linting import LintReport
    from rankwise.explain import FeatureEffect
    from rankwise.fusion import JudgementCurve as FusionLearningCurve
    from rankwise.selection import Leaderboard, LearningCurve


def write_report(
    leaderboard: Leaderboard,
    path: str | Path,
    *,
    data: Any = None,
    lint: Any = None,
    command: str | Sequence[str] | None = None,
    boards: Mapping[str, Leaderboard] | None = None,
    learning_curve: LearningCurve | FusionLearningCurve | None = None,
    feature_effects: Sequence[FeatureEffect] = (),
) -> Path:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    leaderboard : Leaderboard
        Comparison to show. The page has curves over cut-offs if the cells hold one measure at
        three or more cut-offs, and regularisation paths if rankers chose a number from a grid.
    path : path-like
        File to write; a missing folder is created.
    data : RankingData, Fold, FoldedData or sequence of Fold, optional
        Data of the comparison, checked by :func:`rankwise.datasets.lint` unless ``lint`` is given.
    lint : LintReport, optional
        Findings in the data.
    command : str or sequence of str, optional
        Command that reproduces the page.
    boards : mapping of str to Leaderboard, optional
        Leaderboards of several data sets by name, for a critical-difference diagram over them; see
        :func:`plot_critical_difference`.
    learning_curve : rankwise.selection.LearningCurve or rankwise.fusion.JudgementCurve, optional
        See :func:`plot_learning_curve`.
    feature_effects : sequence of FeatureEffect, optional
        See :func:`plot_feature_effect`.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> board = compare(["ridge"], load_dataset("lambdarank"))  # doctest: +SKIP
    >>> write_report(board, "report.html")  # doctest: +SKIP
    """
    path = Path(path)
    if lint is None and data is not None:
        from rankwise.datasets import lint as check

        lint = check(data)
    page = _render(
        leaderboard,
        lint,
        command if isinstance(command, str) else shlex.join(command or ()),
        Further(boards, learning_curve, feature_effects),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        write_file(path, page.encode())
    return path


def _render(board: Leaderboard, lint: Any, command: str, further: Further) -> str:
    return render(
        "report.html.j2",
        {
            "title": board.settings.data or "judged data",
            "board": board,
            "fitted": is_fitted(board.settings),
            "counted": queries_that_count(board),
            "recall": " ".join(recall_of_rows(board)),
            "verdict": verdict(board),
            "leaderboard": leaderboard_section(board),
            "baseline": baseline_section(board),
            "folds": folds_section(board),
            "figures": figures(board, further),
            "lint": None if lint is None else lint_section(lint),
            "reproduce": reproduce_section(board, command),
        },
    )


BAR_WIDTH = 180.0
_MOST_PLACES = 3
# The interval plot beside each row, in SVG units.
PLOT_WIDTH, _PLOT_MARGIN = 132.0, 6.0


def leaderboard_section(board: Leaderboard) -> dict[str, Any]:
    """Rows of the table with coordinates of their interval plots, and rankers not in it."""
    rows = board.rows()
    finished = [row for row in rows if row["rank"]]
    place = _places(finished)
    counts = {difference.ranker: difference for difference in differences(board)}
    return {
        "measure": board.measures[0],
        "others": board.measures[1:],
        "level": f"{100 * board.settings.confidence:g}\u00a0%",
        "tested": how_tested(board.settings),
        "joint_interval": joint_interval(board.settings),
        "behind_below": f"{1 - board.settings.confidence:g}",
        "larger_is_better": board.greater_is_better(),
        "larger_is_better_in": {name: board.greater_is_better(name) for name in board.measures},
        "can_be_seen": " ".join(what_can_be_seen(board)),
        "has_ranks": has_rank_intervals(rows),
        "rows": [
            {
                **row,
                "description": board.descriptions[row["ranker"]],
                "counts": counts.get(row["ranker"]),
                "plot": place(row),
                "standing": _standing(row),
                "ranks": ranks_text(row),
            }
            for row in finished
        ],
        "best_at": place(finished[0])["mean"] if finished else None,
        "plot_width": PLOT_WIDTH,
        "missing": [row for row in rows if not row["rank"]],
        "notes": [
            *(("all", line) for line in shares_of_unjudged(board)),
            *(("all", line) for line in rows_left_out(board)),
            *([("all", how_adjusted(board))] if is_adjusted(rows) else []),
            *(("all", line) for line in describe_columns(board.settings)),
            *merge_notes(rows, board.settings.contestant),
        ],
    }


def baseline_section(board: Leaderboard) -> dict[str, Any] | None:
    """Every other ranker against the baseline; None without a finished baseline."""
    measure = board.measures[0]
    rows = [row for row in board.rows() if row["rank"] and row["ranker"] != board.settings.baseline]
    found = [{**row["against_baseline"][measure], "ranker": row["ranker"]}
             for row in rows if row["against_baseline"]]  # fmt: skip
    if not found:
        return None
    return {
        "name": board.settings.baseline,
        "measure": measure,
        "tested": how_tested_against_baseline(board.settings),
        "joint_interval": joint_interval(board.settings),
        "larger_is_better": board.greater_is_better(measure),
        "rows": found,
    }


def folds_section(board: Leaderboard) -> dict[str, Any] | None:
    """Mean of every ranker on every fold, with the best of each fold marked.

    None for a single fold without chosen parameters, which the leaderboard already shows.
    """
    rows = [row for row in board.rows() if any(v is not None for v in row["folds"])]
    if len(board.folds) == 1 and not any(any(row["chosen"].values()) for row in rows):
        return None
    turn = 1 if board.greater_is_better() else -1
    best = [
        max((turn * row["folds"][i] for row in rows if row["folds"][i] is not None), default=None)
        for i in range(len(board.folds))
    ]
    return {
        "names": board.folds,
        "select_by": short_name(board, board.settings.select_by),
        "rows": [
            {
                "ranker": row["ranker"],
                "cells": [
                    {"mean": mean, "is_best": mean is not None and turn * mean == best[i]}
                    for i, mean in enumerate(row["folds"])
                ],
                "chosen": [row["chosen"].get(fold) or {} for fold in board.folds],
            }
            for row in rows
        ],
    }


def lint_section(report: LintReport) -> dict[str, Any]:
    """Findings by kind with a few places each, and the shares of labels in every part."""
    kinds: dict[tuple[str, str], dict[str, Any]] = {}
    for finding in report.rows:
        kind = kinds.setdefault(
            (finding.level, finding.what),
            {"level": finding.level, "what": finding.what, "note": finding.note, "places": []},
        )
        kind["places"].append(finding)
    counts = Counter(finding.level for finding in report.rows)
    labels = list(dict.fromkeys(label for part in report.parts for label in part.labels))
    return {
        "counts": counts,
        "kinds": [
            {
                **kind,
                "places": kind["places"][:_MOST_PLACES],
                "more": len(kind["places"]) - _MOST_PLACES,
            }
            for kind in kinds.values()
        ],
        "labels": labels,
        "parts": [{"part": part, "bars": _bars(part.labels, labels)} for part in report.parts],
        "bar_width": BAR_WIDTH,
    }


def _bars(found: dict[str, int], labels: list[str]) -> list[dict[str, Any]]:
    """Position, width and opacity of each label's segment in a bar."""
    total, at, bars = max(sum(found.values()), 1), 0.0, []
    for number_of_label, label in enumerate(labels):
        width = BAR_WIDTH * found.get(label, 0) / total
        strength = 0.15 + 0.85 * number_of_label / max(len(labels) - 1, 1)
        bars.append({"x": round(at, 2), "width": round(width, 2), "strength": round(strength, 2)})
        at += width
    return bars


def short_name(board: Leaderboard, spec: str) -> str:
    """Name under which a measure was requested, or its full spec if it was not."""
    return next((name for name, full in board.specs.items() if full == spec), spec)


def reproduce_section(board: Leaderboard, command: str) -> dict[str, Any]:
    """Everything that the numbers depend on."""
    return {
        "command": command,
        "settings": board.settings,
        "specs": board.specs,
        "descriptions": board.descriptions,
        "folds": board.fold_infos,
    }


def verdict(board: Leaderboard) -> str:
    """Outcome of the comparison in one or two sentences."""
    finished = [row for row in board.rows() if row["rank"]]
    if not finished:
        return "No ranker finished."
    measure, best = board.measures[0], finished[0]
    first = f"{best['ranker']} leads with {measure} {number(best['mean'])}"
    if best["low"] is not None:
        first += f" ({number(best['low'])} to {number(best['high'])})"
    if len(finished) == 1:
        return f"{first}."
    behind = [row["ranker"] for row in finished[1:] if row["separable"]]
    close = [
        f"{row['ranker']}{_difference(row)}" for row in finished[1:] if row["separable"] is False
    ]
    if not close:
        return f"{first}, significantly ahead of {_join_names(behind)}." if behind else f"{first}."
    second = f"{_join_names(close)} {'is' if len(close) == 1 else 'are'} not separable from it"
    if behind:
        second += (
            f". {_join_names(behind)} {'is' if len(behind) == 1 else 'are'} significantly behind"
        )
    return f"{first}. {second}."


def _standing(row: dict[str, Any]) -> str:
    if row["rank"] == 1:
        return "best"
    if row["separable"] is None:
        return "not tested"
    return "behind" if row["separable"] else "not separable"


def _difference(row: dict[str, Any]) -> str:
    """The difference to the best and its interval, in parentheses."""
    difference, low, high = (format_signed(row[name]) for name in ("diff", "diff_low", "diff_high"))
    return f" ({difference}, {low} to {high})"


def _join_names(names: list[str]) -> str:
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _places(rows: list[dict[str, Any]]) -> Any:
    """Return a function that maps a row to plot coordinates on the common scale of all rows."""
    ends = [row[what] for row in rows for what in ("low", "high", "mean") if row[what] is not None]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    reach = (high - low) or 1.0

    def x(value: float | None) -> float | None:
        inner = PLOT_WIDTH - 2 * _PLOT_MARGIN
        return None if value is None else round(_PLOT_MARGIN + inner * (value - low) / reach, 1)

    return lambda row: {what: x(row[what]) for what in ("low", "high", "mean")}
