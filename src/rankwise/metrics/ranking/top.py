"""Base classes of the measures of a ranked list, with rules for ties, cut-off and empty queries."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics.conventions import (
    EMPTY,
    TIES,
    Empty,
    check_choice,
    check_cutoff,
    check_number,
    value_of_empty,
)
from rankwise.metrics.measure import Measure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array

# Smallest positive number: grades from here on have a gain.
SMALLEST_GRADE = float(np.nextafter(0.0, 1.0))
_DEEPEST = int(np.iinfo(np.int64).max)


def make_judged_only_field() -> Any:
    """Field ``judged_only`` of a measure, which is printed only if it is set.

    It says whether to leave rows without a judgement out of the ranking (condensed list, Sakai
    2007).
    """
    return field(default=False, kw_only=True, metadata={"only_if_set": True})


class TopMeasure(Measure):
    """Base class of measures that read a ranking from its top.

    Subclasses declare the fields ``empty``, ``ties`` and ``cutoff``, which are only annotated here.
    Thus each class prints its parameters in its own order. Those that can leave unjudged rows out
    declare ``judged_only`` with :func:`make_judged_only_field`.
    """

    reads_from_top: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    tie_rules: ClassVar[tuple[str, ...]] = TIES

    empty: Empty  # 0, 1, "skip" or "nan": value of a query for which the measure is undefined
    ties: str  # order of rows with equal scores, one of ``tie_rules``
    cutoff: int | None  # number of ranks that count, >= 1; None: all
    judged_only: bool = False

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)
        check_choice(self.name, "ties", self.ties, self.tie_rules)
        check_cutoff(self.name, self.cutoff)
        if not isinstance(self.judged_only, bool):
            raise ValueError(
                f"{self.name}: judged_only must be True or False, got {self.judged_only!r}."
            )

    @property
    def depth(self) -> int:
        """Cut-off in the form of the kernels: 0 for none, and no more than they can hold."""
        return min(self.cutoff or 0, _DEEPEST)

    @property
    def nanoseconds_per_row(self) -> float:
        few = self.cutoff is not None and self.cutoff <= 20 and self.ties in ("mean", "stable")
        return 4.0 if few else 16.0

    @property
    def reads_judgements(self) -> bool:
        return self.judged_only

    def prepare(self, scored: ScoredGroups) -> None:
        if self.judged_only:
            self.read_judged(scored)
        if self.ties in TIES:
            scored.need(self.ties, self.cutoff)
        else:
            scored.need("stable", None)

    def read_judged(self, scored: ScoredGroups) -> NDArray[np.bool_]:
        """Mask of the judged rows; ValueError if the rows do not say which are judged."""
        if scored.judged is None:
            name = f"{self.name}(judged_only=True)" if self.judged_only else self.name
            raise ValueError(
                f"{name} depends on which rows are judged, but the rows do not say which are "
                "judged. Evaluate a run with its judgements, or pass judged, one truth value per "
                "row."
            )
        return scored.judged

    def aggregate(self, values: Float64Array) -> float:
        if self.empty == "nan" and np.isnan(values).any():
            return math.nan
        return super().aggregate(values)

    def fill_empty(self, values: Float64Array, gain: NDArray[Any]) -> Float64Array:
        """Fill in the convention's value for queries without possible gain."""
        return np.where(gain > 0, values, value_of_empty(self.empty))


class BinaryMeasure(TopMeasure):
    """Base class of measures that only distinguish grades of at least ``rel`` from others."""

    rel: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "rel", self.rel, -math.inf, math.inf, open_ends=True)

    def sums(self, scored: ScoredGroups) -> Float64Array:
        """Result of ``ScoredGroups.relevance`` for the parameters of this measure."""
        return scored.relevance(self.ties, self.rel, self.depth)
