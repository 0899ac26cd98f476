"""Systems measured by few human and many machine judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.judgements import read_judgements
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.metrics import Measure, evaluate
from rankwise.metrics.spec import list_specs
from rankwise.metrics.statistics.prediction_powered import PoweredMean, prediction_powered_mean
from rankwise.typing import Float64Array

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
class MachineJudged:
    """Means of systems, and differences between them, from human and machine judgements.

    Attributes
    ----------
    means : dict of str to dict of str to PoweredMean
        By measure and system.
    differences : dict of str to dict of (str, str) to PoweredMean
        By measure and pair: the first system less the second. ``bias`` and ``bias_p`` tell whether
        the machine favours the first.
    n_left_out : int
        Queries that only humans judged, which do not count.
    """

    means: dict[str, dict[str, PoweredMean]]
    differences: dict[str, dict[tuple[str, str], PoweredMean]]
    n_left_out: int

    def to_dict(self) -> dict[str, Any]:
        """JSON values; pairs are lists of dicts with ``first`` and ``second``."""
        return {
            "means": {
                measure: {name: asdict(mean) for name, mean in by_system.items()}
                for measure, by_system in self.means.items()
            },
            "differences": {
                measure: [
                    {"first": first, "second": second, **asdict(difference)}
                    for (first, second), difference in by_pair.items()
                ]
                for measure, by_pair in self.differences.items()
            },
            "n_left_out": self.n_left_out,
        }

    def __str__(self) -> str:
        lines = []
        for measure, by_system in self.means.items():
            first = next(iter(by_system.values()))
            lines.append(
                f"{measure}: {first.n_human} queries with human and machine judgements, "
                f"{first.n_machine} with those of the machine only"
            )
            pairs = {" - ".join(pair): mean for pair, mean in self.differences[measure].items()}
            rows = {**by_system, **pairs}
            lines += _aligned([_COLUMNS, *(_row(name, found) for name, found in rows.items())])
        if self.n_left_out:
            lines.append(f"{self.n_left_out} queries that the machine did not judge do not count.")
        return "\n".join(lines)


def evaluate_with_judge(
    systems: Mapping[str, Run | Any],
    human: Qrels | Any,
    machine: Qrels | Any,
    measures: str | Measure | Sequence[str | Measure] = "nDCG(empty=0)@10",
    *,
    preset: str | None = None,
    confidence: float = 0.95,
) -> MachineJudged:
    """Evaluate systems by few human and many machine judgements.

    The intervals hold whatever the errors of the machine are, if the queries with human
    judgements are a random sample of all.

    Parameters
    ----------
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    human : Qrels, path, frame, mapping, RankingData or list of these
        Human judgements of some queries; see :func:`rankwise.text.read_judgements`.
    machine : Qrels, path, frame, mapping, RankingData or list of these
        Judgements of a machine on the same and on further queries.
    measures : str, Measure or sequence of them
        Measures for which every query counts, such as P@3 and nDCG(empty=0)@10.
    preset : str, optional
        Convention for parameters that the measures leave open, e.g. "trec_eval".
    confidence : float in (0, 1)
        Level of the intervals, for each mean and difference alone.

    Returns
    -------
    MachineJudged

    Raises
    ------
    ValueError, TypeError
        If fewer than three queries have judgements of both, or a query does not count for a
        measure.

    Notes
    -----
    A query without documents in a run counts as not answered. Documents that one of the judges
    did not judge count as not relevant in the values of this judge. See
    :func:`rankwise.metrics.significance.prediction_powered_mean` for the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = {f"q{q}": {f"d{d}": int(rng.random() < 0.4) for d in range(8)} for q in range(200)}
    >>> machine = {q: {d: g if rng.random() < 0.8 else 1 for d, g in grades.items()}
    ...            for q, grades in truth.items()}
    >>> human = {q: truth[q] for q in list(truth)[:40]}
    >>> run = {q: {d: rng.random() for d in grades} for q, grades in truth.items()}
    >>> found = evaluate_with_judge({"a": run}, human, machine, "P@3").means["P@3"]["a"]
    >>> round(found.machine_mean, 2), round(found.bias, 2), round(found.mean, 2)
    (0.5, 0.1, 0.35)
    """
    if not isinstance(systems, Mapping) or not systems:
        raise TypeError(
            f"systems must map names to runs, got {type(systems).__name__}. Pass for example "
            "{'new': run, 'old': other_run}."
        )
    by_human, by_machine = read_judgements(human), read_judgements(machine)
    asked = np.unique(by_human.qid)
    both = np.intersect1d(asked, by_machine.qid)
    if len(both) < 3:
        raise ValueError(
            f"human and machine must share at least 3 judged queries, got {len(both)}. Let the "
            "machine judge the queries with human judgements, too."
        )
    specs = list_specs(measures)
    values = {
        str(name): _values(as_run(run), by_human, by_machine, both, specs, preset)
        for name, run in systems.items()
    }
    means, differences = {}, {}
    for spec in map(str, specs):
        found = {name: by_spec[spec] for name, by_spec in values.items()}
        means[spec] = {name: _estimate(spec, v, confidence) for name, v in found.items()}
        differences[spec] = {
            (a, b): _estimate(
                spec, [x - y for x, y in zip(found[a], found[b], strict=True)], confidence
            )
            for a, b in combinations(found, 2)
        }
    return MachineJudged(means, differences, len(asked) - len(both))


def _values(
    run: Run,
    human: Qrels,
    machine: Qrels,
    both: np.ndarray[Any, Any],
    specs: list[str | Measure],
    preset: str | None,
) -> dict[str, list[Float64Array]]:
    """By measure: human and machine values of the queries of both, machine values of the others."""
    parts = (
        _only(human, np.isin(human.qid, both)),
        _only(machine, np.isin(machine.qid, both)),
        _only(machine, ~np.isin(machine.qid, both)),
    )
    found: dict[str, list[Float64Array]] = {str(spec): [] for spec in specs}
    for qrels in parts:
        if not len(qrels):
            for values in found.values():
                values.append(np.empty(0))
            continue
        result = evaluate(judge(run, qrels, all_queries=True), specs, preset=preset)
        order = np.argsort(result.qids)
        for spec, values in found.items():
            values.append(result.per_query[spec][order])
    return found


def _only(qrels: Qrels, kept: np.ndarray[Any, Any]) -> Qrels:
    return Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])


def _estimate(spec: str, values: Sequence[Float64Array], confidence: float) -> PoweredMean:
    human, machine, machine_only = values
    try:
        return prediction_powered_mean(human, machine, machine_only, confidence=confidence)
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error


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


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
