"""A lean installation works, and errors for absent packages say what needs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise._packages import missing_package

ROOT = Path(__file__).parents[2]
# What each line needs, where only the packages of a lean installation can be imported.
NEEDS = [
    ("pyarrow", "rankwise.datasets.read_table('t.csv', label='y')"),
    ("pyarrow", "rankwise.datasets.write_run(rankwise.fusion.as_run({'q': {'d': 0.5}}), 'r.run')"),
    ("pyarrow", "rankwise.clicks.read_clicks('t.csv')"),
    ("pyarrow", "rankwise.datasets.read_run('r.run')"),
    ("matplotlib", "rankwise.report.plot_tree"),
    ("matplotlib", "from rankwise.report import write_report"),
    ("pooch", "rankwise.datasets.fetch('mq2008', mirror='http://127.0.0.1:9')"),
    ("typer", "import rankwise.__main__; rankwise.__main__.main()"),
    ("lightgbm", "rankwise.LightGBMRanker"),
    ("xgboost", "rankwise.XGBoostRanker"),
    ("catboost", "rankwise.CatBoostRanker"),
    ("torch", "rankwise.ListNet().fit([[0.0], [1.0]], [0, 1])"),
    ("dask", "rankwise.distributed.fit"),
    ("onnx", "rankwise.export.to_onnx(rankwise.RidgeRanker().fit([[0], [1]], [0, 1]))"),
    ("snowballstemmer", "rankwise.text.Analyzer(stemmer='english')('running')"),
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lean")
    (folder / "r.run").write_text("q Q0 d 1 0.5 tag\n")
    (folder / "t.csv").write_text("y,qid,a\n1,1,0.5\n0,1,0.25\n")
    code = f"""
import json, sys, warnings
warnings.simplefilter("ignore")
from tests.lean import BlockedImports
sys.meta_path.insert(0, BlockedImports())
import rankwise
said = []
for line in {[line for _, line in NEEDS]!r}:
    try:
        exec(line)
        said.append("")
    except (ImportError, SystemExit) as error:
        said.append(str(error))
    except Exception as error:
        said.append(repr(error))
print(json.dumps(said))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env=_environment(folder),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _environment(folder):
    search = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": search, "RANKWISE_DATA": "", "RANKWISE_CACHE": str(folder)}


@pytest.mark.parametrize("number", range(len(NEEDS)), ids=[line for _, line in NEEDS])
def test_errors_name_the_absent_package(number, said):
    package, _ = NEEDS[number]
    assert f" needs {package}, which is not installed. Run: pip install " in said[number] or (
        package == "dask" and "needs Dask: pip install" in said[number]
    ), said[number]


def test_a_lean_installation_fits_saves_measures_compares_explains_and_exports(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.lean", "--block"], capture_output=True, text=True,
        check=False, env=_environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "lean:"


def test_extras_are_named():
    assert str(missing_package("A", "torch")).endswith('Run: pip install "rankwise[neural]"')
    assert str(missing_package("A", "rich")) == (
        "A needs rich, which is not installed. Run: pip install rich"
    )
