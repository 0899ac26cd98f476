"""Run one cell: tune, fit, predict, evaluate; with threads permitted and memory measured."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rankwise.checks.rows import name_columns
from rankwise.datasets.data import Fold, RankingData
from rankwise.metrics import Measure
from rankwise.prediction import Predictions, labels_of, probabilities_of, scores_of
from rankwise.runtime.messages import convert_to_json
from rankwise.selection.cells.candidates import (
    Candidate,
    GivenScores,
    fill_given,
    model_rows,
    unfreeze,
)
from rankwise.selection.cells.fold_tuning import FILLED, fill_missing, tune
from rankwise.selection.cells.measured import Measurement, summarise_predicted_ranks
from rankwise.selection.cells.result_store import FAILED, SKIPPED, FoldResult, ResultStore
from rankwise.selection.cells.workers import Parcel
from rankwise.typing import Float64Array

_PAGE = 4096
_MOST_NOTES = 5
_SHORT = 2.0  # seconds of a predict that is timed twice


@dataclass(frozen=True)
class FoldTask:
    """Everything that one cell needs; sent to a worker process."""

    candidate: Candidate
    fold: Fold | Parcel
    fold_name: str
    select: Measure
    measurement: Measurement
    random_state: int
    n_threads: int
    key: str
    store: ResultStore | None


def record_lost_cell(task: FoldTask, message: str) -> FoldResult:
    """Failed cell of a task whose process ended; recorded in the store."""
    cell = FoldResult(task.candidate.name, task.fold_name, FAILED, message, key=task.key)
    if task.store is not None:
        task.store.put(cell)
    return cell


def run(task: FoldTask) -> FoldResult:
    """Run a task; return its finished, failed or skipped cell, which is then in the store."""
    origin = {} if task.store is None else task.candidate.origin
    empty = FoldResult(task.candidate.name, task.fold_name, SKIPPED, key=task.key, origin=origin)
    if task.candidate.missing:
        return replace(empty, message=task.candidate.missing)
    try:
        with warnings.catch_warnings(record=True) as caught, threads(task.n_threads):
            warnings.simplefilter("default")
            cell = _run(task, empty)
        cell = replace(cell, notes=_distinct([*cell.notes, *(_line(w.message) for w in caught)]))
    except ImportError as error:
        cell = replace(empty, message=_line(error))
    except BaseException as error:  # a failed cell is reported and does not stop the rest
        # A process that ignores Ctrl-C gets a KeyboardInterrupt from the ranker only.
        is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        if isinstance(error, KeyboardInterrupt) and not is_ignored:
            raise
        cell = replace(empty, status=FAILED, message=_describe_error(error))
    if task.store is not None:
        task.store.put(cell)
    return cell


def _describe_error(error: BaseException) -> str:
    """Message of an exception raised by a ranker."""
    if isinstance(error, SystemExit):
        return (
            f"the ranker called sys.exit({'' if error.code is None else _line(repr(error.code))})"
        )
    message = _line(error)
    return f"{type(error).__name__}{f': {message}' if message else ', without a message'}"


def _run(task: FoldTask, empty: FoldResult) -> FoldResult:
    fold = task.fold.open() if isinstance(task.fold, Parcel) else task.fold
    if isinstance(task.candidate.estimator, GivenScores):
        return fill_given(task.measurement, empty, task.candidate.estimator, fold.test)
    train, test = _read_only(fold.train.only_judged()), _read_only(fold.test)
    vali = None if fold.vali is None else _read_only(fold.vali.only_judged())
    with PeakMemory() as memory:
        started = time.perf_counter()
        tuned = tune(
            task.candidate.estimator,
            train,
            vali,
            task.select,
            space=task.candidate.space,
            random_state=task.random_state,
            refit=True,
            early_stopping=not task.candidate.is_class,
        )
        filled = fill_missing(tuned.estimator, train, test, "X")
        if filled is not None and filled[2] is not None:
            # Only the test part has missing values, so the imputer adds no column.
            columns = getattr(tuned.estimator, "feature_names_in_", None)
            test = replace(filled[2], feature_names=None if columns is None else [*columns])
            tuned.notes.append(FILLED)
        fit_end = time.perf_counter()
        X, names = model_rows(tuned.estimator, test)
        with name_columns(unfreeze(tuned.estimator), names):
            predict_start = time.perf_counter()
            scores = scores_of(tuned.estimator, X, test.qid)
            predict_end = time.perf_counter()
            predict_seconds = predict_end - predict_start
            if predict_seconds < _SHORT:
                # The first call also loads and compiles code, and starts threads.
                with warnings.catch_warnings(), suppress(Exception):
                    warnings.simplefilter("ignore")
                    scores_of(tuned.estimator, X, test.qid)
                    second = time.perf_counter() - predict_end
                    predict_seconds = min(predict_seconds, second)
                predict_end = time.perf_counter()
            labels = labels_of(tuned.estimator, X, scores, test.qid)
            shares = probabilities_of(tuned.estimator, X, test.qid)
    predicted = Predictions(scores, labels)
    cell = task.measurement.fill(empty, test, predicted, notes=tuned.notes)
    return replace(
        cell,
        fit_seconds=fit_end - started,
        predict_seconds=predict_seconds,
        evaluate_seconds=time.perf_counter() - predict_end,
        memory_bytes=memory.extra_bytes,
        chosen=convert_to_json(tuned.chosen),
        search=convert_to_json(tuned.search),
        ranks=_summarise_ranks(tuned.estimator, test, predicted, shares),
    )


def _summarise_ranks(
    estimator: Any, test: RankingData, predicted: Predictions, shares: Float64Array | None
) -> dict[str, Any]:
    """Predicted ranks of the judged rows of a test part."""
    kept = slice(None) if test.judged is None else test.judged
    labels = None if predicted.labels is None else predicted.labels[kept]
    predicted = replace(predicted, scores=predicted.scores[kept], labels=labels)
    return summarise_predicted_ranks(
        estimator, test.y[kept], predicted, None if shares is None else shares[kept]
    )


def _read_only(data: RankingData) -> RankingData:
    """The same rows with a read-only dense X.

    Cells share their data, and worker processes receive them as read-only maps. A fit that writes
    into its input thus fails for any number of jobs, instead of corrupting later cells.
    """
    if not isinstance(data.X, np.ndarray):
        return data
    view = data.X.view()
    view.flags.writeable = False
    if view.flags.c_contiguous and view.size:
        # Load mapped pages into memory, so they do not count as memory of the fit.
        view.view(np.uint8).reshape(-1)[::_PAGE].max()
    shared = replace(data, X=view)
    shared.__dict__["groups"] = data.groups  # reuse the grouping
    return shared


def _line(message: object) -> str:
    return " ".join(str(message).split())


def _distinct(notes: list[str]) -> list[str]:
    distinct = list(dict.fromkeys(notes))
    more = len(distinct) - _MOST_NOTES
    return distinct if more <= 0 else [*distinct[:_MOST_NOTES], f"and {more} more"]


THREADS_VARIABLE = "RANKWISE_NUM_THREADS"


@contextmanager
def threads(n_threads: int) -> Iterator[None]:
    """Run with ``n_threads`` threads of the library and of OpenMP, and one of BLAS.

    The order of sums in BLAS depends on its number of threads. A single thread makes the results
    of a comparison independent of ``n_jobs``. The library's own Gram computations use
    single-threaded BLAS in each of their threads anyway.
    """
    before = os.environ.get(THREADS_VARIABLE)
    os.environ[THREADS_VARIABLE] = str(n_threads)
    try:
        with threadpool_limits({"blas": 1, "openmp": n_threads}):
            yield
    finally:
        if before is None:
            del os.environ[THREADS_VARIABLE]
        else:
            os.environ[THREADS_VARIABLE] = before


class PeakMemory:
    """Context manager that measures the peak growth of resident memory.

    On Linux, the kernel's high-water mark is reset through ``/proc/self/clear_refs`` at the start,
    so each context has its own peak (the earlier peak of the process is lost for later readers). If
    that file is not writable, and on macOS, the growth of ``ru_maxrss`` is used: the peak of the
    whole process, which misses a peak below an earlier one. Free memory held by the process is
    first returned to the system if the C library supports it (glibc); otherwise its reuse is not
    seen. Memory of other threads is included.
    """

    extra_bytes: int | None = None  # peak minus start, >= 0, set at the end; None if unknown

    def __enter__(self) -> PeakMemory:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
        if trim is not None:  # not in musl
            trim(0)
        self._resettable = _reset_peak()
        self._start = _status_bytes("VmRSS") if self._resettable else max_rss()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        peak = _status_bytes("VmHWM") if self._resettable else max_rss()
        if peak is not None and self._start is not None:
            self.extra_bytes = max(0, peak - self._start)


def _reset_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return _status_bytes("VmHWM") is not None


def _status_bytes(what: str) -> int | None:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(f"{what}:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def max_rss() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
