"""The page of JSON output: every command with --json prints the keys and types that it lists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from rankwise.cli.main import app
from tests.integrations.commands import call

PAGE = (Path(__file__).parents[2] / "docs/coding_agents.rst").read_text("utf-8")
ROW = re.compile(r"^   \* - ``(\w+)``\n     - (.+)\n     - (.+(?:\n       .+)*)$", re.MULTILINE)
FIT = "rankwise fit judged.csv --ranker ridge --out model.rankwise"
INDEX = "rankwise index documents.jsonl --out index"
# Commands to run before, and the commands whose outputs together have the keys of a section.
CALLS: dict[str, tuple[list[str], list[str]]] = {
    "compare": (
        [],
        [
            "compare judged.csv --rankers ridge --cv 3",
            "compare judged.csv --rankers ridge --cv 3 --learning-curve 4",
        ],
    ),
    "cv": ([], ["cv judged.csv --ranker ridge"]),
    "board": ([], ["board scores.csv", "board scores.csv --report board.html"]),
    "evaluate, one system": (
        [],
        ["evaluate new.run judgements.qrels", "evaluate new.run judgements.qrels --per-query"],
    ),
    "evaluate, several systems": ([], ["evaluate new.run judgements.qrels --baseline old.run"]),
    "evaluate --judge-next": (
        [],
        ["evaluate new.run judgements.qrels --systems old.run --judge-next 5"],
    ),
    "plan": ([], ["plan scores.csv --difference 0.05"]),
    "fit": ([], ["fit judged.csv --ranker ridge --out model.rankwise"]),
    "predict": (
        [FIT],
        [
            "predict model.rankwise judged.csv",
            "predict model.rankwise judged.csv -k 2 --format csv",
            "predict model.rankwise judged.csv --out best.csv",
        ],
    ),
    "info": ([FIT], ["info model.rankwise", "info model.rankwise --importances"]),
    "export": (
        [FIT],
        [
            "export model.rankwise model.py",
            "export model.rankwise model.py --verify judged.csv",
        ],
    ),
    "fuse": (
        [],
        [
            "fuse bm25.run dense.run --out fused.run",
            "fuse bm25.run dense.run --qrels judgements.qrels --out fused.run",
        ],
    ),
    "index": ([], ["index documents.jsonl --out index"]),
    "search": (
        [INDEX],
        ["search index queries.jsonl", "search index queries.jsonl --out found.run"],
    ),
    "prefer": ([], ["prefer votes.csv"]),
    "convert": ([], ["convert judged.csv --out judged.txt"]),
    "lint": ([], ["lint judged.csv"]),
    "list": ([], ["list", "list rankers", "list measures"]),
    "list --ranker": ([], ["list --ranker ridge"]),
    "warm-up": ([FIT], ["warm-up model.rankwise"]),
    "clicks summary": ([], ["clicks summary log.csv", "clicks summary log.csv --report log.html"]),
    "clicks judge": (
        [],
        [
            "clicks judge log.csv --out judged.csv",
            "clicks judge log.csv --out judged.csv --report log.html",
        ],
    ),
    "clicks interleave": ([], ["clicks interleave x.run y.run --out lists.csv"]),
    "clicks test": ([], ["clicks test log.csv"]),
    "clicks off-policy": ([], ["clicks off-policy log.csv x.run --list-propensity p"]),
}


def type_of(value):
    """Type of a JSON value in the words of the page."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "text", int: "number", float: "number", list: "list", dict: "object"}
    return kinds[type(value)]


def sections():
    """Keys of each section of the page, with type and meaning."""
    parts = re.split(r"^(\S.*)\n~+\n", PAGE, flags=re.MULTILINE)[1:]
    return {
        title: {key: (kind, meaning) for key, kind, meaning in ROW.findall(text)}
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("title", CALLS)
def test_commands_print_the_keys_of_the_page(title, folder):
    before, lines = CALLS[title]
    for line in before:
        assert call(line).exit_code == 0
    documented = sections()[title]
    always = {key for key, (_, text) in documented.items() if not text.startswith("Only ")}
    seen = set()
    for line in lines:
        done = call(f"rankwise {line} --json")
        assert done.exit_code == 0, (line, done.stderr)
        found = json.loads(done.stdout)
        assert always <= set(found) <= set(documented), line
        for key, value in found.items():
            kind, _ = documented[key]
            assert type_of(value) in re.split(r", | or (?!false)", kind), (line, key)
        seen |= set(found)
    # AutoRanker's trials take seconds.
    assert set(documented) - seen <= {"history"}


def test_the_page_has_every_command_with_json():
    group = get_command(app)
    found = set()
    for name in group.list_commands(Context(group)):
        command = group.get_command(Context(group), name)
        inner = command.list_commands(Context(command)) if hasattr(command, "commands") else [""]
        for sub in inner:
            leaf = command.get_command(Context(command), sub) if sub else command
            if any("--json" in parameter.opts for parameter in leaf.params):
                found.add(f"{name} {sub}".strip())
    named = {re.split(r", | --", title)[0] for title in sections()}
    assert named == found - {"reproduce"}  # prints the tables of its experiment
    assert set(sections()) == set(CALLS)
