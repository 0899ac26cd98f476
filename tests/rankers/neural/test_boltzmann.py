"""BoltzRank's distributions of rankings: sums over all rankings, pairs, finite differences."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.random import RandomState
from scipy.stats import chi2

torch = pytest.importorskip("torch", reason="needs rankwise[neural]")

from rankwise import BoltzRank, QueryGroups  # noqa: E402
from rankwise.kernels.random_draws import swap_places  # noqa: E402
from rankwise.metrics import parse  # noqa: E402
from rankwise.rankers.neural import neural_ranker as network  # noqa: E402
from rankwise.rankers.neural.boltz_rank import first_pair_layers  # noqa: E402
from rankwise.rankers.neural.boltzmann import (  # noqa: E402
    JudgedRanks,
    RankingSets,
    boltz_rank,
    energies,
    expect_judged_ranks,
    log_weights,
    sample_rankings,
)

SIZES = [5, 1, 3, 2, 4]
INDPTR = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
NDCG = parse("nDCG@3")


@pytest.fixture
def small(rng):
    """Labels and scores of queries of at most 5 rows, ties among the labels."""
    return rng.integers(0, 3, INDPTR[-1]).astype(float), rng.normal(size=INDPTR[-1])


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
    _, scores = small
    sets = sample_rankings(scores, INDPTR, 6, RandomState(0))
    got = energies(torch.tensor(scores), sets.ranks, INDPTR, slope=1.7).numpy()
    for k in range(6):
        for q, (lo, hi) in enumerate(pairwise(INDPTR)):
            expected = energy(sets.ranks[k, lo:hi], scores[lo:hi], 1.7)
            assert got[k, q] == pytest.approx(expected, abs=1e-12)


def test_queries_may_have_slopes_of_their_own(small):
    _, scores = small
    ranks = sample_rankings(scores, INDPTR, 6, RandomState(0)).ranks
    slopes = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
    got = energies(torch.tensor(scores), ranks, INDPTR, slopes)
    one = energies(torch.tensor(scores), ranks, INDPTR)
    np.testing.assert_allclose(got, one * torch.tensor(slopes))


def test_row_below_another_with_a_smaller_score_raises_the_energy():
    scores, indptr = np.array([1.0, 0.0]), np.array([0, 2])
    sets = sample_rankings(scores, indptr, 2, RandomState(0))
    by_first = {
        tuple(r): float(e)
        for r, e in zip(sets.ranks, energies(torch.tensor(scores), sets.ranks, indptr), strict=True)
    }
    assert by_first[(1, 2)] == -1.0  # the larger score on top
    assert by_first[(2, 1)] == 1.0
    probability = torch.softmax(log_weights(torch.tensor(scores), sets), 0)[:, 0]
    assert probability[sets.ranks[:, 0] == 1] == pytest.approx(1 / (1 + np.exp(-2)))


def test_order_by_score_is_the_most_probable_ranking(small):
    _, scores = small
    sets = sample_rankings(scores, INDPTR, 120, RandomState(0))
    best = log_weights(torch.tensor(scores), sets).argmax(0).numpy()
    ranks = QueryGroups.from_sizes(SIZES).ranks(scores)
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        np.testing.assert_array_equal(sets.ranks[best[q], lo:hi], ranks[lo:hi])


@pytest.mark.parametrize("measure", ["nDCG@3", "ERR", "AP"])
@pytest.mark.parametrize(("slope", "kl_weight"), [(1.0, 1.0), (2.5, 0.0), (0.4, 0.3)])
def test_small_queries_are_summed_over_all_rankings(measure, slope, kl_weight, small):
    labels, s = small
    measure, scores = parse(measure), torch.tensor(s, requires_grad=True)
    sets = sample_rankings(s, INDPTR, 120, RandomState(0))
    assert sets.listed.all()
    assert (sets.log_proposal == 0).sum(0).tolist() == [120, 1, 6, 2, 24]
    judged = expect_judged_ranks(labels, sets, 1, RandomState(0), slope)
    values = sets.measured(measure, labels)
    losses = boltz_rank(scores, sets, values, judged, slope=slope, kl_weight=kl_weight)
    gradient = torch.autograd.grad(losses.sum(), scores)[0].numpy()
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        loss, slopes = exact_loss(labels[lo:hi], s[lo:hi], measure, slope, kl_weight)
        assert losses[q].item() == pytest.approx(loss, abs=1e-12)
        np.testing.assert_allclose(gradient[lo:hi], slopes, atol=1e-12)


@pytest.mark.parametrize("n_rankings", [10, 120])
def test_gradient_is_that_of_finite_differences(n_rankings, small):
    labels, s = small
    sets = sample_rankings(s, INDPTR, n_rankings, RandomState(0), 1.3)
    judged = expect_judged_ranks(labels, sets, 5, RandomState(0), 1.3)
    values = sets.measured(NDCG, labels)
    assert torch.autograd.gradcheck(
        lambda scores: boltz_rank(scores, sets, values, judged, slope=1.3, kl_weight=0.7),
        torch.tensor(s + 0.1 * labels, requires_grad=True),
        atol=1e-8,
        rtol=1e-6,
    )


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_gradient_reaches_both_networks(reduction, small, rng):
    labels, _ = small
    X = rng.normal(size=(len(labels), 3))
    draw = RandomState(0)
    weights = [*network.first_layers([3, 4, 1], draw), *first_pair_layers(3, 2, draw)]
    tensors = [torch.tensor(w, requires_grad=True) for w in weights]
    ranker = BoltzRank(4, n_pair_nodes=2, pair_reduction=reduction)
    ranker.pair_scale_ = 2.5
    sets = sample_rankings(labels, INDPTR, 120, draw)
    judged = expect_judged_ranks(labels, sets, 1, draw)
    values = sets.measured(NDCG, labels)

    def loss(*arrays):
        rows = torch.tensor(X)
        scores = network.outputs(rows, arrays[:4], torch.tanh)
        parts = ranker._pair_parts(rows, INDPTR, arrays, torch.tanh)
        return boltz_rank(scores + torch.cat(list(parts)), sets, values, judged, kl_weight=1.0)

    assert torch.autograd.gradcheck(loss, tensors, atol=1e-8, rtol=1e-6)
    for gradient in torch.autograd.grad(loss(*tensors).sum(), [tensors[0], *tensors[4:]]):
        assert (gradient != 0).any()


def test_ragged_batch_is_its_queries_one_by_one(rng):
    sizes = [9, 2, 30]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels, s = rng.integers(0, 3, 41).astype(float), rng.normal(size=41)
    sets = sample_rankings(s, indptr, 20, RandomState(0))
    judged = expect_judged_ranks(labels, sets, 10, RandomState(0))
    values = sets.measured(NDCG, labels)
    together = boltz_rank(torch.tensor(s), sets, values, judged, kl_weight=0.1)
    for q, (lo, hi) in enumerate(pairwise(indptr)):
        one = RankingSets(
            sets.ranks[:, lo:hi],
            sets.log_proposal[:, [q]],
            sets.listed[[q]],
            np.array([0, hi - lo]),
        )
        label_ranks = JudgedRanks(judged.ranks[lo:hi], judged.entropy[[q]])
        alone = boltz_rank(torch.tensor(s[lo:hi]), one, values[:, [q]], label_ranks, kl_weight=0.1)
        assert alone.item() == pytest.approx(together[q].item(), abs=1e-12)


# Sets of rankings --------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.3, 1.5, 6.0])
def test_sample_is_of_the_boltzmann_distribution(slope, rng):
    """Frequencies of the 120 rankings of 5 rows, ties among the scores, against P: chi-squared."""
    scores, indptr, n = np.array([0.3, -1.0, 0.8, 0.1, 0.1]), np.array([0, 5]), 40_000
    sample = sample_rankings(np.tile(scores, n), 5 * np.arange(n + 1), 1, RandomState(1), slope)
    assert not sample.listed.any()
    listed = sample_rankings(scores, indptr, 120, RandomState(0))
    P = torch.softmax(log_weights(torch.tensor(scores), listed, slope), 0)[:, 0].numpy()
    place = {tuple(r): k for k, r in enumerate(listed.ranks)}
    counts = np.bincount([place[tuple(r)] for r in sample.ranks.reshape(n, 5)], minlength=120)
    often = n * P >= 5
    terms = (counts - n * P)[often] ** 2 / (n * P)[often]
    assert chi2.sf(terms.sum(), often.sum() - 1) > 1e-3
    assert counts[~often].sum() < 2 * n * P[~often].sum() + 20


@pytest.mark.parametrize("slope", [1.0, 10.0])
def test_sample_of_a_long_query_has_the_mean_energy_of_a_long_chain(slope):
    scores, indptr = RandomState(0).normal(size=150), np.array([0, 150])
    sample = sample_rankings(scores, indptr, 400, RandomState(1), slope)
    order = np.argsort(sample.ranks, axis=1)
    swap_places(order, indptr, 2 * slope / 149 * scores, 400, np.uint64(5))
    settled = -(scores[order] @ (np.arange(150) - 74.5)) * 2 * slope / 149
    drawn = sample.log_proposal[:, 0]
    # Twenty sweeps come this near; the order by score alone would be 1.1 to 2 times the energy.
    assert drawn.mean() == pytest.approx(settled.mean(), rel=0.06)
    assert drawn.std() == pytest.approx(settled.std(), rel=0.25)


def test_sample_is_reproducible_and_never_listed_in_part(rng):
    sizes = [7, 40, 3]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    scores = rng.normal(size=50)
    sets = sample_rankings(scores, indptr, 30, RandomState(3))
    for lo, hi in pairwise(indptr):
        expected = np.tile(np.arange(1, hi - lo + 1), (30, 1))
        np.testing.assert_array_equal(np.sort(sets.ranks[:, lo:hi], 1), expected)
    assert sets.listed.tolist() == [False, False, True]
    energy = energies(torch.tensor(scores), sets.ranks, indptr).numpy()
    np.testing.assert_allclose(sets.log_proposal[:, :2], -energy[:, :2], atol=1e-12)
    np.testing.assert_array_equal(
        sample_rankings(scores, indptr, 30, RandomState(3)).ranks, sets.ranks
    )
    assert (sample_rankings(scores, indptr, 30, RandomState(4)).ranks != sets.ranks).any()


def test_weights_turn_the_sample_into_expectations_at_other_scores(rng):
    """Self-normalised importance sampling from the distribution at s0, expectation at s."""
    labels, start = np.array([0.0, 2.0, 1.0, 0.0, 1.0]), rng.normal(size=5)
    end, indptr = start + 0.5 * labels, np.array([0, 5])
    sample = sample_rankings(start, indptr, 119, RandomState(0))
    many = [sample_rankings(start, indptr, 119, RandomState(k)) for k in range(200)]
    sample = RankingSets(
        np.concatenate([one.ranks for one in many]),
        np.concatenate([one.log_proposal for one in many]),
        sample.listed,
        indptr,
    )
    loss = boltz_rank(torch.tensor(end), sample, sample.measured(NDCG, labels))
    exact, _ = exact_loss(labels, end, NDCG, 1.0, 0.0)
    unweighted = -sample.measured(NDCG, labels).mean()
    assert loss.item() == pytest.approx(exact, abs=0.005)
    assert abs(unweighted - exact) > 0.02


@pytest.mark.parametrize("kl_weight", [0.0, 0.2])
def test_gradient_of_samples_is_that_of_all_rankings(kl_weight, rng):
    labels, s = np.array([0.0, 2.0, 1.0, 0.0, 1.0]), rng.normal(size=5)
    n, scores = 20_000, torch.tensor(s, requires_grad=True)
    indptr = np.array([0, 5])
    sample = sample_rankings(np.tile(s, n), 5 * np.arange(n + 1), 1, RandomState(0), 1.5)
    sample = RankingSets(
        sample.ranks.reshape(n, 5), sample.log_proposal.reshape(n, 1), np.array([False]), indptr
    )
    judged = expect_judged_ranks(labels, sample, 119, RandomState(1), 1.5)
    values = sample.measured(NDCG, labels)
    loss = boltz_rank(scores, sample, values, judged, slope=1.5, kl_weight=kl_weight)
    gradient = torch.autograd.grad(loss.sum(), scores)[0].numpy()
    _, exact = exact_loss(labels, s, NDCG, 1.5, kl_weight)
    np.testing.assert_allclose(gradient, exact, atol=0.02 if kl_weight else 0.005)
    assert np.abs(exact).max() > 0.05


def test_expected_ranks_of_labels_are_those_of_all_rankings():
    labels, indptr = np.array([0.0, 2.0, 1.0, 0.0, 1.0]), np.array([0, 5])
    listed = sample_rankings(labels, indptr, 120, RandomState(0), 1.5)
    exact = expect_judged_ranks(labels, listed, 1, RandomState(1), 1.5).ranks
    sample = sample_rankings(labels, indptr, 50, RandomState(0), 1.5)
    draws = [expect_judged_ranks(labels, sample, 119, RandomState(k), 1.5).ranks for k in range(50)]
    np.testing.assert_allclose(np.mean(draws, axis=0), exact, atol=0.05)
    assert exact.sum() == pytest.approx(15, abs=1e-12)
    for ranks in (exact, *draws):
        np.testing.assert_allclose(ranks[[0, 2]], ranks[[3, 4]], atol=1e-12)


def test_zero_scores_are_no_optimum(rng):
    """Scores that rank better than chance have a smaller loss, and their scale wants to grow."""
    indptr = np.arange(0, 601, 100)
    labels = np.where(rng.random(600) < 0.1, 2.0, 0.0)
    good = labels + rng.normal(size=600)

    def loss(scale):
        factor = torch.tensor(scale, dtype=torch.float64, requires_grad=True)
        sets = sample_rankings(scale * good, indptr, 200, RandomState(0))
        values = sets.measured(parse("nDCG@10"), labels)
        of_queries = boltz_rank(factor * torch.tensor(good), sets, values)
        return of_queries.mean().item(), torch.autograd.grad(of_queries.mean(), factor)[0].item()

    at_zero, slope_at_zero = loss(0.0)
    at_one, slope_at_one = loss(1.0)
    at_ten, _ = loss(10.0)
    assert at_zero > at_one + 0.03 > at_ten + 0.06
    assert slope_at_zero < 0
    assert slope_at_one < 0


def test_values_are_the_measure_of_each_ranking(rng):
    labels = np.array([0.0, 2.0, 1.0, 0.0, 0.0, 3.0, 1.0])
    indptr = np.array([0, 3, 5, 7])
    sets = sample_rankings(rng.normal(size=7), indptr, 8, RandomState(0))
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
