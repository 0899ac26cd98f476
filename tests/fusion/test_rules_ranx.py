"""Rules of fusion against ranx, on lists without equal scores: ranx ranks ties as it meets them."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels
from rankwise.fusion import ProbabilisticFusion, fuse
from tests.fusion.lists import as_mapping, random_lists
from tests.metrics._peers import ranx_uncompiled

# Rule and parameters, in our words and in ranx's.
SAME = {
    "sum": ({}, "sum", {}),
    "mnz": ({}, "mnz", {}),
    "gmnz": ({"gamma": 2.0}, "gmnz", {"gamma": 2.0}),
    "anz": ({}, "anz", {}),
    "min": ({}, "min", {}),
    "max": ({}, "max", {}),
    "med": ({}, "med", {}),
    "rrf": ({"k": 10}, "rrf", {"k": 10}),
    "isr": ({}, "isr", {}),
    "log_isr": ({}, "log_isr", {}),
    "logn_isr": ({"sigma": 0.1}, "logn_isr", {"sigma": 0.1}),
    "rbc": ({"phi": 0.7}, "rbc", {"phi": 0.7}),
    "borda": ({}, "bordafuse", {}),
}
WEIGHTS = [0.5, 2.0, 0.25, 1.0]
SAME_WEIGHTED = {"sum": "wsum", "wmnz": "wmnz", "mixed": "mixed", "borda": "w_bordafuse"}
NORMS = {"min_max": "min-max", "max": "max", "sum": "sum", "z": "zmuv", "rank": "rank"}


def ranx_fuse(systems, **options):
    with ranx_uncompiled() as ranx:
        runs = [ranx.Run(lists, name=name) for name, lists in systems.items()]
        return ranx.fuse(runs, **options).to_dict()


def assert_same(run, expected):
    found = as_mapping(run)
    assert found.keys() == expected.keys()
    for query, scores in expected.items():
        assert found[query] == pytest.approx(scores, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rule", SAME)
@pytest.mark.parametrize("seed", range(3))
def test_rules_equal_ranx(rule, seed):
    parameters, name, params = SAME[rule]
    systems = random_lists(seed)
    run = fuse(systems, rule, **parameters)
    assert_same(run, ranx_fuse(systems, method=name, params=params))


@pytest.mark.parametrize("rule", SAME_WEIGHTED)
def test_weighted_rules_equal_ranx(rule):
    systems = random_lists(7)
    run = fuse(systems, rule, weights=WEIGHTS)
    params = {"weights": WEIGHTS}
    assert_same(run, ranx_fuse(systems, method=SAME_WEIGHTED[rule], params=params))


@pytest.mark.parametrize("method", [*NORMS, "borda"])
def test_normalised_scores_equal_ranx(method):
    systems = random_lists(11)
    if method == "max":  # ranx divides by the largest score, also where it is below 0
        systems = {
            name: {q: {d: abs(s) for d, s in scores.items()} for q, scores in lists.items()}
            for name, lists in systems.items()
        }
    run = fuse(systems, "sum", scaling=method)
    assert_same(run, ranx_fuse(systems, norm=NORMS.get(method, method), method="sum"))


@pytest.mark.parametrize("weights", [None, WEIGHTS[:3]])
def test_condorcet_equals_ranx_where_the_majority_has_an_order(weights):
    # One strong system and two that differ from it in few places: no cycles, no equal votes.
    first = {f"d{i}": -float(i) for i in range(12)}
    second = {**first, "d3": -4.5}
    third = {**first, "d8": -6.5}
    systems = {"a": {"q": first}, "b": {"q": second}, "c": {"q": third}}
    method = "condorcet" if weights is None else "w_condorcet"
    params = {} if weights is None else {"weights": weights}
    run = fuse(systems, "condorcet", weights=weights)
    assert_same(run, ranx_fuse(systems, method=method, params=params))


# Options of ours and what ranx calls the rule, its training parameters, and those of fusing.
PROBABILISTIC = {
    "bayes": ({}, "bayesfuse", {}, {}),
    "map": ({}, "mapfuse", {}, {}),
    "pos": ({}, "posfuse", {}, {}),
    "prob": ({"n_segments": 7}, "probfuse", {"n_segments": 7}, {}),
    "seg": ({"cuts": [10 * 2**k - 5 for k in range(10)]}, "segfuse", {}, {}),
    "slide": ({"window": 4}, "slidefuse", {}, {"w": 4}),
}
PARAMETER = {"bayes": "log_odds", "map": "map_scores"}


@pytest.mark.parametrize("rule", PROBABILISTIC)
def test_probabilistic_rules_equal_ranx(rule):
    options, name, training, fusing = PROBABILISTIC[rule]
    systems = random_lists(13, n_queries=9, n_documents=150, n_systems=3)
    rng = np.random.default_rng(2)
    queries = [f"q{i}" for i in range(7)]
    documents = [f"d{i}" for i in range(150)]
    judged = {q: {d: int(rng.random() < 0.2) for d in documents} for q in queries}
    for query in queries:
        judged[query]["d0"] = 1
    qid = np.repeat(queries, 150)
    relevance = np.array([judged[q][d] for q in queries for d in documents])
    qrels = Qrels(qid, np.array(documents * 7), relevance)
    run = ProbabilisticFusion(rule, **options).fit(systems, qrels).fuse(systems)

    with ranx_uncompiled() as ranx:
        seen = [ranx.Run({q: lists[q] for q in queries}) for lists in systems.values()]
        train = getattr(ranx.fusion, f"{name}_train")
        learnt = train(ranx.Qrels(judged), seen, **training)
    params = {PARAMETER.get(rule, "probs"): learnt, **fusing}
    assert_same(run, ranx_fuse(systems, method=name, params=params))
