"""``rankwise list``: rankers, measures, presets, data sets, estimators for labels and costs."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from rankwise.cli._console import UsageError, echo, print_json, print_table, terminal_width
from rankwise.cli._options import Json, complete_ranker, make_ranker, ranker_entry

INDENT = "    "


class What(StrEnum):
    """Kinds of entries to list."""

    rankers = "rankers"
    measures = "measures"
    presets = "presets"
    datasets = "datasets"
    labels = "labels"


def list_(
    what: Annotated[What | None, typer.Argument(help="Kind of entries (default: all).")] = None,
    ranker: Annotated[
        str | None,
        typer.Option(
            help="List the parameters of this ranker instead, for --set and --rankers.",
            autocompletion=complete_ranker,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List rankers, measures, presets, data sets, and estimators for labels and costs.

    The recipe of a ranker is what a bare KEY runs: an estimator, and the grid of its other
    parameters. With --ranker, list the parameters of one ranker: the defaults of its class, which
    KEY(NAME=VALUE,…) and --set start from, and other values of its recipe.

    Example: rankwise list --ranker lambdamart
    """
    if ranker is not None:
        if what is not None:
            raise UsageError(f"--ranker lists parameters, not {what.value}. Drop one of them.")
        _list_parameters(ranker, json)
        return
    chosen = list(What) if what is None else [what]
    listed = {kind.value: _KINDS[kind][0]() for kind in chosen}
    if json:
        print_json(listed)
        return
    is_narrow = (terminal_width() or _WIDE) < _WIDE
    for kind in chosen:
        _, convert, purpose = _KINDS[kind]
        rows = [convert(row) for row in listed[kind.value]]
        if "recipe" in rows[0]:
            rows = [_recipe_below(row, ("kind", "tags") if is_narrow else ()) for row in rows]
        columns = list(rows[0])
        print_table(
            columns,
            [list(row.values()) for row in rows],
            title=f"{kind.value} {purpose}",
            right=("rows", "queries", "features", "folds"),
        )
        if is_narrow and "tags" in listed[kind.value][0]:
            echo("Left out for the width: kind, tags (all are in --json).")


# Characters that a table of rankers with their kinds and tags needs.
_WIDE = 140


def _recipe_below(row: dict[str, Any], left_out: Sequence[str]) -> dict[str, Any]:
    """Row of a ranker with its recipe below its summary, and without some columns."""
    merged = row | {"summary": [row["summary"], row["recipe"]]}
    return {
        "summary, recipe" if name == "summary" else name: cell
        for name, cell in merged.items()
        if name != "recipe" and name not in left_out
    }


def _list_parameters(ranker: str, json: bool) -> None:
    """Print the parameters of a ranker."""
    entry = ranker_entry(ranker)
    estimator, _ = make_ranker(f"{ranker}()", None, 0)
    described = _described_parameters(type(estimator))
    recipe = entry.params | entry.space
    rows = [
        {"name": name, "value": value, "recipe": recipe.get(name, value), "values": kind,
         "meaning": meaning}
        for name, value in estimator.get_params(deep=False).items()
        for kind, meaning in [described.get(name, ("", ""))]
    ]  # fmt: skip
    if json:
        print_json({"recipe": entry.recipe, "parameters": rows})
        return
    echo(f"{ranker} is {entry.recipe}\n")
    echo(f"parameters of {ranker}() (for --set NAME=VALUE)\n")
    width = terminal_width() or 100
    for row in rows:
        tuned = "" if row["recipe"] == row["value"] else f" (recipe: {row['recipe']})"
        echo(f"{row['name']}={row['value']}{tuned}: {row['values']}")
        if row["meaning"]:
            echo(
                textwrap.fill(
                    row["meaning"], width, initial_indent=INDENT, subsequent_indent=INDENT
                )
            )


def _described_parameters(kind: type) -> dict[str, tuple[str, str]]:
    """Values and the first sentence of the meaning of each parameter, by the class's docstring."""
    _, _, rest = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")
    section = re.split(r"\n\n\w[\w ]*\n---", rest)[0]
    found = {}
    for entry in re.split(r"\n(?=\w)", section):
        head, _, text = entry.partition("\n")
        names, _, values = head.partition(" : ")
        # Marks of the documentation's pages, and of its lists, say nothing in a terminal.
        plain = re.sub(r":\w+:|`|\s*\[\d+\]_|(?<=[:;,]) -(?= )", "", " ".join(text.split()))
        first = re.split(r"(?<=\.)\s(?=[^a-z])", plain, maxsplit=1)[0]
        for name in names.split(", "):
            found[name] = (" ".join(re.sub(r",\s*default=.*", "", values).split()), first)
    return found


def _estimators(*kinds: str) -> list[dict[str, Any]]:
    from rankwise._registry import REGISTRY

    return [
        {
            "name": key,
            "kind": entry.kind,
            "summary": entry.summary,
            "tags": sorted(entry.tags),
            "needs": f"rankwise[{entry.extra}]" if entry.extra else "",
            "recipe": entry.recipe,
        }
        for key, entry in REGISTRY.items()
        if entry.kind in kinds
    ]


def _measures() -> list[dict[str, Any]]:
    from rankwise.metrics._table import ALIASES, MEASURES

    return [
        {"name": name, "aliases": [alias for alias, target in ALIASES.items() if target == name]}
        for name in MEASURES
    ]


def _presets() -> list[dict[str, Any]]:
    from rankwise.metrics.spec import PRESETS

    return [
        {"name": name, "measures": {measure: dict(sets) for measure, sets in measures.items()}}
        for name, measures in PRESETS.items()
    ]


def _datasets() -> list[dict[str, Any]]:
    from rankwise.datasets.catalog.entries import known_datasets

    return [
        {
            "name": name,
            "title": entry.title,
            "rows": entry.rows,
            "queries": entry.queries,
            "features": entry.features,
            "folds": len(entry.folds),
            "address": entry.address,
        }
        for name, entry in known_datasets().items()
    ]


def _convert_to_text(row: dict[str, Any]) -> dict[str, str]:
    return {
        column: ", ".join(value) if isinstance(value, list) else str(value)
        for column, value in row.items()
        if column != "address"
    }


def _preset_as_text(row: dict[str, Any]) -> dict[str, str]:
    """Preset as text: its order of ties once, then the other settings of each measure."""
    ties = {sets["ties"] for sets in row["measures"].values() if "ties" in sets}
    settings = {
        name: ",".join(f"{key}={value}" for key, value in sets.items() if key != "ties")
        for name, sets in row["measures"].items()
    }
    return {
        "name": row["name"],
        "ties": ", ".join(sorted(ties)),
        "sets": "  ".join(f"{name}({text})" for name, text in settings.items() if text),
    }


# Rows of every kind of entries, how a row is shown, and what the names are for.
_KINDS = {
    What.rankers: (
        lambda: _estimators("ranker", "ordinal"),
        _convert_to_text,
        "(for --rankers and --ranker)",
    ),
    What.measures: (_measures, _convert_to_text, "(for --measures, as Name(key=value,…)@k)"),
    What.presets: (
        _presets,
        _preset_as_text,
        "(for --preset: settings of measures in other programs)",
    ),
    What.datasets: (_datasets, _convert_to_text, "(as DATA: NAME, NAME:FOLD or NAME:FOLD:PART)"),
    What.labels: (
        lambda: _estimators("multi-label", "cost-sensitive"),
        _convert_to_text,
        "(multi-label and cost-sensitive estimators, for Python only)",
    ),
}
