"""Every ranker and every way to put them together, and what the chosen stack is ahead of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.shared_tables import ABSENT, all_or_none, mean_and_half_interval
from rankwise_papers.stacking.plan import (
    BASES,
    BLENDS,
    CHOSEN,
    MEASURES,
    STACKS,
    TITLES,
    cell_name,
    folds,
    members,
)

_SPREAD = "half of the 95 % bootstrap interval over queries"


@dataclass(frozen=True)
class System:
    """What one row of the table needs: a setting's outcome on every fold, in their order."""

    title: str
    found: list[Mapping[str, Any]]
    is_base: bool = False

    def queries(self, measure: str) -> Float64Array:
        """Values of all test queries, fold by fold."""
        return np.concatenate([np.array(cell["test"][measure]) for cell in self.found])


def make(results: Results, quick: bool) -> list[ResultTable]:
    """For every data set the table of measures, then what was chosen."""
    tables = []
    for data in dict.fromkeys(data for data, _ in folds(quick)):
        numbers = [number for other, number in folds(quick) if other == data]
        systems = _systems(results, data, numbers, members(quick))
        tables.append(_measures(data, numbers, systems, members(quick)))
        tables.append(_choices(results, data, numbers, members(quick)))
    return tables


def chosen(top: Mapping[str, Any]) -> str:
    """The setting of the largest value over training queries that it was fitted without."""
    return max(top["stacks"], key=lambda name: top["stacks"][name]["held"])


def _systems(
    results: Results, data: str, numbers: Sequence[int], keys: Sequence[str]
) -> dict[str, System | None]:
    """By title; None where a cell is missing."""
    rows: dict[str, System | None] = {}
    for key in keys:
        cells = all_or_none([results.get(cell_name(data, n, key)) for n in numbers])
        title = BASES[key].title
        rows[title] = None if cells is None else System(title, cells, is_base=True)
    tops = all_or_none([results.get(cell_name(data, n, f"stack{len(keys)}")) for n in numbers])
    if tops is None:
        later = [*BLENDS.values(), *(f"stack, {name}" for name in STACKS), CHOSEN]
        return rows | dict.fromkeys(later)
    for key, title in BLENDS.items():
        rows[title] = System(title, [top["blends"][key] for top in tops])
    for name in STACKS:
        rows[f"stack, {name}"] = System(name, [top["stacks"][name] for top in tops])
    rows[CHOSEN] = System(CHOSEN, [top["stacks"][chosen(top)] for top in tops])
    return rows


def _measures(
    data: str, numbers: Sequence[int], systems: dict[str, System | None], keys: Sequence[str]
) -> ResultTable:
    stack = systems[CHOSEN]
    bases = [title for title, system in systems.items() if system is not None and system.is_base]
    p = _p_values(stack, [systems[title] for title in bases])
    corrected = dict(zip(bases, holm(p).tolist(), strict=True))
    values = []
    for title, system in systems.items():
        if system is None:
            values.append(Value(title, "nDCG@10", note=ABSENT))
            continue
        strata = np.repeat(numbers, [len(cell["test"]["nDCG@10"]) for cell in system.found])
        for measure in MEASURES:
            found = mean_and_half_interval(system.queries(measure), strata)
            values.append(Value(title, measure, *found))
        if stack is None or title == CHOSEN:
            continue
        lead = stack.queries("nDCG@10") - system.queries("nDCG@10")
        values.append(Value(title, "the stack's lead", *mean_and_half_interval(lead, strata)))
        values.append(Value(title, "p", _p_values(stack, [system])[0]))
        if title in corrected:
            values.append(Value(title, "p (Holm)", corrected[title]))
    return ResultTable(
        f"measures-{data}",
        f"{TITLES[data]}: {len(keys)} rankers, and what is made of them",
        values,
        "Means of the folds' means on the test parts, LETOR's discount; nDCG@10 counts queries of "
        "fewer than ten documents as any other, letor4 gives them 0. The stack's lead: nDCG@10 of "
        "the chosen stack minus the row's. p: paired t test over all test queries, two-sided; Holm "
        "over the rankers that are stacked. Nothing was chosen on test queries.",
        error_is=_SPREAD,
    )


def _choices(
    results: Results, data: str, numbers: Sequence[int], keys: Sequence[str]
) -> ResultTable:
    """Held-out values of the rankers, and of the stacks that the choice was made among."""
    tops = {n: results.get(cell_name(data, n, f"stack{len(keys)}")) for n in numbers}
    values = []
    for title, kind, name in [
        *((BASES[key].title, "base", key) for key in keys),
        *((f"stack, {name}", "stack", name) for name in STACKS),
    ]:
        for n, top in tops.items():
            if top is None:
                values.append(Value(title, f"fold {n}", note=ABSENT))
            elif kind == "base":
                values.append(Value(title, f"fold {n}", top["held"][name]))
            else:
                stack = top["stacks"][name]
                mark = _said(n, stack) if name == chosen(top) else ""
                values.append(Value(title, f"fold {n}", stack["held"], note=mark))
    return ResultTable(
        f"choices-{data}",
        f"{TITLES[data]}: nDCG@10 of held-out training queries, by which the stack was chosen",
        values,
        "Every query is scored by rankers fitted without it, and, for the stacks, by a top that "
        "was trained without it, its rankers and C chosen without it. The footnotes name what was "
        "chosen.",
    )


def _said(number: int, stack: Mapping[str, Any]) -> str:
    """The footnote of a chosen setting."""
    names = ", ".join(BASES[key].title for key in stack["members"])
    strength = "" if stack["C"] is None else f"; C = {stack['C']:.2g}"
    return f"Chosen on fold {number}: of {names}{strength}."


def _p_values(stack: System | None, others: Sequence[System | None]) -> list[float]:
    if stack is None:
        return [float("nan")] * len(others)
    values = stack.queries("nDCG@10")
    return [
        float("nan") if other is None else paired_test(values, other.queries("nDCG@10")).p_value
        for other in others
    ]
