"""Held-out scores of the trials of :class:`AutoRanker`, and the selection of trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.metrics.statistics.paired import paired_test
from rankwise.metrics.undefined_means import refuse_constant
from rankwise.rankers.ensemble.auto_rows import TrialRows
from rankwise.rankers.ensemble.auto_trials import FAMILIES, Trial
from rankwise.runtime.time_limit import limit_time
from rankwise.typing import Float64Array

LEVEL = 0.01
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, eq=False)
class Member:
    """Trial that was fitted on every part."""

    trial: Trial
    models: list[Any]  # one for each part
    # (n_parts,), spread of the scores of each model within queries that it has not seen, see
    # :func:`spread`.
    scales: Float64Array
    levels: Float64Array  # (n_parts,), mean score of each model for rows that it has not seen
    # (n_held_rows,), of the left-out rows, minus the levels and divided by the scales.
    scores: Float64Array
    value: float  # mean measure of the scores; larger is better
    seconds: float  # time of the trial
    is_cut: bool  # whether the time limit of the trial ended its search of penalties

    @property
    def seconds_a_tree(self) -> float:
        """Seconds per tree, summed over the parts, including trees removed by early stopping."""
        n_trees = np.mean([len(model.validation_scores_) for model in self.models])
        return self.seconds / max(float(n_trees), 1.0)


@dataclass(frozen=True, eq=False)
class WeightedBlend:
    """Weighted sum of members."""

    # (n_held_rows,), with spread 1 within the held-out queries, up to rounding.
    scores: Float64Array
    weights: dict[int, float]  # of the members by number


class HeldOut:
    """Rows that the parts leave out, with a measure of their scores.

    Each of the ``parts`` holds rows for fitting and rows for scoring.
    """

    def __init__(self, parts: list[tuple[TrialRows, TrialRows]], measure: Measure) -> None:
        self.parts, self._measure = parts, measure
        self._y = np.concatenate([held.y for _, held in parts])
        counts = [len(held.y) for _, held in parts]
        qid = np.concatenate([held.qid for _, held in parts])
        # Rows of a query in two parts count as two queries, because different models score them.
        part = np.repeat(np.arange(len(parts)), counts)
        self._groups = QueryGroups.from_qid(part * (int(qid.max()) + 1) + qid, len(qid))

    def check(self) -> None:
        """Raise ValueError if the measure does not support the labels, or cannot tell orders."""
        self._measure.per_query(self._y, np.zeros(len(self._y)), self._groups)
        refuse_constant(self._measure, self._y, "The models")

    def fit(self, trial: Trial, clock: Callable[[], float], seconds: float | None = None) -> Member:
        """Fit a trial on every part, each within its share of the seconds.

        Raises TimeLimitError if a part has no solution in time.
        """
        start, is_cut = clock(), False
        models, scores, scales, levels = [], [], [], []
        for number, (rows, held) in enumerate(self.parts, 1):
            model: Any = clone(trial.estimator)
            end = inf if seconds is None else start + seconds * number / len(self.parts)
            with limit_time(lambda end=end: end - clock()) as limit:
                model.fit(
                    rows.of(trial.family), rows.y, qid=rows.qid, sample_weight=rows.weight,
                    X_val=held.of(trial.family), y_val=held.y, qid_val=held.qid,
                )  # fmt: skip
            is_cut |= limit.is_reached
            found = model.predict(held.of(trial.family))
            models.append(model)
            scales.append(spread(found, held.groups))
            levels.append(float(found.mean()))
            centred = found - levels[-1]
            scores.append(centred / scales[-1] if scales[-1] > 0 else np.zeros(len(found)))
        joined = np.concatenate(scores)
        value, took = self.value(joined), clock() - start
        return Member(
            trial, models, np.array(scales), np.array(levels), joined, value, took, is_cut
        )

    def value(self, scores: Float64Array) -> float:
        """Mean of the measure over the queries; larger is better."""
        return float(np.nanmean(self.values(scores)))

    def blend(self, blends: Sequence[WeightedBlend]) -> WeightedBlend:
        """Equal-weight mean of the members that are :meth:`kept`."""
        kept = [blends[place] for place in self.kept([blend.scores for blend in blends])]
        mean = np.mean([blend.scores for blend in kept], axis=0)
        scale = spread(mean, self._groups) or 1.0
        weights: dict[int, float] = {}
        for blend in kept:
            for number, weight in blend.weights.items():
                weights[number] = weights.get(number, 0.0) + weight / (len(kept) * scale)
        return WeightedBlend(mean / scale, weights)

    def values(self, scores: Float64Array) -> Float64Array:
        """Measure of every query, larger is better; a single value if no query has one."""
        values = self._measure.per_query(self._y, scores, self._groups)
        values = values if self._measure.greater_is_better else -values
        return values if np.isfinite(values).any() else np.zeros(1)

    def kept(self, scores: Sequence[Float64Array]) -> list[int]:
        """Positions of the scores whose equal-weight mean is kept.

        While the mean without one of the scores is clearly better than with it (one-sided paired t
        test by query at :data:`LEVEL`), the score whose removal helps most is dropped. If the
        remaining mean is clearly worse than the best score alone, only the best is kept.
        """
        places = list(range(len(scores)))
        mean = self.values(np.mean(scores, axis=0))
        while len(places) > 1:
            without = [
                self.values(np.mean([scores[k] for k in places if k != place], axis=0))
                for place in places
            ]
            best = int(np.argmax([np.nanmean(values) for values in without]))
            if not is_clearly_better(without[best], mean):
                break
            mean = without[best]
            del places[best]
        alone = [self.values(member_scores) for member_scores in scores]
        best = int(np.argmax([np.nanmean(values) for values in alone]))
        return [best] if is_clearly_better(alone[best], mean) else places


def best_trials(members: Sequence[Member]) -> list[Trial]:
    """Best trial of each family."""
    found = []
    for family in FAMILIES:
        of_family = [member for member in members if member.trial.family == family]
        if of_family:
            found.append(max(of_family, key=lambda member: member.value).trial)
    return found


def blend_families(
    held: HeldOut, members: Sequence[Member]
) -> tuple[WeightedBlend, dict[str, float]]:
    """Blend of the members and families that are kept, and the values of families and blend."""
    blends: dict[str, WeightedBlend] = {}
    values: dict[str, float] = {}
    for family in FAMILIES:
        family_members = {k: m for k, m in enumerate(members) if m.trial.family == family}
        alone = [
            WeightedBlend(m.scores, {k: 1.0}) for k, m in family_members.items() if m.scales.any()
        ]
        if alone:
            blends[family] = held.blend(alone)
            values[family] = max(member.value for member in family_members.values())
            values[f"{family} all"] = held.value(blends[family].scores)
    smooth = [blends[family] for family in ("linear", "nodes") if family in blends]
    halves = [held.blend(smooth)] if smooth else []
    halves += [blends["trees"]] if "trees" in blends else []
    blend = held.blend(halves) if halves else WeightedBlend(members[0].scores, {0: 0.0})
    values["blend"] = held.value(blend.scores)
    return blend, values


def is_clearly_better(a: Float64Array, b: Float64Array) -> bool:
    """Whether the values per query ``a`` exceed ``b`` in a one-sided paired t test."""
    return paired_test(a, b, alternative="greater").p_value < LEVEL


def spread(scores: Float64Array, groups: QueryGroups) -> float:
    """Root mean square of the standard deviations of scores within the queries."""
    codes = groups.codes()
    sizes = np.maximum(np.bincount(codes, minlength=groups.n_queries), 1)
    lowest = scores - scores.min()
    means = np.bincount(codes, lowest, groups.n_queries) / sizes
    squares = np.bincount(codes, (lowest - means[codes]) ** 2, groups.n_queries) / sizes
    return float(np.sqrt(squares.mean()))
