"""Rules of fusion document by document."""

from __future__ import annotations

import math
from statistics import mean, median, pstdev

import numpy as np
import pytest

from rankwise.checks.constant_scores import ConstantScoresWarning
from rankwise.fusion import fuse, fusion_table, normalize, pool_runs
from rankwise.fusion.rules import RULES, WEIGHTED
from rankwise.fusion.run_pool import NORMALIZATIONS
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
PARAMETERS = {"gmnz": {"gamma": 0.5}, "rrf": {"rank_constant": 7}, "logn_isr": {"sigma": 0.2}}
PARAMETERS["rbc"] = {"phi": 0.6}
SCALES = {
    "min_max": lambda x, s: (x - min(s)) / (max(s) - min(s)),
    "max": lambda x, s: x / max(map(abs, s)),
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
    expected = by_hand(systems, FORMULAS[rule], SCALES["min_max"], WEIGHTS)
    assert_same(as_mapping(run), expected)


@pytest.mark.parametrize("method", SCALES)
def test_normalised_scores(method):
    systems = random_lists(2, whole=True)
    run = fuse(systems, "sum", scaling=method)
    assert_same(as_mapping(run), by_hand(systems, FORMULAS["sum"], SCALES[method], [1.0] * 4))


@pytest.mark.parametrize("method", ["none", "min_max", "rank"])
@pytest.mark.parametrize("rule", RULES)
def test_a_query_is_fused_as_if_it_were_alone(rule, method):
    """Every score, not the order alone: positions are counted within the query."""
    systems = random_lists(3, n_queries=4)
    whole = as_mapping(fuse(systems, rule, scaling=method))
    for query in systems["s0"]:
        alone = {name: {query: lists[query]} for name, lists in systems.items()}
        assert_same(as_mapping(fuse(alone, rule, scaling=method)), {query: whole[query]})


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


def with_ties(seed, n_systems=4):
    """Lists in which most scores are equal to others."""
    systems = random_lists(seed, n_systems=n_systems, n_documents=12)
    return {
        name: {
            q: {d: float(round(s / 2)) for d, s in scores.items()} for q, scores in lists.items()
        }
        for name, lists in systems.items()
    }


@pytest.mark.parametrize(
    ("rule", "method"),
    [*((rule, "min_max") for rule in RULES), *(("med", method) for method in NORMALIZATIONS)],
)
def test_neither_ids_nor_the_order_of_documents_and_systems_matter(rule, method):
    systems = with_ties(3)
    found = as_mapping(fuse(systems, rule, scaling=method))
    turned = {
        name: {q: dict(reversed(scores.items())) for q, scores in lists.items()}
        for name, lists in reversed(systems.items())
    }
    assert as_mapping(fuse(turned, rule, scaling=method)) == found
    renamed = {
        name: {q: {other_id(d): s for d, s in scores.items()} for q, scores in lists.items()}
        for name, lists in systems.items()
    }
    for query, scores in as_mapping(fuse(renamed, rule, scaling=method)).items():
        expected = {other_id(d): s for d, s in found[query].items()}
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


def other_id(document):
    return f"{(5 * int(document[1:])) % 12:02d}"


@pytest.mark.parametrize("method", NORMALIZATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_documents_with_equal_scores_everywhere_have_equal_fused_scores(rule, method):
    systems = {
        "text": {"q": {"a": 9.0, "b": 9.0, "c": 9.0, "d": 4.0}},
        "vector": {"q": {"c": 0.3, "b": 0.7, "a": 0.7}},
    }
    found = as_mapping(fuse(systems, rule, scaling=method))["q"]
    assert found["a"] == found["b"]
    if rule not in ("min", "max", "med"):  # these may see the other score only
        assert found["a"] > found["c"]


def test_nothing_comes_between_equal_documents_in_a_cycle_of_majorities():
    scores = {
        "s0": [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        "s1": [3.0, 2.0, 1.0, 3.0, 3.0, 1.0, 1.0],
        "s2": [3.0, 2.0, 0.0, 1.0, 3.0, 0.0, 3.0],
    }
    systems = {name: {"q": dict(zip("abcdefg", row, strict=True))} for name, row in scores.items()}
    found = as_mapping(fuse(systems, "condorcet"))["q"]
    assert found["a"] == found["e"]
    assert found["c"] == found["f"]
    assert sum(found.values()) == sum(range(1, 8))


RANKED = ("rrf", "isr", "logn_isr", "rbc", "borda", "condorcet")


@pytest.mark.parametrize(
    ("rule", "method"), [*((rule, "min_max") for rule in RANKED), ("sum", "rank"), ("sum", "borda")]
)
def test_a_better_score_of_one_system_decides_where_another_has_a_tie(rule, method):
    for better, worse in (("green", "pie"), ("pie", "green")):
        text, vector = {better: 9999.0, worse: 9999.0}, {better: 0.9, worse: 0.7}
        run = fuse({"text": {"q": text}, "vector": {"q": vector}}, rule, scaling=method)
        found = as_mapping(run)["q"]
        assert found[better] > found[worse]


def test_ties_share_the_mean_of_their_ranks():
    run = fuse({"a": {"q": {"x": 2.0, "y": 2.0, "z": 1.0}}}, "rrf", k=1)
    assert as_mapping(run)["q"] == {"x": 1 / 2.5, "y": 1 / 2.5, "z": 1 / 4}
    run = fuse({"a": {"q": {"x": 2.0, "y": 2.0, "z": 1.0}}}, "condorcet")
    assert as_mapping(run)["q"] == {"x": 2.5, "y": 2.5, "z": 1.0}


def test_a_sum_does_not_depend_on_the_order_of_its_terms():
    # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point.
    lists = [{"x": 0.1, "y": 0.3}, {"x": 0.2, "y": 0.2}, {"x": 0.3, "y": 0.1}]
    found = as_mapping(fuse([{"q": scores} for scores in lists], "sum", scaling="none"))
    assert found["q"]["x"] == found["q"]["y"]


LISTS = {
    "negative": {"a": -5.0, "b": -4.0, "c": -30.0},
    "nearly zero at best": {"a": 1e-12, "b": -40.0, "c": -41.0},
    "both signs": {"a": -11.0, "b": 11.0, "c": 0.0},
    "constant": {"a": 0.1, "b": 0.1, "c": 0.1},
    "zeros": {"a": 0.0, "b": -0.0, "c": 0.0},
    "one document": {"a": -7.0},
    "denormal": {"a": 5e-324, "b": 1e-320, "c": 0.0},
    "small": {"a": 3e-200, "b": 2e-200, "c": -1e-200},
    "large": {"a": 1.7e308, "b": -1.7e308, "c": 1e308},
    "close": {"a": 1e9, "b": np.nextafter(1e9, 0), "c": np.nextafter(1e9, 2e9)},
}
BOUNDS = {"min_max": (0, 1), "max": (-1, 1), "sum": (0, 1), "z": (-(2**0.5), 2**0.5)}
BOUNDS |= {"rank": (0, 1), "borda": (0, 1)}


def test_normalize_says_how_to_pool_runs():
    with pytest.raises(TypeError, match=r"pool must be a RunPool, got dict\. Pass pool_runs"):
        normalize({"q": {"d": 1.0}})


@pytest.mark.parametrize("scores", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("method", BOUNDS)
def test_normalised_scores_are_of_order_1_and_in_the_order_of_the_scores(method, scores):
    values = normalize(pool_runs([{"q": scores}]), method)[:, 0]
    low, high = BOUNDS[method]
    assert (values >= low - 1e-12).all()
    assert (values <= high + 1e-12).all()
    given = np.array([*scores.values()])
    if len({*scores.values()}) > 1:
        order = np.argsort(given)
        assert (np.diff(values[order]) >= 0).all()
        assert values[given.argmax()] > values[given.argmin()]
        if method in ("min_max", "z", "sum", "max"):
            assert np.abs(values).max() >= 1 / 3
    elif method in ("min_max", "sum", "z"):
        assert not values.any()


@pytest.mark.parametrize("method", NORMALIZATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_huge_scores_are_fused_or_refused(rule, method):
    big = {"q": {"a": 1.7e308, "b": -1.7e308, "c": 1.6e308}}
    systems = [big, {"q": {"a": 1.7e308, "c": 1.5e308}}]
    if method == "none" and rule in ("sum", "mnz", "gmnz", "anz", "med", "wmnz", "mixed"):
        with pytest.raises(ValueError, match=r"fused scores must be finite, got .* of query 'q'"):
            fuse(systems, rule, scaling=method)
    else:
        assert np.isfinite(fuse(systems, rule, scaling=method).scores).all()


@pytest.mark.parametrize(
    ("rule", "options"),
    [("rrf", {"weights": [1.7e308] * 2, "k": 0}), ("gmnz", {"gamma": 1e6})],
)
def test_huge_weights_and_parameters_are_refused(rule, options):
    with pytest.raises(ValueError, match="fused scores must be finite, got inf"):
        fuse([{"q": {"a": 2.0, "b": 1.0}}] * 2, rule, **options)


def test_lists_of_equal_scores_become_zeros():
    pool = pool_runs({"a": {"q": {"x": 2.0, "y": 2.0}}, "b": {"q": {"z": 5.0}}})
    for method in ("min_max", "sum", "z"):
        values = normalize(pool, method)
        assert np.nan_to_num(values).tolist() == [[0.0, 0.0]] * 3


def test_a_missing_query_adds_nothing():
    lexical = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}}
    run = fuse({"bm25": lexical, "encoder": {"q1": {"d2": 0.5}}}, "rrf")
    assert as_mapping(run)["q2"] == {"d1": 1 / 61}


def test_no_documents():
    for rule in RULES:  # systems that found nothing
        assert len(fuse({"a": {"q": {}}, "b": {"q": {}}}, rule)) == 0


def test_bad_arguments():
    systems = random_lists(0, n_systems=2)
    with pytest.raises(ValueError, match=r"rule must be one of 'sum', .* got 'best'"):
        fuse(systems, "best")
    with pytest.raises(ValueError, match="scaling must be one of 'min_max'"):
        fuse(systems, "sum", scaling="extrema")
    with pytest.raises(ValueError, match=r"rule 'max' takes no weights\. Rules that do: 'sum'"):
        fuse(systems, "max", weights=[1, 2])
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan], ["a", "b"], {"s0": 1.0, "s1": 1.0}):
        with pytest.raises(ValueError, match="weights must hold one finite number >= 0"):
            fuse(systems, "rrf", weights=weights)
    with pytest.raises(TypeError, match=r"rule 'rrf' has no parameter 'phi'\. Its"):
        fuse(systems, "rrf", phi=0.5)
    with pytest.raises(ValueError, match=r"weights must not all be 0"):
        fuse(systems, "rrf", weights=[0, 0])
    for phi in (2, 1, 1.0, np.float32(1), True, 1 - 1e-16, 0, 0.0, 5e-324, -0.5, np.nan, "0.5"):
        with pytest.raises(ValueError, match=r"phi must be a finite number in \[1e-09, 0\.9999"):
            fuse(systems, "rbc", phi=phi)
    for k in (np.inf, np.nan, -1.0, "60", None, 1e17, 1e308):
        for call in (fuse, fusion_table):
            with pytest.raises(
                ValueError, match=r"rank_constant must be a finite number in \[0, 1e"
            ):
                call(systems, rank_constant=k)
    with pytest.raises(ValueError, match="systems must be None for a RunPool"):
        fuse(pool_runs(systems), systems=["a", "b"])
    assert set(WEIGHTED) <= set(RULES)


@pytest.mark.parametrize("rule", ["rrf", "rbc"])
@pytest.mark.parametrize("end", ["least", "largest"])
def test_no_rank_is_lost_at_the_ends_of_the_range_of_a_constant(rule, end):
    ((name, constant),) = RULES[rule].parameters.items()
    for lists in ({"a": {"x": 3.0, "y": 2.0, "z": 2.0}}, {"a": {"x": 2.0, "y": 2.0, "z": 1.0}}):
        systems = {"s": {"q": lists["a"]}, "t": {"q": {"y": 1.0, "w": 0.5}}}
        scores = fuse(systems, rule, **{name: getattr(constant, end)}).scores
        assert (scores > 0).all() and len(set(scores.tolist())) == 4
        alone = fuse({"s": {"q": lists["a"]}}, rule, **{name: getattr(constant, end)}).scores
        assert np.array_equal(np.sign(np.diff(alone)), np.sign(np.diff(list(lists["a"].values()))))


def test_points_below_the_smallest_number_are_counted():
    long = {"q": {f"d{place}": -float(place) for place in range(400)}}
    with pytest.warns(ConstantScoresWarning, match="phi=0.1 gives 76 of 400 documents 0 points"):
        scores = fuse({"a": long}, "rbc", phi=0.1).scores
    assert (scores == 0).sum() == 76


@pytest.mark.parametrize("rule, options", [("log_isr", {}), ("logn_isr", {"sigma": 0})])
def test_logarithms_of_one_are_named(rule, options):
    alone = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"z": 2.0, "w": 1.0}}}
    with pytest.warns(ConstantScoresWarning, match="no two systems returned the same document"):
        assert not fuse(alone, rule, **options).scores.any()
    shared = {**alone, "c": {"q": {"x": 1.0}}}
    assert fuse(shared, rule, **options).scores.any()


@pytest.mark.parametrize(
    "words, said",
    [
        ({"scaling": "extrema"}, "scaling must be one of 'min_max'.*got 'extrema'"),
        ({"scaling": None}, "scaling must be one of 'min_max'.*got None"),
        ({"runs": None}, "runs must hold the result lists of several systems, got one NoneType"),
        ({"runs": 3}, "runs must hold the result lists of several systems, got one int"),
        ({"weights": {"a": 1}}, "weights must hold .* in their order.* Pass a list"),
    ],
)
def test_arguments_are_named(words, said):
    given = {"runs": {"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 2.0}}}, "rule": "sum", **words}
    with pytest.raises((TypeError, ValueError), match=said):
        fuse(given.pop("runs"), given.pop("rule"), **given)
