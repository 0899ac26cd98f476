"""Time and memory of click models on a million lists of ten documents, beside loops of CPython.

    python -m benchmarks.bench_clicks [lists]

The log is read, coded and checked once ("log"); then a model is fitted with one thread until a step
gains less than 1e-8 per impression. "repeating": 20,000 queries; "unique": every list has a query
of its own but for one list in five. Times are CPU time. Each fit has a process of its own, whose
peak of resident memory counts everything: interpreter, libraries, the columns of the caller (int32,
0.16 GB), the log and the fit. PyClick's EM is written out below as its loops are, one list after
the other; the equality of 50 plain steps is tested in ``tests/clicks``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rankwise.clicks import ClickLog, ClickModel

EXAMINATION = np.array([0.9, 0.61, 0.37, 0.26, 0.19, 0.15, 0.12, 0.105, 0.076, 0.052])
TARGETS = {"repeating": 5.0, "unique": 15.0}
MEMORY = 1.0  # GB
PRIOR = (0.2, 1.0)


def draw_log(kind: str, n_lists: int, seed: int = 0) -> list[np.ndarray]:
    """Columns of a log of position-based users, in as few bytes as they need.

    Documents of a query move about.
    """
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
    columns = [np.repeat(query, 10), document, place, click, np.repeat(np.arange(n_lists), 10)]
    return [column if column.dtype == bool else column.astype("i4") for column in columns]


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


def save_columns(kind: str, n_lists: int, folder: Path) -> None:
    """Write the columns of a log."""
    for number, column in enumerate(draw_log(kind, n_lists)):
        np.save(folder / f"{number}.npy", column)


def measure_fit(kind: str, model: str, folder: Path) -> bool:
    """Print time and memory of one fit; returns whether its targets are met."""
    *columns, session = draw_log("repeating", 20_000)
    ClickModel(model).fit(ClickLog.from_columns(*columns, session=session))  # compiles the kernels
    *columns, session = (np.load(folder / f"{number}.npy") for number in range(5))
    start = time.process_time()
    log = ClickLog.from_columns(*columns, session=session)
    del columns, session
    read = time.process_time() - start
    start = time.process_time()
    fitted = ClickModel(model).fit(log)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    error = ""
    if model == "pbm":
        worst = np.abs(fitted.examination_ - EXAMINATION / EXAMINATION[0]).max()
        error = f", examination off by up to {worst:.4f}"
    met = seconds <= TARGETS[kind] and peak <= MEMORY
    print(f"{'met ' if met else 'MISS'}  {kind}: log {read:.2f} s, {len(log.pairs.query)} pairs; "
          f"{model} {seconds:.2f} s, {fitted.n_iter_} steps, peak {peak:.2f} GB{error} "
          f"(targets {TARGETS[kind]:g} s, {MEMORY:g} GB)", flush=True)  # fmt: skip
    return met


def compare_with_loops(n_steps: int = 50) -> bool:
    """Print the time of plain steps beside loops of CPython; returns whether the target is met."""
    *columns, session = draw_log("repeating", 20_000)
    log = ClickLog.from_columns(*columns, session=session)
    options = {"prior": PRIOR, "joint_prior": True, "tol": 0.0, "accelerate": False}
    model = ClickModel("pbm", max_iter=n_steps, **options).fit(log)
    naive = naive_steps(log, n_steps)
    start = time.process_time()
    model.fit(log)
    ratio = naive / (time.process_time() - start)
    print(f"{'met ' if ratio >= 100 else 'MISS'}  {n_steps} plain steps of PBM on 20,000 lists: "
          f"{ratio:.0f} x faster than loops of CPython (target >= 100 x)")  # fmt: skip
    return ratio >= 100


def main(n_lists: int = 1_000_000) -> bool:
    """Print all measurements; returns whether all targets are met."""
    met = True
    for kind in TARGETS:
        with TemporaryDirectory() as folder:
            this = [sys.executable, "-m", "benchmarks.bench_clicks"]
            subprocess.run([*this, "save", kind, str(n_lists), folder], check=True)
            for model in ("pbm", "ubm", "sdbn", "dbn"):
                met &= subprocess.run([*this, "fit", kind, model, folder]).returncode == 0
    return compare_with_loops() and met


if __name__ == "__main__":
    if sys.argv[1:2] == ["save"]:
        save_columns(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    elif sys.argv[1:2] == ["fit"]:
        sys.exit(not measure_fit(*sys.argv[2:4], Path(sys.argv[4])))
    else:
        main(*map(int, sys.argv[1:]))
