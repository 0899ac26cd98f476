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
    sets_of,
    summarise,
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
OTHERS = ("ridge", "rank_svm", "pairwise_elm")
RANKERS = (OURS, "lambdamart", *OTHERS, *(f"{name}, scaled" for name in OTHERS))
FEW = 100  # training queries


class Recipe:
    """A ranker as ``compare`` runs it: its recipe with its grid, and medians for missing values."""

    def __init__(self, name: str) -> None:
        self.name, comma, _ = name.partition(",")
        self._steps: list[Any] = [StandardScaler()] if comma else []

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


def print_by_size(values: study_generalisation.Values) -> None:
    """Print leads over trees on sets of few and of many training queries."""
    queries = {name: count_queries(name) for name in sets_of(values)}
    print(
        f"\nnDCG@10 of each less {OURS} by training queries, in thousandths: mean, z, sets ahead\n"
    )
    print(" " * 22 + "".join(f"{key:>24}" for key in RANKERS[1:]))
    few = {name for name in queries if queries[name] < FEW}
    for title, part in ((f"below {FEW}", few), (f"{FEW} or more", queries.keys() - few)):
        found = {key: value for key, value in values.items() if key[0] in part}
        line = f"{f'{title} ({len(part)} sets)':22}"
        for key in RANKERS[1:]:
            cells, mean, z = summarise(found, key, OURS, "nDCG@10")
            ahead = sum(lead > 0 for lead, _ in cells)
            line += f"{mean:12.1f}{z:7.2f}{ahead:5}"
        print(line)


def main() -> None:
    study_generalisation.STORE = Path("build/study_small_sets.jsonl")
    names = study_more_sets.find(sys.argv[1:] or SETS)
    makers: dict[str, Any] = {name: partial(Recipe, name) for name in RANKERS}
    values = measure_all(names, SPLITS, makers, MOST_ROWS)
    print(f"study_small_sets: recipes on {len(names)} sets, {len(SPLITS)} splits of queries\n")
    print(f"{'':14}{'rows':>10}{'columns':>10}{'training queries':>18}")
    for name in names:
        rows = load_rows(name, MOST_ROWS)
        print(f"{name:14}{len(rows.y):10,}{rows.X.shape[1]:10,}{count_queries(name):18,}")
    print_differences(values, OURS)
    print_pooled(values, OURS)
    print_by_size(values)


if __name__ == "__main__":
    main()
