"""Measures of this library, tie rules included, in ir_measures.

Importing the module registers the measure ``Rankwise`` and its provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rankwise._packages import missing_package
from rankwise.datasets.readers.judged_run import judge
from rankwise.metrics.evaluation import evaluate
from rankwise.metrics.spec import parse

try:
    import ir_measures as peer
except ModuleNotFoundError as error:
    if error.name != "ir_measures":
        raise
    raise missing_package(__name__, "ir_measures") from error


class RankwiseMeasure(peer.Measure):
    """A measure by its spec string, see :func:`rankwise.metrics.parse`."""

    __name__ = NAME = "Rankwise"
    PRETTY_NAME = "Measure of rankwise"
    SHORT_DESC = "A measure of rankwise by its name, with its rules for ties and empty queries."
    AT_PARAM = "cutoff"
    SUPPORTED_PARAMS = {  # noqa: RUF012 (of the base class)
        "spec": peer.measures.ParamInfo(dtype=str, required=True, desc="measure of rankwise"),
        "cutoff": peer.measures.ParamInfo(dtype=int, required=False, desc="ranking cutoff"),
    }

    def validate_params(self) -> None:
        """Raise ValueError for a string that names no measure."""
        super().validate_params()
        parse(self.spec)

    def aggregator(self) -> Any:
        """Mean over the queries for which the measure is defined."""
        return _MeanOfDefined()

    @property
    def spec(self) -> str:
        """The spec string with the cut-off."""
        return self["spec"] + (f"@{self.params['cutoff']}" if "cutoff" in self.params else "")


class RankwiseProvider(peer.Provider):
    """Values of ``Rankwise``, as :func:`rankwise.evaluate` finds them for all judged queries.

    Queries for which a measure is undefined are NaN and do not count in means.
    """

    NAME = "rankwise"

    def supports(self, measure: Any) -> bool:
        """Whether it is a measure of this library."""
        if isinstance(measure, RankwiseMeasure):
            measure.validate_params()
            return True
        return False

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(list(measures), peer.util.QrelsConverter(qrels).as_dict_of_dict())


class _Evaluator(peer.Evaluator):
    def __init__(self, measures: list[Any], qrels: Any) -> None:
        super().__init__(measures, list(qrels))
        self.qrels, self.specs = qrels, [(m.spec, m) for m in measures]

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        lists = peer.util.RunConverter(run).as_dict_of_dict()
        # As everywhere in ir_measures, judged queries without a result list count.
        judged = judge(self.qrels, lists, all_queries=True)
        result = evaluate(judged, list(dict(self.specs)))
        for spec, measure in self.specs:
            values = result.per_query[spec]
            for query, value in zip(result.qids, values, strict=True):
                yield peer.Metric(query_id=str(query), measure=measure, value=float(value))


class _MeanOfDefined(peer.MeanAgg):
    """Mean over the queries for which a measure is defined: the others are NaN."""

    def add(self, value: float) -> None:
        if value == value:
            super().add(value)


Rankwise = RankwiseMeasure()
peer.measures.register(Rankwise)
provider = RankwiseProvider()
peer.providers.register(provider)
peer.DefaultPipeline.providers.append(provider)
