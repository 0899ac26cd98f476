"""Origins name the libraries of an estimator and change with the code that it runs."""

from __future__ import annotations

import functools
import importlib
import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise import RidgeRanker
from rankwise.selection.cells import fingerprint as source_files
from rankwise.selection.cells.fingerprint import SOURCE, changes, origin
from tests.selection.helpers import Column

ROOT = Path(__file__).parents[2]
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


def sources(estimator):
    """Hashes of the user's code by the name of a module, class or function."""
    found = origin(estimator).items()
    named = {name.removeprefix(SOURCE): of for name, of in found if name.startswith(SOURCE)}
    del named["rankwise"]
    return named


@pytest.mark.parametrize(
    "changed", [{part: "2"} for part in PARTS if part != "unused"] + [{"helper": "2.0"}]
)
def test_the_source_covers_what_the_class_runs(monkeypatch, changed):
    before = sources(build(monkeypatch)())
    assert sources(build(monkeypatch)()) == before
    assert sources(build(monkeypatch, unused="2")()) == before
    assert sources(build(monkeypatch, **changed)()) != before


# Files that an import within ``try`` may name, and that this Python cannot import.
UNREADABLE = {
    "another Python": b"print 'x'\n",
    "not UTF-8": b"x = '\xff'\n",
    "a NUL": b"x = 1\0\n",
    "nested": b"x = " + b"(" * 500 + b")" * 500,
    "unknown encoding": b"# coding: klingon\n",
    "outside": b"from ... import x\nfrom .. import y\nfrom . import z\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_files_that_cannot_be_parsed_count_by_their_text(monkeypatch, tmp_path, text):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "module_with_try.py").write_text(
        "from sklearn.linear_model import Ridge\n"
        "try:\n    import module_unreadable\nexcept Exception:\n    pass\n"
        "class Mine(Ridge):\n    pass\n"
    )
    (tmp_path / "module_unreadable.py").write_bytes(text)
    mine = importlib.import_module("module_with_try").Mine
    monkeypatch.delitem(sys.modules, "module_with_try")
    before = sources(mine())
    assert before.keys() == {"module_with_try", "module_unreadable"}
    (tmp_path / "module_unreadable.py").write_bytes(text + b"# more\n")
    after = sources(mine())
    assert [name for name in before if before[name] != after[name]] == ["module_unreadable"]


def test_parameters_count_too(monkeypatch):
    mine = build(monkeypatch)
    assert sources(make_pipeline(FunctionTransformer(np.log1p), Ridge())) == {}
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
        return sources(Column(wrapped(step)))

    assert found("0.0") == found("0.0") != found("2.0")


@pytest.mark.parametrize("how", ["key", "argument"])
def test_a_partial_that_code_refers_to_is_followed(monkeypatch, how):
    def found(helper):
        build(monkeypatch, helper)
        module = sys.modules["module_of_mine"]
        step = vars(module)["stepping"]
        held = functools.partial(print, key=step) if how == "key" else functools.partial(step)
        monkeypatch.setattr(module, "held", held)
        return sources(Column(vars(module)["through"]))

    assert found("0.0") == found("0.0") != found("2.0")


INSTALLED = """
from pathlib import Path
folder = Path({folder!r})
info = folder / "other_name-1.5.dist-info"
info.mkdir(parents=True)
(info / "METADATA").write_text("Metadata-Version: 2.1\\nName: other-name\\nVersion: 1.5\\n")
(info / "top_level.txt").write_text("of_the_user")
(info / "RECORD").write_text({record!r})
(folder / "of_the_user").mkdir()
(folder / "of_the_user" / "__init__.py").write_text("from of_the_user.deep import step")
(folder / "of_the_user" / "deep.py").write_text("def step(x):\\n    return x\\n")
import sys
sys.path.append(str(folder))
import of_the_user
from rankwise.selection.cells.fingerprint import origin
from tests.selection.helpers import Column
found = origin(Column(of_the_user.step))
print(found.get("other-name"), [name for name in found if "of_the_user" in name])
"""
RECORD = "of_the_user/__init__.py,sha256=x,42\nof_the_user/deep.py,,\n"


def installed(folder, record, **environment):
    """Version and sources that the origin of a function of an installed package has."""
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED.format(folder=str(folder), record=record)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_installed_packages_count_by_their_version(tmp_path):
    """In the user site; in a folder of ``pip install --target``; not those that are edited."""
    code = "import site; print(site.getusersitepackages())"
    base = {"PYTHONUSERBASE": str(tmp_path / "base")}
    site = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **base}, capture_output=True, text=True,
        check=True,
    ).stdout.strip()  # fmt: skip
    assert installed(site, "", **base) == "1.5 []"
    assert installed(tmp_path / "target", RECORD) == "1.5 []"
    editable = "__editable__.other_name-1.5.pth,sha256=x,42\n"
    own = f"None ['{SOURCE}of_the_user', '{SOURCE}of_the_user.deep']"
    assert installed(tmp_path / "editable", editable) == own


def test_a_module_with_a_name_of_the_standard_library_is_the_users(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "this.py").write_text("def step(x):\n    return x\n")
    monkeypatch.delitem(sys.modules, "this", raising=False)
    import this

    assert f"{SOURCE}this" in origin(Column(this.step))
    monkeypatch.delitem(sys.modules, "this")


FILES = {
    "mine/__init__.py": "",
    "mine/ranker.py": (
        "from sklearn.base import BaseEstimator\nfrom .helpers import used\n\n\n"
        "class Mine(BaseEstimator):\n    def fit(self, X, y):\n"
        "        from mine import late\n        return self\n"
    ),
    "mine/helpers.py": "from mine.constants import *\n\n\ndef used():\n    return 1\n",
    "mine/constants.py": "ONE = 1\n",
    "mine/late.py": "import mine.later\n",
    "mine/later.py": "TWO = 2\n",
    "mine/other.py": "import mine.ranker\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write the files of the user's package, and load its class."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(changed=None, end="\n"):
        for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
            monkeypatch.delitem(sys.modules, name)
        for name, text in FILES.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            added = "NEW = 1\n" if name == changed else ""
            path.write_bytes((text + added).replace("\n", end).encode())
        importlib.invalidate_caches()
        return importlib.import_module("mine.ranker").Mine()

    return load


@pytest.mark.parametrize("changed", FILES)
def test_files_count_with_what_they_import(package, changed):
    before = sources(package())
    assert before.keys() == {name[:-3].replace("/", ".").removesuffix(".__init__")
                             for name in FILES if name != "mine/other.py"}  # fmt: skip
    now = sources(package(changed))
    module = changed[:-3].replace("/", ".").removesuffix(".__init__")
    assert [name for name in before if before[name] != now[name]] == [module] * (
        changed != "mine/other.py"
    )


def test_line_endings_do_not_matter(package, tmp_path, monkeypatch):
    assert sources(package()) == sources(package(end="\r\n"))
    hashes = []
    for name, end in [("unix", b"\n"), ("windows", b"\r\n")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_bytes(b"a = 1" + end)
        place = tmp_path / name / "selection" / "cells" / "fingerprint.py"
        monkeypatch.setattr(source_files, "__file__", str(place))
        hashes.append(source_files.package_hash.__wrapped__())
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(("folder", "counts"), [("export", False), ("cli", False), ("trees", True)])
def test_layers_that_only_show_numbers_do_not_count(tmp_path, monkeypatch, folder, counts):
    def key_after(text):
        (tmp_path / folder / "module.py").write_text(text)
        return source_files.package_hash.__wrapped__()

    (tmp_path / folder).mkdir()
    place = tmp_path / "selection" / "cells" / "fingerprint.py"
    monkeypatch.setattr(source_files, "__file__", str(place))
    assert (key_after("a = 1") != key_after("a = 2")) == counts


def test_all_packages_that_compute_count(monkeypatch):
    monkeypatch.setattr(source_files, "file_hash", lambda files: {name for name, _ in files})
    names = source_files.package_hash.__wrapped__()
    counted = {name.partition("/")[0].removesuffix(".py") for name in names}
    assert {"kernels", "rankers", "selection", "equation", "_registry"} <= counted
    assert not counted & source_files._LAYERS_ABOVE


def test_what_does_not_count_are_the_layers_above():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"]
    place = next(i for i, layer in enumerate(layers) if "selection" in layer)
    above = set(re.findall(r"\w+", " ".join(layers[:place]))) - {"__main__"}
    assert above == source_files._LAYERS_ABOVE


REACHED = """
import functools
import numba
from sklearn.base import BaseEstimator

def target(x):
    return x + {number}

def scaled(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x) * {number}
    return wrapper

class Helper:
    def shift(self, x):
        return x + {number}

TABLE = {{"a": target}}
STEPS = [("a", target)]
HELPER = Helper()
BOUND = HELPER.shift

@numba.vectorize
def vectorized(x):
    return x * {number}

@numba.njit(fastmath={number} == 2)
def compiled(x):
    return x

def by_table(x):
    return TABLE["a"](x)

def by_list(x):
    return STEPS[0][1](x)

def by_instance(x):
    return HELPER.shift(x)

def by_method(x):
    return BOUND(x)

def by_options(x):
    return compiled(x)

@scaled
def by_decorator(x):
    return x

class Mine:
    def scale(self, x, by):
        return x
    twice = functools.partialmethod(scale, by={number})
"""


@pytest.mark.parametrize(
    "name",
    ["by_table", "by_list", "by_instance", "by_method", "by_options", "by_decorator", "Mine",
     "vectorized"],
)  # fmt: skip
def test_code_counts_however_it_is_reached(monkeypatch, name):
    def found(number):
        module = types.ModuleType("module_of_mine")
        monkeypatch.setitem(sys.modules, "module_of_mine", module)
        exec(REACHED.format(number=number), module.__dict__)
        return sources(Column(vars(module)[name]))

    assert found(1) == found(1) != found(2)


@pytest.mark.parametrize("wrapped", [lambda f: {"step": f}, lambda f: {f}, numba.njit])
def test_functions_within_parameters_count(monkeypatch, wrapped):
    def found(helper):
        build(monkeypatch, helper)
        step = vars(sys.modules["module_of_mine"])["stepping"]
        return sources(Column(wrapped(step)))

    assert found("0.0") == found("0.0") != found("2.0")


def test_compiled_functions_are_followed(monkeypatch):
    def ranker(factor):
        kernel = numba.njit(eval(f"lambda x: x * {factor}"))

        class Compiled(BaseEstimator):
            def fit(self, X, y):
                return self

            def predict(self, X):
                return kernel(X[:, 0])

        return Compiled()

    one, same, other = (sources(ranker(factor)) for factor in (1, 1, 2))
    assert any("Compiled" in name for name in one)
    assert one == same != other


def test_using_a_class_does_not_change_its_origin():
    import copy
    import pickle

    before = origin(Column(0))
    pickle.loads(pickle.dumps(copy.deepcopy(Column(0).fit([[0.0]], [0], qid=[0]))))
    assert origin(Column(0)) == before


def test_another_process_finds_the_same():
    code = (
        "from rankwise.selection.cells.fingerprint import origin\n"
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
