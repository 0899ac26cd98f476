"""Tampered files of every estimator, and what a check of a model must cover."""

from __future__ import annotations

import sys
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from rankwise._registry import REGISTRY
from rankwise.persistence import RESULT_TYPES
from rankwise.structure.state_rules import structure_of
from tests.fuzz.campaign import run_campaign
from tests.fuzz.models import MAKERS, _change_entries, _entries, fitted, model_file

EVERY = pytest.mark.parametrize("name", list(MAKERS))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
def test_tampered_files_are_refused_or_predict(tmp_path, monkeypatch):
    for name in MAKERS:
        (tmp_path / f"{name}.skops").write_bytes(model_file(name))
    monkeypatch.setenv("FUZZ_MODELS", str(tmp_path))
    report = run_campaign(list(MAKERS), 1, find="tests.fuzz.models:find")
    assert not report.failures, str(report)
    refused = sum(counts.refused for counts in report.counts.values())
    assert refused > len(MAKERS) / 2, "the mutations do not damage"


def test_archive_entries_are_dropped_renamed_and_repeated():
    data = model_file("ridge")
    names = [name for name, _ in _entries(data)]
    found = [
        [name for name, _ in _change_entries(np.random.default_rng(seed), _entries(data))]
        for seed in range(60)
    ]
    assert any(len(new) < len(names) for new in found)
    assert any(len(new) == len(names) and new != names for new in found)
    assert any(len(set(new)) < len(new) for new in found)
    assert any(len(set(new)) > len(names) for new in found)


@EVERY
def test_every_fitted_attribute_has_a_rule(name):
    model = fitted(name)
    if model is None:
        pytest.skip("needs an extra that is not installed")
    rules = structure_of(type(model))
    if type(model).__module__.startswith("rankwise."):
        without = model.__getstate__().keys() - rules.keys() - {*model._get_param_names()}
        assert not without, f"declare {sorted(without)} in {type(model).__name__}._structure"


def test_every_estimator_is_attacked():
    assert REGISTRY.keys() <= MAKERS.keys()


@pytest.mark.parametrize("path", RESULT_TYPES)
def test_every_part_of_a_model_has_rules(path):
    module, _, name = path.rpartition(".")
    cls = getattr(__import__(module, fromlist=[name]), name)
    if issubclass(cls, BaseEstimator):  # declared attributes are checked where one is fitted
        return
    assert structure_of(cls).keys() == {field.name for field in fields(cls)}
