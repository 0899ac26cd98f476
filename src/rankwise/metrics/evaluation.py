"""Evaluate scores against relevance labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.checks.exact_numbers import (
    LARGEST_EXACT,
    check_exact,
    exact_float64,
    order_keeping_float64,
)
from rankwise.datasets.readers.judged_run import refuses_both_ways
from rankwise.groups import QueryGroups
from rankwise.metrics.evaluation_result import EvaluationResult
from rankwise.metrics.evaluation_rows import DEFAULT_MEASURES, Given, unpack_rows, unpack_run
from rankwise.metrics.measure import Measure
from rankwise.metrics.spec import list_specs, parse
from rankwise.metrics.tie_order import ScoredRows, refuse_ties_without_ids, tie_rule, warn_of_ties
from rankwise.metrics.undefined_means import warn_of_constant, warn_of_undefined
from rankwise.runtime.callers import callers_level
from rankwise.runtime.column_values import convert_to_array, convert_to_values
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    from rankwise.datasets.data import RankingData
    from rankwise.datasets.readers.judged_run import JudgedRun
    from rankwise.datasets.readers.trec import Run

# Labels are real numbers if one of the first _READ is not whole. Scores look like grades if all of
# them are whole and each value occurs in at least _PER_GRADE rows on average.
_READ, _PER_GRADE = 256, 2


@refuses_both_ways(
    "Pass evaluate(as_run(run), qrels), with as_run of rankwise.fusion, or evaluate(y=run, "
    "scores=qrels)."
)
def evaluate(
    y: ArrayLike | RankingData | Run | JudgedRun | Any,
    scores: Any = None,
    qid: ArrayLike | QueryGroups | None = None,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT_MEASURES,
    *,
    preset: str | None = None,
    doc_ids: ArrayLike | None = None,
    retrieved: ArrayLike | None = None,
    judged: ArrayLike | None = None,
    pooled: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    judge: Any = None,
    ignore_identical_ids: bool = False,
) -> EvaluationResult:
    """Evaluate scores against labels, per query and on average.

    Objects that carry their queries are passed without ``qid``: ``evaluate(run, qrels, measures)``,
    ``evaluate(data, scores, measures)``, and ``evaluate(judged_run, measures)`` for the result of
    :func:`rankwise.datasets.judge`. Their document ids break ties where a measure asks for it.

    Parameters
    ----------
    y : array-like of shape (n_samples,), RankingData, JudgedRun, or a run
        A run is a :class:`~rankwise.datasets.Run`, a path, ``{query: {document: score}}`` or
        anything else that :func:`rankwise.fusion.as_run` takes; its documents are ordered and
        counted as by trec_eval, see :func:`rankwise.datasets.judge`. Otherwise, relevance grades or
        real-valued targets; larger is better. Class names are replaced by their position, 0 for the
        lowest; they require ``classes`` or an ordered categorical.
    scores : array-like of shape (n_samples,), or judgements
        For a run, its judgements in any form that :func:`rankwise.text.read_judgements` takes.
        Otherwise, finite numbers; a higher score ranks higher within its query. Whole numbers
        beyond 2^53 keep their order, or are refused if a measure reads their distances. For
        measures of predicted ranks (MAE, ZeroOne, MacroMAE, Within, Kappa), pass the predicted
        labels: numbers, or class names if y has them.
    qid : array-like of shape (n_samples,) or QueryGroups, optional
        Query of each row: any dtype, in any order. None: all rows are one query. Existing
        QueryGroups are used directly, which avoids grouping again.
    measures : str, Measure, or sequence of them
        Spec strings, see :func:`rankwise.metrics.parse`.
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
        the errors of the machine are. Every query must count for the measures; the default is
        nDCG(empty=0)@10. :func:`rankwise.selection.evaluate_with_judge` also compares systems.
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
        and the order of tied rows could change its value, or a run and its judgements are plain
        mappings, tables or files with whole numbers only, which can be read both ways.

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
    >>> evaluate({"q1": {"d1": 0.9, "d2": 0.4}}, {"q1": {"d2": 1}}, "RR")["RR"]
    0.5
    >>> y, predicted = ["poor", "good", "fair"], ["fair", "good", "fair"]
    >>> round(evaluate(y, predicted, None, "MAE", classes=["poor", "fair", "good"])["MAE"], 4)
    0.3333
    """
    arguments = Given(y, scores, qid, measures, doc_ids, retrieved, judged, pooled)
    arguments = arguments._replace(ignore_identical_ids=ignore_identical_ids)
    if judge is not None:
        return _evaluate_with_judge(arguments, judge, preset)
    y, scores, qid, measures, doc_ids, retrieved, judged, pooled, _ = unpack_rows(arguments)
    given = list_specs(measures)
    parsed = {spec if isinstance(spec, str) else str(spec): parse(spec, preset) for spec in given}
    labels, values = convert_to_values(y), convert_to_values(scores)
    are_classes = classes is not None or _holds_names(labels) or _holds_names(values)
    if not are_classes and labels.dtype.kind in "iuf":
        check_exact(y, labels, "y")
    if are_classes:
        labels, values = _class_numbers(y, scores, classes, parsed)
    elif values.ndim == 1 and values.dtype.kind in "iuf" and (abs(values) >= LARGEST_EXACT).any():
        by_order = all(measure.reads_from_top for measure in parsed.values())
        # The given items have digits that values may have lost.
        given_scores = scores if isinstance(scores, list | tuple) else convert_to_array(scores)
        values = (order_keeping_float64 if by_order else exact_float64)(given_scores, "scores")
    y, scores = _column("y", labels), _column("scores", values)
    if len(y) != len(scores):
        raise ValueError(
            f"y and scores must have the same length, got {len(y)} and {len(scores)}. "
            "Pass one label and one score per row."
        )
    known, chosen = _judgement_masks(judged, pooled, len(y))
    if known is not None:
        y = _grade_unjudged(y, known, parsed)
    if retrieved is not None:
        scores = _lower_missing(scores, retrieved, parsed)
    if any(measure.reads_from_top for measure in parsed.values()):
        _warn_if_swapped(y, scores)
    groups = QueryGroups.from_qid(qid, len(y))
    rows = ScoredRows(y, scores, groups, retrieved is not None, known, chosen)
    if doc_ids is None:
        refuse_ties_without_ids(parsed, rows, preset)
    per_query = _values_per_query(parsed, rows, doc_ids)
    warn_of_ties(_select_left_to_preset(parsed, preset), per_query, rows)
    warn_of_undefined(parsed, per_query, y)
    # A run that retrieves only relevant documents is a good one, unless grades say otherwise.
    is_table = retrieved is None or (bool(np.all(retrieved)) and y.min() < y.max())
    if is_table and len(y) > groups.n_queries and (known is None or known.all()):
        warn_of_constant(parsed, y, groups.n_queries)
    means = {spec: measure.aggregate(per_query[spec]) for spec, measure in parsed.items()}
    unjudged = _measure_unjudged(parsed, rows, doc_ids)
    return EvaluationResult(means, per_query, groups.ids, parsed, unjudged)


def _evaluate_with_judge(given: Given, machine: Any, preset: str | None) -> EvaluationResult:
    from rankwise.metrics.two_judges import DEFAULT_MEASURE, evaluate_with_machine

    run, human, measures = unpack_run(given)
    specs = [DEFAULT_MEASURE] if measures is DEFAULT_MEASURES else list_specs(measures)
    return evaluate_with_machine(run, human, machine, specs, preset)


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
    from rankwise.metrics.ranking.judged import find_unjudged_share  # loads numba

    beside = {spec: find_unjudged_share(measure) for spec, measure in measures.items()}
    known: dict[str, Measure] = {spec: m for spec, m in beside.items() if m is not None}
    values = _values_per_query(known, rows, doc_ids)
    return {spec: measure.aggregate(values[spec]) for spec, measure in known.items()}


def _select_left_to_preset(measures: dict[str, Measure], preset: str | None) -> dict[str, Measure]:
    """Measures whose rule for ties comes from the preset, rather than from the caller."""
    if preset is None:
        return {}
    return {
        spec: measure
        for spec, measure in measures.items()
        if tie_rule(measure) == "stable" and tie_rule(parse(spec)) != "stable"
    }


def _class_numbers(
    y: Any, scores: Any, classes: ArrayLike | None, measures: dict[str, Measure]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions of the classes in y, and in scores if a measure reads classes."""
    from rankwise.checks.classes import list_declared_classes, ordinal_labels  # loads scikit-learn

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
    for spec, measure in measures.items():
        if not measure.reads_from_top:
            raise ValueError(
                f"measure {spec!r} compares the scores of all rows, but {int((~mask).sum())} rows "
                "were not retrieved. Use a measure of the top of the ranking, such as nDCG@10."
            )
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
    for spec, measure in measures.items():
        if not measure.reads_from_top:
            raise ValueError(
                f"measure {spec!r} compares the labels of all rows, but {int(absent.sum())} rows "
                "are unjudged. Leave them out (RankingData.only_judged), or use a measure of the "
                "top of the ranking, such as nDCG@10."
            )
    return np.where(absent, 0.0, y)


def _mask(name: str, values: ArrayLike, n_samples: int) -> NDArray[np.bool_]:
    """One truth value per row."""
    mask = np.asarray(values)
    if mask.dtype != bool or mask.shape != (n_samples,):
        raise ValueError(
            f"{name} must hold n_samples={n_samples} truth values, got shape {mask.shape} "
            f"of dtype {mask.dtype}. Pass one per row."
        )
    return mask


def _column(name: str, values: Any) -> NDArray[Any]:
    """One real number per row; shape (n, 1) is accepted as (n,)."""
    array = convert_to_values(values)
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
