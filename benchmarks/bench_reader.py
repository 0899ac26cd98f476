"""Reading SVMlight/LETOR text beside scikit-learn, XGBoost and the bare read of the bytes.

    python -m benchmarks.bench_reader [--quick]

2,000 queries x 120 rows x 136 features with four significant digits, about 340 MB, in a folder of
its own that is deleted afterwards. Two threads for those that take a number of threads (XGBoost
and rankwise); all files are in the page cache. ``--quick`` takes a tenth of the queries; its
ratios fall short of the stated ones, for fixed costs weigh more.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("RANKWISE_NUM_THREADS", "2")

import numpy as np
import xgboost
from sklearn.datasets import load_svmlight_file

from benchmarks._timing import Timing, interleave, report, synthetic_ranking
from rankwise.datasets import read_letor

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


def main() -> None:
    """Print one line per target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 queries, 34 MB")
    n_queries = 200 if parser.parse_args().quick else 2000
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
