"""RankBoost beside other libraries' stumps; rounds, line searches and pairs of the other learners.

    python -m benchmarks.bench_boosting

The peers boost trees of two leaves with their pairwise or listwise ranking loss: as many stumps
from as many bins. AdaRank's measures of all features on all queries are timed beside a call of the
measure for each feature and sign.
"""

from __future__ import annotations

import time

import lightgbm
import numpy as np
import xgboost

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import AdaRank, CoordinateAscent, FRank, RankBoost
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.runtime.threads import available_threads
from rankwise.solvers.boosting.measure_search import MeasuredRows, QueryBoosting

ROUNDS = 300


def stumps() -> None:
    """Fits with binning, against the peers."""
    X, y, qid = synthetic_ranking(n_queries=400, docs=120)
    sizes, threads = np.full(400, 120), available_threads()

    def ours() -> None:
        assert RankBoost(ROUNDS).fit(X, y, qid=qid).n_estimators_ == ROUNDS

    def light() -> None:
        lightgbm.LGBMRanker(
            n_estimators=ROUNDS, num_leaves=2, n_jobs=threads, verbosity=-1, force_col_wise=True
        ).fit(X, y, group=sizes)

    def pairwise() -> None:
        xgboost.XGBRanker(
            objective="rank:pairwise", n_estimators=ROUNDS, max_depth=1, tree_method="hist",
            n_jobs=threads,
        ).fit(X, y, group=sizes)  # fmt: skip

    times = interleave({"RankBoost": ours, "LightGBM": light, "XGBoost": pairwise}, 3)
    for peer in ("LightGBM", "XGBoost"):
        what = f"{ROUNDS} rounds of RankBoost, 48,000 x 136, beside {peer} with two leaves"
        report(what, times["RankBoost"], times[peer], faster=1)


def measures() -> None:
    """All features on all queries."""
    X, y, qid = synthetic_ranking(n_queries=400, docs=120)
    groups, measure = QueryGroups.from_qid(qid, len(y)), parse("nDCG@10")
    rows = MeasuredRows(FitData(X, y, groups, None), measure)
    columns = X.T.astype(np.float64)

    def calls() -> None:
        for column in columns:
            measure.per_query(y, column, groups)
            measure.per_query(y, -column, groups)

    sides = {"at once": lambda: QueryBoosting(rows, True, 0.0), "calls": calls}
    times = interleave(sides, 5)
    what = "nDCG@10 of 272 weak rankers, 400 queries, beside calls of the measure"
    report(what, times["at once"], times["calls"], faster=1)


def seconds() -> None:
    """Whole fits."""
    X, y, qid = synthetic_ranking(n_queries=400, docs=120)
    X = X[:, :46]
    n_pairs = sum((y[qid == q][:, None] > y[qid == q]).sum() for q in np.unique(qid))
    for name, ranker in {
        "AdaRank": AdaRank(),
        "CoordinateAscent, one start": CoordinateAscent(n_restarts=0, random_state=0),
        "FRank, 50 rounds": FRank(50),
    }.items():
        start = time.perf_counter()
        ranker.fit(X, y, qid=qid)
        print(f"      {name}, 48,000 x 46: {time.perf_counter() - start:.2f} s")
    print(f"      ({n_pairs:,} pairs)")


def main() -> None:
    stumps()
    measures()
    seconds()


if __name__ == "__main__":
    main()
