"""Rules for names: one noun a concept, functions that other files call are named by verbs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/rankwise"
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
        "bound",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "grown",
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
        "understood",
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
    "as_text",
    "known_datasets",
    "known_sources",
    "paired_test",
    "stratified_mean",
    "stratified_means",
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
        if not path.stem.startswith("__"):
            places[path.stem].append(path.as_posix())
    shared = {stem: paths for stem, paths in places.items() if len(paths) > 1}
    twins = {
        stem
        for stem, paths in shared.items()
        if len(paths) == 2 and sum(path.startswith("kernels/") for path in paths) == 1
    }
    assert {stem: paths for stem, paths in shared.items() if stem not in twins} == {}


def test_functions_of_other_files_are_named_by_verbs() -> None:
    """No participle and no preposition begins the name of a function that another file imports."""
    imported = {
        (node.module, name.name)
        for _, tree in parsed_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    wrong = [
        f"{path}: {node.name}"
        for path, tree in parsed_files()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and (module_name(path), node.name) in imported
        and node.name not in PUBLIC
        and is_participle_or_preposition(node.name)
    ]
    assert wrong == []


def test_no_variable_is_a_pronoun() -> None:
    """No variable is called "of", "one" or "mine"."""
    wrong = [
        f"{path}:{node.lineno}: {name}"
        for path, tree in parsed_files()
        for node, name in variables(tree)
        if name in VARIABLES
    ]
    assert wrong == []


@cache
def parsed_files() -> list[tuple[Path, ast.Module]]:
    """All source files, relative to the package, with their syntax trees."""
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE), ast.parse(path.read_text("utf-8"))) for path in paths]


def module_name(path: Path) -> str:
    """Dotted name of a file of the package."""
    return ".".join(("rankwise", *path.with_suffix("").parts)).removesuffix(".__init__")


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
