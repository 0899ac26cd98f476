"""Evaluate scores against relevance labels: :func:`evaluate`, its result, and a scorer."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import UNUSED

from rankwise.checks.exact_values import (
    LARGEST_EXACT,
    check_exact,
    exact_float64,
    id_texts,
    order_keeping_float64,
)
from rankwise.checks.rows import warn_of_one_query
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import (
    JudgedRun,
    describe_identical_ids,
    drop_identical_ids,
    judge,
    refuses_both_ways,
)
from rankwise.datasets.readers.results import as_run, read_judgements
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.table_columns import is_frame
from rankwise.groups import QueryGroups
from rankwise.metrics.default import warn_of_constant, warn_of_undefined, why_undefined
from rankwise.metrics.measure import Measure, MeasureLike, is_own, parameter_of
from rankwise.metrics.spec import list_specs, parse
from rankwise.metrics.statistics.prediction_powered import PoweredMean, prediction_powered_mean
from rankwise.prediction import grades_of, innermost, predictions
from rankwise.runtime.frames import convert_to_array, convert_to_values
from rankwise.runtime.messages import callers_level, join_lines
from rankwise.runtime.result import Result, align_columns, columns_of
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.typing import Float64Array

DEFAULT_MEASURES = ("nDCG@10", "AP")
# With a machine judge every query counts, so that each has a human and a machine value.
DEFAULT_MEASURE = "nDCG(empty=0)@10"
# Labels are real numbers if one of the first _READ is not whole. Scores look like grades if all of
# them are whole and each value occurs in at least _PER_GRADE rows on average.
_READ, _PER_GRADE = 256, 2
# Values of the same rows in another order, but for rounding.
_SAME = 1e-12
# doc_ids, retrieved, judged and pooled, as evaluate takes them
Columns: TypeAlias = dict[str, Any]


@refuses_both_ways
def evaluate(
    y: ArrayLike | RankingData | Qrels | JudgedRun | Any = None,
    scores: Any = None,
    qid: ArrayLike | QueryGroups | None = None,
    measures: MeasureLike | Sequence[MeasureLike] = DEFAULT_MEASURES,
    *,
    qrels: Any = None,
    run: Any = None,
    preset: str | None = None,
    doc_ids: ArrayLike | None = None,
    retrieved: ArrayLike | None = None,
    judged: ArrayLike | None = None,
    pooled: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    judge: Any = None,
    ignore_identical_ids: bool = False,
) -> EvaluationResult:
    """Evaluate scores against labels, per query and on average; the truth comes first.

    Objects that carry their queries are passed without ``qid``: ``evaluate(qrels, run, measures)``,
    ``evaluate(data, scores, measures)``, and ``evaluate(judged_run, measures)`` for the result of
    :func:`rankwise.datasets.judge`. Their document ids break ties where a measure asks for it.

    Parameters
    ----------
    y : array-like of shape (n_samples,), RankingData, JudgedRun, or judgements
        Relevance grades or real-valued targets; larger is better. Class names are replaced by their
        position, 0 for the lowest; they require ``classes`` or an ordered categorical. For a run,
        its judgements in any form that :func:`rankwise.text.read_judgements` takes.
    scores : array-like of shape (n_samples,), or a run
        Finite numbers; a higher score ranks higher within its query. Whole numbers beyond 2^53 keep
        their order, or raise an error if a measure uses their distances. For measures of predicted
        ranks (MAE, ZeroOne, MacroMAE, Within, Kappa), pass the predicted labels: numbers, or class
        names if y has them. A run is a :class:`~rankwise.datasets.Run`, a path,
        ``{query: {document: score}}`` or anything else that :func:`rankwise.fusion.as_run` takes;
        its documents are ordered and counted as by trec_eval, see :func:`rankwise.datasets.judge`.
    qid : array-like of shape (n_samples,) or QueryGroups, optional
        Query of each row: any dtype, in any order. None: all rows are one query. Existing
        QueryGroups are used directly, which avoids grouping again.
    measures : str, Measure, callable, or sequence of them
        Spec strings, see :func:`rankwise.metrics.parse`, or measures of your own: functions
        ``f(y, scores) -> float`` of one query. Default: nDCG@10 and AP.
    qrels, run : judgements and a run, optional
        The first two arguments by name, which cannot be confused.
    preset : str, optional
        Convention for parameters that a spec string leaves open, e.g. "letor3" or "lightgbm".
    doc_ids : array-like of shape (n_samples,), optional
        Document of each row; a query has a document once. The presets of trec_eval and gdeval, and
        ``ties='docid'``, break ties by descending id, compared as text. Other rules ignore them.
    retrieved : array-like of shape (n_samples,), bool, optional
        False for judged rows that a run did not retrieve, see :func:`rankwise.datasets.judge`.
        They count in the ideal (ideal gain, number of relevant rows) but are not part of the
        ranking; their scores are not read. None: every row has a score.
    judged : array-like of shape (n_samples,), bool, optional
        False for rows without a judgement, whose label may be NaN; see
        :func:`rankwise.datasets.judge`. Required by Bpref, infAP, Judged, Unjudged, RBPResidual and
        ``judged_only=True``; other measures of the top of the ranking take NaN as not relevant, and
        the result shows how many of the rows that each of them reads are unjudged.
    pooled : array-like of shape (n_samples,), bool, optional
        True for rows that were to be judged, with or without a judgement, which infAP tells from
        others. None: the judged rows.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y or predicted labels are text, unless one of them
        is an ordered categorical.
    judge : judgements, optional
        For a run: judgements of a machine, such as a language model, on the queries that people
        judged and on more; the queries of the people must be a random sample of all. The means are
        then prediction-powered estimates, whose intervals (``powered`` of the result) hold whatever
        the errors of the machine are. Every query must count for the measures, so that each has a
        human and a machine value; the default is nDCG(empty=0)@10.
        :func:`rankwise.selection.evaluate_with_judge` also compares systems.
    ignore_identical_ids : bool
        For a run: whether to leave documents with the id of their query out of it, as BEIR does. In
        its sets ArguAna and Quora, queries are documents of the collection.

    Returns
    -------
    EvaluationResult
        Mapping from the given strings to the means; ``per_query`` holds the values per query.

    Raises
    ------
    ValueError
        If lengths differ, scores or labels are not finite, a measure does not apply to the labels,
        class names have no order, a string does not name a measure, a measure needs the scores of
        rows that were not retrieved, a measure breaks ties by document id, ``doc_ids`` is missing
        and the order of tied rows could change its value, or judgements and a run passed by
        position are plain mappings, tables or files with whole numbers only, which can be read both
        ways.

    Warns
    -----
    TiedScoresWarning
        If a preset ranks tied rows in the order of the rows, and that order decides a value.
    UndefinedMeasureWarning
        If no query counts for a measure, no label reaches its ``rel``, or every label does, such
        as stars from 1 to 5: every order of the rows then has the same value.
    UserWarning
        If ``y`` holds real numbers and ``scores`` holds grades, as if they were swapped, or
        unjudged documents of a run have the id of their query.

    Notes
    -----
    O(n log m) for m rows per query, and less if all measures have a cut-off. Rows are ranked once
    for all measures.

    Examples
    --------
    >>> y, scores, qid = [2, 0, 1, 0, 1], [0.3, 0.2, 0.1, 0.8, 0.4], list("aaabb")
    >>> result = evaluate(y, scores, qid, ["nDCG@2", "AP"])
    >>> round(result["AP"], 4)
    0.6667
    >>> result.per_query["AP"].round(4).tolist()
    [0.8333, 0.5]
    >>> evaluate({"q1": {"d2": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, "RR")["RR"]
    0.5
    >>> y, predicted = ["poor", "good", "fair"], ["fair", "good", "fair"]
    >>> round(evaluate(y, predicted, None, "MAE", classes=["poor", "fair", "good"])["MAE"], 4)
    0.3333
    """
    columns = {"doc_ids": doc_ids, "retrieved": retrieved, "judged": judged, "pooled": pooled}
    if qrels is not None or run is not None:
        y, scores = _named_pair(y, scores, qrels, run)
    arguments = (y, scores, qid, measures, columns, ignore_identical_ids)
    if judge is not None:
        return _evaluate_with_machine(*arguments, judge, preset)
    y, scores, qid, measures, columns = _unpack_rows(*arguments)
    doc_ids, retrieved = columns["doc_ids"], columns["retrieved"]
    given = list_specs(measures)
    parsed = {spec if isinstance(spec, str) else str(spec): parse(spec, preset) for spec in given}
    labels, values = convert_to_values(y), convert_to_values(scores)
    are_classes = classes is not None or _holds_names(labels) or _holds_names(values)
    if not are_classes and labels.dtype.kind in "iuf":
        check_exact(y, labels, "y")
    if are_classes:
        labels, values = _class_numbers(y, scores, classes, parsed)
    elif values.ndim == 1 and values.dtype.kind in "iuf" and (abs(values) >= LARGEST_EXACT).any():
        by_order = all(tie_rule(measure) is not None for measure in parsed.values())
        # The given items have digits that values may have lost.
        given_scores = scores if isinstance(scores, list | tuple) else convert_to_array(scores)
        values = (order_keeping_float64 if by_order else exact_float64)(given_scores, "scores")
    y, scores = _column("y", labels), _column("scores", values)
    if len(y) != len(scores):
        raise ValueError(
            f"y and scores must have the same length, got {len(y)} and {len(scores)}. "
            "Pass one label and one score per row."
        )
    known, chosen = _judgement_masks(columns["judged"], columns["pooled"], len(y))
    if known is not None:
        y = _grade_unjudged(y, known, parsed)
    if retrieved is not None:
        scores = _lower_missing(scores, retrieved, parsed)
    if any(measure.reads_from_top for measure in parsed.values()):
        _warn_if_swapped(y, scores)
    groups = QueryGroups.from_qid(qid, len(y))
    rows = ScoredRows(y, scores, groups, retrieved is not None, known, chosen)
    if doc_ids is None:
        _refuse_ties_without_ids(parsed, rows, preset)
    per_query = _values_per_query(parsed, rows, doc_ids)
    if preset is not None:
        _warn_of_ties(parsed, per_query, rows)
    warn_of_undefined(parsed, per_query, y)
    # A run that retrieves only relevant documents is a good one, unless grades say otherwise.
    is_table = retrieved is None or (bool(np.all(retrieved)) and y.min() < y.max())
    if is_table and len(y) > groups.n_queries and (known is None or known.all()):
        warn_of_constant(parsed, y, groups.n_queries)
    means = {spec: measure.aggregate(per_query[spec]) for spec, measure in parsed.items()}
    unjudged = _measure_unjudged(parsed, rows, doc_ids)
    return EvaluationResult(means, per_query, groups.ids, parsed, unjudged)


def _unpack_rows(
    y: Any, scores: Any, qid: Any, measures: Any, columns: Columns, ignore_identical_ids: bool
) -> tuple[Any, Any, Any, Any, Columns]:
    """Replace objects that carry several of the arguments by their columns.

    Positional arguments move up: a run comes with its queries, so the measures follow. An argument
    that is missing, is passed twice or has changed places with another raises an error.
    """
    if isinstance(y, JudgedRun):
        measures = _moved_measures(measures, scores if qid is None else qid)
        _refuse_extra(columns, "a judged run")
        if ignore_identical_ids:
            raise TypeError("a judged run is joined: pass ignore_identical_ids=True to judge.")
        if note := describe_identical_ids(y):
            warnings.warn(f"{note}.", UserWarning, stacklevel=callers_level())
        return y.y, y.scores, y.qid, measures, {name: getattr(y, name) for name in columns}
    if isinstance(y, Run) or isinstance(scores, Qrels | RankingData):
        raise ValueError("pass the judgements first, then the run: evaluate(qrels, run, measures).")
    if _are_judgements(y, scores):
        if scores is None:
            raise TypeError("judgements need a run: evaluate(qrels, run, measures).")
        _refuse_extra(columns, "a run")
        rows = judge(qrels=y, run=scores, ignore_identical_ids=ignore_identical_ids)
        if not (rows.judged & rows.retrieved).any():
            raise ValueError(
                "the run and the judgements have no document of a query in common, or none with a "
                "grade of at least 0. Check that both use the same query and document ids, and "
                "that neither is empty."
            )
        return _unpack_rows(rows, None, qid, measures, columns, False)
    if ignore_identical_ids:
        raise TypeError("ignore_identical_ids needs a run: evaluate(qrels, run, measures).")
    if isinstance(y, RankingData):
        if scores is None:
            raise TypeError("scores are missing: evaluate(data, scores, measures).")
        own = {"doc_ids": y.doc_ids, "judged": y.judged}
        columns = {n: own.get(n) if column is None else column for n, column in columns.items()}
        return y.y, scores, y.groups, _moved_measures(measures, qid), columns
    if scores is None:
        raise TypeError("scores are missing: evaluate(y, scores, qid, measures).")
    return y, scores, qid, measures, columns


def _named_pair(y: Any, scores: Any, qrels: Any, run: Any) -> tuple[Qrels, Run]:
    """Judgements and run, of which one at least is passed by name."""
    if scores is not None or (y is not None and qrels is not None):
        raise TypeError("judgements or run are passed twice: evaluate(qrels=…, run=…, measures=…).")
    qrels = y if qrels is None else qrels
    if qrels is None or run is None:
        raise TypeError("judgements and a run go together: evaluate(qrels=…, run=…).")
    return read_judgements(qrels), as_run(run)


def _are_judgements(y: Any, run: Any) -> bool:
    """Whether the first argument holds the judgements of a run, rather than one label per row."""
    if isinstance(y, Qrels | str | Path | Mapping) or isinstance(run, Run):
        return True
    whole = isinstance(run, str | Path | Mapping) or (
        isinstance(run, list) and bool(run) and isinstance(run[0], Run | Path | Mapping)
    )
    if isinstance(y, RankingData):
        return whole or _is_table(run)
    if isinstance(y, list):
        return bool(y) and (
            isinstance(y[0], Qrels | RankingData | Path | Mapping) or is_frame(y[0])
        )
    return is_frame(y) and (whole or _is_table(y))


def _is_table(source: Any) -> bool:
    """Whether a source is a frame, or a list of them, with more than one column."""
    first = source[0] if isinstance(source, list) and source else source
    return is_frame(first) and len(getattr(first, "columns", [])) > 1


def _moved_measures(measures: Any, moved: Any) -> Any:
    """Measures, which may stand in the place of an argument that the data replace."""
    if moved is None:
        return measures
    several = [moved] if isinstance(moved, str | Measure) or callable(moved) else moved
    if not isinstance(several, list | tuple) or not all(
        isinstance(measure, str | Measure) or callable(measure) for measure in several
    ):
        raise TypeError(
            f"the first argument has its own query ids, got {type(moved).__name__} beside it. Pass "
            "the measures next."
        )
    if measures is not DEFAULT_MEASURES:
        raise TypeError("measures are passed twice. The first argument has its own query ids.")
    return moved


def _refuse_extra(columns: Columns, what: str) -> None:
    for name, column in columns.items():
        if column is not None:
            raise TypeError(f"{what} has its own {name}. Leave out {name}.")


def _class_numbers(
    y: Any, scores: Any, classes: ArrayLike | None, measures: dict[str, Measure]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions of the classes in y, and in scores if a measure reads classes."""
    from rankwise.checks.classes import (  # loads scikit-learn
        list_declared_classes,
        ordinal_labels,
    )

    for declared in (list_declared_classes(y), list_declared_classes(scores)):
        classes = declared if classes is None else classes
    named = _holds_names(convert_to_values(scores))
    for spec, measure in measures.items():
        if named and not measure.reads_labels:
            raise ValueError(
                f"measure {spec!r} ranks by scores, got class names. Pass rank_score's values, "
                "or use a measure of predicted classes, such as MAE."
            )
    if named and classes is None:
        ordinal_labels(scores, name="scores")  # raises: text needs an order
    labels = ordinal_labels(y, classes=classes)
    if not any(measure.reads_labels for measure in measures.values()):
        return labels.codes, convert_to_values(scores)
    return labels.codes, ordinal_labels(scores, classes=labels.classes, name="scores").codes


def _holds_names(values: NDArray[Any]) -> bool:
    """Whether an array holds text, in full or in part."""
    if values.dtype.kind == "O":
        return any(isinstance(value, str) for value in values.ravel())
    return values.dtype.kind in "UT"


def _warn_if_swapped(y: NDArray[Any], scores: NDArray[Any]) -> None:
    """Warn if the labels are real numbers and the scores look like grades."""
    first = y[:_READ]
    if not np.isfinite(first).all() or _are_whole(first) or not _are_whole(scores):
        return
    if scores.min() >= 0 and 1 < len(np.unique(scores)) <= len(scores) / _PER_GRADE:
        warnings.warn(
            "y holds real numbers and scores holds whole numbers, as if they were swapped. Call "
            "evaluate(y, scores, qid), with the labels first.",
            UserWarning,
            stacklevel=callers_level(),
        )


def _are_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "bui" or bool((values == np.floor(values)).all())


def _lower_missing(
    scores: NDArray[Any], retrieved: ArrayLike, measures: dict[str, Measure]
) -> NDArray[np.float64]:
    """Scores with minus infinity for rows that were not retrieved."""
    mask = _mask("retrieved", retrieved, len(scores))
    n_missing = int((~mask).sum())
    _check_from_top(measures, f"the scores of all rows, but {n_missing} rows were not retrieved")
    scores = scores.astype(np.float64)
    scores[mask & (scores == -np.inf)] = np.nan  # a bad score, not a missing one
    scores[~mask] = -np.inf
    return scores


def _judgement_masks(
    judged: ArrayLike | None, pooled: ArrayLike | None, n_samples: int
) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
    """Masks of the judged rows and of those that were to be judged."""
    if judged is None:
        if pooled is not None:
            raise ValueError("pooled needs judged. Pass which rows have a judgement, too.")
        return None, None
    known = _mask("judged", judged, n_samples)
    if pooled is None:
        return known, None
    chosen = _mask("pooled", pooled, n_samples)
    if (known & ~chosen).any():
        row = int(np.argmax(known & ~chosen))
        raise ValueError(
            f"pooled must be True for every judged row, got False at row {row}. Judged rows were "
            "in the pool."
        )
    return known, chosen


def _grade_unjudged(
    y: NDArray[Any], judged: NDArray[np.bool_], measures: dict[str, Measure]
) -> NDArray[Any]:
    """Labels with 0 for unjudged rows that have none."""
    absent = ~judged & np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if not absent.any():
        return y
    what = f"the labels of all rows, but {int(absent.sum())} rows are unjudged"
    _check_from_top(measures, what, "Leave them out (RankingData.only_judged), or use")
    return np.where(absent, 0.0, y)


def _check_from_top(measures: dict[str, Measure], what: str, fix: str = "Use") -> None:
    for spec, measure in measures.items():
        if not measure.reads_from_top:
            raise ValueError(
                f"measure {spec!r} compares {what}. {fix} a measure of the top of the ranking, "
                "such as nDCG@10."
            )


def _mask(name: str, values: ArrayLike, n_samples: int) -> NDArray[np.bool_]:
    """One truth value per row."""
    mask = np.asarray(values)
    if mask.dtype != bool or mask.shape != (n_samples,):
        raise ValueError(
            f"{name} must hold n_samples={n_samples} truth values, got shape {mask.shape} "
            f"of dtype {mask.dtype}. Pass one per row."
        )
    return mask


def _column(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """One real number per row; shape (n, 1) is accepted as (n,)."""
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {array.shape}. Pass one value per row."
        )
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold real numbers, got dtype {array.dtype}. "
            "Convert text and dates to numbers first."
        )
    return array


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
        # Code points sort like the bytes of UTF-8.
        place_of = {name: place for place, name in enumerate(sorted(set(names)))}
        place = np.fromiter(map(place_of.__getitem__, names), np.int64, len(names))
        codes = self.groups.codes()
        order = np.lexsort((place, codes))
        twice = (np.diff(codes[order]) == 0) & (np.diff(place[order]) == 0)
        if twice.any():
            row = int(order[1:][twice].min())
            raise ValueError(
                f"doc_ids must not repeat within a query, got {names[row]!r} of query "
                f"{self.groups.ids[codes[row]]!s} again at row {row}. A document has one rank."
            )
        return replace(self, groups=QueryGroups(self.groups.indptr, order, ids=self.groups.ids))

    def bounds(self, measure: Measure) -> tuple[Float64Array, Float64Array]:
        """Lowest and highest value per query over all orders of tied rows."""
        ends = self.values([replace(measure, **{"ties": rule}) for rule in ("worst", "best")])
        return np.minimum(*ends), np.maximum(*ends)


def tie_rule(measure: Measure) -> str | None:
    """Rule for rows of equal score, of measures that rank rows; else None."""
    rule = getattr(measure, "ties", None)
    return rule if measure.reads_from_top and isinstance(rule, str) else None


def _refuse_ties_without_ids(
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
                f"equal scores decides {n_decided} of {_queries(rows.groups.n_queries)}: its mean "
                f"is between {measure.aggregate(low):.4f} and {measure.aggregate(high):.4f}. Pass "
                f"doc_ids, or write {measure.name}(ties=mean) for the mean over all orders."
            )


def _warn_of_ties(
    measures: Mapping[str, Measure], per_query: Mapping[str, Float64Array], rows: ScoredRows
) -> None:
    """Warn of measures whose preset ranks ties by row, where the order of the rows decides.

    A value that equals the mean over all orders, by chance or not, needs no warning, and neither
    does a rule for ties that the caller wrote.
    """
    by_row = {
        spec: measure
        for spec, measure in measures.items()
        if tie_rule(measure) == "stable"
        and not is_own(measure)
        and tie_rule(parse(spec)) != "stable"
    }
    if not by_row or not rows.have_ties:
        return
    averages = rows.values([replace(measure, **{"ties": "mean"}) for measure in by_row.values()])
    for (spec, measure), average in zip(by_row.items(), averages, strict=True):
        if not (np.abs(average - per_query[spec]) > _SAME).any():
            continue
        low, high = rows.bounds(measure)
        n_decided = int((high - low > _SAME).sum())
        warnings.warn(
            f"{spec}: rows with equal scores rank in the order of the rows (ties='stable'), which "
            f"decides {n_decided} of {_queries(rows.groups.n_queries)}: the mean is "
            f"{measure.aggregate(per_query[spec]):.4f}, and between {measure.aggregate(low):.4f} "
            f"and {measure.aggregate(high):.4f} in other orders. Write {measure.name}(ties=mean) "
            "for the mean over all orders.",
            TiedScoresWarning,
            stacklevel=callers_level(),
        )


def _values_per_query(
    measures: dict[str, Measure], rows: ScoredRows, doc_ids: ArrayLike | None
) -> dict[str, Float64Array]:
    """Values of every measure, of rows in the order that its rule for ties expects."""
    found = {}
    for by_id in (False, True):
        chosen = {s: m for s, m in measures.items() if by_id == (tie_rule(m) == "docid")}
        if chosen:
            ordered = rows.by_id(doc_ids) if by_id and doc_ids is not None else rows
            found |= dict(zip(chosen, ordered.values(chosen.values()), strict=True))
    return {spec: found[spec] for spec in measures}


def _measure_unjudged(
    measures: dict[str, Measure], rows: ScoredRows, doc_ids: ArrayLike | None
) -> dict[str, float]:
    """Mean share of unjudged rows among those that each measure reads as not relevant."""
    if rows.judged is None:
        return {}
    from rankwise.metrics.measures.relevance import find_unjudged_share  # loads numba

    beside = {spec: find_unjudged_share(measure) for spec, measure in measures.items()}
    known: dict[str, Measure] = {spec: m for spec, m in beside.items() if m is not None}
    values = _values_per_query(known, rows, doc_ids)
    return {spec: measure.aggregate(values[spec]) for spec, measure in known.items()}


@dataclass(frozen=True, eq=False)
class MeanValues(Mapping[str, float], Result):
    """Mapping from spec strings to means; base class of the results of evaluations."""

    means: dict[str, float]

    def __getitem__(self, spec: str) -> float:
        if spec not in self.means:
            raise KeyError(f"{spec!r} was not evaluated; evaluated: {list(self.means)}")
        return self.means[spec]

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    def _columns(self) -> dict[str, Any]:
        return {"measure": list(self.means), "mean": list(self.means.values())}


@dataclass(frozen=True, eq=False)
class EvaluationResult(MeanValues):
    """Means by measure, with the value of every query.

    Attributes
    ----------
    means : dict of str to float
        Keyed by the spec strings exactly as they were given; also ``result[spec]``.
    per_query : dict of str to ndarray of shape (n_queries,)
        Values per query; NaN if the query does not count by the measure's convention.
    qids : ndarray of shape (n_queries,)
        Query ids in order of first appearance.
    measures : dict of str to Measure
        Measure with its full convention for each string.
    unjudged : dict of str to float
        Share of unjudged rows among those that a measure reads and takes as not relevant, mean over
        queries. Empty if it is not known which rows are judged, without measures that do so.
    powered : dict of str to PoweredMean
        With ``judge``: the estimates whose means these are, with intervals, the correlation of the
        judges and the bias of the machine; ``per_query`` then holds the values by human
        judgements, of the queries that both judged.
    n_left_out : int
        With ``judge``: number of queries that only people judged, which do not count.
    """

    per_query: dict[str, Float64Array] = field(repr=False)
    qids: NDArray[Any] = field(repr=False)
    measures: dict[str, Measure] = field(repr=False)
    unjudged: dict[str, float] = field(default_factory=dict, repr=False)
    powered: dict[str, PoweredMean] = field(default_factory=dict, repr=False)
    n_left_out: int = 0

    def _columns(self) -> dict[str, Any]:
        if self.powered:
            estimates = columns_of(self.powered.values(), PoweredMean)
            return {"measure": list(self.means), **estimates}
        counted = [int((~np.isnan(self.per_query[spec])).sum()) for spec in self.means]
        columns = super()._columns() | {"counted": counted}
        if self.unjudged:
            columns["unjudged"] = [self.unjudged.get(spec) for spec in self.means]
        return columns

    def _heading(self) -> str:
        if self.powered:
            first = next(iter(self.powered.values()))
            return (
                f"EvaluationResult of {_queries(first.n_human)} with human and machine judgements, "
                f"{first.n_machine} with those of the machine only"
            )
        return f"EvaluationResult of {_queries(len(self.qids))}"

    def __str__(self) -> str:
        if self.powered:
            lines = [self._heading(), *show_estimates(self.powered)]
            if self.n_left_out:
                lines.append(f"{_queries(self.n_left_out)} without machine judgements do not count")
            return join_lines(lines)
        width = max([len(spec) for spec in self.means], default=0)
        lines = [self._heading()]
        for spec, mean in self.means.items():
            skipped = int(np.isnan(self.per_query[spec]).sum())
            note = f"  (without {_queries(skipped)})" if skipped else ""
            if skipped and skipped == len(self.qids):
                note = f"  (no query counts, since {why_undefined(self.measures[spec])})"
            if self.unjudged.get(spec):
                note += f"  ({self.unjudged[spec]:.1%} unjudged)"
            full = str(self.measures[spec])
            lines.append(f"  {spec:<{width}}  {mean:.4f}  {'' if full == spec else full}{note}")
        return join_lines(line.rstrip() for line in lines)


def _queries(n: int) -> str:
    return f"{n} {'query' if n == 1 else 'queries'}"


def _evaluate_with_machine(
    human: Any,
    run: Any,
    qid: Any,
    measures: Any,
    columns: Columns,
    ignore_identical_ids: bool,
    machine: Any,
    preset: str | None,
) -> EvaluationResult:
    """Prediction-powered means of one run; the arguments are those of :func:`_unpack_rows`."""
    if isinstance(human, Run) or run is None or not _are_judgements(human, run):
        raise TypeError(
            "judge needs human judgements and a run: evaluate(human, run, measures, judge=machine)."
        )
    _refuse_extra(columns, "a run")
    run = drop_identical_ids(as_run(run)) if ignore_identical_ids else as_run(run)
    measures = _moved_measures(measures, qid)
    specs = [DEFAULT_MEASURE] if measures is DEFAULT_MEASURES else list_specs(measures)
    by_measure, qids, n_left_out = values_by_both_judges({"": run}, human, machine, specs, preset)
    values = {spec: by_run[""] for spec, by_run in by_measure.items()}
    powered = {spec: estimate_mean(spec, found) for spec, found in values.items()}
    return EvaluationResult(
        {spec: estimate.mean for spec, estimate in powered.items()},
        {spec: found[0] for spec, found in values.items()},
        qids,
        {str(spec): parse(spec, preset) for spec in specs},
        powered=powered,
        n_left_out=n_left_out,
    )


def values_by_both_judges(
    runs: Mapping[str, Run],
    human: Any,
    machine: Any,
    specs: Sequence[str | Measure],
    preset: str | None,
) -> tuple[dict[str, dict[str, list[Float64Array]]], NDArray[Any], int]:
    """Values per query by human and by machine judgements, in any form of ``read_judgements``.

    Returns, by measure and run, human and machine values of the queries that both judged and
    machine values of the others; the queries that both judged; and the number of queries that only
    people judged. ValueError is raised if both judged fewer than three queries.
    """
    by_human, by_machine = read_judgements(human), read_judgements(machine)
    asked = np.unique(by_human.qid)
    both = np.intersect1d(asked, by_machine.qid)
    if len(both) < 3:
        raise ValueError(
            f"human and machine must share at least 3 judged queries, got {len(both)}. Let the "
            "machine judge the queries with human judgements, too."
        )
    is_shared = np.isin(by_machine.qid, both)
    values = {str(spec): {name: [np.empty(0)] * 3 for name in runs} for spec in specs}
    qids = both
    for part, (qrels, kept) in enumerate(
        ((by_human, np.isin(by_human.qid, both)), (by_machine, is_shared), (by_machine, ~is_shared))
    ):
        if not kept.any():
            continue
        judgements = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
        for name, run in runs.items():
            result = evaluate(judge(judgements, run, all_queries=True), specs, preset=preset)
            order = np.argsort(result.qids)
            qids = result.qids[order] if part == 0 else qids
            for spec, by_run in values.items():
                by_run[name][part] = result.per_query[spec][order]
    return values, qids, len(asked) - len(both)


def estimate_mean(
    spec: str, values: Sequence[Float64Array], confidence_level: float = 0.95
) -> PoweredMean:
    """Mean, or mean difference, from human, machine and further machine values.

    Errors name the measure.
    """
    human, machine, machine_only = values
    try:
        return prediction_powered_mean(
            human, machine, machine_only, confidence_level=confidence_level
        )
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error


def show_estimates(rows: Mapping[str, PoweredMean]) -> list[str]:
    """Aligned lines of a table of estimates by name, after a header."""
    cells = [
        ("", "estimate", "interval", "humans alone", "machine", "r", "weight", "bias", "p (bias)")
    ]
    for name, found in rows.items():
        cells.append(
            (
                name,
                f"{found.mean:.4f}",
                f"{found.low:.4f} to {found.high:.4f}",
                f"{found.human_low:.4f} to {found.human_high:.4f}",
                f"{found.machine_mean:.4f}",
                f"{found.correlation:.2f}",
                f"{found.weight:.2f}",
                f"{found.bias:+.4f}",
                f"{found.bias_p:.3f}" if found.bias_p >= 0.001 else "< 0.001",
            )
        )
    return align_columns(cells, left=(0,))


class MeasureScorer(BaseEstimator):
    """Scorer of one measure, by its full spec; it requests the ``qid``."""

    # scikit-learn derives the requests from the signature of a method called score.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "estimator": UNUSED}

    def __init__(self, measure: MeasureLike) -> None:
        self.measure = measure

    def score(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
    ) -> float:
        """Mean of the measure over the queries, negated if smaller is better."""
        measure = parse(self.measure)
        ids = qid.row_ids() if isinstance(qid, QueryGroups) else qid
        if not measure.reads_labels:
            n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
            warn_of_one_query(innermost(estimator), f"The scorer of {measure}", qid, n_samples)
        read = measure.read(predictions(estimator, X, ids))
        (value,) = evaluate(grades_of(estimator, y), read, qid, [self.measure]).values()
        return value if measure.greater_is_better else -value

    __call__ = score


def make_scorer(measure: MeasureLike = "nDCG@10", *, preset: str | None = None) -> MeasureScorer:
    """Make a scorer for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Parameters
    ----------
    measure : str, Measure or callable
        Measure to compute.
    preset : str, optional
        See :func:`rankwise.metrics.evaluate`.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``; the value is negated if smaller is better. For an
        ordinal estimator, even as the last step of a pipeline, measures of rankings use
        ``rank_score`` and measures of predicted ranks (MAE, Kappa) use ``predict``. Numeric classes
        are used as they are, as in :func:`rankwise.evaluate`; named classes become ranks from 0.
        The scorer requests ``qid``: with scikit-learn's metadata routing enabled, it receives the
        ``qid`` passed to ``fit`` of a search.

    Examples
    --------
    >>> make_scorer("MAE")
    MeasureScorer(measure="MAE(empty='skip')")
    """
    return MeasureScorer(parameter_of(parse(measure, preset)))
