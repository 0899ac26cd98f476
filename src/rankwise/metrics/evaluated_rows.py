"""Rows to evaluate: from arrays, judged rows or runs, with ties in a known order."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from rankwise.checks.exact_values import id_texts
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import (
    JudgedRun,
    describe_identical_ids,
    drop_identical_ids,
    judge,
)
from rankwise.datasets.readers.results import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.table_columns import is_frame
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.runtime.frames import convert_to_array
from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array

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


# Values of the same rows in another order, but for rounding.
_SAME = 1e-12


class TiedScoresWarning(UserWarning):
    """The order in which rows of equal score were passed decides the value of a measure.

    ``ties='mean'`` takes the mean over all orders instead.
    """


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows to evaluate; all arrays are (n_samples,)."""

    y: NDArray[Any]
    scores: NDArray[Any]
    groups: QueryGroups
    may_miss: bool = False  # whether a score of minus infinity marks a row that was not retrieved
    # Whether each row has a judgement; None if that is unknown
    judged: NDArray[np.bool_] | None = None
    # Whether each row was to be judged; None: the judged ones were
    pooled: NDArray[np.bool_] | None = None

    @cached_property
    def have_ties(self) -> bool:
        """Whether two rows of a query have equal scores; rows that were not retrieved have."""
        from rankwise.metrics.scored import have_ties  # loads numba

        return have_ties(self.scores, self.groups)

    def values(self, measures: Collection[Measure]) -> list[Float64Array]:
        """Values per query of every measure."""
        from rankwise.metrics.scored import compute  # loads numba

        measures = list(measures)
        words: Any = {"may_miss": self.may_miss, "judged": self.judged, "pooled": self.pooled}
        return compute(measures, self.y, self.scores, self.groups, **words)

    def by_id(self, doc_ids: ArrayLike) -> ScoredRows:
        """The rows of each query by ascending document id, the order that ``"docid"`` expects.

        ValueError is raised if there is not one id per row, an id is missing, or a query has a
        document twice.
        """
        ids = convert_to_array(doc_ids)
        if ids.shape != self.y.shape:
            raise ValueError(
                f"doc_ids must have n_samples={len(self.y)} entries, got shape {ids.shape}. Pass "
                "one document id per row."
            )
        # Ids are text in run files, so 10 comes before 9, as in trec_eval.
        names = id_texts(ids, "doc_ids")
        encoded = pa.array(names, pa.string()).dictionary_encode()
        # Code points sort like the bytes of UTF-8.
        by_text = np.argsort(np.array(encoded.dictionary.to_pylist(), dtype=object))
        place = np.argsort(by_text)[encoded.indices.to_numpy()]
        codes = self.groups.codes()
        order = np.lexsort((place, codes))
        twice = (np.diff(codes[order]) == 0) & (np.diff(place[order]) == 0)
        if twice.any():
            row = int(order[1:][twice].min())
            raise ValueError(
                f"doc_ids must not repeat within a query, got {names[row]!r} of query "
                f"{self.groups.ids[codes[row]]!s} again at row {row}. A document has one rank."
            )
        return replace(self, groups=QueryGroups(self.groups.indptr, order, self.groups.ids))

    def bounds(self, measure: Measure) -> tuple[Float64Array, Float64Array]:
        """Lowest and highest value per query over all orders of tied rows."""
        ends = self.values([replace(measure, **{"ties": rule}) for rule in ("worst", "best")])
        return np.minimum(*ends), np.maximum(*ends)


def tie_rule(measure: Measure) -> str | None:
    """Rule for rows of equal score, of measures that rank rows; else None."""
    rule = getattr(measure, "ties", None)
    return rule if measure.reads_from_top and isinstance(rule, str) else None


def refuse_ties_without_ids(
    measures: Mapping[str, Measure], rows: ScoredRows, preset: str | None
) -> None:
    """Raise ValueError if a measure breaks ties by id, and their order could change its value."""
    for spec, measure in measures.items():
        # Without ties no order is open, and ranking once is cheaper than all orders of ties.
        if tie_rule(measure) != "docid" or not rows.have_ties:
            continue
        low, high = rows.bounds(measure)
        n_decided = int((high - low > _SAME).sum())
        if n_decided:
            raise ValueError(
                f"measure {spec!r} breaks ties by document id"
                f"{'' if preset is None else f' (preset={preset!r})'}, and the order of rows with "
                f"equal scores decides {_queries(n_decided, rows)}: its mean is between "
                f"{measure.aggregate(low):.4f} and {measure.aggregate(high):.4f}. Pass doc_ids, or "
                f"write {measure.name}(ties=mean) for the mean over all orders."
            )


def order_by_row_decides(
    measures: Mapping[str, Measure], per_query: Mapping[str, Float64Array], rows: ScoredRows
) -> dict[str, str]:
    """For each measure with ``ties='stable'`` whose value the order of the rows decides, a note.

    A value that equals the mean over all orders, by chance or not, needs none.
    """
    by_row = {spec: measure for spec, measure in measures.items() if tie_rule(measure) == "stable"}
    if not by_row or not rows.have_ties:
        return {}
    averages = rows.values([replace(measure, **{"ties": "mean"}) for measure in by_row.values()])
    notes = {}
    for (spec, measure), average in zip(by_row.items(), averages, strict=True):
        if not (np.abs(average - per_query[spec]) > _SAME).any():
            continue
        low, high = rows.bounds(measure)
        notes[spec] = (
            f"{spec}: rows with equal scores rank in the order of the rows (ties='stable'), which "
            f"decides {_queries(int((high - low > _SAME).sum()), rows)}: the mean is "
            f"{measure.aggregate(per_query[spec]):.4f}, and between {measure.aggregate(low):.4f} "
            f"and {measure.aggregate(high):.4f} in other orders. Write {measure.name}(ties=mean) "
            "for the mean over all orders."
        )
    return notes


def warn_of_ties(
    measures: Mapping[str, Measure], per_query: Mapping[str, Float64Array], rows: ScoredRows
) -> None:
    """Warn of every measure whose value the order of the rows decides."""
    for note in order_by_row_decides(measures, per_query, rows).values():
        warnings.warn(note, TiedScoresWarning, stacklevel=callers_level())


def _queries(n: int, rows: ScoredRows) -> str:
    total = rows.groups.n_queries
    return f"{n} of {total} {'query' if total == 1 else 'queries'}"
