"""LambdaMART beside LightGBM: training, binning, scoring, and nDCG with equal parameters.

    python -m benchmarks.bench_lambdamart [n_queries]

Both train 31 leaves from 255 bins. LightGBM is timed in its faster mode of two, each with one and
two threads. Quality is the mean of nDCG@10 over the five folds of MQ2008 and OHSUMED.
"""

from __future__ import annotations

import sys

import lightgbm
import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import LambdaMART, LightGBMRanker, evaluate
from rankwise.datasets import load_dataset
from rankwise.trees.boosted.binned_rows import BinnedRows

TREES = 20


def training(n_queries: int) -> None:
    """Binning, and trees from rows that are binned; the rest of a fit is checks and gradients."""
    X, y, qid = synthetic_ranking(n_queries=n_queries)
    sizes = np.full(n_queries, 120)
    for threads in (1, 2):
        for mode in ("force_col_wise", "force_row_wise"):
            params = {
                "objective": "lambdarank",
                "num_threads": threads,
                "verbosity": -1,
                mode: True,
            }

            def dataset(params: dict = params) -> lightgbm.Dataset:
                return lightgbm.Dataset(X, y, group=sizes, params=params).construct()

            def light(params: dict = params, dataset=dataset) -> None:
                lightgbm.train(params, dataset(), TREES)

            def ours(threads: int = threads) -> None:
                LambdaMART(TREES, n_jobs=threads).fit(X, y, qid=qid)

            times = interleave({"ours": ours, mode: light}, 3)
            what = f"{TREES} trees, {len(y):,} x 136, {threads} threads, whole fits"
            report(what, times["ours"], times[mode], within=0.5)
        times = interleave(
            {"ours": lambda n=threads: BinnedRows.of(X, 255, n), "LightGBM": dataset}, 3
        )
        report(f"binning, {threads} threads", times["ours"], times["LightGBM"], within=0.3)


def scoring(n_queries: int) -> None:
    """A thousand trees."""
    X, y, qid = synthetic_ranking(n_queries=200)
    ours = LambdaMART(1000, n_jobs=1).fit(X, y, qid=qid)
    theirs = LightGBMRanker(1000, n_jobs=1).fit(X, y, qid=qid)
    for rows in (synthetic_ranking(n_queries=n_queries, seed=1)[0], X[:100]):
        sides = {"ours": lambda r=rows: ours.predict(r)}
        sides["LightGBM"] = lambda r=rows: theirs.predict(r)
        times = interleave(sides, 3)
        what = f"1,000 trees, {len(rows):,} rows, one thread"
        report(what, times["ours"], times["LightGBM"], within=1)


def quality() -> None:
    """Fold means; equal parameters, but for what each optimises."""
    for name in ("mq2008", "ohsumed"):
        rankers = {"LambdaMART": LambdaMART(), "LightGBM": LightGBMRanker(random_state=0)}
        values: dict[str, list[float]] = {key: [] for key in rankers}
        for fold in range(1, 6):
            data = load_dataset(name, fold=fold)
            train, test = data.train, data.test
            for key, ranker in rankers.items():
                scores = ranker.fit(train.X, train.y, qid=train.qid).predict(test.X)
                values[key].append(evaluate(test.y, scores, test.qid, ["nDCG@10"])["nDCG@10"])
        print(name, *(f"{key} {np.mean(of):.4f}" for key, of in values.items()), flush=True)


def main() -> None:
    n_queries = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    training(n_queries)
    scoring(n_queries)
    quality()


if __name__ == "__main__":
    main()
