"""Every module of kernels is tested here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankwise.kernels

MODULES = sorted(
    path.stem for path in Path(rankwise.kernels.__path__[0]).glob("*.py") if path.stem != "__init__"
)


@pytest.mark.parametrize("module", MODULES)
def test_kernels_are_tested(module):
    tests = Path(__file__).parent.glob("test_*.py")
    assert any(f"rankwise.kernels.{module} import" in path.read_text("utf-8") for path in tests)


@pytest.mark.parametrize("module", MODULES)
def test_kernels_do_without_what_is_slow_to_compile(module):
    """As the docstring of the package says; `sorting` has a sort that compiles in a tenth."""
    text = (Path(rankwise.kernels.__path__[0]) / f"{module}.py").read_text("utf-8")
    assert re.findall(r"np\.(?:arange|argsort|lexsort|sort|unique)\(", text) == []
