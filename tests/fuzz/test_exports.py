"""The target of exports: some cases, and a threshold that is off by one number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz import exports
from tests.fuzz.harness import Counts, Failure, run_cases


def run(n_cases, tmp_path):
    (target,) = exports.TARGETS
    return [
        outcome
        for outcome in run_cases(target, range(n_cases), tmp_path, Counts(target.name))
        if isinstance(outcome, Failure)
    ]


@pytest.fixture
def quick_models(monkeypatch):
    """Models whose kernels compile in no time; campaigns draw all of them."""
    names = ("orboost", "ranking_tree", "lightgbm", "xgboost")
    kept = {name: exports.MODELS[name] for name in names if name in exports.MODELS}
    monkeypatch.setattr(exports, "MODELS", kept)


def test_exports_take_the_branches_of_the_model(quick_models, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzz.harness._limit_addresses", lambda spare: None)
    assert not run(25, tmp_path)


def test_a_threshold_beside_the_right_one_is_found(quick_models, tmp_path, monkeypatch):
    from rankwise.export import elasticsearch as ranklib

    monkeypatch.setattr("tests.fuzz.harness._limit_addresses", lambda spare: None)
    exact = ranklib.drop_missing_tests

    def move_thresholds(tree):
        tree = exact(tree)
        moved = np.nextafter(tree.threshold.astype(np.float32), np.float32(np.inf))
        return replace(tree, threshold=moved.astype(np.float64))

    monkeypatch.setattr(exports, "FORMATS", ["ranklib"])
    monkeypatch.setattr(ranklib, "drop_missing_tests", move_thresholds)
    assert run(10, tmp_path)
