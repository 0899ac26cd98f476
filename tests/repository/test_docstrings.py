"""Docstrings keep one parameter a line and no phrase twice; comments explain dense code."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
FILES = [path for folder in ("src", "papers/src") for path in sorted((ROOT / folder).rglob("*.py"))]
TWO_PARAMETERS = re.compile(r"^[\w*, ]+ : .* \w+ : .+$", re.MULTILINE)
SAID_TWICE = re.compile(r"\b([a-z]+(?:,? [a-z]+){4,}),? \1\b", re.IGNORECASE)


def docstrings(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, DOCUMENTED):
            yield ast.get_docstring(node) or ""


TEXTS = [(path, text) for path in FILES for text in docstrings(path)]


@pytest.mark.parametrize("pattern", [TWO_PARAMETERS, SAID_TWICE])
def test_no_docstring_is_broken(pattern):
    broken = []
    for path, text in TEXTS:
        text = " ".join(text.split()) if pattern is SAID_TWICE else text
        broken += [(str(path.relative_to(ROOT)), found[0]) for found in pattern.finditer(text)]
    assert broken == [], "re-wrap these docstrings"


def test_what_a_wrong_wrap_leaves_is_found():
    assert TWO_PARAMETERS.search("x : ndarray, or an object n_iter : int converged : bool")
    assert SAID_TWICE.search("Width of the kernel, as in Width of the kernel, as in rbf")


PACKAGES = (
    "",
    ".clicks",
    ".decisions",
    ".features",
    ".fusion",
    ".labels",
    ".preferences",
    ".rankers",
    ".text",
)


def public_estimators():
    modules = [importlib.import_module(f"rankwise{package}") for package in PACKAGES]
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {n: cls for n, cls in found.items() if inspect.isclass(cls) and hasattr(cls, "fit")}


def test_every_estimator_gives_its_complexity():
    estimators, silent = public_estimators(), []
    assert len(estimators) > 70
    for name, cls in estimators.items():
        notes = (inspect.getdoc(cls) or "").partition("Notes\n-----\n")[2]
        notes = re.split(r"\n\n\w[\w ]*\n-{3,}\n", notes)[0]
        # "from memory" is how a formulation was written down.
        if "O(" not in notes or not re.search(r"(?i)(?<!from )\bmemory\b|\bbytes\b", notes):
            silent.append(name)
    assert silent == [], "Notes give the time and the memory of a fit"


def explained_share(folder):
    """Lines of comments per line of code in a folder; docstrings are neither."""
    comments, code = set(), set()
    for path in sorted((ROOT / "src/rankwise" / folder).rglob("*.py")):
        source = path.read_text("utf-8")
        skipped = set()
        for node in ast.walk(ast.parse(source)):
            body = getattr(node, "body", None)
            if isinstance(node, DOCUMENTED) and body and ast.get_docstring(node) is not None:
                skipped.update(range(body[0].lineno, body[0].end_lineno + 1))
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                if not token.string.startswith(("# fmt", "# type", "# noqa")):
                    comments.add((path, token.start[0]))
            elif token.string.strip():
                lines = range(token.start[0], token.end[0] + 1)
                code.update((path, line) for line in lines if line not in skipped)
    return len(comments) / len(code)


@pytest.mark.parametrize("folder", ["kernels", "solvers", "trees"])
def test_decisions_are_explained(folder):
    """Where code is dense, comments say why, five or more per 100 lines of code."""
    assert explained_share(folder) >= 0.05
