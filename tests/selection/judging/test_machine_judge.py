"""Systems measured by few human and many machine judgements."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run
from rankwise.metrics import evaluate
from rankwise.metrics.significance import prediction_powered_mean
from rankwise.selection import evaluate_with_judge


def case(rng, n_queries=120, n_human=30, favoured=0.0):
    """(systems, human, machine judgements, all human judgements).

    The machine calls the best document of system "a" relevant in a share ``favoured`` of queries.
    """
    names = [f"d{d}" for d in range(12)]
    queries = [f"q{q}" for q in range(n_queries)]
    complete = {q: {d: int(rng.random() < 0.35) for d in names} for q in queries}
    systems = {
        name: {q: {d: g * gain + rng.random() for d, g in complete[q].items()} for q in queries}
        for name, gain in (("a", 0.3), ("b", 0.3), ("c", 0.6))
    }
    machine = {
        q: {d: g if rng.random() < 0.85 else int(rng.random() < 0.6) for d, g in grades.items()}
        for q, grades in complete.items()
    }
    for q in queries:
        if rng.random() < favoured:
            machine[q][max(systems["a"][q], key=systems["a"][q].get)] = 1
    chosen = rng.permutation(queries)[:n_human].tolist()
    return systems, {q: complete[q] for q in chosen}, machine, complete


@pytest.mark.parametrize("spec", ["P@3", "nDCG(empty=0)@5"])
def test_estimates_are_those_of_the_values_per_query(rng, spec):
    systems, human, machine, _ = case(rng)
    found = evaluate_with_judge(human, machine, systems, [spec, "RR(empty=0)"])
    values = {}
    for name, run in systems.items():
        results = [evaluate(qrels, run, spec) for qrels in (human, machine)]
        by_query = [dict(zip(r.qids.tolist(), r.per_query[spec], strict=True)) for r in results]
        others = sorted(set(machine) - set(human))
        values[name] = (
            np.array([by_query[0][q] for q in sorted(human)]),
            np.array([by_query[1][q] for q in sorted(human)]),
            np.array([by_query[1][q] for q in others]),
        )
        assert found.means[spec][name] == prediction_powered_mean(*values[name])
        assert found.means[spec][name].n_human == 30 and found.means[spec][name].n_machine == 90
    for (first, second), difference in found.differences[spec].items():
        pairs = zip(values[first], values[second], strict=True)
        assert difference == prediction_powered_mean(*[a - b for a, b in pairs])
    assert list(found.differences[spec]) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.n_left_out == 0


def test_the_true_mean_of_all_queries_is_covered_though_the_machine_is_lenient(rng):
    hits, errors = 0, []
    for _ in range(60):
        systems, human, machine, complete = case(rng, favoured=0.9)
        [found] = evaluate_with_judge(human, machine, {"a": systems["a"]}, "P@3").means.values()
        truth = evaluate(complete, systems["a"], "P@3")["P@3"]
        hits += found["a"].low <= truth <= found["a"].high
        errors.append(found["a"].machine_mean - truth)
    assert hits >= 54 and np.mean(errors) > 0.04


def test_a_machine_that_favours_one_system_is_told(rng):
    systems, human, machine, _ = case(rng, n_human=60, favoured=0.9)
    found = evaluate_with_judge(human, machine, systems, "P@1").differences["P@1"]
    assert found["a", "b"].bias > 0.1 and found["a", "b"].bias_p < 0.01
    assert found["b", "c"].bias_p > 0.01
    systems, human, machine, _ = case(rng, n_human=60)
    fair = evaluate_with_judge(human, machine, systems, "P@1").differences["P@1"]
    assert fair["a", "b"].bias_p > 0.01


def test_the_table_names_systems_and_pairs(rng):
    systems, human, machine, _ = case(rng)
    human["only"] = {"d1": 1}
    found = evaluate_with_judge(human, machine, systems, "P@3")
    lines = str(found).splitlines()
    assert lines[0].startswith("P@3: 30 queries with human and machine judgements, 90 with")
    assert [line.split("  ")[0] for line in lines[2:8]] == [
        "a",
        "b",
        "c",
        "a - b",
        "a - c",
        "b - c",
    ]
    estimate = found.means["P@3"]["a"]
    assert re.match(
        rf"a +{estimate.mean:.4f} +{estimate.low:.4f} to {estimate.high:.4f} ", lines[2]
    )
    assert lines[-1] == "1 queries that the machine did not judge do not count."


def test_objects_of_every_form_are_taken(rng):
    systems, human, machine, _ = case(rng, n_queries=20, n_human=5)

    def columns(tree):
        rows = [(q, d, v) for q, values in tree.items() for d, v in values.items()]
        return [np.array(column) for column in zip(*rows, strict=True)]

    same = evaluate_with_judge(
        Qrels(*columns(human)), Qrels(*columns(machine)), {"a": Run(*columns(systems["a"]))}, "P@3"
    )
    assert same.means == evaluate_with_judge(human, machine, {"a": systems["a"]}, "P@3").means


def test_bad_arguments_are_named(rng):
    systems, human, machine, _ = case(rng)
    with pytest.raises(TypeError, match="systems must map names to runs, got list"):
        evaluate_with_judge(human, machine, [systems["a"]])
    two = dict(list(human.items())[:2])
    with pytest.raises(ValueError, match="must share at least 3 judged queries, got 2"):
        evaluate_with_judge(two, machine, systems)
    human[next(iter(human))] = dict.fromkeys([f"d{d}" for d in range(12)], 0)
    with pytest.raises(ValueError, match=r"nDCG@5: human must be finite.*empty=0"):
        evaluate_with_judge(human, machine, systems, "nDCG@5")
    evaluate_with_judge(human, machine, systems)
    evaluate_with_judge(human, machine, systems, "ndcg_cut_5", preset="trec_eval")
