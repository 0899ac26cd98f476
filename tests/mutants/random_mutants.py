"""Random mutants of a package, each judged by the package's tests that reach the changed place.

``python -m tests.mutants --random 12 --seed 1 metrics`` draws 12 places of ``rankwise/metrics``
where an operator, a constant or a choice can change. One process imports a copy of the library in
which each place holds what was there and what shall be tried, collects the tests, and forks:

1. one run of the tests as they are, of up to three cases of each function and 0.7 s, in which each
   place notes the test that reaches it, also from another process. If a place is not reached,
   some other cases run as well;
2. one run for each mutant, of the tests that reached its place, the fastest cases of each function
   first, then of the other cases of these functions, up to the first failure. Of each of the two,
   tests beyond 60 s in all are left out.

Expressions that run at import are changed in the file, in a process of their own, and judged by
all tests. Kernels, which hold one expression only, have processes of their own as
well, and so has every mutant where threads run after the imports. The copy keeps its compiled
kernels (``.numba-cache-mutants``). Most packages take a minute.

``--store`` writes a line for each mutant into ``random.csv``; ``--missed`` tries those again that
are stored as missed. Whoever reads a survivor and finds that it changes nothing that can be
observed writes ``equivalent`` and the reason into the file; it is not tried again. The file was
made with seed 1 at the commits that it names, with the folders in its column ``tests`` as judges.
"""

from __future__ import annotations

import ast
import csv
import importlib
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
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
FIRST_TESTS, MOST_CASES = 25, 3
MOST_SECONDS, MOST_OF_FUNCTION = 60.0, 0.7  # of CPU time
IMPORTED = ("numpy", "scipy.sparse.linalg", "scipy.stats", "sklearn.utils", "pandas", "numba")
NOT_REACHED = "no test reaches it"
SHORTEST, LONGEST = 30.0, 1200.0  # seconds after which a run is taken to hang
# What each place calls; pytest names the running test in the environment, also to other processes.
CHOICE = """
import os
chosen = int(os.environ.get("RANKWISE_MUTANT", "-1"))
seen = set()
def at(place):
    if chosen < 0:
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        if (place, test) not in seen:
            seen.add((place, test))
            with open({log!r}, "a") as file:
                file.write(f"{{place}}\\t{{test}}\\n")
    return place == chosen
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
    at_import: bool

    @property
    def is_choice(self) -> bool:
        """Whether the file can hold both expressions."""
        return not (self.at_import or self.path.startswith("kernels/"))

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
    inside = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for part in (node.body if isinstance(node.body, list) else [node.body])
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
            place = first, last, id(node) not in inside
            yield RandomMutant(name, node.lineno, ast.unparse(node), replacement, *place)


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
        (row["path"], row["line"], row["before"], row["after"]): row
        for row in read_store()
        if (row["package"], row["seed"]) == (package, str(seed))
    }
    rows = []
    for mutant in draw(tree, package, n, seed):
        place = mutant.path, str(mutant.line)
        known = stored.get((*place, mutant.before, mutant.after), {})
        row = {"package": package, "seed": seed, "verdict": "", "reason": ""} | known
        row |= {"path": mutant.path, "line": mutant.line}
        rows.append((mutant, row | {"before": mutant.before, "after": mutant.after}))
    tried = [
        (mutant, row)
        for mutant, row in rows
        if row["verdict"] != "equivalent" and (row["verdict"] != "caught" or not missed)
    ]
    copy = Copy(tree)
    for mutant, verdict in copy.try_all([mutant for mutant, _ in tried], tests.split()):
        row = next(row for other, row in tried if other is mutant)
        row["verdict"], row["reason"] = "missed" if verdict else "caught", verdict
        row["tests"], row["commit"] = tests, copy.commit
        print(f"MISSED {mutant} ({verdict})" if verdict else f"caught {mutant}", flush=True)
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
    kept = [row for row in read_store() if (row["package"], row["seed"]) != (package, str(seed))]
    every = sorted(kept + rows, key=lambda row: (row["package"], row["path"], int(row["line"])))
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
        # OpenMP reads it when it is loaded, see conftest.py.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        for name in IMPORTED:
            importlib.import_module(name)

    def try_all(
        self, mutants: list[RandomMutant], tests: list[str]
    ) -> Iterator[tuple[RandomMutant, str]]:
        """Mutants with the reason why they are missed, empty if they are caught."""
        (self.folder / "choice").mkdir(exist_ok=True)
        choice = CHOICE.format(log=str(self.folder / "reached"))
        (self.folder / "choice/_chosen.py").write_text(choice)
        plain = any(mutant.path.startswith("kernels/") for mutant in mutants)
        files = {}
        for path, group in groupby(sorted(mutants, key=lambda m: m.path), lambda m: m.path):
            files[path] = _with_choices(
                self._source(path).read_bytes(), {mutants.index(m): m for m in group}
            )
        verdicts = self.folder / "verdicts"
        verdicts.write_text("")
        arguments = [f"tests/{test}" for test in tests]
        self.run(
            files, arguments, _Forks(self, mutants), {"NUMBA_DISABLE_JIT": "1"} if plain else {}
        )
        if not verdicts.read_text():
            raise SystemExit(f"The tests do not run:\n{self.tail()}")
        for place, chosen, seconds, verdict in json.loads(verdicts.read_text()):
            mutant = mutants[place]
            yield mutant, self._judge(mutant, chosen, seconds) if verdict is None else verdict

    def _judge(self, mutant: RandomMutant, chosen: list[str], seconds: float) -> str:
        files = {mutant.path: mutant.put_into(self._source(mutant.path).read_bytes())}
        arguments = sorted({test.partition("::")[0] for test in chosen})
        # Numba's cache does not see edits in kernels of other files.
        own = self.folder / "cache-of-mutant"
        shutil.rmtree(own, ignore_errors=True)
        environment = {"NUMBA_CACHE_DIR": str(own)} if mutant.path.startswith("kernels/") else {}
        status = self.run(files, arguments, _Chosen(chosen), environment, seconds)
        return "" if status else f"passes {len(chosen)} tests"

    def run(
        self,
        files: dict[str, bytes],
        arguments: Iterable[str],
        plugin: object,
        environment: dict[str, str],
        seconds: float = LONGEST,
    ) -> int:
        """Exit status of pytest with changed files."""
        originals = {path: self._source(path).read_bytes() for path in files}
        times = {path: self._source(path).stat() for path in files}
        try:
            for path, raw in files.items():
                self._write(path, raw)
            return forked(lambda: self._work(arguments, plugin, environment), seconds)
        finally:
            for path, raw in originals.items():
                self._write(path, raw)
                os.utime(self._source(path), ns=(times[path].st_atime_ns, times[path].st_mtime_ns))

    def _write(self, path: str, raw: bytes) -> None:
        source = self._source(path)
        source.write_bytes(raw)
        for compiled in source.parent.glob(f"__pycache__/{source.stem}.*.pyc"):
            compiled.unlink()  # which knows the time of its source in whole seconds

    def _work(self, arguments: Iterable[str], plugin: object, environment: dict[str, str]) -> int:
        os.chdir(self.tree)
        output = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        first = [str(self.folder / "choice")]
        first += [str(self.tree / path) for path in ("src", "papers/src", ".")]
        root = str(self.folder.parent)
        kept = [p for p in sys.path if p and (not p.startswith(root) or "/.venv/" in p)]
        sys.path[:] = [*first, *kept]
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir = folder
            os.environ |= {
                "PYTHONPATH": os.pathsep.join(first[:3]),
                "NUMBA_CACHE_DIR": str(self.folder / "cache"),
                "OPENBLAS_NUM_THREADS": "1",
                "TMPDIR": folder,
            } | environment
            sys.modules["numba"].core.config.reload_config()
            for name in list(sys.modules):
                if name.partition(".")[0] in ("tests", "rankwise", "rankwise_papers"):
                    del sys.modules[name]
            options = ["-q", "-p", "no:cacheprovider", "--tb=short"]
            return int(pytest.main([*options, *arguments], plugins=[plugin]))

    def _source(self, path: str) -> Path:
        return self.tree / "src/rankwise" / path

    def tail(self) -> str:
        """Last lines of what the tests printed."""
        return "\n".join((self.folder / "log").read_text("utf-8").splitlines()[-15:])


def forked(work: Callable[[], int], seconds: float) -> int:
    """Status of a forked process: 0 only if ``work`` returned it in time."""
    sys.stdout.flush()
    worker = os.fork()
    if worker == 0:
        status = 3
        try:
            os.setsid()
            most = int(SHORTEST + 4 * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    limit = time.monotonic() + SHORTEST + 15 * seconds
    while (ended := os.waitpid(worker, os.WNOHANG)) == (0, 0):
        time.sleep(0.02)
        if time.monotonic() > limit:  # what never ends is noticed
            os.killpg(worker, signal.SIGKILL)
            return os.waitpid(worker, 0)[1]
    return ended[1]


def run_items(items: list[pytest.Item], *, stop: bool, most: float = math.inf) -> int:
    """Run collected tests, cases of a function for up to ``most`` seconds: 1 if one failed."""
    spent: dict[str, float] = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        function, start = _function(item.nodeid), cpu_seconds()
        if spent.get(function, 0.0) < most:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            spent[function] = spent.get(function, 0.0) + cpu_seconds() - start
        else:  # which ends the fixtures that the next one does not share
            item.session._setupstate.teardown_exact(following)
        if stop and item.session.testsfailed:
            return 1
    return int(bool(items) and items[0].session.testsfailed > 0)


def cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


class _Chosen:
    """Runs these tests alone, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = tests

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed:
            return None
        by_name = {item.nodeid: item for item in session.items}
        run_items([by_name[test] for test in self.tests], stop=True)
        return True


class _Forks:
    """Runs all tests as they are, and those that reach each mutant with it."""

    def __init__(self, copy: Copy, mutants: list[RandomMutant]) -> None:
        self.folder, self.mutants = copy.folder, mutants
        self.outcomes = copy.folder / "outcomes"
        self.functions: dict[str, list[str]] = {}
        self.failed: set[str] = set()
        self.clock = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        took, self.clock = cpu_seconds() - self.clock, cpu_seconds()
        with self.outcomes.open("a") as file:
            file.write(f"{json.dumps(report.nodeid)}\t{int(report.failed)}\t{took:.3f}\n")

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed:
            return None
        self.outcomes.write_text("")
        (self.folder / "reached").write_text("")
        for item in session.items:
            self.functions.setdefault(_function(item.nodeid), []).append(item.nodeid)
        by_name = {item.nodeid: item for item in session.items}
        # A fork has no threads but the one that called it; Polars may have started its own.
        may_fork = len(os.listdir("/proc/self/task")) == 1

        def run(tests: Iterable[str], limit: float) -> None:
            items = [by_name[test] for test in tests]
            if may_fork:
                forked(lambda: run_items(items, stop=False, most=MOST_OF_FUNCTION), limit)
            else:
                run_items(items, stop=False, most=MOST_OF_FUNCTION)

        run((test for cases in self.functions.values() for test in _spread(cases)), LONGEST)
        seconds, reached = self._read()
        if not all(reached[place] for place, m in enumerate(self.mutants) if not m.at_import):
            ran = seconds.keys() | self.failed
            run([test for test in by_name if test not in ran], MOST_SECONDS / 4)
            seconds, reached = self._read()
        verdicts = []
        for place, mutant in enumerate(self.mutants):
            tests, total = self._judges(seconds if mutant.at_import else reached[place], seconds)
            verdict: str | None = None if tests else NOT_REACHED
            if tests and mutant.is_choice and may_fork:
                items = [by_name[test] for test in tests]
                failed = forked(lambda: _run_with(place, items), total)  # noqa: B023
                verdict = "" if failed else f"passes {len(tests)} tests"
            verdicts.append((place, tests, total, verdict))
        (self.folder / "verdicts").write_text(json.dumps(verdicts))
        return True

    def _judges(
        self, reached: dict[str, Any], seconds: dict[str, float]
    ) -> tuple[list[str], float]:
        """Tests that reach a place, then the other cases of their functions, and their seconds."""
        first, total = _fastest_first(list(reached), seconds)
        of_function = {_function(test): seconds[test] for test in reached}
        others = {
            test: took
            for function, took in of_function.items()
            for test in self.functions[function]
            if test not in reached and test not in self.failed
        }
        more, extra = _fastest_first(list(others), others)
        return first + more, total + extra

    def _read(self) -> tuple[dict[str, float], list[dict[str, None]]]:
        seconds: dict[str, float] = {}
        failed = set()
        for line in self.outcomes.read_text().splitlines():
            name, failure, took = line.rsplit("\t", 2)
            test = json.loads(name)
            seconds[test] = seconds.get(test, 0.0) + float(took)
            if failure == "1":
                failed.add(test)
        (self.folder / "failures").write_text("".join(f"{test}\n" for test in sorted(failed)))
        self.failed = failed
        for test in failed:
            del seconds[test]
        return seconds, self._read_reached(seconds)

    def _read_reached(self, seconds: dict[str, float]) -> list[dict[str, None]]:
        reached: list[dict[str, None]] = [{} for _ in self.mutants]
        for line in (self.folder / "reached").read_text().splitlines():
            place, _, current = line.partition("\t")
            test, _, phase = current.rpartition(" ")
            found = [test]
            if phase == "(setup)":  # of a fixture that tests of the file may share
                start = test.partition("::")[0] + "::"
                found = [test for test in seconds if test.startswith(start)]
            reached[int(place)] |= {test: None for test in found if test in seconds}
        return reached


def _function(test: str) -> str:
    return test.partition("[")[0]


def _spread(cases: list[str]) -> list[str]:
    """A few cases of a test function, first and last among them."""
    n = min(len(cases), MOST_CASES)
    return [cases[k * (len(cases) - 1) // max(n - 1, 1)] for k in range(n)]


def _run_with(place: int, items: list[pytest.Item]) -> int:
    os.environ["RANKWISE_MUTANT"] = str(place)
    importlib.import_module("_chosen").chosen = place
    return run_items(items, stop=True)


def _fastest_first(tests: list[str], seconds: dict[str, float]) -> tuple[list[str], float]:
    """The fastest case of each function, then the next; from the 25th on, file by file."""
    ranks: dict[str, int] = {}
    order = []
    for test in sorted(tests, key=seconds.__getitem__):
        ranks[_function(test)] = ranks.get(_function(test), 0) + 1
        order.append((ranks[_function(test)], seconds[test], test))
    chosen, total = [], 0.0
    for _, took, test in sorted(order):
        if not chosen or total + took <= MOST_SECONDS:
            chosen.append(test)
            total += took
    return chosen[:FIRST_TESTS] + sorted(chosen[FIRST_TESTS:]), total


def _with_choices(raw: bytes, mutants: dict[int, RandomMutant]) -> bytes:
    """A file in which the place of each mutant holds both expressions."""
    kept: dict[int, RandomMutant] = {}
    for place, mutant in mutants.items():
        try:  # a pattern of a case has no room for a choice
            ast.parse(_insert_choices(raw, {place: mutant}))
        except SyntaxError:
            print(f"no choice, so taken as not reached: {mutant}")
        else:
            kept[place] = mutant
    return _insert_choices(raw, kept)


def _insert_choices(raw: bytes, mutants: dict[int, RandomMutant]) -> bytes:
    inserted = []
    for place, mutant in mutants.items():
        length = mutant.last - mutant.first
        # Outer places open first and close last; one place may have several mutants.
        changed = mutant.after if mutant.is_choice else mutant.before
        text = f"({changed} if __import__('_chosen').at({place}) else ("
        inserted.append((mutant.first, 1, -length, place, text.encode()))
        inserted.append((mutant.last, 0, length, -place, b"))"))
    for at, *_, piece in sorted(inserted, reverse=True):
        raw = raw[:at] + piece + raw[at:]
    return raw


def _output(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
