"""Reading SVMlight/LETOR text beside scikit-learn, XGBoost and the bare read of the bytes.

    python -m benchmarks.bench_reader [--quick]
    python -m benchmarks.bench_reader --memory [--rows N] [--kinds NAME ...]

2,000 queries x 120 rows x 136 features with four significant digits, about 340 MB, in a folder of
its own that is deleted afterwards. Two threads for those that take a number of threads (XGBoost
and rankwise); all files are in the page cache. ``--quick`` takes a tenth of the queries; its
ratios fall short of the stated ones, for fixed costs weigh more.

``--memory`` (Linux only) reads N rows of 40 float32 features, five million by default, from ten
files of each kind in a process of its own. It prints the peak of memory above that of the process
once it has read a few rows, as a multiple of the bytes of the rows. "one-csv" is one file; "fit" is
``rankwise fit`` of three trees on the Parquet files, and "hold-out" is ``tune``, which chooses
their number on a quarter of the queries first.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("RANKWISE_NUM_THREADS", "2")

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import xgboost
from sklearn.datasets import load_svmlight_file

from benchmarks._boosters import read_mebibytes, reset_peak
from benchmarks._timing import Timing, interleave, report, synthetic_ranking
from rankwise import LambdaMART
from rankwise.datasets import read_letor, read_table
from rankwise.selection import tune

DOCS, FEATURES = 120, 136


def write_text(path: Path, n_queries: int) -> float:
    """The synthetic set as text; returns its size in MB."""
    X, y, qid = synthetic_ranking(n_queries, DOCS, FEATURES)
    row = "%d qid:%d " + " ".join(f"{j}:%.4g" for j in range(1, FEATURES + 1)) + "\n"
    with open(path, "w") as file:
        for label, query, features in zip(y, qid, X, strict=True):
            file.write(row % (label, query, *features.tolist()))
    return path.stat().st_size / 1e6


def read_with_xgboost(path: Path) -> None:
    """XGBoost's own text reader, deprecated but there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        xgboost.DMatrix(f"{path}?format=libsvm", nthread=2)


def check_values(path: Path) -> None:
    """The timed reads agree bit for bit."""
    for dtype in (np.float32, np.float64):
        data = read_letor(path, dtype=dtype, cache=False)
        X, y, qid = load_svmlight_file(str(path), dtype=dtype, query_id=True)
        assert data.X.tobytes() == X.data.tobytes()
        assert np.array_equal(data.y, y)
        assert np.array_equal(data.qid, qid)


N_FILES, WIDTH, FEW = 10, 40, 12_000
# Peak in multiples of the bytes of the rows; None: no target.
PEAKS: dict[str, float | None] = {
    "parquet": 1.4, "csv": None, "one-csv": None, "letor": None, "fit": 2.2, "hold-out": 2.2,
}  # fmt: skip


def write_parts(folder: Path, kind: str, n_rows: int) -> None:
    """Ten files of judged rows, one after the other."""
    folder.mkdir()
    n_queries = n_rows // N_FILES // DOCS
    for number in range(N_FILES):
        X, y, qid = synthetic_ranking(n_queries, DOCS, WIDTH)
        qid = qid + number * n_queries
        stem = folder / f"part-{number}"
        if kind == "letor":
            row = "%d qid:%d " + " ".join(f"{j}:%.4g" for j in range(1, WIDTH + 1)) + "\n"
            with open(stem.with_suffix(".txt"), "w") as file:
                file.writelines(
                    row % (a, b, *x.tolist()) for a, b, x in zip(y, qid, X, strict=True)
                )
            continue
        columns = {"label": y.astype(np.int64), "qid": qid}
        table = pa.table(columns | {f"feature{j}": X[:, j] for j in range(WIDTH)})
        if kind == "csv":
            pyarrow.csv.write_csv(table, stem.with_suffix(".csv"))
        elif kind == "one-csv":
            options = pyarrow.csv.WriteOptions(include_header=number == 0)
            with open(folder / "rows.csv", "ab") as file:
                pyarrow.csv.write_csv(table, file, options)
        else:
            pyarrow.parquet.write_table(table, stem.with_suffix(".parquet"))


def measure_peak(kind: str, few: Path, many: Path) -> float:
    """MiB that reading ``many`` files takes at most, in this process, once it has read ``few``."""

    def fit(folder: Path) -> None:
        from typer.testing import CliRunner

        from rankwise.cli.main import app

        model = str(folder.with_suffix(".rankwise"))
        ranker = ["--ranker", "lambdamart(n_estimators=3)", "--out", model]
        assert CliRunner().invoke(app, ["fit", str(folder), *ranker]).exit_code == 0

    trees = LambdaMART(3, early_stopping_rounds=2)
    read: dict[str, Callable[[Path], object]] = {
        "fit": fit,
        "hold-out": lambda folder: tune(trees, read_table(folder), None, "nDCG@10"),
        "letor": lambda folder: read_letor(sorted(folder.iterdir()), cache=False),
    }
    work = read.get(kind, read_table)
    work(few)
    gc.collect()
    before = reset_peak()
    work(many)
    return read_mebibytes("VmHWM") - before


def report_peaks(n_rows: int, kinds: list[str]) -> None:
    """Print one line per kind of files."""
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / "few", Path(folder) / "many"]
            for path, n in zip(paths, (FEW, n_rows), strict=True):
                write_parts(path, kind, n)
            command = [sys.executable, "-m", "benchmarks.bench_reader", "--peak", kind]
            done = subprocess.run(
                [*command, *map(str, paths)], stdout=subprocess.PIPE, text=True, check=True
            )
        peak, rows = json.loads(done.stdout.splitlines()[-1]), 4 * WIDTH * n_rows / 2**20
        most = PEAKS[kind]
        met = "     " if most is None else "met  " if peak <= most * rows else "MISS "
        target = "" if most is None else f", target <= {most}"
        print(f"{met} {kind}, {n_rows:,} x {WIDTH}: {peak / rows:.2f} x {rows:.0f} MiB{target}",
              flush=True)  # fmt: skip


def main() -> None:
    """Print one line per target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 queries, 34 MB")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--kinds", nargs="*", choices=list(PEAKS), default=list(PEAKS))
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak:
        kind, few, many = given.peak
        print(json.dumps(measure_peak(kind, Path(few), Path(many))))
        return
    if given.memory:
        report_peaks(given.rows, given.kinds)
        return
    n_queries = 200 if given.quick else 2000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RANKWISE_CACHE"] = folder
        path = Path(folder) / "rows.txt"
        write_text(Path(folder) / "small.txt", 20)
        check_values(Path(folder) / "small.txt")
        size = write_text(path, n_queries)
        read_letor(path)  # builds the cache
        sides = {
            "rankwise": lambda: read_letor(path, cache=False),
            "XGBoost": lambda: read_with_xgboost(path),
            "np.fromfile": lambda: np.fromfile(path, dtype=np.uint8),
            "rankwise's first read": lambda: read_letor(path, cache=False),
            "cached": lambda: read_letor(path),
        }
        times = interleave(sides, repeats=7)
        slow = {
            "before": sides["rankwise"],
            "scikit-learn": lambda: load_svmlight_file(str(path), query_id=True),
            "after": sides["rankwise"],
        }
        once = interleave(slow, repeats=2, warmup=0)  # half a minute each
        around = Timing("rankwise", once["before"].seconds + once["after"].seconds)
        what, ours = f"read {size:.0f} MB", times["rankwise"]
        report(what, around, once["scikit-learn"], faster=40)
        report(what, ours, times["XGBoost"], faster=2.5)
        report(what, ours, times["np.fromfile"], within=9)
        report("open it again", times["cached"], times["rankwise's first read"], faster=100)
        print(f"      rankwise reads {size / ours.median:.0f} MB/s")


if __name__ == "__main__":
    main()
