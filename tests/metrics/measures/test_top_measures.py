"""Every measure of the top of a ranking, under every convention, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.groups import QueryGroups
from rankwise.metrics import evaluate, parse
from tests import oracles_metrics as naive
from tests.metrics._cases import by_query, ragged

NAN = float("nan")
EMPTY = {"0": 0.0, "1": 1.0, "'skip'": NAN, "'nan'": NAN}
TABLE = (0.0, 0.5, 0.5, 4.0, 9.0)

CASES = {
    "DCG": lambda y, f: naive.dcg(y, f),
    "DCG(gain='linear',discount='letor')@3": lambda y, f: naive.dcg(y, f, 3, "linear", "letor"),
    "DCG(empty='skip')@2": lambda y, f: naive.dcg(y, f, 2, empty=NAN),
    "nDCG": lambda y, f: naive.ndcg(y, f),
    "nDCG(discount='letor',empty=0,short='zero')@7": lambda y, f: naive.ndcg(
        y, f, 7, discount="letor", empty=0.0, short="zero"
    ),
    f"nDCG(gain={TABLE})@5": lambda y, f: naive.ndcg(y, f, 5, gain=TABLE),
    "MeanNDCG": lambda y, f: naive.mean_ndcg(y, f),
    "MeanNDCG(gain='linear',discount='letor',empty=0)": lambda y, f: naive.mean_ndcg(
        y, f, "linear", "letor", empty=0.0
    ),
    "AP": lambda y, f: naive.average_precision(y, f),
    "AP(rel=3,norm='cutoff')@4": lambda y, f: naive.average_precision(y, f, 4, 3, "cutoff"),
    "AP(norm='all')@4": lambda y, f: naive.average_precision(y, f, 4),
    "AP(ties='block')": lambda y, f: naive.average_precision_of_blocks(y, f),
    "P": lambda y, f: naive.precision(y, f),
    "P(rel=2)@5": lambda y, f: naive.precision(y, f, 5, 2),
    "P(short='cut')@6": lambda y, f: naive.precision(y, f, 6, short="cut"),
    "P(short='zero')@6": lambda y, f: naive.precision(y, f, 6, short="zero"),
    "R@3": lambda y, f: naive.recall(y, f, 3),
    "R": lambda y, f: naive.recall(y, f),
    "Rprec(rel=2)": lambda y, f: naive.r_precision(y, f, 2),
    "Success(rel=4)@2": lambda y, f: naive.success(y, f, 2, 4),
    "RR": lambda y, f: naive.reciprocal_rank(y, f),
    "RR(rel=4)@2": lambda y, f: naive.reciprocal_rank(y, f, 2, 4),
    "ERR": lambda y, f: naive.err(y, f),
    "ERR(max_grade=6)@3": lambda y, f: naive.err(y, f, 3, max_grade=6),
    "ERR(gain='linear',max_grade=5)@3": lambda y, f: naive.err(y, f, 3, "linear", 5),
    "RBP": lambda y, f: naive.rbp(y, f),
    "RBP(p=0.95,rel=2)@4": lambda y, f: naive.rbp(y, f, 4, 0.95, 2),
}
TIED = {
    "DCG@3": naive.dcg,
    "nDCG@3": naive.ndcg,
    "AP@3": naive.average_precision,
    "P@3": naive.precision,
    "R@3": naive.recall,
    "Success@3": naive.success,
    "RR@3": naive.reciprocal_rank,
    "ERR@3": naive.err,
    "RBP@3": naive.rbp,
}
UNCUT = {"MeanNDCG": naive.mean_ndcg, "Rprec": naive.r_precision, "nDCG": naive.ndcg}
# Values by ties="mean", the default.
AVERAGED = {
    **{spec: lambda y, f, loop=loop: loop(y, f, 3, ties="mean") for spec, loop in TIED.items()},
    **{spec: lambda y, f, loop=loop: loop(y, f, ties="mean") for spec, loop in UNCUT.items()},
    "nDCG(gain='linear')@4": lambda y, f: naive.ndcg(y, f, 4, gain="linear", ties="mean"),
    f"DCG(gain={TABLE})@4": lambda y, f: naive.dcg(y, f, 4, gain=TABLE, ties="mean"),
    "MeanNDCG(gain='linear')": lambda y, f: naive.mean_ndcg(y, f, "linear", ties="mean"),
    "AP": lambda y, f: naive.average_precision(y, f, ties="mean"),
    "AP(rel=2,norm='cutoff')@2": lambda y, f: naive.average_precision(
        y, f, 2, 2, "cutoff", ties="mean"
    ),
    "P": lambda y, f: naive.precision(y, f, ties="mean"),
    "Success(rel=3)@2": lambda y, f: naive.success(y, f, 2, 3, ties="mean"),
    "RR": lambda y, f: naive.reciprocal_rank(y, f, ties="mean"),
    "RR(rel=4)@2": lambda y, f: naive.reciprocal_rank(y, f, 2, 4, ties="mean"),
    "ERR": lambda y, f: naive.err(y, f, ties="mean"),
    "ERR@1": lambda y, f: naive.err(y, f, 1, ties="mean"),
    "ERR(gain='linear')@4": lambda y, f: naive.err(y, f, 4, "linear", ties="mean"),
    "RBP": lambda y, f: naive.rbp(y, f, ties="mean"),
}


def with_param(spec, param):
    """``spec`` with one more parameter."""
    name, at, k = spec.partition("@")
    name = f"{name[:-1]},{param})" if name.endswith(")") else f"{name}({param})"
    return name + at + k


def assert_same(spec, y, f, qid, value, tolerance=1e-13):
    ids = [f"d{row:04}" for row in range(len(y))]
    got = evaluate(y, f, qid, [spec], doc_ids=ids).per_query[spec]
    wanted = np.array([value(*query) for query in by_query(y, f, qid)])
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=spec)


@pytest.mark.parametrize("levels", [None, 6, 1])
@pytest.mark.parametrize("spec", CASES)
def test_equals_the_loop(rng, spec, levels):
    y, f, qid = ragged(rng, levels=levels)
    if "ties=" not in spec:
        spec_of_rows = with_param(spec, "ties='stable'")
        assert_same(spec_of_rows, y, f, qid, CASES[spec])
    else:
        assert_same(spec, y, f, qid, CASES[spec])


@pytest.mark.parametrize("spec", [spec for spec in CASES if "ties=" not in spec])
def test_without_ties_the_rule_for_ties_changes_no_bit(rng, spec):
    y, f, qid = ragged(rng, levels=None)
    specs = [spec, *(with_param(spec, f"ties='{ties}'") for ties in ("mean", "stable", "worst"))]
    first, *others = evaluate(y, f, qid, specs).per_query.values()
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("spec", ["DCG@3", "nDCG@4", "nDCG(gain='linear')", "MeanNDCG", "ERR@3"])
def test_real_valued_grades_have_gains_too(rng, spec):
    y, f, qid = ragged(rng, levels=None)
    y = np.where(y > 0, y - rng.random(len(y)), 0.0)
    loops = {
        "DCG@3": lambda y, f: naive.dcg(y, f, 3),
        "nDCG@4": lambda y, f: naive.ndcg(y, f, 4),
        "nDCG(gain='linear')": lambda y, f: naive.ndcg(y, f, gain="linear"),
        "MeanNDCG": naive.mean_ndcg,
        "ERR@3": lambda y, f: naive.err(y, f, 3),
    }
    assert_same(spec, y, f, qid, loops[spec])


@pytest.mark.parametrize("ties", ["stable", "docid", "worst", "best"])
@pytest.mark.parametrize("spec", [*TIED, *UNCUT])
def test_ties_are_broken_as_told(rng, spec, ties):
    y, f, qid = ragged(rng, levels=3)
    if spec in TIED:
        assert_same(
            with_param(spec, f"ties='{ties}'"),
            y,
            f,
            qid,
            lambda y, f: TIED[spec](y, f, 3, ties=ties),
        )
    else:
        assert_same(
            with_param(spec, f"ties='{ties}'"),
            y,
            f,
            qid,
            lambda y, f: UNCUT[spec](y, f, ties=ties),
        )


@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("spec", AVERAGED)
def test_by_default_ties_earn_the_mean_over_all_their_orders(rng, spec, levels):
    y, f, qid = ragged(rng, n_queries=25, most=6, levels=levels)
    assert_same(spec, y, f, qid, AVERAGED[spec], tolerance=1e-12)


@pytest.mark.parametrize("spec", ["DCG@3", "nDCG(gain='linear')", "MeanNDCG", "ERR@3", "ERR"])
def test_real_valued_grades_of_tied_rows_are_averaged_too(rng, spec):
    y, f, qid = ragged(rng, n_queries=25, most=6, levels=2)
    y = np.where(y > 0, y - rng.random(len(y)), 0.0)
    loops = {
        **AVERAGED,
        "nDCG(gain='linear')": lambda y, f: naive.ndcg(y, f, None, "linear", ties="mean"),
    }
    assert_same(spec, y, f, qid, loops[spec], tolerance=1e-12)


@pytest.mark.parametrize("spec", [*TIED, *UNCUT, "P", "AP", "RR"])
def test_tied_rows_that_were_not_retrieved_have_no_rank(rng, spec):
    """They count in the ideal, and earn what the plain rule gives to rows in any order."""
    y, f, qid = ragged(rng, n_queries=30, most=12, levels=3)
    retrieved = rng.random(len(y)) < 0.7
    per_rule = {
        ties: evaluate(
            y, f, qid, with_param(spec, f"ties='{ties}'"), retrieved=retrieved
        ).per_query[with_param(spec, f"ties='{ties}'")]
        for ties in ("mean", "worst", "best")
    }
    mean, counted = per_rule["mean"], ~np.isnan(per_rule["mean"])
    assert (mean[counted] >= per_rule["worst"][counted] - 1e-12).all()
    assert (mean[counted] <= per_rule["best"][counted] + 1e-12).all()
    untied = np.where(retrieved, rng.permutation(len(y)) + 0.5, 0.0)
    specs = [spec, with_param(spec, "ties='stable'")]
    found = evaluate(y, untied, qid, specs, retrieved=retrieved).per_query
    np.testing.assert_array_equal(found[specs[0]], found[specs[1]])


def test_a_large_block_of_ties_needs_no_quadratic_time():
    n = 200_000
    y = np.zeros(n)
    y[: n // 2] = 1 + np.arange(n // 2) % 4
    result = evaluate(y, np.zeros(n), None, ["ERR", "AP", "RR", "nDCG@10", "MeanNDCG"])
    # Half of the rows are relevant: the first of them is at rank r with probability 2**-r.
    assert result["RR"] == pytest.approx(np.log(2), rel=1e-3)
    assert result["AP"] == pytest.approx(0.5, rel=1e-2)
    stop = np.mean([(2**g - 1) / 16 for g in y])
    expected = sum(stop * (1 - stop) ** (r - 1) / r for r in range(1, 2000))
    assert result["ERR"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("spec", [*TIED, *UNCUT, "AP(ties='block')"])
def test_queries_without_relevant_rows_count_as_told(spec, empty):
    name = with_param(spec, f"empty={empty}")
    result = evaluate([0, 0, 0, 2, 1], [1, 2, 3, 2, 1], [1, 1, 1, 2, 2], [name, spec])
    of_empty, other = result.per_query[name]
    np.testing.assert_equal(of_empty, EMPTY[empty])
    assert other == result.per_query[spec][1]
    wanted = {"0": other / 2, "1": (1 + other) / 2, "'skip'": other, "'nan'": NAN}[empty]
    np.testing.assert_equal(result[name], wanted)


def test_empty_groups_count_as_queries_without_relevant_rows():
    groups = QueryGroups.from_sizes([0, 2, 0])
    for spec in [*TIED, *UNCUT, "AP(ties='block',empty=1)", "nDCG(ties='mean')", "P", "RR"]:
        values = parse(spec).per_query(np.array([1.0, 0.0]), np.array([1.0, 2.0]), groups)
        empties = evaluate([0.0], [0.0], None, [spec]).per_query[spec][0]
        np.testing.assert_equal(values[[0, 2]], [empties, empties], err_msg=spec)
        assert values[1] > 0 or spec == "Rprec"


def test_no_rows_and_no_queries():
    assert np.isnan(evaluate([], [], [], ["nDCG@10"])["nDCG@10"])
    assert evaluate([], [], [], ["AP"]).per_query["AP"].shape == (0,)
    only = parse("AP").per_query(np.empty(0), np.empty(0), QueryGroups.from_sizes([0]))
    assert np.isnan(only).tolist() == [True]


def test_measures_together_equal_each_alone(rng):
    y, f, qid = ragged(rng, n_queries=60, most=200)
    specs = [*CASES, *(with_param(s, "ties='worst'") for s in TIED), "nDCG(ties='mean')@50"]
    together = evaluate(y, f, qid, specs)
    for spec in specs:
        alone = evaluate(y, f, qid, [spec]).per_query[spec]
        np.testing.assert_array_equal(together.per_query[spec], alone, err_msg=spec)
    backwards = evaluate(y, f, qid, specs[::-1])
    for spec in specs:
        np.testing.assert_array_equal(together.per_query[spec], backwards.per_query[spec])


@pytest.mark.parametrize("cutoff", [10**12, 2**63, 10**30])
@pytest.mark.parametrize(
    "name", ["nDCG", "DCG", "AP", "R", "Success", "RR", "ERR", "RBP", "RBPResidual", "Judged",
             "Unjudged", "AP(ties='mean')", "nDCG(ties='docid')"],
)  # fmt: skip
def test_cut_offs_beyond_memory_are_those_of_whole_lists(name, cutoff):
    y, scores, qid = ragged(np.random.default_rng(5))
    words = {"judged": np.ones(len(y), bool), "doc_ids": np.arange(len(y))}
    deep = evaluate(y, scores, qid, [f"{name}@{cutoff}"], **words).per_query
    whole = evaluate(y, scores, qid, [f"{name}@{len(y)}"], **words).per_query
    np.testing.assert_array_equal(*(next(iter(found.values())) for found in (deep, whole)))


def test_precision_at_a_cut_off_beyond_memory():
    assert evaluate([1, 0, 2], [3, 2, 1], None, ["P@1000000000000"])["P@1000000000000"] == 2e-12
