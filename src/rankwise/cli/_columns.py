"""The options that say which column of a table is what, for every command that reads data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer

from rankwise.cli._arguments import split_list


@dataclass(frozen=True)
class ColumnOptions:
    """Values of the options; None where one is not given.

    ``score_columns`` of tables are named by contestants, not by an option.
    """

    label: str | None = None
    qid: str | None = None
    features: str | None = None
    doc_id: str | None = None
    sep: str | None = None
    one_query: bool = False
    score_columns: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, Any]:
        """Arguments of ``read_table`` that were given."""
        given: dict[str, Any] = {name: value for name in _NAMED if (value := getattr(self, name))}
        if self.one_query and self.qid is None:
            given["qid"] = False
        if self.features is not None:
            given["features"] = split_list(self.features)
        if self.sep == "\\t":
            given["sep"] = "\t"
        if self.score_columns:
            given["score_columns"] = self.score_columns
        return given

    @property
    def options(self) -> str:
        """The options that were given, for messages."""
        return ", ".join(f"--{name.replace('_', '-')}" for name in _NAMED if getattr(self, name))


_NAMED = ("label", "qid", "features", "doc_id", "sep")
NO_COLUMNS = ColumnOptions()

_DEFAULTS = vars(NO_COLUMNS)
_OPTIONS = {
    "label": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of labels in tables; else label, relevance, rel, y or target.",
        ),
    ],
    "qid": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of queries in tables; else qid, query_id, query or q."
        ),
    ],
    "features": Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns of features in tables; else all that are left and hold numbers.",
        ),
    ],
    "doc_id": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of document ids in tables; else doc_id, docid, docno or document_id.",
        ),
    ],
    "sep": Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="What divides the columns of a text table, such as ';' or '\\t'; else by suffix.",
        ),
    ],
    "one_query": Annotated[
        bool,
        typer.Option("--one-query", help="Take all rows as one query where files name none."),
    ],
}


def reads_tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --label, --qid, --features, --doc-id, --sep and --one-query to a command.

    The command gets them as its parameter ``columns``, in whose place they are shown.
    """
    signature = inspect.signature(command, eval_str=True)
    shown: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name != "columns":
            shown.append(parameter)
            continue
        shown += [
            parameter.replace(name=name, annotation=option, default=_DEFAULTS[name])
            for name, option in _OPTIONS.items()
        ]

    signature = signature.replace(parameters=shown)

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> Any:
        words = signature.bind(*arguments, **given).arguments
        columns = {name: words.pop(name) for name in _OPTIONS if name in words}
        return command(**words, columns=ColumnOptions(**columns))

    vars(run)["__signature__"] = signature
    return run
