"""Measures of every contestant on every set, with tests, and what each did in its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.auto_ranker.contestants import AUTO, CONTESTANTS
from rankwise_papers.auto_ranker.sets import SETS
from rankwise_papers.shared_tables import ABSENT

MEASURES = ("nDCG@10", "AP")


def cell_name(name: str, number: int, contestant: str) -> str:
    """Name of a cell."""
    return f"{name}/{number}/{contestant}"


def measures(relevant: int) -> dict[str, str]:
    """Specs by title; queries without relevant rows do not count, tied rows keep their order."""
    return {"nDCG@10": "nDCG(ties=stable)@10", "AP": f"AP(rel={relevant},ties=stable)"}


def make(results: Results) -> list[ResultTable]:
    """A table for each measure, the tests over all sets, and the work."""
    return [
        *(_of_measure(results, measure) for measure in MEASURES),
        _over_all(results),
        _work(results),
    ]


def _queries(results: Results, name: str, contestant: str, measure: str) -> Float64Array | None:
    """Values of all test queries, fold by fold; None where a fold is missing."""
    cells = [
        results.get(cell_name(name, number, contestant))
        for number in range(1, SETS[name].n_folds + 1)
    ]
    found = [fold for fold in cells if fold is not None]
    if len(found) < len(cells):
        return None
    return np.concatenate([np.array(fold["test"][measure], dtype=np.float64) for fold in found])


def _tests(results: Results, measure: str) -> dict[tuple[str, str], Any]:
    """Paired test of AutoRanker against a peer on the test queries of a set."""
    tests = {}
    for name in SETS:
        ours = _queries(results, name, AUTO, measure)
        for peer in CONTESTANTS[1:]:
            other = _queries(results, name, peer, measure)
            if ours is not None and other is not None:
                tests[name, peer] = paired_test(ours, other)
    return tests


def _of_measure(results: Results, measure: str) -> ResultTable:
    tests = _tests(results, measure)
    corrected = dict(
        zip(tests, holm([test.p_value for test in tests.values()]).tolist(), strict=True)
    )
    values = []
    for name, data in SETS.items():
        for contestant in CONTESTANTS:
            found = _queries(results, name, contestant, measure)
            if found is None:
                values.append(Value(data.title, contestant, note=ABSENT))
                continue
            values.append(Value(data.title, contestant, float(np.nanmean(found))))
        for peer in CONTESTANTS[1:]:
            if (name, peer) in tests:
                values.append(Value(data.title, f"p {peer}", tests[name, peer].p_value))
                values.append(Value(data.title, f"Holm {peer}", corrected[name, peer]))
    return ResultTable(
        f"measure-{'ndcg' if measure == MEASURES[0] else 'ap'}",
        f"{measure} of the test queries",
        values,
        "Mean over test queries with a relevant row. p: two-sided paired t test of AutoRanker "
        "against the peer over the test queries of the set; Holm: corrected over all sets and "
        "peers of the table.",
    )


def _over_all(results: Results) -> ResultTable:
    """Stouffer's sum of the sets' one-sided tests, every set of equal weight."""
    found: dict[tuple[str, str], tuple[float, int, float]] = {}
    for measure in MEASURES:
        tests = _tests(results, measure)
        for peer in CONTESTANTS[1:]:
            of_peer = [test for (_, other), test in tests.items() if other == peer]
            if of_peer:
                z = [float(np.sign(t.statistic)) * norm.isf(t.p_value / 2) for t in of_peer]
                total = float(np.sum(z) / np.sqrt(len(z)))
                lead = float(np.mean([test.mean_difference for test in of_peer]))
                found[measure, peer] = (float(norm.sf(total)), len(of_peer), lead)
    corrected = dict(zip(found, holm([p for p, _, _ in found.values()]).tolist(), strict=True))
    values = []
    for (measure, peer), (p, n, lead) in found.items():
        row = f"{measure}, {peer}"
        values += [
            Value(row, "sets", n),
            Value(row, "mean lead", lead),
            Value(row, "p", p),
            Value(row, "Holm", corrected[measure, peer]),
        ]
    return ResultTable(
        "over-all",
        "AutoRanker against each peer over all sets",
        values or [Value("nDCG@10", "sets", note=ABSENT)],
        "Lead: mean over sets of the mean difference. p: one-sided, of the sets' t tests by "
        "Stouffer's method, sets of equal weight; Holm: corrected over peers and measures.",
    )


def _work(results: Results) -> ResultTable:
    values = []
    for name, data in SETS.items():
        for contestant in CONTESTANTS:
            done = _done(results, name, contestant)
            row = f"{data.title}, {contestant}"
            if not done:
                values.append(Value(row, "CPU s", note=ABSENT))
                continue
            chosen = "; ".join(dict.fromkeys(str(cell["chosen"]) for cell in done))
            values += [
                Value(row, "CPU s", float(np.mean([cell["seconds"] for cell in done]))),
                Value(row, "trials", float(np.mean([cell["trials"] for cell in done]))),
                Value(row, "validation", float(np.mean([cell["validation"] for cell in done])),
                      note=f"Chosen: {chosen}."),
            ]  # fmt: skip
    return ResultTable(
        "work",
        "What each did in its time, means over folds",
        values,
        "Validation: nDCG@10 of the validation queries that everything was chosen by.",
    )


def _done(results: Results, name: str, contestant: str) -> Sequence[Mapping[str, Any]]:
    numbers = range(1, SETS[name].n_folds + 1)
    found = [results.get(cell_name(name, number, contestant)) for number in numbers]
    return [cell for cell in found if cell is not None]
