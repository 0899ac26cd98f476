"""Values and means of runs by few human and many machine judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.judgements import read_judgements
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.metrics.evaluation import evaluate
from rankwise.metrics.evaluation_result import EvaluationResult
from rankwise.metrics.measure import Measure
from rankwise.metrics.spec import parse
from rankwise.metrics.statistics.prediction_powered import PoweredMean, prediction_powered_mean
from rankwise.typing import Float64Array

# Every query counts, so that each has a human and a machine value.
DEFAULT_MEASURE = "nDCG(empty=0)@10"
_COLUMNS = (
    "",
    "estimate",
    "interval",
    "humans alone",
    "machine",
    "r",
    "weight",
    "bias",
    "p (bias)",
)


@dataclass(frozen=True, eq=False)
class TwoJudges:
    """Judgements of people and of a machine."""

    both_human: Qrels  # of the queries that both judged, as ``both_machine``
    both_machine: Qrels
    machine_only: Qrels  # of the further queries of the machine
    n_left_out: int  # number of queries that only people judged

    @classmethod
    def read(cls, human: Any, machine: Any) -> TwoJudges:
        """Read both judgements, in any form that ``read_judgements`` takes.

        ValueError is raised if they share fewer than three queries.
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
        return cls(
            _only(by_human, np.isin(by_human.qid, both)),
            _only(by_machine, is_shared),
            _only(by_machine, ~is_shared),
            len(asked) - len(both),
        )

    def measure(self, run: Run, specs: Sequence[str | Measure], preset: str | None) -> JudgedValues:
        """Values of a run per query."""
        parts = (self.both_human, self.both_machine, self.machine_only)
        qids, *values = zip(*(_values(run, qrels, specs, preset) for qrels in parts), strict=True)
        by_spec = {str(spec): list(found) for spec, found in zip(specs, values, strict=True)}
        return JudgedValues(qids[0], by_spec)


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """Values of a run per query."""

    qids: NDArray[Any]  # (n,), queries that both judged
    # By measure: human and machine values of these queries, machine values of the others
    values: dict[str, list[Float64Array]]


def evaluate_with_machine(
    run: Run, human: Any, machine: Any, specs: Sequence[str | Measure], preset: str | None
) -> EvaluationResult:
    """Prediction-powered means of one run; see :func:`rankwise.metrics.evaluate`."""
    judges = TwoJudges.read(human, machine)
    found = judges.measure(run, specs, preset)
    powered = {spec: estimate_mean(spec, values) for spec, values in found.values.items()}
    return EvaluationResult(
        {spec: estimate.mean for spec, estimate in powered.items()},
        {spec: values[0] for spec, values in found.values.items()},
        found.qids,
        {str(spec): parse(spec, preset) for spec in specs},
        powered=powered,
        n_left_out=judges.n_left_out,
    )


def estimate_mean(
    spec: str, values: Sequence[Float64Array], confidence: float = 0.95
) -> PoweredMean:
    """Mean, or mean difference, from human, machine and further machine values.

    Errors name the measure.
    """
    human, machine, machine_only = values
    try:
        return prediction_powered_mean(human, machine, machine_only, confidence=confidence)
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error


def show_estimates(rows: Mapping[str, PoweredMean]) -> list[str]:
    """Aligned lines of a table of estimates by name, after a header."""
    cells = [_COLUMNS, *(_row(name, found) for name, found in rows.items())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _values(
    run: Run, qrels: Qrels, specs: Sequence[str | Measure], preset: str | None
) -> tuple[NDArray[Any], ...]:
    """Queries in ascending order, and the values of every measure."""
    if not len(qrels):
        return (np.empty(0), *(np.empty(0) for _ in specs))
    result = evaluate(judge(run, qrels, all_queries=True), specs, preset=preset)
    order = np.argsort(result.qids)
    return (result.qids[order], *(result.per_query[str(spec)][order] for spec in specs))


def _only(qrels: Qrels, kept: NDArray[np.bool_]) -> Qrels:
    return Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])


def _row(name: str, found: PoweredMean) -> tuple[str, ...]:
    return (
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
