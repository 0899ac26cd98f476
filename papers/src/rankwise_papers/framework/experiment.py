"""Experiments of papers: cells, tables, figures and verdicts, and the registry of entry points.

An experiment is a folder and an :class:`~rankwise.experiments.ExperimentEntry` in the table that
an entry point names. It lists its cells,
computes one cell at a time, and makes tables of the available cells. The runner decides where and
when cells are computed, and stores each on disk.

A distribution announces its experiments by an entry point in the group ``rankwise.experiments``
that names a dict from key to :class:`ExperimentEntry`. One such distribution is
``rankwise-papers``, in ``papers/`` of the repository.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankwise.runtime.result import Result, columns_of

Results = Mapping[str, Any]
FindFiles = Callable[[], Sequence[Path]]
_FUZZ = 1e-12


@dataclass(frozen=True)
class Cell:
    """Unit of work that is stored and resumed, of about a second to a minute.

    Attributes
    ----------
    name : str
        Readable name, unique in its experiment, e.g. ``"ohsumed/fold1/pairwise-nodes/seed0"``. A
        quick run and a full run share a cell if name, parameters and data are equal.
    params : dict of JSON values
        Everything that the numbers depend on besides code and data: seeds, sizes, grids.
    data : str
        Name in :meth:`Experiment.data`; "" if the cell generates its own data. Cells of a data set
        that is not on this machine are skipped.
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    data: str = ""


class Verdict(StrEnum):
    """Verdict on our value compared with a published one."""

    MET = "met"
    BETTER = "better"
    MISSED = "missed"
    NOT_EVIDENCE = "not evidence"
    NO_PAPER = "no published value"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Value(Result):
    """Entry of a table: our value beside the paper's.

    Attributes
    ----------
    row, column : str
        Position; rows and columns are shown in the order of their first appearance.
    ours : float or None
        Our value; None if it was not computed, as explained in ``note``.
    error : float or None
        Standard error or spread of ``ours``, as described in ``Table.error_is``.
    paper, paper_error : float or None
        Published value and its published ±.
    source : str
        Location in the paper, e.g. "Table 1, p. 9".
    tolerance : float or None
        Largest ``|ours - paper|`` that counts as met; required if ``paper`` is given.
    larger_is_better : bool or None
        Whether larger values are better. None: neither direction is better, so a value is either
        met or missed.
    not_evidence : str
        Reason why this value is not evidence, such as a published baseline worse than a constant;
        "" if it is evidence.
    note : str
        Explanation of the difference, or reason why the value was not computed. Shown as a
        footnote; equal notes share one.

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
        """Verdict: met within the tolerance, otherwise better or missed, depending on the side.

        Checked in this order: not run (no value of ours), no published value, not evidence, and
        then the comparison.
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
class ResultTable(Result):
    """Our values beside the paper's, as one of its tables.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the experiment; names anchors and CSV rows.
    title : str
    values : sequence of Value
        Values in reading order, row by row. Positions without a value stay empty.
    caption : str
        Description of the measured quantity and of the source of the tolerance.
    error_is : str
        Meaning of ± of our values, e.g. "standard deviation over 10 draws".
    digits : int
        Number of decimals.
    """

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.values, Value)

    name: str
    title: str
    values: Sequence[Value]
    caption: str = ""
    error_is: str = "standard error"
    digits: int = 4


@dataclass(frozen=True)
class Series(Result):
    """Line of a figure.

    Attributes
    ----------
    label : str
    x : sequence of float
    ours, error, paper : sequence of float or None
        Values for each ``x``, or None. ``error`` is drawn as a band.
    """

    label: str
    x: Sequence[float]
    ours: Sequence[float] | None = None
    error: Sequence[float] | None = None
    paper: Sequence[float] | None = None


@dataclass(frozen=True)
class Figure(Result):
    """Figure of lines over a common x; ours are solid, the paper's are dashed.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the experiment.
    title, x_label, y_label : str
    series : sequence of Series
    log_x : bool
    caption : str
        Caption, which names the corresponding figure of the paper.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    caption: str = ""


class Experiment(ABC):
    """Base class of published experiments.

    Subclasses take no arguments, hold no state and are importable, because cells run in worker
    processes in any order. ``run`` depends only on its cell, the data files and the code. It may
    keep loaded data in a module-level cache (``functools.cache``) for later cells in its process.
    It runs with BLAS on one thread, as in ``rankwise compare``.

    Examples
    --------
    A complete experiment is ``tests.experiments.toy.Toy``.
    """

    def data(self) -> Mapping[str, FindFiles]:
        """Functions that find the files of each data set.

        The functions return paths, whose content becomes part of the cells' fingerprint. If files
        are missing, they raise FileNotFoundError with a message that says where to get them; then
        the cells of that set are skipped.
        """
        return {}

    @abstractmethod
    def cells(self, quick: bool) -> Sequence[Cell]:
        """All cells; with ``quick``, only as many as one core computes in about a minute."""

    @abstractmethod
    def run(self, cell: Cell) -> Any:
        """Compute one cell; return nested dicts, lists, strings and numbers (NaN becomes None)."""

    @abstractmethod
    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        """Tables of the finished cells.

        Parameters
        ----------
        results : mapping from cell name to what ``run`` returned
            Results of finished cells only. Cells that failed or lack data are absent; values that
            need them are None with a note.
        quick : bool
            Whether only the cells of a quick run were requested.
        """

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        """Figures of the finished cells."""
        return ()

    def protocol(self) -> str:
        """Text of ``protocol.md`` in the experiment's folder: paragraphs and "- " lists."""
        return (files(self._folder()) / "protocol.md").read_text("utf-8")

    def published(self, name: str) -> list[dict[str, str]]:
        """Rows of a CSV file in the experiment's folder, by column; empty fields are ""."""
        with (files(self._folder()) / name).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def _folder(self) -> str:
        """Package that contains the subclass's module."""
        return type(self).__module__.rpartition(".")[0]


GROUP = "rankwise.experiments"
HOW_TO_GET = (
    "No experiments are installed. Reproductions of papers are a separate package: "
    "pip install rankwise-papers"
)


@dataclass(frozen=True)
class ExperimentEntry:
    """One experiment.

    Attributes
    ----------
    path : str
        ``"module:Class"`` of a subclass of :class:`rankwise.experiments.Experiment`, which is
        created without arguments.
    title : str
        Title for lists, one line.
    paper : str
        Authors, title, journal, year.
    data : tuple of str
        Names of the data sets that the experiment uses.
    """

    path: str
    title: str
    paper: str
    data: tuple[str, ...] = ()

    def load(self) -> Experiment:
        """Create the experiment."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)()


@cache
def experiments() -> dict[str, ExperimentEntry]:
    """Entries of all installed distributions that announce experiments, by key."""
    found: dict[str, ExperimentEntry] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found |= point.load()
    return found


def find_experiment(key: str) -> ExperimentEntry:
    """Find the entry of an experiment by key.

    Raises
    ------
    ValueError
        If there is no such experiment, or none at all.
    """
    known = experiments()
    if not known:
        raise ValueError(f"experiment {key!r} was not found. {HOW_TO_GET}")
    if key not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)}, got {key!r}.")
    return known[key]
