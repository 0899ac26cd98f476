"""PRank and its kin: against loops, streams in any blocks, kernels, classes, thresholds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import rankwise
from rankwise import AggregatePRank, IgnoredParameterWarning, PRank, VotedPRank, WidrowHoff
from rankwise.datasets import make_ordinal_square
from rankwise.features.affine_powers import AffinePowers
from rankwise.ordinal.online.aggregate_prank import LARGEST_SEED
from tests.ordinal.online.oracles_online import (
    NaivePRank,
    naive_least_mean_squares,
    products,
    rank_of,
    winner,
)

RULES = ["mode", "median", "mean"]
EVERY = [
    PRank(shuffle=False),
    VotedPRank(shuffle=False),
    WidrowHoff(shuffle=False),
    AggregatePRank("bpm", n_prank=20, random_state=3, shuffle=False),
    AggregatePRank("bag", n_prank=20, random_state=3, shuffle=False),
    AggregatePRank("vote", n_prank=20, random_state=3, shuffle=False),
]
each = pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)


def with_params(learner, **params):
    return type(learner)(**{**learner.get_params(), **params})


@pytest.fixture
def square():
    X, y = make_ordinal_square(400, random_state=1)
    return X[:300], y[:300], X[300:], y[300:]


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
    scores = WidrowHoff(eta=1e6).fit(X, y).rank_score(X)
    assert np.isfinite(scores).all()
    first = WidrowHoff(eta=1e6).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert first.rank_score(X[:1])[0] == pytest.approx(y[0] + 1)


@pytest.mark.parametrize("combine", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("votes", RULES)
def test_aggregates_are_pranks_on_their_rows(square, combine, votes):
    X, y, X_new, _ = square
    ranker = AggregatePRank(combine, 0.4, 7, votes, degree=2, random_state=5, shuffle=False).fit(
        X, y
    )
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


# Streams -----------------------------------------------------------------------------------------


def state(learner):
    known = learner.hypotheses_
    arrays = [known.weights, known.thresholds, known.tallies, learner.thresholds_]
    if learner.X_fit_ is not None:
        kept = learner.X_fit_
        arrays.append(kept.toarray() if sparse.issparse(kept) else kept)
    return [*arrays, *(vars(learner).get(name) for name in ("survival_", "dual_coef_", "coef_"))]


def assert_same_bits(first, second):
    for a, b in zip(state(first), state(second), strict=True):
        np.testing.assert_array_equal(a, b)


@each
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize(
    "features", [{}, {"degree": 2}, {"kernel": "rbf", "gamma": 2.0}], ids=["1", "2", "rbf"]
)
def test_any_blocks_are_one_fit(learner, features, form, square):
    X, y = square[0][:45], square[1][:45]
    X = np.where(X < 0.3, 0.0, X)
    rows = {"dense": X, "float32": X.astype(np.float32), "csr": sparse.csr_array(X)}[form]
    learner = with_params(learner, **features)
    whole = with_params(learner).fit(rows, y)
    for ends in (range(46), [0, 1, 20, 21, 45], [0, 45]):
        parts = with_params(learner)
        for lo, hi in pairwise(ends):
            parts.partial_fit(rows[lo:hi], y[lo:hi], classes=[1, 2, 3, 4, 5])
        assert_same_bits(parts, whole)
        np.testing.assert_array_equal(parts.decision_function(rows), whole.decision_function(rows))
        assert parts.n_seen_ == whole.n_seen_ == 45


@each
@pytest.mark.parametrize("degree", [1, 2])
def test_blocks_inside_are_of_no_matter(learner, degree, square, monkeypatch):
    X, y = square[0][:90], square[1][:90]
    learner = with_params(learner, degree=degree)
    whole = with_params(learner).fit(X, y)
    monkeypatch.setattr("rankwise.ordinal.online.online_ranker.BLOCK_ROWS", 7)
    assert_same_bits(with_params(learner).fit(X, y), whole)


@each
def test_dense_and_sparse_rows_give_the_same_bits(learner, rng):
    X = np.where(rng.random((200, 6)) < 0.6, 0.0, rng.normal(size=(200, 6)))
    y = rng.integers(0, 4, 200)
    for degree in (1, 2):
        learner = with_params(learner, degree=degree)
        dense = with_params(learner).fit(X, y)
        unsorted = sparse.csr_matrix(X)
        for row in range(200):
            entries = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
            unsorted.indices[entries] = unsorted.indices[entries][::-1]
            unsorted.data[entries] = unsorted.data[entries][::-1]
        unsorted.has_sorted_indices = False
        for rows in (sparse.csr_array(X), unsorted):
            assert_same_bits(with_params(learner).fit(rows, y), dense)


def test_threads_change_nothing(rng, monkeypatch):
    X, y = rng.normal(size=(3000, 10)), rng.integers(0, 4, 3000)
    fits = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            "rankwise.ordinal.online.perceptrons.available_threads", lambda n=n_threads: n
        )
        fits.append(AggregatePRank("vote", random_state=0, shuffle=False).fit(X, y))
        fits.append(
            AggregatePRank("vote", random_state=0, shuffle=False).fit(sparse.csr_array(X), y)
        )
    for fit in fits[1:]:
        assert_same_bits(fit, fits[0])


def test_passes(square):
    X, y = square[:2]
    twice = PRank(n_epochs=2, shuffle=False).fit(X, y)
    by_hand = PRank(shuffle=False).fit(X, y).partial_fit(X, y)
    assert_same_bits(twice, by_hand)
    assert twice.n_seen_ == 600


@each
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_rows_are_shuffled_by_default_in_every_pass(learner, kind, kernel, square, monkeypatch):
    """As one stream of permuted rows, whatever the blocks in which they are read."""
    X, y = square[:2]
    params = {"kernel": kernel, "random_state": 4}
    if isinstance(learner, AggregatePRank):
        params |= {"combine": learner.combine, "n_prank": 5}
    rng = np.random.RandomState(4)
    if isinstance(learner, AggregatePRank):
        rng.randint(LARGEST_SEED)  # of the coins
    orders = np.concatenate([rng.permutation(len(y)) for _ in range(2)])
    stream = type(learner)(**params).partial_fit(kind(X[orders]), y[orders], classes=range(1, 6))
    monkeypatch.setattr("rankwise.ordinal.online.online_ranker.BLOCK_ROWS", 70)
    monkeypatch.setattr("rankwise.ordinal.online.online_ranker.SUPPORT_BLOCK", 70)
    assert_same_bits(type(learner)(n_epochs=2, **params).fit(kind(X), y), stream)


@each
def test_rows_sorted_by_class_are_learnt(learner, rng):
    """In their order the last class wins, and a constant is better."""
    X = rng.normal(size=(600, 5)) / np.sqrt(5)
    height = X @ [1, -1, 0.5, 0.5, 0] + 0.25 * rng.normal(size=600)
    y = np.searchsorted(np.quantile(height, [0.2, 0.4, 0.6, 0.8]), height)
    by_class = np.argsort(y, kind="stable")
    constant = np.abs(y - 2).mean()
    shuffled = with_params(learner, shuffle=True, random_state=0).fit(X[by_class], y[by_class])
    assert np.abs(shuffled.predict(X) - y).mean() < 0.7 * constant
    in_order = with_params(learner).fit(X[by_class], y[by_class])
    assert np.abs(in_order.predict(X) - y).mean() > constant


@each
def test_a_failing_block_changes_nothing(learner, square):
    X, y = square[:2]
    learner = with_params(learner, degree=2).fit(X[:100], y[:100])
    before = [np.copy(array) for array in state(learner) if array is not None]
    with pytest.raises(ValueError, match="y must hold declared classes, got 9 at row 1"):
        learner.partial_fit(X[:3], [1, 9, 2])
    with pytest.raises(ValueError, match=r"products are finite with degree=2.*Scale the columns"):
        learner.partial_fit([[1.0, 1.0], [1e200, 1.0]], [1, 2])
    after = [array for array in state(learner) if array is not None]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    held = learner.hypotheses_
    learner.partial_fit(X[100:], y[100:])
    assert learner.hypotheses_ is not held
    np.testing.assert_array_equal(held.weights, before[0])


# Classes -----------------------------------------------------------------------------------------


@each
def test_classes_are_declared_in_the_first_call(learner, square):
    X = square[0][:4]
    with pytest.raises(ValueError, match="classes must be given in the first call of partial_fit"):
        with_params(learner).partial_fit(X, [1, 2, 1, 2])
    words = ["low", "mid", "high"]
    fitted = with_params(learner).partial_fit(X, ["low", "high", "low", "low"], classes=words)
    assert fitted.classes_.tolist() == words
    assert len(fitted.thresholds_) == 2
    assert set(fitted.predict(X)) <= set(words)
    fitted.partial_fit(X, ["mid"] * 4).partial_fit(X, ["mid"] * 4, classes=words)
    with pytest.raises(ValueError, match=r"classes must stay \['low', 'mid', 'high'\], got"):
        fitted.partial_fit(X, ["mid"] * 4, classes=["low", "high", "mid"])
    with pytest.raises(ValueError, match="y must hold declared classes, got 'top' at row 2"):
        fitted.partial_fit(X, ["low", "mid", "top", "low"])


def test_categories_declare_classes(square):
    pd = pytest.importorskip("pandas")
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    X = square[0][:3]
    y = pd.Series(["low", "low", "high"], dtype=dtype)
    parts = PRank().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    assert parts.classes_.tolist() == ["low", "mid", "high"]
    assert_same_bits(parts, PRank(shuffle=False).fit(X, y))
    other = pd.Series(["low"], dtype=pd.CategoricalDtype(["low", "high"], ordered=True))
    with pytest.raises(ValueError, match=r"classes must stay \['low', 'mid', 'high'\]"):
        parts.partial_fit(X[:1], other)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([3, 1, 2], "classes must ascend where they are numbers"),
        ([1, 1, 2], "distinct"),
        ([], "not empty"),
        ([[1], [2]], "one-dimensional"),
    ],
)
def test_classes_that_are_none(classes, message, square):
    with pytest.raises(ValueError, match=message):
        PRank().partial_fit(square[0][:2], [1, 2], classes=classes)


@each
def test_one_class_and_many(learner, rng):
    X = rng.normal(size=(60, 3))
    only = with_params(learner).fit(X, np.ones(60))
    assert set(only.predict(X)) == {1.0}
    assert np.isfinite(only.rank_score(X)).all()
    y = np.concatenate([np.arange(30), np.arange(30)])
    many = with_params(learner).fit(X, y)
    assert len(many.thresholds_) == 29
    assert (np.diff(many.thresholds_) >= 0).all()


def test_no_prank_has_seen_a_row(square):
    """They vote alike then: zeros reach all thresholds."""
    X, y = square[0][:5], square[1][:5]
    for combine in ("bpm", "bag", "vote"):
        ranker = AggregatePRank(combine, 1e-9, 3, random_state=0, shuffle=False).fit(X, y)
        assert set(ranker.predict(X)) == {y.max()}


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


def linear(X, Z, shift=0.0):
    return np.asarray(X @ Z.T) + shift


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
    with pytest.raises(ValueError, match="degree is that of explicit features"):
        PRank(2, kernel="rbf").fit(X, y)
    with pytest.warns(IgnoredParameterWarning, match="gamma has no effect with kernel=None"):
        PRank(gamma=1.0).fit(X, y)
    for kernel in ("rbf", "poly"):
        with pytest.raises(ValueError, match=f"gamma of the {kernel} kernel must be a number in"):
            PRank(kernel=kernel, gamma="scale").partial_fit(X, y, classes=range(1, 6))
    PRank(kernel="poly", gamma="auto").partial_fit(X, y, classes=range(1, 6))
    with pytest.raises(ValueError, match="kernel_params needs a kernel"):
        PRank(kernel_params={"degree": 2}).fit(X, y)
    many = r"degree=2 of 2000 columns needs 2003001 weights .* 134217728 .* kernel=\"polynomial\""
    with pytest.raises(ValueError, match=many):
        AggregatePRank(degree=2).fit(sparse.csr_array((3, 2000)), [1, 2, 3])
    with pytest.raises(ValueError, match=r"degree=1 of 2000000 columns .* kernel=\"linear\""):
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


# Parameters after the fit -------------------------------------------------------------------------


EXPLICIT, RBF = {}, {"kernel": "rbf", "gamma": 2.0}
POLYNOMIAL = {"kernel": "polynomial", "gamma": 1.0, "kernel_params": {"degree": 2}}
CHANGES = [
    (EXPLICIT, {"degree": 2}, r"degree must stay .* 1, got 2"),
    ({"degree": 2}, {"degree": 1}, r"degree must stay .* 2, got 1"),
    (EXPLICIT, RBF, r"kernel must stay .* None, got 'rbf'"),
    (EXPLICIT, {"gamma": 1.0}, r"gamma must stay .* None, got 1.0"),
    (RBF, {"kernel": None, "gamma": None}, r"kernel must stay .* 'rbf', got None"),
    (RBF, {"kernel": "laplacian"}, r"kernel must stay .* 'rbf', got 'laplacian'"),
    (RBF, {"gamma": 3.0}, r"gamma must stay .* 2.0, got 3.0"),
    (POLYNOMIAL, {"kernel_params": {"degree": 3}}, r"kernel_params must stay .*: 2}, got .*: 3}"),
    (POLYNOMIAL, {"kernel_params": None}, r"kernel_params must stay .* got None"),
]


def assert_refused(learner, params, message, X, y):
    before = [np.copy(array) for array in state(learner) if array is not None]
    old = {name: learner.get_params()[name] for name in params}
    learner.set_params(**params)
    held = dict(vars(learner))
    for _ in range(2):
        with pytest.raises(ValueError, match=message + r"\. Set it back, or call fit"):
            learner.partial_fit(X, y)
    assert all(vars(learner)[name] is value for name, value in held.items())
    with pytest.raises(ValueError, match=message):
        learner.predict(X)
    learner.set_params(**old)
    for a, b in zip(before, [a for a in state(learner) if a is not None], strict=True):
        np.testing.assert_array_equal(a, b)


@each
@pytest.mark.parametrize(("begun", "params", "message"), CHANGES)
def test_shape_stays_as_begun(learner, begun, params, message, square, tmp_path):
    X, y = square[0][:30], square[1][:30]
    classes = [1, 2, 3, 4, 5]
    whole = with_params(learner, **begun).fit(X, y)
    parts = with_params(learner, **begun).partial_fit(X, y, classes=classes)
    for fitted in (whole, parts, rankwise.load(parts.save(tmp_path / "model"))):
        assert_refused(fitted, params, message, X, y)
        fitted.partial_fit(X, y)
        assert fitted.n_seen_ == 60
    fresh = clone(parts).set_params(**params)
    if set(params) != {"gamma"} or begun:
        assert fresh.partial_fit(X, y, classes=classes).n_seen_ == 30
        assert parts.set_params(**params).fit(X, y).n_seen_ == 30  # begins anew


@pytest.mark.parametrize("combine", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("features", [{}, RBF], ids=["1", "rbf"])
@pytest.mark.parametrize(("begun", "later"), [(5, 50), (50, 5)])
def test_number_of_pranks_stays_as_begun(combine, features, begun, later, square, tmp_path):
    X, y = square[0][:30], square[1][:30]
    fitted = AggregatePRank(combine, n_prank=begun, random_state=0, **features, shuffle=False).fit(
        X, y
    )
    for learner in (fitted, rankwise.load(fitted.save(tmp_path / "model"))):
        message = f"n_prank must stay .* {begun}, got {later}"
        assert_refused(learner, {"n_prank": later}, message, X, y)


def test_keywords_changed_in_place_are_seen(square):
    X, y = square[0][:30], square[1][:30]
    fitted = PRank(kernel=linear, kernel_params={"shift": np.array([1.0])}, shuffle=False).fit(X, y)
    fitted.set_params(kernel_params={"shift": np.array([1.0])}).partial_fit(X, y)
    fitted.kernel_params["shift"] = np.array([2.0])
    with pytest.raises(ValueError, match="kernel_params must stay"):
        fitted.partial_fit(X, y)


@each
def test_other_parameters_may_change(learner, square):
    X, y = square[0][:40], square[1][:40]
    changes = {"n_epochs": 3, "shuffle": True, "random_state": 9, "eta": 0.5, "tau": 0.2}
    known = {k: v for k, v in changes.items() if k in learner.get_params()}
    fitted = with_params(learner).fit(X, y).set_params(**known).partial_fit(X, y)
    assert fitted.n_seen_ == 80
    if "votes" in learner.get_params():
        for votes in RULES:
            direct = with_params(learner, votes=votes).fit(X, y)
            changed = with_params(learner).fit(X, y).set_params(votes=votes)
            np.testing.assert_array_equal(changed.predict(X), direct.predict(X))
            np.testing.assert_array_equal(
                changed.partial_fit(X, y).thresholds_, direct.partial_fit(X, y).thresholds_
            )


@pytest.mark.parametrize("features", [{}, RBF], ids=["1", "rbf"])
@pytest.mark.parametrize("later", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("begun", ["bpm", "bag", "vote"])
def test_pranks_can_be_combined_otherwise(begun, later, features, square):
    X, y = square[0][:60], square[1][:60]
    params = {"tau": 0.5, "n_prank": 7, "votes": "mean", "random_state": 1, **features}
    changed = AggregatePRank(begun, **params).fit(X, y).set_params(combine=later)
    direct = AggregatePRank(later, **params).fit(X, y)
    if (begun == "bpm") != (later == "bpm"):
        for method in (changed.predict, changed.rank_score, changed.decision_function):
            with pytest.raises(ValueError, match=f"combine of the fitted model is .*{later}"):
                method(X)
    else:
        np.testing.assert_array_equal(changed.predict(X), direct.predict(X))
    changed.partial_fit(X, y)
    direct.partial_fit(X, y)
    assert_same_bits(changed, direct)
    np.testing.assert_array_equal(changed.decision_function(X), direct.decision_function(X))


# Range of numbers ---------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(
    ("params", "scale"),
    [
        ({}, 1e200),
        ({"degree": 2}, 1e100),
        ({"degree": 2}, 1e200),
        ({"kernel": "linear"}, 1e200),
        ({"kernel": "polynomial", "gamma": 1.0}, 1e120),
    ],
)
def test_scores_beyond_the_range_are_refused(learner, params, scale, form, square):
    rows, y = square[0][:30], square[1][:30]
    X, huge = rows, scale * rows
    if form == "csr":
        X, huge = sparse.csr_array(X), sparse.csr_array(huge)
    message = (
        r"products of the rows .* overflow\). Column \d of X has values from .*: scale it"
        r"|products are finite with degree=2.*Scale the columns"
    )
    learner = with_params(learner, **params)
    with pytest.raises(ValueError, match=message):
        with_params(learner).fit(huge, y)
    fitted = with_params(learner).fit(X, y)
    held, scores = dict(vars(fitted)), fitted.rank_score(X)
    for call in (fitted.fit, fitted.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(huge, y)
        assert vars(fitted) == held
        np.testing.assert_array_equal(fitted.rank_score(X), scores)
    shrunk = with_params(learner).fit(X, y).rank_score(1e-200 * X)
    assert np.isfinite(shrunk).all()


@each
def test_predictions_beyond_the_range_are_refused(learner, rng):
    X = 1e10 * rng.normal(size=(40, 3))
    y = np.digitize(X[:, 0], [-1e9, 1e9])
    params = {"eta": 1e-30} if isinstance(learner, WidrowHoff) else {}  # else steps of 1 / |x|^2
    for kernel in (None, "linear"):
        fitted = with_params(learner, kernel=kernel, **params).fit(X, y)
        assert np.isfinite(fitted.rank_score(1e100 * X)).all()
        if params == {}:
            with pytest.raises(ValueError, match=r"Column 0 of X has values from 1\.7e"):
                fitted.rank_score(np.full((2, 3), 1.7e308) * [1.0, -1.0, 1.0])


@each
def test_a_damaged_model_is_named_where_its_scores_overflow(learner, square):
    fitted = with_params(learner).fit(*(part[:30] for part in square[:2]))
    holders = (fitted.hypotheses_, "weights"), (fitted, "dual_coef_"), (fitted, "coef_")
    for holder, name in holders:
        if hasattr(holder, name):
            getattr(holder, name)[:] = 1e308
    with pytest.raises(ValueError, match=r"of the model has values from .* to 1e\+308"):
        fitted.predict(9.0 + square[0])


# Files -------------------------------------------------------------------------------------------


@each
def test_saved_learners_go_on(learner, square, tmp_path):
    X, y, X_new, _ = square
    for params in ({"degree": 2}, {"kernel": "rbf", "gamma": 3.0}):
        first = with_params(learner, **params).fit(X[:50], y[:50])
        again = rankwise.load(first.save(tmp_path / "model"))
        np.testing.assert_array_equal(again.rank_score(X_new), first.rank_score(X_new))
        assert_same_bits(
            again.partial_fit(X[50:90], y[50:90]), first.partial_fit(X[50:90], y[50:90])
        )
