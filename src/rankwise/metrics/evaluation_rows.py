"""Arguments of :func:`rankwise.metrics.evaluate` as rows: of arrays, judged rows and runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import (
    JudgedRun,
    describe_identical_ids,
    drop_identical_ids,
    judge,
)
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.table_columns import is_frame
from rankwise.metrics.measure import Measure
from rankwise.runtime.callers import callers_level

DEFAULT_MEASURES = ("nDCG@10",)


class Given(NamedTuple):
    """Arguments of ``evaluate`` for rows."""

    y: Any
    scores: Any
    qid: Any
    measures: Any
    doc_ids: Any
    retrieved: Any
    judged: Any
    pooled: Any = None
    ignore_identical_ids: bool = False


def unpack_rows(given: Given) -> Given:
    """Replace objects that carry several of the arguments by their columns.

    Positional arguments move up: a run comes with its queries, so the measures follow. An argument
    that is missing, is passed twice or has changed places with another raises an error.
    """
    y, scores = given.y, given.scores
    if isinstance(y, JudgedRun):
        measures = _measures(given, scores if given.qid is None else given.qid)
        _refuse_extra(given, "a judged run")
        if given.ignore_identical_ids:
            raise TypeError("a judged run is joined: pass ignore_identical_ids=True to judge.")
        if note := describe_identical_ids(y):
            warnings.warn(f"{note}.", UserWarning, stacklevel=callers_level())
        return Given(y.y, y.scores, y.qid, measures, y.doc_ids, y.retrieved, y.judged, y.pooled)
    is_judged = isinstance(y, RankingData) and not isinstance(scores, Qrels | RankingData)
    if isinstance(y, Qrels) or isinstance(scores, Run) or (is_judged and _is_run(scores, y)):
        raise ValueError("pass the run first, then its judgements: evaluate(run, qrels, measures).")
    if _is_run(y, scores):
        if scores is None:
            raise TypeError("a run needs judgements: evaluate(run, qrels, measures).")
        _refuse_extra(given, "a run")
        rows = judge(run=y, qrels=scores, ignore_identical_ids=given.ignore_identical_ids)
        if not (rows.judged & rows.retrieved).any():
            raise ValueError(
                "the run and the judgements have no document of a query in common, or none with a "
                "grade of at least 0. Check that both use the same query and document ids, and "
                "that neither is empty."
            )
        return unpack_rows(given._replace(y=rows, scores=None, ignore_identical_ids=False))
    if given.ignore_identical_ids:
        raise TypeError("ignore_identical_ids needs a run: evaluate(run, qrels, measures).")
    if isinstance(y, RankingData):
        if scores is None:
            raise TypeError("scores are missing: evaluate(data, scores, measures).")
        measures = _measures(given, given.qid)
        doc_ids = y.doc_ids if given.doc_ids is None else given.doc_ids
        judged = y.judged if given.judged is None else given.judged
        return given._replace(
            y=y.y, qid=y.groups, measures=measures, doc_ids=doc_ids, judged=judged
        )
    if scores is None:
        raise TypeError("scores are missing: evaluate(y, scores, qid, measures).")
    return given


def unpack_run(given: Given) -> tuple[Run, Any, Any]:
    """A run, its human judgements and the measures, for an evaluation with a machine judge.

    TypeError is raised if the arguments are rows, or one is passed twice.
    """
    if isinstance(given.y, Qrels) or given.scores is None or not _is_run(given.y, given.scores):
        raise TypeError(
            "judge needs a run and human judgements: evaluate(run, human, measures, judge=machine)."
        )
    _refuse_extra(given, "a run")
    run = as_run(given.y)
    run = drop_identical_ids(run) if given.ignore_identical_ids else run
    return run, given.scores, _measures(given, given.qid)


def _is_run(y: Any, judgements: Any) -> bool:
    """Whether the first argument is a run, rather than one label per row."""
    if isinstance(y, Run | str | Path | Mapping):
        return True
    if isinstance(y, list):
        return bool(y) and (isinstance(y[0], Run | Path | Mapping) or is_frame(y[0]))
    whole = isinstance(judgements, Qrels | str | Path | Mapping | RankingData)
    return is_frame(y) and (whole or len(getattr(y, "columns", [])) > 1)


def _measures(given: Given, moved: Any) -> Any:
    """Measures, which may stand in the place of an argument that the data replace."""
    if moved is None:
        return given.measures
    several = [moved] if isinstance(moved, str | Measure) else moved
    if not isinstance(several, list | tuple) or not all(
        isinstance(measure, str | Measure) for measure in several
    ):
        raise TypeError(
            f"the first argument has its own query ids, got {type(moved).__name__} beside it. Pass "
            "the measures next."
        )
    if given.measures is not DEFAULT_MEASURES:
        raise TypeError("measures are passed twice. The first argument has its own query ids.")
    return moved


def _refuse_extra(given: Given, what: str) -> None:
    for name in ("doc_ids", "retrieved", "judged", "pooled"):
        if getattr(given, name) is not None:
            raise TypeError(f"{what} has its own {name}. Leave out {name}.")
