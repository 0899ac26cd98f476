"""nDCG@10 and four measures over 2,000 queries of 120 rows, beside the programs that have them.

    python -m benchmarks.bench_metrics

All sides run in turn in one process on all threads they take. Not counted: our grouping of rows
(the raw-array call, which groups and checks again, has a line of its own), the dictionaries of
pytrec_eval, the Run and Qrels of ranx, the Dataset of LightGBM, whose booster has no tree and
only evaluates its metrics on the initial scores. The last lines time a fresh process, after
Numba has started: compiling into an empty cache, and loading from a full one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytrec_eval
import ranx
from sklearn.metrics import ndcg_score

from benchmarks._timing import Timing, interleave, report, synthetic_ranking
from rankwise import QueryGroups
from rankwise.metrics import evaluate

QUERIES, DOCS = 2000, 120
FOUR = ["nDCG@10", "AP", "P@10", "ERR@10"]
TREC = "nDCG@10 + AP + P@10 of raw arrays, preset trec_eval"
# Calls of a few milliseconds are timed five at a time, ours and LightGBM's alike.
CALLS = 5
SHORT = {
    "nDCG@10",
    "nDCG@10, raw arrays",
    "four",
    TREC,
    "four, raw arrays",
    "LightGBM ndcg@10",
    "LightGBM ndcg@10 + map@10",
}
FIRST_CALL = """
import time
import numpy as np
from numba import njit
from rankwise.metrics import evaluate
def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
y, f = np.arange(6) % 3, np.arange(6.0)
start = njit(lambda x: x + 1)
measure = lambda: evaluate(y, f, None, ["nDCG@10", "AP", "P@10", "ERR@10"])
print(seconds(lambda: start(1)), seconds(measure) - seconds(measure))
"""


def booster(y: np.ndarray, scores: np.ndarray, metric: str) -> lgb.Booster:
    """A model without trees on data whose initial scores are the scores to be measured."""
    data = lgb.Dataset(
        np.zeros((len(y), 1)),
        label=y,
        group=np.full(QUERIES, DOCS),
        init_score=scores,
        params={"verbose": -1, "feature_pre_filter": False},
    )
    threads = len(os.sched_getaffinity(0))
    params = {"objective": "none", "metric": metric, "eval_at": [10], "verbose": -1}
    return lgb.Booster({**params, "num_threads": threads}, data)


def sides() -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    _, y, qid = synthetic_ranking(QUERIES, DOCS, n_features=10)
    scores = y / 2 + np.random.default_rng(1).standard_normal(len(y))
    groups = QueryGroups.from_qid(qid, len(y))
    names = [f"d{i}" for i in range(DOCS)]
    by_query = [(str(q), slice(q * DOCS, (q + 1) * DOCS)) for q in range(QUERIES)]
    judged = {q: dict(zip(names, map(int, y[rows]), strict=True)) for q, rows in by_query}
    run = {q: dict(zip(names, map(float, scores[rows]), strict=True)) for q, rows in by_query}
    trec = {
        n: pytrec_eval.RelevanceEvaluator(judged, set(measures))
        for n, measures in [("one", ["ndcg_cut.10"]), ("three", ["ndcg_cut.10", "map", "P.10"])]
    }
    ranx_judged, ranx_run = ranx.Qrels(judged), ranx.Run(run)
    ndcg, both = booster(y, scores, "ndcg"), booster(y, scores, "ndcg,map")

    def check_same_values() -> None:
        specs = ["nDCG@10", "AP@10"]
        ours = evaluate(y, scores, groups, specs, preset="lightgbm")
        np.testing.assert_allclose([r[2] for r in both.eval_train()], [ours[s] for s in specs])

    check_same_values()
    # Threads of LightGBM and ranx spin for a while after their work: ours come after the
    # single-threaded pytrec_eval, so that nobody pays for others' threads.
    return {
        "LightGBM ndcg@10": ndcg.eval_train,
        "LightGBM ndcg@10 + map@10": both.eval_train,
        "ranx ndcg@10, map, precision@10": lambda: ranx.evaluate(
            ranx_judged, ranx_run, ["ndcg@10", "map", "precision@10"]
        ),
        "scikit-learn ndcg_score loop": lambda: [
            ndcg_score(y[None, rows], scores[None, rows], k=10) for _, rows in by_query
        ],
        "pytrec_eval ndcg_cut_10, map, P_10": lambda: trec["three"].evaluate(run),
        "pytrec_eval ndcg_cut_10": lambda: trec["one"].evaluate(run),
        "nDCG@10": lambda: evaluate(y, scores, groups, ["nDCG@10"]),
        "four": lambda: evaluate(y, scores, groups, FOUR),
        "nDCG@10, raw arrays": lambda: evaluate(y, scores, qid, ["nDCG@10"]),
        "four, raw arrays": lambda: evaluate(y, scores, qid, FOUR),
        TREC: lambda: evaluate(y, scores, qid, ["nDCG@10", "AP", "P@10"], preset="trec_eval"),
    }


def repeated(side: Callable[[], Any], calls: int) -> Callable[[], Any]:
    """``side`` that many times."""
    return lambda: [side() for _ in range(calls)]


def first_call(cache: str) -> tuple[float, float]:
    """Seconds of a fresh process: Numba's own start, then the first evaluate less the second."""
    out = subprocess.run(
        [sys.executable, "-c", FIRST_CALL],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    numba, ours = map(float, out.split())
    return numba, ours


def main() -> bool:
    """Print the table; whether all targets are met."""
    loop = "scikit-learn ndcg_score loop"
    all_sides = sides()
    slow = {loop: all_sides.pop(loop), "once": all_sides["nDCG@10"]}
    calls = {name: CALLS if name in SHORT else 1 for name in all_sides}
    times = {
        name: Timing(name, [seconds / calls[name] for seconds in timing.seconds])
        for name, timing in interleave(
            {name: repeated(side, calls[name]) for name, side in all_sides.items()},
            repeats=15,
            warmup=2,
        ).items()
    }
    times[loop] = interleave(slow, repeats=2, warmup=0)[loop]
    print(f"{QUERIES:,} queries x {DOCS} rows:")
    met = [
        report("nDCG@10", times["nDCG@10"], times["pytrec_eval ndcg_cut_10"], faster=40),
        report("nDCG@10", times["nDCG@10"], times[loop], faster=500),
        report("nDCG@10", times["nDCG@10"], times["LightGBM ndcg@10"], within=0.6),
    ]
    for peer in ("pytrec_eval ndcg_cut_10, map, P_10", "ranx ndcg@10, map, precision@10"):
        met.append(report("nDCG@10 + AP + P@10 + ERR@10", times["four"], times[peer], faster=10))
    pytrec_eval_three = times["pytrec_eval ndcg_cut_10, map, P_10"]
    met.append(report(TREC, times[TREC], pytrec_eval_three, faster=10))
    both = times["LightGBM ndcg@10 + map@10"]
    met.append(report("nDCG@10 + AP + P@10 + ERR@10", times["four"], both, within=1))
    for spec in ("nDCG@10", "four"):
        raw, grouped = times[f"{spec}, raw arrays"].median, times[spec].median
        print(
            f"      {spec}: raw arrays {raw * 1e3:.2f} ms, prepared groups {grouped * 1e3:.2f} ms"
        )
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = first_call(cache), first_call(cache)
    for what, (numba, ours), most in [("compile", cold, 2.0), ("load", warm, 0.15)]:
        met.append(ours <= most)
        print(
            f"{'met ' if met[-1] else 'MISS'}  first call, {what} the kernels of four measures: "
            f"{ours:.2f} s (target <= {most:g} s; Numba's own start {numba:.2f} s)"
        )
    return all(met)


if __name__ == "__main__":
    main()
