"""Pinned versions, extras and the version number agree with each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import rankwise
from rankwise._registry import REGISTRY

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAPERS = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [
    line
    for project in (PROJECT, PAPERS)
    for lines in (project["dependencies"], *project["optional-dependencies"].values())
    for line in lines
    if not line.startswith("rankwise==")
]


def pins():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_dependency_is_pinned_within_its_bounds(requirement):
    requirement = Requirement(requirement)
    assert requirement.specifier, "a lower bound is missing"
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_the_two_builds_of_xgboost_exclude_each_other():
    markers = [
        requirement.marker
        for requirement in map(Requirement, EXTRAS["gbdt"])
        if requirement.name.startswith("xgboost")
    ]
    for platform in ("Linux", "Windows", "Darwin"):
        assert sum(marker.evaluate({"platform_system": platform}) for marker in markers) == 1


def test_the_registry_names_existing_extras():
    assert {entry.extra for entry in REGISTRY.values()} - {""} <= set(EXTRAS)


def test_changelog_has_the_version():
    assert f"\n## {Version(rankwise.__version__).base_version} " in (
        ROOT / "CHANGELOG.md"
    ).read_text("utf-8")
