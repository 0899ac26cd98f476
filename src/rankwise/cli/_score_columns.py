"""Options that describe a table of scores, shared by the commands that read one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from rankwise.cli._arguments import split_list
from rankwise.cli._errors import UsageError
from rankwise.cli._option_groups import add_options


@dataclass(frozen=True)
class ScoreOptions:
    """Values of the options; None if an option is not given."""

    system: str | None = None
    unit: str | None = None
    score: str | None = None
    run: str | None = None
    average_repeats: bool = False
    stratum: str | None = None
    cluster: str | None = None
    ignore: str | None = None
    missing: str = "refuse"
    sep: str | None = None
    decimal: str | None = None

    @property
    def words(self) -> dict[str, Any]:
        """Arguments of :func:`rankwise.leaderboard`; options that exclude each other are errors."""
        if self.run is not None and self.average_repeats:
            raise UsageError("--run and --average-repeats exclude each other. Choose one.")
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"--decimal must be a point or a comma, got {self.decimal!r}.")
        return {
            "system": self.system,
            "unit": None if self.unit is None else split_list(self.unit),
            "score": None if self.score is None else split_list(self.score),
            "run": False if self.average_repeats else self.run,
            "stratum": self.stratum,
            "cluster": self.cluster,
            "ignore": () if self.ignore is None else split_list(self.ignore),
            "missing": _read_rule(self.missing),
            "sep": "\t" if self.sep == "\\t" else self.sep,
            "decimal": self.decimal,
        }


NO_SCORE_OPTIONS = ScoreOptions()

_OPTIONS = {
    "system": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of systems (default: system, model, method or the like)."
        ),
    ],
    "unit": Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns that name a unit together (default: unit, task, query, prompt or the "
            "like).",
        ),
    ],
    "score": Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns of scores (default: score or value); several are several measures of a "
            "long table. With one column per system: the systems.",
        ),
    ],
    "run": Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of seeds or other runs of a system."),
    ],
    "average_repeats": Annotated[
        bool,
        typer.Option(
            "--average-repeats",
            help="Average several values of a system for one unit, as independent repeats.",
        ),
    ],
    "stratum": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of given groups of units, such as tasks: means are means of their means.",
        ),
    ],
    "cluster": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of groups that are drawn as a whole, such as users: they become the "
            "units.",
        ),
    ],
    "ignore": Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns to leave out, which hold no scores."),
    ],
    "missing": Annotated[
        str,
        typer.Option(
            metavar="refuse|drop|pairs|NUMBER",
            help="Missing values: refuse them, drop their units, test each pair on its common "
            "units, or count them as a number.",
        ),
    ],
    "sep": Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Column separator (default: by the first line)."),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            metavar=".|,",
            help="Decimal mark (default: a comma in files with semicolons, if numbers show it, "
            "else a point).",
        ),
    ],
}


def reads_scores(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a table of scores to a command, as its parameter ``layout``."""
    return add_options("layout", _OPTIONS, ScoreOptions)(command)


def _read_rule(text: str) -> Any:
    """Rule for missing values, a word or a number."""
    if text in ("refuse", "drop", "pairs"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--missing must be refuse, drop, pairs or a number, got {text!r}."
        ) from None
