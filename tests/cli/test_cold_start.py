"""The second call of the command line compiles nothing; benchmarks/bench_start.py times both."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import contextlib, io, sys
from numba.core.dispatcher import _FunctionCompiler
compiled = 0
real = _FunctionCompiler.compile

def counted(*arguments):
    global compiled
    compiled += 1
    return real(*arguments)

_FunctionCompiler.compile = counted
from rankwise.cli.main import main
sys.argv = ["rankwise", "compare", "lambdarank", "--rankers", "linear_regression"]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, exit.code
print(compiled)
"""


@pytest.mark.slow
def test_kernels_compile_once(tmp_path):
    def kernels_compiled():
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
                "RANKWISE_CACHE": str(tmp_path / "rankwise"),
            },
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert kernels_compiled() > 0
    assert kernels_compiled() == 0
