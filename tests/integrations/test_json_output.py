"""The page of JSON output: every command with --json prints the keys and types that it lists."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from rankwise.cli.main import app
from tests.integrations.commands import call

PAGE = (Path(__file__).parents[2] / "docs/coding_agents.rst").read_text("utf-8")
ROW = re.compile(r"^   ``([\w.]+)`` \| (.+?) \| (.+)$", re.MULTILINE)
FIT = "rankwise fit judged.csv --ranker ridge --out model.rankwise"
INDEX = "rankwise index documents.jsonl --out index"
ANSWER = "decide answer new.run judgements.qrels --promise wrong_answers<=0.9 --out rule.json"
CUT = "decide cut new.run judgements.qrels --promise recall>=0.5 --out cut.json"
JUDGE = "evaluate new.run few.qrels --systems old.run --judge judgements.qrels"
# Commands to run before, and the commands whose outputs together have the keys of a section.
CALLS: dict[str, tuple[list[str], list[str]]] = {
    "compare, cv, board, evaluate": (
        [],
        [
            "compare judged.csv --rankers ridge --cv 3 --learning-curve 4",
            "cv judged.csv --ranker ridge",
            "board scores.csv --report board.html",
            "board runs.csv --run seed --system system --score score",
            "evaluate new.run judgements.qrels --baseline old.run --train-data few.qrels",
        ],
    ),
    "evaluate, one system": (
        [],
        [
            "evaluate new.run judgements.qrels --train-data few.qrels",
            "evaluate new.run judgements.qrels --per-query",
        ],
    ),
    "evaluate --judge-next": ([], ["evaluate new.run few.qrels --systems old.run --judge-next 5"]),
    "evaluate --judge": ([], [JUDGE, f"{JUDGE} --documents documents.jsonl"]),
    "plan": ([], ["plan scores.csv --difference 0.05"]),
    "fit": (
        [],
        [FIT.removeprefix("rankwise "), f"{FIT.removeprefix('rankwise ')} --calibrate beta"],
    ),
    "predict": (
        [f"{FIT} --calibrate beta"],
        [
            "predict model.rankwise judged.csv",
            "predict model.rankwise judged.csv --probabilities",
            "predict model.rankwise judged.csv -k 2 --format csv",
            "predict model.rankwise judged.csv -k 2 --format csv --probabilities",
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
    "weights": ([], ["weights signals.csv --current '0.6*similarity + 0.4*recency'"]),
    "decide answer": ([], [ANSWER]),
    "decide cut": ([], [CUT]),
    "decide apply": (
        [f"rankwise {ANSWER}", f"rankwise {CUT}"],
        ["decide apply new.run --rule rule.json", "decide apply new.run --rule cut.json"],
    ),
    "prefer": ([], ["prefer votes.csv --order-effect"]),
    "budget": (
        [],
        [
            "budget bm25.run dense.run judgements.qrels --price 0.001 --seconds 0.02",
            "budget column:f1 column:f2 judged.csv --labels",
        ],
    ),
    "convert": ([], ["convert judged.csv --out judged.txt"]),
    "lint": ([], ["lint moved.csv"]),
    "lint --test-data": ([], ["lint few.qrels --test-data judgements.qrels"]),
    "lint --against": ([FIT], ["lint moved.csv --against model.rankwise"]),
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
    found = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        rows = {key: (kind, meaning) for key, kind, meaning in ROW.findall(text)}
        for key, (_, meaning) in list(rows.items()):
            for other in re.findall(r"the keys of (?:``(\w+)``|this table)", meaning):
                start = f"{other}." if other else ""
                below = [name.removeprefix(start) for name in rows if name.startswith(start)]
                rows |= {f"{key}.{name}": rows[start + name] for name in below}
        found[title] = rows
    return found


def objects_in(value, kind):
    """Objects whose keys the page lists, in a value of this kind: maps have any keys."""
    found = [value]
    for layer in re.findall("map|list", kind):
        found = [x for v in found for x in (v.values() if layer == "map" else v)]
    return [x for x in found if isinstance(x, dict)]


def keys_of_class(name):
    """Keys that the docstring of a public class or method names."""
    target = pkgutil.resolve_name(re.sub(r"\.([A-Z])", r":\1", name))
    fields = [*getattr(target, "__dataclass_fields__", ()), *getattr(target, "_derived", ())]
    return {*fields, *re.findall(r"\w+", inspect.getdoc(target))}


def check(found, documented, before, seen):
    """Check keys and types of an object; ``before`` is its key, and ``seen`` gets its keys."""
    here = {key.rpartition(".")[2]: key for key in documented if key.rpartition(".")[0] == before}
    always = {name for name, key in here.items() if not documented[key][1].startswith("Only ")}
    assert always <= set(found) <= set(here), before
    for name, value in found.items():
        kind, meaning = documented[here[name]]
        seen.add(here[name])
        spelt = "map" if isinstance(value, dict) and kind.startswith("map") else type_of(value)
        assert spelt in re.split(r" or (?!false)", kind.partition(" of ")[0]), here[name]
        for inner in objects_in(value, kind) if value is not None else ():
            if role := re.search(r":\w+:`~([\w.]+)`", meaning):
                assert set(inner) <= keys_of_class(role[1]), here[name]
            else:
                check(inner, documented, here[name], seen)


@pytest.mark.parametrize("title", CALLS)
def test_commands_print_the_keys_of_the_page(title, folder):
    before, lines = CALLS[title]
    for line in before:
        assert call(line).exit_code == 0
    documented, seen = sections()[title], set()
    for line in lines:
        done = call(f"rankwise {line} --json")
        assert done.exit_code == ("moved.csv --against" in line), (line, done.stderr)
        check(json.loads(done.stdout), documented, "", seen)
    # AutoRanker's trials take seconds.
    missing = {
        key for key in set(documented) - seen if not key.startswith("learning_curve.boards.")
    }
    assert missing <= {"history"}


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
    named = {re.sub(" --.*|, one .*", "", title) for title in sections()}
    named = {name for names in named for name in names.split(", ")}
    assert named == found - {"reproduce"}  # prints the tables of its experiment
    assert set(sections()) == set(CALLS)
