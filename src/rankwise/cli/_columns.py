"""Options that assign the columns of a table, shared by all commands that read data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._arguments import split_list
from rankwise.cli._errors import UsageError
from rankwise.cli._option_groups import add_options

if TYPE_CHECKING:
    from rankwise.datasets import RankingData


@dataclass(frozen=True)
class ColumnOptions:
    """Values of the column options; None if an option is not given.

    ``score_columns`` has no option: entries ``column:NAME`` among the rankers name these columns.
    Nor has ``categories``: commands with a ranker that takes categories read columns of text, or
    those that a model was fitted on.
    ``unjudged`` is an option of the commands that evaluate.
    """

    label: str | None = None
    qid: str | None = None
    features: str | None = None
    doc_id: str | None = None
    sample_weight: str | None = None
    ignore: str | None = None
    sep: str | None = None
    one_query: bool = False
    score_columns: tuple[str, ...] = ()
    unjudged: float | str | None = None
    categories: bool | tuple[str, ...] = False

    @property
    def words(self) -> dict[str, Any]:
        """Arguments of ``read_table`` that were given."""
        named = (*_NAMED, "ignore")
        given: dict[str, Any] = {name: value for name in named if (value := getattr(self, name))}
        if self.one_query and self.qid is None:
            given["qid"] = False
        for name in ("features", "ignore"):
            if name in given:
                given[name] = split_list(given[name])
        if self.sep == "\\t":
            given["sep"] = "\t"
        if self.score_columns:
            given["score_columns"] = self.score_columns
        if self.unjudged is not None:
            given["unjudged"] = self.unjudged
        if self.categories:
            given["categories"] = self.categories
        return given

    def with_categories_of(self, table: RankingData) -> ColumnOptions:
        """Options that read the same columns as categories as in a table that was read before."""
        names, numbers = table.feature_names or [], table.categories or {}
        return replace(self, categories=tuple(names[j] for j in numbers))

    def check_ignored(self, table: RankingData) -> None:
        """Raise UsageError if columns to ignore have no names, by which to predict."""
        if self.ignore is not None and not {*split_list(self.ignore)} <= {*table.left_out}:
            raise UsageError(
                f"--ignore leaves columns out by name, but those of {table.name or 'DATA'} have "
                "none. Convert it to CSV, or drop the option."
            )

    @property
    def options(self) -> str:
        """The options that were given, for messages."""
        return ", ".join(f"--{name.replace('_', '-')}" for name in _NAMED if getattr(self, name))


_NAMED = ("label", "qid", "features", "doc_id", "sample_weight", "sep")
NO_COLUMNS = ColumnOptions()

Unjudged = Annotated[
    str | None,
    typer.Option(
        metavar="missing|LABEL",
        help="Label of rows of DATA without a judgement, such as -1, or 'missing' for empty cells. "
        "They are ranked as not relevant, but not learnt from; notes say what they could change.",
    ),
]

_OPTIONS = {
    "label": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Label column of tables (default: relevance, label, grade, rel, y, target, "
            "rating, judgement or judgment).",
        ),
    ],
    "qid": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Query column of tables (default: qid, query_id, query-id, query, q or the like).",
        ),
    ],
    "features": Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Feature columns of tables (default: all remaining columns of numbers; of text, "
            "too, whose values repeat, if a ranker takes categories).",
        ),
    ],
    "doc_id": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Document id column of tables (default: doc_id, docno, corpus-id or the like).",
        ),
    ],
    "sample_weight": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of the weights of rows in tables (default: sample_weight, if present).",
        ),
    ],
    "ignore": Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns that are not features, such as scores of the system in production.",
        ),
    ],
    "sep": Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="Column separator of text tables, such as ';' or '\\t' (default: by suffix).",
        ),
    ],
    "one_query": Annotated[
        bool,
        typer.Option("--one-query", help="Treat all rows as one query if files name none."),
    ],
}


def read_unjudged(text: str | None) -> float | str | None:
    """Label of unjudged rows, a word or a number."""
    if text is None or text == "missing":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--unjudged must be 'missing' or a label such as -1, got {text!r}."
        ) from None


def reads_tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --label, --qid, --features, --doc-id, --sample-weight, --ignore, --sep, --one-query.

    The command receives their values as its parameter ``columns``.
    """
    return add_options("columns", _OPTIONS, ColumnOptions)(command)
