"""What the first and the second run of the command line spend on kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Processor seconds of the threads that compile and load, so that a busy machine does not matter.
PROGRAM = """
import contextlib, io, json, sys, threading, time
from numba.core.caching import Cache
from numba.core.dispatcher import _FunctionCompiler
spent = {"compile": 0.0, "load": 0.0, "kernels": 0}

inside = threading.local()  # a kernel compiles and loads those that it calls

def account(owner, method, name):
    real = getattr(owner, method)
    def timed(*arguments):
        spent["kernels"] += name == "compile"
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
from rankwise.cli.main import main
sys.argv = ["rankwise", "compare", "lambdarank", "--rankers", "linear_regression,pairwise_elm"]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, exit.code
print(json.dumps(spent))
"""


@pytest.mark.slow
def test_kernels_compile_once_and_load_quickly(tmp_path):
    def run(place):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / place / "numba"),
                "RANKWISE_CACHE": str(tmp_path / place / "rankwise"),
            },
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    # Sharing a core with other work slows the processor's seconds too: the best of three counts.
    for place in ("first", "second", "third"):
        cold, warm = run(place), run(place)
        assert cold["kernels"] > 0
        assert warm["kernels"] == 0
        if cold["compile"] <= 6.0 and warm["load"] <= 0.6:
            break
    assert cold["compile"] <= 6.0
    assert warm["load"] <= 0.6
