"""Where the published values of the linear kernels lie on our regularisation paths."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise_papers.zong2013.methods import Method
from rankwise_papers.zong2013.plan import (
    CUTOFFS,
    EXPONENTS,
    FOLDS,
    PATHS,
    path_name,
)

_DIGIT = 0.5e-4
_MEASURES = tuple(f"nDCG@{k}" for k in CUTOFFS)
_READ_OFF = (
    "C is read off the published APs here, not chosen on the validation part: this shows that "
    "data, measures and solutions agree, not that the protocol finds the published values."
)


def fold_note(method: Method, row: Mapping[str, str], results: Results) -> str:
    """C at which our AP equals the published AP of a fold; "" if there is none or it is unknown."""
    cell = results.get(path_name(method, int(row["fold"]))) if method in PATHS else None
    hits = [] if cell is None else _hits(cell, float(row[method.published]))
    if cell is None or not hits:
        return ""
    vali = np.array(cell["vali"])
    best = int(vali[::2].argmax()) * 2  # on the paper's grid
    hit = max(hits, key=lambda i: vali[i])
    where = "" if EXPONENTS[hit] % 2 == 0 else " (between two points of its grid)"
    return (
        f"The published value is ours at C = 2^{EXPONENTS[hit]}{where}; AP on the validation part "
        f"is {vali[hit]:.4f} there and {vali[best]:.4f} at 2^{EXPONENTS[best]}, which is chosen."
    )


def path_table(
    maps: Sequence[Mapping[str, str]], ndcg: Sequence[Mapping[str, str]], results: Results
) -> ResultTable:
    """AP of the folds and mean nDCG at the C that give the published APs."""
    columns = [found for method in PATHS if (found := _column(method, maps, ndcg, results))]
    values = []
    for i, fold in enumerate(FOLDS):
        for column in columns:
            values.append(column.value(f"AP, fold {fold}", column.ap[i], column.published_ap[i]))
    for i, name in enumerate(_MEASURES):
        for column in columns:
            values.append(column.value(name, column.ndcg[i], column.published_ndcg[i]))
    said = " ".join(column.sentence for column in columns)
    caption = (
        "The paths of the two linear kernels, C = 2^-30, 2^-29, ..., 2^20: on each fold the C "
        f"whose AP on the test part is the published one to the last digit. {said}"
    )
    return ResultTable(
        "on-the-path", "Published values on our paths, OHSUMED", values, caption.strip()
    )


@dataclass(frozen=True)
class _Column:
    method: Method
    exponents: list[int]
    ap: list[float]
    published_ap: list[float]
    ndcg: list[float]
    published_ndcg: list[float]

    def value(self, row: str, ours: float, paper: float) -> Value:
        return Value(
            row, self.method.column, ours, paper=paper, source="Tables 1 and 2", tolerance=_DIGIT,
            larger_is_better=None, not_evidence=_READ_OFF,
        )  # fmt: skip

    @property
    def sentence(self) -> str:
        pairs = zip(self.ndcg, self.published_ndcg, strict=True)
        same = sum(abs(ours - paper) <= _DIGIT for ours, paper in pairs)
        exponents = ", ".join(f"2^{exponent}" for exponent in self.exponents)
        return (
            f"{self.method.column}: C = {exponents} on folds 1 to 5; {same} of {len(self.ndcg)} "
            "published values of nDCG agree to the last digit there."
        )


def _column(
    method: Method,
    maps: Sequence[Mapping[str, str]],
    ndcg: Sequence[Mapping[str, str]],
    results: Results,
) -> _Column | None:
    """The choice of one C per fold, among those with the published AP, that is nearest in nDCG."""
    names = [path_name(method, fold) for fold in FOLDS]
    if not all(name in results for name in names):
        return None
    cells = [results[name] for name in names]
    aps = [float(row[method.published]) for row in maps if row["fold"] != "mean"]
    wanted = np.array([float(row[method.published]) for row in ndcg])
    choices = [_hits(cell, ap) or [_nearest(cell, ap)] for cell, ap in zip(cells, aps, strict=True)]
    curves = [np.array([[at[name] for name in _MEASURES] for at in cell["test"]]) for cell in cells]

    def mean(choice: Sequence[int]) -> Any:
        return np.mean([curve[i] for curve, i in zip(curves, choice, strict=True)], axis=0)

    best = min(itertools.product(*choices), key=lambda c: float(np.abs(mean(c) - wanted).sum()))
    return _Column(
        method,
        [EXPONENTS[i] for i in best],
        [cell["test"][i]["AP"] for cell, i in zip(cells, best, strict=True)],
        aps,
        mean(best).tolist(),
        wanted.tolist(),
    )


def _hits(cell: Mapping[str, Any], published: float) -> list[int]:
    """Points of the path with the published AP, to the last digit."""
    return [i for i, at in enumerate(cell["test"]) if abs(at["AP"] - published) <= _DIGIT]


def _nearest(cell: Mapping[str, Any], published: float) -> int:
    return int(np.argmin([abs(at["AP"] - published) for at in cell["test"]]))
