"""``rankwise info``: metadata of a model file, and feature importances of its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._options import Json
from rankwise.cli._output import check_model_file, number, print_json, print_table

if TYPE_CHECKING:
    from rankwise.explain import FeatureImportances


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of 'rankwise fit'.")],
    importances: Annotated[
        bool,
        typer.Option("--importances", help="Load the model and list its features by importance."),
    ] = False,
    json: Json = False,
) -> None:
    """Show the estimator, parameters, versions and data fingerprint of a model file.

    Only metadata is read unless --importances is given, so untrusted files are safe to inspect.
    """
    from rankwise.persistence import describe

    check_model_file(model)
    facts = describe(model)
    found = _importances(model) if importances else None
    if json:
        print_json(facts if found is None else {**facts, "importances": dict(found.ranked())})
        return
    print_table(["what", "value"], list(_lines(facts)), title=str(model))
    if found is not None:
        rows = [[name, number(value)] for name, value in found.ranked()]
        print_table(["feature", found.source], rows, right=[found.source])


def _importances(model: Path) -> FeatureImportances:
    from rankwise.explain import feature_importances
    from rankwise.persistence import load

    return feature_importances(load(model))


def _lines(facts: dict[str, Any]) -> list[list[str]]:
    """One line per fact; a nested fact is named PARENT.NAME."""
    lines = []
    for name, value in facts.items():
        if name == "rows":  # a summary of every column, for 'rankwise lint --against'
            said = f"summary of {value['n_rows']} rows, {value['n_queries']} queries"
            lines.append([name, said])
            if left := value.get("left_out"):
                shown = ", ".join(f"{column} ({why})" for column, why in left.items())
                lines.append(["columns that are not features", shown])
        elif isinstance(value, dict):
            lines += [[f"{name}.{key}", str(item)] for key, item in value.items()]
        elif isinstance(value, list):
            shown = ", ".join(map(str, value[:8])) + (", …" if len(value) > 8 else "")
            lines.append([name, shown])
        elif value is not None:
            lines.append([name, str(value)])
    return lines
