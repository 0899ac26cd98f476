"""Which mutations do the tests notice?  python -m tests.mutants [--tree FOLDER] [--only WORD]

With ``--random N PACKAGE``, N mutants of a package are drawn, see ``random_mutants.py``.

Every mutation of ``table.py`` and ``learning_table.py`` is put into a copy of the tree, and its
tests run there: one that fails has caught it. Exit status 1 if a mutation is missed, or if the
tests fail without one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants import random_mutants
from tests.mutants.mutation import Mutation
from tests.mutants.table import TABLE

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 600
# Exit status of pytest: all passed, some failed, or a file of tests could not be imported.
PASSED, FAILED, NOT_COLLECTED = 0, 1, 2
NEVER_ENDED = -1


def main() -> int:
    """Copy the tree, run the tests without a mutation, then with each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="tree whose library and tests run")
    parser.add_argument("--only", default="", help="part of the path of the mutated file")
    parser.add_argument("--skip-whole", action="store_true", help="do not run without a mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutations at a time")
    parser.add_argument("--random", type=int, metavar="N", help="draw N mutants of a package")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn mutants")
    parser.add_argument("--tests", help="folders of tests that judge them (default: the package's)")
    parser.add_argument("--missed", action="store_true", help="only those stored as missed")
    parser.add_argument("--store", action="store_true", help="write the drawn ones to random.csv")
    parser.add_argument("package", nargs="?", help="folder or file of src/rankwise")
    asked = parser.parse_args()
    if asked.random:
        tests = asked.tests or asked.package.split("/")[0]
        drawn = asked.package, asked.random, asked.seed
        return random_mutants.try_random(
            asked.tree, *drawn, tests, missed=asked.missed, store=asked.store
        )
    chosen = [mutation for mutation in TABLE if asked.only in mutation.path]
    for mutation in chosen:
        if places(mutation, asked.tree) != 1:
            raise SystemExit(f"{mutation.path} must contain this text once: {mutation.before}")
    if not asked.skip_whole:
        tests = sorted({test for mutation in chosen for test in mutation.tests.split()})
        with _copied(asked.tree) as tree:
            if _run(tree, tests, stop=False) != PASSED:
                raise SystemExit(f"The tests fail without a mutation:\n{_tail(tree)}")
    with ThreadPoolExecutor(asked.jobs) as pool:
        lanes = [chosen[lane :: asked.jobs] for lane in range(asked.jobs)]
        n_caught = sum(pool.map(lambda lane: _count_caught(asked.tree, lane), lanes))
    print(f"{n_caught} of {len(chosen)} mutations caught")
    return int(n_caught < len(chosen))


def _count_caught(tree: Path, mutations: list[Mutation]) -> int:
    """Try mutations one after another in a copy of the tree."""
    n_caught = 0
    with _copied(tree) as copy:
        for mutation in mutations:
            start = time.monotonic()
            caught = _is_caught(copy, mutation)
            word = "caught" if caught else "MISSED"
            what = f"{mutation.path}: {mutation.before} -> {mutation.after}"
            print(f"{word} {time.monotonic() - start:6.1f} s  {what}", flush=True)
            n_caught += caught
    return n_caught


def places(mutation: Mutation, tree: Path) -> int:
    """How often the text to replace occurs; a mutation needs exactly one place."""
    return (tree / "src/rankwise" / mutation.path).read_text("utf-8").count(mutation.before)


@contextlib.contextmanager
def _copied(tree: Path) -> Iterator[Path]:
    """Copy what git tracks, and what it would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=tree, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        for name in listed.decode().split("\0"):
            if name and (tree / name).is_file():
                path = Path(folder, "tree", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, path)
        yield Path(folder, "tree")


def _is_caught(tree: Path, mutation: Mutation) -> bool:
    path = tree / "src/rankwise" / mutation.path
    original, times = path.read_bytes(), path.stat()
    changed = original.decode().replace(mutation.before, mutation.after)
    path.write_text(changed if mutation.before else mutation.after, "utf-8")
    # Numba's cache does not see edits in kernels of other files: a mutated kernel needs its own.
    cache = "cache-of-mutant" if mutation.path.startswith("kernels/") else "cache"
    try:
        status = _run(tree, mutation.tests.split(), cache, stop=True)
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        shutil.rmtree(tree.parent / "cache-of-mutant", ignore_errors=True)
    if status not in (PASSED, FAILED, NOT_COLLECTED, NEVER_ENDED):
        raise SystemExit(f"The tests of {mutation.path} do not run:\n{_tail(tree)}")
    return status != PASSED


def _run(tree: Path, tests: list[str], cache: str = "cache", *, stop: bool) -> int:
    """Exit status of pytest."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree / "papers/src")]),
        "NUMBA_CACHE_DIR": str(tree.parent / cache),
        "OPENBLAS_NUM_THREADS": "1",
    }
    options = ["-q", "-p", "no:cacheprovider", *(["-x"] if stop else [])]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
    with Path(tree.parent, "log").open("w") as log:
        worker = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            return worker.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:  # what never ends is noticed
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
            return NEVER_ENDED


def _tail(tree: Path) -> str:
    return "\n".join(Path(tree.parent, "log").read_text("utf-8").splitlines()[-15:])


if __name__ == "__main__":
    sys.exit(main())
