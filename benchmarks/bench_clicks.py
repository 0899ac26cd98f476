"""Time of click models on a million lists of ten documents, and their agreement with PyClick.

    python -m benchmarks.bench_clicks [lists]

The log is read, coded and checked once ("log"); then each model is fitted with one thread until a
step gains less than 1e-8 per impression. "repeating": 20,000 queries; "unique": every list has a
query of its own but for one list in five. Times are CPU time of the process. PyClick's EM is
written out below as its loops are, one list after the other; the equality of 50 plain steps is
tested in ``tests/clicks``.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from rankwise.clicks import ClickLog, ClickModel

EXAMINATION = np.array([0.9, 0.61, 0.37, 0.26, 0.19, 0.15, 0.12, 0.105, 0.076, 0.052])
TARGETS = {"repeating": 5.0, "unique": 15.0}
PRIOR = (0.2, 1.0)


def draw_log(kind: str, n_lists: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Columns of a log of position-based users; documents of a query move about."""
    rng = np.random.default_rng(seed)
    n_queries = max(1, n_lists // 50) if kind == "repeating" else n_lists
    query = rng.zipf(1.3, size=n_lists) % n_queries if kind == "repeating" else np.arange(n_lists)
    if kind == "unique":
        again = rng.random(n_lists) < 0.2
        query[again] = rng.integers(n_lists, size=int(again.sum()))
    order = np.argsort(rng.random((n_lists, 10)) + 0.1 * np.arange(10), axis=1)
    document = (query[:, None] * 10 + order).ravel()
    place = np.tile(np.arange(1, 11), n_lists)
    appeal = (document * 2654435761 % 1000 / 1000) ** 2
    click = rng.random(len(place)) < appeal * EXAMINATION[place - 1]
    return np.repeat(query, 10), document, place, click, np.repeat(np.arange(n_lists), 10)


def naive_steps(log: ClickLog, n_steps: int) -> float:
    """Seconds of plain EM of the PBM, one impression after the other, as PyClick's loops run it."""
    rows = list(zip(log.pairs.code.tolist(), log.place.tolist(), log.click.tolist(), strict=True))
    start = time.process_time()
    attraction: dict[int, float] = {}
    examination: dict[int, float] = {}
    for _ in range(n_steps):
        a_sums: dict[int, list[float]] = {}
        g_sums: dict[int, list[float]] = {}
        for pair, place, click in rows:
            a, g = attraction.get(pair, 0.2), examination.get(place, 0.2)
            for sums, key, own, other in ((a_sums, pair, a, g), (g_sums, place, g, a)):
                entry = sums.setdefault(key, list(PRIOR))
                entry[0] += 1 if click else own * (1 - other) / (1 - a * g)
                entry[1] += 1
        attraction = {key: num / den for key, (num, den) in a_sums.items()}
        examination = {key: num / den for key, (num, den) in g_sums.items()}
    return time.process_time() - start


def main(n_lists: int = 1_000_000) -> bool:
    """Print the times; returns whether all targets are met."""
    *columns, session = draw_log("repeating", 20_000)
    small = ClickLog.from_columns(*columns, session=session)
    for model in ("pbm", "ubm", "dbn"):
        ClickModel(model).fit(small)  # compiles the kernels
    met = []
    for kind, target in TARGETS.items():
        *columns, session = draw_log(kind, n_lists)
        start = time.process_time()
        log = ClickLog.from_columns(*columns, session=session)
        del columns, session
        n_pairs = len(log.pairs.query)
        print(f"      {kind}: log of {n_lists} lists, {n_pairs} pairs "
              f"{time.process_time() - start:.2f} s", flush=True)  # fmt: skip
        for name in ("pbm", "ubm", "sdbn", "dbn"):
            start = time.process_time()
            model = ClickModel(name).fit(log)
            seconds = time.process_time() - start
            met.append(seconds <= target)
            error = ""
            if name == "pbm":
                worst = np.abs(model.examination_ - EXAMINATION / EXAMINATION[0]).max()
                error = f", examination off by up to {worst:.4f}"
            print(f"{'met ' if met[-1] else 'MISS'}  {kind}: {name} {seconds:.2f} s, "
                  f"{model.n_iter_} steps{error} (target <= {target:g} s)", flush=True)  # fmt: skip
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        print(f"      peak memory of the process so far {peak:.2f} GiB", flush=True)
    n_steps = 50
    naive = naive_steps(small, n_steps)
    start = time.process_time()
    ClickModel("pbm", tol=0.0, max_iter=n_steps, accelerate=False).fit(small)
    ours = time.process_time() - start
    met.append(naive / ours >= 100)
    print(f"{'met ' if met[-1] else 'MISS'}  {n_steps} plain steps of PBM on 20,000 lists: "
          f"{naive / ours:.0f} x faster than loops of CPython (target >= 100 x)")  # fmt: skip
    return all(met)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
