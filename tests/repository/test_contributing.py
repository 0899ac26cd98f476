"""The recipes of CONTRIBUTING.md work: follows them to the letter in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from numba.core.caching import UserProvidedCacheLocator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands for a POSIX shell")
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
RECIPES = [
    "Debug and profile",
    "Add a ranker",
    "Add a loss",
    "Add a solver or a rule of tree growth",
    "Add a feature map",
    "Add a measure",
    "Add a data set or a file format",
    "Add a command",
    "Add an experiment",
]
STEP = re.compile(
    r"(?P<verb>Create|Add to)(?: `(?P<table>[^`]+)` in)? `(?P<path>[^`]+)`:\n\n"
    r"```\w+\n(?P<text>.*?)^```$"
    r"|^```console\n(?P<commands>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Workplace:
    """A copy of the sources and tests, and the way to run commands on it."""

    root: Path

    def follow(self, recipe):
        """Do what the recipe says; return the output of its commands, one by one."""
        outputs = []
        for step in STEP.finditer(section(recipe)):
            if step["commands"]:
                outputs += [self.run(line) for line in step["commands"].splitlines()]
            elif step["verb"] == "Create":
                path = self.root / step["path"]
                assert not path.exists()
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step["text"], encoding="utf-8")
            else:
                self.add_to_table(self.root / step["path"], step["table"], step["text"])
        return outputs

    def add_to_table(self, path, table, text):
        """Insert text after the line that opens the table; append it to a file."""
        source = path.read_text("utf-8")
        place = len(source)
        if table is not None:
            start = re.search(rf"^{re.escape(table)}\b.*[\[{{(]\n", source, re.MULTILINE)
            assert start, f"{path} has no table {table}"
            place = start.end()
        path.write_text(source[:place] + text + source[place:], encoding="utf-8")

    def run(self, command):
        scripts = Path(sys.executable).parent
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                str(self.root / folder) for folder in ("src", "papers/src")
            ),
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        }
        done = subprocess.run(
            command, shell=True, cwd=self.root, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def section(title):
    text = GUIDE.read_text("utf-8")
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"CONTRIBUTING.md has no section {title!r}"
    return found[1]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """One copy for all recipes, so that kernels are compiled once."""
    root = tmp_path_factory.mktemp("workplace")
    for name in ("src", "tests", "papers"):
        shutil.copytree(ROOT / name, root / name)  # with the bytecode, which stays valid
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, root)
    take_compiled_kernels(root)
    return Workplace(root)


def take_compiled_kernels(root):
    """Copy what Numba has cached for the kernels of these sources to the place of the copy's."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if not folder:
        return
    kernels = "src/rankwise/kernels/topk.py"
    cached, copied = (
        Path(folder, UserProvidedCacheLocator.get_suitable_cache_subpath(str(tree / kernels)))
        for tree in (ROOT, root)
    )
    if cached.exists():
        shutil.copytree(cached, copied, dirs_exist_ok=True)


def test_every_recipe_is_tested():
    titles = re.findall(r"^## (.*)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    # The first sections have rules; tests/repository/test_house.py keeps those of the house.
    assert titles == ["Write tests", "Keep the house small", *RECIPES]


def test_debug_and_profile(workplace):
    quick, plain, profile = workplace.follow("Debug and profile")
    assert re.search(r"[1-9]\d* passed", quick)
    assert "1 passed" in plain
    assert "(hinge_curvature)" in profile


def test_add_a_ranker(workplace):
    _, listed, tested, compared = workplace.follow("Add a ranker")
    assert "covariance" in listed
    assert re.search(r"[1-9]\d* passed", tested)
    assert "covariance" in compared


def test_add_a_loss(workplace):
    (tested,) = workplace.follow("Add a loss")
    assert "1 passed" in tested


def test_add_a_solver(workplace):
    (tested,) = workplace.follow("Add a solver or a rule of tree growth")
    assert "1 passed" in tested


def test_add_a_feature_map(workplace):
    _, tested, predicted = workplace.follow("Add a feature map")
    assert re.search(r"[1-9]\d* passed", tested)
    assert predicted.startswith("[")


def test_add_a_measure(workplace):
    evaluated, compared = workplace.follow("Add a measure")
    assert "TopGrade" in evaluated
    assert "TopGrade" in compared


def test_add_a_data_set(workplace):
    loaded, compared, _, read, split = workplace.follow("Add a data set or a file format")
    assert "RankingData('tiny fold1 train': 4 rows, 2 queries, 2 features" in loaded
    assert "linear_regression" in compared
    assert "RankingData('tiny': 8 rows, 4 queries, 1 features" in read
    assert "linear_regression" in split


def test_add_a_command(workplace):
    helped, counted = workplace.follow("Add a command")
    assert "Count the rows and queries" in helped
    assert re.search(r"train +\d+ +\d+", counted)


def test_add_an_experiment(workplace):
    listed, tested, reproduced = workplace.follow("Add an experiment")
    assert "uniform-means" in listed
    assert "1 passed" in tested
    assert "2 met" in reproduced
