"""Run the benchmarks, each in a process of its own: ``python -m benchmarks [--strict] [name …]``.

Prints their lines as they come, then how many targets were met. Ratios need an idle machine, so a
missed target ends the run with exit code 0, and with 1 only where ``--strict`` asks for it. A
benchmark that fails is 1 always.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


STRICT = "--strict"


def main(arguments: list[str]) -> int:
    """Run ``bench_<name>.py`` for every name, or all of them; returns the exit code."""
    strict = STRICT in arguments
    names = [argument for argument in arguments if argument != STRICT]
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    if unknown := set(names) - set(known):
        print(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return 2
    load = f", load {os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else ""  # not on Windows
    print(f"{platform.machine()}, {os.cpu_count()} CPUs{load}")
    met = missed = failed = 0
    for name in names or known:
        print(f"\n== {name}", flush=True)
        with subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.bench_{name}"],
            cwd=HERE.parent,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                met += line.startswith("met ")
                missed += line.startswith("MISS")
        failed += process.returncode != 0
    print(f"\n{met} targets met, {missed} missed, {failed} benchmarks failed")
    return int(failed > 0 or (strict and missed > 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
