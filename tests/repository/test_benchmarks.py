"""The runner of the benchmarks counts targets, and fails on a missed one only when it is asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = {
    "good": "print('met   a: 2.00 x faster')",
    "slow": "print('met   b: fine')\nprint('MISS  c: 0.50 x faster')",
    "broken": "raise ValueError('no such peer')",
}


@pytest.fixture
def bench(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    shutil.copy(ROOT / "benchmarks" / "__main__.py", folder)
    (folder / "__init__.py").touch()
    for name, script in SCRIPTS.items():
        (folder / f"bench_{name}.py").write_text(script)

    def call(*arguments):
        command = [sys.executable, "-m", "benchmarks", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return call


@pytest.mark.parametrize(
    ("arguments", "code", "summary"),
    [
        (["good"], 0, "1 targets met, 0 missed, 0 benchmarks failed"),
        (["good", "slow"], 0, "2 targets met, 1 missed, 0 benchmarks failed"),
        (["--strict", "good"], 0, "1 targets met, 0 missed"),
        (["good", "slow", "--strict"], 1, "2 targets met, 1 missed, 0 benchmarks failed"),
        ([], 1, "2 targets met, 1 missed, 1 benchmarks failed"),
    ],
)
def test_exit_codes(bench, arguments, code, summary):
    done = bench(*arguments)
    assert done.returncode == code
    assert summary in done.stdout.splitlines()[-1]


def test_an_unknown_name_is_told(bench):
    done = bench("fast")
    assert done.returncode == 2
    assert "no benchmark named fast; there are broken, good, slow" in done.stdout


def test_make_passes_the_flag_on():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "-m benchmarks $(BENCH_ARGS)" in makefile
