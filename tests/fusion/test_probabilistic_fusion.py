"""Probabilistic fusion document by document."""

from __future__ import annotations

import math
from statistics import mean

import numpy as np
import pytest

import rankwise
from rankwise.datasets import Qrels
from rankwise.fusion import ProbabilisticFusion, pool_runs
from rankwise.fusion.probabilistic_fusion import EXPONENTIAL_CUTS
from tests.fusion.lists import as_mapping, random_lists

QUERIES = [f"q{i}" for i in range(5)]
DOCUMENTS = [f"d{i}" for i in range(30)]
CUTS = [3, 8, 20]


@pytest.fixture(scope="module")
def judged():
    """Three systems, of which one lacks a query; judgements of four of the five queries."""
    systems = {name: dict(lists) for name, lists in random_lists(4, n_systems=3).items()}
    del systems["s1"]["q2"]
    rng = np.random.default_rng(0)
    qid, documents = np.repeat(QUERIES[:4], 30), np.array(DOCUMENTS * 4)
    return systems, Qrels(qid, documents, (rng.random(120) < 0.3).astype(int))


def hits_of(lists, qrels):
    """Of every judged query a list of 0 and 1 by rank, and the number of relevant documents."""
    positive = qrels.relevance > 0
    relevant = set(zip(qrels.qid[positive], qrels.doc_ids[positive], strict=True))
    found = {}
    for query in dict.fromkeys(qrels.qid.tolist()):
        scores = lists.get(query, {})
        ranked = sorted(scores, key=lambda d: -scores[d])
        hits = [int((query, document) in relevant) for document in ranked]
        found[query] = hits, sum(q == query for q, _ in relevant)
    return found


def at(hits, position):
    return [of[position] for of in hits if len(of) > position]


def by_hand(rule, hits, rank, n, score):
    """Score of a document at a rank of a list of n, or what a missing one adds (rank 0)."""
    lists = [of for of, _ in hits.values()]
    if rule == "bayes":
        bounds = [(0, 3), (3, 8), (8, 20)]
        shares = [mean(sum(of[lo:hi]) / (hi - lo) for of in lists) for lo, hi in bounds]
        place = next((k for k, (lo, hi) in enumerate(bounds) if lo < rank <= hi), None)
        share = 0.001 if place is None or shares[place] == 0 else shares[place]
        return math.log(share / (1 - share))
    if rank == 0:
        return 0.0
    if rule == "seg":
        bounds = [(0, 3), (3, 8), (8, 20)]
        inside = [(lo, hi) for lo, hi in bounds if lo < rank <= hi]
        return sum(
            mean(sum(of[lo:hi]) / (hi - lo) for of in lists) * (score + 1) for lo, hi in inside
        )
    if rule == "map":
        values = [
            sum(sum(of[: i + 1]) / (i + 1) for i in range(len(of)) if of[i]) / total
            for of, total in hits.values()
        ]
        return mean(values) / rank
    if rule == "pos":
        return mean(at(lists, rank - 1) or [0])
    if rule == "slide":
        window = range(max(rank - 3, 0), min(rank + 1, n - 1) + 1)
        return mean(mean(at(lists, position) or [0]) for position in window)
    size = math.ceil(n / 4)
    segment = (rank - 1) // size
    shares = []
    for of in lists:
        step = math.ceil(len(of) / 4)
        part = of[segment * step : (segment + 1) * step]
        shares.append(sum(part) / len(part) if part else 0.0)
    return mean(shares) / (segment + 1)


OPTIONS = {"bayes": {"cuts": CUTS}, "seg": {"cuts": CUTS}, "prob": {"n_segments": 4}}
OPTIONS |= {"slide": {"window": 2}, "map": {}, "pos": {}}


@pytest.mark.parametrize("rule", OPTIONS)
def test_scores_by_hand(judged, rule):
    systems, qrels = judged
    run = ProbabilisticFusion(rule, **OPTIONS[rule]).fit(systems, qrels).fuse(systems)
    hits = {name: hits_of(lists, qrels) for name, lists in systems.items()}
    for query, found in as_mapping(run).items():
        expected = dict.fromkeys(found, 0.0)
        for name, lists in systems.items():
            scores = lists.get(query, {})
            low, high = min(scores.values(), default=0), max(scores.values(), default=1)
            for document in expected:
                rank, scaled = 0, 0.0
                if document in scores:
                    rank = 1 + sum(other > scores[document] for other in scores.values())
                    scaled = (scores[document] - low) / max(high - low, 1e-9)
                expected[document] += by_hand(rule, hits[name], rank, len(scores), scaled)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_segments_grow_as_published():
    sizes = np.diff(EXPONENTIAL_CUTS, prepend=0)
    assert sizes.tolist() == [10 * 2 ** (k - 1) - 5 for k in range(1, 11)]


@pytest.mark.parametrize("rule", OPTIONS)
def test_held_out_queries_are_not_seen(judged, rule):
    systems, qrels = judged
    fusion = ProbabilisticFusion(rule, **OPTIONS[rule])
    run = as_mapping(fusion.fuse_held_out(systems, qrels))
    assert run.keys() == set(QUERIES[:4])
    for query in run:
        rest = qrels.qid != query
        seen = Qrels(qrels.qid[rest], qrels.doc_ids[rest], qrels.relevance[rest])
        expected = as_mapping(fusion.fit(systems, seen).fuse(systems))[query]
        assert run[query] == pytest.approx(expected, rel=1e-12)
    whole = as_mapping(fusion.fuse_held_out(systems, qrels, folds=2, random_state=0))
    assert whole.keys() == run.keys()


def test_save_and_load(judged, tmp_path):
    systems, qrels = judged
    fusion = ProbabilisticFusion("prob").fit(systems, qrels)
    fusion.save(tmp_path / "fusion.skops")
    loaded = rankwise.load(tmp_path / "fusion.skops")
    turned = dict(reversed(systems.items()))
    again, expected = as_mapping(loaded.fuse(turned)), as_mapping(fusion.fuse(systems))
    assert {q: pytest.approx(of, rel=1e-12) for q, of in expected.items()} == again


def test_bad_arguments(judged):
    systems, qrels = judged
    for cuts in ([3, 3], [0, 2], [2.5], 3):
        with pytest.raises(ValueError, match="cuts"):
            ProbabilisticFusion("seg", cuts=cuts).fit(systems, qrels)
    with pytest.raises(ValueError, match="'rule' parameter"):
        ProbabilisticFusion("best").fit(systems, qrels)
    other = Qrels(np.array(["q"]), np.array(["d"]), np.array([1]))
    with pytest.raises(ValueError, match="qrels judge no document of the runs"):
        ProbabilisticFusion().fit(systems, other)
    fusion = ProbabilisticFusion().fit(systems, qrels)
    with pytest.raises(ValueError, match="runs must be of the systems of fit, s0, s1, s2, got s0"):
        fusion.fuse({"s0": systems["s0"]})
    with pytest.raises(ValueError, match=r"folds must lie in \[2, 4\]"):
        fusion.fuse_held_out(pool_runs(systems), qrels, folds=5)
