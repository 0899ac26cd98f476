"""Random mutants of a package, each judged by the package's tests that reach the changed place.

``python -m tests.mutants --random 12 --seed 1 metrics`` draws 12 places of ``rankwise/metrics``
where an operator, a constant or a choice can change, and tries each in a copy of the tree:

1. one run of the tests without a mutant, in which each of the places notes the test that reaches
   it, also from another process; it tells how long each test takes, too;
2. one run for each mutant, of the tests that reach its place, the fastest cases of each function
   first, up to the first failure. Tests of more than 60 s in all are cut, and the line says so.

Processes are forked from one that has imported what rankwise imports, and the copy keeps its
compiled kernels (``.numba-cache-mutants``). A package takes one to five minutes.

``--store`` writes a line for each mutant into ``random.csv``; ``--missed`` tries those again that
are stored as missed. Whoever reads a survivor and finds that it changes nothing that can be
observed writes ``equivalent`` and the reason into the file; it is not tried again. The file was
made with seed 1 at the commits that it names, as ``--tests`` the folders in its column ``tests``.
"""

from __future__ import annotations

import ast
import csv
import fcntl
import importlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/",
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
STORE = Path(__file__).with_name("random.csv")
COLUMNS = [
    *("package", "seed", "path", "line", "before", "after"),
    *("verdict", "reason", "tests", "commit"),
]
MOST_SECONDS, FIRST_TESTS = 60.0, 25
IMPORTED = ("numpy", "scipy.sparse.linalg", "scipy.stats", "sklearn.utils", "pandas", "numba")
# What a probe calls; pytest names the running test in the environment, also to other processes.
PROBE = """
import os
seen = set()
def at(place):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if (place, test) not in seen:
        seen.add((place, test))
        with open({log!r}, "a") as file:
            file.write(f"{{place}}\\t{{test}}\\n")
"""


@dataclass(frozen=True)
class RandomMutant:
    """A change of one expression; ``path`` is relative to ``src/rankwise``."""

    path: str
    line: int
    before: str
    after: str
    first: int  # bytes of the expression in the file
    last: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"

    def put_into(self, raw: bytes) -> bytes:
        """The changed file."""
        return raw[: self.first] + self.after.encode() + raw[self.last :]


def draw(tree: Path, package: str, n: int, seed: int) -> list[RandomMutant]:
    """Draw ``n`` mutants of a package, a folder or a file of ``src/rankwise``."""
    source = tree / "src" / "rankwise"
    root = source / package
    paths = sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]
    found = [mutant for path in paths for mutant in mutants_of(path, source)]
    return random.Random(seed).sample(found, min(n, len(found)))


def mutants_of(path: Path, source: Path) -> Iterator[RandomMutant]:
    """Every mutant of a file, in the order of its lines."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    ignored = {
        id(inner)
        for node in ast.walk(tree)
        # Messages, types and what stands for type checkers alone is not behaviour.
        for part in _ignored_parts(node)
        for inner in ast.walk(part)
    }
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    name = path.relative_to(source).as_posix()
    for node in ast.walk(tree):
        if id(node) in ignored or not isinstance(node, ast.expr):
            continue
        for replacement in _replacements(node):
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            yield RandomMutant(name, node.lineno, ast.unparse(node), replacement, first, last)


def _ignored_parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign):
        return [node.annotation] if isinstance(node, ast.AnnAssign) else [node]
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
        annotations = [node.returns, *(argument.annotation for argument in arguments)]
        return [part for part in annotations if part is not None]
    return []


def _replacements(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield f"({left} {COMPARISONS[type(op)]} {right})"
        case ast.BinOp(op=op) if type(op) in OPERATORS and not _is_text(node):
            yield f"({ast.unparse(node.left)} {OPERATORS[type(op)]} {ast.unparse(node.right)})"
        case ast.BoolOp(op=op):
            word = " or " if isinstance(op, ast.And) else " and "
            yield "(" + word.join(f"({ast.unparse(value)})" for value in node.values) + ")"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield CALLS[name] + ast.unparse(node)[len(name) :]


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.Constant | ast.JoinedStr) and _is_string(side) for side in sides
    )


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def try_random(
    tree: Path, package: str, n: int, seed: int, tests: str, *, missed: bool, store: bool
) -> int:
    """Try mutants of a package one after another; a place that no test reaches is a miss."""
    stored = {
        (row["path"], row["before"], row["after"]): row
        for row in read_store()
        if (row["package"], row["seed"]) == (package, str(seed))
    }
    rows = []
    for mutant in draw(tree, package, n, seed):
        known = stored.get((mutant.path, mutant.before, mutant.after), {})
        row = {"package": package, "seed": seed, "verdict": "", "reason": ""} | known
        row |= {"path": mutant.path, "line": mutant.line}
        rows.append((mutant, row | {"before": mutant.before, "after": mutant.after}))
    tried = [
        (mutant, row)
        for mutant, row in rows
        if row["verdict"] != "equivalent" and (row["verdict"] != "caught" or not missed)
    ]
    copy = Copy(tree)
    seconds, reached = copy.reaching_tests([mutant for mutant, _ in tried], tests.split())
    for mutant, row in tried:
        start = time.monotonic()
        row["verdict"], row["reason"] = copy.judge(mutant, reached[mutant], seconds)
        row["tests"], row["commit"] = tests, copy.commit
        if row["verdict"] == "caught":
            print(f"caught {time.monotonic() - start:6.1f} s  {mutant}", flush=True)
        else:
            print(f"MISSED {time.monotonic() - start:6.1f} s  {mutant} ({row['reason']})")
    verdicts = [row["verdict"] for _, row in rows]
    n_caught, n_equivalent = verdicts.count("caught"), verdicts.count("equivalent")
    print(
        f"{n_caught} of {len(rows) - n_equivalent} mutants of {package} caught (seed {seed}),"
        f" and {n_equivalent} equivalent"
    )
    if store:
        write_store(package, seed, [row for _, row in rows])
    return int(n_caught + n_equivalent < len(rows))


def read_store() -> list[dict[str, Any]]:
    """Stored mutants with their verdicts."""
    if not STORE.is_file():
        return []
    with STORE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_store(package: str, seed: int, rows: list[dict[str, Any]]) -> None:
    """Replace the mutants of a package in the file."""
    with STORE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = [r for r in read_store() if (r["package"], r["seed"]) != (package, str(seed))]
        every = sorted(kept + rows, key=lambda r: (r["package"], r["path"], int(r["line"])))
        with STORE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(every)


class Copy:
    """A copy of what git tracks, and would track, at a fixed path that compiled kernels keep."""

    def __init__(self, original: Path) -> None:
        self.folder = original / ".numba-cache-mutants"
        self.tree = self.folder / "tree"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = _output(command, original).split("\0")
        self.commit = _output(["git", "rev-parse", "--short=8", "HEAD"], original).strip()
        tracked = {Path(name) for name in names if name and (original / name).is_file()}
        for path in list(self.tree.rglob("*")):
            gone = path.is_file() and path.relative_to(self.tree) not in tracked
            if gone and path.suffix != ".pyc":
                path.unlink()
        for name in tracked:
            source, target = original / name, self.tree / name
            if not target.is_file() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        for name in IMPORTED:
            importlib.import_module(name)

    def reaching_tests(
        self, mutants: list[RandomMutant], tests: list[str]
    ) -> tuple[dict[str, float], dict[RandomMutant, list[str]]]:
        """Seconds of each test that passes, and the tests that reach the place of each mutant.

        What runs at import, or in a fixture that tests share, is reached by all tests of the run,
        or of the file. Compiled kernels note nothing, so they run as plain Python.
        """
        log = self.folder / "reached"
        log.write_text("")
        (self.folder / "probe").mkdir(exist_ok=True)
        (self.folder / "probe/_reached.py").write_text(PROBE.format(log=str(log)))
        chosen = [f"tests/{test}" for test in tests]
        kernels = {"NUMBA_DISABLE_JIT": "1"}
        plain = kernels if any("kernels/" in mutant.path for mutant in mutants) else {}
        files = {}
        for path, group in groupby(sorted(mutants, key=lambda m: m.path), lambda m: m.path):
            files[path] = _with_probes(
                self._source(path).read_bytes(), {mutants.index(m): m for m in group}
            )
        _, outcomes = self.run(files, chosen, environment=plain)
        seconds = {test: took for test, (passed, took) in outcomes.items() if passed}
        if not seconds:
            raise SystemExit(f"The tests do not run:\n{self.tail()}")
        for test in outcomes.keys() - seconds.keys():
            print(f"fails without a mutant: {test}")
        reached = {mutant: dict[str, None]() for mutant in mutants}
        for line in log.read_text().splitlines():
            place, _, current = line.partition("\t")
            test, _, phase = current.rpartition(" ")
            shares = phase == "(setup)"
            start = test.partition("::")[0] + "::"
            found = [t for t in seconds if t.startswith(start)] if shares else [test]
            reached[mutants[int(place)]] |= dict.fromkeys(found if test else seconds)
        return seconds, {m: [t for t in found if t in seconds] for m, found in reached.items()}

    def judge(
        self, mutant: RandomMutant, tests: list[str], seconds: dict[str, float]
    ) -> tuple[str, str]:
        """Whether a test fails, and why not."""
        if not tests:
            return "missed", "no test reaches it"
        ranks: dict[str, int] = {}
        order = []
        for test in sorted(tests, key=seconds.__getitem__):
            function = test.partition("[")[0]
            ranks[function] = ranks.get(function, 0) + 1
            order.append((ranks[function], seconds[test], test))
        order.sort()
        chosen, total = [], 0.0
        for _, took, test in order:
            total += took
            if total <= MOST_SECONDS or not chosen:
                chosen.append(test)
        changed = {mutant.path: mutant.put_into(self._source(mutant.path).read_bytes())}
        for part in (chosen[:FIRST_TESTS], chosen[FIRST_TESTS:]):
            if part and self._fails(changed, part, sum(seconds[test] for test in part)):
                return "caught", ""
        of_them = "" if len(chosen) == len(tests) else f"{len(chosen)} of "
        return "missed", f"passes {of_them}{len(tests)} tests"

    def _fails(self, changed: dict[str, bytes], tests: list[str], seconds: float) -> bool:
        files = sorted({test.partition("::")[0] for test in tests})
        # Numba's cache does not see edits in kernels of other files.
        own = self.folder / "cache-of-mutant"
        shutil.rmtree(own, ignore_errors=True)
        kernels = any(path.startswith("kernels/") for path in changed)
        environment = {"NUMBA_CACHE_DIR": str(own)} if kernels else {}
        return (
            self.run(changed, files, only=tests, seconds=seconds, environment=environment)[0] != 0
        )

    def run(
        self,
        files: dict[str, bytes],
        arguments: Iterable[str],
        *,
        only: list[str] | None = None,
        seconds: float = 600.0,
        environment: dict[str, str],
    ) -> tuple[int, dict[str, tuple[bool, float]]]:
        """Run tests with changed files: the exit status; whether each passed, and its seconds.

        ``only`` runs these, in this order, up to the first failure. What takes much longer than
        ``seconds`` is killed.
        """
        log = self.folder / "outcomes"
        log.write_text("")
        originals = {path: self._source(path).read_bytes() for path in files}
        times = {path: self._source(path).stat() for path in files}
        try:
            for path, raw in files.items():
                self._write(path, raw)
            worker = os.fork()
            if worker == 0:
                self._work(list(arguments), only, log, environment, seconds)
            limit = time.monotonic() + 90 + 15 * seconds
            while (ended := os.waitpid(worker, os.WNOHANG)) == (0, 0):
                time.sleep(0.02)
                if time.monotonic() > limit:  # what never ends is noticed
                    os.killpg(worker, signal.SIGKILL)
                    ended = os.waitpid(worker, 0)
                    break
        finally:
            for path, raw in originals.items():
                self._write(path, raw)
                os.utime(self._source(path), ns=(times[path].st_atime_ns, times[path].st_mtime_ns))
        outcomes: dict[str, tuple[bool, float]] = {}
        for line in log.read_text().splitlines():
            test, passed, took = line.split("\t")
            before = outcomes.get(test, (True, 0.0))
            outcomes[test] = before[0] and passed == "True", before[1] + float(took)
        return ended[1], outcomes

    def _write(self, path: str, raw: bytes) -> None:
        source = self._source(path)
        source.write_bytes(raw)
        for compiled in source.parent.glob(f"__pycache__/{source.stem}.*.pyc"):
            compiled.unlink()  # which knows the time of its source in whole seconds

    def _work(
        self,
        arguments: list[str],
        only: list[str] | None,
        log: Path,
        environment: dict[str, str],
        seconds: float,
    ) -> None:
        """What the forked process does; it never returns."""
        status = 3
        try:
            os.setsid()
            most = int(30 + 4 * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            os.chdir(self.tree)
            output = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            paths = ["src", "papers/src", "."]
            first = [str(self.folder / "probe"), *(str(self.tree / path) for path in paths)]
            root = str(self.folder.parent)
            kept = [p for p in sys.path if p and (not p.startswith(root) or "/.venv/" in p)]
            sys.path[:] = [*first, *kept]
            os.environ |= {
                "PYTHONPATH": os.pathsep.join(first[:3]),
                "NUMBA_CACHE_DIR": str(self.folder / "cache"),
                "OPENBLAS_NUM_THREADS": "1",
            } | environment
            sys.modules["numba"].core.config.reload_config()
            for name in list(sys.modules):
                if name.partition(".")[0] in ("tests", "rankwise", "rankwise_papers"):
                    del sys.modules[name]
            options = ["-q", "-p", "no:cacheprovider", *(["-x"] if only else [])]
            status = int(pytest.main([*options, *arguments], plugins=[_Plugin(only, log)]))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _source(self, path: str) -> Path:
        return self.tree / "src/rankwise" / path

    def tail(self) -> str:
        """Last lines of what the tests printed."""
        return "\n".join((self.folder / "log").read_text("utf-8").splitlines()[-15:])


class _Plugin:
    """Chooses tests, and writes what became of each."""

    def __init__(self, only: list[str] | None, log: Path) -> None:
        self.only, self.log = only, log

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.only is not None:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[test] for test in self.only if test in by_name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        with self.log.open("a") as file:
            name = report.nodeid.replace("\t", " ").replace("\n", " ")
            file.write(f"{name}\t{not report.failed}\t{report.duration}\n")


def _with_probes(raw: bytes, mutants: dict[int, RandomMutant]) -> bytes:
    """A file in which the place of each mutant notes that it was reached."""
    kept: dict[int, RandomMutant] = {}
    for place, mutant in mutants.items():
        try:  # a pattern of a case has no room for a probe
            ast.parse(_insert_probes(raw, {place: mutant}))
        except SyntaxError:
            print(f"no probe, so taken as not reached: {mutant}")
        else:
            kept[place] = mutant
    return _insert_probes(raw, kept)


def _insert_probes(raw: bytes, mutants: dict[int, RandomMutant]) -> bytes:
    inserted = []
    for place, mutant in mutants.items():
        length = mutant.last - mutant.first
        # Outer places open first and close last; one place may have several mutants.
        opening = f"(__import__('_reached').at({place}) or (".encode()
        inserted.append((mutant.first, 1, -length, place, opening))
        inserted.append((mutant.last, 0, length, -place, b"))"))
    for at, *_, text in sorted(inserted, reverse=True):
        raw = raw[:at] + text + raw[at:]
    return raw


def _output(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
