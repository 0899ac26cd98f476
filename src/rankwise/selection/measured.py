"""Values per query of the measures of a comparison, including those of the report's curve.

Judged documents that are not rows (``RankingData.missed``) are treated like documents that a run
did not retrieve (:func:`rankwise.datasets.judge`): never found, but part of the ideal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.groups import QueryGroups
from rankwise.metrics import Measure, TiedScoresWarning, UndefinedMeasureWarning, evaluate, parse
from rankwise.metrics.tie_order import tie_rule
from rankwise.prediction import Predicted
from rankwise.typing import Float64Array

CURVE_CUTOFFS = range(1, 11)


def with_curve(measures: list[Measure]) -> tuple[Measure, ...]:
    """The measures, and for the report the first with a cut-off at 1 ... 10 as well."""
    first = next((m for m in measures if getattr(m, "cutoff", None) is not None), None)
    curve = [] if first is None else [replace(first, **{"cutoff": k}) for k in CURVE_CUTOFFS]
    return tuple(dict.fromkeys([*measures, *curve]))


def values_by_query(
    test: RankingData,
    told: Predicted,
    measures: Sequence[Measure],
    retrieved: NDArray[np.bool_] | None = None,
    judged: NDArray[np.bool_] | None = None,
) -> dict[str, Float64Array]:
    """Values per query of every measure, which reads predicted labels or scores.

    Missed documents count in measures that read a ranking from its top. ``judged`` is for data
    without missed documents.
    """
    found: dict[str, Float64Array] = {}
    for kind in product((False, True), repeat=2):
        wanted = [m for m in measures if (m.reads_labels, m.reads_from_top) == kind]
        if not wanted:
            continue
        y, scores, groups, mask = test.y, wanted[0].read(told), test.groups, retrieved
        doc_ids = test.doc_ids
        if test.missed is not None and wanted[0].reads_from_top:
            y, scores, groups, mask = _with_missed(test, test.missed, scores, retrieved)
            if doc_ids is not None:
                doc_ids = _all_ids(doc_ids, test.missed)
        words = {"doc_ids": doc_ids, "retrieved": mask, "judged": judged}
        with warnings.catch_warnings():  # the leaderboard says so once
            warnings.simplefilter("ignore", UndefinedMeasureWarning)
            found |= evaluate(y, scores, groups, wanted, **words).per_query
    return {str(measure): found[str(measure)] for measure in measures}


def tie_notes(
    test: RankingData,
    told: Predicted,
    measures: Sequence[str | Measure],
    preset: str | None,
    retrieved: NDArray[np.bool_] | None = None,
    *,
    brief: bool = False,
) -> list[str]:
    """Notes on measures whose value the order of tied rows decides, by the rule of the preset.

    ``brief``: without numbers, so that the notes of all folds are the same.
    """
    if preset is None:
        return []
    y, scores, groups, mask = test.y, told.scores, test.groups, retrieved
    if test.missed is not None:
        y, scores, groups, mask = _with_missed(test, test.missed, scores, retrieved)
    notes = []
    for spec in measures:
        measure = parse(spec, preset)
        if tie_rule(measure) != "stable":
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", TiedScoresWarning)
            evaluate(y, scores, groups, [spec], preset=preset, retrieved=mask)
        if caught and brief:
            notes.append(
                f"{spec}: rows with equal scores rank in the order of the rows (ties='stable'), "
                f"which decides its value. Write {measure.name}(ties=mean) for the mean over all "
                "orders."
            )
        elif caught:
            notes.append(str(caught[0].message))
    return notes


def recall_of(data: RankingData) -> float | None:
    """Share of the relevant documents that are rows, averaged over queries that have any.

    None if the data do not name their missed documents, or no query has a relevant one.
    """
    if data.missed is None:
        return None
    y, _, groups, is_row = _with_missed(data, data.missed, data.y, None)
    queries, relevant = groups.codes(), y > 0
    total = np.bincount(queries[relevant], minlength=groups.n_queries)
    found = np.bincount(queries[relevant & is_row], minlength=groups.n_queries)
    return float((found[total > 0] / total[total > 0]).mean()) if total.any() else None


def _with_missed(
    test: RankingData,
    missed: RankingData,
    scores: NDArray[Any],
    retrieved: NDArray[np.bool_] | None,
) -> tuple[Float64Array, NDArray[Any], QueryGroups, NDArray[np.bool_]]:
    """Labels, scores, queries and mask of retrieved rows, including the missed documents."""
    n = len(missed)
    is_row = np.ones(len(test), dtype=bool) if retrieved is None else retrieved
    qid = np.concatenate([test.qid, missed.qid])
    return (
        np.concatenate([test.y, missed.y]),
        np.concatenate([scores, np.zeros(n)]),
        QueryGroups.from_qid(qid, len(qid)),
        np.concatenate([is_row, np.zeros(n, dtype=bool)]),
    )


def _all_ids(doc_ids: NDArray[Any], missed: RankingData) -> NDArray[Any]:
    """Ids of the rows and of the missed documents, which are not ranked and may lack theirs."""
    ids = missed.doc_ids
    if ids is None:  # any names that no row has
        ids = np.array([f"\0{number}" for number in range(len(missed))], dtype=object)
    return np.concatenate([doc_ids.astype(object), ids.astype(object)])


def unread_labels(measures: Sequence[Measure]) -> list[str]:
    """Note on measures of predicted classes that read scores instead."""
    unread = [str(measure.name) for measure in measures if measure.reads_labels]
    return [f"it predicts no classes: {', '.join(unread)} of its scores as they are"] * bool(unread)
