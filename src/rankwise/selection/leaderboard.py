"""Leaderboard: cells of a comparison, values per query, rows with tests, as text and as tables."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rankwise.metrics.default import why_undefined
from rankwise.metrics.measures.relevance import find_unjudged_share
from rankwise.metrics.significance import detectable_difference
from rankwise.metrics.statistics.paired import most_skewed
from rankwise.runtime.messages import (
    check_choice,
    check_whole,
    convert_to_json,
    escape_hidden,
    escape_spreadsheet,
    escape_table,
    join_lines,
)
from rankwise.runtime.renames import VALUES, find_new_name
from rankwise.runtime.result import Result
from rankwise.selection.cells.result_store import (
    DONE,
    FAILED,
    SKIPPED,
    FoldInfo,
    FoldResult,
    Settings,
    measure_of,
)
from rankwise.selection.memory import MemoryAudit
from rankwise.selection.standing import (
    NO_VALUE,
    OF_DIFFERENCE,
    describe_columns,
    fit_width,
    format_or_dash,
    has_rank_intervals,
    how_tested,
    how_tested_against_baseline,
    is_adjusted,
    is_fitted,
    joint_interval,
    level_of,
    list_intervals,
    longer_side,
    merge_notes,
    p_value,
    ranks_text,
    row_cells,
    standings,
)
from rankwise.selection.verdict import describe_verdict
from rankwise.typing import Float64Array

FORMAT = 1
# In frames, statistics are named as in the records of `compare_to_best`.
_COLUMNS = {
    "diff": "difference",
    "diff_low": "difference_low",
    "diff_high": "difference_high",
    "p": "p_value",
}
_DOUBT = (
    "{0}: values are so skewed that few {1} decide; p, ranks and intervals cannot be relied on "
    "(skewness of a mean difference up to {2:.2g})"
)
_DOUBTS = {
    "wilcoxon": "{0}: values are skewed, and Wilcoxon's test finds what is better on more {1}; for "
    "means, p and ranks cannot be relied on (skewness of a mean difference up to {2:.2g})"
}


class Leaderboard(Result):
    """Result of :func:`rankwise.compare`; ``print`` shows it as a table.

    Parameters
    ----------
    measures : dict of str to str
        Full spec of each measure by its requested name; the first orders the table.
    rankers : dict of str to str
        Description of each ranker by name.
    fold_infos : list of FoldInfo
    cells : list of FoldResult
        One cell for every ranker and fold.
    settings : Settings
    run_errors : dict of str to dict, optional
        By measure and ranker, the standard error of a mean due to several runs and its degrees of
        freedom, see :func:`rankwise.metrics.significance.run_error`; values are then means over
        runs.
    memory : MemoryAudit, optional
        Gains on test queries whose relevant documents were relevant in training, see
        :func:`memory_audit`.

    Attributes
    ----------
    measures, rankers, folds : list of str
        Names, in the order given.
    specs : dict of str to str
        Full spec of every measure.
    descriptions : dict of str to str
        Description of every ranker.
    cells : list of FoldResult
    qids : ndarray of shape (n_queries,)
        Test queries of all folds, one fold after the other.
    fold_of_query : ndarray of shape (n_queries,), int64
        Fold number of every entry of ``qids``.

    Notes
    -----
    The main number of a ranker is the mean of its fold means (as in LETOR), with Student's t
    interval over queries within folds. Tests against the best ranker are corrected over all pairs
    of rankers, since the best is chosen by the same queries; see
    :func:`rankwise.metrics.significance.compare_to_best`.
    """

    def __init__(
        self,
        measures: dict[str, str],
        rankers: dict[str, str],
        fold_infos: list[FoldInfo],
        cells: list[FoldResult],
        settings: Settings,
        run_errors: dict[str, dict[str, tuple[float, float]]] | None = None,
        memory: MemoryAudit | None = None,
    ) -> None:
        self.measures: list[str] = list(measures)
        self.specs: dict[str, str] = dict(measures)
        self.rankers: list[str] = list(rankers)
        self.descriptions: dict[str, str] = dict(rankers)
        self.fold_infos: list[FoldInfo] = list(fold_infos)
        self.folds: list[str] = [info.name for info in fold_infos]
        self.cells: list[FoldResult] = list(cells)
        self.settings = settings
        self.run_errors: dict[str, dict[str, tuple[float, float]]] = dict(run_errors or {})
        self.memory = memory
        self._detectable: dict[str, float | None] = {}
        self._verdicts: dict[str, list[str]] = {}
        self._by_place = {(cell.ranker, cell.fold): cell for cell in cells}

    @cached_property
    def qids(self) -> np.ndarray[Any, Any]:
        """Test queries of all folds, one fold after the other."""
        pooled = [qid for info in self.fold_infos for qid in info.qids]
        array = np.empty(len(pooled), dtype=object)
        array[:] = pooled
        return array if len({type(qid) for qid in pooled}) != 1 else np.array(pooled)

    @cached_property
    def fold_of_query(self) -> np.ndarray[Any, Any]:
        """Fold number of every entry of ``qids``."""
        return np.repeat(np.arange(len(self.folds)), [len(info.qids) for info in self.fold_infos])

    def cell(self, ranker: str, fold: str) -> FoldResult:
        """Cell of one ranker and fold."""
        if ranker not in self.rankers:
            raise KeyError(f"{ranker!r} is not on this leaderboard. On it: {list(self.rankers)}")
        return self._by_place[ranker, fold]

    def per_query(self, measure: str | None = None) -> dict[str, Float64Array]:
        """Values of all rankers, aligned with ``qids``; NaN if not counted or not finished.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.
        """
        spec = self.specs[self._name(measure)]
        return {ranker: self._values(ranker, spec) for ranker in self.rankers}

    def values(self, ranker: str, measure: str | None = None) -> Float64Array:
        """Values of one ranker, aligned with ``qids``; NaN if not counted or not finished.

        Parameters
        ----------
        ranker : str
        measure : str, optional
            Name among ``measures``, or a full spec that the cells hold; None: the first measure.
        """
        name = self.measures[0] if measure is None else measure
        spec = self.specs.get(name, name)
        if not any(spec in cell.values for cell in self.cells):
            spec = self.specs[self._name(measure)]
        return self._values(ranker, spec)

    def _values(self, ranker: str, spec: str) -> Float64Array:
        folds = [(self.cell(ranker, info.name).values, len(info.qids)) for info in self.fold_infos]
        return np.concatenate([values.get(spec, np.full(n, np.nan)) for values, n in folds])

    def n_counted(self, measure: str | None = None) -> int:
        """Number of queries that count for a measure, such as queries with a relevant row for AP.

        Queries of a fold without a finished ranker are included.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.
        """
        return self._counted[self._name(measure)]

    def unjudged(self, ranker: str, measure: str | None = None) -> float | None:
        """Share of unjudged documents among those that a measure reads, mean over the queries.

        None if it is not known which rows are judged, or the measure does not take unjudged
        documents as not relevant.

        Parameters
        ----------
        ranker : str
        measure : str, optional
            Name among ``measures``; None: the first.
        """
        if self.settings.greater_is_better is not None:
            return None  # values of a table, of which no measure is known
        beside = find_unjudged_share(measure_of(self.specs[self._name(measure)], self.settings))
        if beside is None:
            return None
        values = self._values(ranker, str(beside))
        return None if np.isnan(values).all() else beside.aggregate(values)

    def why_undefined(self, measure: str | None = None) -> str | None:
        """Reason why no query counts for a measure; None if some do.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.
        """
        if self.n_counted(measure):
            return None
        if self.settings.greater_is_better is not None:
            return "the table has no value of it"
        return why_undefined(measure_of(self.specs[self._name(measure)], self.settings))

    def greater_is_better(self, measure: str | None = None) -> bool:
        """Whether larger values of a measure are better.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.
        """
        given = self.settings.greater_is_better
        spec = self.specs[self._name(measure)]
        return measure_of(spec, self.settings).greater_is_better if given is None else given

    def _bounds(self, measure: str) -> tuple[float, float]:
        if self.settings.greater_is_better is not None:
            return -math.inf, math.inf
        return measure_of(self.specs[measure], self.settings).bounds

    @property
    def recall(self) -> float | None:
        """Share of the relevant documents that are rows, averaged over queries, then over folds.

        None if the data do not name their missed documents, see ``RankingData.missed``.
        """
        known = [info.recall for info in self.fold_infos if info.recall is not None]
        return float(np.mean(known)) if known else None

    @property
    def best(self) -> str | None:
        """Best ranker by the first measure; None if no ranker finished."""
        rows = self.rows()
        return rows[0]["ranker"] if rows and rows[0]["rank"] else None

    def detectable_difference(self, measure: str | None = None) -> float | None:
        """Difference that is found with probability 0.8, for the median pair of rankers.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.

        Returns
        -------
        float or None
            See :func:`rankwise.metrics.significance.detectable_difference`; None if fewer than two
            rankers finished, or their differences do not vary.
        """
        name = self._name(measure)
        if name not in self._detectable:
            values = self.per_query(name)
            try:
                self._detectable[name] = detectable_difference(
                    {ranker: values[ranker] for ranker in self.rankers if self._complete[ranker]},
                    confidence_level=self.settings.confidence_level,
                    random_state=self.settings.random_state,
                    strata=self.fold_of_query,
                )
            except ValueError:
                self._detectable[name] = None
        return self._detectable[name]

    def verdict(self, measure: str | None = None) -> str:
        """Outcome in words: the sentences that a report begins with.

        Parameters
        ----------
        measure : str, optional
            Name among ``measures``; None: the first.

        Returns
        -------
        str
            Who leads, who may be the best, which difference the queries can show and how many
            would settle the lead, and where means and tests disagree. Lines end at sentences.

        Examples
        --------
        >>> from rankwise import leaderboard
        >>> board = leaderboard({"a": [0.5, 0.6, 0.4], "b": [0.4, 0.6, 0.3]})
        >>> print(board.verdict().splitlines()[0])
        a leads with score 0.5000 (95 % interval 0.1429 to 0.8571).
        """
        return "\n".join(self._list_verdict(self._name(measure)))

    def _list_verdict(self, name: str) -> list[str]:
        if name not in self._verdicts:
            doubts = [f"{self._doubts[name]}."] if name in self._doubts else []
            self._verdicts[name] = [*describe_verdict(self, name), *doubts]
        return self._verdicts[name]

    def rows(self, measure: str | None = None) -> list[dict[str, Any]]:
        """One dict per ranker, best first; rankers with a failed or skipped fold come last.

        Parameters
        ----------
        measure : str, optional
            Measure that orders the rows; None: the first.

        Returns
        -------
        list of dict
            ``rank`` (from 1; None if a fold is missing), ``ranker``, ``status``, ``message``;
            ``ran`` (what was tuned, or the parameters that differ from the class's defaults);
            ``measures``: by name a dict of the statistics below; the same at the top level for
            ``measure``; ``against_baseline``: by measure the dict of ``diff`` ... ``losses`` to the
            baseline, empty if no baseline finished; ``fit_seconds``, ``predict_seconds``,
            ``memory_bytes`` (medians over folds), ``n_settings`` (settings tried in a fold),
            ``chosen`` (by fold), ``notes``. Missing values are None.

        Notes
        -----
        The statistics of a measure:

        - ``counted``: number of queries that count; ``undefined``: why none does; ``unjudged``:
          see :meth:`unjudged`;
        - ``rank`` by this measure; ``mean`` of the fold means, with its t interval ``low`` to
          ``high``; ``folds``: mean of every fold;
        - ``adjusted_mean``: the mean over the queries of all rankers that a fit of value = query +
          ranker expects; it orders the table, and equals ``mean`` unless some ranker lacks values;
        - ``diff``: mean difference to the best by this measure, with its joint interval
          ``diff_low`` to ``diff_high`` over all pairs of rankers; the best itself has the
          difference 0, no interval, and None below;
        - ``p``, ``p_corrected``: p-values of the paired test against the best, uncorrected and
          corrected for all pairs; ``separable``: whether ``p_corrected`` is below
          1 - confidence_level;
        - ``effect``: Cohen's d of the paired differences to the best; ``wins``, ``ties``,
          ``losses``: numbers of queries on which the ranker is better than, equal to and worse than
          the best;
        - ``skewness``: largest skewness of the ranker's mean and of its mean differences to others,
          beyond its standard error: from 0.3 on, tests and intervals err too often;
        - ``rank_low``, ``rank_high``: joint interval of the rank, see
          :func:`rankwise.metrics.significance.rank_intervals`; None with the correction
          "benjamini_hochberg", which leaves it open;
        - ``letters``: rankers that share a letter are not separable from each other; all other
          pairs are.
        """
        name = self._name(measure)

        def place(ranker: str) -> tuple[float, str]:
            return self._standings[name][ranker]["rank"] or math.inf, ranker

        return [self._row(ranker, name) for ranker in sorted(self.rankers, key=place)]

    def to_dict(self) -> dict[str, Any]:
        """Everything except the row scores, as JSON values; :meth:`from_dict` reads it back."""
        return {
            "format": FORMAT,
            "measures": self.specs,
            "rankers": self.descriptions,
            "folds": [convert_to_json(asdict(info)) for info in self.fold_infos],
            "settings": convert_to_json(asdict(self.settings)),
            "rows": convert_to_json(self.rows()),
            "cells": [cell.to_dict() for cell in self.cells],
            **({"run_errors": self.run_errors} if self.run_errors else {}),
            **({"memory": self.memory.to_dict()} if self.memory else {}),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Leaderboard:
        """Restore a leaderboard from the result of :meth:`to_dict`.

        Raises
        ------
        ValueError
            If ``state`` is something else, or of a newer version of rankwise.
        """
        found = state.get("format") if isinstance(state, Mapping) else type(state).__name__
        if found != FORMAT:
            is_newer = isinstance(found, int) and found > FORMAT
            raise ValueError(
                f"state must be a result of Leaderboard.to_dict (format {FORMAT}), got {found!r}."
                + " A newer version of rankwise wrote it. Upgrade rankwise." * is_newer
            )
        try:
            return cls._restore(state)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                "state must be a result of Leaderboard.to_dict, but parts are missing or changed "
                f"({type(error).__name__}: {error}). Write it again."
            ) from error

    @classmethod
    def _restore(cls, state: Mapping[str, Any]) -> Leaderboard:
        return cls(
            measures=dict(state["measures"]),
            rankers=dict(state["rankers"]),
            fold_infos=[FoldInfo(**_select_fields(FoldInfo, info)) for info in state["folds"]],
            cells=[FoldResult.from_dict(cell) for cell in state["cells"]],
            settings=Settings(**_select_fields(Settings, state["settings"])),
            run_errors={
                measure: {name: (error, freedom) for name, (error, freedom) in errors.items()}
                for measure, errors in state.get("run_errors", {}).items()
            },
            memory=MemoryAudit.from_dict(state["memory"]) if state.get("memory") else None,
        )

    @classmethod
    def from_json(cls, path: str | Path) -> Leaderboard:
        """Read a file that ``to_json`` wrote, or the text that it returned.

        Raises
        ------
        ValueError
            If it is not a leaderboard, or is of a newer version of rankwise.
        """
        is_text = isinstance(path, str) and path.startswith("{")
        try:
            return cls.from_dict(json.loads(str(path) if is_text else Path(path).read_bytes()))
        except ValueError as error:  # also of json
            if is_text:
                raise
            raise ValueError(f"{path} is not a file of Leaderboard.to_json: {error}") from error

    def _columns(self) -> dict[str, Any]:
        rows = self.rows()
        columns = {
            what: [row[what] for row in rows] for what in ("rank", "ranker", "ran", "status")
        }
        for name, summary in rows[0]["measures"].items():
            for what in summary:
                if what not in ("undefined", "unjudged", "folds"):
                    column = f"{name} {_COLUMNS.get(what, what)}"
                    columns[column] = [row["measures"][name][what] for row in rows]
        costs = ("fit_seconds", "predict_seconds", "memory_bytes")
        return columns | {what: [row[what] for row in rows] for what in costs}

    def to_latex(self, *, digits: int = 4) -> str:
        """LaTeX table with marks of significance and rank intervals; needs the package booktabs.

        Parameters
        ----------
        digits : int >= 0
            Decimals of means.
        """
        return leaderboard_table(self, "latex", digits)

    def to_markdown(self, *, digits: int = 4) -> str:
        """Markdown table with marks of significance and rank intervals.

        Parameters
        ----------
        digits : int >= 0
            Decimals of means.
        """
        return leaderboard_table(self, "markdown", digits)

    def to_csv(self) -> str:
        """CSV table of all numbers in full precision, without marks."""
        return leaderboard_table(self, "csv")

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        rows = self.rows()
        header, lines, said = _table_cells(self, [row for row in rows if row["rank"]], "text", 4)
        lost = [
            f"{row['ranker']} {row['status']}: {row['message'].removesuffix('.')}."
            for row in rows
            if not row["rank"]
        ]
        caption = ". ".join(said) + "."
        return [header, *lines], [*list_intervals(rows, self.settings), caption, *lost]

    def _verdict(self) -> list[str]:
        return self._list_verdict(self.measures[0])

    def _marks(self) -> tuple[str, list[tuple[Any, Any, Any]]]:
        ends = ("low", "mean", "high")
        marks = [[row[end] for end in ends] for row in self.rows() if row["rank"]]
        # A dot without an interval where none is known.
        return self.measures[0], [
            (math.nan if low is None else low, mean, high) for low, mean, high in marks
        ]

    def _heading(self) -> str:
        settings, uniform = self.settings, describe_uniform(self)
        return (
            f"{settings.data or 'data'}: {len(self.qids)} {settings.unit}"
            f"{queries_that_count(self)}{_describe_strata(self)}"
            f"{f' ({uniform})' if uniform else ''}, ordered by {self.measures[0]}"
        )

    def __str__(self) -> str:
        return leaderboard_text(self, None)

    def __repr__(self) -> str:
        n, contestant = len(self.rankers), self.settings.contestant
        best = escape_hidden(f"best by {self.measures[0]}: {self.best}")
        return (
            f"<Leaderboard of {n} {contestant}{'s' * (n != 1)} on {len(self.qids)} "
            f"{self.settings.unit}{_describe_strata(self)}, {best[:300]}>"
        )

    def _name(self, measure: str | None) -> str:
        if measure is None:
            return self.measures[0]
        if measure not in self.specs:
            raise KeyError(f"{measure!r} was not measured; measured: {self.measures}")
        return measure

    @cached_property
    def _counted(self) -> dict[str, int]:
        finished = {cell.fold for cell in self.cells if cell.values}
        unknown = ~np.isin(self.fold_of_query, [self.folds.index(fold) for fold in finished])
        values = {name: np.array(list(self.per_query(name).values())) for name in self.measures}
        return {name: int((unknown | ~np.isnan(v).all(axis=0)).sum()) for name, v in values.items()}

    @cached_property
    def _standings(self) -> dict[str, dict[str, dict[str, Any]]]:
        return self._standings_against(None)

    @cached_property
    def _against_baseline(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Standings against the baseline by measure; empty without a finished baseline."""
        baseline = self.settings.baseline
        return self._standings_against(baseline) if self._complete.get(baseline or "") else {}

    @cached_property
    def _complete(self) -> dict[str, bool]:
        return {
            ranker: all(self._by_place[ranker, fold].status == DONE for fold in self.folds)
            for ranker in self.rankers
        }

    def _standings_against(self, baseline: str | None) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            name: standings(
                self.per_query(name),
                self.fold_of_query,
                len(self.folds),
                self._complete,
                greater_is_better=self.greater_is_better(name),
                test=self.settings.test,
                correction=self.settings.correction,
                confidence_level=self.settings.confidence_level,
                random_state=self.settings.random_state,
                baseline=baseline,
                bounds=self._bounds(name),
                run_errors=self.run_errors.get(name),
            )
            for name in self.measures
        }

    def _row(self, ranker: str, measure: str) -> dict[str, Any]:
        cells = [self._by_place[ranker, fold] for fold in self.folds]
        worst = next((c for c in cells if c.status == FAILED), None)
        worst = worst or next((c for c in cells if c.status == SKIPPED), cells[0])
        by_measure = {
            name: {
                "counted": self.n_counted(name),
                "undefined": self.why_undefined(name),
                "unjudged": self.unjudged(ranker, name),
                **deepcopy(self._standings[name][ranker]),
            }
            for name in self.measures
        }
        doubts = self._doubts.values() if by_measure[measure]["rank"] else []
        return {
            "ranker": ranker,
            "ran": self.settings.ran.get(ranker, self.descriptions[ranker]),
            "status": worst.status,
            "message": worst.message,
            **by_measure[measure],
            "measures": by_measure,
            "against_baseline": {
                name: {what: by_ranker[ranker][what] for what in OF_DIFFERENCE}
                for name, by_ranker in self._against_baseline.items()
            },
            "fit_seconds": _median([c.fit_seconds for c in cells]),
            "predict_seconds": _median([c.predict_seconds for c in cells]),
            "memory_bytes": _median([c.memory_bytes for c in cells]),
            "n_settings": max(len(c.search) for c in cells),
            "chosen": {c.fold: c.chosen for c in cells},
            "notes": list(dict.fromkeys([*(note for c in cells for note in c.notes), *doubts])),
        }

    @cached_property
    def _doubts(self) -> dict[str, str]:
        """Notes on measures whose values are too skewed for the tests, by measure."""
        method, found = self.settings.test, {}
        for name in self.measures:
            known = [row["skewness"] for row in self._standings[name].values()]
            largest = max((value for value in known if value is not None), default=0.0)
            if largest > most_skewed(method, self.n_counted(name)):
                found[name] = _DOUBTS.get(method, _DOUBT).format(name, self.settings.unit, largest)
        return found


def _median(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return median(known) if known else None


def _select_fields(cls: type, state: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(cls)}
    known = {find_new_name(name, names - state.keys()) or name: v for name, v in state.items()}
    known |= {name: VALUES.get(v, v) for name, v in known.items() if name in ("correction", "test")}
    return {name: value for name, value in known.items() if name in names}


_ADJUSTED = "adjusted"
_COSTS = ("fit s", "predict s", "MB")
_OF_COSTS = "fit (its search included), predict, MB (peak above the start): medians over folds."


def leaderboard_text(board: Leaderboard, width: int | None = None) -> str:
    """Table with explanations of its columns, failures and notes.

    To fit a ``width`` in characters, columns are left out from the right: costs, then measures
    after the first, then counts of queries against a baseline.
    """
    rows = board.rows()
    first, settings = board.measures[0], board.settings
    ranks = has_rank_intervals(rows)
    header = ["#", settings.contestant, *board.measures, _ADJUSTED, "to best", "p", "ranks"]
    header += _COSTS
    lines = [row_cells(row, board.measures) for row in rows if row["rank"]]
    absent = [*([] if ranks else ["ranks"]), *([] if is_fitted(settings) else _COSTS)]
    absent += [] if is_adjusted(rows) else [_ADJUSTED]
    kept = [place for place, name in enumerate(header) if name not in absent]
    header, *lines = ([line[place] for place in kept] for line in [header, *lines])
    dispensable = [*reversed([*board.measures[1:], *(_COSTS if is_fitted(settings) else ())])]
    table, hidden = fit_width(width, [header, *lines], dispensable)
    text = [
        board._heading(),
        *([f"{settings.layout}."] if settings.layout else []),
        *recall_of_rows(board),
        "",
        *board._list_verdict(first),
        "",
        *table,
        *([f"Left out for the width: {', '.join(hidden)}."] if hidden else []),
        "",
        f"± {longer_side(rows, board.measures)} of the {level_of(settings)} interval over "
        f"{settings.unit}. to best: difference in {first} to the best {settings.contestant}.",
        f"p of this difference: {how_tested(settings)}.",
        *([f"ranks: {level_of(settings)} intervals, which hold jointly."] if ranks else []),
        *([how_adjusted(board) + "."] if is_adjusted(rows) else []),
        *list_intervals(rows, settings),
        *_list_against_baseline(board, rows, width),
    ]
    if is_fitted(settings):
        text += [_OF_COSTS] if not {*_COSTS} <= {*hidden} else []
        text.append(f"Parameters were chosen on validation parts by {settings.select_by}.")
        text += [f"{row['ranker']} = {row['ran']}" for row in rows if row["rank"]]
    text += describe_columns(settings)
    text += none_counts(board)
    text += shares_of_unjudged(board)
    text += rows_left_out(board)
    text += describe_memory_of(board)
    specs = {name: spec for name, spec in board.specs.items() if name != spec}
    text += [f"{name} = {spec}" for name, spec in specs.items()]
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if not row["rank"] and row["status"] == DONE:
            text.append(f"{row['ranker']} has no value of {first}.")
        elif not row["rank"]:
            missing = [c.fold for c in board.cells if c.ranker == row["ranker"] and not c.values]
            what = row["status"], ", ".join(missing), row["message"]
            alike.setdefault(what, []).append(row["ranker"])
    for (status, missed, message), names in alike.items():
        text.append(f"{status}: {', '.join(names)} ({missed}): {message}")
    text += [f"note: {who}: {note}" for who, note in merge_notes(rows, settings.contestant)]
    return join_lines(text)


def how_adjusted(board: Leaderboard) -> str:
    """Sentence on what orders a table with missing values."""
    units, contestant = board.settings.unit, board.settings.contestant
    unit = "query" if units == "queries" else units.removesuffix("s")
    return (
        f"{_ADJUSTED}: mean of {board.measures[0]} over the {units} of all {contestant}s, by a fit "
        f"of value = {unit} + {contestant}; it orders the table, unless a test on the {units} of "
        "both contradicts it"
    )


def shares_of_unjudged(board: Leaderboard) -> list[str]:
    """A line on the unjudged documents behind each measure, if there are any."""
    shares = []
    for name in board.measures:
        found = [board.unjudged(ranker, name) for ranker in board.rankers]
        known = [share for share in found if share is not None]
        if max(known, default=0.0) > 0:
            ends = dict.fromkeys([f"{min(known):.1%}", f"{max(known):.1%}"])
            between = " to ".join(ends)
            cutoff = getattr(measure_of(board.specs[name], board.settings), "cutoff", None)
            read = "all ranks" if cutoff is None else f"the first {cutoff}"
            shares.append(f"{name} {between} of {read}")
    if not shares:
        return []
    return [f"Unjudged documents count as not relevant: {', '.join(shares)}."]


def rows_left_out(board: Leaderboard) -> list[str]:
    """A line on training rows without a judgement, if there are any."""
    n = sum(info.n_unjudged for info in board.fold_infos)
    if not n:
        return []
    n_all = n + sum(info.n_train for info in board.fold_infos)
    parts = "training part" if len(board.folds) == 1 else "training parts"
    return [
        f"Rankers were fitted on judged rows only: {n} of {n_all} rows of the {parts} are unjudged."
    ]


def describe_memory_of(board: Leaderboard) -> list[str]:
    """Lines on the gain by the first measure on seen and unseen queries, if training is known."""
    return [] if board.memory is None else board.memory.describe(board.measures[0])


def _describe_strata(board: Leaderboard) -> str:
    n = len(board.folds)
    if is_fitted(board.settings):
        return f" in {n} fold{'s' if n > 1 else ''}"
    return f" in {n} strata" if n > 1 else ""


def queries_that_count(board: Leaderboard) -> str:
    """In parentheses, the number of counted queries of every measure, if some do not count."""
    counts = {name: board.n_counted(name) for name in board.measures}
    told = any(n < len(board.qids) for n in counts.values())
    fewer = [f"{n} for {name}" for name, n in counts.items() if told]
    return f" ({', '.join(fewer).replace(' for', ' count for', 1)})" if fewer else ""


def describe_uniform(board: Leaderboard) -> str:
    """Number of queries on which rankers can differ, if others count for a measure."""
    n_uniform = sum(info.n_uniform for info in board.fold_infos)
    if n_uniform and board.settings.differing_queries:
        return f"left out: {n_uniform} with one row, or rows of one grade"
    n_differing = len(board.qids) - n_uniform
    if n_differing >= max(map(board.n_counted, board.measures)):
        return ""
    return f"{board.settings.contestant}s can differ on {n_differing}"


def none_counts(board: Leaderboard) -> list[str]:
    """A line for every measure for which no query counts."""
    reasons = {name: board.why_undefined(name) for name in board.measures}
    return [f"{name}: no query counts, since {why}." for name, why in reasons.items() if why]


def recall_of_rows(board: Leaderboard) -> list[str]:
    """Line on the share of relevant documents that could be found; empty if it is unknown."""
    if board.recall is None:
        return []
    return [
        f"{board.recall:.4f} of the relevant documents are among the rows (mean over queries); the "
        "others count as missed."
    ]


def _list_against_baseline(
    board: Leaderboard, rows: list[dict[str, Any]], width: int | None
) -> list[str]:
    """Table of the differences to the baseline, between empty lines."""
    baseline, first = board.settings.baseline, board.measures[0]
    if baseline is None:
        return []
    found = [(row, row["against_baseline"].get(first)) for row in rows if row["rank"]]
    lines = [
        [
            "",
            row["ranker"],
            format_or_dash(difference["diff"], "+.4f"),
            NO_VALUE
            if difference["diff_low"] is None
            else f"{difference['diff_low']:+.4f} to {difference['diff_high']:+.4f}",
            p_value(difference["p_corrected"]),
            *(str(difference[what]) for what in ("wins", "ties", "losses")),
        ]
        for row, difference in found
        if difference is not None and row["ranker"] != baseline
    ]
    if not lines:
        return ["", f"Nothing is tested against the baseline {baseline}: too little finished.", ""]
    counts = ["better", "equal", "worse"]
    header = ["", board.settings.contestant, "difference", "interval", "p", *counts]
    table, hidden = fit_width(None if width is None else width + 2, [header, *lines], counts[::-1])
    shown = [name for name in counts if name not in hidden]
    return [
        "",
        f"Against the baseline {baseline}, {first}:",
        "",
        *(line.removeprefix("  ") for line in table),
        "",
        f"interval: {joint_interval(board.settings)}. p: "
        f"{how_tested_against_baseline(board.settings)}."
        + (f" {', '.join(shown)}: {board.settings.unit}." if shown else ""),
    ]


FORMATS = {"latex": ".tex", "markdown": ".md", "csv": ".csv"}
_NO_BREAK = "\u00a0"
_BETTER = {"latex": r"$^{\uparrow}$", "markdown": " ↑", "text": f"{_NO_BREAK}↑"}
_WORSE = {"latex": r"$^{\downarrow}$", "markdown": " ↓", "text": f"{_NO_BREAK}↓"}


def leaderboard_table(board: Leaderboard, form: str, digits: int = 4) -> str:
    """Table of a leaderboard; systems that are significantly worse than the best are marked.

    "latex" needs the package booktabs. Its caption of at most two sentences and the line below the
    table in "markdown" define marks and intervals; the notes follow the caption as comments. "csv"
    has all numbers of :meth:`Leaderboard.rows` in full precision, and no marks. ``digits`` are
    decimals of means.
    """
    check_choice("form", form, FORMATS)
    check_whole("digits", digits, 0)
    rows = [row for row in board.rows() if row["rank"]]
    if form == "csv":
        return _csv(board, rows)
    return (_latex if form == "latex" else _markdown)(*_table_cells(board, rows, form, digits))


def _table_cells(
    board: Leaderboard, rows: list[dict[str, Any]], form: str, digits: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, lines and sentences of the caption of a table in "latex", "markdown" or "text"."""
    header = ["", board.settings.contestant, *board.measures]
    lines = [_line(row, board.measures, form, digits) for row in rows]
    if is_adjusted(rows):
        header.append("adjusted")
        for row, line in zip(rows, lines, strict=True):
            line.append(f"{row['adjusted_mean']:.{digits}f}")
    if has_rank_intervals(rows):
        header.append("ranks")
        for row, line in zip(rows, lines, strict=True):
            line.append(ranks_text(row))
    if board.settings.baseline is not None:
        header.append(f"to {board.settings.baseline}")
        for row, line in zip(rows, lines, strict=True):
            line.append(_list_to_baseline(board, row, form, digits))
    return header, lines, _caption(board, form, rows)


def _line(row: dict[str, Any], measures: list[str], form: str, digits: int) -> list[str]:
    cells = [str(row["rank"]), escape_table(row["ranker"], form)]
    for name in measures:
        found = row["measures"][name]
        cell = "–" if found["mean"] is None else f"{found['mean']:.{digits}f}"
        cells.append(cell + (_WORSE[form] if found["separable"] else ""))
    return cells


def _list_to_baseline(board: Leaderboard, row: dict[str, Any], form: str, digits: int) -> str:
    """Difference to the baseline by the first measure, marked if it is significant."""
    found = row["against_baseline"].get(board.measures[0])
    if found is None or found["diff"] is None or row["ranker"] == board.settings.baseline:
        return "–"
    mark = ""
    if found["separable"]:
        is_worse = (found["diff"] < 0) == board.greater_is_better()
        mark = (_WORSE if is_worse else _BETTER)[form]
    return f"{found['diff']:+.{digits}f}{mark}"


def _caption(board: Leaderboard, form: str, rows: list[dict[str, Any]]) -> list[str]:
    settings = board.settings
    level = f"{100 * settings.confidence_level:g}" + (r"\,\%" if form == "latex" else " %")
    counted = escape_table(queries_that_count(board), form)
    said = [f"Means over {len(board.qids)} {settings.unit}{counted}"]
    if any(found["separable"] for row in rows for found in row["measures"].values()):
        said.append(
            f"{_WORSE[form].strip()}: significantly worse than the best of the column "
            f"({how_tested(settings)}, p < {1 - settings.confidence_level:g})"
        )
    if has_rank_intervals(rows):
        said.append(
            f"Ranks by {escape_table(board.measures[0], form)}: {level} intervals, which hold "
            "jointly"
        )
    if is_adjusted(rows):
        said.append(escape_table(how_adjusted(board), form))
    if settings.baseline is not None:
        said.append(
            f"To {escape_table(settings.baseline, form)}: difference in "
            f"{escape_table(board.measures[0], form)} ({_BETTER[form].strip()}, "
            f"{_WORSE[form].strip()}: significantly better, worse; "
            f"{how_tested_against_baseline(settings)})"
        )
    said += [escape_table(line.rstrip("."), form) for line in describe_memory_of(board)]
    ran = [(row["ranker"], row["ran"]) for row in rows if is_fitted(settings)]
    notes = [f"{escape_table(who, form)}: {escape_table(note, form)}"
             for who, note in [*ran, *merge_notes(rows, settings.contestant)]]  # fmt: skip
    return [*said, *notes]


def _latex(header: list[str], lines: list[list[str]], said: list[str]) -> str:
    texts = [" & ".join(line).replace("–", "--") + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{'. '.join(said[:2])}.}}",
            *(f"% {' '.join(sentence.split())}." for sentence in said[2:]),
            rf"\begin{{tabular}}{{rl{'r' * (len(header) - 2)}}}",
            r"\toprule",
            " & ".join(escape_table(name, "latex") for name in header) + r" \\",
            r"\midrule",
            *texts,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _markdown(header: list[str], lines: list[list[str]], said: list[str]) -> str:
    names = [escape_table(name, "markdown") for name in header]
    rule = ["---:", "---", *["---:"] * (len(header) - 2)]
    table = [f"| {' | '.join(cells)} |" for cells in [names, rule, *lines]]
    return "\n".join([*table, "", ". ".join(said) + ".", ""])


def _csv(board: Leaderboard, rows: list[dict[str, Any]]) -> str:
    kept = [
        "mean", "low", "high", "diff", "diff_low", "diff_high", "p", "p_corrected", "rank_low",
        "rank_high", "letters",
    ]  # fmt: skip
    kept += ["adjusted_mean"] if is_adjusted(rows) else []
    kept_against = ["diff", "diff_low", "diff_high", "p_corrected"]
    against = board.measures if board.settings.baseline is not None else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = [
        "rank",
        board.settings.contestant,
        "ran",
        *(f"{m} {k}" for m in board.measures for k in kept),
        *(f"{m} {k} to {board.settings.baseline}" for m in against for k in kept_against),
    ]
    writer.writerow(map(escape_spreadsheet, header))
    for row in rows:
        names = [escape_spreadsheet(row["ranker"]), escape_spreadsheet(row["ran"])]
        cells: list[Any] = [row["rank"], *names]
        cells += [row["measures"][name][what] for name in board.measures for what in kept]
        cells += [row["against_baseline"].get(m, {}).get(k) for m in against for k in kept_against]
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()
