"""Origins name the libraries of an estimator and change with the code that it runs."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import types

import numba
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise import RidgeRanker
from rankwise.selection.origin import SOURCE, changes, origin
from tests.selection.helpers import Column

SOURCE_CODE = """
import functools
import numpy as np
from sklearn.base import BaseEstimator
import helpers_of_mine

WEIGHTS = {{"a": [1.0, {constant}]}}

def used(x):
    return x * {function}

def unused(x):
    return x * {unused}

def stepping(x, by=None):
    return helpers_of_mine.shift(x)

held = None

def through(x):
    return held(x)

class Base(BaseEstimator):
    def __init__(self, step=None):
        self.step = step

    @property
    def power(self):
        return {prop}

    @functools.lru_cache
    def cached(self):
        return {cached}

    @staticmethod
    def still(x):
        return {static}

class Mine(Base):
    def fit(self, X, y):
        return self

    def predict(self, X):
        def inner(z):
            return used(z) + helpers_of_mine.shift(z) + WEIGHTS["a"][1]
        return inner(X[:, 0])
"""
PARTS = {
    "constant": "1.0", "function": "1", "unused": "1", "prop": "1", "cached": "1", "static": "1",
}  # fmt: skip


def build(monkeypatch, helper="0.0", **changed):
    """The class of a module made from the template."""
    helpers = types.ModuleType("helpers_of_mine")
    exec(f"def shift(z):\n    return z + {helper}", helpers.__dict__)
    monkeypatch.setitem(sys.modules, "helpers_of_mine", helpers)
    module = types.ModuleType("module_of_mine")
    monkeypatch.setitem(sys.modules, "module_of_mine", module)
    exec(SOURCE_CODE.format(**(PARTS | changed)), module.__dict__)
    return module.Mine


def source_of(estimator, name="module_of_mine:Mine"):
    return origin(estimator)[SOURCE + name]


@pytest.mark.parametrize(
    "changed", [{part: "2"} for part in PARTS if part != "unused"] + [{"helper": "2.0"}]
)
def test_the_source_covers_what_the_class_runs(monkeypatch, changed):
    before = source_of(build(monkeypatch)())
    assert source_of(build(monkeypatch)()) == before
    assert source_of(build(monkeypatch, unused="2")()) == before
    assert source_of(build(monkeypatch, **changed)()) != before


def test_parameters_count_too(monkeypatch):
    mine = build(monkeypatch)
    found = origin(make_pipeline(FunctionTransformer(np.log1p), Ridge()))
    assert not [name for name in found if name.startswith(SOURCE) and "rankwise" not in name]
    function = vars(sys.modules["module_of_mine"])["used"]
    plain = origin(Column(0)).keys()
    for step in (function, functools.partial(function, 1), mine, [mine()], mine().predict):
        assert origin(Column(step)).keys() > plain


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda step: functools.partial(step, 1),
        lambda step: functools.partial(print, step),
        lambda step: functools.partial(print, key=step),
        lambda step: [("step", functools.partial(functools.partial, step))],
    ],
    ids=["function", "argument", "keyword", "nested"],
)
def test_what_a_partial_holds_counts_with_the_functions_it_calls(monkeypatch, wrapped):
    def found(helper):
        build(monkeypatch, helper)
        step = vars(sys.modules["module_of_mine"])["stepping"]
        return source_of(Column(wrapped(step)), "module_of_mine:stepping")

    assert found("0.0") == found("0.0") != found("2.0")


@pytest.mark.parametrize("how", ["key", "argument"])
def test_a_partial_that_code_refers_to_is_followed(monkeypatch, how):
    def found(helper):
        build(monkeypatch, helper)
        module = sys.modules["module_of_mine"]
        step = vars(module)["stepping"]
        held = functools.partial(print, key=step) if how == "key" else functools.partial(step)
        monkeypatch.setattr(module, "held", held)
        return source_of(Column(vars(module)["through"]), "module_of_mine:through")

    assert found("0.0") == found("0.0") != found("2.0")


def test_packages_of_the_user_site_count_by_their_version(tmp_path):
    code = (
        "import site, sys\n"
        "from pathlib import Path\n"
        "folder = Path(site.getusersitepackages())\n"
        "(folder / 'other_name-1.5.dist-info').mkdir(parents=True)\n"
        "(folder / 'other_name-1.5.dist-info' / 'METADATA').write_text(\n"
        "    'Metadata-Version: 2.1\\nName: other-name\\nVersion: 1.5\\n')\n"
        "(folder / 'other_name-1.5.dist-info' / 'top_level.txt').write_text('of_the_user')\n"
        "(folder / 'of_the_user.py').write_text('def step(x):\\n    return x\\n')\n"
        "sys.path.append(str(folder))\n"
        "import of_the_user\n"
        "from rankwise.selection.origin import origin\n"
        "from tests.selection.helpers import Column\n"
        "found = origin(Column(of_the_user.step))\n"
        "print(found.get('other-name'), [name for name in found if 'of_the_user' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONUSERBASE": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "1.5 []"


def test_compiled_functions_are_followed(monkeypatch):
    def ranker(factor):
        kernel = numba.njit(eval(f"lambda x: x * {factor}"))

        class Compiled(BaseEstimator):
            def fit(self, X, y):
                return self

            def predict(self, X):
                return kernel(X[:, 0])

        return Compiled()

    (one,), (same,), (other,) = (
        [of for name, of in origin(ranker(f)).items() if "Compiled" in name] for f in (1, 1, 2)
    )
    assert one == same != other


def test_using_a_class_does_not_change_its_origin():
    import copy
    import pickle

    before = origin(Column(0))
    pickle.loads(pickle.dumps(copy.deepcopy(Column(0).fit([[0.0]], [0], qid=[0]))))
    assert origin(Column(0)) == before


def test_another_process_finds_the_same():
    code = (
        "from rankwise.selection.origin import origin\n"
        "from tests.selection.helpers import Column\n"
        "print(sorted(origin(Column(0)).items()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted(origin(Column(0)).items()))


def test_libraries_are_those_that_compute():
    base = {"rankwise", "numpy", "scipy", "scikit-learn", "numba"}
    assert base <= origin(RidgeRanker()).keys() <= base | {f"{SOURCE}rankwise"}
    lightgbm = pytest.importorskip("lightgbm", reason="needs rankwise[gbdt]")
    from rankwise.rankers.adapters.lightgbm import LightGBMRanker

    assert origin(LightGBMRanker())["lightgbm"] == lightgbm.__version__
    assert origin(make_pipeline(LightGBMRanker()))["lightgbm"] == lightgbm.__version__
    assert "lightgbm" in origin(lightgbm.LGBMRegressor())


def test_neural_rankers_depend_on_torch():
    torch = pytest.importorskip("torch", reason="needs rankwise[neural]")
    from rankwise import LambdaRank

    assert origin(LambdaRank())["torch"].partition("+")[0] == torch.__version__.partition("+")[0]


def test_changes_are_told_in_words():
    before = {"lightgbm": "4.5.0", "numpy": "2", f"{SOURCE}m:Mine": "a", f"{SOURCE}rankwise": "b"}
    now = {"lightgbm": "4.6.0", "numpy": "2", f"{SOURCE}m:Mine": "c", "torch": "2.1"}
    assert changes(before, now) == [
        "lightgbm 4.5.0, now 4.6.0", "Mine changed", "source of rankwise changed",
        "torch not used, now 2.1",
    ]  # fmt: skip
    assert changes(now, now) == []
