"""Leaderboards of any table: systems × units, with rank intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import connected_components

from rankwise.metrics.statistics.against_best import Correction
from rankwise.metrics.statistics.paired import TestMethod
from rankwise.metrics.statistics.stratified import (
    fit_queries_and_systems,
    pool_run_errors,
    run_error,
)
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_choice, setting
from rankwise.selection.cells.result_store import DONE, FoldInfo, FoldResult, Settings
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.score_table import ScoreColumns, ScoreTable, read_score_table
from rankwise.typing import Float64Array, Seed

_RULES = ("refuse", "drop", "pairs")
_ALL = "all"
# Smallest size of the largest value; its inverse is the largest one.
_SMALLEST = 1e-100


@names_its_class
def leaderboard(
    scores: Any,
    *,
    system: str | None = None,
    unit: str | Sequence[str] | None = None,
    score: str | Sequence[str] | None = None,
    run: str | bool | None = None,
    stratum: str | None = None,
    cluster: str | None = None,
    ignore: str | Sequence[str] = (),
    sep: str | None = None,
    decimal: Literal[".", ","] | None = None,
    greater_is_better: bool = True,
    missing: Literal["refuse", "drop", "pairs"] | float = "refuse",
    baseline: str | None = None,
    test: TestMethod = "t",
    correction: Correction = "auto",
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> Leaderboard:
    """Rank systems by any scores on the same units, with simultaneous intervals of ranks.

    Parameters
    ----------
    scores : path, frame or mapping
        Values of systems on units such as queries, tasks, documents or prompts:

        - a long table with one row per value and columns for the system, the unit and the score;
        - a wide table with one row per unit and one column per system;
        - a wide table with one row per system (in a column such as "system" or "model") and one
          column per unit;
        - ``{system: {unit: value}}``, or ``{system: array}`` of shape (n_units,) or
          (n_units, n_runs).

        Files are Parquet, or text with a header line and a separator (tab, comma, semicolon or
        bar). Cells that are empty, "-", NA, NaN, null or none have no value.
    system, unit, score : str, optional
        Names of the columns. Not needed for common names (system, model, ranker, method, …; unit,
        task, query, prompt, …; score, value). Several columns together may identify a unit. In a
        long table, several scores are several measures. In a table with one column per system,
        ``score`` lists the systems.
    run : str or False, optional
        Column of the runs of a system in a long table, such as the seeds of its training. A run is
        better or worse on all units at once, so the spread of the means of runs, pooled over
        systems, is added to all errors. False: several values of a system for one unit are
        independent repetitions and are averaged.
    stratum : str, optional
        Column of fixed groups, such as the tasks of a benchmark. The mean of a system is the mean
        of its stratum means, and errors come from the units within strata.
    cluster : str, optional
        Column of sampled groups, such as users with several queries. Values are averaged within
        clusters, which are then treated as the units.
    ignore : str or sequence of str
        Columns to leave out, such as numbers of parameters in a wide table.
    sep : str of length 1, optional
        Separator of a text file; None: the most frequent in its first line.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are text. None: the point, or the comma in files with
        semicolons if their numbers are unambiguous.
    greater_is_better : bool
        Whether larger scores are better.
    missing : {"refuse", "drop", "pairs"} or float
        Treatment of missing values. "refuse": raise ValueError. "drop": leave out units for which
        some system has no value. "pairs": test each pair on the units that both have, and order
        systems by a fit of value = unit effect + system effect, so that missing units make a system
        neither better nor worse. A number replaces missing values.
    baseline : str, optional
        System against which all others are tested, in addition to the tests of all pairs.
    test, correction, confidence_level, random_state
        As in :func:`rankwise.compare`.

    Returns
    -------
    Leaderboard
        With rank intervals and letters in its rows; see
        :func:`rankwise.metrics.significance.rank_intervals`.

    Raises
    ------
    TypeError, ValueError
        If the table has another form, a cell is not a finite number, a value is missing (unless
        ``missing`` says what to do) or repeated, or fewer than two units are left.

    Notes
    -----
    Units must be independent of each other. With fewer than about ten units, intervals are not
    reliable. O(n_resamples · n_systems · (n_units + n_systems)) for 9,999 resamples.

    Examples
    --------
    >>> board = leaderboard({
    ...     "a": [0.81, 0.62, 0.74, 0.55, 0.93, 0.64, 0.78, 0.69],
    ...     "b": [0.80, 0.64, 0.73, 0.55, 0.92, 0.66, 0.77, 0.68],
    ...     "c": [0.61, 0.42, 0.53, 0.38, 0.70, 0.44, 0.52, 0.49],
    ... })
    >>> [(row["ranker"], row["rank_low"], row["rank_high"]) for row in board.rows()]
    [('a', 1, 2), ('b', 1, 2), ('c', 3, 3)]
    """
    if missing not in _RULES and (isinstance(missing, str) or not math.isfinite(missing)):
        rule = f"must be one of {list(_RULES)} or a finite number, the value of missing cells"
        raise ArgumentError("missing", f"{rule}, got {missing!r}.")
    settings = Settings(
        data=Path(scores).name if isinstance(scores, str | Path) else "",
        test=test,
        correction=correction,
        confidence_level=confidence_level,
        baseline=baseline,
        random_state=draw_seed(random_state),
        unit="units" if cluster is None else "clusters",
        contestant="system",
        greater_is_better=bool(greater_is_better),
    )
    names = ScoreColumns(
        system,
        _list_columns(unit),
        _list_columns(score),
        run,
        stratum,
        cluster,
        _list_columns(ignore) or (),
    )
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    table = read_score_table(scores, names, sep, decimal)
    systems = list(dict.fromkeys(name for columns in table.values.values() for name in columns))
    settings._check_baseline("systems", systems)
    _check_magnitudes(table)
    table, notes = _fill(table, missing)
    table = _average_clusters(table)
    if len(table.units) < 2:
        raise ValueError(
            f"a leaderboard needs at least two {settings.unit} with values, got {len(table.units)}."
        )
    return _board(table, systems, settings, notes)


def _check_magnitudes(table: ScoreTable) -> None:
    """Raise ValueError if squares of the values would leave the range of floats."""
    for columns in table.values.values():
        largest = max(float(np.nanmax(np.abs(v), initial=0.0)) for v in columns.values())
        if largest > 1.0 / _SMALLEST or 0 < largest < _SMALLEST:
            raise ValueError(
                f"scores must not be larger than {1 / _SMALLEST:g}, nor all smaller than "
                f"{_SMALLEST:g}, but the largest is {largest:g}. Use another unit."
            )


def _list_columns(names: str | Sequence[str] | None) -> Sequence[str] | None:
    return [names] if isinstance(names, str) else names


def _fill(table: ScoreTable, missing: str | float) -> tuple[ScoreTable, dict[str, list[str]]]:
    """Apply the rule for missing values; notes by system say how many there were."""
    gaps = {
        (measure, system): np.isnan(values)
        for measure, columns in table.values.items()
        for system, values in columns.items()
        if np.isnan(values).any()
    }
    if not gaps:
        return table, {}
    counts = {name: int(gap.sum()) for (_, name), gap in gaps.items()}
    if missing == "refuse":
        worst = max(counts, key=lambda name: counts[name])
        raise ValueError(
            f"{sum(counts.values())} values of {len(counts)} systems are missing, "
            f"{counts[worst]} of them of {worst!r}. Choose {setting('missing', 'drop')} (leave out "
            f"units with a missing value), {setting('missing', 'pairs')} (test each pair on its "
            f"common units) or {setting('missing', 0.0)} (a value for them)."
        )
    if missing == "drop":
        dropped = np.any([gap.any(axis=1) for gap in gaps.values()], axis=0)
        n, worst = int(dropped.sum()), max(counts, key=lambda name: counts[name])
        if len(dropped) - n < 2:
            raise ValueError(
                f"{setting('missing', 'drop')} leaves {len(dropped) - n} of {len(dropped)} units, "
                f"since all others miss a value; {worst!r} alone misses {counts[worst]}. Leave "
                "such systems out, or choose another rule."
            )
        note = f"{n} of {len(dropped)} units, on which some system has no value, do not count"
        return _keep_units(table, ~dropped), {"": [note]}
    if missing == "pairs":
        _check_linked(table)
        return table, {
            name: [f"values missing: {n}; each pair is tested on the units of both"]
            for name, n in counts.items()
        }
    fill = float(missing)
    filled = {
        measure: {name: np.where(np.isnan(v), fill, v) for name, v in columns.items()}
        for measure, columns in table.values.items()
    }
    notes = {name: [f"missing values that count as {fill:g}: {n}"] for name, n in counts.items()}
    return replace(table, values=filled), notes


def _check_linked(table: ScoreTable) -> None:
    """Raise ValueError if no chain of common units leads from a system to another."""
    for columns in table.values.values():
        names = [name for name, values in columns.items() if not np.isnan(values).all()]
        there = np.array([~np.isnan(columns[name]).any(axis=1) for name in names], dtype=np.float64)
        part = connected_components(there @ there.T > 0, directed=False)[1] if names else [0]
        others = [name for name, number in zip(names, part, strict=False) if number != part[0]]
        if others:
            raise ValueError(
                f"{setting('missing', 'pairs')} needs units that link the systems, but "
                f"{', '.join(map(repr, others[:12]))} and {names[0]!r} have none in common, also "
                "not through other systems. Compare them in separate tables."
            )


def _keep_units(table: ScoreTable, kept: Any) -> ScoreTable:
    def chosen(names: list[str] | None) -> list[str] | None:
        return None if names is None else [n for n, keep in zip(names, kept, strict=True) if keep]

    values = {
        m: {name: v[kept] for name, v in columns.items()} for m, columns in table.values.items()
    }
    units, strata, clusters = (chosen(n) for n in (table.units, table.strata, table.clusters))
    return ScoreTable(units or [], values, strata, clusters, table.layout)


def _average_clusters(table: ScoreTable) -> ScoreTable:
    """Table of the means of clusters, which are then the units."""
    if table.clusters is None:
        return table
    names, codes = np.unique(np.array(table.clusters, dtype=str), return_inverse=True)
    strata = None
    if table.strata is not None:
        pairs = set(zip(codes.tolist(), table.strata, strict=True))
        if len(pairs) > len(names):
            raise ValueError(
                "every cluster must lie in one stratum, but some lie in several. Choose one of "
                f"{setting('cluster')} and {setting('stratum')}."
            )
        strata = [stratum for _, stratum in sorted(pairs)]

    sizes = np.bincount(codes)

    def means(columns: dict[str, Float64Array]) -> dict[str, Float64Array]:
        level = np.zeros(len(codes))
        if any(np.isnan(values).any() for values in columns.values()):
            # After the rule, gaps are left with "pairs" alone. A system that lacks the hard units
            # of a cluster is no better for it.
            units = np.column_stack([values.mean(axis=1) for values in columns.values()])
            level = fit_queries_and_systems(units, np.ones(len(codes)))[1]
        of_cluster = np.bincount(codes, weights=level) / sizes
        found = {}
        for name, values in columns.items():
            there = ~np.isnan(values)
            rest = np.where(there, values - level[:, None], 0.0)
            with np.errstate(invalid="ignore"):
                found[name] = np.column_stack(
                    [
                        of_cluster
                        + np.bincount(codes, weights=column) / np.bincount(codes, weights=known)
                        for column, known in zip(rest.T, there.T, strict=True)
                    ]
                )
        return found

    values = {measure: means(columns) for measure, columns in table.values.items()}
    layout = f"{table.layout}, averaged within clusters"
    return ScoreTable(names.tolist(), values, strata, layout=layout)


def _board(
    table: ScoreTable, systems: list[str], settings: Settings, notes: dict[str, list[str]]
) -> Leaderboard:
    """Leaderboard with one fold per stratum."""
    strata = np.array(table.strata or [_ALL] * len(table.units), dtype=object)
    folds = sorted(set(strata.tolist()))
    members = {fold: np.flatnonzero(strata == fold) for fold in folds}
    units = np.array(table.units, dtype=object)
    infos = [
        FoldInfo(fold, units[rows].tolist(), len(rows), 0, 0, 0, False, fingerprint="")
        for fold, rows in members.items()
    ]
    means = {
        measure: {name: values.mean(axis=1) for name, values in columns.items()}
        for measure, columns in table.values.items()
    }
    everyone = notes.get("", [])
    cells = [
        FoldResult(
            name, fold, DONE, notes=[*notes.get(name, []), *everyone],
            values={m: columns[name][rows] for m, columns in means.items() if name in columns},
        )
        for name in systems
        for fold, rows in members.items()
    ]  # fmt: skip
    ordered = np.concatenate(list(members.values()))
    errors = {
        measure: {
            name: run_error(values[ordered], strata[ordered].astype(str))
            for name, values in columns.items()
            if values.shape[1] > 1
        }
        for measure, columns in table.values.items()
    }
    _note_single_runs(errors, cells)
    return Leaderboard(
        measures={measure: measure for measure in table.values},
        rankers=dict.fromkeys(systems, "values of the table"),
        fold_infos=infos,
        cells=cells,
        settings=replace(settings, layout=table.layout),
        run_errors={m: pool_run_errors(found) for m, found in errors.items() if found},
    )


def _note_single_runs(errors: dict[str, dict[str, Any]], cells: list[FoldResult]) -> None:
    """Say of systems with one run, beside others with several, that its spread is unknown."""
    several = {name for found in errors.values() for name in found}
    if several:
        for cell in cells:
            if cell.ranker not in several:
                cell.notes.append("one run only: how much its runs differ is unknown")
