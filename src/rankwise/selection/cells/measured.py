"""Values per query of the measures of a comparison, including those of the report's curve.

Judged documents that are not rows (``RankingData.missed``) are treated like documents that a run
did not retrieve (:func:`rankwise.datasets.judge`): never found, but part of the ideal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.groups import QueryGroups
from rankwise.metrics import (
    Measure,
    TiedScoresWarning,
    UndefinedMeasureWarning,
    confusion,
    evaluate,
    parse,
)
from rankwise.metrics.evaluation import tie_rule
from rankwise.metrics.measure import is_own
from rankwise.metrics.measures.relevance import find_unjudged_share
from rankwise.prediction import Predictions, innermost
from rankwise.runtime.messages import ArgumentError
from rankwise.selection.cells.result_store import DONE, FoldInfo, FoldResult
from rankwise.typing import Float64Array

CURVE_CUTOFFS = range(1, 11)


@dataclass(frozen=True)
class Measurement:
    """Measures of a comparison, and how they are evaluated."""

    given: list[str | Measure]
    preset: str | None = None  # convention for parameters that specs leave open
    # whether notes leave out numbers, so that the notes of all folds are the same
    is_brief: bool = False

    def __post_init__(self) -> None:
        if not self.named:  # parsed here, so that errors come before any work
            raise ValueError("measures must name at least one measure, got none.")

    @cached_property
    def named(self) -> dict[str, Measure]:
        """Measures by the name that the user gave them; the first orders the leaderboard."""
        return {m if isinstance(m, str) else str(m): parse(m, self.preset) for m in self.given}

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, and for the report the first with a cut-off at 1 ... 10 as well."""
        named = [*self.named.values()]
        first = next((m for m in named if getattr(m, "cutoff", None) is not None), None)
        curve = [] if first is None else [replace(first, **{"cutoff": k}) for k in CURVE_CUTOFFS]
        return tuple(dict.fromkeys([*named, *curve]))

    @property
    def own_directions(self) -> dict[str, bool]:
        """Whether larger is better, of the measures of the user's own by their full specs."""
        return {str(m): m.greater_is_better for m in self.measures if is_own(m)}

    def check_differing(self, n_queries: int) -> None:
        """Raise ValueError if a measure reads classes, or rankings can differ on no query."""
        classes = [str(measure.name) for measure in self.measures if measure.reads_labels]
        if classes:
            problem = (
                f"measures of rankings, but {classes[0]} reads predicted classes, which can differ "
                "on every query. Leave one of them out."
            )
        elif not n_queries:
            problem = (
                "a query with rows of different grades, but rankings cannot differ on any. Drop it."
            )
        else:
            return
        raise ArgumentError("differing_queries", f"needs {problem}")

    def find_uniform(
        self, test: RankingData, retrieved: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Mask of the queries for which every ranking of their rows has the same measures.

        Their rows have one grade, and all of a grade above 0 are retrieved.
        """
        groups = test.groups
        if any(measure.reads_labels for measure in self.measures):
            return np.zeros(groups.n_queries, dtype=bool)
        y, starts = test.grades, groups.indptr[:-1]
        found = y if retrieved is None else np.where(retrieved, y, 0.0)
        high = np.maximum.reduceat(groups.sort(y), starts)
        return high == np.minimum.reduceat(groups.sort(found), starts)

    def fill(
        self,
        empty: FoldResult,
        test: RankingData,
        told: Predictions,
        retrieved: NDArray[np.bool_] | None = None,
        judged: NDArray[np.bool_] | None = None,
        pooled: NDArray[np.bool_] | None = None,
        notes: Sequence[str] = (),
    ) -> FoldResult:
        """The result with values per query, notes and the scores of rows that all have one.

        If it is known which rows are judged, by ``judged`` or by the test part, the values include
        the share of unjudged rows beside each measure.
        """
        judged = test.judged if judged is None else judged
        ties = self._tie_notes(test, told, retrieved)
        unread = [str(measure.name) for measure in self.measures if measure.reads_labels]
        if unread and told.labels is None:
            ties.append(f"it predicts no classes: {', '.join(unread)} of its scores as they are")
        beside = [] if judged is None else map(find_unjudged_share, self.named.values())
        measures = dict.fromkeys([*self.measures, *(m for m in beside if m is not None)])
        return replace(
            empty,
            status=DONE,
            notes=[*notes, *ties],
            values=values_by_query(test, told, [*measures], retrieved, judged, pooled),
            scores=told.scores if retrieved is None else None,
        )

    def _tie_notes(
        self, test: RankingData, told: Predictions, retrieved: NDArray[np.bool_] | None
    ) -> list[str]:
        """Notes on measures whose value the order of tied rows decides, by the preset's rule."""
        if self.preset is None:
            return []
        y, scores, groups, mask = test.grades, told.scores, test.groups, retrieved
        if test.missed is not None:
            y, scores, groups, mask = _add_missed(test, test.missed, scores, retrieved)
        notes = []
        for spec in self.given:
            measure = parse(spec, self.preset)
            if tie_rule(measure) != "stable":
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", TiedScoresWarning)
                evaluate(y, scores, groups, [spec], preset=self.preset, retrieved=mask)
            if caught and self.is_brief:
                notes.append(
                    f"{spec}: rows with equal scores rank in the order of the rows "
                    f"(ties='stable'), which decides its value. Write {measure.name}(ties=mean) "
                    "for the mean over all orders."
                )
            elif caught:
                notes.append(str(caught[0].message))
        return notes


def values_by_query(
    test: RankingData,
    told: Predictions,
    measures: Sequence[Measure],
    retrieved: NDArray[np.bool_] | None = None,
    judged: NDArray[np.bool_] | None = None,
    pooled: NDArray[np.bool_] | None = None,
) -> dict[str, Float64Array]:
    """Values per query of every measure, which reads predicted labels or scores.

    Missed documents count in measures that read a ranking from its top; they are judged.
    ``pooled`` is for data without them.
    """
    found: dict[str, Float64Array] = {}
    for kind in product((False, True), repeat=2):
        wanted = [m for m in measures if (m.reads_labels, m.reads_from_top) == kind]
        if not wanted:
            continue
        y, scores, groups, mask = test.y, wanted[0].read(told), test.groups, retrieved
        doc_ids, known = test.doc_ids, judged
        if test.missed is not None and wanted[0].reads_from_top:
            y, scores, groups, mask = _add_missed(test, test.missed, scores, retrieved)
            if doc_ids is not None:
                of_missed = test.missed.doc_ids
                if of_missed is None:  # they are not ranked: any names that no row has
                    of_missed = np.array([f"\0{i}" for i in range(len(test.missed))], dtype=object)
                doc_ids = np.concatenate([doc_ids.astype(object), of_missed.astype(object)])
            if known is not None:
                known = np.append(known, np.ones(len(test.missed), dtype=bool))
        words = {"doc_ids": doc_ids, "retrieved": mask, "judged": known, "pooled": pooled}
        with warnings.catch_warnings():  # the leaderboard says so once
            warnings.simplefilter("ignore", UndefinedMeasureWarning)
            found |= evaluate(y, scores, groups, wanted, **words).per_query
    return {str(measure): found[str(measure)] for measure in measures}


def mark_uniform(
    infos: Sequence[FoldInfo],
    cells: Sequence[FoldResult],
    uniform: Sequence[NDArray[np.bool_]],
    *,
    differing_queries: bool,
) -> tuple[list[FoldInfo], list[FoldResult]]:
    """Folds with the number of queries on which rankers cannot differ; values NaN if left out.

    ``uniform`` are those of :meth:`Measurement.find_uniform`. All values must be equal, too: a run
    in :func:`rankwise.compare` may lack some rows, and measures may read more than grades.
    """
    counted, masks = [], {}
    for info, mask in zip(infos, uniform, strict=True):
        done = [cell for cell in cells if cell.fold == info.name and cell.values]
        tables = [np.array([*cell.values.values()]) for cell in done]
        for table in tables[1:]:
            mask = mask & ((table == tables[0]) | np.isnan(table + tables[0])).all(axis=0)
        counted.append(replace(info, n_uniform=int(mask.sum())))
        masks[info.name] = mask
    if not differing_queries:
        return counted, [*cells]
    return counted, [
        replace(
            cell,
            values={s: np.where(masks[cell.fold], np.nan, v) for s, v in cell.values.items()},
        )
        for cell in cells
    ]


def recall_of(data: RankingData) -> float | None:
    """Share of the relevant documents that are rows, averaged over queries that have any.

    None if the data do not name their missed documents, or no query has a relevant one.
    """
    if data.missed is None:
        return None
    y, _, groups, is_row = _add_missed(data, data.missed, data.grades, None)
    queries, relevant = groups.codes(), y > 0
    total = np.bincount(queries[relevant], minlength=groups.n_queries)
    found = np.bincount(queries[relevant & is_row], minlength=groups.n_queries)
    return float((found[total > 0] / total[total > 0]).mean()) if total.any() else None


def _add_missed(
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
        np.concatenate([test.grades, missed.y]),
        np.concatenate([scores, np.zeros(n)]),
        QueryGroups.from_qid(qid, len(qid)),
        np.concatenate([is_row, np.zeros(n, dtype=bool)]),
    )


N_BINS = 60
N_NARROW = 200
MOST_CLASSES = 50
# Scores outside this share of the rows do not stretch the axis.
_OUTER = 0.005


def summarise_predicted_ranks(
    estimator: Any, y: Float64Array, told: Predictions, shares: Float64Array | None = None
) -> dict[str, Any]:
    """Counts of predicted ranks, histograms of scores around thresholds, and calibration.

    ``told`` are predictions for the rows labelled ``y``, and ``shares`` (n_samples, n_classes) the
    probabilities of the estimator's classes.

    The result has ``classes``, all that occur or were fitted, ascending, and ``counts[i][j]``, the
    number of rows of class i predicted as class j. If the estimator has ``thresholds_``, it also
    has ``thresholds``, ``edges`` of a histogram of the scores, and ``heights[i][b]``, the number of
    rows of class i in bin b. With probabilities, it also has ``calibration``, see
    :func:`cumulative_counts`. It is empty if no classes, or more than 50, are predicted.
    """
    if told.labels is None:
        return {}
    last = innermost(estimator)
    classes = np.unique(np.concatenate([last.classes_, y, told.labels]).astype(np.float64))
    if len(classes) > MOST_CLASSES:
        return {}
    found: dict[str, Any] = {
        "classes": classes.tolist(),
        "counts": confusion(y, told.labels, classes).counts.tolist(),
    }
    if shares is not None and len(y):
        found["calibration"] = cumulative_counts(y, shares, last.classes_.astype(np.float64))
    thresholds = getattr(last, "thresholds_", None)
    if thresholds is None or not len(y):
        return found
    edges = bin_edges(told.scores, np.asarray(thresholds, dtype=np.float64))
    heights = [np.histogram(told.scores[y == k], edges)[0].tolist() for k in classes]
    return found | {
        "thresholds": np.asarray(thresholds, dtype=np.float64).tolist(),
        "edges": edges.tolist(),
        "heights": heights,
    }


def cumulative_counts(
    y: Float64Array, shares: Float64Array, classes: Float64Array
) -> list[dict[str, Any]]:
    """Rows by the probability of lying above a class, in narrow bins that can be summed.

    For each class except the highest: ``label`` and, by bin, ``sums`` of the probabilities,
    ``counts`` of the rows, and the number of rows ``above`` the class. Bins have equal widths in
    the arcsine of the square root; ``bins`` holds the numbers of the non-empty bins.
    """
    above = np.clip(np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1], 0.0, 1.0)
    found = []
    for k, label in enumerate(classes[:-1].tolist()):
        angle = np.arcsin(np.sqrt(above[:, k])) / (np.pi / 2)  # closer bins near 0 and 1
        place = np.minimum((angle * N_NARROW).astype(np.int64), N_NARROW - 1)
        bins, atom, counts = np.unique(place, return_inverse=True, return_counts=True)
        found.append(
            {
                "label": label,
                "bins": bins.tolist(),
                "sums": np.bincount(atom, above[:, k]).tolist(),
                "counts": counts.tolist(),
                "above": np.bincount(atom, y > label).tolist(),
            }
        )
    return found


def bin_edges(scores: Float64Array, thresholds: Float64Array) -> Float64Array:
    """Edges of a histogram that covers nearly all scores and the thresholds between them."""
    low, high = np.quantile(scores, [_OUTER, 1 - _OUTER])
    within = thresholds[(thresholds >= scores.min()) & (thresholds <= scores.max())]
    low, high = min([low, *within]), max([high, *within])
    margin = 0.02 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, N_BINS + 1)
