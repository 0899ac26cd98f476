"""What the first steps cost: the import, compiling kernels, loading compiled ones, linting a set.

    python -m benchmarks.bench_start [kernels]

The import is timed in fresh interpreters that have imported scikit-learn's base already. Kernels
are compiled by one call of the command line with an empty cache, and loaded by a second one; their
seconds are processor seconds of the compiling thread; those of LambdaMART, of its whole process
beyond scikit-learn's import. The default fit of LambdaMART on the bundled set lists its kernels;
"kernels" prints only this.
Medians of three; the first fit of each estimator is timed once.
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
from numba.core import event
from numba.core.caching import Cache
spent = {"compile": 0.0, "load": 0.0}
kernels = {}  # seconds without those of the kernels that a kernel calls

inside = threading.local()  # a kernel compiles and loads those that it calls

class Account(event.Listener):
    def on_start(self, event):
        vars(inside).setdefault("open", []).append([time.thread_time(), 0.0])
    def on_end(self, event):
        start, below = inside.open.pop()
        seconds = time.thread_time() - start
        if inside.open:
            inside.open[-1][1] += seconds
        else:
            spent["compile"] += seconds
        function = event.data["dispatcher"].py_func
        name = function.__module__.rpartition(".")[2] + "." + function.__name__
        kernels.setdefault(name, []).append(seconds - below)

event.register("numba:compile", Account())
load = Cache.load_overload

def timed(*arguments):
    start = time.thread_time()
    try:
        return load(*arguments)
    finally:
        if not getattr(inside, "open", None):
            spent["load"] += time.thread_time() - start

Cache.load_overload = timed
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
BUNDLED = (
    ACCOUNT
    + """
from rankwise import LambdaMART
from rankwise.datasets import load_dataset
rows = load_dataset("lambdarank", fold=1).train
kernels.clear()  # those of the reader, unless the set is cached
LambdaMART().fit(rows.X, rows.y, qid=rows.qid)
print(json.dumps(kernels))
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

FIRST_EVALUATE = """
import time
import numpy as np
import rankwise, rankwise.metrics, sklearn.base, scipy.stats
rng = np.random.default_rng(0)
y, scores, qid = rng.integers(0, 4, {n}), rng.normal(size={n}), np.arange({n}) // 20
start = time.process_time()
rankwise.evaluate(y, scores, qid)
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


def first_evaluate(n: int) -> float:
    """Processor seconds of a first evaluation of ``n`` rows, no kernel compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        return float(printed(FIRST_EVALUATE.format(n=n), NUMBA_CACHE_DIR=folder))


def first_kernels() -> dict[str, list[float]]:
    """Seconds of compiling each kernel in the first default fit of LambdaMART, cache empty.

    One number for each signature that was compiled. The first kernel also pays for what Numba
    prepares once.
    """
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(printed(BUNDLED, NUMBA_CACHE_DIR=folder))


def print_kernels() -> None:
    """Print the seconds of compiling in that fit, and kernel by kernel, the slowest first."""
    runs = [first_kernels() for _ in range(REPEATS)]
    totals = [sum(map(sum, run.values())) for run in runs]
    line("compiling in the first LambdaMART().fit on the bundled set", totals, 4.0)
    kernels = runs[totals.index(statistics.median_low(totals))]
    for name in sorted(kernels, key=lambda name: -sum(kernels[name])):
        times = len(kernels[name])
        more = f", {times} signatures" if times > 1 else ""
        print(f"      {sum(kernels[name]):5.2f} s  {name}{more}")


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
    if sys.argv[1:] == ["kernels"]:
        print_kernels()
        return
    for arguments in ("--help", "list"):
        line(f"rankwise {arguments}", [start(arguments) for _ in range(REPEATS)], 0.5)
    line("import beyond scikit-learn's", [float(printed(IMPORT)) for _ in range(REPEATS)], 0.4)
    for n in (3, 2000):
        seconds = [first_evaluate(n) for _ in range(REPEATS)]
        line(f"first evaluate of {n:,} rows beyond the imports", seconds, 1.0)
    cold, warm = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(kernels(Path(folder))["compile"])
            warm.append(kernels(Path(folder))["load"])
    line("compiling in a first call of the command line", cold, 6.0)
    line("loading kernels in a second one", warm, 0.6)
    cold, warm = zip(*(first_lambdamart() for _ in range(REPEATS)), strict=True)
    line("import, first fit and prediction by LambdaMART, kernels to compile", list(cold), 2.5)
    line("import, first fit and prediction by LambdaMART, kernels to load", list(warm), 0.6)
    print_kernels()
    fits = first_fits()
    slowest = sorted(fits, key=fits.__getitem__, reverse=True)
    line(f"compiling in the slowest first fit ({slowest[0]})", [fits[slowest[0]]], 4.0)
    print("      " + ", ".join(f"{key} {fits[key]:.1f}" for key in slowest[1:12]))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 136), dtype=np.float32)
    data = RankingData(X, rng.integers(0, 5, 60_000).astype(float), qid=np.arange(60_000) // 120)
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        lint(data)
        seconds.append(time.perf_counter() - began)
    line("lint, 60,000 x 136", seconds, 5.0)


if __name__ == "__main__":
    main()
