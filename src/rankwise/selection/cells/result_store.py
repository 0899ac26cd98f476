"""What a comparison stores in a folder, cell by cell: results, folds, settings.

``cells/<key>.npz`` holds the arrays of a cell, and one line of ``cells.jsonl`` holds the rest. The
arrays are first written under a temporary name, synced and renamed; then the line is appended and
synced. Thus every readable line has its arrays, and a killed process loses only the cell that it
was computing. Several processes may write to one store.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rankwise._version import RELEASE
from rankwise.metrics.measure import Measure, StoredMeasure
from rankwise.metrics.spec import parse
from rankwise.metrics.statistics.against_best import Correction, check_correction
from rankwise.metrics.statistics.paired import TestMethod
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.files import replace_files, sync_folder, writing
from rankwise.runtime.messages import ArgumentError, check_share, convert_to_json
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array


class ResultStore:
    """Finished cells by their fingerprint.

    Parameters
    ----------
    path : path-like
        Folder; created if missing.

    Notes
    -----
    Failed cells are logged but not reused; the next run computes them again. An unreadable line
    (incomplete after a kill) and a missing or damaged npz count as not finished.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path).absolute()  # workers may run in another folder
        self._arrays, self._lines = self.path / "cells", JsonLines(self.path / "cells.jsonl")
        self._arrays.mkdir(parents=True, exist_ok=True)

    def records(self) -> dict[str, dict[str, Any]]:
        """Last readable line of every key, of finished cells only."""
        found: dict[str, dict[str, Any]] = {}
        for record in self._lines:
            if record.get("status") == DONE:
                found[str(record.get("key"))] = record
        return found

    def load(self, record: dict[str, Any]) -> FoldResult | None:
        """Cell of one of :meth:`records`; None if its arrays are missing or damaged."""
        try:
            with (
                self._npz(str(record["key"])).open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                table, measures = arrays["values"], arrays["measures"].tolist()
                values = dict(zip(measures, table, strict=True))
                return FoldResult._from_record(record, values, arrays["scores"])
        except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, cell: FoldResult) -> None:
        """Write a cell; on return it is on disk.

        Raises
        ------
        OSError
            If the cell cannot be written; the message names the file. Earlier cells stay readable.
        """
        if cell.status == DONE:
            assert cell.scores is not None
            path = self._npz(cell.key)
            with writing(path), replace_files([path]) as (file,):
                np.savez(
                    file,
                    measures=np.array(list(cell.values)),
                    values=np.array(list(cell.values.values())),
                    scores=np.asarray(cell.scores),
                )
        self._lines.append(cell._record())

    def _npz(self, key: str) -> Path:
        return self._arrays / f"{key}.npz"


DONE, FAILED, SKIPPED = "done", "failed", "skipped"
_ARRAYS = ("values", "scores")


@dataclass(frozen=True, eq=False)
class FoldResult(Result):
    """Result of one ranker on one fold.

    Attributes
    ----------
    ranker, fold : str
    status : str
        "done"; "failed" (an exception, a crash or the time limit); or "skipped" (an optional
        dependency is not installed).
    message : str
        Reason of a failure, or how to install a missing dependency.
    fit_seconds : float or None
        Wall time until the chosen model was fitted, including all settings of a search.
    predict_seconds, evaluate_seconds : float or None
        Wall time on the test part.
    memory_bytes : int or None
        Peak resident memory of fit and predict above that at the start of the cell.
    chosen : dict
        Parameters chosen on the validation part (or by cross-validation within the training part).
    search : list of dict
        ``{"params": {...}, "score": float}`` of every setting tried, in order.
    notes : list of str
        Warnings of the fit, and arguments that could not be honoured.
    ranks : dict
        Predicted ranks, see ``rankwise.selection.cells.measured``; empty if no classes are
        predicted.
    key : str
        Fingerprint of everything the numbers depend on.
    origin : dict of str to str
        Versions of libraries and hashes of the user's own code that computed the cell; empty
        without a store.
    values : dict of str to ndarray of shape (n_test_queries,)
        Values by full measure spec, including the points of the report's curve; NaN if a query
        does not count.
    scores : ndarray of shape (n_test_rows,) or None
        Scores of the test rows, in input order.
    """

    ranker: str
    fold: str
    status: str
    message: str = ""
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    evaluate_seconds: float | None = None
    memory_bytes: int | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    search: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ranks: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    origin: dict[str, str] = field(default_factory=dict)
    values: dict[str, Float64Array] = field(default_factory=dict)
    scores: Float64Array | None = None

    def _record(self) -> dict[str, Any]:
        """Everything except the arrays, as JSON values."""
        return {
            f.name: convert_to_json(getattr(self, f.name))
            for f in fields(self)
            if f.name not in _ARRAYS
        }

    def _columns(self) -> dict[str, Any]:
        return {name: [value] for name, value in self._record().items()}

    @classmethod
    def _from_record(
        cls,
        record: Mapping[str, Any],
        values: Mapping[str, Float64Array],
        scores: Float64Array | None = None,
    ) -> FoldResult:
        """Restore a cell from its ``_record`` and arrays; unknown keys are ignored."""
        known = {f.name for f in fields(cls)} - set(_ARRAYS)
        scalars = {name: value for name, value in record.items() if name in known}
        return cls(**scalars, values=dict(values), scores=scores)

    def to_dict(self) -> dict[str, Any]:
        """JSON values with the per-query values (NaN as null), without the scores."""
        return self._record() | {"values": convert_to_json(self.values)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> FoldResult:
        """Inverse of :meth:`to_dict`."""
        values = {m: np.array(v, dtype=np.float64) for m, v in state["values"].items()}
        return cls._from_record(state, values)


_version = cache(version)  # reads files
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    return {
        "rankwise": RELEASE,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        **{package: _version(package) for package in _PACKAGES},
    }


@dataclass(frozen=True)
class FoldInfo:
    """One fold: its test queries and the size and fingerprint of its data.

    ``recall``: share of the relevant documents that are rows, mean over the test queries with any;
    None if it is not known, see ``RankingData.missed``. ``n_unjudged``: rows of the training part
    without a judgement, which are not part of ``n_train``. ``n_uniform``: test queries on which
    rankers cannot differ, with one row or with rows of one grade.
    """

    name: str
    qids: list[Any]
    n_rows: int
    n_train: int
    n_train_queries: int
    n_features: int
    has_validation: bool
    fingerprint: str
    recall: float | None = None
    n_unjudged: int = 0
    n_uniform: int = 0


@dataclass(frozen=True)
class Settings(NamesOldAttributes):
    """Settings of a comparison.

    ``versions`` include the libraries that rankers wrap. ``baseline`` names the ranker that all
    others are tested against, if any. ``select_by`` is empty if nothing was fitted. ``unit`` is
    what is drawn anew (in the plural), ``contestant`` what is compared. ``greater_is_better`` is
    the direction of values that no measure of the library computed, otherwise None; ``layout`` says
    where they stood in their table. ``own_measures`` says whether larger values of a measure of the
    user's own, by its full spec, are better. ``left_out`` are the columns of the table that are not
    features, and why; ``shared`` those that are features and scores of a ranker. ``ran`` says by
    ranker what was tuned, or which parameters differ from the defaults of its class; comparisons
    until rankwise 0.3 lack it. ``differing_queries`` says whether queries on which rankers cannot
    differ were left out.

    Raises
    ------
    ValueError
        If there is no such test or correction, the two do not fit, or ``confidence_level`` is out
        of range.
    """

    data: str = ""
    select_by: str = ""
    test: TestMethod = "t"
    correction: Correction = "auto"
    confidence_level: float = 0.95
    baseline: str | None = None
    random_state: int = 0
    unit: str = "queries"
    contestant: str = "ranker"
    greater_is_better: bool | None = None
    own_measures: dict[str, bool] = field(default_factory=dict)
    layout: str = ""
    n_jobs: int = 1
    n_threads: int = 1
    versions: dict[str, str] = field(default_factory=library_versions)
    left_out: dict[str, str] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    ran: dict[str, str] = field(default_factory=dict)
    differing_queries: bool = False

    def __post_init__(self) -> None:
        correction = check_correction(self.test, self.correction, name="test")
        object.__setattr__(self, "random_state", draw_seed(self.random_state))
        object.__setattr__(self, "correction", correction)
        check_share("confidence_level", self.confidence_level)

    def _check_baseline(self, what: str, names: Collection[str]) -> None:
        """Raise ValueError if the baseline is none of the names of rankers or systems."""
        if self.baseline is not None and self.baseline not in names:
            raise ArgumentError(
                "baseline",
                f"must name one of the {what}, got {self.baseline!r}. "
                f"{what.capitalize()}: {', '.join(names)}.",
            )


def measure_of(spec: str, settings: Settings) -> Measure:
    """Measure of a full spec in the results of a comparison."""
    if spec in settings.own_measures:
        return StoredMeasure(spec, settings.own_measures[spec])
    return parse(spec)


_ATTEMPTS = 2


class JsonLines:
    """Records that are safely on disk when :meth:`append` returns.

    The first record creates the file; its folder must exist. Each record is a single write, so
    processes do not interleave. It starts with a line end, which closes a line that a killed writer
    left incomplete. Unreadable lines are skipped.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record and sync it; JSON must be able to represent it: no NaN, no infinity.

        If the record cannot be written, the OSError names the file, and earlier records stay
        readable.
        """
        line = json.dumps(record, allow_nan=False, separators=(",", ":"))
        with writing(self.path):
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                whole = f"\n{line}\n".encode()
                # Readers skip the incomplete line of a short write.
                if not any(os.write(descriptor, whole) == len(whole) for _ in range(_ATTEMPTS)):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_folder(self.path.parent)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for line in self.path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:  # empty or torn
                continue
            if isinstance(record, dict):
                yield record
