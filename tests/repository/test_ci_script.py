"""`.ci/run` succeeds when each of its steps does, and fails when one of them fails."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or os.name == "nt", reason="needs bash and executable scripts"
)


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_with(folder: Path, *, failing: str) -> "subprocess.CompletedProcess[str]":
    """Run a copy of the script whose commands only write their arguments, one of them failing."""
    script(folder / "bin" / "make", f'echo "make $*"\n[ "$1" != "{failing}" ]\n')
    script(folder / ".venv" / "bin" / "python", "exit 0\n")
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    search = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(folder / ".ci" / "run")],
        env={**os.environ, "PATH": search},
        capture_output=True,
        text=True,
    )


def test_all_steps_pass(tmp_path):
    run = run_with(tmp_path, failing="none")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.rstrip().endswith("make test-all")


@pytest.mark.parametrize(
    "step", [".venv/.test", "wheel-demo", "run-lean", "lint", "test-oldest", "docs", "boundscheck"]
)
def test_a_failing_step_ends_the_run(tmp_path, step):
    run = run_with(tmp_path, failing=step)
    assert run.returncode != 0
    assert f"make {step}\n" in run.stdout
    assert "make test-all\n" not in run.stdout


def test_failing_tests_fail_the_run(tmp_path):
    assert run_with(tmp_path, failing="test-all").returncode != 0
