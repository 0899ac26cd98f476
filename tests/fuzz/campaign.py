"""Many cases in a process of their own, so that a crash is a failure with a number.

The worker writes the number of each case to a file before it runs the case. When the worker dies
or makes no progress, that number is the failure, and a new worker goes on behind it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.fuzz.harness import MOST_FAILURES, Counts, Failure, run_cases
from tests.fuzz.targets import find_targets

ROOT = Path(__file__).parents[2]
HANGS_AFTER = 120.0  # seconds without a finished case


@dataclass
class Report:
    """Counts of every target, and all failures."""

    counts: dict[str, Counts] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{'target':<24}{'accepted':>10}{'refused':>10}{'failed':>8}{'seconds':>9}"]
        lines += [
            f"{c.target:<24}{c.accepted:>10,}{c.refused:>10,}{c.failed:>8}{c.seconds:>9.1f}"
            for c in self.counts.values()
        ]
        for failure in self.failures:
            lines += [
                "",
                f"{failure.target}, case {failure.case}: {failure.what}",
                "again: python -m tests.fuzz "
                f"--targets {failure.target} --first {failure.case} --cases 1",
            ]
        return "\n".join(lines)


def run_campaign(
    targets: Sequence[str],
    n_cases: int,
    first: int = 0,
    *,
    find: str = "tests.fuzz.targets:find_targets",
    hangs_after: float = HANGS_AFTER,
) -> Report:
    """Run cases ``first`` to ``first + n_cases - 1`` of every target.

    Parameters
    ----------
    targets : sequence of str
    n_cases, first : int
    find : str
        ``module:function`` that turns a name into a list of one target.
    hangs_after : float
        Seconds after which a case that does not end is ended, and a failure.
    """
    report = Report({name: Counts(name) for name in targets})
    jobs = [(name, first, first + n_cases) for name in targets]
    while jobs:
        jobs = _run_worker(jobs, report, find, hangs_after)
    return report


def _run_worker(
    jobs: list[tuple[str, int, int]], report: Report, find: str, hangs_after: float
) -> list[tuple[str, int, int]]:
    """One worker's life; returns the jobs that are left."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        (folder / "jobs.json").write_text(json.dumps({"find": find, "jobs": jobs}))
        env = {**os.environ, "RANKWISE_CACHE": str(folder / "cache"), "PYTHONUTF8": "1"}
        with open(folder / "stderr", "wb") as stderr:
            worker = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--worker", str(folder)],
                cwd=ROOT, env=env, stdout=stderr, stderr=stderr,
            )  # fmt: skip
            try:
                hung = _wait(worker, folder / "progress", hangs_after)
            finally:  # also when the campaign itself is ended
                worker.kill()
                worker.wait()
        done, failures = _results(folder)
        report.failures += failures
        for counts in done:
            _add(report.counts[counts.target], counts)
        if worker.returncode == 0:
            return []
        at = _read_progress(folder / "progress")
        said = (folder / "stderr").read_text(errors="replace")[-2000:]
        if at is None:
            raise RuntimeError(f"the worker ended with {worker.returncode} at its start:\n{said}")
        job, case = at
        how = f"no end after {hangs_after:g} s" if hung else _ending(worker.returncode)
        target, _, stop = jobs[job]
        report.failures.append(Failure(target, case, f"{how}\n{said}"))
        report.counts[target].failed += 1
        rest = [(target, case + 1, stop)] if case + 1 < stop else []
        if report.counts[target].failed >= MOST_FAILURES:
            rest = []
        return rest + jobs[job + 1 :]


def work(folder: Path) -> None:
    """The worker: run the jobs of ``folder``, write progress and results there."""
    plan = json.loads((folder / "jobs.json").read_text())
    found: Callable[[str], list] = find_targets
    module, _, function = plan["find"].partition(":")
    if module != find_targets.__module__:
        found = getattr(__import__(module, fromlist=[function]), function)
    progress = os.open(folder / "progress", os.O_WRONLY | os.O_CREAT)
    with open(folder / "results", "w", encoding="utf-8") as results:
        for job, (name, start, stop) in enumerate(plan["jobs"]):
            (target,) = found(name)
            counts = Counts(name)
            for item in run_cases(target, range(start, stop), folder, counts):
                if isinstance(item, Failure):
                    _write(results, "failure", asdict(item))
                else:
                    os.pwrite(progress, f"{job:>8} {item:>16}".encode(), 0)
            _write(results, "counts", counts.as_dict())


def _write(stream, kind: str, record: dict) -> None:
    stream.write(json.dumps({"kind": kind, **record}) + "\n")
    stream.flush()


def _results(folder: Path) -> tuple[list[Counts], list[Failure]]:
    done, failures = [], []
    path = folder / "results"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        kind = record.pop("kind")
        if kind == "counts":
            done.append(Counts(**record))
        else:
            failures.append(Failure(**record))
    return done, failures


def _add(total: Counts, more: Counts) -> None:
    for name in ("accepted", "refused", "failed", "seconds"):
        setattr(total, name, getattr(total, name) + getattr(more, name))


def _read_progress(path: Path) -> tuple[int, int] | None:
    text = path.read_bytes().split() if path.exists() else []
    return (int(text[0]), int(text[1])) if len(text) == 2 else None


def _wait(worker: subprocess.Popen, progress: Path, hangs_after: float) -> bool:
    """Wait for the end of the worker; True if it had to be ended for lack of progress."""
    last, since = None, time.monotonic()
    while True:
        try:
            worker.wait(timeout=0.5)
            return False
        except subprocess.TimeoutExpired:
            pass
        now = _read_progress(progress)
        if now != last:
            last, since = now, time.monotonic()
        elif now is not None and time.monotonic() - since > hangs_after:
            worker.kill()
            worker.wait()
            return True


def _ending(code: int) -> str:
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with {code}"
