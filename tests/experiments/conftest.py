"""The toy experiment as the only known one."""

from __future__ import annotations

import pytest

from rankwise_papers.framework.experiment import ExperimentEntry, experiments

TOY = ExperimentEntry(
    "tests.experiments.toy:Toy", "Means of numbers", "Nobody, 1 (2000)", ("absent",)
)


@pytest.fixture
def toy(monkeypatch):
    """The key under which it is known."""
    known = experiments()
    for key in list(known):
        monkeypatch.delitem(known, key)
    monkeypatch.setitem(known, "toy", TOY)
    return "toy"
