"""Docstrings keep one parameter a line, and no phrase twice, as a wrong re-wrap leaves them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [path for folder in ("src", "papers/src") for path in sorted((ROOT / folder).rglob("*.py"))]
TWO_PARAMETERS = re.compile(r"^[\w*, ]+ : .* \w+ : .+$", re.MULTILINE)
SAID_TWICE = re.compile(r"\b([a-z]+(?:,? [a-z]+){4,}),? \1\b", re.IGNORECASE)


def docstrings(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
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
