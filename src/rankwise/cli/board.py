"""``rankwise board`` and ``rankwise plan``: tables of scores; queries that a test needs.

``compare`` and ``evaluate`` share the options and the output of leaderboards.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._console import (
    REGRESSED,
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    print_json,
    say,
    terminal_width,
)
from rankwise.cli._options import (
    Json,
    RandomState,
    add_options,
    read_names,
    read_number,
    text_option,
)
from rankwise.runtime.files import write_file

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard


class TestOfPair(StrEnum):
    """Tests of the per-query values of two rankers."""

    t = "t"
    wilcoxon = "wilcoxon"
    randomization = "randomization"


class Correction(StrEnum):
    """Corrections of p-values over all pairs of rankers."""

    auto = "auto"
    max_t = "max_t"
    holm = "holm"
    benjamini_hochberg = "benjamini_hochberg"
    bonferroni = "bonferroni"


class FailIf(StrEnum):
    """What makes a comparison with the baseline fail."""

    worse = "worse"


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help="Write a self-contained report on several systems.",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the leaderboard as a table: LaTeX (.tex), Markdown (.md) or CSV (.csv).",
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
    measures: str | None = None
    tasks: str | None = None
    split: str | None = None
    subsets: str | None = None
    samples: bool = False

    def rank(self, scores: Path, **words: Any) -> Leaderboard:
        """Leaderboard of a table, or of a folder with results of other programs."""
        from rankwise import leaderboard

        given = {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if getattr(self, option.name) != option.default
        }
        lists, others = ("measures", "tasks", "subsets"), ("split", "samples")
        of_folders = [name for name in given if name in lists + others]
        if not scores.is_dir():
            check_file(scores, "file or folder")
            for name in of_folders:
                raise UsageError(
                    f"--{name} chooses results in a folder, but {scores} is a table. Name the "
                    "columns of a table with --score and --unit."
                )
            return leaderboard(scores, **self.words, **words)
        from rankwise.integrations.results import read_results

        for name in given:
            if name not in (*of_folders, "missing"):
                raise UsageError(
                    f"--{name.replace('_', '-')} is for tables, but {scores} is a folder. Choose "
                    "results with --measures, --tasks, --split and --subsets."
                )
        chosen: dict[str, Any] = {
            name: read_names(given[name]) if name in lists else given[name] for name in of_folders
        }
        found = read_results(scores, **chosen)
        say(str(found))
        return leaderboard(found.scores, missing=self.words["missing"], **words)

    @property
    def words(self) -> dict[str, Any]:
        """Arguments of :func:`rankwise.leaderboard`; options that exclude each other are errors."""
        if self.run is not None and self.average_repeats:
            raise UsageError("--run and --average-repeats exclude each other. Choose one.")
        return {
            "system": self.system,
            "unit": None if self.unit is None else read_names(self.unit),
            "score": None if self.score is None else read_names(self.score),
            "run": False if self.average_repeats else self.run,
            "stratum": self.stratum,
            "cluster": self.cluster,
            "ignore": () if self.ignore is None else read_names(self.ignore),
            "missing": read_number("missing", self.missing, "refuse", "drop", "pairs"),
            "sep": "\t" if self.sep == "\\t" else self.sep,
            "decimal": self.decimal,
        }


NO_SCORE_OPTIONS = ScoreOptions()


_OPTIONS = {
    "system": text_option(
        "NAME", "Column of systems (default: system, model, method or the like)."
    ),
    "unit": text_option(
        "A,B,…",
        "Columns that name a unit together (default: unit, task, query, prompt or the like).",
    ),
    "score": text_option(
        "A,B,…",
        "Columns of scores (default: score or value); several are several measures of a "
        "long table. With one column per system: the systems.",
    ),
    "run": text_option("NAME", "Column of seeds or other runs of a system."),
    "average_repeats": Annotated[
        bool,
        typer.Option(
            "--average-repeats",
            help="Average several values of a system for one unit, as independent repeats.",
        ),
    ],
    "stratum": text_option(
        "NAME", "Column of given groups of units, such as tasks: means are means of their means."
    ),
    "cluster": text_option(
        "NAME", "Column of groups that are drawn as a whole, such as users: they become the units."
    ),
    "ignore": text_option("A,B,…", "Columns to leave out, which hold no scores."),
    "missing": Annotated[
        str,
        typer.Option(
            metavar="refuse|drop|pairs|NUMBER",
            help="Missing values: refuse them, drop their units, test each pair on its common "
            "units, or count them as a number.",
        ),
    ],
    "sep": text_option("CHARACTER", "Column separator (default: by the first line)."),
    "decimal": text_option(
        ".|,",
        "Decimal mark (default: a comma in files with semicolons, if numbers show it, "
        "else a point).",
    ),
    "measures": text_option(
        "A,B,…",
        "In a folder: measures as its files name them; each task has the first that most systems "
        "have (default: the main score of mteb, or the only measure).",
    ),
    "tasks": text_option("A,B,…", "In a folder: the tasks that count (default: all)."),
    "split": text_option(
        "NAME", "In a folder of mteb: the split (default: test, or all of a task without it)."
    ),
    "subsets": text_option(
        "A,B,…",
        "In a folder of mteb: subsets of the tasks, such as default,en (default: those that most "
        "systems have; systems that lack a subset of a task have no value for it).",
    ),
    "samples": Annotated[
        bool,
        typer.Option(
            "--samples",
            help="In a folder of lm-evaluation-harness: compare on the samples of the tasks.",
        ),
    ],
}


def reads_scores(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a table of scores to a command, as its parameter ``layout``."""
    return add_options("layout", _OPTIONS, ScoreOptions)(command)


@reads_scores
def board(
    context: typer.Context,
    scores: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="Table with a header line, or Parquet: one row per value (columns for the system, "
            "the unit and the score), one row per unit and one column per system, or one row per "
            "system and one column per unit. Or a folder with results of mteb, "
            "sentence-transformers, lm-evaluation-harness or BEIR.",
        ),
    ],
    layout: ScoreOptions = NO_SCORE_OPTIONS,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Smaller scores are better.")
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="System that all others are tested against."),
    ] = None,
    test: Annotated[
        TestOfPair, typer.Option(help="Test of the values of two systems.")
    ] = TestOfPair.t,
    correction: Annotated[
        Correction,
        typer.Option(
            help="Correction of p-values over all pairs of systems; auto: max_t with the t test, "
            "else holm."
        ),
    ] = Correction.auto,
    random_state: RandomState = 0,
    report: Report = None,
    table: Table = None,
    fail_if: FailIfOption = None,
    margin: Margin = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Rank systems by any table of scores, with simultaneous rank intervals.

    A rank interval starts after all significantly better systems and ends before all significantly
    worse ones. Systems whose intervals overlap may be in any order.

    Example: rankwise board scores.csv --report report.html
    """
    check_outputs(report, table)
    check_gate(fail_if, margin, baseline)
    found = layout.rank(
        scores,
        greater_is_better=not lower_is_better,
        baseline=baseline,
        test=test.value,
        correction=correction.value,
        random_state=random_state,
    )
    check_gate(fail_if, margin, baseline, len(found.rankers))
    command = shlex.join(["rankwise", *context.obj])
    show_board(found, report=report, table=table, command=command, wide=wide, json=json)
    exit_if_worse(found, fail_if, margin)


@reads_scores
def plan(
    pilot: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="Values of two or more systems on the units of a pilot, in a table as for "
            "'rankwise board'.",
        ),
    ],
    difference: Annotated[
        float | None,
        typer.Option(metavar="D", help="Difference of the means to find: prints the units needed."),
    ] = None,
    units: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of units: prints the difference that they find (default: those of the "
            "pilot).",
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Chance to find the difference.")] = 0.8,
    layout: ScoreOptions = NO_SCORE_OPTIONS,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Plan an experiment: the queries that a difference needs, or the difference they can show.

    The plan is for two systems whose differences vary like those of the median pair of the pilot,
    and for the test of 'rankwise board' over all pairs at the 95 % level.

    Example: rankwise plan pilot.csv --difference 0.01
    """
    from rankwise.metrics.significance import detectable_difference, queries_needed
    from rankwise.metrics.statistics.sample_size import spread_is_rough

    if difference is not None and units is not None:
        raise UsageError("--difference and --units exclude each other. Give one of them.")
    board = layout.rank(pilot)
    values = board.per_query()
    words = {"power": power, "random_state": random_state, "strata": board.fold_of_query}
    if difference is not None:
        n = queries_needed(values, difference, **words)
        said = f"{n} units find a difference of {difference:g}"
    else:
        n = len(board.qids) if units is None else units
        difference = detectable_difference(values, n, **words)
        said = f"{n} units find a difference of {difference:.4g}"
    if json:
        print_json({"units": n, "difference": difference, "power": power})
    else:
        echo(
            f"{said} with probability {power:g} (median pair of {len(values)} systems, "
            f"{len(board.qids)} units in the pilot"
            f"{', strata in its proportions' if len(board.folds) > 1 else ''}"
            f"{spread_is_rough(len(board.qids))})."
        )


def check_outputs(report: Path | None, table: Path | None) -> None:
    """Raise UsageError before any work if a target cannot be written."""
    from rankwise.selection.leaderboard import FORMATS

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
    from rankwise.selection.gate import check_margin

    if fail_if is not None and baseline is None:
        raise UsageError("--fail-if compares with a baseline. Name it with --baseline.")
    if fail_if is not None and n_systems == 1:
        raise UsageError(
            f"--fail-if compares systems with the baseline, but {baseline} is the only one. Name "
            "another file."
        )
    if margin is not None and fail_if is None:
        raise UsageError("--margin needs --fail-if worse.")
    check_margin(margin)


def write_table(board: Leaderboard, path: Path) -> None:
    """Write a leaderboard in the format of the suffix, which :func:`check_outputs` has checked."""
    from rankwise.selection.leaderboard import FORMATS, leaderboard_table

    form = {suffix: name for name, suffix in FORMATS.items()}[path.suffix.lower()]
    make_folder(path)
    write_file(path, leaderboard_table(board, form).encode())


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
    from rankwise.selection.leaderboard import leaderboard_text

    echo(leaderboard_text(board, None if wide else terminal_width()))
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
