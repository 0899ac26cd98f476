"""Nominal columns and missing values of published sets."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankingForest, RankingTree
from rankwise.datasets import load_ordinal
from rankwise.trees import export_text

pytestmark = pytest.mark.usefixtures("data_root")


def halves(n_rows, n_halves):
    for seed in range(n_halves):
        yield np.array_split(np.random.default_rng(seed).permutation(n_rows), 2)


def losses(data, X, n_halves, **params):
    """Mean absolute rank loss on one half of a tree of the other half."""
    found = []
    for train, test in halves(len(data.y), n_halves):
        tree = RankingTree(max_depth="cv", **params).fit(X[train], data.y[train])
        found.append(-tree.score(X[test], data.y[test]))
    return np.array(found)


@pytest.mark.parametrize(("name", "n_halves", "most"), [("car", 6, 0.08), ("nursery", 2, 0.015)])
def test_subsets_lose_less_than_one_column_for_each_category(name, n_halves, most):
    data = load_ordinal(name)
    assert data.categorical_features.all()
    one_hot = np.hstack([
        (data.X[:, [j]] == np.arange(len(names))).astype(float)
        for j, names in enumerate(data.categories)
    ])  # fmt: skip
    subsets = losses(data, data.X, n_halves, categorical_features=data.categorical_features)
    single = losses(data, one_hot, n_halves)
    assert subsets.mean() < most
    assert subsets.mean() < 0.75 * single.mean()


def test_names_of_categories_do_not_matter():
    """Codes, text in a frame of either library, and other names for the same categories."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    data = load_ordinal("car")
    text = {
        name: np.array(data.categories[j])[data.X[:, j].astype(int)]
        for j, name in enumerate(data.feature_names)
    }
    by_code = RankingTree(max_depth=5, categorical_features=data.categorical_features)
    by_code.fit(data.X, data.y)
    y = np.array(data.classes)[data.y]
    labels = pd.Series(pd.Categorical(y, categories=data.classes, ordered=True))
    for frame in (pd.DataFrame(text), pl.DataFrame(text), pd.DataFrame(text).astype("category")):
        tree = RankingTree(max_depth=5).fit(frame, labels)
        assert (tree.predict(frame) == np.array(data.classes)[by_code.predict(data.X)]).all()
    words = export_text(tree)
    assert words.splitlines()[0] in ("safety in {low}", "safety not in {high}", "safety in {high}")
    assert "class vgood" in words


def test_missing_values_at_the_better_side_lose_less_than_imputed_ones():
    data = load_ordinal("eucalyptus")
    assert np.isnan(data.X).sum() == 448
    n_halves = 12
    nominal = data.categorical_features
    better_side = losses(data, data.X, n_halves, categorical_features=nominal)
    imputed = []
    for train, test in halves(len(data.y), n_halves):
        filled = data.X.copy()
        for j in range(filled.shape[1]):
            known = data.X[train, j][~np.isnan(data.X[train, j])]
            value = np.bincount(known.astype(int)).argmax() if nominal[j] else np.median(known)
            filled[np.isnan(filled[:, j]), j] = value
        tree = RankingTree(max_depth="cv", categorical_features=nominal)
        tree.fit(filled[train], data.y[train])
        imputed.append(-tree.score(filled[test], data.y[test]))
    assert better_side.mean() < np.mean(imputed) - 0.01
    assert better_side.mean() < 0.55


def test_forest_of_mixed_columns():
    data = load_ordinal("eucalyptus")
    forest = RankingForest(
        categorical_features=data.categorical_features, oob_score=True, random_state=0
    )
    forest.fit(data.X, data.y)
    tree = losses(data, data.X, 3, categorical_features=data.categorical_features).mean()
    assert -forest.oob_score_ < tree
    vigour = data.feature_names.index("Vig")
    assert forest.feature_importances_[vigour] > 2 / len(data.feature_names)
