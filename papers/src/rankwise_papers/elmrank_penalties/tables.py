"""Where the published values of MPRank and SVRank lie on the paths of penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.typing import Float64Array
from rankwise_papers.elmrank_penalties.plan import (
    PATHS,
    TITLES,
    cell_name,
    groups,
    n_repetitions,
)
from rankwise_papers.shared_tables import ABSENT

MEASURES = ("MSD", "M1D", "Misranking")
_READ_OFF = (
    "Kernel and lam are read off the published values here, not chosen on training halves: this "
    "shows which penalties could have given them, not that a protocol does."
)
_SPREAD = "standard deviation over repetitions"
Published = Mapping[tuple[str, str, str], Mapping[str, tuple[float, float]]]


@dataclass(frozen=True, eq=False)
class Curves:
    """Measures of one method, data set and group along the path of one kernel.

    Attributes
    ----------
    exponents : ndarray of shape (n_lam,)
        log10 of lam, descending.
    means, spreads : mapping from measure to ndarray of shape (n_lam,)
        Over repetitions; the standard deviation is NaN if there is only one.
    chosen : int or None
        Place of the lam with the least held-out error, where the method has one.
    """

    exponents: Float64Array
    means: Mapping[str, Float64Array]
    spreads: Mapping[str, Float64Array]
    chosen: int | None

    def crossings(self, measure: str, wanted: float) -> list[float]:
        """log10 of every lam at which the measure has that value, linear between the points."""
        values, found = self.means[measure] - wanted, []
        for k in range(len(values) - 1):
            a, b = values[k], values[k + 1]
            if a == 0:
                found.append(float(self.exponents[k]))
            elif a * b < 0:
                share = a / (a - b)
                found.append(float((1 - share) * self.exponents[k] + share * self.exponents[k + 1]))
        return [*found, float(self.exponents[-1])] if values[-1] == 0 else found

    def at(self, measure: str, exponent: float) -> float:
        """The measure at a lam, linear between the points."""
        return float(np.interp(exponent, self.exponents[::-1], self.means[measure][::-1]))


def make(results: Results, quick: bool, rows: Sequence[Mapping[str, str]]) -> list[ResultTable]:
    """All tables of the finished cells."""
    published = published_values(rows)
    return [
        _nearest_table(results, quick, published),
        _where_table(results, quick, published),
        *(_path_table(results, quick, published, method) for method in PATHS),
    ]


def published_values(rows: Sequence[Mapping[str, str]]) -> Published:
    """(method, data, group) → measure → value and published ±."""
    found: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    for row in rows:
        if row["method"] in PATHS and row["data"] in TITLES:
            key = (row["method"], row["data"], row["group"])
            found.setdefault(key, {})[row["measure"]] = (float(row["mean"]), float(row["sd"]))
    return found


def curves(results: Results, quick: bool, method: str, data: str, group: str) -> dict[str, Curves]:
    """By kernel; empty if no repetition has run."""
    cells = [cell["paths"] for cell in _cells(results, quick, method, data, group)]
    if not cells:
        return {}
    found = {}
    for kernel in cells[0]:
        stacked = {
            measure: np.array([paths[kernel][measure] for paths in cells]) for measure in MEASURES
        }
        errors = [paths[kernel]["held out"] for paths in cells if "held out" in paths[kernel]]
        found[kernel] = Curves(
            np.array(PATHS[method].exponents),
            {measure: values.mean(axis=0) for measure, values in stacked.items()},
            {
                measure: values.std(axis=0, ddof=1) if len(cells) > 1 else np.nan * values[0]
                for measure, values in stacked.items()
            },
            int(np.mean(errors, axis=0).argmin()) if errors else None,
        )
    return found


def _nearest_table(results: Results, quick: bool, published: Published) -> ResultTable:
    """One kernel and lam for each group, the nearest to everything that is published for it."""
    values, inside, total = [], dict.fromkeys(PATHS, 0), dict.fromkeys(PATHS, 0)
    for data, group in groups():
        row = f"{TITLES[data]} {group}"
        for method in PATHS:
            wanted = published[method, data, group]
            found = curves(results, quick, method, data, group)
            place = _nearest(found, wanted) if found else None
            for measure, (paper, spread) in wanted.items():
                ours = error = None
                if place is not None:
                    kernel, k = place
                    ours = float(found[kernel].means[measure][k])
                    deviation = float(found[kernel].spreads[measure][k])
                    error = None if np.isnan(deviation) else deviation
                    total[method] += 1
                    inside[method] += abs(ours - paper) <= spread
                values.append(
                    Value(
                        row, f"{method} {measure.lower() if measure == 'Misranking' else measure}",
                        ours, error, paper, spread, f"Table {MEASURES.index(measure) + 1}",
                        tolerance=spread, larger_is_better=False, not_evidence=_READ_OFF,
                        note="" if found else ABSENT,
                    )
                )  # fmt: skip
            if place is not None:
                kernel, k = place
                exponent = float(found[kernel].exponents[k])
                note = f"With the kernel {kernel}."
                values.append(Value(row, f"{method} log10 lam", exponent, note=note))
    counts = ", ".join(f"{inside[m]} of {total[m]} of {m}" for m in PATHS if total[m])
    return ResultTable(
        "on-the-path",
        "Published values on our paths: one kernel and one lam for each group",
        values,
        "Of all kernels and penalties the one that is nearest to the group's published values "
        "together, differences counted in published ±. "
        + (f"Within the published ±: {counts}." if counts else ""),
        _SPREAD,
        digits=3,
    )


def _nearest(
    found: Mapping[str, Curves], wanted: Mapping[str, tuple[float, float]]
) -> tuple[str, int]:
    """Kernel and place of the penalty whose largest difference, in published ±, is least."""
    best = {}
    for kernel, curve in found.items():
        away = np.max(
            [np.abs(curve.means[name] - paper) / sd for name, (paper, sd) in wanted.items()], axis=0
        )
        best[kernel] = (float(away.min()), int(away.argmin()))
    kernel = min(best, key=lambda name: best[name][0])
    return kernel, best[kernel][1]


def _where_table(results: Results, quick: bool, published: Published) -> ResultTable:
    """For every kernel the weakest penalty with the published MSD, and what else it gives."""
    values = []
    for method, path in PATHS.items():
        for data, group in groups():
            wanted = published[method, data, group]
            found = curves(results, quick, method, data, group)
            for kernel in path.kernels:
                row = f"{method}, {kernel}, {TITLES[data]} {group}"
                if kernel not in found:
                    values.append(Value(row, "published MSD", wanted["MSD"][0], note=ABSENT))
                    continue
                values += _where(row, found[kernel], wanted)
    return ResultTable(
        "where",
        "Where each path has the published MSD",
        values,
        "log10 of the weakest lam at which the mean MSD over reviewers is the published one, "
        "linear between the points of the path, and M1D and misranking there beside the published "
        "ones. Least MSD: of the path, read off the test halves. Chosen: log10 of the lam with the "
        "least held-out error on the training halves, and its MSD; SVRank's was not computed here.",
        digits=3,
    )


def _where(row: str, curve: Curves, wanted: Mapping[str, tuple[float, float]]) -> list[Value]:
    paper = wanted["MSD"][0]
    crossings = curve.crossings("MSD", paper)
    least, most = float(curve.means["MSD"].min()), float(curve.means["MSD"].max())
    note = "" if crossings else f"The path has MSD from {least:.4g} to {most:.4g}."
    values = [
        Value(row, "published MSD", paper),
        Value(row, "log10 lam", min(crossings) if crossings else None, note=note),
    ]
    for measure in ("M1D", "Misranking"):
        there = curve.at(measure, min(crossings)) if crossings else None
        if measure in wanted:
            values.append(Value(row, f"published {measure}", wanted[measure][0]))
        values.append(Value(row, f"{measure} there", there, note=note))
    values.append(Value(row, "least MSD", least))
    if curve.chosen is not None:
        values.append(Value(row, "chosen log10 lam", float(curve.exponents[curve.chosen])))
        values.append(Value(row, "its MSD", float(curve.means["MSD"][curve.chosen])))
    return values


def _path_table(results: Results, quick: bool, published: Published, method: str) -> ResultTable:
    """MSD of the linear kernel at every whole power of ten."""
    values = []
    for exponent in [e for e in PATHS[method].exponents if e == int(e)]:
        row, k = f"log10 lam = {exponent:g}", PATHS[method].exponents.index(exponent)
        for data, group in groups():
            column = f"{TITLES[data]} {group}"
            linear = curves(results, quick, method, data, group).get("linear")
            ours = None if linear is None else float(linear.means["MSD"][k])
            error = (
                None
                if linear is None or np.isnan(linear.spreads["MSD"][k])
                else linear.spreads["MSD"][k]
            )
            values.append(
                Value(row, column, ours, error, note="" if linear is not None else ABSENT)
            )
    for data, group in groups():
        paper, spread = published[method, data, group]["MSD"]
        values.append(Value("published", f"{TITLES[data]} {group}", paper, spread))
    for data, group in groups():
        constant = _constant(results, quick, method, data, group)
        note = "" if constant is not None else ABSENT
        values.append(Value("constant score", f"{TITLES[data]} {group}", constant, note=note))
    return ResultTable(
        f"path-{method.lower()}",
        f"{method}, linear kernel: mean squared difference along the path",
        values,
        "Means over reviewers. The kernel is the mean, not the sum, over the 300 references, and "
        "the loss the mean over pairs: penalties of other scalings differ by a factor.",
        _SPREAD,
        digits=2,
    )


def _constant(results: Results, quick: bool, method: str, data: str, group: str) -> Any:
    found = [cell["constant"]["MSD"] for cell in _cells(results, quick, method, data, group)]
    return float(np.mean(found)) if found else None


def _cells(results: Results, quick: bool, method: str, data: str, group: str) -> list[Any]:
    """Values of the repetitions that have run."""
    names = (
        cell_name(method, data, group, repetition, quick)
        for repetition in range(n_repetitions(method, quick))
    )
    return [results[name] for name in names if name in results]
