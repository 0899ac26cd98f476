"""Result of :func:`rankwise.metrics.evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics.measure import Measure
from rankwise.metrics.undefined_means import why_undefined
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    from rankwise.metrics.statistics.prediction_powered import PoweredMean


@dataclass(frozen=True, eq=False)
class MeanValues(Mapping[str, float]):
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

    def __repr__(self) -> str:
        if self.powered:
            return self._show_powered()
        width = max([len(spec) for spec in self.means], default=0)
        lines = [f"EvaluationResult of {_queries(len(self.qids))}"]
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

    def _show_powered(self) -> str:
        from rankwise.metrics.two_judges import show_estimates

        first = next(iter(self.powered.values()))
        lines = [
            f"EvaluationResult of {_queries(first.n_human)} with human and machine judgements, "
            f"{first.n_machine} with those of the machine only",
            *show_estimates(self.powered),
        ]
        if self.n_left_out:
            lines.append(f"{_queries(self.n_left_out)} without machine judgements do not count")
        return join_lines(lines)


def _queries(n: int) -> str:
    return f"{n} {'query' if n == 1 else 'queries'}"
