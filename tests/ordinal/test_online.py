"""PRank and its kin: against loops, with kernels, thresholds and the bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rankwise import AggregatePRank, PRank, VotedPRank, WidrowHoff
from rankwise.exceptions import IgnoredParameterWarning
from rankwise.features.polynomial_terms import AffinePowers
from tests.ordinal.learners import (
    RULES,
    each,
    linear,
    with_params,
)
from tests.ordinal.oracles_online import (
    NaivePRank,
    naive_least_mean_squares,
    products,
    rank_of,
    winner,
)


def phi(X, degree):
    return np.array([products(x) for x in X]) if degree == 2 else X


# Against loops -----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2])
def test_prank_is_the_paper_s(square, degree):
    X, y, X_new, _ = square
    ranker = PRank(degree, shuffle=False).fit(X, y)
    naive = NaivePRank(ranker.coef_.size, 5)
    for x, rank in zip(phi(X, degree), y, strict=True):
        naive.see(x, rank - 1)
    np.testing.assert_allclose(ranker.coef_, naive.w, atol=1e-9)
    assert ranker.thresholds_.tolist() == naive.b.tolist()
    assert (ranker.n_mistakes_, ranker.total_loss_) == (naive.mistakes, naive.loss)
    expected = [1 + rank_of(naive.w @ x, naive.b) for x in phi(X_new, degree)]
    assert ranker.predict(X_new).tolist() == expected
    assert ranker.n_seen_ == len(y)


@pytest.mark.parametrize("votes", RULES)
@pytest.mark.parametrize("degree", [1, 2])
def test_voted_prank_is_every_hypothesis_voting(square, degree, votes):
    X, y, X_new, _ = square
    ranker = VotedPRank(votes, degree, shuffle=False).fit(X, y)
    naive = NaivePRank(phi(X[:1], degree).shape[1], 5)
    for x, rank in zip(phi(X, degree), y, strict=True):
        naive.see(x, rank - 1)
    assert ranker.survival_.tolist() == naive.survived
    assert ranker.survival_.sum() == ranker.n_seen_ == len(y)
    cast = np.array([naive.votes(x) for x in phi(X_new, degree)])
    np.testing.assert_allclose(ranker.vote_shares(X_new) * len(y), cast, atol=1e-9)
    assert ranker.predict(X_new).tolist() == [1 + winner(v, votes) for v in cast]
    np.testing.assert_allclose(ranker.rank_score(X_new), cast @ np.arange(5) / len(y))
    margins = ranker.decision_function(X_new)
    assert (margins.argmax(1) + 1).tolist() == ranker.predict(X_new).tolist()


@pytest.mark.parametrize("degree", [1, 2])
def test_widrow_hoff_is_least_mean_squares(square, degree):
    X, y, X_new, _ = square
    ranker = WidrowHoff(0.1, degree, shuffle=False).fit(X, y)
    Phi, Phi_new = (
        phi(Z, 2) if degree == 2 else np.column_stack([Z, np.ones(len(Z))]) for Z in (X, X_new)
    )
    w = naive_least_mean_squares(Phi, y, 0.1)
    np.testing.assert_allclose(ranker.coef_, w, rtol=1e-9)
    np.testing.assert_allclose(ranker.rank_score(X_new), Phi_new @ w)
    rounded = np.clip(np.floor(Phi_new @ w + 0.5), 1, 5)
    assert ranker.predict(X_new).tolist() == rounded.tolist()
    assert ranker.thresholds_.tolist() == [1.5, 2.5, 3.5, 4.5]


def test_widrow_hoff_does_not_blow_up(rng):
    X = 1e3 * rng.normal(size=(2000, 4))
    y = np.digitize(X[:, 0], [-500, 500])
    scores = WidrowHoff(learning_rate=1e6).fit(X, y).rank_score(X)
    assert np.isfinite(scores).all()
    first = WidrowHoff(learning_rate=1e6).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert first.rank_score(X[:1])[0] == pytest.approx(y[0] + 1)


@pytest.mark.parametrize("combine", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("votes", RULES)
def test_aggregates_are_pranks_on_their_rows(square, combine, votes):
    X, y, X_new, _ = square
    ranker = AggregatePRank(
        combine, 0.4, n_prank=7, votes=votes, degree=2, random_state=5, shuffle=False
    ).fit(X, y)
    stream = np.random.Generator(np.random.PCG64(ranker.coin_seed_))
    coins = stream.random((len(y), 7)) < 0.4
    assert 0.3 < coins.mean() < 0.5
    members = [NaivePRank(6, 5) for _ in range(7)]
    for x, rank, row in zip(phi(X, 2), y, coins, strict=True):
        for naive, seen in zip(members, row, strict=True):
            if seen:
                naive.see(x, rank - 1)
    if combine == "bpm":
        w = np.mean([naive.w for naive in members], axis=0)
        b = np.mean([naive.b for naive in members], axis=0)
        np.testing.assert_allclose(ranker.coef_, w, atol=1e-9)
        np.testing.assert_allclose(ranker.thresholds_, b, atol=1e-12)
        expected = [rank_of(w @ x, b) for x in phi(X_new, 2)]
    else:
        cast = np.zeros((len(X_new), 5))
        for naive in members:
            for row, x in enumerate(phi(X_new, 2)):
                voice = naive.survived[-1] if combine == "vote" else 1
                cast[row, rank_of(naive.w @ x, naive.b)] += voice
        expected = [winner(row, votes) for row in cast]
        np.testing.assert_allclose(ranker.rank_score(X_new), cast @ np.arange(5) / cast.sum(1))
    assert ranker.predict(X_new).tolist() == [1 + rank for rank in expected]
    margins = ranker.decision_function(X_new)
    assert (margins.argmax(1) + 1).tolist() == ranker.predict(X_new).tolist()


# Kernels -----------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_degree_two_is_the_polynomial_kernel(learner, form, square):
    X, y, X_new, _ = square
    rows, new = (sparse.csr_array(Z) if form == "csr" else Z for Z in (X, X_new))
    explicit = with_params(learner, degree=2).fit(rows, y)
    params = {"gamma": 1.0, "kernel_params": {"degree": 2, "coef0": 1.0}}
    dual = with_params(learner, kernel="polynomial", **params).fit(rows, y)
    np.testing.assert_allclose(dual.rank_score(new), explicit.rank_score(new), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(dual.predict(new), explicit.predict(new))
    assert sparse.issparse(dual.X_fit_) == (form == "csr")
    np.testing.assert_array_equal(dual.hypotheses_.tallies, explicit.hypotheses_.tallies)


@each
def test_any_callable_is_a_kernel(learner, square):
    X, y, X_new, _ = square
    explicit = with_params(learner).fit(X, y)
    shift = 1.0 if isinstance(learner, WidrowHoff) else 0.0  # which has a constant
    own = with_params(learner, kernel=linear, kernel_params={"shift": shift}).fit(X, y)
    np.testing.assert_allclose(own.rank_score(X_new), explicit.rank_score(X_new), atol=1e-6)


@each
def test_kernel_learns_what_columns_cannot(learner, rng):
    X = rng.normal(size=(800, 2))
    y = np.digitize((X**2).sum(axis=1), [0.7, 2.5])
    loss = (
        -with_params(learner, kernel="rbf", gamma=1.0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    )
    assert loss < 0.5 * np.abs(y[600:] - 1).mean()


def test_streams_need_the_numbers_of_a_kernel(square):
    X, y = square[0][:9], square[1][:9]
    assert PRank(kernel="rbf").fit(X, y).kernel_.gamma > 0  # fit knows the rows
    with pytest.raises(ValueError, match="gamma of the rbf kernel must be a number in partial_fit"):
        PRank(kernel="rbf").partial_fit(X, y, classes=range(1, 6))
    with pytest.raises(ValueError, match="delta of the stump kernel must be a number"):
        PRank(kernel="stump").partial_fit(X, y, classes=range(1, 6))
    PRank(kernel="stump", kernel_params={"delta": 2}).partial_fit(X, y, classes=range(1, 6))


def test_arguments_that_do_not_go_together(square):
    X, y = square[:2]
    with pytest.raises(ValueError, match="degree must be 1 if a kernel is used"):
        PRank(2, kernel="rbf").fit(X, y)
    with pytest.warns(IgnoredParameterWarning, match="gamma has no effect with kernel=None"):
        PRank(gamma=1.0).fit(X, y)
    for kernel in ("rbf", "poly"):
        with pytest.raises(ValueError, match=f"gamma of the {kernel} kernel must be a number in"):
            PRank(kernel=kernel, gamma="scale").partial_fit(X, y, classes=range(1, 6))
    PRank(kernel="poly", gamma="auto").partial_fit(X, y, classes=range(1, 6))
    with pytest.raises(ValueError, match="kernel_params needs a kernel"):
        PRank(kernel_params={"degree": 2}).fit(X, y)
    many = r"degree=2 with 2000 columns needs 2003001 weights .* 134217728 .* kernel=\"polynomial\""
    with pytest.raises(ValueError, match=many):
        AggregatePRank(degree=2).fit(sparse.csr_array((3, 2000)), [1, 2, 3])
    with pytest.raises(ValueError, match=r"degree=1 with 2000000 columns .* kernel=\"linear\""):
        AggregatePRank().fit(sparse.csr_array((3, 2_000_000)), [1, 2, 3])
    with pytest.raises(ValueError, match="'kernel' parameter of PRank"):
        PRank(kernel="precomputed").fit(X, y)


# Thresholds and the bound ------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 7),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    whole=st.booleans(),
)
def test_thresholds_stay_in_order(seed, n_classes, scale, whole):
    """After every row, for any rows and labels; whole numbers bring scores onto thresholds."""
    rng = np.random.default_rng(seed)
    X = scale * (rng.integers(-2, 3, (40, 3)) if whole else rng.normal(size=(40, 3)))
    y, classes = rng.integers(0, n_classes, 40), range(n_classes)
    learners = [
        PRank(shuffle=False),
        AggregatePRank("bpm", n_prank=5, random_state=seed, shuffle=False),
    ]
    for row in range(40):
        for learner in learners:
            learner.partial_fit(X[[row]], y[[row]], classes=classes)
            b = np.vstack([learner.hypotheses_.thresholds, learner.thresholds_])
            assert (np.diff(b, axis=1) >= 0).all()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 6),
    degree=st.sampled_from([1, 2]),
    left_out=st.sampled_from([0.3, 0.8, 0.95]),
)
def test_mistake_bound_of_crammer_and_singer(seed, n_classes, degree, left_out):
    """Theorem 2: over separable rows the loss is at most (K - 1)(R^2 + 1) / gamma^2, however many
    passes there are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 2))
    Phi = AffinePowers(2, degree)(X)
    w = rng.normal(size=Phi.shape[1])
    b = np.quantile(Phi @ w, np.arange(1, n_classes) / n_classes)
    norm = np.sqrt(w @ w + b @ b)
    w, b = w / norm, b / norm
    distance = np.abs((Phi @ w)[:, None] - b).min(axis=1)
    kept = distance >= np.quantile(distance, left_out)
    X, Phi, gamma = X[kept], Phi[kept], distance[kept].min()
    y = np.searchsorted(b, Phi @ w, side="right")
    bound = (n_classes - 1) * ((Phi**2).sum(axis=1).max() + 1) / gamma**2
    ranker = PRank(degree, n_epochs=10, shuffle=False).fit(X, y)
    assert ranker.total_loss_ <= bound
    # Zero weights predict the highest class that y holds.
    assert (ranker.total_loss_ > 0) == (y.min() < y.max())


def test_separable_rows_are_learnt(rng):
    """Mistakes end well below the bound, which is of use here: there are many more rows."""
    X = rng.uniform(-1, 1, size=(4000, 2))
    b, w = np.array([-0.4, 0.4]), np.array([0.8, 0.6])
    X = X[np.abs((X @ w)[:, None] - b).min(axis=1) > 0.2]
    y = np.digitize(X @ w, b)
    bound = 2 * ((X**2).sum(axis=1).max() + 1) * (1 + b @ b) / 0.2**2
    ranker = PRank(n_epochs=100, shuffle=False).fit(X, y)
    assert ranker.score(X, y) == 0
    assert 0 < ranker.total_loss_ <= bound < len(X) / 3
