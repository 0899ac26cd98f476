"""Exact kernel rankers: their path beside a bare ``eigh``, and what landmarks save.

    python -m benchmarks.bench_kernel_rankers [n_rows [repeats]]
    python -m benchmarks.bench_kernel_rankers landmarks > docs/speed_kernel_rankers.txt

The first command times Gaussian RankRLS on the first rows of OHSUMED's fold 1 (whole queries;
synthetic rows of the same shape where the data are absent), chosen from 26 alphas on the fold's
validation part, or by 5-fold cross-validation over queries. The whole training part has 9,219 rows
and takes many minutes.

The second fits each ranker exactly and with 1,000 landmarks, with the penalty of ``RANKERS``, on
one thread. The sizes from which ``KernelFeatures`` names landmarks were chosen on OHSUMED and
MQ2008; these sets only show. "home-depot": three draws without a common query, of training rows and
1,000 test queries each; 10,000 rows are of the first draw only. "mslr-slices": the three folds, 18
test queries each. Columns are scaled to [0, 1] by the training rows. Times are CPU seconds of one
fit, ratios are medians over draws. A difference in nDCG@10 is landmarks minus exact, a mean over
the test queries of all draws that have a relevant row, and its standard error. Values in
``build/bench_kernel_rankers.jsonl`` are not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import CLSRRank, LSRRank, RankRLS, SVRank, evaluate
from rankwise.datasets import load_dataset
from rankwise.runtime.threads import single_threaded_blas

STORE = Path("build/bench_kernel_rankers.jsonl")
DRAWS = (0, 1, 2)
LARGEST = 10_000  # rows, of one draw
SIZES = {"mslr-slices": (1000, 2000, 3000), "home-depot": (1000, 2000, 3000, 5000, LARGEST)}
TEST_QUERIES = 1000  # of home-depot
NYSTROEM = {"approximation": "nystroem", "random_state": 0}
RANKERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "LSRRank": (lambda **o: LSRRank(lam=1e-3, **o), NYSTROEM),
    "CLSRRank": (
        lambda **o: CLSRRank(lam=1e-5, **o), NYSTROEM | {"approximation": "landmarks"}
    ),
    "SVRank": (lambda **o: SVRank(lam=1e-2, epsilon=0.5, **o), NYSTROEM),
}  # fmt: skip
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # X, y, qid


def parts(n_rows: int) -> tuple[Any, Any]:
    """(X, y, qid) of about ``n_rows`` training rows and of the validation rows."""
    try:
        fold = load_dataset("ohsumed", fold=1)
        train, vali = arrays(fold.train), arrays(fold.vali)
    except FileNotFoundError:
        train, vali = synthetic_ranking(100, 92, 45, seed=0), synthetic_ranking(20, 92, 45, seed=1)
    X, y, qid = train
    stop = int(np.flatnonzero(qid == qid[min(n_rows, len(qid)) - 1])[-1]) + 1
    return (X[:stop], y[:stop], qid[:stop]), vali


def arrays(part: Any) -> Rows:
    """Dense columns, labels and queries of a part."""
    return np.asarray(part.X, dtype=np.float64), np.asarray(part.y), np.asarray(part.qid)


def time_paths(n_rows: int = 2000, repeats: int = 3) -> None:
    """Time eigh, one alpha, the path with validation data, the path with 5 folds."""
    (X, y, qid), (X_val, y_val, qid_val) = parts(n_rows)
    B = np.random.default_rng(0).standard_normal((len(y), len(y)))
    symmetric = B @ B.T
    del B
    validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    print(f"Gaussian RankRLS on {len(y)} rows of {X.shape[1]} features")
    timings = interleave(
        {
            "eigh": lambda: np.linalg.eigh(symmetric),
            "one": lambda: RankRLS("rbf", alpha=1.0).fit(X, y, qid=qid),
            "val": lambda: RankRLS("rbf", alpha="val").fit(X, y, qid=qid, **validation),
            "cv": lambda: RankRLS("rbf", alpha="cv").fit(X, y, qid=qid),
        },
        repeats=repeats,
        warmup=int(n_rows <= 3000),
    )
    eigh = timings["eigh"]
    report("one alpha (Cholesky)", timings["one"], eigh, within=1.0)
    report("26 alphas, chosen on validation data", timings["val"], eigh, within=3.0)
    report("26 alphas, chosen by 5 folds of queries", timings["cv"], eigh, within=3.0)


@cache
def load_draw(name: str, draw: int) -> tuple[Rows, Rows]:
    """Training rows, of which a fit takes the first, and test rows."""
    if name == "mslr-slices":
        fold = load_dataset(name, fold=1)
        slices = [arrays(part) for part in (fold.train, fold.vali, fold.test)]
        test = slices.pop(draw)
        first, second = slices
        train = tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))
        train = take_queries(train, np.random.default_rng(0).permutation(np.unique(train[2])))
    else:
        from rankwise_papers.text_products.experiment import table

        rows = arrays(table(name))
        queries = np.random.default_rng(0).permutation(np.unique(rows[2]))[draw :: len(DRAWS)]
        train = take_queries(rows, queries[TEST_QUERIES:])
        test = take_queries(rows, queries[:TEST_QUERIES])
    low, high = train[0].min(axis=0), train[0].max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    first, second = (((X - low) / span, y, qid) for X, y, qid in (train, test))
    return first, second


def take_queries(rows: Any, queries: np.ndarray) -> Rows:
    """Rows of the queries, in this order."""
    place = {query: number for number, query in enumerate(queries.tolist())}
    order = np.array([place.get(query, len(place)) for query in rows[2].tolist()])
    kept = np.argsort(order, kind="stable")[: int((order < len(place)).sum())]
    X, y, qid = (values[kept] for values in rows)
    return X, y, qid


def measure(name: str, draw: int, ranker: str, n_rows: int) -> Iterator[dict[str, Any]]:
    """CPU seconds of the exact fit and of landmarks, and nDCG@10 of each test query."""
    train, (X_test, y_test, qid_test) = load_draw(name, draw)
    X, y, qid = (values[:n_rows] for values in train)
    make, landmarks = RANKERS[ranker]
    for way, options in ("exact", {}), ("landmarks", landmarks):
        make(**options).fit(X[:200], y[:200], qid=qid[:200])  # compiles kernels
        with single_threaded_blas():
            start = time.process_time()
            model = make(**options).fit(X, y, qid=qid)
            seconds = time.process_time() - start
        result = evaluate(y_test, model.predict(X_test), qid_test, ["nDCG@10"])
        values = np.round(result.per_query["nDCG@10"], 5).tolist()
        yield {"key": [name, draw, ranker, n_rows, way], "seconds": seconds, "values": values}


def find_draws(n_rows: int) -> tuple[int, ...]:
    """Draws of a size."""
    return DRAWS[:1] if n_rows == LARGEST else DRAWS


def compare_landmarks() -> None:
    """Print a line for each set, ranker and size, and the exponents of the fits."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            cell = json.loads(line)
            known[tuple(cell["key"])] = cell
    STORE.parent.mkdir(exist_ok=True)
    sizes = sorted({n for every in SIZES.values() for n in every})  # the dearest fits come last
    todo = [(name, n) for n in sizes for name in SIZES if n in SIZES[name]]
    for name, n in todo:
        for draw in find_draws(n):
            for ranker in RANKERS:
                if (name, draw, ranker, n, "landmarks") in known:
                    continue
                for cell in measure(name, draw, ranker, n):
                    known[tuple(cell["key"])] = cell
                    with STORE.open("a") as file:
                        file.write(json.dumps(cell) + "\n")
    for name in SIZES:
        _, (_, _, qid_test) = load_draw(name, 0)
        queries = len(np.unique(qid_test))
        print(f"{name}: exact against 1,000 landmarks, {len(DRAWS)} x {queries} test queries\n")
        print(f"{'':10}{'rows':>8}{'exact':>10}{'landmarks':>11}{'ratio':>7}  nDCG@10: difference")
        for ranker in RANKERS:
            print_ranker(name, ranker, known)
        print()


def print_ranker(name: str, ranker: str, known: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    """Print the lines of a ranker on a set."""
    seconds: dict[str, list[float]] = {"exact": [], "landmarks": []}
    for n in SIZES[name]:
        exact, landmarks = (
            [known[name, draw, ranker, n, way] for draw in find_draws(n)] for way in seconds
        )
        for way, cells in zip(seconds, (exact, landmarks), strict=True):
            seconds[way].append(float(np.median([cell["seconds"] for cell in cells])))
        ratio = np.median(
            [a["seconds"] / b["seconds"] for a, b in zip(exact, landmarks, strict=True)]
        )
        lead = np.concatenate(
            [np.subtract(b["values"], a["values"]) for a, b in zip(exact, landmarks, strict=True)]
        )
        lead = lead[np.isfinite(lead)]
        error = lead.std(ddof=1) / np.sqrt(len(lead))
        print(
            f"{ranker:10}{n:8,}{seconds['exact'][-1]:8.2f} s{seconds['landmarks'][-1]:9.2f} s"
            f"{ratio:7.1f}  {lead.mean():+.4f} ± {error:.4f}"
        )
    large = [n >= 2000 for n in SIZES[name]]
    slopes = [
        np.polyfit(np.log(np.array(SIZES[name])[large]), np.log(np.array(values)[large]), 1)[0]
        for values in seconds.values()
    ]
    print(
        f"{'':10}exponent of the rows, from 2,000: {slopes[0]:.1f} exact, {slopes[1]:.1f} landmarks"
    )


def main(arguments: list[str]) -> None:
    """Compare with landmarks if asked to, else time the path."""
    if arguments == ["landmarks"]:
        compare_landmarks()
    else:
        time_paths(*map(int, arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
