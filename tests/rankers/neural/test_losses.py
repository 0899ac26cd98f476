"""The losses against loops over rows and pairs, finite differences, and queries one by one."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs rankwise[neural]")

from rankwise.groups import QueryGroups  # noqa: E402
from rankwise.metrics import parse  # noqa: E402
from rankwise.rankers.neural import training as losses  # noqa: E402

LOSSES = {
    "rank_net": losses.rank_net,
    "list_net": losses.list_net,
    "list_net exp2": partial(losses.list_net, gain=losses.exp2_gain),
    "list_mle": losses.list_mle,
    "lambda_rank": losses.lambda_rank,
    "lambda_rank@2": partial(losses.lambda_rank, cutoff=2),
    "lambda_rank linear letor": partial(
        losses.lambda_rank, gain=losses.linear_gain, discount=losses.DISCOUNTS["letor"]
    ),
    "lambda_rank reciprocal": partial(losses.lambda_rank, discount=losses.DISCOUNTS["reciprocal"]),
}
SIZES = [5, 1, 7, 0, 3, 2]
INDPTR = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)


@pytest.fixture
def judged(rng):
    """Scores and labels of ragged queries, an empty one and one of equal labels among them."""
    labels = rng.integers(0, 4, INDPTR[-1]).astype(float)
    labels[INDPTR[5] :] = 2.0
    return torch.tensor(rng.normal(size=INDPTR[-1])), torch.tensor(labels)


def naive(name, s, y):
    """One query, by loops."""
    m = len(s)
    above = [(i, j) for i in range(m) for j in range(m) if y[i] > y[j]]
    terms = {(i, j): np.log1p(np.exp(s[j] - s[i])) for i, j in above}
    if name == "rank_net":
        return sum(terms.values()) / max(1, len(above))
    if name.startswith("list_net"):
        g = 2.0**y - 1 if "exp2" in name else y
        p, q = np.exp(g) / np.exp(g).sum(), np.exp(s) / np.exp(s).sum()
        return sum(p * np.log(p / q))
    if name == "list_mle":
        counted = [i for i in range(m) if y[i] > y.min()]
        return sum(np.log(np.exp(s[y <= y[i]]).sum()) - s[i] for i in counted) / max(1, m)
    g = y if "linear" in name else 2.0**y - 1

    def d(rank):
        if "@2" in name and rank > 2:
            return 0.0
        if "reciprocal" in name:
            return 1 / rank
        return 1 / np.log2(max(rank, 2) if "letor" in name else rank + 1)

    rank = {i: 1 + sum(s > s[i]) for i in range(m)}
    ideal = sum(gain * d(r) for r, gain in enumerate(sorted(g)[::-1], start=1))
    return sum(
        abs((g[i] - g[j]) * (d(rank[i]) - d(rank[j]))) / ideal * t for (i, j), t in terms.items()
    )


@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_the_loop(name, judged):
    scores, labels = judged
    got = LOSSES[name](scores, labels, INDPTR).numpy()
    s, y = scores.numpy(), labels.numpy()
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        assert got[q] == pytest.approx(naive(name, s[lo:hi], y[lo:hi]) if hi > lo else 0, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_that_of_finite_differences(name, judged):
    scores, labels = judged
    scores.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: LOSSES[name](s, labels, INDPTR), scores, eps=1e-6, atol=1e-8, rtol=1e-6
    )


@pytest.mark.parametrize("name", LOSSES)
def test_ragged_batch_is_its_queries_one_by_one(name, judged):
    scores, labels = judged
    scores.requires_grad_()
    together = LOSSES[name](scores, labels, INDPTR)
    gradient = torch.autograd.grad(together.sum(), scores)[0]
    for q, (lo, hi) in enumerate(pairwise(INDPTR)):
        if lo == hi:
            assert together[q] == 0
            continue
        alone = scores[lo:hi].detach().clone().requires_grad_()
        value = LOSSES[name](alone, labels[lo:hi], np.array([0, hi - lo]))
        assert value.item() == pytest.approx(together[q].item(), abs=1e-13)
        np.testing.assert_allclose(
            torch.autograd.grad(value.sum(), alone)[0], gradient[lo:hi], atol=1e-13
        )


@pytest.mark.parametrize("name", LOSSES)
def test_order_of_the_rows_and_a_shift_do_not_matter(name, judged, rng):
    scores, labels = judged
    expected = LOSSES[name](scores, labels, INDPTR)
    rows = np.concatenate([lo + rng.permutation(m) for lo, m in zip(INDPTR, SIZES, strict=False)])
    got = LOSSES[name](scores[rows] + 3.0, labels[rows], INDPTR)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_huge_scores_have_finite_gradients(name, judged):
    scores, labels = judged
    scores = (1e5 * scores).requires_grad_()
    value = LOSSES[name](scores, labels, INDPTR).sum()
    assert torch.isfinite(value)
    assert torch.isfinite(torch.autograd.grad(value, scores)[0]).all()


@pytest.mark.parametrize("name", [name for name in LOSSES if not name.startswith("list_net")])
def test_query_of_equal_labels_says_nothing(name, judged):
    scores, labels = judged
    scores.requires_grad_()
    value = LOSSES[name](scores, labels, INDPTR)
    assert value[5] == 0
    assert (torch.autograd.grad(value.sum(), scores)[0][INDPTR[5] :] == 0).all()


def test_list_mle_without_ties_is_the_plackett_luce_probability(rng):
    s, y = rng.normal(size=4), np.array([1.0, 3.0, 0.0, 2.0])
    probability = 0.0
    for order in permutations(range(4)):
        p = np.prod([np.exp(s[i]) / np.exp(s[list(order[k:])]).sum() for k, i in enumerate(order)])
        probability += p
        if list(order) == list(np.argsort(-y)):
            got = losses.list_mle(torch.tensor(s), torch.tensor(y), np.array([0, 4]))
            assert 4 * got.item() == pytest.approx(-np.log(p), abs=1e-12)
    assert probability == pytest.approx(1)


@pytest.mark.parametrize("spec", ["nDCG", "nDCG@2", "nDCG(discount='letor')@3"])
def test_lambda_weight_is_what_a_swap_changes_in_the_measure(spec, rng):
    """One pair of a query alone: its term over its logistic loss is the change of nDCG."""
    measure = parse(spec)
    y, s = np.array([2.0, 0.0, 0.0, 0.0]), rng.normal(size=4)
    groups = QueryGroups.single(4)
    discount = losses.DISCOUNTS["letor"] if "letor" in spec else losses.log2_discount
    total = losses.lambda_rank(
        torch.tensor(s), torch.tensor(y), groups.indptr, discount=discount, cutoff=measure.cutoff
    ).item()
    expected = 0.0
    for j in (1, 2, 3):
        swapped = s.copy()
        swapped[[0, j]] = s[[j, 0]]
        change = abs(measure.mean(y, s, groups) - measure.mean(y, swapped, groups))
        expected += change * np.log1p(np.exp(s[j] - s[0]))
    assert total == pytest.approx(expected, abs=1e-12)


def test_ranks_are_those_of_the_groups(judged):
    scores, _ = judged
    scores = scores.round()
    groups = QueryGroups.from_sizes(SIZES)
    np.testing.assert_array_equal(losses.ranks(scores, INDPTR), groups.ranks(scores.numpy()))


@pytest.mark.parametrize("name", list(LOSSES))
def test_whole_weights_are_repetition(judged, name):
    scores, labels = judged
    weight = torch.arange(len(scores)) % 3 + 1
    copies = torch.repeat_interleave(torch.arange(len(scores)), weight)
    indptr = np.concatenate([[0], np.cumsum(weight.numpy())])[INDPTR].astype(np.int64)
    loss, free = LOSSES[name], scores.clone().requires_grad_()
    values = loss(free, labels, INDPTR, weight.double())
    repeated = scores.clone().requires_grad_()
    expected = loss(repeated[copies], labels[copies], indptr)
    np.testing.assert_allclose(values.detach(), expected.detach(), rtol=1e-12, atol=1e-14)
    values.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(free.grad, repeated.grad, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", list(LOSSES))
def test_losses_are_continuous_in_the_weights(judged, name):
    scores, labels = judged
    whole, little = torch.ones_like(scores), 2.0**-30
    at_one = LOSSES[name](scores, labels, INDPTR, whole)
    np.testing.assert_allclose(at_one, LOSSES[name](scores, labels, INDPTR), rtol=1e-12)
    near = LOSSES[name](scores, labels, INDPTR, whole + little)
    np.testing.assert_allclose(near, at_one, rtol=1e-7, atol=1e-7)
