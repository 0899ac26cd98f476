"""What an experiment is: cells to compute, published values, tables of both, a verdict on each.

An experiment is a folder and an :class:`~rankwise.experiments.Entry` in the table that an entry
point names (``papers/`` in the repository has those of the papers). It says which cells there are,
computes one cell at a time, and makes tables of whatever cells are there; the runner decides where
and when cells are computed and keeps each on disk.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]
FindFiles = Callable[[], Sequence[Path]]
_FUZZ = 1e-12


@dataclass(frozen=True)
class Cell:
    """A piece of work of a second to a minute or so; the unit that is stored and resumed.

    Attributes
    ----------
    name : str
        Unique in its experiment, readable, e.g. ``"ohsumed/fold1/pairwise-nodes/seed0"``. A quick
        run and a full one share a cell when name, parameters and data are the same.
    params : dict of JSON values
        Everything the numbers depend on besides the code and the data: seeds, sizes, grids.
    data : str
        A name in :meth:`Experiment.data`, "" where the cell makes its own data. Cells of a data
        set that is not on this machine are left out, the rest runs.
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    data: str = ""


class Verdict(StrEnum):
    """What our value says about a published one."""

    MET = "met"
    BETTER = "better"
    MISSED = "missed"
    NOT_EVIDENCE = "not evidence"
    NO_PAPER = "no published value"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Value:
    """One entry of a table: our value beside the paper's.

    Attributes
    ----------
    row, column : str
        Where it stands; rows and columns are shown in the order of their first appearance.
    ours : float or None
        None where it was not computed; ``note`` says why.
    error : float or None
        Standard error or spread of ``ours``, as ``Table.error_is`` says.
    paper, paper_error : float or None
        Published value and its published ±.
    source : str
        Where it is printed, e.g. "Table 1, p. 9".
    tolerance : float or None
        Largest ``|ours - paper|`` that counts as met; needed where ``paper`` is given.
    larger_is_better : bool or None
        None: neither direction is better, so a difference is met or missed.
    not_evidence : str
        Why this value shows nothing (a published baseline worse than a constant, say); "" where
        it does.
    note : str
        Explanation of the difference, or why it was not run. Shown as a footnote, equal ones once.

    Examples
    --------
    >>> Value("fold 1", "Regression", ours=0.31, paper=0.30, tolerance=0.02).verdict
    <Verdict.MET: 'met'>
    >>> Value("fold 1", "Regression", ours=0.33, paper=0.30, tolerance=0.02).verdict
    <Verdict.BETTER: 'better'>
    """

    row: str
    column: str
    ours: float | None = None
    error: float | None = None
    paper: float | None = None
    paper_error: float | None = None
    source: str = ""
    tolerance: float | None = None
    larger_is_better: bool | None = True
    not_evidence: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.paper is not None and self.tolerance is None:
            raise ValueError(
                f"{self.row}, {self.column}: a published value needs a tolerance, got None."
            )

    @property
    def verdict(self) -> Verdict:
        """Met within the tolerance, better or missed outside of it by the side it lies on.

        In this order: not run (no value of ours), no published value, not evidence, and then the
        comparison.
        """
        if self.ours is None:
            return Verdict.NOT_RUN
        if self.paper is None:
            return Verdict.NO_PAPER
        if self.not_evidence:
            return Verdict.NOT_EVIDENCE
        assert self.tolerance is not None
        difference = self.ours - self.paper
        if abs(difference) <= self.tolerance + _FUZZ:
            return Verdict.MET
        if self.larger_is_better is None or (difference > 0) != self.larger_is_better:
            return Verdict.MISSED
        return Verdict.BETTER


@dataclass(frozen=True)
class Table:
    """Our values beside the paper's, as one of its tables.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the experiment; names anchors and CSV rows.
    title : str
    values : sequence of Value
        In reading order, row by row. Positions that no value names stay empty.
    caption : str
        What was measured, and where the tolerance comes from.
    error_is : str
        What ± means on our side, e.g. "standard deviation over 10 draws".
    digits : int
        Decimals shown.
    """

    name: str
    title: str
    values: Sequence[Value]
    caption: str = ""
    error_is: str = "standard error"
    digits: int = 4


@dataclass(frozen=True)
class Series:
    """One line of a figure.

    Attributes
    ----------
    label : str
    x : sequence of float
    ours, error, paper : sequence of float or None
        Each as long as ``x``; None where there is none. ``error`` is drawn as a band.
    """

    label: str
    x: Sequence[float]
    ours: Sequence[float] | None = None
    error: Sequence[float] | None = None
    paper: Sequence[float] | None = None


@dataclass(frozen=True)
class Figure:
    """Lines against one x, ours solid and the paper's dashed.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the experiment.
    title, x_label, y_label : str
    series : sequence of Series
    log_x : bool
    caption : str
        With the paper's figure it belongs to.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    caption: str = ""


class Experiment(ABC):
    """A published experiment.

    Subclasses take no arguments, hold no state and are importable, for cells run in worker
    processes in any order. ``run`` depends on nothing but its cell, the data files and the code;
    it may keep loaded data in a module-level cache (``functools.cache``) for the cells that follow
    in its process. It runs with BLAS on one thread, as ``rankwise compare`` does.

    Examples
    --------
    A complete experiment is ``tests.experiments.toy.Toy``.
    """

    def data(self) -> Mapping[str, FindFiles]:
        """For every data set a function that finds its files.

        The functions return the paths, whose content becomes a part of the cells' fingerprint, or
        raise FileNotFoundError saying what to get where; only the cells of that set are left out
        then.
        """
        return {}

    @abstractmethod
    def cells(self, quick: bool) -> Sequence[Cell]:
        """All cells; with ``quick`` so few that one core needs about a minute."""

    @abstractmethod
    def run(self, cell: Cell) -> Any:
        """Compute one cell: nested dicts, lists, strings and numbers (NaN becomes None)."""

    @abstractmethod
    def tables(self, results: Results, quick: bool) -> Sequence[Table]:
        """Tables of the finished cells.

        Parameters
        ----------
        results : mapping from cell name to what ``run`` returned
            Finished cells only: those whose data are missing or that failed are absent, and the
            values that need them are None with a note.
        quick : bool
            Whether only the cells of a quick run were asked for.
        """

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        """Figures of the finished cells."""
        return ()

    def protocol(self) -> str:
        """Text of ``protocol.md`` in the experiment's folder: paragraphs and "- " lists."""
        return (files(self._folder()) / "protocol.md").read_text("utf-8")

    def published(self, name: str) -> list[dict[str, str]]:
        """Rows of a CSV file in the experiment's folder, by column; "" where a field is empty."""
        with (files(self._folder()) / name).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def _folder(self) -> str:
        """Package that the subclass's module lies in."""
        return type(self).__module__.rpartition(".")[0]
