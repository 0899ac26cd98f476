"""Self-contained HTML page of a comparison: its sections as plain values, and its figures."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise import fusion
from rankwise.report.axes import Look, looks
from rankwise.report.model_plots import plot_feature_effect
from rankwise.report.ordinal_plots import (
    calibrations,
    confusions,
    densities,
    draw_thresholds,
    plot_calibration,
    plot_confusion,
)
from rankwise.report.page import count, format_signed, inline, number, render, seconds
from rankwise.report.plots import (
    curves,
    differences,
    draw_growth,
    growth,
    paths,
    plot_costs,
    plot_curves,
    plot_differences,
    plot_paths,
)
from rankwise.report.rank_diagram import RankDiagram, draw_ranks, plot_leaderboard, rank_diagram
from rankwise.runtime.files import write_file, writing
from rankwise.selection.cells.fold_tuning import ENDS, is_at_end
from rankwise.selection.leaderboard import (
    describe_memory_of,
    how_adjusted,
    queries_that_count,
    recall_of_rows,
    rows_left_out,
    shares_of_unjudged,
)
from rankwise.selection.standing import (
    NO_VALUE,
    describe_columns,
    has_rank_intervals,
    how_tested,
    how_tested_against_baseline,
    is_adjusted,
    is_fitted,
    joint_interval,
    merge_notes,
    p_value,
    ranks_text,
)
from rankwise.selection.verdict import may_be_best

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankwise.datasets.linting import LintReport
    from rankwise.explain import FeatureEffect
    from rankwise.fusion import JudgementCurve as FusionLearningCurve
    from rankwise.selection import FoldResult, Leaderboard, LearningCurve


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
    board = leaderboard
    page = render(
        "report.html.j2",
        {
            "title": board.settings.data
            or ("judged data" if board.settings.unit == "queries" else "scores"),
            "board": board,
            "fitted": is_fitted(board.settings),
            "counted": queries_that_count(board),
            "recall": " ".join(recall_of_rows(board)),
            "verdict": board.verdict().splitlines(),
            "leaderboard": leaderboard_section(board),
            "baseline": baseline_section(board),
            "folds": folds_section(board),
            "pictures": [figure for figure in (_leaderboard(board), _costs(board)) if figure],
            "figures": figures(board, boards, learning_curve, feature_effects),
            "changes": largest_changes(board),
            "lint": None if lint is None else lint_section(lint),
            "reproduce": {
                "command": command if isinstance(command, str) else shlex.join(command or ()),
                "settings": board.settings,
                "specs": board.specs,
                "descriptions": board.descriptions,
                "folds": board.fold_infos,
            },
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        write_file(path, page.encode())
    return path


BAR_WIDTH = 180.0
_MOST_PLACES = 3
_MOST_CHANGES = 3


def _join_alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without a rank, where those of the same status and message are one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        alike.setdefault((row["status"], row["message"]), []).append(row["ranker"])
    return [
        {"ranker": ", ".join(names), "status": status, "message": message}
        for (status, message), names in alike.items()
    ]


def leaderboard_section(board: Leaderboard) -> dict[str, Any]:
    """Rows of the table, and rankers not in it."""
    rows = board.rows()
    finished = [row for row in rows if row["rank"]]
    counts = {difference.ranker: difference for difference in differences(board)}
    shown = [
        {
            **row,
            "counts": counts.get(row["ranker"]),
            "standing": _standing(row),
            "ranks": ranks_text(row),
            "p_text": p_value(row["p_corrected"]),
        }
        for row in finished
    ]
    return {
        "measure": board.measures[0],
        "others": board.measures[1:],
        "level": f"{100 * board.settings.confidence_level:g}\u00a0%",
        "tested": how_tested(board.settings),
        "joint_interval": joint_interval(board.settings),
        "behind_below": f"{1 - board.settings.confidence_level:g}",
        "larger_is_better": board.greater_is_better(),
        "larger_is_better_in": {name: board.greater_is_better(name) for name in board.measures},
        "has_ranks": has_rank_intervals(rows),
        "rows": shown,
        "folded": _fold_columns(shown, board.settings.contestant),
        "missing": _join_alike([row for row in rows if not row["rank"]]),
        "ran": {row["ranker"]: row["ran"] for row in finished if is_fitted(board.settings)},
        "notes": [
            *(("all", line) for line in shares_of_unjudged(board)),
            *(("all", line) for line in rows_left_out(board)),
            *(("all", line) for line in describe_memory_of(board)),
            *([("all", how_adjusted(board))] if is_adjusted(rows) else []),
            *(("all", line) for line in describe_columns(board.settings)),
            *merge_notes(rows, board.settings.contestant),
        ],
    }


def _fold_columns(rows: list[dict[str, Any]], contestant: str) -> dict[str, str]:
    """Sentences in place of the columns that would say the same in every row of three or more."""
    texts = {
        "standing": (rows[1:], "Standing of all but the best: {}."),
        "p_text": (rows[1:], "p of every difference: {}."),
        "ranks": (rows, f"Ranks of every {contestant}: {{}}."),
        "letters": (rows, f"Letter of every {contestant}: {{}}."),
    }
    found = {
        name: (sentence, {row[name] for row in among}) for name, (among, sentence) in texts.items()
    }
    return {
        name: sentence.format(values.pop())
        for name, (sentence, values) in found.items()
        if len(rows) > 2 and len(values) == 1 and values != {NO_VALUE} and values != {""}
    }


def largest_changes(board: Leaderboard) -> dict[str, dict[str, Any]]:
    """By ranker: the other that it is compared with, and its largest gains and losses by query.

    Others are compared with the best; the best with the baseline, or else the next.
    """
    finished: list[str] = [row["ranker"] for row in board.rows() if row["rank"]]
    values, turn = board.per_query(), 1 if board.greater_is_better() else -1
    baseline = board.settings.baseline
    found: dict[str, dict[str, Any]] = {}
    for ranker in finished if len(finished) > 1 else []:
        other = finished[0]
        if ranker == other:
            other = baseline if baseline is not None and baseline in finished[1:] else finished[1]
        gains = turn * (values[ranker] - values[other])
        order = np.argsort(-gains, kind="stable")
        order = order[~np.isnan(gains[order])]
        largest = {
            "gains": [at for at in order[:_MOST_CHANGES] if gains[at] > 0],
            "losses": [at for at in order[: -_MOST_CHANGES - 1 : -1] if gains[at] < 0],
        }
        found[ranker] = {"other": other}
        for kind, places in largest.items():
            pairs = [(float(values[other][at]), float(values[ranker][at])) for at in places]
            found[ranker][kind] = [
                (
                    str(board.qids[at]),
                    format_signed(new - old, 3),
                    f"{number(old, 3)} → {number(new, 3)}",
                )
                for at, (old, new) in zip(places, pairs, strict=True)
            ]
    return found


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
    spec = board.settings.select_by
    chosen = {
        row["ranker"]: [_mark_ends(board.cell(row["ranker"], fold)) for fold in board.folds]
        for row in rows
    }
    return {
        "names": board.folds,
        # As it was requested, or the full spec if it was not.
        "select_by": next((name for name, full in board.specs.items() if full == spec), spec),
        "has_ends": any(end for folds in chosen.values() for fold in folds for *_, end in fold),
        "rows": [
            {
                "ranker": row["ranker"],
                "cells": [
                    {"mean": mean, "is_best": mean is not None and turn * mean == best[i]}
                    for i, mean in enumerate(row["folds"])
                ],
                "chosen": chosen[row["ranker"]],
            }
            for row in rows
        ],
    }


def _mark_ends(cell: FoldResult) -> list[tuple[str, Any, str]]:
    """Name and value of every chosen parameter, with the end of its grid if a note names it."""
    return [
        (name, value, next((end for end in ENDS if is_at_end(cell.notes, name, value, end)), ""))
        for name, value in cell.chosen.items()
    ]


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


def _standing(row: dict[str, Any]) -> str:
    if row["rank"] == 1:
        return "best"
    if row["separable"] is None:
        return "not tested"
    return "behind" if row["separable"] else "not separable"


_FEWEST_RANKED = 3
PageFigure = dict[str, Any]


def figures(
    board: Leaderboard,
    boards: Mapping[str, Leaderboard] | None,
    curve: LearningCurve | fusion.JudgementCurve | None,
    effects: Sequence[FeatureEffect],
) -> list[PageFigure]:
    """Figures of the leaderboard and of further results, as far as there are data for them."""
    made = [
        _curves(board),
        _differences(board),
        _ranks(board),
        _rank_figure("ranks-over-data-sets", "Average ranks over data sets", rank_diagram(boards))
        if boards
        else None,
        None if curve is None else _learning(curve),
        _effects(effects) if effects else None,
        _paths(board),
        _confusion(board),
        _scores(board),
        _calibration(board),
    ]
    return [figure for figure in made if figure is not None]


def _learning(curve: LearningCurve | fusion.JudgementCurve) -> PageFigure:
    found = growth(curve)
    first, last = found.sizes[0], found.sizes[-1]
    said = "; ".join(
        f"{name} {number(means[0])} with {first} and {number(means[-1])} with {last} queries"
        for name, means in found.means.items()
    )
    of_draws = isinstance(curve, fusion.JudgementCurve)
    what = "the middle 95\u00a0% of the draws" if of_draws else "intervals over test queries"
    return _figure(
        "learning-curve",
        "Learning curves",
        draw_growth(found),
        f"{found.measure}, best first: {said}.",
        f"{found.measure} by the number of training queries; a larger set contains the smaller "
        f"ones. The test queries are the same at every size. Vertical lines show {what}.",
        {
            "columns": [f"{size}" for size in found.sizes],
            "rows": {name: means.tolist() for name, means in found.means.items()},
        },
        _legend(list(found.means), found.highlighted),
    )


def _effects(effects: Sequence[FeatureEffect]) -> PageFigure:
    said = "; ".join(
        f"{effect.name} from {number(effect.mean[0], 2)} to {number(effect.mean[-1], 2)}, "
        f"at most {number(effect.mean.max(), 2)}"
        for effect in effects
    )
    return _figure(
        "feature-effects",
        "Feature effects",
        plot_feature_effect(effects),
        f"Share of the other documents of its query that a document outranks: {said}.",
        "Share of the other documents of its query that a document outranks if only this feature "
        "is changed. Dots mark the values tried, and the band covers the middle half of the "
        "queries. A feature that the model ignores stays at 0.5.",
    )


def _curves(board: Leaderboard) -> PageFigure | None:
    found = curves(board)
    if found is None:
        return None
    ends = ", ".join(f"{name} {number(means[-1])}" for name, means in found.means.items())
    return _figure(
        "curves",
        f"{found.name} by cut-off",
        plot_curves(board),
        f"Means at cut-off {found.cutoffs[-1]}, best first: {ends}.",
        f"Mean of the fold means of {found.name} at each cut-off.",
        {"columns": [f"@{k}" for k in found.cutoffs], "rows": found.means},
        _legend(list(found.means), found.highlighted),
    )


def _legend(names: list[str], highlighted: list[str]) -> list[tuple[str, Look]]:
    """Names and styles of the lines with a colour of their own."""
    return [(name, look) for name, look in looks(names, highlighted).items() if look.is_strong]


def _differences(board: Leaderboard) -> PageFigure | None:
    found = differences(board)
    drawn = plot_differences(board)
    if drawn is None:
        return None
    best, measure = board.best, board.measures[0]
    said = "; ".join(
        f"{difference.ranker}: better on {difference.better}, equal on {difference.equal}, "
        f"worse on {difference.worse} {board.settings.unit}"
        for difference in found
    )
    return _figure(
        "differences",
        "Query by query against the best"
        if board.settings.unit == "queries"
        else "Unit by unit against the best",
        drawn,
        f"{said}.",
        f"{measure} of each of the {board.settings.unit} minus that of {best}, sorted; up is "
        f"better. The white gap between the two areas stands for {board.settings.unit} on which "
        "both are equal.",
    )


def _leaderboard(board: Leaderboard) -> PageFigure | None:
    """Means and differences of two or more rankers."""
    rows = [row for row in board.rows() if row["rank"]]
    if len(rows) < 2:
        return None
    name, contestant = board.measures[0], board.settings.contestant
    said = "; ".join(
        f"{row['ranker']} {number(row['mean'])}"
        + (f", ranks {ranks_text(row)}" if has_rank_intervals(rows) else "")
        for row in rows
    )
    n_open = len(may_be_best(rows))
    return _figure(
        "leaderboard",
        "Means and differences",
        plot_leaderboard(board),
        f"{name}, best first: {said}.",
        f"Left: means with intervals over {board.settings.unit}. They overlap even where a test "
        f"decides, since all {contestant}s find the same {board.settings.unit} hard. Right: "
        f"differences to the best on the same {board.settings.unit}; an interval that excludes 0 "
        f"is significant. {count(n_open)} of {count(len(rows))} {contestant}s, in colour, may be "
        "the best.",
    )


def _costs(board: Leaderboard) -> PageFigure | None:
    drawn = plot_costs(board)
    if drawn is None:
        return None
    said = "; ".join(
        f"{row['ranker']} {number(row['mean'])} after {seconds(row['fit_seconds'])}"
        for row in board.rows()
        if row["rank"] and row["fit_seconds"]
    )
    return _figure(
        "costs",
        "Quality and time",
        drawn,
        f"{board.measures[0]} and time to fit: {said}.",
        f"{board.measures[0]} by the time to fit and to predict a test part, medians over folds. "
        "The line joins those that no faster one beats. In colour: may be the best.",
    )


def _ranks(board: Leaderboard) -> PageFigure | None:
    """Average ranks of three or more rankers; two need no diagram."""
    finished = [row["ranker"] for row in board.rows() if row["rank"]]
    values = [values for name, values in board.per_query().items() if name in finished]
    n_complete = (~np.isnan(values).any(axis=0)).sum() if values else 0
    if len(finished) < _FEWEST_RANKED or n_complete < 2:
        return None
    found = rank_diagram(board, confidence_level=board.settings.confidence_level)
    words = board.settings.unit, board.settings.contestant
    return _rank_figure("ranks", f"Average ranks over {words[0]}", found, *words)


def _rank_figure(
    name: str,
    heading: str,
    found: RankDiagram,
    unit: str = "queries",
    contestant: str = "ranker",
) -> PageFigure:
    ranks = found.ranks
    level = f"{100 * ranks.confidence_level:g}\u00a0%"
    said = ", ".join(f"{n} {r:.2f}" for n, r in zip(ranks.names, ranks.ranks, strict=True))
    without = f" Left out: {', '.join(found.left_out)}." if found.left_out else ""
    over_sets = found.blocks == "data sets"
    blocks = found.blocks if over_sets else unit
    what = "further data sets" if over_sets else f"further {unit} of these data"
    return _figure(
        name,
        heading,
        draw_ranks(ranks),
        f"Average ranks, best first: {said}; critical difference {ranks.critical_difference:.2f}.",
        f"{contestant.capitalize()}s ranked by {found.measure} in each of "
        f"{count(ranks.n_blocks)} {blocks}; "
        f"rank 1 is best. Friedman’s test: F {ranks.f:.2f}, p {p_value(ranks.f_p)}. A bar joins "
        f"{contestant}s that Nemenyi’s test does not separate at {level}; {contestant}s in grey "
        f"differ from the best. The tests generalise to {what}.{without}",
    )


def _paths(board: Leaderboard) -> PageFigure | None:
    found = paths(board)
    drawn = plot_paths(board)
    if drawn is None:
        return None
    said = "; ".join(
        f"{path.ranker} chose {path.parameter} "
        + ", ".join(f"{value:.3g} on {fold}" for fold, value in path.chosen.items())
        for path in found
    )
    return _figure(
        "paths",
        "Regularisation paths",
        drawn,
        f"{said}.",
        "Score by which the parameter was chosen, along its grid. Each fold has a thin line with "
        "a dot at its choice; the mean is in colour. The test parts played no role.",
    )


def _confusion(board: Leaderboard) -> PageFigure | None:
    found = confusions(board)
    if not found:
        return None
    said = "; ".join(
        f"{name}: mean absolute rank loss {number(confusion.mae)}, "
        f"{100 * confusion.accuracy:.0f} % correct, "
        f"{100 * confusion.within(1):.0f} % at most one rank off"
        for name, confusion in found.items()
    )
    return _figure(
        "confusion",
        "Predicted ranks",
        plot_confusion(found),
        f"{said}.",
        "Test rows of all folds by label and predicted rank, in rank order. Darker cells hold "
        f"more of the label's rows; correct predictions lie on the diagonal. {said}.",
    )


def _scores(board: Leaderboard) -> PageFigure | None:
    found = densities(board)
    if not found:
        return None
    said = "; ".join(
        f"{ranker.name} cuts at " + ", ".join(f"{value:.3g}" for value in ranker.thresholds)
        for ranker in found
    )
    return _figure(
        "thresholds",
        "Scores and thresholds",
        draw_thresholds(found),
        f"{said}.",
        f"Scores of the test rows of {board.folds[0]}, class by class, and the thresholds of the "
        "ordinal estimators between ranks. Scores between the thresholds of their own class have "
        "the colour of correct predictions.",
    )


def _calibration(board: Leaderboard) -> PageFigure | None:
    found = calibrations(board)
    if not found:
        return None
    said = "; ".join(
        f"{name}: mean error {number(curve.error, 3)}" for name, curve in found.items()
    )
    return _figure(
        "calibration",
        "Calibration",
        plot_calibration(found),
        f"{said}.",
        "Share of the test rows of all folds whose label lies above a class, against the "
        "predicted probability, in bins of about equally many rows with exact "
        f"95\u00a0% intervals. Calibrated probabilities lie on the diagonal. {said}.",
    )


def _figure(
    name: str,
    heading: str,
    drawing: Figure | None,
    said: str,
    caption: str,
    table: dict[str, Any] | None = None,
    legend: Sequence[tuple[str, Look]] = (),
) -> PageFigure:
    """A figure with its texts; ``said`` is for screen readers.

    ``table`` has the numbers of its lines, ``columns`` and ``rows`` by line, if a table can show
    them. ``legend``: names and styles of lines, shown below the drawing if the page is narrow.
    """
    assert drawing is not None
    return {
        "name": name,
        "heading": heading,
        "svg": inline(drawing, name, heading, said),
        "caption": caption,
        "table": table,
        "legend": legend,
    }
