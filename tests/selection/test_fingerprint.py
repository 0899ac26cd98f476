"""Fingerprints change with everything that may change numbers, and with nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numba
import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rankwise.datasets.data import Fold, RankingData
from rankwise.selection.cells.fingerprint import data_fingerprint, fingerprint, fold_fingerprint


def adder(amount):
    def add(x):
        return x + amount

    return add


DISTINCT = [
    None, True, 1, 1.0, "1", b"1", [1, 2], [2, 1], {1, 2}, {"a": 1}, {"a": 1.0}, [["a", 1]],
    np.arange(3), np.arange(3.0), np.arange(3).reshape(3, 1), sparse.csr_array(np.eye(2)),
    float("nan"), np.random.RandomState(0), np.random.RandomState(1), np.random.default_rng(0),
    Ridge, Ridge(), Ridge(alpha=2.0), make_pipeline(Ridge()),
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(StandardScaler(with_mean=False), Ridge()),
    GridSearchCV(Ridge(), {"alpha": [1]}, cv=GroupKFold(3)),
    GridSearchCV(Ridge(), {"alpha": [1]}, cv=GroupKFold(4)),
    np.log, np.exp, len, partial(adder, 1), partial(adder, 2), adder(1), adder(2),
    lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x + 1, FunctionTransformer(np.log1p),
]  # fmt: skip


def test_different_values_differ_and_equal_ones_agree():
    found = [fingerprint(value) for value in DISTINCT]
    assert len(set(found)) == len(DISTINCT)
    assert [fingerprint(value) for value in DISTINCT] == found
    assert fingerprint(np.float64(1.0)) == fingerprint(1.0)
    assert fingerprint((1, 2)) == fingerprint([1, 2])
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(adder(1)) == fingerprint(adder(1))


def test_another_process_finds_the_same():
    code = (
        "import numpy as np; from sklearn.linear_model import Ridge\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "from rankwise.selection.cells.fingerprint import fingerprint\n"
        "print(fingerprint([make_pipeline(StandardScaler(), Ridge()), {'b', 'a', 'c'}, np.eye(2)]))"
    )
    here = fingerprint([make_pipeline(StandardScaler(), Ridge()), {"b", "a", "c"}, np.eye(2)])
    there = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "12"},
    )
    assert there.stdout.strip() == here


def test_compiled_functions_have_the_same_fingerprint_in_every_process():
    code = (
        "import numba\nfrom tests.selection.test_fingerprint import adder\n"
        "from rankwise.selection.cells.fingerprint import fingerprint\n"
        "print(fingerprint(numba.njit(adder(1))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint(numba.njit(adder(1)))
    others = [numba.njit(adder(2)), numba.njit(fastmath=True)(adder(1)), adder(1)]
    assert done.stdout.strip() not in map(fingerprint, others)


def test_functions_that_refer_to_themselves_are_described():
    def factorial(n):
        return n * (factorial(n - 1) if n > 1 else unset)

    assert fingerprint(factorial) == fingerprint(factorial)
    unset = 1
    assert factorial(3) == 6


def test_arrays_of_objects_are_described_by_these():
    def array(alpha):
        return np.array([Ridge(alpha), adder(1)], dtype=object)

    assert fingerprint(array(1.0)) == fingerprint(array(1.0)) != fingerprint(array(2.0))


def test_an_estimator_that_stays_fitted_when_cloned_counts_with_its_fit():
    def frozen(slope):
        return FrozenEstimator(Ridge().fit([[0.0], [1.0]], [0.0, slope]))

    assert fingerprint(frozen(1.0)) == fingerprint(frozen(1.0)) != fingerprint(frozen(2.0))


def test_what_does_not_pickle_is_named():
    with pytest.raises(TypeError, match="cannot be hashed"):
        fingerprint({"file": sys.stdout})


def test_data_are_told_apart_by_content():
    data = RankingData(
        np.arange(12.0).reshape(6, 2), np.arange(6.0), qid=np.array([1, 1, 2, 2, 3, 3]),
        sample_weight=np.ones(6),
    )  # fmt: skip
    changed = [
        replace(data, X=data.X + np.eye(6, 2)),
        replace(data, X=data.X.astype(np.float32)),
        replace(data, X=sparse.csr_array(data.X)),
        replace(data, y=data.y[::-1]),
        replace(data, qid=data.qid + 1),
        replace(data, qid=data.qid.astype(str)),
        replace(data, qid=data.qid.astype(object)),
        replace(data, sample_weight=None),
        replace(data, sample_weight=np.arange(6.0)),
        data.take(np.arange(5)),
    ]
    found = {data_fingerprint(d) for d in [data, *changed]}
    assert len(found) == 1 + len(changed)
    same = replace(data, X=np.asfortranarray(data.X), name="other", feature_names=["a", "b"])
    assert data_fingerprint(same) == data_fingerprint(data)
    assert fold_fingerprint(Fold(data, None, data)) != fold_fingerprint(Fold(data, data, data))


def test_large_tables_are_hashed_to_the_last_row():
    X = np.zeros((70_000, 1))
    data = RankingData(X, np.zeros(70_000), qid=np.zeros(70_000, dtype=int))
    before = data_fingerprint(data)
    X[-1] = 1.0
    assert data_fingerprint(data) != before
