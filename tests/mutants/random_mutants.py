"""Random mutants of a package, each judged by the package's tests that reach the changed line.

``python -m tests.mutants --random 12 --seed 1 metrics`` draws 12 places of ``rankwise/metrics``
where an operator, a constant or a choice can change, and tries each in a copy of the tree.
"""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/",
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class RandomMutant:
    """A change of one expression; ``path`` is relative to ``src/rankwise``."""

    path: str
    line: int
    before: str
    after: str
    text: str  # of the changed file

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"


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
    for node in ast.walk(tree):
        if id(node) in ignored or not isinstance(node, ast.expr):
            continue
        for replacement in _replacements(node):
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            raw = text.encode()
            changed = raw[:first] + replacement.encode() + raw[last:]
            name = path.relative_to(source).as_posix()
            yield RandomMutant(name, node.lineno, ast.unparse(node), replacement, changed.decode())


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


def reaching_tests(tree: Path, package: str, tests: str) -> dict[tuple[str, int], list[str]]:
    """Node ids of the tests that reach each line of a package, by path and line.

    Lines that run at import belong to the context "" and are judged by all tests. Compiled kernels
    have no lines, so they run as plain Python.
    """
    data, settings = tree.parent / "coverage", tree.parent / "coveragerc"
    settings.write_text(
        f"[run]\ndata_file = {data}\ndynamic_context = test_function\n"
        f"include = {tree}/src/rankwise/{package}/**,{tree}/src/rankwise/{package}.py\n"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree / "papers/src")]),
        "NUMBA_CACHE_DIR": str(tree.parent / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
        **({"NUMBA_DISABLE_JIT": "1"} if package.startswith("kernels") else {}),
    }
    chosen = [f"tests/{test}" for test in tests.split()]
    command = [sys.executable, "-m", "coverage", "run", "--rcfile", str(settings), "-m", "pytest"]
    with Path(tree.parent, "log").open("w") as log:
        subprocess.run(
            [*command, "-q", "-p", "no:cacheprovider", *chosen],
            cwd=tree, env=environment, stdout=log, stderr=log, check=False,
        )  # fmt: skip
    return _read_contexts(data, tree)


def _read_contexts(data: Path, tree: Path) -> dict[tuple[str, int], list[str]]:
    import coverage

    found: dict[tuple[str, int], list[str]] = {}
    measured = coverage.CoverageData(str(data))
    measured.read()
    root = tree / "src" / "rankwise"
    for name in measured.measured_files():
        path = Path(name).relative_to(root).as_posix()
        for line, contexts in measured.contexts_by_lineno(name).items():
            found[path, line] = sorted({_node(context, tree) for context in contexts if context})
    return found


def _node(context: str, tree: Path) -> str:
    """Node id of a test function that coverage names by its dotted path."""
    parts = context.split(".")
    for n in range(len(parts) - 1, 0, -1):
        path = Path(*parts[:n]).with_suffix(".py")
        if (tree / path).is_file():
            return "::".join([path.as_posix(), *parts[n:]])
    return "tests"
