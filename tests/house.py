"""What a reader of the library has to hold: ``python -m tests.house [--packages]``.

Prints files, lines, imports, classes and circles of ``src/rankwise``; ``--packages`` adds lines and
files of each package. ``tests/repository/test_house.py`` keeps the figures from rising.
"""

from __future__ import annotations

import ast
import io
import math
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "rankwise"
TINY_FILE = 80  # lines; a smaller file is an idea of its own only with a reason
SHORT_FUNCTION = 5  # lines of code below which a function that is used once is written there
SECTIONS = ("Parameters\n", "Returns\n", "Attributes\n", "Raises\n", "Notes\n")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """A file of the library."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")


class Line(NamedTuple):
    """A line of the table: a figure and the most allowed; the least, if ``most`` is negative.

    The limits keep what the fourth edition of the house reached: raise one only with a reason.
    """

    name: str
    value: float
    most: float
    form: str = ",.0f"


@cache
def modules() -> tuple[Module, ...]:
    """All files, by name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found.append(Module(name, path, text, ast.parse(text)))
    return tuple(found)


def code_lines(module: Module) -> set[int]:
    """Lines with code: neither blank nor comment nor docstring."""
    found: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in skipped | {tokenize.ENDMARKER}:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):
        if (docstring := docstring_of(node)) is not None:
            found -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return found


def docstring_of(node: ast.AST) -> ast.Expr | None:
    """The statement that documents a module, class or function."""
    if not isinstance(node, ast.Module | Definition) or not node.body:
        return None
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return first if is_text and isinstance(first.value.value, str) else None


def length(node: ast.stmt | ast.expr) -> int:
    """Lines of a statement."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def public_names() -> set[str]:
    """Names in ``__all__`` of the packages, and in the files from which they are taken lazily."""
    found: set[str] = set()
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found |= {
                    item.value
                    for item in ast.walk(node.value)
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                }
    for path in SOURCE.rglob("__init__.pyi"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name for alias in node.names}
    return found


def definitions() -> Iterator[tuple[Module, Definition, bool]]:
    """Functions and classes, each with its file, and whether a class holds it."""
    for module in modules():
        stack: list[tuple[ast.AST, bool]] = [(module.tree, False)]
        while stack:
            node, in_class = stack.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, Definition):
                    yield module, child, in_class
                stack.append(
                    (child, isinstance(node, ast.ClassDef) or isinstance(child, ast.ClassDef))
                )


def internal_docstring_lines() -> int:
    """Lines of docstrings with sections at names that nobody imports."""
    public = public_names()
    total = 0
    for module in modules():
        exported = {node.name for node in module.tree.body if isinstance(node, Definition)} & public
        for node in module.tree.body:
            if not isinstance(node, Definition):
                continue
            is_public = node.name in exported
            inner = [child for child in ast.walk(node) if isinstance(child, Definition)]
            for child in inner:
                docstring = docstring_of(child)
                has_sections = docstring is not None and any(
                    section in ast.unparse(docstring).replace("\\n", "\n") for section in SECTIONS
                )
                private = child.name.startswith("_") and not child.name.startswith("__")
                if docstring is not None and has_sections and (not is_public or private):
                    total += length(docstring)
    return total


def short_functions_used_once() -> list[str]:
    """Functions of fewer than ``SHORT_FUNCTION`` lines of code whose name is used once."""
    uses: Counter[str] = Counter()
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name):
                uses[node.id] += 1
            elif isinstance(node, ast.Attribute):
                uses[node.attr] += 1
    found = []
    for module, node, _ in definitions():
        if isinstance(node, ast.ClassDef) or node.decorator_list or node.name.startswith("__"):
            continue
        body = node.body[1:] if docstring_of(node) is not None else node.body
        if uses[node.name] == 1 and sum(map(length, body)) < SHORT_FUNCTION:
            found.append(f"{module.name}:{node.name}")
    return found


def dataclasses() -> list[str]:
    """Classes that ``dataclass`` decorates."""
    return [
        f"{module.name}:{node.name}"
        for module, node, _ in definitions()
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


@cache
def imports() -> dict[str, set[str]]:
    """The files of the library that each file imports, also in functions and for type checkers."""
    known = {module.name for module in modules()}
    found: dict[str, set[str]] = {name: set() for name in known}
    for module in modules():
        for node in ast.walk(module.tree):
            targets: set[str] = set()
            if isinstance(node, ast.Import):
                targets = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                targets = (inner & known) or {node.module}
            found[module.name] |= (targets & known) - {module.name}
    return found


def circles() -> list[list[str]]:
    """Groups of files that import each other; packages that only collect names do not count."""
    graph = {
        name: {target for target in targets if not is_collection(target)}
        for name, targets in imports().items()
        if not is_collection(name)
    }
    return [sorted(group) for group in strongly_connected(graph) if len(group) > 1]


@cache
def is_collection(name: str) -> bool:
    """Whether a file is a package's ``__init__`` without definitions of its own."""
    module = next(module for module in modules() if module.name == name)
    return module.path.name == "__init__.py"


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """Components of a directed graph (Tarjan), without recursion on the interpreter's stack."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(graph):
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
        if start in seen:
            continue
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(sorted(graph[following]))))
    backwards: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            backwards[target].add(name)
    groups, assigned = [], set()
    for root in reversed(order):
        if root in assigned:
            continue
        group, waiting = set(), [root]
        while waiting:
            node = waiting.pop()
            if node not in assigned:
                assigned.add(node)
                group.add(node)
                waiting.extend(backwards[node])
        groups.append(group)
    return groups


def importers(package: str) -> set[str]:
    """Files outside a package that import from it."""
    inside = f"rankwise.{package}"
    return {
        name
        for name, targets in imports().items()
        if not name.startswith(inside)
        and any(target == inside or target.startswith(inside + ".") for target in targets)
    }


def table() -> list[Line]:
    """The figures."""
    files = modules()
    lines = [module.lines for module in files]
    code = {module.name: code_lines(module) for module in files}
    n_code = sum(map(len, code.values()))
    statements = [
        node
        for module in files
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise)
    ]
    of_imports = sum(length(node) for node in statements if not isinstance(node, ast.Raise))
    of_raises = sum(length(node) for node in statements if isinstance(node, ast.Raise))
    tiny = [
        module for module in files if module.lines < TINY_FILE and module.path.stem != "__init__"
    ]
    return [
        Line("lines", sum(lines), 131_300),
        Line("files", len(files), 387),
        Line("lines of the median file", median(lines), -250),
        Line(f"files below {TINY_FILE} lines", len(tiny), 9),
        Line("lines of code", n_code, 84_480),
        Line("imports, share of code", of_imports / n_code, 0.092, ".1%"),
        Line("dataclasses", len(dataclasses()), 426),
        Line("docstring lines with sections, not exported", internal_docstring_lines(), 1_020),
        Line(
            f"functions used once, below {SHORT_FUNCTION} lines",
            len(short_functions_used_once()),
            200,
        ),
        Line("lines of raise", of_raises, 4_565),
        Line("circles of files", len(circles()), 0),
        Line("files that import streams", len(importers("streams")), 6),
        Line("files that import structure", len(importers("structure")), 65),
        Line("public names", len(public_names()), math.inf),
    ]


def main(arguments: list[str]) -> None:
    """Print the table."""
    for line in table():
        print(f"{line.name:<48}{line.value:>10{line.form}}")
    for group in circles():
        print("circle:", ", ".join(name.removeprefix("rankwise.") for name in group))
    if "--packages" in arguments:
        packages: Counter[str] = Counter()
        files: Counter[str] = Counter()
        for module in modules():
            package = ".".join(module.name.split(".")[1:2]) or "rankwise"
            packages[package] += module.lines
            files[package] += 1
        for package, lines in packages.most_common():
            print(f"{package:<24}{lines:>8,} lines{files[package]:>6} files")


if __name__ == "__main__":
    main(sys.argv[1:])
