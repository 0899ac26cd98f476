"""``evaluate(..., judge=...)``: one run by human and machine judgements."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import evaluate
from rankwise.datasets import RankingData, judge
from rankwise.fusion import as_run
from rankwise.metrics.significance import prediction_powered_mean
from rankwise.selection import evaluate_with_judge


@pytest.fixture
def case(rng):
    """A run, human judgements of 20 queries (q0 not by the machine), and those of a machine."""
    documents = [f"d{d}" for d in range(8)]
    truth = {f"q{q}": {d: int(rng.random() < 0.4) for d in documents} for q in range(60)}
    machine = {q: {d: g if rng.random() < 0.7 else 1 for d, g in of.items()}
               for q, of in truth.items() if q != "q0"}  # fmt: skip
    run = {q: {d: g + 2 * rng.random() for d, g in of.items()} for q, of in truth.items()}
    return run, {q: truth[q] for q in list(truth)[:20]}, machine


def test_values_are_those_of_evaluate_and_the_estimate(case):
    run, human, machine = case
    found = evaluate(human, run, ["P@3", "RR(empty=0)"], judge=machine)
    both = {q: grades for q, grades in human.items() if q in machine}
    for spec in found:
        of_human = evaluate(both, run, spec)
        of_machine = evaluate(machine, run, spec)
        by_query = dict(zip(of_machine.qids.tolist(), of_machine.per_query[spec], strict=True))
        y = dict(zip(of_human.qids.tolist(), of_human.per_query[spec], strict=True))
        f = [by_query.pop(q) for q in y]
        wanted = prediction_powered_mean(list(y.values()), f, list(by_query.values()))
        powered = found.powered[spec]
        assert found[spec] == pytest.approx(wanted.mean)
        assert (powered.low, powered.high) == pytest.approx((wanted.low, wanted.high))
        assert dict(zip(found.qids.tolist(), found.per_query[spec], strict=True)) == y
    assert found.n_left_out == 1 and (powered.n_human, powered.n_machine) == (19, 40)
    assert "EvaluationResult of 19 queries with human and machine judgements, 40" in str(found)
    assert "1 query without machine judgements do" in str(found)


def test_it_is_the_mean_of_a_single_system(case):
    run, human, machine = case
    for preset in (None, "trec_eval"):
        found = evaluate(human, run, ["P@3"], judge=machine, preset=preset)
        several = evaluate_with_judge(human, machine, {"a": run}, ["P@3"], preset=preset)
        assert found.powered["P@3"] == several.means["P@3"]["a"]
    default = evaluate(human, run, judge=machine)
    assert list(default) == ["nDCG(empty=0)@10"]
    assert default.powered == {"nDCG(empty=0)@10": evaluate_with_judge(human, machine, {"a": run})
                               .means["nDCG(empty=0)@10"]["a"]}  # fmt: skip


def test_other_arguments_are_refused(case):
    run, human, machine = case
    y, scores = np.array([1, 0, 1]), np.array([0.3, 0.2, 0.1])
    data = RankingData(np.zeros((3, 1)), y, qid=np.zeros(3))
    rows = judge(human, run)
    for arguments in ((y, scores), (data, scores), (rows, "P@3"), (run,)):
        with pytest.raises(TypeError, match="judge needs human judgements and a run"):
            evaluate(*arguments, judge=machine)
    with pytest.raises(TypeError, match="judge needs human judgements and a run"):
        evaluate(as_run(run), human, judge=machine)
    with pytest.raises(TypeError, match="a run has its own doc_ids"):
        evaluate(human, run, "P@3", judge=machine, doc_ids=["d"])
    with pytest.raises(ValueError, match=r"nDCG@5: .* Use a measure in which all queries count"):
        evaluate(human | {"q1": {"d0": 0}}, run, "nDCG@5", judge=machine)
    with pytest.raises(ValueError, match="must share at least 3 judged queries, got 0"):
        evaluate(human, run, "P@3", judge={"other": {"d0": 1}})
