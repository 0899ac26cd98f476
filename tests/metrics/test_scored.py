"""The ranking under the measures: exact and stable at any size, near-ties and threads included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.groups import QueryGroups
from rankwise.kernels.topk import COUNT_UP_TO
from rankwise.metrics import evaluate, parse
from rankwise.metrics.scored import ScoredGroups, compute

SPECS = ["nDCG@10", "AP", "P@10", "ERR@10", "nDCG", "AP(ties='worst')", "nDCG(ties='mean')@7"]


def assert_ranked(scores, sizes, depth=0):
    """Row numbers come out in the order of a stable sort, query by query."""
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(len(scores), dtype=np.float64)
    scored = ScoredGroups(rows, np.asarray(scores, dtype=np.float64), indptr)
    got = scored.rank(rows, "stable", depth)
    query = np.repeat(np.arange(len(sizes)), sizes)
    wanted = np.lexsort((-scored.scores, query))
    place = np.arange(len(scores)) - indptr[query]
    np.testing.assert_array_equal(got.values, wanted[(place < depth) | (depth == 0)])
    kept = sizes if depth == 0 else np.minimum(sizes, depth)
    np.testing.assert_array_equal(np.diff(got.top), kept)


def score_kinds(rng, n):
    """Scores of every awkward kind, n of each."""
    near = 1.0 + rng.integers(0, 40, n) * np.finfo(float).eps
    return {
        "normal": rng.standard_normal(n),
        "float32": rng.standard_normal(n).astype(np.float32),
        "tied": rng.integers(0, 3, n) / 2,
        "all tied": np.zeros(n),
        "signed zeros": rng.choice([0.0, -0.0], n),
        "last bits": near,
        "last bits, negative": -near,
        "denormal": rng.integers(-9, 9, n) * 5e-324,
        "huge": rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-308, 308, n),
        "ascending": np.arange(n) / 7,
        "descending": -np.arange(n) / 7,
    }


KINDS = list(score_kinds(np.random.default_rng(0), 1))


@pytest.mark.parametrize("depth", [0, 1, 3, 10, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_as_a_stable_sort(rng, kind, depth):
    limit = COUNT_UP_TO
    sizes = [0, 1, 2, 3, 4, 5, 8, 13, 47, 48, 120, limit - 1, limit, limit + 1, 1000, 0, 2500]
    assert_ranked(score_kinds(rng, sum(sizes))[kind], sizes, depth)


def test_a_near_tie_is_no_tie_between_the_lowest_bits_of_a_key():
    for size in (5, 60, COUNT_UP_TO, COUNT_UP_TO + 1):
        for depth in (0, 1):
            scores = np.full(size, 0.1)
            scores[-1] = np.nextafter(0.1, 1)
            assert_ranked(scores, [size], depth)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_ranks_any_floats(scores, depth, random):
    scores = scores + random.sample(scores, len(scores) // 2)
    assert_ranked(scores, [len(scores)], depth)


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_rows_of_one_query(rng, kind):
    n = 1_000_000
    scores = score_kinds(rng, n)[kind]
    y = rng.integers(0, 5, n).astype(np.float64)
    at_ten, whole = "nDCG(ties='stable')@10", "AP(ties='stable')"
    result = evaluate(y, scores, None, [at_ten, whole, "nDCG@10", "AP"])
    by_rank = y[np.argsort(-np.asarray(scores, dtype=float), kind="stable")]
    gains = (2.0 ** by_rank[:10] - 1) / np.log2(np.arange(2, 12))
    ideal = (15 / np.log2(np.arange(2, 12))).sum()
    assert result[at_ten] == pytest.approx(gains.sum() / ideal, rel=1e-12)
    relevant = by_rank >= 1
    precision = np.cumsum(relevant) / np.arange(1, n + 1)
    assert result[whole] == pytest.approx(precision[relevant].mean(), rel=1e-12)
    if len(np.unique(scores)) == n:
        assert (result["nDCG@10"], result["AP"]) == (result[at_ten], result[whole])


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_same_bits_for_any_number_of_threads(rng, shuffled):
    sizes = rng.integers(0, 400, 400)
    qid = np.repeat(np.arange(400), sizes)
    n = len(qid)
    y, f = rng.integers(0, 5, n).astype(float), rng.integers(0, 50, n) / 8
    if shuffled:
        qid = rng.permutation(qid)
    groups = QueryGroups.from_qid(qid, n)
    measures = [parse(spec) for spec in SPECS]
    one = compute(measures, y, f, groups, n_threads=1)
    for n_threads in (2, 3, 7):
        many = compute(measures, y, f, groups, n_threads=n_threads)
        for spec, a, b in zip(SPECS, one, many, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=spec)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool, np.float16])
def test_any_number_type_and_layout(rng, dtype):
    y = rng.integers(0, 2, 90).astype(dtype)
    f = rng.integers(0, 9, 90).astype(dtype if dtype is not bool else np.float32)
    qid = np.repeat(np.arange(9), 10)
    plain = evaluate(y.astype(float), f.astype(float), qid, SPECS)
    for a, b in [(y, f), (np.repeat(y, 2)[::2], np.repeat(f, 3)[::3]), (y[:, None], f[:, None])]:
        result = evaluate(a, b, qid, SPECS)
        for spec in SPECS:
            np.testing.assert_array_equal(result.per_query[spec], plain.per_query[spec])


def test_inputs_are_left_alone(rng):
    y, f, qid = rng.integers(0, 3, 50).astype(float), rng.random(50), rng.integers(0, 5, 50)
    kept = [a.copy() for a in (y, f, qid)]
    for a in (y, f, qid):
        a.flags.writeable = False
    evaluate(y, f, qid, SPECS)
    for a, b in zip((y, f, qid), kept, strict=True):
        np.testing.assert_array_equal(a, b)
