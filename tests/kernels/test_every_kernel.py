"""Every module of kernels has a module of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankwise.kernels

MODULES = sorted(
    path.stem for path in Path(rankwise.kernels.__path__[0]).glob("*.py") if path.stem != "__init__"
)


@pytest.mark.parametrize("module", MODULES)
def test_kernels_are_tested(module):
    text = Path(__file__).with_name(f"test_{module}.py").read_text("utf-8")
    assert f"rankwise.kernels.{module} import" in text
