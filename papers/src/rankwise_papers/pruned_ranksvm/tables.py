"""Accuracy and time of every rule beside all pairs, and what the normalisations do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import stratified_mean
from rankwise.typing import Float64Array
from rankwise_papers.pruned_ranksvm.plan import (
    ALL,
    GLOBAL,
    KERNELS,
    NONE,
    ORDER,
    ORDINAL,
    QUERY,
    SCALED,
    SETS,
    SYSTEMS,
    cell_name,
    kernels,
    parts,
)
from rankwise_papers.shared_tables import ABSENT, mean_and_half_interval

# Sets that are shown together: those of ordinal regression are one table.
SHOWN: dict[str, tuple[str, ...]] = {
    **{known.title: (name,) for name, known in SETS.items() if not known.is_ordinal},
    "ordinal regression": ORDINAL,
}
SCALING_TITLES = {QUERY: "within queries", GLOBAL: "global", NONE: "none"}
_SPREAD = "half of the 95 % bootstrap interval"


@dataclass(frozen=True)
class Found:
    """What one system reached on the parts of some sets, larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        A value per test query, or per part where the test part is one group.
    strata : ndarray of shape (n_values,)
        The part of every value, one stratum for the draws of all ordinal sets.
    share, seconds : float
        Means over the parts.
    unfinished : int
        Solutions that stopped before their tolerance.
    """

    values: Float64Array
    strata: Any
    share: float
    seconds: float
    unfinished: int

    @property
    def mean(self) -> float:
        """Mean of the strata's means."""
        return stratified_mean(self.values, self.strata)

    def lead(self, other: Found) -> tuple[float, float | None]:
        """Mean difference to another system on the same queries, and half of its interval."""
        return mean_and_half_interval(self.values - other.values, self.strata)


def find(
    results: Results,
    names: Sequence[str],
    quick: bool,
    kernel: str,
    system: str,
    *,
    scaling: str | None = None,
    which: str = "own",
) -> Found | None:
    """A system's outcome on all parts; None if one is missing.

    ``scaling`` None: the one of each set that rules are compared with; ``which`` "random": as many
    random pairs.
    """
    cells, strata = [], []
    for name in names:
        for part in parts(name, quick):
            key = cell_name(name, part, scaling or SETS[name].scalings[0], kernel, system)
            cell = results.get(key, {}).get(which)
            if cell is None:
                return None
            values = np.array(cell["test"], dtype=np.float64)
            cells.append((cell, 1.0 - values if SETS[name].is_ordinal else values))
            strata.append(ORDER if SETS[name].is_ordinal else f"{name}/{part}")
    if not cells:
        return None
    return Found(
        np.concatenate([values for _, values in cells]),
        np.repeat(strata, [len(values) for _, values in cells]),
        float(np.mean([cell["share"] for cell, _ in cells])),
        float(np.mean([cell["seconds"] for cell, _ in cells])),
        sum(cell["unfinished"] for cell, _ in cells),
    )


def make(results: Results, quick: bool) -> list[ResultTable]:
    """A table per set and kernel, the ordinal sets one by one, the normalisations."""
    shown = {title: names for title, names in SHOWN.items() if any(parts(n, quick) for n in names)}
    tables = [
        _systems(results, title, names, kernel, quick)
        for title, names in shown.items()
        for kernel in KERNELS
        if any(kernel in kernels(name, quick) for name in names)
    ]
    if quick:
        return tables
    return [*tables, _one_by_one(results), _scalings(results)]


def _systems(
    results: Results, title: str, names: Sequence[str], kernel: str, quick: bool
) -> ResultTable:
    measure = "pairs in order" if SETS[names[0]].is_ordinal else "nDCG@10"
    every = find(results, names, quick, kernel, ALL)
    values = []
    for key, system in SYSTEMS.items():
        found = find(results, names, quick, kernel, key)
        row = system.title
        if found is None:
            values.append(Value(row, measure, note=ABSENT))
            continue
        values.append(Value(row, "share kept", found.share))
        values.append(Value(row, measure, found.mean, note=_unfinished(found)))
        if every is not None and key != ALL:
            values.append(Value(row, "minus all pairs", *found.lead(every)))
        twin = find(results, names, quick, kernel, key, which="random")
        if twin is not None:
            values.append(Value(row, "minus random pairs", *found.lead(twin)))
        if twin is not None and every is not None:
            values.append(Value(row, "random minus all", *twin.lead(every)))
        values.append(Value(row, "seconds", found.seconds))
        if twin is not None:
            values.append(Value(row, "random's seconds", twin.seconds))
    kind = "linear" if kernel == "linear" else "RBF"
    means = (
        "Share of the test pairs that are in order, mean of the sets."
        if measure == "pairs in order"
        else "Mean of the parts' means over test queries, LETOR's discount."
    )
    return ResultTable(
        f"{names[0] if len(names) == 1 else 'ordinal'}-{kernel}",
        f"{title[0].upper()}{title[1:]}, {kind} kernel",
        values,
        f"{means} Random pairs: as many as the rule keeps. Seconds: processor time of one fit at "
        "the chosen C, choice of the pairs included, columns of the kernel not.",
        error_is=_SPREAD,
    )


def _one_by_one(results: Results) -> ResultTable:
    """Pairs in order on every ordinal set."""
    values = []
    for name in ORDINAL:
        for kernel in KERNELS:
            row = f"{SETS[name].title}, {kernel}"
            for key, system in SYSTEMS.items():
                found = find(results, (name,), False, kernel, key)
                mean = None if found is None else found.mean
                values.append(Value(row, system.title, mean, note="" if found else ABSENT))
    return ResultTable(
        "ordinal-sets",
        "Ordinal regression, set by set",
        values,
        "Share of the test pairs that are in order, mean of the draws.",
    )


def _scalings(results: Results) -> ResultTable:
    """Every normalisation, and how far the first is ahead of the others."""
    values = []
    for title, names in SHOWN.items():
        scalings = SETS[names[0]].scalings
        for kernel in KERNELS:
            for key in SCALED:
                row = f"{title}, {kernel}, {SYSTEMS[key].title}"
                by = {
                    scaling: find(results, names, False, kernel, key, scaling=scaling)
                    for scaling in scalings
                }
                first = by[scalings[0]]
                for scaling in (QUERY, GLOBAL, NONE):
                    found = by.get(scaling)
                    if scaling not in scalings:
                        continue
                    column = SCALING_TITLES[scaling]
                    if found is None:
                        values.append(Value(row, column, note=ABSENT))
                        continue
                    values.append(Value(row, column, found.mean, note=_unfinished(found)))
                for scaling in scalings[1:]:
                    found = by[scaling]
                    if first is not None and found is not None:
                        lead = f"{SCALING_TITLES[scalings[0]]} minus {SCALING_TITLES[scaling]}"
                        values.append(Value(row, lead, *first.lead(found)))
    return ResultTable(
        "normalisation",
        "Min-max within queries, over the training rows, and none",
        values,
        "nDCG@10, for ordinal regression the share of pairs in order, on the test parts. MQ2008 is "
        "published with the features scaled within queries. The ordinal sets are one group each.",
        error_is=_SPREAD,
    )


def _unfinished(found: Found) -> str:
    if not found.unfinished:
        return ""
    return f"{found.unfinished} of its solutions stopped before the tolerance."
