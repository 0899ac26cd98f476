"""Options and output that commands with a leaderboard of existing systems share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._errors import REGRESSED, UsageError, echo, say
from rankwise.cli._options import MISSING_FOLDERS
from rankwise.cli._output import check_target, make_folder, print_json, terminal_width
from rankwise.runtime.output import write_file

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard


class FailIf(StrEnum):
    """What makes a comparison with the baseline fail."""

    worse = "worse"


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help=f"Write a self-contained report on several systems. {MISSING_FOLDERS}",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the leaderboard as a table: LaTeX (.tex), Markdown (.md) or CSV (.csv). "
        f"{MISSING_FOLDERS}",
    ),
]
FailIfOption = Annotated[
    FailIf | None,
    typer.Option(
        help="Exit with status 3 if a system is significantly worse than the baseline by the first "
        "measure, or with --margin, if the interval does not exclude such a loss."
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(help="Largest loss that is acceptable, in units of the measure; needs --fail-if."),
]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column, even on a narrow terminal.")]


def check_outputs(report: Path | None, table: Path | None) -> None:
    """Raise UsageError before any work if a target cannot be written."""
    from rankwise.selection.leaderboard_tables import FORMATS

    if report is not None:
        check_target(report, "--report")
    if table is not None:
        check_target(table, "--table")
        if table.suffix.lower() not in FORMATS.values():
            raise UsageError(
                f"--table must end in {', '.join(FORMATS.values())}, got {table.name}."
            )


def check_gate(
    fail_if: FailIf | None, margin: float | None, baseline: str | None, n_systems: int | None = None
) -> None:
    """Raise UsageError if the options of the gate do not fit each other, or it compares nothing."""
    if fail_if is not None and baseline is None:
        raise UsageError("--fail-if compares with a baseline. Name it with --baseline.")
    if fail_if is not None and n_systems == 1:
        raise UsageError(
            f"--fail-if compares systems with the baseline, but {baseline} is the only one. Name "
            "another file."
        )
    if margin is not None and fail_if is None:
        raise UsageError("--margin needs --fail-if worse.")
    if margin is not None and not margin >= 0:
        raise UsageError(f"--margin must be a number >= 0, got {margin}.")


def write_table(board: Leaderboard, path: Path) -> None:
    """Write a leaderboard in the format of the suffix, which :func:`check_outputs` has checked."""
    from rankwise.selection.leaderboard_tables import FORMATS

    form = {suffix: name for name, suffix in FORMATS.items()}[path.suffix.lower()]
    make_folder(path)
    write_file(path, board.to_table(form).encode())


def show_board(
    board: Leaderboard,
    *,
    report: Path | None,
    table: Path | None,
    command: str,
    wide: bool,
    json: bool,
) -> None:
    """Print a leaderboard, after its report and table were written."""
    if report is not None:
        from rankwise.report import write_report

        write_report(board, report, command=command)
    if table is not None:
        write_table(board, table)
    if json:
        print_json(board.to_dict() | {"report": None if report is None else str(report)})
        return
    echo(board.to_text(None if wide else terminal_width()))
    for path in (report, table):
        if path is not None:
            echo(f"\n{path}")


def exit_if_worse(board: Leaderboard, fail_if: FailIf | None, margin: float | None) -> None:
    """Exit with status 3 if a system must not replace the baseline."""
    from rankwise.selection.gate import find_regressions

    if fail_if is None:
        return
    found = find_regressions(board, margin=margin)
    for regression in found:
        say(f"worse: {regression.describe(str(board.settings.baseline))}")
    if found:
        raise typer.Exit(REGRESSED)
