"""Argument and options that read a click log, shared by the commands of ``rankwise clicks``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._arguments import split_list
from rankwise.cli._errors import UsageError
from rankwise.cli._output import check_file

FORMATS = ("table", "ubi", "yandex")


# Roles that a table with one row per list gives in several columns, and those that it may lack.
_IN_SEVERAL = ("doc", "click")
_MAY_LACK = ("session", "user", "weight", "time", "propensity", "list_propensity", "arm")


def _column(option: str, role: str, what: str) -> Any:
    # The name of the parameter too: messages of the reader name it.
    names = dict.fromkeys(f"--{name.replace('_', '-')}" for name in (option, role))
    more = "; '': none" if role in _MAY_LACK else ""
    if role in _IN_SEVERAL:
        more = "; of a table with one row per list: its columns, separated by commas"
    text = f"Column of {what} (default: usual names{more})."
    return Annotated[str | None, typer.Option(*names, metavar="NAME", help=text)]


# Option and parameter of ``read_clicks`` for every role.
_ROLES = {
    "qid": ("query", "queries"),
    "doc_id": ("doc", "documents"),
    "place": ("place", "places"),
    "click": ("click", "clicks"),
    "session": ("session", "sessions"),
    "user": ("user", "users"),
    "weight": ("weight", "weights"),
    "time": ("time", "times"),
    "propensity": ("propensity", "probabilities of the logging system at this place"),
    "list_propensity": (
        "list_propensity",
        "probabilities of the list, or of each row given those above",
    ),
    "arm": ("arm", "arms or teams"),
}
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "log": (
        Annotated[
            Path,
            typer.Argument(
                metavar="LOG",
                help="Click log: CSV, TSV or Parquet with one row per impression, or another "
                "--format.",
            ),
        ],
        inspect.Parameter.empty,
    ),
    "format": (
        Annotated[
            str | None,
            typer.Option(
                help="Format of LOG: table, ubi (JSON lines or Parquet of User Behavior Insights) "
                "or yandex (default: ubi if the suffix is .ndjson, .jsonl or .json, else table)."
            ),
        ],
        None,
    ),
    "events": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="With --format ubi: events, if LOG lacks them."),
        ],
        None,
    ),
    "by": (
        Annotated[
            str | None,
            typer.Option(
                help="With --format ubi: what a query is, user_query or query_id (default: "
                "user_query)."
            ),
        ],
        None,
    ),
    **{option: (_column(option, *role), None) for option, role in _ROLES.items()},
    "sep": (
        Annotated[
            str | None,
            typer.Option(metavar="CHARACTER", help="Column separator (default: by suffix)."),
        ],
        None,
    ),
}


def reads_log(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter ``log`` of a command by LOG and the options that read it."""
    signature = inspect.signature(command, eval_str=True)
    shown: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name == "log":
            log, default = _OPTIONS["log"]
            shown.append(parameter.replace(annotation=log, default=default))
        else:
            shown.append(parameter)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name, (annotation, default) in _OPTIONS.items():
        if name != "log":
            shown.append(inspect.Parameter(name, kind, annotation=annotation, default=default))
    signature = signature.replace(parameters=shown)

    @wraps(command)
    def run(**given: Any) -> Any:
        options = {name: given.pop(name, None) for name in _OPTIONS}
        return command(log=_read(**options), **given)

    vars(run)["__signature__"] = signature
    return run


def _read(
    log: Path,
    format: str | None,
    events: Path | None,
    by: str | None,
    sep: str | None,
    **columns: Any,
) -> Any:
    from rankwise.clicks import read_clicks, read_ubi

    check_file(log)
    name = log.name.lower().removesuffix(".gz")
    if format is None:
        format = "ubi" if events or name.endswith((".ndjson", ".jsonl", ".json")) else "table"
    if format not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}, got {format!r}.")
    named = {option: column for option, column in columns.items() if column is not None}
    if format != "table" and (named or sep):
        wrong = next(iter(named), "sep").replace("_", "-")
        raise UsageError(
            f"--{wrong} names a column of tables, but the format is {format}. Drop it."
        )
    if by is not None and (format != "ubi" or by not in ("user_query", "query_id")):
        raise UsageError(
            f"--by must be user_query or query_id, of --format ubi, got {by!r} and {format!r}."
        )
    if events is not None:
        if format != "ubi":
            raise UsageError(f"--events needs --format ubi, got {format!r}.")
        check_file(events)
    if format == "ubi":
        return read_ubi(log, events, by=by or "user_query")
    given = {
        role: _read_column(role, name)
        for role, name in ((_ROLES[option][0], name) for option, name in named.items())
    }
    separator = "\t" if sep == "\\t" else sep
    return read_clicks(log, format=format, sep=separator, **given)  # type: ignore[arg-type]


def _read_column(role: str, name: str) -> Any:
    """The column, or columns, that an option names; False if '' leaves it out."""
    if role in _IN_SEVERAL and "," in name:
        return split_list(name)
    return False if role in _MAY_LACK and not name else name
