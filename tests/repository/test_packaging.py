"""Pinned versions, extras and the version number agree with each other."""

from __future__ import annotations

import ast
import re
import sys
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


def private_names():
    """Libraries of which the package uses names that begin with an underscore, and the names."""
    used = {}
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names = [
            f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        ]
        modules = {
            alias.asname or alias.name: alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        for node in ast.walk(tree):
            written = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            root, _, rest = written.partition(".")
            if root in modules and re.fullmatch(r"[\w.]+", rest):
                names.append(f"{modules[root]}.{rest}")
        for name in names:
            library, *parts = name.split(".")
            if library not in {"rankwise", *sys.stdlib_module_names} and any(
                part.startswith("_") and not part.startswith("__") for part in parts
            ):
                used.setdefault(library, set()).add(name)
    return used


def test_libraries_whose_private_names_are_used_have_an_upper_bound():
    used = private_names()
    assert "sklearn" not in used
    assert "lightgbm" in used
    bounded = {
        canonicalize_name(requirement.name)
        for requirement in map(Requirement, REQUIREMENTS)
        if any(bound.operator in ("<", "<=", "==") for bound in requirement.specifier)
    }
    for library, names in used.items():
        assert library in bounded, sorted(names)


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
    here = Version(rankwise.__version__)
    section = "Unreleased\n" if here.is_devrelease else f"{here.base_version} "
    assert f"\n## {section}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
