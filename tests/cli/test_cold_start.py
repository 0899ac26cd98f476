"""The second call of the command line compiles nothing; benchmarks/bench_start.py times both."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import contextlib, io, sys
from numba.core.caching import FunctionCache
from numba.core.dispatcher import _FunctionCompiler

counts = {"compiled": 0, "loaded": 0}
compile_function, load_overload = _FunctionCompiler.compile, FunctionCache.load_overload

def count_compiled(*arguments):
    counts["compiled"] += 1
    return compile_function(*arguments)

def count_loaded(*arguments):
    found = load_overload(*arguments)
    counts["loaded"] += found is not None
    return found

_FunctionCompiler.compile, FunctionCache.load_overload = count_compiled, count_loaded
from rankwise.cli.main import main
sys.argv = ["rankwise", "compare", "lambdarank", "--rankers", "linear_regression"]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, exit.code
print(counts["compiled"], counts["loaded"])
"""


@pytest.mark.slow
def test_kernels_compile_once(tmp_path):
    def kernels():
        """How many kernels a call compiled, and how many it loaded."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "RANKWISE_CACHE": str(tmp_path / "rankwise")},
        )
        assert done.returncode == 0, done.stderr
        return tuple(map(int, done.stdout.split()))

    first, second = kernels(), kernels()  # the first finds what other tests have compiled
    assert second[0] == 0
    assert second[1] > 0
    assert sum(first) >= second[1]
