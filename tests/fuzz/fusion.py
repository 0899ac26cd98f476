"""Target: fusion of random runs by every rule and normalisation.

Fused scores are finite, within the bounds of their formula, and neither the order of systems and
documents nor the ids of documents change them, or the call is refused with ValueError.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.fusion import fuse, normalize, pool_runs
from rankwise.fusion.rules import RULES, WEIGHTED
from rankwise.fusion.run_pool import NORMALIZATIONS
from tests.fuzz.harness import Target

Rng = np.random.Generator
# How scores of one system are drawn: plain, with many ties, and on the edges of floating point.
_SCORES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(-2, 3, n),
    "constant": lambda rng, n: np.full(n, rng.choice([0.0, -0.0, 0.1, -7.0, 1e308, 5e-324])),
    "negative": lambda rng, n: -(10.0 ** rng.integers(-5, 5, n)),
    "denormal": lambda rng, n: rng.integers(-3, 4, n) * 5e-324,
    "huge": lambda rng, n: rng.choice([1.7e308, -1.7e308, 1e308, 1.0, 0.0], n),
    "close": lambda rng, n: 1e9 + rng.integers(-2, 3, n) * 2.0**-23,
    "wild": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
}
_BOUNDS = {"min_max": (0, 1), "max": (-1, 1), "sum": (0, 1), "rank": (0, 1), "borda": (0, 1)}
# Rules that add up points of ranks, and the most points that one system gives at weight 1.
_MOST = {"rrf": 1.0, "rbc": 1.0}


def make(rng: Rng) -> bytes:
    """Runs as JSON, with a rule, a normalisation, weights and parameters."""
    n_systems = int(rng.choice([1, 2, 3, 5, 12]))
    n_documents = int(rng.choice([1, 2, 5, 20]))
    queries = [f"q{i}" for i in range(int(rng.integers(1, 4)))]
    systems: dict[str, Any] = {}
    for number in range(n_systems):
        draw = _SCORES[str(rng.choice([*_SCORES]))]
        lists: dict[str, Any] = {}
        for query in queries:
            if rng.random() < 0.1:
                continue
            documents = rng.permutation(n_documents)[: rng.integers(n_documents + 1)]
            scores = np.asarray(draw(rng, len(documents)), dtype=float).tolist()
            lists[query] = {f"{d:02d}": s for d, s in zip(documents, scores, strict=True)}
        systems[f"s{number}"] = lists
    rule = str(rng.choice([*RULES]))
    options: dict[str, Any] = {"scaling": str(rng.choice([*NORMALIZATIONS]))}
    if rule in WEIGHTED and rng.random() < 0.5:
        options["weights"] = rng.choice(
            [0.0, 0.1, 0.3, 1.0, 2.0, 1e-300, 1e300], n_systems
        ).tolist()
    for name, constant in RULES[rule].parameters.items():
        if rng.random() < 0.5:
            ends = constant.least, min(constant.largest, 1e3)
            options[name] = float(rng.choice([*ends, 0.5, 7.0, 1e300]))
    return json.dumps({"systems": systems, "rule": rule, **options}).encode()


def check(path: Path) -> bool:
    """Fuse the case, and again with everything in another order and under other ids."""
    case = json.loads(path.read_text())
    systems, rule = case.pop("systems"), case.pop("rule")
    pool = pool_runs(systems)
    _check_normalised(normalize(pool, case["scaling"]), case["scaling"])
    found = _fused(systems, rule, case)
    assert all(np.isfinite([*scores.values()]).all() for scores in found.values())
    weights = case.get("weights", [1.0] * len(systems))
    if rule in _MOST and case.get("k", 1) >= 1:
        most = _MOST[rule] * sum(weights) * (1 + 1e-12)
        assert all(0 <= s <= most for scores in found.values() for s in scores.values())

    turned = {
        name: {q: dict(reversed(docs.items())) for q, docs in reversed(lists.items())}
        for name, lists in reversed(systems.items())
    }
    options = {**case, "weights": weights[::-1]} if "weights" in case else case
    _assert_same(_fused(turned, rule, options), found, rule, "another order")
    if rule != "condorcet":  # ids may break a cycle of majorities
        renamed = {
            name: {q: {_other_id(d): s for d, s in docs.items()} for q, docs in lists.items()}
            for name, lists in systems.items()
        }
        again = _fused(renamed, rule, case)
        again = {q: {_other_id(d): s for d, s in docs.items()} for q, docs in again.items()}
        _assert_same(again, found, rule, "other ids")
    _check_ties(pool, found)
    return True


def _fused(systems: Any, rule: str, options: Any) -> dict[str, dict[str, float]]:
    run = fuse(systems, rule, **options)
    found: dict[str, dict[str, float]] = {}
    for query, document, score in zip(run.qid, run.doc_ids, run.scores.tolist(), strict=True):
        found.setdefault(str(query), {})[str(document)] = score
    return found


def _other_id(document: str) -> str:
    return f"{19 - int(document):02d}"


def _check_normalised(values: Any, method: str) -> None:
    low, high = _BOUNDS.get(method, (-np.inf, np.inf))
    if method == "z":
        low, high = -(20**0.5), 20**0.5
    seen = values[~np.isnan(values)]
    assert np.isfinite(seen).all()
    assert (seen >= low - 1e-9).all() and (seen <= high + 1e-9).all(), (method, seen)


def _assert_same(found: Any, expected: Any, rule: str, why: str) -> None:
    assert found.keys() == expected.keys()
    for query, scores in expected.items():
        assert found[query].keys() == scores.keys()
        for document, score in scores.items():
            other = found[query][document]
            # Sums of opposite terms may cancel: relative to the largest score of the list.
            scale = max(map(abs, scores.values()))
            assert abs(other - score) <= 1e-9 * scale, (rule, why, query, document, score, other)


def _check_ties(pool: Any, found: Any) -> None:
    """Documents that every system scored alike have one fused score."""
    seen: dict[Any, float] = {}
    for query, document, scores in zip(pool.qid, pool.doc_ids, pool.scores.tolist(), strict=True):
        key = query, *("-" if np.isnan(s) else s + 0.0 for s in scores)
        score = found[str(query)][str(document)]
        assert seen.setdefault(key, score) == score, (query, document, score, seen[key])


TARGETS = (Target("fusion", make, check, ".json", refusals=(ValueError,), names_file=False),)
