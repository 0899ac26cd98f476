"""Which ranker leads on fewer than 20,000 rows: the evidence of *Choose an estimator*.

    python -m benchmarks.study_small_sets > docs/study_small_sets.txt

The sets are those of ``study_generalisation``, at most 12,000 rows each; cf-letor has more than
20,000 rows and is left out. Splits 400 to 402 train on 70 % of the queries, drawn at random, and
rank the others; nothing else was chosen on these splits. Every ranker runs as ``rankwise compare``
would run it, by its recipe, on one thread; where columns lack values, those of all but LambdaMART
are replaced by medians of the training part, with a column that marks them. "scaled" subtracts
every column's mean and divides by its deviation, both of the training part. "lambdamart()" is the
class with its defaults. Errors and Stouffer's z are those of ``study_generalisation``.

Cells in ``build/study_small_sets.jsonl`` are not computed again; names of sets as arguments
compute only these.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import study_generalisation, study_more_sets
from benchmarks.study_generalisation import (
    MOST_ROWS,
    count_queries,
    load_rows,
    measure_all,
    print_differences,
    print_pooled,
)
from rankwise._registry import build_ranker
from rankwise.datasets import RankingData
from rankwise.selection import tune

SPLITS = range(400, 403)
SETS = tuple(
    name
    for name in (*study_generalisation.SETS, *study_generalisation.MORE_SETS, "covid-runs")
    if name != "cf-letor"
)
OURS = "lambdamart()"
OTHERS = {"ridge": "ridge", "rank_svm": "rank_svm", "pairwise_elm": "pairwise_elm"}
SCALED = {"scaled ridge": "ridge", "scaled svm": "rank_svm", "scaled elm": "pairwise_elm"}
RANKERS = {OURS: OURS, "lambdamart": "lambdamart", **OTHERS, **SCALED}
FEW = 100  # training queries


class Recipe:
    """A ranker as ``compare`` runs it: its recipe with its grid, and medians for missing values."""

    def __init__(self, name: str) -> None:
        self.name = RANKERS[name]
        self._steps: list[Any] = [StandardScaler()] if name in SCALED else []

    def fit(self, X: Any, y: Any, *, qid: Any) -> Recipe:
        if not self.name.startswith("lambdamart") and np.isnan(X).any():
            self._steps.insert(0, SimpleImputer(strategy="median", add_indicator=True))
        self._columns = make_pipeline(*self._steps or ["passthrough"])
        X = self._columns.fit_transform(X)
        estimator, space = build_ranker(self.name, "ranker", seed=0)
        if "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=1)
        rows = RankingData(X, y, qid=qid)
        self._fitted = tune(estimator, rows, None, "nDCG@10", space=space).estimator
        return self

    def predict(self, X: Any) -> Any:
        return self._fitted.predict(self._columns.transform(X))


def main() -> None:
    study_generalisation.STORE = Path("build/study_small_sets.jsonl")
    names = study_more_sets.find(sys.argv[1:] or SETS)
    makers: dict[str, Any] = {name: partial(Recipe, name) for name in RANKERS}
    values = measure_all(names, SPLITS, makers, MOST_ROWS)
    print(f"study_small_sets: recipes on {len(names)} sets, {len(SPLITS)} splits of queries")
    print(f"The last tables have all sets, those below {FEW} training queries, and the others.\n")
    print(f"{'':14}{'rows':>10}{'columns':>10}{'training queries':>18}")
    for name in names:
        rows = load_rows(name, MOST_ROWS)
        print(f"{name:14}{len(rows.y):10,}{rows.X.shape[1]:10,}{count_queries(name):18,}")
    print_differences(values, OURS)
    few = {name for name in names if count_queries(name) < FEW}
    for part in (names, few, {*names} - few):
        print_pooled({key: value for key, value in values.items() if key[0] in part}, OURS)


if __name__ == "__main__":
    main()
