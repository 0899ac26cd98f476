"""``rankwise info``: what a model file says about itself, without loading the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._errors import UsageError
from rankwise.cli._options import Json
from rankwise.cli._output import print_json, print_table


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that 'fit' wrote.")],
    json: Json = False,
) -> None:
    """Show the estimator, parameters, versions and data fingerprint of a model file.

    Nothing of the model is built, so that a file from anywhere can be asked.
    """
    from rankwise.persistence import describe

    if not model.is_file():
        raise UsageError(f"{str(model)!r} is no model file.")
    facts = describe(model)
    if json:
        print_json(facts)
        return
    print_table(["what", "value"], list(_lines(facts)), title=str(model))


def _lines(facts: dict[str, Any]) -> list[list[str]]:
    """One line per fact; nested ones with both names."""
    lines = []
    for name, value in facts.items():
        if isinstance(value, dict):
            lines += [[f"{name}.{key}", str(item)] for key, item in value.items()]
        elif isinstance(value, list):
            shown = ", ".join(map(str, value[:8])) + (", …" if len(value) > 8 else "")
            lines.append([name, shown])
        elif value is not None:
            lines.append([name, str(value)])
    return lines
