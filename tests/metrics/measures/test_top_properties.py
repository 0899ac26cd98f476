"""What must hold of every measure of the top, for any ragged queries that hypothesis finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.metrics import evaluate, parse

# Drawn labels may all be relevant, or equal.
pytestmark = pytest.mark.filterwarnings("ignore::rankwise.metrics.UndefinedMeasureWarning")

SPECS = [
    "nDCG@3",
    "nDCG(gain='linear',discount='letor',empty=0,short='zero')@2",
    "nDCG(gain=(0,1,1,7,7))",
    "MeanNDCG",
    "AP",
    "AP(norm='cutoff',rel=2)@3",
    "P@3",
    "P(short='cut')@4",
    "R@2",
    "Rprec",
    "Success@2",
    "RR",
    "ERR@5",
    "RBP(p=0.6)",
    "DCG@4",
]
BOUNDED = [spec for spec in SPECS if not spec.startswith("DCG")]
# 1 for every query that has anything to gain, ranked best first.
IDEAL_IS_ONE = ["nDCG@3", "nDCG(gain=(0,1,1,7,7))", "MeanNDCG", "AP", "AP(norm='cutoff')@2", "RR",
                "Rprec", "nDCG(ties='mean')@2", "AP(ties='block')"]  # fmt: skip
TIED = ["nDCG(ties='mean')@3", "AP(ties='block')", "nDCG(ties='worst')@3", "P(ties='mean')@2",
        "ERR(ties='best')", "AP(ties='worst')@4"]  # fmt: skip


@st.composite
def queries(draw, *, distinct=False):
    """(y, f, qid), rows of the queries mixed."""
    n = draw(st.integers(1, 24))
    y = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=float)
    qid = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    scores = st.integers(-5, 5) if not distinct else st.integers(-1000, 1000)
    f = np.array(draw(st.lists(scores, min_size=n, max_size=n, unique=distinct)), dtype=float)
    return y, f / 4, qid


def values(y, f, qid, spec):
    """Value by query id."""
    ids = [f"d{row:04}" for row in range(len(y))]
    result = evaluate(y, f, qid, [spec], doc_ids=ids)
    return dict(zip(result.qids.tolist(), result.per_query[spec].tolist(), strict=True))


def same(a, b):
    assert a.keys() == b.keys()
    for query in a:
        np.testing.assert_equal(a[query], b[query])


@given(queries(distinct=True), st.randoms(use_true_random=False), st.sampled_from(SPECS))
def test_row_order_does_not_matter_without_ties(case, random, spec):
    y, f, qid = case
    order = random.sample(range(len(y)), len(y))
    same(values(y, f, qid, spec), values(y[order], f[order], qid[order], spec))


@given(queries(), st.randoms(use_true_random=False), st.sampled_from(TIED))
def test_row_order_does_not_matter_where_ties_are_broken_by_value(case, random, spec):
    y, f, qid = case
    order = random.sample(range(len(y)), len(y))
    one, other = values(y, f, qid, spec), values(y[order], f[order], qid[order], spec)
    for query in one:
        np.testing.assert_allclose(one[query], other[query], rtol=1e-13)


@given(queries(), st.permutations(range(5)), st.sampled_from(SPECS))
def test_query_names_and_their_order_do_not_matter(case, names, spec):
    y, f, qid = case
    renamed = np.array(names)[qid]
    got = values(y, f, renamed, spec)
    same({names[q]: v for q, v in values(y, f, qid, spec).items()}, got)
    by_query = np.argsort(renamed, kind="stable")
    same(got, values(y[by_query], f[by_query], renamed[by_query], spec))


@given(queries(), st.sampled_from(SPECS))
def test_a_duplicated_query_changes_no_value(case, spec):
    y, f, qid = case
    alone = values(y, f, qid, spec)
    rows = np.flatnonzero(qid == qid[0])
    more = values(
        np.append(y, y[rows]), np.append(f, f[rows]), np.append(qid, np.full(len(rows), 99)), spec
    )
    np.testing.assert_equal(more.pop(99), alone[qid[0]])
    same(alone, more)


@given(queries(), st.floats(0.01, 100), st.integers(-9, 9), st.sampled_from(SPECS))
def test_scores_count_by_their_order_only(case, scale, shift, spec):
    y, f, qid = case
    levels = np.unique(f)
    moved = (np.cumsum(np.full(len(levels), scale)) + shift)[np.searchsorted(levels, f)]
    same(values(y, f, qid, spec), values(y, moved, qid, spec))
    same(values(y, f, qid, spec), values(y, np.arctan(f), qid, spec))


@given(queries(), st.sampled_from(BOUNDED + TIED))
def test_values_lie_between_0_and_1(case, spec):
    y, f, qid = case
    for value in values(y, f, qid, spec).values():
        assert np.isnan(value) or 0.0 <= value <= 1.0 + 1e-15


@given(queries(), st.sampled_from(IDEAL_IS_ONE))
def test_the_ideal_order_scores_1(case, spec):
    y, _, qid = case
    for query, value in values(y, y, qid, spec).items():
        if y[qid == query].any():
            assert value == pytest.approx(1.0, rel=1e-14)


@given(queries(distinct=True), st.sampled_from(SPECS), st.data())
def test_the_better_row_of_two_is_better_up(case, spec, data):
    y, f, qid = case
    rows = np.flatnonzero(qid == qid[0])
    a, b = (data.draw(st.sampled_from(rows.tolist())) for _ in range(2))
    swapped = f.copy()
    swapped[a], swapped[b] = f[b], f[a]
    one, other = values(y, f, qid, spec)[qid[0]], values(y, swapped, qid, spec)[qid[0]]
    if np.isnan(one):
        assert np.isnan(other)
    elif (f[a] > f[b]) == (y[a] >= y[b]):
        assert one >= other - 1e-15
    else:
        assert one <= other + 1e-15


@given(queries())
def test_worst_and_best_bracket_every_order_of_ties(case):
    y, f, qid = case
    for name in ("nDCG", "AP", "RR", "ERR", "P@3"):
        base, at, k = name.partition("@")
        by_rule = {
            ties: values(y, f, qid, f"{base}(ties='{ties}')" + at + k)
            for ties in ("worst", "best", "stable", "docid")
        }
        for query, stable in by_rule["stable"].items():
            if not np.isnan(stable):
                for rule in (stable, by_rule["docid"][query]):
                    low, high = by_rule["worst"][query], by_rule["best"][query]
                    assert low - 1e-15 <= rule <= high + 1e-15


@given(queries(distinct=True), st.sampled_from(["nDCG@3", "AP", "P@3", "ERR@3", "MeanNDCG"]))
def test_the_mean_is_over_the_queries_that_count(case, spec):
    y, f, qid = case
    result = evaluate(y, f, qid, [spec])
    counted = [v for v in result.per_query[spec].tolist() if not np.isnan(v)]
    wanted = np.mean(counted) if counted else np.nan
    np.testing.assert_allclose(result[spec], wanted, rtol=1e-14)
    assert parse(spec).greater_is_better
