"""Rules of fusion document by document."""

from __future__ import annotations

import math
from statistics import mean, median, pstdev

import numpy as np
import pytest

from rankwise.fusion import fuse, normalize, pool_runs
from rankwise.fusion.rules import RULES, WEIGHTED
from tests.fusion.lists import as_mapping, random_lists

WEIGHTS = [0.5, 2.0, 0.25, 1.0]
# The formulas of fuse for the systems that returned a document: scores, ranks, weights.
FORMULAS = {
    "sum": lambda x, r, w: math.fsum(a * b for a, b in zip(w, x, strict=True)),
    "mnz": lambda x, r, w: len(x) * math.fsum(x),
    "gmnz": lambda x, r, w: len(x) ** 0.5 * math.fsum(x),
    "anz": lambda x, r, w: mean(x),
    "min": lambda x, r, w: min(x),
    "max": lambda x, r, w: max(x),
    "med": lambda x, r, w: median(x),
    "wmnz": lambda x, r, w: math.fsum(w) * math.fsum(x),
    "mixed": lambda x, r, w: (
        math.sqrt(len(x)) * math.fsum(a * b for a, b in zip(w, x, strict=True))
    ),
    "rrf": lambda x, r, w: math.fsum(a / (7 + b) for a, b in zip(w, r, strict=True)),
    "isr": lambda x, r, w: len(x) * math.fsum(1 / b**2 for b in r),
    "log_isr": lambda x, r, w: math.log(len(x)) * math.fsum(1 / b**2 for b in r),
    "logn_isr": lambda x, r, w: math.log(len(x) + 0.2) * math.fsum(1 / b**2 for b in r),
    "rbc": lambda x, r, w: math.fsum(a * 0.4 * 0.6 ** (b - 1) for a, b in zip(w, r, strict=True)),
}
PARAMETERS = {"gmnz": {"gamma": 0.5}, "rrf": {"k": 7}, "logn_isr": {"sigma": 0.2}}
PARAMETERS["rbc"] = {"phi": 0.6}
SCALES = {
    "min-max": lambda x, s: (x - min(s)) / (max(s) - min(s)),
    "max": lambda x, s: x / max(s),
    "sum": lambda x, s: (x - min(s)) / math.fsum(y - min(s) for y in s),
    "z": lambda x, s: (x - mean(s)) / pstdev(s),
    "rank": lambda x, s: 1 - sum(y > x for y in s) / len(s),
    "none": lambda x, s: x,
}


def by_hand(systems, formula, scale, weights):
    """Score of every document by a formula, query by query."""
    found = {}
    for query in dict.fromkeys(q for lists in systems.values() for q in lists):
        seen: dict[str, list[tuple[float, int, float]]] = {}
        for lists, weight in zip(systems.values(), weights, strict=True):
            scores = lists.get(query, {})
            for document, score in scores.items():
                rank = 1 + sum(other > score for other in scores.values())
                entry = scale(score, list(scores.values())), rank, weight
                seen.setdefault(document, []).append(entry)
        found[query] = {d: formula(*zip(*seen[d], strict=True)) for d in seen}
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for query, scores in expected.items():
        assert found[query] == pytest.approx(scores, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rule", FORMULAS)
def test_rules(rule):
    systems = {name: dict(lists) for name, lists in random_lists(1).items()}
    for lists in systems.values():  # a range to divide by
        for query in list(lists):
            lists[query] = {**lists[query], "e1": 30.0, "e2": -30.0}
    del systems["s1"]["q3"]
    weights = WEIGHTS if rule in WEIGHTED else None
    run = fuse(systems, rule, weights=weights, **PARAMETERS.get(rule, {}))
    expected = by_hand(systems, FORMULAS[rule], SCALES["min-max"], WEIGHTS)
    assert_same(as_mapping(run), expected)


@pytest.mark.parametrize("method", SCALES)
def test_normalised_scores(method):
    systems = random_lists(2, whole=True)
    run = fuse(systems, "sum", normalization=method)
    assert_same(as_mapping(run), by_hand(systems, FORMULAS["sum"], SCALES[method], [1.0] * 4))


def test_borda_by_hand():
    systems = {
        "a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}},
        "b": {"q": {"y": 9.0}},
    }
    # b shares the points of the second and third place, 2 and 1, between x and z.
    assert as_mapping(fuse(systems, "borda"))["q"] == {"x": 4.5, "y": 5.0, "z": 2.5}
    weighted = as_mapping(fuse(systems, "borda", weights=[1, 2]))["q"]
    assert weighted == {"x": 6.0, "y": 8.0, "z": 4.0}
    shares = normalize(pool_runs(systems), "borda")
    assert shares == pytest.approx(np.array([[1, 1 / 2], [2 / 3, 1], [1 / 3, 1 / 2]]))


def test_a_system_that_returned_neither_document_does_not_vote():
    systems = {
        "a": {"q": {"x": 2.0, "y": 1.0}},
        "b": {"q": {"y": 3.0, "z": 2.0, "x": 1.0}},
        "c": {"q": {"z": 1.0}},
    }
    for order in (["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]):
        run = fuse({name: systems[name] for name in order}, "condorcet")
        # y beats z by a and b, z beats x by b and c, and x and y are equal by a and b.
        assert as_mapping(run)["q"] == {"y": 3.0, "z": 2.0, "x": 1.0}


def test_the_order_of_the_systems_does_not_matter():
    systems = random_lists(3)
    turned = dict(reversed(systems.items()))
    for rule in RULES:
        assert as_mapping(fuse(turned, rule)) == {
            query: pytest.approx(scores, rel=1e-12)
            for query, scores in as_mapping(fuse(systems, rule)).items()
        }, rule


def test_lists_of_equal_scores_become_zeros():
    pool = pool_runs({"a": {"q": {"x": 2.0, "y": 2.0}}, "b": {"q": {"z": 5.0}}})
    for method in ("min-max", "sum", "z"):
        values = normalize(pool, method)
        assert np.nan_to_num(values).tolist() == [[0.0, 0.0]] * 3


def test_a_missing_query_adds_nothing():
    lexical = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}}
    run = fuse({"bm25": lexical, "encoder": {"q1": {"d2": 0.5}}}, "rrf")
    assert as_mapping(run)["q2"] == {"d1": 1 / 61}


def test_no_documents():
    for rule in RULES:
        assert len(fuse({"a": {}, "b": {}}, rule)) == 0


def test_bad_arguments():
    systems = random_lists(0, n_systems=2)
    with pytest.raises(ValueError, match=r"rule must be one of 'sum', .* got 'best'"):
        fuse(systems, "best")
    with pytest.raises(ValueError, match="method must be one of 'min-max'"):
        fuse(systems, "sum", normalization="minmax")
    with pytest.raises(ValueError, match=r"rule 'max' takes no weights\. Rules that do: 'sum'"):
        fuse(systems, "max", weights=[1, 2])
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="weights must hold one finite number >= 0"):
            fuse(systems, "rrf", weights=weights)
    with pytest.raises(TypeError, match=r"rule 'rrf' has no parameter 'phi'\. Its"):
        fuse(systems, "rrf", phi=0.5)
    with pytest.raises(ValueError, match=r"phi must lie in \[0, 1\], got 2"):
        fuse(systems, "rbc", phi=2)
    assert set(WEIGHTED) <= set(RULES)
