"""The comparison of two checkouts' kernels names what is slower, and what it cannot compare."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAST = "def rank_rows(*arguments):\n    for _ in range(20_000): pass\n"
SLOW = FAST.replace("20_000", "100_000")
OTHER_ARGUMENTS = "def rank_rows(scores, values):\n    pass\n"


def checkout(folder, kernel):
    """A checkout of a library with one kernel."""
    for package in ("rankwise", "rankwise/kernels"):
        (folder / "src" / package).mkdir(parents=True)
        (folder / "src" / package / "__init__.py").touch()
    (folder / "src/rankwise/kernels/topk.py").write_text(kernel)
    return folder


@pytest.mark.parametrize(
    ("base", "head", "code", "said"),
    [
        (FAST, FAST, 0, "ok    rank_rows"),
        (SLOW, FAST, 0, "ok    rank_rows"),
        (FAST, SLOW, 1, "SLOW  rank_rows"),
        (OTHER_ARGUMENTS, FAST, 0, "----  rank_rows          not compared; base: TypeError"),
        (FAST, "", 1, "----  rank_rows          not compared; head: ImportError"),
    ],
)
def test_a_kernel_that_became_slow_fails(tmp_path, base, head, code, said):
    folders = [checkout(tmp_path / "base", base), checkout(tmp_path / "head", head)]
    command = [sys.executable, "-m", "benchmarks.hot_kernels", *map(str, folders)]
    options = ["--repeats", "3", "--limit", "2", "--kernels", "rank_rows"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith(said), done.stdout + done.stderr
    assert done.returncode == code


def test_all_ten_kernels_run():
    """On few rows and as plain Python, which takes less time than compiling them."""
    code = (
        "from benchmarks import hot_kernels\n"
        "hot_kernels.N_ROWS, hot_kernels.N_QUERIES = 240, 2\n"
        "assert len([prepare()() for prepare in hot_kernels.KERNELS.values()]) == 10\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
