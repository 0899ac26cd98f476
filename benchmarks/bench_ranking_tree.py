"""What true subset splits and missing values at the better side are worth, and a forest's time.

    python -m benchmarks.bench_ranking_tree

Mean absolute rank loss on one half of the rows of a tree grown on the other, its depth by
cross-validation there, 20 random halves (eucalyptus: 40), with the 95 % t interval of the
difference from subset splits. "codes" are the positions of the categories taken as numbers, which
for car and nursery are their true order; "imputed" the most frequent category, or the median, of
the training half. Needs the folder of ordinal sets under ``RANKWISE_DATA``.

Then 100 trees of a forest beside scikit-learn's, on 10,000 rows of 20 columns and five classes,
both on all CPUs.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from scipy import stats
from sklearn.ensemble import RandomForestClassifier

from benchmarks._timing import interleave
from rankwise import RankingForest, RankingTree
from rankwise.datasets import OrdinalData, load_ordinal


def one_hot(X: np.ndarray, data: OrdinalData) -> np.ndarray:
    """A column for each category; all 0 where missing."""
    columns = [
        (X[:, [j]] == np.arange(len(names))).astype(float) if names else X[:, [j]]
        for j, names in enumerate(data.categories)
    ]
    return np.hstack(columns)


def imputed(X: np.ndarray, data: OrdinalData, train: np.ndarray) -> np.ndarray:
    """Missing values as the most frequent category or the median of the training rows."""
    filled = X.copy()
    for j, is_nominal in enumerate(data.categorical_features):
        known = X[train, j][~np.isnan(X[train, j])]
        value = np.bincount(known.astype(int)).argmax() if is_nominal else np.median(known)
        filled[np.isnan(X[:, j]), j] = value
    return filled


def losses(name: str, n_halves: int) -> None:
    """The table of one set."""
    data = load_ordinal(name)
    nominal = {"categorical_features": data.categorical_features}
    has_missing = bool(np.isnan(data.X).any())
    got: dict[str, list[float]] = {}
    leaves: dict[str, list[int]] = {}
    for seed in range(n_halves):
        rows = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.array_split(rows, 2)
        forms = {"subsets": (data.X, nominal), "codes": (data.X, {}), "one-hot": (None, {})}
        if has_missing:
            filled = imputed(data.X, data, train)
            forms |= {"subsets, imputed": (filled, nominal), "codes, imputed": (filled, {})}
        for form, (X, columns) in forms.items():
            X = one_hot(data.X, data) if X is None else X
            tree = RankingTree(max_depth="cv", **columns).fit(X[train], data.y[train])
            got.setdefault(form, []).append(-tree.score(X[test], data.y[test]))
            leaves.setdefault(form, []).append(tree.get_n_leaves())
    print(f"{name}: {data!r}, {int(np.isnan(data.X).sum())} cells missing")
    for form, values in got.items():
        difference = np.subtract(values, got["subsets"])
        spread = stats.t.ppf(0.975, n_halves - 1) * difference.std(ddof=1) / np.sqrt(n_halves)
        against = f"{difference.mean():+.4f} ± {spread:.4f}" if form != "subsets" else ""
        print(f"  {form:18s}{np.mean(values):8.4f}  {np.mean(leaves[form]):6.1f} leaves  {against}")


def time_forest() -> None:
    """100 trees, columns drawn by both: sqrt."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=20_000), [-2, -0.5, 0.5, 2])
    forests = {
        "RankingForest": RankingForest(random_state=0),
        "RankingForest, histogram": RankingForest(method="histogram", random_state=0),
        "scikit-learn": RandomForestClassifier(n_jobs=os.cpu_count(), random_state=0),
    }
    works = {name: partial(forest.fit, X[:10_000], y[:10_000]) for name, forest in forests.items()}
    for name, timing in interleave(works, repeats=3).items():
        loss = np.abs(forests[name].predict(X[10_000:]) - y[10_000:]).mean()
        print(f"  {name:26s}{timing.median:8.2f} s   loss on other rows {loss:.4f}", flush=True)


if __name__ == "__main__":
    losses("car", 20)
    losses("nursery", 20)
    losses("eucalyptus", 40)
    print("100 trees on 10,000 x 20")
    time_forest()
