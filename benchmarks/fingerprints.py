"""Fingerprints of all that must outlive a move of files: results, messages, names, help texts.

    python -m benchmarks.fingerprints --out FILE [--only SECTION ...]
    python -m benchmarks.fingerprints --compare A B [--only SECTION ...]

The first call writes the fingerprints of the library that Python imports (``PYTHONPATH`` chooses
the checkout) as JSON, in about a CPU minute. The second prints what differs, and exits with code 1
if anything does. Results are digests of bits: compare files of one machine, with equal packages
and equal data in ``RANKWISE_DATA``. Results are keyed by estimator, measure or rule, never by file.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import importlib.metadata
import inspect
import json
import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Read when numerical libraries and the command line are imported.
os.environ |= dict.fromkeys(
    ["RANKWISE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1"
)
os.environ |= {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "TERM": "dumb", "NO_COLOR": "1"}

from benchmarks import _fingerprint_results as results
from benchmarks._public_names import modules, public

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost")
SAYS = re.compile(r"error|warn|refus|violat|fail|raise|wrong|damage|hint|did_you|missing", re.I)
MOST_SHOWN = 60  # differences of a section


def names() -> Iterator[tuple[str, str]]:
    """Kind and signature of every public name."""
    for place, thing in public():
        inner = getattr(thing, "__func__", thing)
        try:
            signature = str(inspect.signature(inner)) if callable(inner) else ""
        except ValueError:
            signature = ""
        kind = "class" if inspect.isclass(thing) else type(thing).__name__
        yield place, results.cut(f"{kind} {signature}".strip())


def docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings of public names."""
    for place, thing in public():
        text = getattr(thing, "__doc__", None)
        if callable(thing) or isinstance(thing, (property, classmethod, staticmethod)):
            yield place, inspect.cleandoc(text or "")


def commands() -> Iterator[tuple[str, Any]]:
    """Help of every command, and what ``rankwise list`` prints."""
    from typer import Context
    from typer.main import get_command
    from typer.testing import CliRunner

    from rankwise.cli.main import app

    def run(*words: str) -> tuple[str, Any]:
        text = CliRunner().invoke(app, words, prog_name="rankwise").output
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        return " ".join(words), {"sha256": results.digest(lines), "text": lines}

    def walk(command: Any, *words: str) -> Iterator[tuple[str, Any]]:
        yield run(*words, "--help")
        if hasattr(command, "commands"):
            context = Context(command)
            for name in sorted(command.list_commands(context)):
                yield from walk(command.get_command(context, name), *words, name)

    yield from walk(get_command(app))
    for words in ([], ["--json"], ["--ranker", "lambdamart"], ["--ranker", "rank_svm"]):
        yield run("list", *words)


def is_text(node: ast.AST) -> bool:
    """Whether it can be a text: a constant, an f-string or a sum."""
    return isinstance(node, (ast.Constant, ast.JoinedStr)) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    )


def template(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """The text with {} for what is filled in, and the expressions that fill it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, []
    if isinstance(node, ast.JoinedStr):
        parts = [template(part) for part in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [template(node.left), template(node.right)]
    else:
        return "{}", [node.value if isinstance(node, ast.FormattedValue) else node]
    return "".join(text for text, _ in parts), [hole for _, holes in parts for hole in holes]


def read_texts(node: ast.AST, said: Counter[str], other: Counter[str], is_said: bool) -> None:
    """Count the texts below a node: those of errors and warnings, and other sentences."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.Call) and SAYS.search(ast.unparse(node.func).rpartition(".")[2])
    ):
        is_said = True
    below: list[ast.AST] = list(ast.iter_child_nodes(node))
    if is_text(node):
        text, holes = template(node)
        below = [hole for hole in holes if hole is not node]
        if is_said and text.strip("{} "):
            said[text] += 1
        elif len(text.replace("{}", "").split()) > 2:
            other[text] += 1
    for child in below:
        read_texts(child, said, other, is_said)


def messages() -> Iterator[tuple[str, int]]:
    """Templates of errors and warnings, and how often they occur in the source."""
    yield from sorted(count_texts()[0].items())


def sentences() -> Iterator[tuple[str, int]]:
    """Other texts of three words and more: messages made elsewhere, notes, options, reports."""
    yield from sorted(count_texts()[1].items())


def count_texts() -> tuple[Counter[str], Counter[str]]:
    """Texts in errors and warnings, and other ones."""
    said: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for _, path in modules():
        read_texts(ast.parse(path.read_text("utf-8")), said, other, False)
    return said, other


def versions() -> Iterator[tuple[str, str]]:
    """What results depend on beside the library."""
    yield "machine", f"{platform.machine()}, Python {platform.python_version()}"
    for name in LIBRARIES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, "missing"


SECTIONS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    each.__name__: each
    for each in (
        versions, names, docstrings, commands, messages, sentences, results.measures,
        results.boards, results.fusion, results.clicks, results.fits,
    )
}  # fmt: skip


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """A line, or a diff of texts, for every key that does not have the same value in both."""
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is None or new is None:
            yield f"{'appeared' if old is None else 'vanished'}: {key!r}"
        elif isinstance(old, dict) and "text" in old:
            texts = (value["text"].splitlines() for value in (old, new))
            yield "\n    ".join(
                [f"changed: {key!r}", *difflib.unified_diff(*texts, n=0, lineterm="")]
            )
        else:
            yield f"changed: {key!r}\n    {old!r:.300}\n    {new!r:.300}"


def compare(before: dict[str, Any], after: dict[str, Any], only: list[str]) -> int:
    """Print what differs, section by section; returns the exit code."""
    code = 0
    for section in only:
        found = list(differences(before.get(section, {}), after.get(section, {})))
        code |= bool(found)
        n_keys = len(before.get(section, {}))
        print(
            f"{'DIFF' if found else 'same'}  {section}: {len(found)} differences, {n_keys} before"
        )
        for line in found[:MOST_SHOWN]:
            print(f"  {line}")
        if len(found) > MOST_SHOWN:
            print(f"  ... and {len(found) - MOST_SHOWN} more")
    return code


def main() -> int:
    """Write fingerprints, or compare those of two files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("A", "B"))
    parser.add_argument("--only", nargs="+", choices=[*SECTIONS], default=[*SECTIONS])
    args = parser.parse_args()
    if args.compare:
        before, after = (json.loads(path.read_text("utf-8")) for path in args.compare)
        return compare(before, after, args.only)
    if args.out is None:
        parser.error("pass --out FILE or --compare A B")
    found = {}
    for section in args.only:
        start = time.process_time()
        found[section] = dict(SECTIONS[section]())
        seconds = time.process_time() - start
        print(f"{section}: {len(found[section])} in {seconds:.1f} s", file=sys.stderr, flush=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
