"""Every experiment keeps the runner's contract; the two distributions agree."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import tomllib
from pathlib import Path

import pytest

import rankwise_papers
from rankwise._version import RELEASE
from rankwise.experiments import Experiment
from rankwise_papers.experiments import EXPERIMENTS
from rankwise_papers.framework.experiment import experiments

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
MODULES = sorted(
    info.name for info in pkgutil.walk_packages(rankwise_papers.__path__, "rankwise_papers.")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=options).failed == 0


def test_the_entry_point_announces_the_table():
    installed = experiments()
    assert {key: installed.get(key) for key in EXPERIMENTS} == EXPERIMENTS


def test_both_distributions_have_one_version():
    assert rankwise_papers.__version__ == RELEASE
    assert f"rankwise=={RELEASE}" in PROJECT["dependencies"]


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_registered_experiments_keep_the_contract(key):
    experiment = EXPERIMENTS[key].load()
    assert isinstance(experiment, Experiment)
    assert set(experiment.data()) == set(EXPERIMENTS[key].data)
    assert experiment.protocol().strip()
    for quick in (False, True):
        cells = experiment.cells(quick)
        names = [cell.name for cell in cells]
        assert len(set(names)) == len(names) > 0
        assert {cell.data for cell in cells} - {""} <= set(experiment.data())
        for table in experiment.tables({}, quick):
            assert all(value.ours is None for value in table.values if value.paper is not None)
