"""Our measures in ir_measures."""

from __future__ import annotations

import pytest

from rankwise import evaluate
from rankwise.datasets import judge

peer = pytest.importorskip("ir_measures")
# q3 has nothing relevant, q4 no result list.
QRELS = {
    "q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d1": 0, "d2": 1}, "q3": {"d1": 0}, "q4": {"d1": 1},
}  # fmt: skip
RUN = {
    "q1": {"d1": 1.0, "d2": 1.0, "d3": 0.5},
    "q2": {"d1": 3.0, "d2": 3.0, "d9": 4.0},
    "q3": {"d1": 1.0},
}


@pytest.mark.parametrize("spec", ["nDCG(ties=mean)@2", "AP", "RR(ties=worst)", "ERR@3", "P@1"])
def test_values_are_ours(spec):
    from rankwise.integrations.ir_measures import Rankwise, provider

    ours = evaluate(judge(QRELS, RUN, all_queries=True), spec)
    measure = Rankwise(spec=spec)
    together = peer.calc_aggregate([measure, peer.NumRet], QRELS, RUN)
    assert together[measure] == pytest.approx(ours[spec], abs=1e-15)
    assert provider.calc_aggregate([measure], QRELS, RUN) == {measure: together[measure]}
    values = {m.query_id: m.value for m in measure.iter_calc(QRELS, RUN)}
    assert values == pytest.approx(
        dict(zip(ours.qids.tolist(), ours.per_query[spec].tolist(), strict=True)), nan_ok=True
    )


def test_measures_are_found_by_name():
    from rankwise.integrations.ir_measures import Rankwise

    parsed = peer.parse_measure("Rankwise(spec='nDCG(ties=mean)')@2")
    assert parsed == Rankwise(spec="nDCG(ties=mean)", cutoff=2)
    documents = [peer.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    judged = [peer.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    ours = evaluate(judge(QRELS, RUN, all_queries=True), "nDCG(ties=mean)@2")
    assert peer.calc_aggregate([parsed], judged, documents)[parsed] == ours["nDCG(ties=mean)@2"]
    twice = [parsed, Rankwise(spec="nDCG(ties=mean)@2"), peer.NumRet]
    assert len(set(peer.calc_aggregate(twice, judged, documents).values())) == 2
    assert str(parsed) == "Rankwise(spec='nDCG(ties=mean)')@2"


def test_unknown_names_are_errors():
    from rankwise.integrations.ir_measures import Rankwise

    with pytest.raises(ValueError, match="nDGC"):
        peer.calc_aggregate([Rankwise(spec="nDGC@10")], QRELS, RUN)
