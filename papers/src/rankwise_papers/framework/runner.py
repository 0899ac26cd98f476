"""Runs of experiments: cells in worker processes, with hashes of what they depend on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from rankwise.datasets.readers.textfiles import text_sha256
from rankwise.runtime.messages import convert_to_json
from rankwise.runtime.progress import announce_start
from rankwise.runtime.threads import available_threads
from rankwise.selection.cells.cell_runner import threads
from rankwise.selection.cells.fingerprint import (
    file_hash,
    find_imported_files,
    fingerprint,
    package_hash,
)
from rankwise.selection.cells.result_store import JsonLines, library_versions
from rankwise.selection.cells.workers import run_all
from rankwise_papers.framework.experiment import Cell, Experiment, find_experiment
from rankwise_papers.framework.reproduction import DONE, FAILED, LEFT_OUT, Outcome, Reproduction

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class ExperimentTask:
    """Everything that one cell needs; sent to a worker process."""

    experiment: Experiment
    cell: Cell
    key: str
    code: str
    n_threads: int
    lines: JsonLines | None


def reproduce(
    key: str,
    *,
    quick: bool = False,
    store: str | Path | None = None,
    n_jobs: int | None = 1,
    fresh: bool = False,
    any_code: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Rerun a published experiment, or its missing cells.

    Parameters
    ----------
    key : str
        Key of the experiment, see ``rankwise reproduce list``.
    quick : bool
        Whether to run only the cells of a quick run, in about a minute.
    store : path-like, optional
        Folder in which every finished cell is stored immediately, in ``<key>.jsonl``. The same call
        with the same store computes only what is missing, even if the previous run was killed. A
        cell is reused if its parameters, the content of its data files, the versions of the
        libraries and all code that can change it are unchanged.
    n_jobs : int
        Number of parallel worker processes; -1: one per CPU. Each gets an equal share of the
        threads. BLAS runs on one thread, so the numbers do not depend on ``n_jobs``.
    fresh : bool
        Whether to recompute every cell, ignoring the store.
    any_code : bool
        Whether to use stored cells of other versions of the code too; the tables show their number.
    progress : callable, optional
        Called as ``progress(done, total, cell_name)`` after each cell, in this process.

    Returns
    -------
    Reproduction
        Results. A cell that fails does not raise; its outcome is "failed" and its values are
        missing.

    Raises
    ------
    ValueError
        If there is no such experiment, or no package of experiments is installed.
    """
    entry = find_experiment(key)
    experiment = entry.load()
    cells = list(experiment.cells(quick))
    hashes, missing = _find_data(experiment, cells)
    lines = None if store is None else _open(Path(store), key)
    code = code_key(experiment)
    keys = {c.name: cell_key(key, c, hashes[c.data]) for c in cells if c.data not in missing}
    outcomes = {} if lines is None or fresh else _find_stored(lines, keys, code, any_code)
    for cell in cells:
        if cell.data in missing:
            outcomes[cell.name] = Outcome(cell.name, LEFT_OUT, message=missing[cell.data])
    n_jobs = max(1, min(effective_n_jobs(n_jobs or 1), len(cells) - len(outcomes)))
    n_threads = max(1, available_threads() // n_jobs)

    def due() -> Iterator[ExperimentTask]:
        for cell in cells:
            if cell.name not in outcomes:
                announce_start(cell.name)
                yield ExperimentTask(experiment, cell, keys[cell.name], code, n_threads, lines)

    if progress is not None:
        progress(len(outcomes), len(cells), "")
    for outcome in run_all(run, due, n_jobs, lost):
        outcomes[outcome.name] = outcome
        if progress is not None:
            progress(len(outcomes), len(cells), outcome.name)
    ordered = [outcomes[cell.name] for cell in cells]
    results = {outcome.name: outcome.value for outcome in ordered if outcome.status == DONE}
    return Reproduction(
        key=key,
        title=entry.title,
        paper=entry.paper,
        quick=quick,
        protocol=experiment.protocol(),
        outcomes=ordered,
        tables=list(experiment.tables(results, quick)),
        figures=list(experiment.figures(results, quick)),
        missing=missing,
        n_jobs=n_jobs,
        versions=library_versions(),
    )


def run(task: ExperimentTask) -> Outcome:
    """Run a task; return its finished or failed cell, which is then in the store."""
    name = task.cell.name
    start = time.perf_counter()
    try:
        with threads(task.n_threads):
            value = task.experiment.run(task.cell)
        # Convert through JSON, so that tables see the same values for new and stored cells.
        value = json.loads(json.dumps(convert_to_json(value)))
        outcome = Outcome(name, DONE, value, time.perf_counter() - start)
    except Exception as error:  # a failed cell is reported and does not stop the rest
        message = " ".join(f"{type(error).__name__}: {error}".split())
        outcome = Outcome(name, FAILED, None, time.perf_counter() - start, message)
    if task.lines is not None:
        record = {"key": task.key, "code": task.code, "name": name, "status": outcome.status}
        kept = {"value": outcome.value, "seconds": outcome.seconds, "message": outcome.message}
        task.lines.append(record | kept)
    return outcome


def lost(task: ExperimentTask, message: str) -> Outcome:
    """Failed cell of a task whose process was killed."""
    return Outcome(task.cell.name, FAILED, message=message)


def _find_data(experiment: Experiment, cells: list[Cell]) -> tuple[dict[str, str], dict[str, str]]:
    """Hashes of the files of each data set, and messages for sets that are missing."""
    hashes, missing = {"": ""}, {}
    finders = experiment.data()
    for name in dict.fromkeys(cell.data for cell in cells if cell.data):
        try:
            hashes[name] = files_key(finders[name]())
        except FileNotFoundError as error:
            missing[name] = " ".join(str(error).split())
    return hashes, missing


def _open(folder: Path, key: str) -> JsonLines:
    folder.mkdir(parents=True, exist_ok=True)
    return JsonLines(folder / f"{key}.jsonl")


def _find_stored(
    lines: JsonLines, keys: dict[str, str], code: str, any_code: bool
) -> dict[str, Outcome]:
    """Finished cells of earlier runs; cells of the present code take precedence."""
    names = {key: name for name, key in keys.items()}
    found: dict[str, Outcome] = {}
    for record in lines:
        name, is_other = names.get(str(record.get("key"))), record.get("code") != code
        if name is None or record.get("status") != DONE or (is_other and not any_code):
            continue
        if is_other and name in found and not found[name].is_of_other_code:
            continue
        outcome = Outcome(name, DONE, record.get("value"), _seconds(record), is_stored=True)
        found[name] = replace(outcome, is_of_other_code=is_other)
    return found


def _seconds(record: dict[str, Any]) -> float | None:
    seconds = record.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


# These modules only show numbers, so they cannot change a cell.
_SHOWN = ("tables", "figures")


def cell_key(experiment: str, cell: Cell, data: str) -> str:
    """Hash of a cell's name, parameters and data."""
    return fingerprint([experiment, cell.name, cell.params, cell.data, data])


def files_key(paths: Sequence[Path]) -> str:
    """Hash of the text of the files, regardless of their compression and location."""
    return fingerprint([text_sha256(path) for path in paths])


def code_key(experiment: Experiment) -> str:
    """Hash of all code that can change a cell.

    It covers the versions of the libraries, the modules of rankwise that can change a number, the
    experiment's module, and the modules of its distribution that it imports, without ``*tables.py``
    and ``*figures.py``.
    """
    module = type(experiment).__module__
    root = module.partition(".")[0]

    def counts(name: str) -> bool:
        return name.partition(".")[0] == root and not name.endswith(_SHOWN)

    files, _ = find_imported_files(module, counts)
    versions = library_versions()
    del versions["platform"]
    return fingerprint([versions, package_hash(), file_hash(files.items())])
