"""The gain and cost of a reranker by depth, against lists reordered by hand and plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, spearmanr

from rankwise import RankingData, evaluate
from rankwise.datasets import Run
from rankwise.decisions import rerank_budget
from rankwise.decisions.rerank_budget import bound_gains, bound_losses
from rankwise.runtime.messages import ArgumentError
from rankwise.selection import evaluate_systems

DEPTHS = [0, 2, 4, 6]
FIRST = {
    "q1": {"a": 6.0, "b": 5.0, "c": 4.0, "d": 3.0, "e": 2.0, "f": 1.0},
    "q2": {"a": 3.0, "g": 2.0, "h": 1.0},
    "q3": {"x": 1.0, "y": 0.5},
}
RERANKED = {
    "q1": {"a": 0.1, "b": 0.9, "d": 0.8, "e": 0.7, "f": 0.95, "z": 9.0},  # c has no score
    "q2": {"a": 0.1, "g": 0.2, "h": 0.3},
}
QRELS = {"q1": {"b": 1, "f": 2, "z": 1}, "q2": {"h": 1, "a": 0}, "q9": {"a": 1}}
LISTS = {
    0: {"q1": "abcdef", "q2": "agh"},
    2: {"q1": "bacdef", "q2": "gah"},
    4: {"q1": "bdacef", "q2": "hga"},
    6: {"q1": "fbdeac", "q2": "hga"},
}


def test_lists_calls_and_prices_by_hand():
    found = rerank_budget(
        FIRST, RERANKED, QRELS, depths=[6, 2, 4], measure="RR", margin=0.5, price=0.01, seconds=0.2
    )
    assert found.depth.tolist() == DEPTHS and found.n_queries == 2
    expected = [
        np.mean([
            1 / (1 + next(i for i, d in enumerate(ids) if QRELS[q].get(d, 0)))
            for q, ids in LISTS[depth].items()
        ])
        for depth in DEPTHS
    ]  # fmt: skip
    np.testing.assert_allclose(found.mean, expected)
    np.testing.assert_allclose(found.gain, found.mean - found.mean[0])
    assert found.calls.tolist() == [0, 2, 3.5, 4.5]  # q2 has three documents
    np.testing.assert_allclose(found.seconds, 0.2 * found.calls)
    np.testing.assert_allclose(found.cost, 10 * found.calls)
    assert (found.cheapest, found.signals) == (None, [])
    text = " ".join(found.notes)
    assert "1 of 9 documents of the reranker are not in the first lists" in text
    assert "11.1% of the first 6 documents have no score" in text
    assert "1 of 3 queries have no score of the reranker" in text  # q3
    assert "not in any run" in text  # q9


def test_rows_and_runs_agree():
    rng = np.random.default_rng(0)
    n, size = 40, 12
    qid, ids = np.repeat(np.arange(n), size), np.tile(np.arange(size), n)
    y = (rng.random(n * size) < 0.2).astype(int)
    first, new = y + rng.normal(size=n * size), y + rng.normal(0, 0.5, n * size)
    new[rng.random(n * size) < 0.2] = np.nan
    frame = pd.DataFrame({"qid": qid, "label": y, "bm25": first, "ce": new})
    data = RankingData(np.column_stack([first, new]), y, qid=qid)

    def run(scores):
        known = np.isfinite(scores)
        columns = {"qid": qid[known], "doc_id": ids[known], "score": scores[known]}
        return pd.DataFrame(columns)

    qrels = pd.DataFrame({"qid": qid, "doc_id": ids, "relevance": y})
    found = [
        rerank_budget("column:bm25", "column:ce", frame),
        rerank_budget(first, new, data),
        rerank_budget("column:1", new, data),
        rerank_budget(run(first), run(new), qrels),
        rerank_budget(
            run(first),
            new,
            RankingData(np.empty((n * size, 0)), y, qid=qid, doc_ids=ids.astype(str)),
        ),
    ]
    for other in found[1:]:
        np.testing.assert_allclose(found[0].mean, other.mean)
        np.testing.assert_allclose(found[0].loss_high, other.loss_high)
    assert found[0].depth.tolist() == [0, 5, 10, 12]

    order = np.lexsort((-np.nan_to_num(new, nan=-9), qid))
    values = evaluate(y[order], -np.arange(n * size, dtype=float), qid[order], "nDCG@10")
    assert found[0].mean[-1] == pytest.approx(values["nDCG@10"], abs=0.02)  # where none has a score


@pytest.mark.parametrize("kind", ["array", "column", "mixed"])
def test_rows_keep_their_precision(kind):
    """A large offset, beside which differences vanish in single precision."""
    rng = np.random.default_rng(4)
    y = (rng.random(400) < 0.3).astype(int)
    first = 1e6 + 1e-3 * (y + rng.normal(0, 0.5, 400))
    qid, ids = np.arange(400) // 10, np.arange(400).astype(str)
    data = RankingData(first[:, None], y, qid=qid, doc_ids=ids)
    given = {"array": first, "column": "column:1", "mixed": Run.from_data(data, first)}[kind]
    found = rerank_budget(given, y + rng.normal(size=400), data)
    board = evaluate_systems(data, {"first": first})
    assert found.mean[0] == pytest.approx(np.nanmean(board.per_query()["first"]))


def test_signals_against_scipy():
    rng = np.random.default_rng(1)
    n, size = 60, 15
    qid = np.repeat(np.arange(n), size)
    doubt = np.repeat(rng.permutation(n) / n, size)
    y = (rng.random(n * size) < 0.2).astype(int)
    noise = rng.normal(size=n * size)
    first = (1 - doubt) * 3 * y + noise  # the first stage fails where doubt is large
    data = RankingData(np.empty((n * size, 0)), y, qid=qid)
    found = rerank_budget(first, y + 0.1 * noise, data, depths=[5, 15], margin=0.01)
    assert found.verdict == "helps" and found.cheapest == 15
    per_query = [
        np.array([
            evaluate(y[qid == q], scores[qid == q], None, "nDCG@10")["nDCG@10"]
            if y[qid == q].any() else np.nan
            for q in range(n)
        ])
        for scores in (first, y + 0.1 * noise)
    ]  # fmt: skip
    gain = per_query[1] - per_query[0]
    counts = np.isfinite(gain)
    top = np.array([-first[qid == q].max() for q in range(n)])
    signal = next(signal for signal in found.signals if signal.name == "top")
    assert signal.rho == pytest.approx(spearmanr(top[counts], gain[counts]).statistic)
    chance = found.signals[0]
    assert chance.name == "random" and math.isnan(chance.rho)
    assert chance.half == pytest.approx((found.mean[0] + found.mean[-1]) / 2)
    assert chance.loss == pytest.approx(found.gain[-1] / 2)
    chosen = np.argsort(-top[counts], kind="stable")[: counts.sum() // 2]
    half = per_query[0][counts].copy()
    half[chosen] = per_query[1][counts][chosen]
    assert signal.half == pytest.approx(half.mean())
    assert signal.loss == pytest.approx(found.mean[-1] - half.mean())
    assert signal.low > 0 and "Signals that go with the gain: top" in found.advice[3]
    assert "by top, lose" in found.advice[4] and "other queries" in found.advice[5]
    assert all(len(line) <= 80 for line in found.advice)


def test_bounds_of_equal_values_are_those_of_shares():
    values = np.tile(np.random.default_rng(0).random((50, 1)), 3)
    exact = beta.ppf(1 - 0.05 / 3, 1, 50)  # Clopper and Pearson: none of 50 queries differs
    np.testing.assert_allclose(bound_losses(values, 1.0, 0.95), exact, atol=1e-4)
    joint = beta.ppf(1 - 0.05 / 4, 1, 50)  # two depths
    np.testing.assert_allclose(bound_gains(values, 1.0, 0.95)[:, 1], joint, atol=1e-4)


def test_rare_losses_break_no_promise():
    """2 % of the queries lose everything at depth 1: a margin of .01 must rarely be promised."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(100):
        values = np.full((200, 3), 0.5)
        values[rng.random(200) < 0.02, :2] = -0.5
        broken += bound_losses(values, 1.0, 0.95)[:2].min() <= 0.01
    assert broken <= 5


@pytest.mark.parametrize(
    ("shift", "verdict", "words"),
    [(0.4, "helps", "Reranking helps"), (-0.4, "hurts", "Stop: reranking hurts at every depth")],
)
def test_verdicts(shift, verdict, words):
    rng = np.random.default_rng(2)
    n, size = 80, 10
    y = (rng.random(n * size) < 0.3).astype(int)
    data = RankingData(np.empty((n * size, 0)), y, qid=np.arange(n * size) // size)
    noise = rng.normal(0, 0.3, (2, n * size))
    first, new = y * (0.4 - shift) + noise[0], y * (0.4 + shift) + noise[1]
    found = rerank_budget(first, new, data, depths=[5, 10], margin=0.3)
    assert found.verdict == verdict and found.advice[0].startswith(words)
    if verdict == "hurts":
        assert found.cheapest == 0 and "Not worth its calls" in str(found)
    else:
        strict = rerank_budget(first, new, data, depths=[5, 10], margin=0)
        assert strict.cheapest in (None, 10)


def test_documents_that_no_list_has():
    y, qid = [0, 1, 1, 0], [1, 1, 2, 2]
    missed = RankingData(np.empty((2, 0)), [2, 1], qid=[1, 2])
    data = RankingData(np.zeros((4, 1)), y, qid=qid, missed=missed)
    found = rerank_budget([2.0, 1.0, 1.0, 2.0], [1.0, 2.0, 2.0, 1.0], data, depths=[2])
    ideal = {1: 3 + 1 / math.log2(3), 2: 1 + 1 / math.log2(3)}
    expected = [np.mean([g / ideal[q] for q in (1, 2)]) for g in (1 / math.log2(3), 1)]
    np.testing.assert_allclose(found.mean, expected)
    one = rerank_budget({"q": {"a": 2, "b": 1}}, {"q": {"a": 1, "b": 2}}, {"q": {"b": 1}})
    assert one.verdict == "unclear" and one.cheapest is None and str(one)


def test_unjudged_documents_are_named():
    rng = np.random.default_rng(3)
    first, new, qrels = {}, {}, {}
    for q in map(str, range(20)):
        docs = [f"d{i}" for i in range(30)]
        first[q] = dict(zip(docs, np.arange(30.0, 0, -1), strict=True))
        new[q] = dict(zip(docs, rng.random(30), strict=True))
        qrels[q] = {d: int(rng.random() < 0.5) for d in docs[:10]}  # of the first stage only
    found = rerank_budget(first, new, qrels)
    assert any("moves unjudged documents up (0% at depth 0" in note for note in found.notes)
    assert found.unjudged[0] == 0 and found.unjudged[-1] > 0.05


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"margin": -1}, "margin must be a number >= 0, got -1"),
        ({"price": "free"}, "price must be a number >= 0"),
        ({"depths": [0]}, "depths must be a whole number >= 1, got 0"),
        ({"depths": []}, "depths must name at least one number"),
        ({"depths": 0}, "depths must be a whole number >= 1, got 0"),
        ({"depths": "5"}, "depths must be a whole number >= 1, got '5'"),
        ({"reranked": {"q1": {}}}, "reranked must have a score of at least one document"),
        ({"measure": ["AP", "RR"]}, "measure must be one measure, got 2"),
        ({"measure": "Misranking"}, "measure must be larger for better lists, got Misranking"),
        ({"confidence_level": 1}, "confidence_level must lie between 0 and 1"),
        ({"reranked": {"q1": {"other": 1.0}}}, "no score for any of the 6 documents"),
        ({"data": {"q7": {"a": 1}}}, "first and the judgments have no query in common"),
        ({"reranked": [0.1, 0.2]}, "data must be judged rows unless both are runs"),
    ],
)
def test_wrong_arguments(change, problem):
    given = {"first": FIRST, "reranked": RERANKED, "data": QRELS} | change
    with pytest.raises((ValueError, TypeError), match=problem):
        rerank_budget(**given)


def test_wrong_rows():
    data = RankingData(np.zeros((4, 1)), [0, 1, 0, 1], qid=[1, 1, 2, 2])
    with pytest.raises(ArgumentError, match="first must have one score per row of 4, got 3"):
        rerank_budget([1.0, 2.0, 3.0], "column:1", data)
    with pytest.raises(ArgumentError, match="first must be finite, got no number at row 1"):
        rerank_budget([1.0, np.nan, 3.0, 1.0], "column:1", data)
    for name in ("first", "reranked"):
        given = {"first": [1.0, 2.0, 3.0, 1.0], "reranked": "column:1"} | {name: [np.nan] * 4}
        with pytest.raises(ArgumentError, match=f"{name} must"):
            rerank_budget(**given, data=data)
    assert rerank_budget("column:1", [1.0, 2.0, 3.0, 1.0], data, depths=2).depth.tolist() == [0, 2]
    with pytest.raises(ArgumentError, match="must have document ids, since first is a run"):
        rerank_budget(FIRST, "column:1", data)
