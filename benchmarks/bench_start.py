"""What the first steps cost: the import, compiling kernels, loading compiled ones, linting a set.

    python -m benchmarks.bench_start

The import is timed in fresh interpreters that have imported scikit-learn's base already. Kernels
are compiled by one call of the command line with an empty cache, and loaded by a second one; their
seconds are processor seconds of the compiling thread; those of LambdaMART, of its whole process
beyond scikit-learn's import. Medians of three; the first fit of each estimator is timed once.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rankwise._registry import REGISTRY
from rankwise.datasets import RankingData, lint

REPEATS = 3
IMPORT = """
import time
import sklearn.base
start = time.perf_counter()
import rankwise
print(time.perf_counter() - start)
"""
ACCOUNT = """
import contextlib, io, json, sys, threading, time
from numba.core.caching import Cache
from numba.core.dispatcher import _FunctionCompiler
spent = {"compile": 0.0, "load": 0.0}

inside = threading.local()  # a kernel compiles and loads those that it calls

def account(owner, method, name):
    real = getattr(owner, method)
    def timed(*arguments):
        if getattr(inside, "kernel", False):
            return real(*arguments)
        start, inside.kernel = time.thread_time(), True
        try:
            return real(*arguments)
        finally:
            inside.kernel = False
            spent[name] += time.thread_time() - start
    setattr(owner, method, timed)

account(_FunctionCompiler, "compile", "compile")
account(Cache, "load_overload", "load")
"""
COMMAND = (
    ACCOUNT
    + """
from rankwise.cli.main import main
sys.argv = ["rankwise", "compare", "lambdarank", "--rankers", "linear_regression,pairwise_elm"]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, exit.code
print(json.dumps(spent))
"""
)
FIT = (
    ACCOUNT
    + """
import inspect, warnings
import numpy as np
from sklearn.linear_model import LogisticRegression
from rankwise._registry import REGISTRY

warnings.simplefilter("ignore")
entry = REGISTRY[{key!r}]
cls = entry.load()
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6))
y = np.clip(np.round(X[:, 0] + 1), 0, 3)
if entry.kind == "multi-label":
    y = (X[:, :4] + rng.normal(size=(120, 4)) > 0).astype(int)
required = dict(
    estimator=LogisticRegression(), estimators=["linear_regression", "ridge"],
    final_estimator="linear_regression",
)
names = inspect.signature(cls).parameters
params = dict(
    (name, value) for name, value in required.items()
    if name in names and (name == "estimators" or names[name].default is inspect.Parameter.empty)
)
fit = inspect.signature(cls.fit).parameters
extra = dict(qid=np.arange(120) // 12) if "qid" in fit else dict()
if "costs" in fit:
    extra["costs"] = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
cls(**params).fit(X, y, **extra).predict(X)
print(json.dumps(spent))
"""
)
FIRST_LAMBDAMART = """
import time
import numpy as np
import sklearn.base
start = time.process_time()
from rankwise import LambdaMART
rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 20))
y = np.clip(np.round(X[:, 0] + 1), 0, 3)
LambdaMART(10).fit(X, y, qid=np.arange(1200) // 12).predict(X)
print(time.process_time() - start)
"""


def printed(code: str, **environment: str) -> str:
    """Standard output of the code in a fresh interpreter."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return done.stdout


def kernels(folder: Path) -> dict[str, float]:
    """Seconds that a call of the command line spends on kernels cached in the folder."""
    caches = {"NUMBA_CACHE_DIR": str(folder / "numba"), "RANKWISE_CACHE": str(folder / "rankwise")}
    return json.loads(printed(COMMAND, **caches))


def first_lambdamart() -> tuple[float, float]:
    """Processor seconds of a first fit and prediction by LambdaMART, cache empty and filled."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (float(printed(FIRST_LAMBDAMART, NUMBA_CACHE_DIR=folder)) for _ in range(2))
    return cold, warm


def first_fits() -> dict[str, float]:
    """Seconds of compiling in the first fit and prediction of every estimator, cache empty."""
    seconds = {}
    for key, entry in REGISTRY.items():
        if entry.kind == "transformer" or entry.extra == "neural":
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = printed(FIT.replace("{key!r}", repr(key)), NUMBA_CACHE_DIR=folder)
        seconds[key] = json.loads(out)["compile"]
    return seconds


def start(argument: str) -> float:
    """Processor seconds of a call of the command line that computes nothing."""
    before = os.times()
    printed(
        f"import sys; from rankwise.cli.main import main; sys.argv[1:] = [{argument!r}]; main()"
    )
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def line(what: str, seconds: list[float], most: float) -> None:
    """Print the median beside the target."""
    median = statistics.median(seconds)
    print(f"{'met ' if median <= most else 'MISS'}  {what}: {median:.2f} s (target <= {most:g} s)")


def main() -> None:
    """Print the figures."""
    for arguments in ("--help", "list"):
        line(f"rankwise {arguments}", [start(arguments) for _ in range(REPEATS)], 0.5)
    line("import beyond scikit-learn's", [float(printed(IMPORT)) for _ in range(REPEATS)], 0.4)
    cold, warm = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(kernels(Path(folder))["compile"])
            warm.append(kernels(Path(folder))["load"])
    line("compiling in a first call of the command line", cold, 6.0)
    line("loading kernels in a second one", warm, 0.6)
    cold, warm = zip(*(first_lambdamart() for _ in range(REPEATS)), strict=True)
    line("import, first fit and prediction by LambdaMART, kernels to compile", list(cold), 5.0)
    line("import, first fit and prediction by LambdaMART, kernels to load", list(warm), 0.6)
    fits = first_fits()
    slowest = sorted(fits, key=fits.__getitem__, reverse=True)
    line(f"compiling in the slowest first fit ({slowest[0]})", [fits[slowest[0]]], 4.0)
    print("      " + ", ".join(f"{key} {fits[key]:.1f}" for key in slowest[1:12]))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 136), dtype=np.float32)
    data = RankingData(X, rng.integers(0, 5, 60_000).astype(float), np.arange(60_000) // 120)
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        lint(data)
        seconds.append(time.perf_counter() - began)
    line("lint, 60,000 x 136", seconds, 5.0)


if __name__ == "__main__":
    main()
