"""``rankwise reproduce``: rerun published experiments and compare the values."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._console import (
    FAILED,
    USAGE,
    UsageError,
    cell_progress,
    check_folder,
    echo,
    one_line,
    print_json,
    print_table,
    say,
    terminal_width,
)
from rankwise.cli._options import Json

if TYPE_CHECKING:
    from rankwise_papers.framework import ExperimentEntry, Reproduction

LIST, ALL = "list", "all"


def complete_experiments(incomplete: str) -> list[str]:
    """Keys of experiments, and the words ``all`` and ``list``."""
    from rankwise_papers.framework.experiment import experiments as installed

    return [key for key in (*installed(), ALL, LIST) if key.startswith(incomplete)]


def reproduce(
    context: typer.Context,
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="KEY|all|list",
            help="Key of an experiment; 'all' runs all, 'list' lists them.",
            autocompletion=complete_experiments,
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Run only a few cells, in about a minute.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for KEY.html and KEY.csv."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for finished cells; the same command resumes from it (default: in the "
            "user's cache).",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Recompute every cell, ignoring the store.")
    ] = False,
    any_code: Annotated[
        bool, typer.Option("--any-code", help="Also use stored cells of other code versions.")
    ] = False,
    n_jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "--n-jobs", help="Number of parallel worker processes; -1: one per CPU."
        ),
    ] = 1,
    json: Json = False,
) -> None:
    """Rerun a published experiment, and print our values next to the paper's.

    Every published value is marked as met, better or missed, and differences are explained. Cells
    whose data are not on this machine are skipped. The package rankwise-papers contains the
    experiments.

    Example: rankwise reproduce ranking-tree-synthetic --quick
    """
    from rankwise_papers.framework.experiment import HOW_TO_GET, experiments

    known = experiments()
    if not known:
        raise UsageError(HOW_TO_GET)
    if experiment == LIST:
        _print_list(known, json)
        return
    if experiment != ALL and experiment not in known:
        raise UsageError(
            f"{experiment!r} is not an experiment. Experiments: {', '.join(known)}, or all."
        )
    if out is not None:
        check_folder(out)
    if store is None:
        from rankwise.runtime.files import cache_folder

        store = cache_folder() / "reproduce"
    from rankwise_papers.framework.runner import reproduce as run

    done: list[Reproduction] = []
    failed: list[str] = []
    for key in known if experiment == ALL else [experiment]:
        try:
            with cell_progress(key) as progress:
                found = run(
                    key,
                    quick=quick,
                    store=store,
                    n_jobs=n_jobs,
                    fresh=fresh,
                    any_code=any_code,
                    progress=lambda done, total, name, line=progress: line.update(
                        done, total, ended=name
                    ),
                )
        except Exception as error:
            if experiment != ALL:
                raise
            failed.append(key)
            say(f"error: {key}: {type(error).__name__}: {one_line(error)}")
            continue
        done.append(found)
        written = [] if out is None else _write(found, out, shlex.join(["rankwise", *context.obj]))
        if not json:
            _print(found, written)
    if json:
        print_json({"experiments": done})
    elif experiment == ALL:
        _print_summary(done)
    _exit_if_failed(done, failed)


def _print(found: Reproduction, written: list[Path]) -> None:
    from rankwise_papers.framework.reproduction import reproduction_text

    echo(reproduction_text(found, terminal_width()) + "\n")
    for path in written:
        echo(str(path))


def _write(found: Reproduction, folder: Path, command: str) -> list[Path]:
    from rankwise_papers.framework.reproduction_page import write_csv, write_page

    return [
        write_csv(found, folder / f"{found.key}.csv"),
        write_page(found, folder / f"{found.key}.html", command),
    ]


def _print_list(known: dict[str, ExperimentEntry], json: bool) -> None:
    if json:
        print_json(
            [
                {"key": key, "title": entry.title, "paper": entry.paper, "data": entry.data}
                for key, entry in known.items()
            ]
        )
        return
    print_table(
        ["experiment", "title", "data", "paper"],
        [[key, entry.title, ", ".join(entry.data), entry.paper] for key, entry in known.items()],
    )


def _print_summary(done: list[Reproduction]) -> None:
    verdicts = ["met", "better", "missed", "not evidence", "not run"]
    print_table(
        ["experiment", *verdicts, "cells", "seconds"],
        [
            [
                reproduction.key,
                *(str(reproduction.counts().get(verdict, 0)) for verdict in verdicts),
                f"{len(reproduction.with_status('done'))}/{len(reproduction.outcomes)}",
                f"{reproduction.seconds:.0f}",
            ]
            for reproduction in done
        ],
        right=(*verdicts, "cells", "seconds"),
    )


def _exit_if_failed(done: list[Reproduction], failed: list[str]) -> None:
    """Exit with 1 if a cell or an experiment failed, with 2 if no cell has its data."""
    broken = [cell for reproduction in done for cell in reproduction.with_status("failed")]
    if broken:
        say(f"error: {len(broken)} cells failed: {broken[0].name}: {broken[0].message}")
    if broken or failed:
        raise typer.Exit(FAILED)
    if not any(reproduction.with_status("done") for reproduction in done):
        lines = [message for reproduction in done for message in reproduction.missing.values()]
        say(f"error: no cell has its data. {' '.join(lines)}")
        raise typer.Exit(USAGE)
