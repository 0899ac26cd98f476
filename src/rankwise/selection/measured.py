"""Values per query of the measures of a comparison, those of the report's curve among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.metrics import Measure, evaluate
from rankwise.metrics.predicting import Predicted
from rankwise.typing import Float64Array

CURVE_CUTOFFS = range(1, 11)


def with_curve(measures: list[Measure]) -> tuple[Measure, ...]:
    """The measures, and the first that has a cut-off at 1 ... 10 as well, for the report."""
    first = next((m for m in measures if getattr(m, "cutoff", None) is not None), None)
    curve = [] if first is None else [replace(first, **{"cutoff": k}) for k in CURVE_CUTOFFS]
    return tuple(dict.fromkeys([*measures, *curve]))


def values_by_query(
    test: RankingData,
    told: Predicted,
    measures: Sequence[Measure],
    retrieved: NDArray[np.bool_] | None = None,
) -> dict[str, Float64Array]:
    """Values per query of every measure, of the labels or the scores as it reads them."""
    found: dict[str, Float64Array] = {}
    for of_labels in (False, True):
        wanted = [m for m in measures if m.reads_labels == of_labels]
        if wanted:
            found |= evaluate(
                test.y, told.read_by(wanted[0]), test.groups, wanted, retrieved=retrieved
            ).per_query
    return {str(measure): found[str(measure)] for measure in measures}


def unread_labels(measures: Sequence[Measure]) -> list[str]:
    """A note where measures of predicted classes take scores as these."""
    unread = [str(measure.name) for measure in measures if measure.reads_labels]
    return [f"it predicts no classes: {', '.join(unread)} of its scores as they are"] * bool(unread)
