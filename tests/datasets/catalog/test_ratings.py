"""Ratings: the counts of their publishers, triplets in any order, zeros that are ratings."""

import numpy as np
import pytest

from rankwise.datasets import (
    fetch,
    known_sources,
    load_book_crossing,
    load_jester,
    load_movielens,
    ratings_from_triplets,
)


def test_sources_are_complete():
    for name, source in known_sources().items():
        assert source.name == name
        kinds = ("ratings", "descriptors", "ordinal", "judgements", "runs", "text", "multi-label")
        assert source.kind in kinds
        assert source.address.startswith("http")
        assert all((source.title, source.how_to_get, source.terms, source.cite, source.folders))
        for file in source.files:
            assert file.rows > 0
            assert len(file.sha256) == len(file.sha256_gz) == 64


def test_a_source_that_is_not_here_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"grouplens\.org.*Terms: GroupLens"):
        load_movielens()


def test_another_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "movielens-1m").mkdir()
    (tmp_path / "movielens-1m" / "ratings.csv").write_text("user,movie,rating\n1,1,5\n")
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"is not ratings\.csv of movielens-1m"):
        load_movielens()


def test_movielens(data_root):
    ratings = load_movielens()
    assert (len(ratings), ratings.n_users, ratings.n_items) == (1_000_209, 6040, 3706)
    histogram = np.bincount(ratings.values.astype(int))[1:]
    assert histogram.tolist() == [56174, 107557, 261197, 348971, 226310]
    assert (ratings.counts.min(), ratings.counts.max()) == (20, 2314)
    # protocols A1.8: the groups and the test reviewers, both ends inclusive
    counts = ratings.counts
    groups = [(20, 40), (40, 60), (60, 80), (50, 300)]
    found = [int(((counts >= low) & (counts <= high)).sum()) for low, high in groups]
    assert found == [1351, 824, 603, 3342]
    with pytest.raises(ValueError, match="size must be '100k' or '1m', got '10m'"):
        load_movielens("10m")


def test_movielens_100k(data_root):
    ratings = load_movielens("100k")
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_000, 943, 1682)
    assert np.bincount(ratings.values.astype(int))[1:].tolist() == [
        6110,
        11370,
        27145,
        34174,
        21201,
    ]
    items, values = ratings.of_user(195)  # of id 196: the first line of the file is 196, 242, 3
    assert values[ratings.item_ids[items] == 242].tolist() == [3.0]


def test_jester(data_root):
    ratings = load_jester()
    assert (len(ratings), ratings.n_users, ratings.n_items) == (4_136_360, 73_421, 100)
    counts = ratings.counts
    groups = [(20, 40), (40, 60), (60, 80), (50, 300)]
    found = [int(((counts >= low) & (counts <= high)).sum()) for low, high in groups]
    assert found == [23195, 12211, 16567, 38086]
    items, values = ratings.of_user(0)
    assert (ratings.user_ids[0], len(items), values[:3].tolist()) == (1, 74, [-7.82, 8.79, -9.66])
    assert (ratings.values == 0).any()  # a rating of 0 is a rating


def test_book_crossing_says_that_it_is_partial(data_root):
    ratings = load_book_crossing()
    assert "partial" in ratings.note
    assert "partial" in repr(ratings)
    assert len(ratings) == 79_264  # 79,269 explicit rows, five of them repeat a pair
    assert (ratings.values.min(), ratings.values.max()) == (1, 10)
    everything = load_book_crossing(implicit=True)
    assert (len(everything), everything.n_users, everything.n_items) == (199_986, 17_793, 106_951)


def test_triplets_in_any_order(rng):
    user, item = np.divmod(rng.permutation(200)[:60], 20)
    rating = rng.integers(-2, 3, 60).astype(float)
    order = rng.permutation(60)
    one = ratings_from_triplets(user, item, rating, scale=(-2, 2))
    other = ratings_from_triplets(user[order], item[order], rating[order], scale=(-2, 2))
    table = {}
    for u, i, r in zip(user, item, rating, strict=True):
        table.setdefault(u, {})[i] = r
    for ratings in (one, other):
        for number, u in enumerate(ratings.user_ids):
            items, values = ratings.of_user(number)
            assert (np.diff(items) > 0).all()
            assert dict(zip(ratings.item_ids[items], values, strict=True)) == table[u]


def test_repeated_pairs_and_empty_and_wrong_ratings():
    ratings = ratings_from_triplets([1, 1, 1], [3, 3, 2], [5, 4, 1], scale=(1, 5))
    assert ratings.of_user(0)[1].tolist() == [1, 5]
    assert len(ratings_from_triplets([], [], [], scale=(1, 5))) == 0
    with pytest.raises(ValueError, match="between 1 and 5, got 9 in row 1"):
        ratings_from_triplets([1, 2], [1, 1], [3, 9], scale=(1, 5))
    with pytest.raises(ValueError, match="between 1 and 5, got nan"):
        ratings_from_triplets([1], [1], [np.nan], scale=(1, 5))


def test_files_of_the_sources_have_their_checksums(data_root, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path))
    for name in known_sources():
        assert all(path.is_relative_to(data_root) for path in fetch(name))
