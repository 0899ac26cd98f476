"""LambdaMART less LightGBM with equal parameters, where the difference is more than noise.

    python -m benchmarks.study_lambdamart_draws > docs/study_lambdamart_draws.txt

Thirty independent sets of MSLR-like rows: 160 training queries and 500 test queries of 60 rows
each, 40 features. Then the MovieLens task: training users and test users. Parameters are those of
``benchmarks.study_lambdamart``. LightGBM forms pairs with the first 30 rows of a ranking; below
them its discounts go on.
"""

from __future__ import annotations

import numpy as np

from benchmarks._timing import synthetic_ranking
from benchmarks.study_lambdamart import EQUAL, rows_of
from rankwise import LambdaMART, LightGBMRanker
from rankwise.datasets import load_movielens_task
from rankwise.groups import QueryGroups
from rankwise.metrics import parse

MEASURE = parse("nDCG@10")
SEEDS = range(200, 230)
N_TRAIN, N_TEST = 160, 500
RANKERS = {
    "LightGBM": lambda: LightGBMRanker(n_jobs=1, random_state=0),
    "LightGBM, pairs of 10 rows": lambda: LightGBMRanker(
        truncation_level=10, n_jobs=1, random_state=0
    ),
    "ours, nDCG@10": lambda: LambdaMART(truncation_level=None, **EQUAL),
    "ours, nDCG@30": lambda: LambdaMART(**EQUAL),
    "ours, nDCG": lambda: LambdaMART(measure="nDCG", **EQUAL),
}
PEER = "LightGBM"


def main() -> None:
    print("study_lambdamart_draws: LambdaMART and LightGBM with equal parameters")
    print(f"\n{len(SEEDS)} synthetic sets, nDCG@10 of {N_TEST} test queries each")
    values: dict[str, list[float]] = {name: [] for name in RANKERS}
    for seed in SEEDS:
        X, y, qid = synthetic_ranking(N_TRAIN + N_TEST, docs=60, n_features=40, seed=seed)
        train = qid <= N_TRAIN
        for name in RANKERS:
            found = per_query(
                name, (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])
            )
            values[name].append(float(found.mean()))
    print_differences(values)
    fold = load_movielens_task("1m")
    print(f"\nMovieLens task, nDCG@10 of {fold.test.n_queries} test users")
    rows = rows_of(fold.train), rows_of(fold.test)
    print_differences({name: per_query(name, *rows) for name in RANKERS})


def per_query(name: str, train: tuple, test: tuple) -> np.ndarray:
    """nDCG@10 of every test query of a ranker that is fitted on the training rows."""
    X, y, qid = train
    scores = RANKERS[name]().fit(X, y, qid=qid).predict(test[0])
    return MEASURE.per_query(test[1], scores, QueryGroups.from_qid(test[2], len(test[2])))


def print_differences(values: dict[str, list[float]] | dict[str, np.ndarray]) -> None:
    """Print means over sets or queries, and those of the paired differences from LightGBM."""
    print("\n" + " " * 30 + f"{'mean':>8}{'less LightGBM':>16}{'standard error':>17}")
    for name, found in values.items():
        less = np.subtract(found, values[PEER])
        error = np.nanstd(less, ddof=1) / np.sqrt((~np.isnan(less)).sum())
        print(f"{name:30}{np.nanmean(found):8.4f}{np.nanmean(less):16.4f}{error:17.4f}", flush=True)


if __name__ == "__main__":
    main()
