"""From ratings to a ranking task: the split, features by loops, no leakage, MovieLens' counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rankwise import RidgeRanker, evaluate
from rankwise.datasets import (
    SideTables,
    load_movielens,
    movielens_tables,
    ratings_from_triplets,
    ratings_task,
)
from rankwise.datasets import rating_features as factors
from rankwise.datasets.rating_features import (
    Context,
    context_mask,
    group_columns,
    item_columns,
    neighbour_columns,
    own_columns,
    part_of_users,
    shrunk_mean,
    similar,
    splitmix64,
)
from rankwise.datasets.rating_task import draw_unseen, implicit_columns


def made(rng, n_users=120, n_items=50, n=2400):
    """Ratings by two factors, and tables of everything."""
    user, item = np.divmod(rng.permutation(n_users * n_items)[:n], n_items)
    P, Q = rng.normal(size=(n_users, 2)), rng.normal(size=(n_items, 2))
    rating = np.clip(np.round(3 + (P[user] * Q[item]).sum(axis=1)), 1, 5)
    ratings = ratings_from_triplets(user, item, rating, scale=(1, 5), name="made")
    tables = SideTables(
        rng.integers(0, 2, n_users),
        rng.choice([18.0, 25.0, 35.0], n_users),
        rng.integers(0, 4, n_users),
        rng.integers(1950, 2000, n_items).astype(float),
        rng.random((n_items, 3)) < 0.4,
        ("a", "b", "c"),
    )
    return ratings, tables


def context_of(ratings):
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    mask = context_mask(ratings)
    return Context(
        users[mask], ratings.items[mask], ratings.values[mask],
        ratings.n_users, ratings.n_items, ratings.scale,
    )  # fmt: skip


def test_the_first_outputs_of_splitmix64():
    """Known values for the seeds 0 and 1234567."""
    found = splitmix64(np.array([0, 1234567]))
    assert found.tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]


def test_half_of_each_users_ratings_describe(rng):
    ratings, _ = made(rng)
    mask = context_mask(ratings)
    for user in range(ratings.n_users):
        rows = slice(ratings.indptr[user], ratings.indptr[user + 1])
        keys = splitmix64(user * 65536 + ratings.item_ids[ratings.items[rows]])
        expected = np.zeros(len(keys), dtype=bool)
        expected[np.argsort(keys)[: -(-len(keys) // 2)]] = True
        assert mask[rows].tolist() == expected.tolist()


def test_movielens_counts(data_root):
    ratings = load_movielens("1m")
    mask, part = context_mask(ratings), part_of_users(ratings)
    assert (mask.sum(), (~mask).sum()) == (501_586, 498_623)
    assert np.bincount(part).tolist() == [3645, 1207, 1188]
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)[~mask]
    assert np.bincount(part[users]).tolist() == [300_280, 99_068, 99_275]
    of_test = np.bincount(users)[part == 2]
    assert (of_test.min(), of_test.max(), np.median(of_test)) == (10, 925, 50)


def test_movielens_tables(data_root):
    tables = movielens_tables(load_movielens("1m"))
    assert (tables.gender == 0).sum() == 1709
    assert len(tables.flag_names) == 18
    assert sorted(set(tables.age.astype(int))) == [1, 18, 25, 35, 45, 50, 56]
    assert len(set(tables.occupation)) == 21
    assert (tables.year.min(), tables.year.max()) == (1919, 2000)
    small = movielens_tables(load_movielens("100k"), "100k")
    assert (small.gender == 0).sum() == 273
    assert small.flags.shape == (1682, 19)
    assert len(set(small.occupation)) == 21


def test_ratings_that_are_ranked_reach_no_feature(rng):
    ratings, tables = made(rng)
    ranked = ~context_mask(ratings)
    values = ratings.values.copy()
    values[ranked] = 6 - values[ranked]
    first, other = (ratings_task(of, tables) for of in (ratings, replace(ratings, values=values)))
    for a, b in zip(
        (first.train, first.vali, first.test), (other.train, other.vali, other.test), strict=True
    ):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.y, 6 - b.y)
    users = [set(of.qid) for of in (first.train, first.vali, first.test)]
    assert sum(map(len, users)) == len(set.union(*users)) == ratings.n_users


def test_all_tables_make_80_features_for_18_flags(rng):
    ratings, tables = made(rng)
    flags = np.tile(tables.flags, 6)
    named = replace(tables, flags=flags, flag_names=tuple(f"g{k}" for k in range(18)))
    fold = ratings_task(ratings, named)
    assert len(set(fold.train.feature_names)) == fold.train.n_features == 80
    assert np.isfinite(fold.train.X).all()
    assert ratings_task(ratings).train.n_features == 36


def test_the_order_of_features_helps_to_rank(rng):
    ratings, tables = made(rng, n_users=300, n=9000)
    fold = ratings_task(ratings, tables)
    rows = fold.train
    column = rows.feature_names.index("factors 10 prediction")
    assert np.corrcoef(rows.X[:, column], rows.y)[0, 1] > 0.3


def test_columns_by_loops(rng):
    ratings, tables = made(rng)
    context = context_of(ratings)
    users, items = rng.integers(0, 120, 30), rng.integers(0, 50, 30)
    of_item = dict(item_columns(context, tables))
    of_group = dict(group_columns(context, tables, users, items))
    of_user = dict(own_columns(context, tables, users, items))
    for k, (user, item) in enumerate(zip(users, items, strict=True)):
        own = context.items == item
        mean = context.values.mean()
        bias = (context.values[own] - mean).sum() / (own.sum() + 25)
        assert of_item["item mean"][item] == pytest.approx(mean + bias)
        assert of_item["item share 5"][item] == pytest.approx((context.values[own] == 5).mean())
        alike = own & (tables.gender[context.users] == tables.gender[user])
        expected = context.residuals[alike].sum() / (alike.sum() + 10)
        assert of_group["item residual by gender"][k] == pytest.approx(expected, abs=1e-12)
        rated = context.users == user
        means = [
            context.residuals[rated & tables.flags[context.items, flag]].sum()
            / ((rated & tables.flags[context.items, flag]).sum() + 5)
            for flag in range(3)
            if tables.flags[item, flag]
        ]
        found = [of_user[f"user flags residual {of}"][k] for of in ("mean", "min", "max")]
        wanted = [np.mean(means), np.min(means), np.max(means)] if means else [0, 0, 0]
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_least_squares_reach_a_stationary_point(rng):
    ratings, _ = made(rng)
    context = context_of(ratings)
    P, Q = factors.fit_factors(context, 3, 0.1, n_rounds=200)
    errors = context.residuals - (P[context.users] * Q[context.items]).sum(axis=1)
    counts = np.maximum(context.user_counts, 1)
    slopes = np.zeros_like(P)
    np.add.at(slopes, context.users, errors[:, None] * Q[context.items])
    np.testing.assert_allclose(slopes, 0.1 * counts[:, None] * P, atol=2e-3)


def test_turned_factors_make_the_same_products(rng):
    P, Q = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    U, V = factors.rotate_factors((P, Q))
    np.testing.assert_allclose(U @ V.T, P @ Q.T, atol=1e-12)
    sizes = np.linalg.norm(U, axis=0)
    assert (np.diff(sizes) <= 1e-12).all()
    np.testing.assert_allclose(sizes, np.linalg.norm(V, axis=0))
    few = factors.rotate_factors((P[:2], Q))
    assert few[0].shape == (2, 4)
    np.testing.assert_allclose(few[0] @ few[1].T, P[:2] @ Q.T, atol=1e-12)


def test_the_penalty_is_chosen_without_ratings_that_are_ranked(rng):
    ratings, _ = made(rng, n_users=300, n=9000)
    context = context_of(ratings)
    assert factors.choose_penalty(context, 2, (0.05, 50.0)) == 0.05
    noise = replace(context, values=rng.permutation(context.values))
    assert factors.choose_penalty(noise, 20, (1e-3, 50.0)) == 50.0


def test_neighbours_by_loops(rng):
    ratings, _ = made(rng, n_users=20, n_items=12, n=150)
    context = context_of(ratings)
    residuals = context.matrix(context.residuals).toarray()
    rated = context.matrix(np.ones(len(context.users))).toarray()
    like = np.zeros((12, 12))
    for a in range(12):
        for b in range(12):
            norms = np.linalg.norm(residuals[:, a]) * np.linalg.norm(residuals[:, b])
            common = (rated[:, a] * rated[:, b]).sum()
            if a != b and norms > 0:
                cosine = residuals[:, a] @ residuals[:, b] / norms
                like[a, b] = max(cosine * common / (common + 20), 0)
    found = similar(sparse.csr_array(residuals.T), sparse.csr_array(rated.T))
    np.testing.assert_allclose(found.toarray(), like, atol=1e-12)
    users, items = np.divmod(np.arange(240), 12)
    columns = dict(neighbour_columns(context, users, items))
    for k in range(0, 240, 7):
        weights = like[items[k]] * rated[users[k]]
        expected = weights @ residuals[users[k]] / (weights.sum() + 1)
        assert columns["items prediction"][k] == pytest.approx(expected, abs=1e-12)
        assert columns["items weight"][k] == pytest.approx(weights.sum(), abs=1e-12)


def test_shrunk_mean():
    assert shrunk_mean(np.array([0, 0, 2]), np.array([1.0, 2.0, 4.0]), 3, 1.0).tolist() == [1, 0, 2]


def test_errors_name_what_is_wrong(rng):
    ratings, tables = made(rng)
    with pytest.raises(ValueError, match=r"tables\.year must have 50 entries.*got 49"):
        ratings_task(ratings, replace(tables, year=tables.year[:-1]))
    few = ratings_from_triplets([1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 3, 4], scale=(1, 5))
    with pytest.raises(ValueError, match="for three parts, got 2 of 2 users"):
        ratings_task(few)
    many = replace(ratings, item_ids=np.arange(20_001))
    with pytest.raises(ValueError, match="at most 20000 items, got 20001"):
        ratings_task(many)


# Implicit feedback -------------------------------------------------------------------------------


def tasted(rng, n_users=60, n_items=40):
    """Who has seen what: users like every fourth item, and some of the others."""
    kind = np.arange(n_items) % 4 == np.arange(n_users)[:, None] % 4
    seen = rng.random((n_users, n_items)) < np.where(kind, 0.6, 0.1)
    seen[np.arange(n_users), np.arange(n_users) % 4] = True
    users, items = np.nonzero(seen)
    return ratings_from_triplets(users, items, np.ones(len(users)), scale=(0, 1)), seen


def test_unseen_items_are_ranked_below_seen_ones(rng):
    ratings, seen = tasted(rng)
    fold = ratings_task(ratings, n_unseen=2)
    ranked = ~context_mask(ratings)
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    for part in (fold.train, fold.vali, fold.test):
        at = part.qid, part.doc_ids.astype(int)
        np.testing.assert_array_equal(part.y, seen[at])
        assert len({*zip(*at, strict=True)}) == len(part)
        for user in np.unique(part.qid):
            rows = part.qid == user
            expected = ratings.items[ranked & (users == user)]
            assert {*part.doc_ids[rows & (part.y == 1)].astype(int)} == {*expected.tolist()}
            n_unseen = min(2 * len(expected), (~seen[user]).sum())
            assert (part.y[rows] == 0).sum() == n_unseen
        assert np.isfinite(part.X).all()
    assert not [name for name in fold.train.feature_names if "residual" in name]


def test_the_draw_of_unseen_items_depends_on_the_seed_only(rng):
    ratings, _ = tasted(rng)
    first, same, other = (ratings_task(ratings, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.test.doc_ids, same.test.doc_ids)
    np.testing.assert_array_equal(first.test.X, same.test.X)
    assert first.test.doc_ids.tolist() != other.test.doc_ids.tolist()


def test_every_unseen_item_is_as_likely_whatever_its_popularity():
    users, items = np.nonzero(np.arange(4) <= np.arange(2000)[:, None] % 2 * 2)
    ratings = ratings_from_triplets(users, items, np.ones(len(users)), scale=(0, 1))
    ratings = replace(ratings, item_ids=np.arange(4))  # item 3 is never seen, 1 by half
    drawn_for, drawn = draw_unseen(ratings, np.ones(2000, dtype=int), 0)
    counts = np.bincount(drawn[drawn_for % 2 == 0], minlength=4)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 1000 / 3) < 4 * np.sqrt(1000 * 2 / 9)).all()


def test_pairs_that_are_ranked_reach_no_feature_of_implicit_feedback(rng):
    """The context alone gives the features: other ranked items leave those of a pair unchanged."""
    ratings, _ = tasted(rng)
    context = context_of(ratings)
    pairs = rng.integers(0, 60, 50), rng.integers(0, 40, 50)
    whole = dict(implicit_columns(context, SideTables(), *pairs))
    some = dict(implicit_columns(context, SideTables(), *(of[:20] for of in pairs)))
    for name, column in some.items():
        np.testing.assert_array_equal(column, whole[name][:20])
    like = similar(
        context.matrix(np.ones(len(context.items))), context.matrix(np.ones(len(context.items)))
    )
    expected = (like @ context.matrix(np.ones(len(context.items)))).toarray()[pairs]
    np.testing.assert_allclose(whole["similar users weight"], expected)


def test_a_ranker_of_implicit_feedback_beats_popularity(data_root):
    ratings = load_movielens("100k")
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    liked = (ratings.values >= 4) & (users < 300)
    fold = ratings_task(
        ratings_from_triplets(
            users[liked], ratings.items[liked], np.ones(liked.sum()), scale=(0, 1)
        )
    )
    ranker = RidgeRanker().fit(fold.train.X, fold.train.y, qid=fold.train.qid)
    test = fold.test
    popularity = test.X[:, test.feature_names.index("item log count")]
    guess = np.random.default_rng(0).random(len(test.y))
    learnt, popular, random = (
        evaluate(test.y, scores, test.qid, "AP")["AP"]
        for scores in (ranker.predict(test.X), popularity, guess)
    )
    assert learnt > popular + 0.03 > random + 0.2


def only(*rows):
    user, item, rating = zip(*rows, strict=True)
    return ratings_from_triplets(user, item, rating, scale=(0, 5))


WRONG = {
    "all 3": (lambda: only(*((u, i, 3) for u in range(9) for i in range(4))), {}, "got 3 for all"),
    "single user": (lambda: only((1, 1, 1), (1, 2, 1), (1, 3, 1)), {}, "got 1 of 1 users"),
    "single item": (lambda: only(*((u, 1, 1) for u in range(9))), {}, "at least 2 items, got 1"),
    "nothing": (lambda: ratings_from_triplets([], [], [], scale=(0, 1)), {}, "items, got 0"),
    "one each": (lambda: only(*((u, u % 3, 1) for u in range(30))), {}, "got 0 of 30 users"),
    "one each, differing": (
        lambda: only(*((u, u % 3, u % 5) for u in range(30))), {}, "got 0 of 30 users"
    ),
    "n_unseen of ratings": (
        lambda: only((1, 1, 1), (1, 2, 2)), {"n_unseen": 2}, "n_unseen is for implicit feedback"
    ),
    "half an item": (
        lambda: only((1, 1, 1), (1, 2, 1)), {"n_unseen": 0.5}, "n_unseen must be a whole number"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_ratings_that_give_no_task_are_refused(case):
    make, options, said = WRONG[case]
    with pytest.raises(ValueError, match=said):
        ratings_task(make(), **options)


@pytest.mark.parametrize("value", [1, 2])
def test_few_ratings_make_a_task(value):
    """Too few for factors, singular vectors or a choice of the penalty."""
    rows = [(u, i, 1 if (u, i) != (0, 0) else value) for u in range(30) for i in range(2 + u % 2)]
    fold = ratings_task(only(*rows))
    assert np.isfinite(fold.train.X).all()
