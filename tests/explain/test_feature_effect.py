"""Feature effects: against loops over documents, of known functions, on any table."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from rankwise import LambdaMART, RankingForest, RidgeRanker
from rankwise.explain import feature_effect
from rankwise.features import QueryScaler


@pytest.fixture
def rows(rng):
    X = np.round(rng.normal(size=(60, 3)), 1)
    return X, np.clip(np.round(X[:, 0] + 1), 0, 2), rng.permutation(60) % 7


def by_loops(ranker, X, qid, column, grid):
    """Mean over documents of the share of the others that each outranks."""
    score = getattr(ranker, "rank_score", ranker.predict)
    base, values = score(X), []
    for query in dict.fromkeys(qid.tolist()):
        members = np.flatnonzero(qid == query)
        line = []
        for value in grid:
            shares = []
            for d in members:
                row = X[d].copy()
                row[column] = value
                own = score(row[None, :])[0]
                others = [base[e] for e in members if e != d]
                shares.append(np.mean([(s < own) + (s == own) / 2 for s in others]))
            line.append(np.mean(shares))
        values.append(line)
    return np.array(values)


@pytest.mark.parametrize("model", ["linear", "forest"])
def test_shares_are_those_of_loops(rows, model):
    X, y, qid = rows
    ranker = RidgeRanker() if model == "linear" else RankingForest(5, max_depth=2, random_state=0)
    ranker.fit(X, y, qid=qid)  # a shallow forest ties documents
    found = feature_effect(ranker, X, qid, 1, n_points=6)
    assert found.values.shape == (7, len(found.grid))
    assert len(found.grid) <= 6
    np.testing.assert_allclose(found.values, by_loops(ranker, X, qid, 1, found.grid), atol=1e-12)
    assert found.queries.tolist() == list(dict.fromkeys(qid.tolist()))
    np.testing.assert_allclose(found.mean, found.values.mean(axis=0))


def test_a_monotone_feature_rises_and_an_ignored_one_stays_in_the_middle(rows):
    X, _, qid = rows
    X = X + np.arange(60)[:, None] * 1e-6  # no ties
    ranker = RidgeRanker().fit(X, X[:, 0], qid=qid)
    ranker.coef_[:] = [1.0, 0.0, -0.5]
    rising, flat, falling = (feature_effect(ranker, X, qid, j) for j in range(3))
    assert (np.diff(rising.values, axis=1) >= 0).all()
    assert (np.diff(falling.values, axis=1) <= 0).all()
    np.testing.assert_allclose(flat.values, 0.5)
    assert np.ptp(rising.mean) > np.ptp(falling.mean) > 0


def test_the_grid_holds_quantiles_of_the_rows(rng):
    X = rng.exponential(size=(500, 2))
    ranker = RidgeRanker().fit(X, X[:, 0])
    grid = feature_effect(ranker, X, np.arange(500) % 50, "x0", n_points=11).grid
    assert set(grid) <= set(X[:, 0])
    expected = np.quantile(X[:, 0], np.linspace(0.01, 0.99, 11), method="inverted_cdf")
    np.testing.assert_array_equal(grid, expected)
    X[:, 1] = rng.integers(0, 4, 500)
    assert feature_effect(ranker, X, None, 1).grid.tolist() == [0, 1, 2, 3]


def test_bands_hold_the_middle_of_the_queries(rows):
    X, y, qid = rows
    found = feature_effect(RidgeRanker().fit(X, y, qid=qid), X, qid, 0)
    low, high = found.band().T
    np.testing.assert_allclose(low, np.quantile(found.values, 0.25, axis=0))
    np.testing.assert_allclose(high, np.quantile(found.values, 0.75, axis=0))
    assert (found.band(0.9)[:, 0] <= low).all()
    np.testing.assert_array_equal(found.to_frame("pandas")[["low", "high"]], found.band())
    assert str(found).splitlines()[1].split() == ["value", "mean", "low", "high"]


def test_frames_with_names_categories_and_missing_values(rows):
    pd = pytest.importorskip("pandas")
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=["bm25", "age", "clicks"])
    frame["kind"] = pd.Categorical(np.array(["news", "blog", "shop"])[np.arange(60) % 3])
    ranker = RankingForest(5, max_depth=4, random_state=0).fit(frame, y)
    found = feature_effect(ranker, frame, qid, "kind")
    assert found.grid.tolist() == ["blog", "news", "shop"]
    plain = feature_effect(ranker, frame, qid, "bm25", n_points=5)
    changed = frame.copy()
    changed.loc[0, "bm25"] = np.nan
    assert not np.isnan(feature_effect(ranker, changed, qid, "bm25").grid).any()
    np.testing.assert_array_equal(
        plain.grid, feature_effect(ranker, frame, qid, 0, n_points=5).grid
    )


@pytest.mark.parametrize(
    "levels", [np.arange(50.0), np.array([*range(25), *map(str, range(25))], dtype=object)]
)
def test_categories_are_levels_and_not_points_of_an_axis(levels, rng):
    """The most frequent ones, also of numbers, and of numbers next to text."""
    X = rng.normal(size=(400, 2)).astype(object)
    X[:, 1] = levels[np.where(np.arange(400) % 2, np.arange(400) % 6, np.arange(400) % 50)]
    y = np.array([str(value) < "3" for value in X[:, 1]]).astype(int)
    if levels.dtype != object:
        X = X.astype(float)
    ranker = LambdaMART(5, categorical_features=[1]).fit(X, y, qid=np.arange(400) % 20)
    found = feature_effect(ranker, X, None, 1, n_points=8)
    assert found.grid.dtype == object
    most = [*levels[:6].tolist(), *found.grid[6:]]
    assert found.grid.tolist() == most and len(most) == 8
    X[0, 1] = np.nan
    assert np.nan not in feature_effect(ranker, X, None, 1).grid


def test_queries_are_drawn(rows):
    X, y, qid = rows
    ranker = RidgeRanker().fit(X, y, qid=qid)
    every = feature_effect(ranker, X, qid, 0, max_queries=None)
    some = feature_effect(ranker, X, qid, 0, max_queries=3)
    place = [every.queries.tolist().index(query) for query in some.queries.tolist()]
    assert len(set(place)) == 3
    np.testing.assert_array_equal(some.values, every.values[place])
    draws = {
        tuple(feature_effect(ranker, X, qid, 0, max_queries=3, random_state=s).queries.tolist())
        for s in range(5)
    }
    assert len(draws) > 1


def test_queries_of_one_document_are_left_out(rows):
    X, y, qid = rows
    ranker = RidgeRanker().fit(X, y, qid=qid)
    single = qid.copy()
    single[0] = 99
    assert 99 not in feature_effect(ranker, X, single, 0).queries
    with pytest.raises(ValueError, match="at least two documents into a query"):
        feature_effect(ranker, X, np.arange(60), 0)


def test_pipelines_and_sparse_rows(rows):
    from scipy.sparse import csr_array

    X, y, qid = rows
    ranker = make_pipeline(LinearRegression()).fit(X, y)
    found = feature_effect(ranker, csr_array(X), qid, 2, n_points=4)
    np.testing.assert_allclose(found.values, by_loops(ranker, X, qid, 2, found.grid), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature": "bm25"}, "feature must be a column of X, got 'bm25'. Columns: x0, x1, x2"),
        ({"feature": 3}, r"feature must lie in \[0, 2\], got 3"),
        ({"feature": 0, "n_points": 1}, "n_points must be a whole number >= 2, got 1"),
        ({"feature": 0, "max_queries": 0}, "max_queries must be a whole number >= 1, got 0"),
    ],
)
def test_what_cannot_be(rows, options, message):
    X, y, qid = rows
    with pytest.raises(ValueError, match=message):
        feature_effect(RidgeRanker().fit(X, y, qid=qid), X, qid, **options)


def test_models_that_cannot_be(rows):
    X, y, qid = rows
    with pytest.raises(TypeError, match="DecisionTreeClassifier"):
        feature_effect(DecisionTreeClassifier().fit(X, y), X, qid, 0)
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        scaled = make_pipeline(QueryScaler(), RidgeRanker()).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="whose scores depend on the other rows of the query"):
        feature_effect(scaled, X, qid, 0)
