"""Systems measured by few human and many machine judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.metrics import Measure
from rankwise.metrics.spec import list_specs
from rankwise.metrics.statistics.prediction_powered import PoweredMean
from rankwise.metrics.two_judges import (
    DEFAULT_MEASURE,
    TwoJudges,
    estimate_mean,
    show_estimates,
)
from rankwise.runtime.shown_text import join_lines


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
            lines += show_estimates({**by_system, **pairs})
        if self.n_left_out:
            lines.append(f"{self.n_left_out} queries that the machine did not judge do not count.")
        return join_lines(lines)


def evaluate_with_judge(
    systems: Mapping[str, Run | Any],
    human: Qrels | Any,
    machine: Qrels | Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT_MEASURE,
    *,
    preset: str | None = None,
    confidence: float = 0.95,
) -> MachineJudged:
    """Evaluate systems by few human and many machine judgements.

    ``evaluate(run, human, measures, judge=machine)`` does so for one run.

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
    judges = TwoJudges.read(human, machine)
    specs = list_specs(measures)
    values = {
        str(name): judges.measure(as_run(run), specs, preset).values
        for name, run in systems.items()
    }
    means, differences = {}, {}
    for spec in map(str, specs):
        found = {name: by_spec[spec] for name, by_spec in values.items()}
        means[spec] = {name: estimate_mean(spec, v, confidence) for name, v in found.items()}
        differences[spec] = {
            (a, b): estimate_mean(
                spec, [x - y for x, y in zip(found[a], found[b], strict=True)], confidence
            )
            for a, b in combinations(found, 2)
        }
    return MachineJudged(means, differences, judges.n_left_out)
