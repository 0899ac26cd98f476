"""Rank-agreement measures against loops over pairs, against scipy, and at their corners."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwise.groups import QueryGroups
from rankwise.metrics import evaluate, parse
from rankwise.metrics.measures.agreement import largest_by_query, mean_by_query, sum_by_query
from tests import oracles_agreement as naive

ORACLES = {
    "MSD": naive.msd,
    "M1D": naive.m1d,
    "Misranking": lambda y, f: naive.misranking(y, f, 1.0),
    "Misranking(ties=0.5)": lambda y, f: naive.misranking(y, f, 0.5),
    "Misranking(ties=0)": lambda y, f: naive.misranking(y, f, 0.0),
    "RankingError": naive.ranking_error,
    "Tau": lambda y, f: naive.tau(y, f, "b"),
    "Tau(variant='a')": lambda y, f: naive.tau(y, f, "a"),
    "Rho": naive.spearman,
    "Pearson": naive.pearson,
    "MAE": naive.mean_absolute_error,
    "ZeroOne": naive.zero_one,
    "MacroMAE": naive.macro_absolute_error,
    "Within(ranks=1)": lambda y, f: naive.within(y, f, 1),
    "Within(ranks=0.5)": lambda y, f: naive.within(y, f, 0.5),
    "Kappa": lambda y, f: naive.kappa(y, f, lambda a, b: abs(a - b)),
    "Kappa(weights='quadratic')": lambda y, f: naive.kappa(y, f, lambda a, b: (a - b) ** 2),
    "Kappa(weights='none')": lambda y, f: naive.kappa(y, f, lambda a, b: a != b),
}
SPECS = list(ORACLES)
RANK_BASED = [s for s in SPECS if s.startswith(("Misranking", "RankingError", "Tau", "Rho"))]
NEEDS_A_PREFERENCE = [s for s in SPECS if s.startswith(("Misranking", "Tau", "Rho", "Pearson"))]
LARGER_IS_BETTER = ("Tau", "Rho", "Pearson", "Within", "Kappa")


def per_query(spec, y, f, qid=None):
    return evaluate(y, f, qid, [spec]).per_query[spec]


def value(spec, y, f):
    return per_query(spec, np.asarray(y, float), np.asarray(f, float))[0]


def ragged(rng, kind):
    """(y, f, qid) shuffled: sizes 1 to 70, so both ways of sorting; ties as ``kind`` says."""
    sizes = np.concatenate([[1, 2, 24, 25, 1], rng.integers(1, 71, 20)])
    qid = np.repeat(rng.permutation(len(sizes)), sizes)
    n = len(qid)
    y, f = {
        "grades": (rng.integers(0, 4, n), rng.integers(-3, 4, n)),
        "real": (rng.standard_normal(n), rng.standard_normal(n)),
        "tied scores": (rng.standard_normal(n), rng.integers(0, 3, n)),
        "signed zeros": (rng.choice([-1.0, 0.0, -0.0, 1.0], n), rng.choice([0.0, -0.0, 2.0], n)),
    }[kind]
    y, f = y.astype(float), f.astype(float)
    y[qid == 3], f[qid == 4] = 2.0, 1.0
    shuffled = rng.permutation(n)
    return y[shuffled], f[shuffled], qid[shuffled]


@pytest.mark.parametrize("kind", ["grades", "real", "tied scores", "signed zeros"])
@pytest.mark.parametrize("spec", SPECS)
def test_equals_loops_over_pairs(rng, spec, kind):
    y, f, qid = ragged(rng, kind)
    result = evaluate(y, f, qid, [spec])
    for query, got in zip(result.qids, result.per_query[spec], strict=True):
        rows = qid == query
        expected = ORACLES[spec](y[rows].tolist(), f[rows].tolist())
        if rows.sum() == 1 and spec in ("MSD", "M1D"):
            expected = math.nan  # the formula's 0 would count as a perfect query
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40),
    st.sampled_from(SPECS),
)
def test_equals_loops_over_pairs_on_small_integers(rows, spec):
    y, f = np.array(rows, dtype=float).T
    np.testing.assert_allclose(
        value(spec, y, f), ORACLES[spec](y.tolist(), f.tolist()), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("n", [2, 3, 24, 25, 300, 5000])
@pytest.mark.parametrize("levels", [3, 50, None])
def test_correlations_equal_scipy(rng, n, levels):
    y, f = rng.standard_normal(n), rng.standard_normal(n)
    f += 0.5 * y
    if levels:
        y, f = np.round(y * levels / 4), np.round(f * levels / 4)
    y[0], f[0] = 9.0, -9.0  # never constant
    assert value("Tau", y, f) == pytest.approx(stats.kendalltau(y, f).statistic, abs=1e-12)
    assert value("Rho", y, f) == pytest.approx(stats.spearmanr(y, f).statistic, abs=1e-12)
    assert value("Pearson", y, f) == pytest.approx(stats.pearsonr(y, f).statistic, abs=1e-12)


def test_long_query_equals_scipy_and_counts_beyond_32_bits(rng):
    n = 100_000
    y, f = rng.integers(0, 5, n).astype(float), rng.standard_normal(n)
    assert value("Tau", y, f) == pytest.approx(stats.kendalltau(y, f).statistic, abs=1e-12)
    assert value("Misranking", np.arange(n), -np.arange(n)) == 1.0
    assert value("Misranking", np.arange(n), np.arange(n)) == 0.0
    assert value("RankingError", np.arange(n), -np.arange(n)) == (n + 1) / 3
    order = rng.permutation(n).astype(float)
    assert value("Rho", np.arange(n), order) == pytest.approx(
        1 - 6 * ((np.arange(n) - order) ** 2).sum() / (n * (n**2 - 1.0)), abs=1e-12
    )


@pytest.mark.parametrize("spec", ["Tau", "Rho", "Tau(variant='a')"])
def test_perfect_order_is_exactly_one(rng, spec):
    for n in (2, 3, 24, 120, 1001):
        y = rng.permutation(n).astype(float)
        assert (value(spec, y, y), value(spec, y, -y)) == (1.0, -1.0)


def test_misranking_with_half_ties_is_one_minus_auc(rng):
    from sklearn.metrics import roc_auc_score

    y, f = rng.integers(0, 2, 90), rng.integers(0, 12, 90)
    assert value("Misranking(ties=0.5)", y, f) == pytest.approx(1 - roc_auc_score(y, f))


def test_msd_is_twice_the_variance_of_the_residuals_and_m1d_the_gini_difference(rng):
    y, f = rng.standard_normal(40), rng.standard_normal(40)
    r = y - f
    assert value("MSD", y, f) == pytest.approx(2 * r.var(), rel=1e-13)
    assert value("M1D", y, f) == pytest.approx(np.abs(r[:, None] - r).mean(), rel=1e-13)


@pytest.mark.parametrize("offset", [1e6, 1e12])
@pytest.mark.parametrize("spec", ["MSD", "M1D", "Pearson", *RANK_BASED])
def test_adding_a_number_to_a_query_changes_nothing(rng, spec, offset):
    """Numbers that stay exact under the offset, so every digit lost would be the measure's."""
    sizes = [60, 45]
    qid = np.repeat([0, 1], sizes)
    y, f = (np.round(rng.standard_normal(105) * 1024) / 1024 for _ in range(2))
    plain = per_query(spec, y, f, qid)
    moved = per_query(spec, y + offset, f - np.array([offset, 3 * offset])[qid], qid)
    np.testing.assert_allclose(moved, plain, rtol=1e-12)


@pytest.mark.parametrize("spec", RANK_BASED)
def test_only_the_order_of_the_scores_matters(rng, spec):
    y, f, qid = ragged(rng, "tied scores")
    np.testing.assert_array_equal(per_query(spec, y, np.exp(f), qid), per_query(spec, y, f, qid))


@pytest.mark.parametrize("spec", ["Tau", "Tau(variant='a')", "Rho", "Pearson"])
def test_correlations_turn_with_the_scores_and_reach_their_ends(rng, spec):
    y, f, qid = ragged(rng, "real")
    np.testing.assert_allclose(per_query(spec, y, -f, qid), -per_query(spec, y, f, qid), rtol=1e-13)
    for slope in (0.1, 3.7, 1e300, 1e-300):
        perfect = per_query(spec, y, slope * y, qid)
        counted = ~np.isnan(perfect)
        np.testing.assert_allclose(perfect[counted], 1.0, rtol=1e-12)
        assert (perfect[counted] <= 1.0).all()


@pytest.mark.parametrize("spec", SPECS)
def test_order_of_rows_and_queries_does_not_matter(rng, spec):
    y, f, qid = ragged(rng, "grades")
    shuffled = rng.permutation(len(y))
    first = evaluate(y, f, qid, [spec])
    second = evaluate(y[shuffled], f[shuffled], qid[shuffled], [spec])
    by_id = dict(zip(second.qids, second.per_query[spec], strict=True))
    np.testing.assert_allclose(
        first.per_query[spec], [by_id[q] for q in first.qids], rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("empty", ["skip", "nan", 0, 1])
def test_queries_without_a_value(spec, empty):
    name, _, params = spec.rstrip(")").partition("(")
    measure = parse(f"{name}({params + ',' if params else ''}empty={empty!r})")
    assert measure.empty == empty
    groups = QueryGroups.from_sizes([0, 1, 3, 3])  # no row, one row, equal labels, three labels
    y = np.array([2.0, 1.0, 1.0, 1.0, 3.0, 2.0, 1.0])
    f = np.array([1.0, 3.0, 2.0, 1.0, 2.0, 1.0, 1.0])
    got = measure.per_query(y, f, groups)
    is_empty = {
        "MAE": [True, False, False, False],
        "ZeroOne": [True, False, False, False],
        "MacroMAE": [True, False, False, False],
        "Within": [True, False, False, False],
        "MSD": [True, True, False, False],
        "M1D": [True, True, False, False],
        "RankingError": [True, True, False, False],
    }.get(name, [True, True, True, False])
    filler = float(empty) if isinstance(empty, int) else math.nan
    np.testing.assert_array_equal(got[is_empty], filler)
    assert np.isfinite(got[~np.array(is_empty)]).all()
    if spec == "RankingError":
        assert got[2] == 0.0
    mean = measure.mean(y, f, groups)
    assert math.isnan(mean) if empty == "nan" else mean == pytest.approx(np.nanmean(got))


@pytest.mark.parametrize("spec", NEEDS_A_PREFERENCE)
def test_which_queries_count_depends_on_the_labels_alone(rng, spec):
    y = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    tied = per_query(spec, y, np.full(5, 0.1), [0, 0, 0, 1, 1])
    assert math.isnan(tied[1])
    expected = {"Misranking": 1.0, "Misranking(ties=0.5)": 0.5}.get(spec, 0.0)
    assert tied[0] == expected


@pytest.mark.parametrize("spec", SPECS)
def test_spec_strings_print_and_parse_back(spec):
    measure = parse(spec)
    assert parse(str(measure)) == measure
    assert str(parse(str(measure))) == str(measure)
    assert "empty='skip'" in str(measure)
    assert measure.greater_is_better == (measure.name in LARGER_IS_BETTER)


def test_aliases_and_canonical_strings():
    assert str(parse("Misranking(ties=1)")) == "Misranking(ties=1.0,empty='skip')"
    assert str(parse("kendall(variant=a)")) == "Tau(variant='a',empty='skip')"
    for alias, name in [
        ("spearman", "Rho"),
        ("RankLoss", "MAE"),
        ("MZE", "ZeroOne"),
        ("pearsonr", "Pearson"),
        ("ranking_error", "RankingError"),
        ("macro_mae", "MacroMAE"),
        ("weighted_kappa(weights=None)", "Kappa(weights=none)"),
    ]:
        assert parse(alias) == parse(name)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("Misranking(ties=0.3)", "ties must be one of .* got 0.3"),
        ("Tau(variant='c')", "variant must be one of .* got 'c'"),
        ("MSD(empty='zero')", "empty must be one of .* got 'zero'"),
        ("Rho@10", "takes no cut-off"),
        ("Kappa(weights=cubic)", "weights must be one of .* got 'cubic'"),
        ("Within(ranks=-1)", "ranks must be a number from 0 .* got -1"),
        ("Pearson(ties=1)", "no parameter 'ties'"),
    ],
)
def test_bad_choices_are_named(spec, message):
    with pytest.raises(ValueError, match=message):
        parse(spec)


def test_pooled_loss_is_that_of_one_query(rng):
    y, f, qid = ragged(rng, "grades")
    assert value("MAE", y, f) == pytest.approx(np.abs(y - f).mean())
    assert value("ZeroOne", y, f) == pytest.approx((y != f).mean())
    assert evaluate(y, f, qid, "MAE")["MAE"] != pytest.approx(value("MAE", y, f))


def test_scores_too_large_for_a_float_do_not_make_a_query_vanish():
    y, f = np.array([0.0, 1.0, 2.0]), np.array([1e308, -1e308, 0.0])
    assert value("MSD", y, f) == math.inf
    assert value("M1D", y, f) == math.inf
    assert value("MSD", y, f / 1e120) == math.inf
    assert abs(value("Pearson", y, f) - -0.5) < 1e-12
    assert value("Pearson", y, [0.0, 5e-324, 1e-323]) == pytest.approx(1.0)
    assert value("Rho", y, f) == -0.5


@pytest.mark.parametrize("spec", SPECS)
def test_inputs_of_other_kinds(rng, spec):
    """float32, integers and read-only memory give what float64 copies give."""
    y, f, qid = ragged(rng, "grades")
    expected = per_query(spec, y, f, qid)
    np.testing.assert_array_equal(per_query(spec, y.astype(np.int8), f.astype("f4"), qid), expected)
    order = np.argsort(qid, kind="stable")
    y, f, qid = y[order], f[order], qid[order]
    expected = per_query(spec, y, f, qid)
    y.flags.writeable = f.flags.writeable = False
    np.testing.assert_array_equal(per_query(spec, y, f, qid), expected)


def test_measures_of_pairs_share_one_count(rng, monkeypatch):
    from rankwise.metrics import scored

    calls = []
    count = scored.count_pairs
    monkeypatch.setattr(scored, "count_pairs", lambda *args: calls.append(1) or count(*args))
    y, f, qid = ragged(rng, "grades")
    result = evaluate(y, f, qid, SPECS)
    assert len(calls) == 1
    for spec in SPECS:
        np.testing.assert_array_equal(result.per_query[spec], per_query(spec, y, f, qid))


def test_read_only_rows_compile_nothing_new(rng):
    from rankwise.kernels.ranking_agreement import compare_pairs

    y = rng.random(30)
    per_query("Tau", y, y)
    known = len(compare_pairs.dispatcher.signatures)
    y.flags.writeable = False
    per_query("Tau", y, y)
    assert len(compare_pairs.dispatcher.signatures) == known


def test_many_rows_run_in_blocks_with_the_same_bits(rng, monkeypatch):
    y, f = rng.integers(0, 5, 90_000).astype(float), rng.standard_normal(90_000)
    groups = QueryGroups.from_sizes(np.full(900, 100))
    monkeypatch.setenv("RANKWISE_NUM_THREADS", "1")
    one = [parse(spec).per_query(y, f, groups) for spec in SPECS]
    monkeypatch.setenv("RANKWISE_NUM_THREADS", "4")
    for spec, expected in zip(SPECS, one, strict=True):
        np.testing.assert_array_equal(parse(spec).per_query(y, f, groups), expected)


def test_sums_over_empty_queries():
    indptr, values = np.array([0, 0, 2, 2, 3, 3]), np.array([1.0, 3.0, -5.0])
    assert sum_by_query(values, indptr).tolist() == [0, 4, 0, -5, 0]
    assert mean_by_query(values, indptr).tolist() == [0, 2, 0, -5, 0]
    assert largest_by_query(values, indptr).tolist() == [0, 3, 0, -5, 0]
    assert sum_by_query(values[:0], np.zeros(3, np.int64)).tolist() == [0, 0]
