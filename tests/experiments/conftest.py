"""The toy experiment as the only known one."""

from __future__ import annotations

import pytest

from rankwise.experiments._table import EXPERIMENTS, Entry

TOY = Entry("tests.experiments.toy:Toy", "Means of numbers", "Nobody, 1 (2000)", ("absent",))


@pytest.fixture
def toy(monkeypatch):
    """The key under which it is known."""
    for key in list(EXPERIMENTS):
        monkeypatch.delitem(EXPERIMENTS, key)
    monkeypatch.setitem(EXPERIMENTS, "toy", TOY)
    return "toy"
