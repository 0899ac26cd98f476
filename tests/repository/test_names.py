"""Rules for names: one noun a concept, functions that other files call are named by verbs.

Classes and files are those of the library; functions and variables also those of the papers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/rankwise"
FOLDERS = {"src": SOURCE, "papers": ROOT / "papers/src/rankwise_papers"}
PREPOSITIONS = frozenset(
    [
        "after",
        "against",
        "along",
        "as",
        "at",
        "before",
        "beside",
        "between",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "over",
        "per",
        "to",
        "under",
        "upon",
        "with",
        "within",
        "without",
    ]
)
# Participles that do not end in "-ed"; "read", "split", "cut", "put" and "set" are verbs, too.
PARTICIPLES = frozenset(
    [
        "bent",
        "bound",
        "broken",
        "brought",
        "built",
        "caught",
        "chosen",
        "dealt",
        "done",
        "drawn",
        "forgotten",
        "found",
        "frozen",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "left",
        "lost",
        "made",
        "meant",
        "paid",
        "said",
        "seen",
        "sent",
        "shown",
        "sold",
        "sought",
        "spent",
        "stood",
        "taken",
        "thought",
        "told",
        "torn",
        "understood",
        "unfrozen",
        "unknown",
        "unseen",
        "won",
        "worn",
        "woven",
        "written",
    ]
)
VERBS_IN_ED = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed"}
# Pronouns and the like say nothing about the value.
VARIABLES = {"of", "one", "mine", "theirs", "heavy"}
# Public names: of statistics in the literature, of conversions and of constant tables.
PUBLIC = {
    "as_run",
    "known_datasets",
    "known_sources",
    "paired_test",
    "stratified_mean",
    "stratified_means",
    "to_onnx",
    "to_python",
}


def test_class_names_are_unique() -> None:
    """Each class name stands for one thing."""
    places = defaultdict(list)
    for path, tree in parsed_files():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_file_stems_are_unique() -> None:
    """Two files share a stem only if one holds the kernels of the other."""
    places = defaultdict(list)
    for path, _ in parsed_files():
        # Doors have the names of what they open to: rankwise.integrations.results.
        if not path.stem.startswith("__") and path.parts[0] != "integrations":
            places[path.stem].append(path.as_posix())
    shared = {stem: paths for stem, paths in places.items() if len(paths) > 1}
    twins = {
        stem
        for stem, paths in shared.items()
        if len(paths) == 2 and sum(path.startswith("kernels/") for path in paths) == 1
    }
    assert {stem: paths for stem, paths in shared.items() if stem not in twins} == {}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_functions_of_other_files_are_named_by_verbs(folder: Path) -> None:
    """No participle and no preposition begins the name of a function that another file uses."""
    used = {name for _, tree in parsed_files(folder) for name in names_of_other_files(tree)}
    wrong = [
        f"{path}: {node.name}"
        for path, tree in parsed_files(folder)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and (module_name(folder, path), node.name) in used
        and node.name not in PUBLIC
        and is_participle_or_preposition(node.name)
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_no_variable_is_a_pronoun(folder: Path) -> None:
    """No variable is called "of", "one" or "mine"."""
    wrong = [
        f"{path}:{node.lineno}: {name}"
        for path, tree in parsed_files(folder)
        for node, name in variables(tree)
        if name in VARIABLES
    ]
    assert wrong == []


@cache
def parsed_files(folder: Path = SOURCE) -> list[tuple[Path, ast.Module]]:
    """All source files of a package, relative to its folder, with their syntax trees."""
    paths = sorted(folder.rglob("*.py"))
    return [(path.relative_to(folder), ast.parse(path.read_text("utf-8"))) for path in paths]


def module_name(folder: Path, path: Path) -> str:
    """Dotted name of a file of a package."""
    return ".".join((folder.name, *path.with_suffix("").parts)).removesuffix(".__init__")


def names_of_other_files(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules and names in them that a file imports, or reads as attributes of a module."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield modules.get(node.value.id, ""), node.attr


def is_participle_or_preposition(name: str) -> bool:
    """Whether the first word of a name is neither a verb nor a noun."""
    word = name.strip("_").partition("_")[0]
    ends_in_ed = word.endswith("ed") and word not in VERBS_IN_ED
    return word in PREPOSITIONS or word in PARTICIPLES or ends_in_ed


def variables(tree: ast.Module) -> Iterator[tuple[ast.Name | ast.arg, str]]:
    """Assigned names and parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id
        elif isinstance(node, ast.arg):
            yield node, node.arg
