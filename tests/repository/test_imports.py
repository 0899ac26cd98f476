"""What importing costs and pulls in, and what the repository may hold."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwise
from rankwise.runtime.renames import PUBLIC

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "src" / "rankwise" / "kernels").glob("*.py"))


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_neither_numba_nor_scikit_learn():
    assert run_python(
        "import sys, rankwise; print(sorted({'numba', 'sklearn', 'scipy'} & set(sys.modules)))"
    ).split() == ["[]"]


def test_importing_every_module_compiles_nothing():
    code = """
import importlib, pkgutil
import rankwise
for name in rankwise.__all__:
    try:
        getattr(rankwise, name)
    except ImportError as error:  # an adapter whose library is not installed
        assert "rankwise[" in str(error), error
import rankwise.kernels
from rankwise.runtime.jit import CompiledFunction, is_ready
kernels = compiled = 0
for info in pkgutil.iter_modules(rankwise.kernels.__path__, "rankwise.kernels."):
    module = importlib.import_module(info.name)
    for value in vars(module).values():
        if isinstance(value, CompiledFunction):
            kernels += 1
            compiled += is_ready(value)
print(kernels, compiled)
"""
    kernels, compiled = map(int, run_python(code).split())
    assert kernels > 0
    assert compiled == 0


ROWS_OF_MODELS = {
    **dict.fromkeys(("RidgeRanker", "RankSVM", "RankingTree", "RankingForest"), 60),
    **dict.fromkeys(("RankBoost", "McRank", "ORBoost", "FRank", "AdaRank"), 60),
    "LambdaMART": 10,
}


def test_loaded_models_score_a_few_rows_without_numba(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    np.save(tmp_path / "X.npy", X)
    y, models = (X[:, 0] > 0).astype(int), {}
    for name in ROWS_OF_MODELS:
        models[name] = getattr(rankwise, name)().fit(X, y, qid=np.arange(60) // 10)
        models[name].save(tmp_path / name)
    code = f"""
import sys
from pathlib import Path
import numpy as np
import rankwise
folder = Path({str(tmp_path)!r})
X = np.load(folder / "X.npy")
for name, n_rows in {ROWS_OF_MODELS}.items():
    scores = rankwise.scores(rankwise.load(folder / name), X[:n_rows])
    print(name, "numba" in sys.modules, *scores.tolist())
"""
    lines = run_python(code).splitlines()
    assert len(lines) == len(ROWS_OF_MODELS)
    for line in lines:
        name, has_numba, *scores = line.split()
        assert has_numba == "False", name
        wanted = rankwise.scores(models[name], X[: ROWS_OF_MODELS[name]])
        np.testing.assert_array_equal(np.array(scores, dtype=float), wanted, err_msg=name)


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["reproduce", "list"]])
def test_help_and_list_import_neither_numba_nor_scikit_learn(arguments):
    code = f"""
import sys
from rankwise.cli.main import main
sys.argv = ["rankwise", *{arguments!r}]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
print("\\nheavy:", *sorted({{"numba", "sklearn"}} & set(sys.modules)))
"""
    assert run_python(code).splitlines()[-1].split() == ["heavy:"]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_import_only_numpy_numba_and_kernels(path):
    allowed = {"__future__", "math", "numpy", "numba", "rankwise.runtime.jit"}
    allowed |= {f"rankwise.kernels.{kernel.stem}" for kernel in KERNELS}
    imported = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            library, _, _ = node.module.partition(".")
            imported.add(node.module if library == "rankwise" else library)
    assert imported <= allowed


def test_no_private_names_of_libraries_are_imported():
    line = r"^\s*(?:from|import) (?!rankwise|\.)(\w+(?:\.\w+)*)(?: import (.*))?$"
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for module, names in re.findall(line, path.read_text("utf-8"), re.MULTILINE):
            parts = [*module.split("."), *re.findall(r"\w+", names)]
            if any(re.match("_[a-z]", part) for part in parts) and module != "__future__":
                found.setdefault(module, []).append(path.name)
    assert found == {}


def tracked_files():
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_tracked_files_name_no_machine():
    # Brackets keep these patterns from matching this file.
    machine = re.compile(
        rb"/w[o]rk/|/t[m]p/\w|/r[o]ot/|/h[o]me/\w|/[U]sers/\w|pypi[.]or[g]|pythonh[o]sted"
        rb"|index-ur[l]|find-link[s]"
    )
    found = [
        f"{path.relative_to(ROOT)}: {match.group()!r}"
        for path in tracked_files()
        if (match := machine.search(path.read_bytes()))
    ]
    assert found == []


def test_tracked_files_are_small():
    limit = 1_500_000
    large = {str(path): size for path in tracked_files() if (size := path.stat().st_size) > limit}
    assert large == {}


# Libraries of extras, those that only reports and files need, and those of tests.
EXTRAS = (
    *("torch", "lightgbm", "xgboost", "catboost", "dask", "distributed", "onnx", "skl2onnx"),
    *("onnxruntime", "snowballstemmer", "matplotlib", "pandas", "polars", "ir_measures"),
    *("pytrec_eval", "rankwise_papers"),
)
BLOCK = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def test_star_imports_work_without_extras():
    code = f"""{BLOCK}
import pkgutil
import rankwise
packages = [info.name for info in pkgutil.iter_modules(rankwise.__path__) if info.ispkg]
for package in ["", *(f".{{name}}" for name in packages), ".exceptions", ".typing"]:
    exec(f"from rankwise{{package}} import *")
print(LambdaMART.__name__, metrics.__name__, RowStream.__name__, plan.__name__)
print("LightGBMRanker" in globals(), "write_report" in globals(), "fit" in globals())
for module, name in [("report", "write_report"), ("export", "register_onnx_converters"),
                     ("rankers", "LightGBMRanker"), ("distributed", "fit")]:
    try:
        getattr(getattr(rankwise, module), name)
    except ImportError as error:
        print(error)
"""
    names, found, *errors = run_python(code).splitlines()
    assert names == "LambdaMART rankwise.metrics RowStream plan"
    assert found == "False False False"
    assert errors[0] == (
        "rankwise.report.write_report needs matplotlib, which is not installed. "
        "Run: pip install matplotlib"
    )
    assert errors[1].startswith("rankwise.export.register_onnx_converters needs ")
    assert len(errors) == 4


def test_star_imports_hold_all_names_of_installed_libraries():
    assert {"LambdaMART", "compare", "features", "RankingData"} <= set(rankwise.__all__)
    assert set(rankwise.report.__all__) == set(dir(rankwise.report))


@pytest.mark.parametrize("old", sorted(PUBLIC))
def test_names_that_moved_lead_to_the_new_path(old):
    new = PUBLIC[old]
    package, _, name = old.rpartition(".")
    message = re.escape(f"{old} is now {new}.")
    with pytest.raises(AttributeError, match=message):
        getattr(importlib.import_module(package), name)
    with pytest.raises(ImportError, match=message):
        exec(f"from {package} import {name}")
    module, _, name = new.rpartition(".")
    assert name in importlib.import_module(module).__all__
    assert getattr(importlib.import_module(module), name) is not None


def test_subpackages_are_reached_from_the_package():
    said = run_python(
        "import rankwise; print(rankwise.metrics.__name__, rankwise.datasets.__name__, "
        "'metrics' in dir(rankwise))"
    )
    assert said.split() == ["rankwise.metrics", "rankwise.datasets", "True"]


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        ("rankwise", "RankSvm", "RankSVM"),
        ("rankwise", "evalute", "evaluate"),
        ("rankwise.labels", "CSOV", "CSOVO"),
    ],
)
def test_misspelled_names_get_a_suggestion(package, name, meant):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. Did you mean '{meant}'"):
        getattr(module, name)


def test_unknown_names_get_no_far_fetched_suggestion():
    with pytest.raises(AttributeError, match=r"no attribute 'quux'.$"):
        importlib.import_module("rankwise").quux  # noqa: B018
