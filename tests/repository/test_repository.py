"""Files about the repository agree with the package: citation, changelog, workflows, hooks."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import rankwise

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
PYTHON = "Programming Language :: Python :: 3."
AT_THE_TOP = {
    ".ci", ".github", ".gitignore", ".pre-commit-config.yaml", ".readthedocs.yaml", "CHANGELOG.md",
    "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "RELEASING.md",
    "SECURITY.md", "benchmarks", "conftest.py", "constraints.txt", "docs", "examples",
    "hatch_build.py", "papers", "pyproject.toml", "src", "tests",
}  # fmt: skip


def workflow(name):
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))


def test_no_file_that_an_example_wrote_is_tracked():
    git = shutil.which("git")
    listed = git and subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if not listed or listed.returncode:
        pytest.skip("git does not list these files")
    assert {name.split("/")[0] for name in listed.stdout.splitlines()} == AT_THE_TOP


def test_the_citation_is_of_the_last_release():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version, date = re.search(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE).groups()
    assert (version, date) == (CITATION["version"], str(CITATION["date-released"]))
    here = Version(rankwise.__version__)
    assert here.is_devrelease or here == Version(version)


def test_workflows_test_the_versions_of_python_that_are_promised():
    promised = [
        line.removeprefix("Programming Language :: Python :: ")
        for line in PROJECT["classifiers"]
        if line.startswith(PYTHON)
    ]
    matrix = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={min(promised, key=Version)}"


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflows_call_targets_of_the_makefile(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    steps = [step for job in workflow(name)["jobs"].values() for step in job["steps"]]
    lines = [re.sub(r" [A-Z]+=.*", "", step.get("run", "")) for step in steps]
    calls = [call for line in lines for call in re.findall(r"\bmake ([a-z -]+)", line)]
    called = {word for call in calls for word in call.split() if word[0] != "-"}
    assert called
    assert called <= targets


@pytest.mark.parametrize("name", ["ci.yml", "pages.yml", "release.yml"])
def test_jobs_have_a_limit_and_few_rights(name):
    text = workflow(name)
    assert text["permissions"]["contents"] == "read"
    for job in text["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 180
        for step in job["steps"]:
            assert re.search(r"@(v\d+|release/v\d+)$", step.get("uses", "@v0"))
            # What strangers can choose, such as names of branches, comes through the environment.
            assert not re.search(r"\$\{\{ *github\.(event|head_ref)", step.get("run", ""))


def test_workflows_run_what_the_machine_of_a_contributor_may_lack():
    jobs = workflow("ci.yml")["jobs"]
    (torch,) = [step for step in jobs["tests"]["steps"] if "[neural]" in step.get("run", "")]
    assert torch["if"] == "matrix.dependencies == 'pinned'"
    assert {row["dependencies"] for row in jobs["tests"]["strategy"]["matrix"]["include"]} == {
        "oldest", "pinned",
    }  # fmt: skip
    portable = jobs["portable"]
    assert portable["strategy"]["matrix"]["os"] == ["macos-latest", "windows-latest"]
    # There is no make on Windows, and pwsh reads quotes and brackets in its own way.
    assert portable["defaults"]["run"]["shell"] == "bash"
    assert not any("make" in step.get("run", "") for step in portable["steps"])
    assert any("pre-commit" in step.get("run", "") for step in jobs["lint"]["steps"])
    (timing,) = [step for step in jobs["hot-kernels"]["steps"] if "worktree" in step.get("run", "")]
    (module,) = re.findall(r"-m (benchmarks\.\w+)", timing["run"])
    assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_installed_extras_exist():
    text = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    extras = re.findall(r'-e "\.\[([\w,]+)\]"', text)
    assert {name for names in extras for name in names.split(",")} <= {
        *PROJECT["optional-dependencies"]
    }


def test_a_release_publishes_both_distributions():
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text("utf-8"))["project"]
    publish = workflow("release.yml")["jobs"]["publish"]
    assert publish["strategy"]["matrix"]["project"] == [PROJECT["name"], papers["name"]]


def test_the_hook_and_the_pins_have_one_version_of_ruff():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    (hook,) = [hook for hook in hooks if hook["repo"].endswith("ruff-pre-commit")]
    assert f"\nruff=={hook['rev'].removeprefix('v')}\n" in (ROOT / "constraints.txt").read_text()
