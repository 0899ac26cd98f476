"""BoltzRank against sums over all rankings, loops over pairs, and finite differences."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs rankwise[neural]")

from rankwise import AdaRank, BoltzRank, QueryGroups, load  # noqa: E402
from rankwise.metrics import parse  # noqa: E402
from rankwise.rankers.neural import network  # noqa: E402
from rankwise.rankers.neural.boltzmann import (  # noqa: E402
    boltz_rank,
    energies,
    log_probabilities,
)
from rankwise.rankers.neural.ranking_sets import sample_rankings  # noqa: E402

SIZES = [5, 1, 3, 2, 4]
INDPTR = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
NDCG = parse("nDCG@3")


@pytest.fixture
def small(rng):
    """Labels and scores of queries of at most 5 rows, ties among the labels."""
    return rng.integers(0, 3, INDPTR[-1]).astype(float), rng.normal(size=INDPTR[-1])


@pytest.fixture
def judged(rng):
    """150 noisy rows of 15 interleaved queries, four columns of which two matter."""
    X = rng.normal(size=(150, 4))
    y = np.clip(np.round(X[:, 1] - X[:, 3] + 0.3 * rng.normal(size=150) + 1), 0, 3)
    return X, y, np.arange(150) % 15


def energy(ranks, scores, slope=1.0):
    """The definition, pair by pair."""
    m = len(ranks)
    terms = [
        slope * (ranks[i] - ranks[j]) * (scores[i] - scores[j])
        for i in range(m)
        for j in range(m)
        if ranks[i] > ranks[j]
    ]
    return 2 / (m * (m - 1)) * sum(terms) if terms else 0.0


def exact_loss(y, s, measure, slope, kl_weight):
    """Loss of one query over all its rankings, and its gradient in the scores."""
    m = len(y)
    every = [np.array(r) for r in permutations(range(1, m + 1))]

    def distribution(scores):
        p = np.exp([-energy(r, scores, slope) for r in every])
        return p / p.sum()

    told, gold = distribution(s), distribution(y)
    values = np.array([measure.mean(y, -r.astype(float), QueryGroups.single(m)) for r in every])
    values = np.nan_to_num(values)
    loss = kl_weight * sum(gold * np.log(gold / told)) - sum(told * values)
    # d log P(r) / d s = mean over P of dE/ds - dE(r)/ds, with dE/ds = 2 slope (r - mean) / (m - 1)
    slopes = np.array([2 * slope * (r - (m + 1) / 2) / max(m - 1, 1) for r in every])
    score = told @ slopes - slopes
    return loss, -kl_weight * gold @ score - (told * values) @ score


# Energies and distributions ----------------------------------------------------------------------


def test_energy_is_the_sum_over_pairs(small):
    labels, scores = small
    sets = sample_rankings(labels, scores, INDPTR, 6, np.random.RandomState(0))
    got = energies(torch.tensor(scores), sets, slope=1.7).numpy()
    for k in range(6):
        for q, (lo, hi) in enumerate(pairwise(INDPTR)):
            expected = energy(sets.ranks[k, lo:hi], scores[lo:hi], 1.7)
            assert got[k, q] == pytest.approx(expected, abs=1e-12)


def test_queries_may_have_slopes_of_their_own(small):
    labels, scores = small
    sets = sample_rankings(labels, scores, INDPTR, 6, np.random.RandomState(0))
    slopes = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
    got = energies(torch.tensor(scores), sets, slopes)
    np.testing.assert_allclose(got, energies(torch.tensor(scores), sets) * torch.tensor(slopes))


def test_row_below_another_with_a_smaller_score_raises_the_energy():
    scores = np.array([1.0, 0.0])
    sets = sample_rankings(scores, scores, np.array([0, 2]), 2, np.random.RandomState(0))
    by_first = {
        tuple(r): float(e)
        for r, e in zip(sets.ranks, energies(torch.tensor(scores), sets), strict=True)
    }
    assert by_first[(1, 2)] == -1.0  # the larger score on top
    assert by_first[(2, 1)] == 1.0
    probability = log_probabilities(torch.tensor(scores), sets).exp()[:, 0]
    assert probability[sets.ranks[:, 0] == 1] == pytest.approx(1 / (1 + np.exp(-2)))


def test_order_by_score_is_the_most_probable_ranking(small):
    labels, scores = small
    sets = sample_rankings(labels, scores, INDPTR, 120, np.random.RandomState(0))
    best = log_probabilities(torch.tensor(scores), sets).argmax(0).numpy()
    ranks = QueryGroups.from_sizes(SIZES).ranks(scores)
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        np.testing.assert_array_equal(sets.ranks[best[q], lo:hi], ranks[lo:hi])


@pytest.mark.parametrize("measure", ["nDCG@3", "ERR", "AP"])
@pytest.mark.parametrize(("slope", "kl_weight"), [(1.0, 1.0), (2.5, 0.0), (0.4, 0.3)])
def test_small_queries_are_summed_over_all_rankings(measure, slope, kl_weight, small):
    labels, s = small
    measure, scores = parse(measure), torch.tensor(s, requires_grad=True)
    sets = sample_rankings(labels, s, INDPTR, 120, np.random.RandomState(0))
    assert sets.counted.sum(0).tolist() == [120, 1, 6, 2, 24]
    values = sets.measured(measure, labels)
    losses = boltz_rank(
        scores, torch.tensor(labels), sets, values, slope=slope, kl_weight=kl_weight
    )
    gradient = torch.autograd.grad(losses.sum(), scores)[0].numpy()
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        loss, slopes = exact_loss(labels[lo:hi], s[lo:hi], measure, slope, kl_weight)
        assert losses[q].item() == pytest.approx(loss, abs=1e-12)
        np.testing.assert_allclose(gradient[lo:hi], slopes, atol=1e-12)


@pytest.mark.parametrize("n_rankings", [10, 120])
def test_gradient_is_that_of_finite_differences(n_rankings, small):
    labels, s = small
    sets = sample_rankings(labels, s, INDPTR, n_rankings, np.random.RandomState(0))
    values = sets.measured(NDCG, labels)
    assert torch.autograd.gradcheck(
        lambda scores: boltz_rank(scores, torch.tensor(labels), sets, values, slope=1.3),
        torch.tensor(s, requires_grad=True),
        atol=1e-8,
        rtol=1e-6,
    )


def test_gradient_reaches_both_networks(small, rng):
    labels, _ = small
    X = rng.normal(size=(len(labels), 3))
    draw = np.random.RandomState(0)
    weights = [*network.first_layers([3, 4, 1], draw), *network.first_pair_layers(3, 2, draw)]
    tensors = [torch.tensor(w, requires_grad=True) for w in weights]
    ranker = BoltzRank(4, n_pair_nodes=2)
    sets = sample_rankings(labels, labels, INDPTR, 120, draw)
    values = sets.measured(NDCG, labels)

    def loss(*arrays):
        rows = torch.tensor(X)
        scores = network.outputs(rows, arrays[:4], torch.tanh)
        parts = ranker._pair_parts(rows, INDPTR, arrays, torch.tanh)
        return boltz_rank(scores + torch.cat(list(parts)), torch.tensor(labels), sets, values)

    assert torch.autograd.gradcheck(loss, tensors, atol=1e-8, rtol=1e-6)
    for gradient in torch.autograd.grad(loss(*tensors).sum(), [tensors[0], *tensors[4:]]):
        assert (gradient != 0).any()


def test_ragged_batch_is_its_queries_one_by_one(rng):
    sizes = [9, 2, 30]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels, s = rng.integers(0, 3, 41).astype(float), rng.normal(size=41)
    sets = sample_rankings(labels, s, indptr, 20, np.random.RandomState(0))
    values = sets.measured(NDCG, labels)
    together = boltz_rank(torch.tensor(s), torch.tensor(labels), sets, values)
    for q, (lo, hi) in enumerate(pairwise(indptr)):
        one = type(sets)(sets.ranks[:, lo:hi], sets.counted[:, [q]], np.array([0, hi - lo]))
        alone = boltz_rank(torch.tensor(s[lo:hi]), torch.tensor(labels[lo:hi]), one, values[:, [q]])
        assert alone.item() == pytest.approx(together[q].item(), abs=1e-12)


# Sets of rankings --------------------------------------------------------------------------------


def test_sampled_rankings_are_distinct_and_hold_both_orders(rng):
    sizes = [7, 40, 6]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels, scores = rng.permutation(53).astype(float), rng.normal(size=53)
    sets = sample_rankings(labels, scores, indptr, 30, np.random.RandomState(3))
    for q, (lo, hi) in enumerate(pairwise(indptr)):
        ranks = sets.ranks[:, lo:hi]
        np.testing.assert_array_equal(
            np.sort(ranks, 1), np.tile(np.arange(1, hi - lo + 1), (30, 1))
        )
        counted = [tuple(r) for r in ranks[sets.counted[:, q]]]
        assert len(set(counted)) == len(counted) == len({tuple(r) for r in ranks})
        assert len(counted) > 15
        for values in (labels, scores):
            order = QueryGroups.single(hi - lo).ranks(values[lo:hi])
            assert tuple(order) in counted
    few = sample_rankings(labels, scores, indptr, 30, np.random.RandomState(3), gold_share=1e-9)
    gold = QueryGroups.from_sizes(sizes).ranks(labels)
    assert (few.ranks[0] == gold).all()  # the first of its part is without noise
    assert (few.ranks[1] == QueryGroups.from_sizes(sizes).ranks(scores)).all()
    again = sample_rankings(labels, scores, indptr, 30, np.random.RandomState(3))
    np.testing.assert_array_equal(again.ranks, sets.ranks)
    assert (
        sample_rankings(labels, scores, indptr, 30, np.random.RandomState(4)).ranks != sets.ranks
    ).any()


def test_repeated_rankings_are_left_out():
    """Six rows of equal label and score: nothing but chance repeats one of 720 rankings."""
    sets = sample_rankings(
        np.zeros(6), np.zeros(6), np.array([0, 6]), 200, np.random.RandomState(0)
    )
    distinct = len({tuple(r) for r in sets.ranks})
    assert sets.counted.sum() == distinct < 200


def test_values_are_the_measure_of_each_ranking(rng):
    labels = np.array([0.0, 2.0, 1.0, 0.0, 0.0, 3.0, 1.0])
    indptr = np.array([0, 3, 5, 7])
    sets = sample_rankings(labels, rng.normal(size=7), indptr, 8, np.random.RandomState(0))
    for spec in ("nDCG@2", "ERR", "misranking"):
        measure = parse(spec)
        got = sets.measured(measure, labels)
        for k in range(8):
            for q, (lo, hi) in enumerate(pairwise(indptr)):
                value = measure.mean(
                    labels[lo:hi], -sets.ranks[k, lo:hi].astype(float), QueryGroups.single(hi - lo)
                )
                sign = 1 if measure.greater_is_better else -1
                assert got[k, q] == (0 if np.isnan(value) else sign * value)


# The estimator -----------------------------------------------------------------------------------


def test_pairwise_network_is_the_mean_over_the_other_rows(rng, monkeypatch):
    X = rng.normal(size=(6, 3))
    own, other, b, w = network.first_pair_layers(3, 5, np.random.RandomState(0))
    expected = [
        np.mean([np.tanh(X[i] @ own + X[j] @ other + b) @ w for j in range(6) if j != i])
        for i in range(6)
    ]
    for block in (2**22, 60, 1):
        monkeypatch.setattr(network, "_VALUES_PER_BLOCK", block)
        parts = list(network.pair_outputs(X, [own, other, b, w], np.tanh))
        assert len(parts) == {2**22: 1, 60: 3, 1: 6}[block]
        np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-14)
    assert next(network.pair_outputs(X[:1], [own, other, b, w], np.tanh)).tolist() == [0.0]


def test_scores_with_a_pairwise_network_belong_to_the_query(judged, tmp_path):
    X, y, qid = judged
    ranker = BoltzRank(3, n_pair_nodes=4, n_epochs=3, random_state=0).fit(X, y, qid=qid)
    scores = ranker.predict(X, qid=qid)
    for q in range(15):
        np.testing.assert_allclose(ranker.predict(X[qid == q]), scores[qid == q], atol=1e-13)
    assert not np.allclose(ranker.predict(X), scores)
    np.testing.assert_array_equal(load(ranker.save(tmp_path / "m")).predict(X, qid=qid), scores)
    np.testing.assert_array_equal(ranker.rank(X, qid), QueryGroups.from_qid(qid, 150).ranks(scores))
    value = parse("nDCG@10").mean(y, scores, QueryGroups.from_qid(qid, 150))
    assert ranker.score(X, y, qid=qid) == pytest.approx(value, abs=1e-12)


def test_order_of_the_rows_does_not_matter_to_a_pairwise_network(judged, rng):
    X, y, qid = judged
    settings = {"n_pair_nodes": 3, "n_epochs": 3, "random_state": 0}
    expected = BoltzRank(3, **settings).fit(X, y, qid=qid)
    rows = rng.permutation(150)
    got = BoltzRank(3, **settings).fit(X[rows], y[rows], qid=qid[rows])
    for one, two in zip(got.weights_, expected.weights_, strict=True):
        np.testing.assert_array_equal(one, two)
    other = BoltzRank(3, **{**settings, "random_state": 1}).fit(X, y, qid=qid)
    assert not np.allclose(other.weights_[0], expected.weights_[0])


@pytest.mark.parametrize("n_pair_nodes", [0, 3])
def test_training_raises_the_expected_measure(n_pair_nodes, judged):
    X, y, qid = judged
    settings = {"n_pair_nodes": n_pair_nodes, "kl_weight": 0.0, "batch_size": 5}
    ranker = BoltzRank(4, n_epochs=30, random_state=0, **settings).fit(X, y, qid=qid)
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0] - 0.05
    assert ranker.score(X, y, qid=qid) > 0.9
    err = BoltzRank(4, n_epochs=5, objective="ERR", random_state=0, **settings).fit(X, y, qid=qid)
    assert not np.allclose(err.loss_curve_[:5], ranker.loss_curve_[:5], atol=0.01)


def test_early_stopping_measures_within_queries(judged):
    X, y, qid = judged
    train, held = slice(0, 90), slice(90, 150)
    ranker = BoltzRank(
        3, n_pair_nodes=3, n_epochs=40, early_stopping_rounds=3, learning_rate=0.5, random_state=0
    )
    ranker.fit(X[train], y[train], qid=qid[train], X_val=X[held], y_val=y[held], qid_val=qid[held])
    assert len(ranker.validation_scores_) == ranker.n_epochs_ + 3
    score = ranker.score(X[held], y[held], qid=qid[held])
    assert score == pytest.approx(ranker.validation_scores_.max(), abs=1e-12)


def test_features_are_those_of_adarank_or_the_named(judged):
    X, y, qid = judged
    selected = AdaRank("nDCG@10", n_features_to_select=2).fit(X, y, qid=qid).selected_features_
    settings = {"n_epochs": 2, "random_state": 0}
    by_number = BoltzRank(3, n_features=2, **settings).fit(X, y, qid=qid)
    assert by_number.selected_features_.tolist() == selected.tolist()
    assert set(selected) == {1, 3}
    changed = X.copy()
    changed[:, [0, 2]] = 0
    np.testing.assert_array_equal(by_number.predict(changed), by_number.predict(X))
    by_name = BoltzRank(3, features=selected, **settings).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_name.predict(X), by_number.predict(X))
    assert BoltzRank(3, **settings).fit(X, y, qid=qid).selected_features_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"features": [0, 4]}, "features must hold column numbers from 0 to 3"),
        ({"features": [0.5]}, "features must hold column numbers"),
        ({"features": []}, "features must hold column numbers"),
        ({"features": [0], "n_features": 1}, "n_features must be None where features are given"),
        ({"objective": "MAE"}, "objective must be a measure of rankings, got 'MAE'"),
        ({"objective": "nDCD"}, "Did you mean 'nDCG'"),
        ({"n_rankings": 1}, "n_rankings"),
    ],
)
def test_wrong_parameters_are_named(params, message, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=message):
        BoltzRank(**params).fit(X, y, qid=qid)
