"""Data of the plots, taken from a leaderboard."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.metrics import parse
from rankwise.metrics.significance import stratified_mean
from rankwise.selection import FoldResult, Leaderboard
from rankwise.typing import Float64Array

_FEWEST_POINTS = 3


@dataclass(frozen=True)
class Curves:
    """Means of one measure at several cut-offs."""

    name: str  # measure without its cut-off, e.g. "nDCG"
    spec: str  # with the cut-off
    cutoffs: list[int]  # ascending
    # means of the fold means by ranker, best first at the largest cut-off
    means: dict[str, list[float]]
    highlighted: list[str]  # the best and the baseline, which stand out among many


@dataclass(frozen=True)
class Differences:
    """Differences of one ranker to the best, query by query."""

    ranker: str
    values: Float64Array  # (n_queries,), in descending order; > 0 is better than the best
    better: int  # better, equal and worse are numbers of queries
    equal: int
    worse: int


@dataclass(frozen=True)
class RegularisationPath:
    """A ranker's validation score along one parameter."""

    ranker: str
    parameter: str
    values: Float64Array  # (n_values,), ascending, positive
    scores: dict[str, Float64Array]  # (n_values,), by fold
    chosen: dict[str, float]  # chosen value by fold


def curves(board: Leaderboard) -> Curves | None:
    """Curves of the measure with the most cut-offs in the cells; None if fewer than three."""
    if board.settings.greater_is_better is not None:
        return None  # values of a table, whose names say nothing about cut-offs
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for spec in {spec for cell in board.cells for spec in cell.values}:
        family, _, cutoff = spec.rpartition("@")
        if family and cutoff.isdigit():
            found[family][int(cutoff)] = spec
    if not found:
        return None
    family = max(found, key=lambda name: (len(found[name]), name))
    by_cutoff = dict(sorted(found[family].items()))
    if len(by_cutoff) < _FEWEST_POINTS:
        return None
    means = {
        row["ranker"]: [
            stratified_mean(board.values(row["ranker"], spec), board.fold_of_query)
            for spec in by_cutoff.values()
        ]
        for row in board.rows()
        if row["rank"]
    }
    if not means:
        return None
    any_spec = next(iter(by_cutoff.values()))
    turn = -1 if parse(any_spec).greater_is_better else 1
    ordered = dict(sorted(means.items(), key=lambda item: turn * item[1][-1]))
    wanted = (board.best, board.settings.baseline)
    highlighted = [name for name in wanted if name is not None and name in ordered]
    return Curves(parse(any_spec).name, family, list(by_cutoff), ordered, highlighted)


def differences(board: Leaderboard, measure: str | None = None) -> list[Differences]:
    """Differences of every finished ranker but the best, in the order of the table."""
    measure = board.measures[0] if measure is None else measure
    finished = [row["ranker"] for row in board.rows(measure) if row["rank"]]
    if not finished:
        return []
    values = board.per_query(measure)
    turn = 1.0 if board.greater_is_better(measure) else -1.0
    found = []
    for ranker in finished[1:]:
        difference = turn * (values[ranker] - values[finished[0]])
        difference = np.sort(difference[~np.isnan(difference)])[::-1]
        better, worse = int((difference > 0).sum()), int((difference < 0).sum())
        found.append(
            Differences(ranker, difference, better, len(difference) - better - worse, worse)
        )
    return found


def paths(board: Leaderboard) -> list[RegularisationPath]:
    """Paths of rankers that chose one positive number from a grid, in the order of the table."""
    found = []
    for row in board.rows():
        cells = [board.cell(row["ranker"], fold) for fold in board.folds]
        path = _path(row["ranker"], [cell for cell in cells if cell.search])
        if path is not None:
            found.append(path)
    return found


def _path(ranker: str, cells: list[FoldResult]) -> RegularisationPath | None:
    settings = [setting["params"] for cell in cells for setting in cell.search]
    names = {name for params in settings for name in params}
    if len(names) != 1 or any(len(params) != 1 for params in settings):
        return None
    parameter = names.pop()
    by_fold: dict[str, dict[float, float]] = {}
    for cell in cells:
        by_fold[cell.fold] = {
            float(value): math.nan if setting["score"] is None else float(setting["score"])
            for setting in cell.search
            if _is_positive(value := setting["params"][parameter])
        }
    values = sorted({value for scores in by_fold.values() for value in scores})
    if len(values) < _FEWEST_POINTS:
        return None
    return RegularisationPath(
        ranker,
        parameter,
        np.array(values),
        {
            fold: np.array([scores.get(value, math.nan) for value in values])
            for fold, scores in by_fold.items()
        },
        {
            cell.fold: float(cell.chosen[parameter])
            for cell in cells
            if _is_positive(cell.chosen.get(parameter))
        },
    )


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < math.inf
