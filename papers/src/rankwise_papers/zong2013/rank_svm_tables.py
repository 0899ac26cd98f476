"""RankSVM on OHSUMED: every C, what other settings do, and solutions stopped early."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise_papers.zong2013.plan import (
    CHANGED,
    FOLDS,
    HINGE,
    PASSES,
    SQUARED,
    STOPPED_C,
    early_stop_name,
    hinge_name,
)

PLAIN = (SQUARED, HINGE)
ABSENT = "The data are not on this machine."
_Pick = Callable[[Mapping[str, Any]], float]


def rank_svm_tables(results: Results, published: Sequence[str]) -> list[ResultTable]:
    """The three tables; ``published``: LETOR's AP of the five folds and their mean."""
    *folds, mean = published
    return [
        every_c(
            results,
            "test",
            "rank-svm-path",
            "RankSVM for every C, OHSUMED: AP",
            "On the test parts, preset letor3; C multiplies the sum over all pairs of the training "
            f"part. LETOR 3.0's published RankSVM has {', '.join(folds)}, mean {mean}.",
        ),
        every_c(
            results,
            "objective",
            "rank-svm-objective",
            "RankSVM for every C, OHSUMED: objective",
            "Its minimum on the training parts, divided by C and by the number of pairs: the mean "
            "hinge of a pair and what is left of the penalty. 1 is that of weights 0.",
        ),
        _explained(results, folds, mean),
    ]


def every_c(results: Results, what: str, name: str, title: str, caption: str) -> ResultTable:
    """One number for every C and fold, with both hinges."""
    values = []
    for path in PLAIN:
        for i, C in enumerate(path.C):
            values += _row(
                f"{path.title}, C = {C:g}",
                [results.get(hinge_name(path, fold)) for fold in FOLDS],
                lambda cell, i=i: cell[what][i],
            )
    return ResultTable(name, title, values, caption)


def _explained(results: Results, folds: Sequence[str], mean: str) -> ResultTable:
    """C chosen by validation for every setting, the ends of the paths, early stops."""
    values = []
    for path in (*PLAIN, *CHANGED):
        cells = [results.get(hinge_name(path, fold)) for fold in FOLDS]
        values += _row(path.title, cells, _chosen)
    for path in PLAIN:
        cells = [results.get(hinge_name(path, fold)) for fold in FOLDS]
        values += _row(
            f"{path.title}, best C for the test part", cells, lambda cell: max(cell["test"])
        )
        values += _row(
            f"{path.title}, worst C for the test part", cells, lambda cell: min(cell["test"])
        )
    cells = [results.get(early_stop_name(fold)) for fold in FOLDS]
    for i, C in enumerate(STOPPED_C):
        for j, n in enumerate(PASSES):
            row = f"hinge, C = {C:g}, stopped after {n} pass{'' if n == 1 else 'es'}"
            values += _row(row, cells, lambda cell, i=i, j=j: cell["test"][i][j])
            excess = [cell["excess"][i][j] for cell in cells if cell is not None]
            if excess:
                values.append(Value(row, "objective over its minimum", float(np.mean(excess))))
    return ResultTable(
        "rank-svm-why",
        "What moves RankSVM's AP, OHSUMED",
        values,
        "On the test parts. The first six rows have C by AP on the validation part. Best and worst "
        "C: read off the test parts, so these are bounds and no results. Stopped: dual coordinate "
        "descent over the listed pairs, ended after so many passes; the last column is the mean of "
        "the folds of objective / minimum - 1. LETOR 3.0's published RankSVM has "
        f"{', '.join(folds)}, mean {mean}.",
    )


def _row(row: str, cells: Sequence[Mapping[str, Any] | None], pick: _Pick) -> list[Value]:
    """A value per fold, and their mean if all are available."""
    found = [None if cell is None else pick(cell) for cell in cells]
    values = [
        Value(row, f"fold {fold}", value, note="" if value is not None else ABSENT)
        for fold, value in zip(FOLDS, found, strict=True)
    ]
    known = [value for value in found if value is not None]
    mean = float(np.mean(known)) if len(known) == len(found) else None
    return [*values, Value(row, "mean", mean)]


def _chosen(cell: Mapping[str, Any]) -> float:
    """AP on the test part at the C that is best on the validation part."""
    return cell["test"][int(np.argmax(cell["vali"]))]
