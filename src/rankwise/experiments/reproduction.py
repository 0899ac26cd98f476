"""Results of an experiment: cells, tables, figures and counts of verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rankwise.experiments.experiment import Figure, ResultTable, Verdict

DONE, FAILED, LEFT_OUT = "done", "failed", "left out"
CSV_COLUMNS = (
    "experiment", "table", "row", "column", "ours", "error", "error_is", "paper", "paper_error",
    "source", "tolerance", "verdict", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Outcome of one cell.

    Attributes
    ----------
    name : str
    status : str
        "done", "failed" (an exception, in ``message``) or "left out" (its data are missing).
    value : JSON value
        Result of ``run``; None without a result.
    seconds : float or None
        Wall time of the computation.
    message : str
    is_stored : bool
        Whether an earlier run computed the cell.
    is_of_other_code : bool
        Whether another version of the code computed the cell.
    """

    name: str
    status: str
    value: Any = None
    seconds: float | None = None
    message: str = ""
    is_stored: bool = False
    is_of_other_code: bool = False


@dataclass(frozen=True)
class Reproduction:
    """Our values beside the published ones.

    Attributes
    ----------
    key, title, paper : str
    quick : bool
    protocol : str
    outcomes : sequence of Outcome
        Outcomes of all cells, in the experiment's order.
    tables : sequence of Table
    figures : sequence of Figure
    missing : mapping from data set to message
        Missing data sets, with messages that say where to get them.
    n_jobs : int
    versions : dict
    """

    key: str
    title: str
    paper: str
    quick: bool
    protocol: str
    outcomes: Sequence[Outcome]
    tables: Sequence[ResultTable]
    figures: Sequence[Figure] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    n_jobs: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)

    def counts(self, table: ResultTable | None = None) -> dict[str, int]:
        """How often each verdict was given, in the order of :class:`Verdict`, zeros left out."""
        tables = self.tables if table is None else [table]
        found = Counter(value.verdict for table in tables for value in table.values)
        return {verdict.value: found[verdict] for verdict in Verdict if found[verdict]}

    def with_status(self, status: str) -> list[Outcome]:
        """Cells that are done, failed or left out."""
        return [outcome for outcome in self.outcomes if outcome.status == status]

    @property
    def seconds(self) -> float:
        """Wall time of all cells, one after another, whenever they were computed."""
        return sum(outcome.seconds or 0.0 for outcome in self.outcomes)

    def rows(self) -> list[dict[str, Any]]:
        """A flat row per value, with the columns of ``CSV_COLUMNS``."""
        return [
            {
                "experiment": self.key,
                "table": table.name,
                "row": value.row,
                "column": value.column,
                "ours": value.ours,
                "error": value.error,
                "error_is": table.error_is if value.error is not None else "",
                "paper": value.paper,
                "paper_error": value.paper_error,
                "source": value.source,
                "tolerance": value.tolerance,
                "verdict": value.verdict.value,
                "note": value.not_evidence or value.note,
            }
            for table in self.tables
            for value in table.values
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the cells' own values, as JSON values."""
        return {
            "experiment": self.key,
            "title": self.title,
            "paper": self.paper,
            "quick": self.quick,
            "counts": self.counts(),
            "seconds": self.seconds,
            "n_jobs": self.n_jobs,
            "versions": dict(self.versions),
            "missing": dict(self.missing),
            "cells": [
                {key: value for key, value in asdict(outcome).items() if key != "value"}
                for outcome in self.outcomes
            ],
            "values": self.rows(),
            "figures": [asdict(figure) for figure in self.figures],
        }
