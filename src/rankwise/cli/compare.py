"""``rankwise compare`` and ``rankwise cv``: rankers on the same folds, or one ranker on all."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli._console import (
    FAILED,
    UsageError,
    cell_progress,
    echo,
    number,
    one_line,
    print_json,
    print_table,
    say,
    terminal_width,
    waiting,
)
from rankwise.cli._data import Part, parts_of, place_bad_value
from rankwise.cli._named_entries import (
    DEFAULT,
    columns_of,
    layout_of,
    number_columns,
    read_candidates,
)
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Cv,
    Data,
    DifferingQueries,
    Jobs,
    Json,
    Measures,
    Preset,
    RandomState,
    Ranker,
    SelectBy,
    Set,
    Store,
    TestData,
    TimeLimit,
    Unjudged,
    ValiData,
    add_settings,
    compares_rows,
    complete_rankers,
    make_ranker,
    read_measures,
    read_unjudged,
    reads_tables,
    split_list,
)
from rankwise.cli.board import Correction, Table, TestOfPair, Wide, check_outputs, write_table

if TYPE_CHECKING:
    from rankwise.selection import FoldResult, Leaderboard, LearningCurve


@reads_tables
def compare(
    context: typer.Context,
    data: Data,
    rankers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Comma-separated rankers: names of 'rankwise list rankers', also with parameters "
            "as in 'lambdamart(n_estimators=50)', which then are not tuned; saved models, TREC "
            "runs, column:NAME, any of these as NAME=ENTRY, or 'all' (default: "
            f"{', '.join(DEFAULT)}).",
            autocompletion=complete_rankers,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY",
            help="Ranker that all others are tested against: one of the above, or another.",
        ),
    ] = None,
    cv: Cv = "auto",
    vali_data: ValiData = None,
    test_data: TestData = None,
    measures: Measures = "nDCG@10,AP",
    preset: Preset = None,
    differing_queries: DifferingQueries = False,
    select_by: SelectBy = None,
    test: Annotated[
        TestOfPair, typer.Option(help="Paired test of the values per query.")
    ] = TestOfPair.t,
    correction: Annotated[
        Correction,
        typer.Option(
            help="Correction of p-values over all pairs of rankers (default: auto, which is max_t "
            "with --test t, else holm)."
        ),
    ] = Correction.auto,
    store: Store = None,
    n_jobs: Jobs = 1,
    time_limit: TimeLimit = None,
    random_state: RandomState = 0,
    learning_curve: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Also compare after training on these numbers of queries.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a self-contained report."),
    ] = None,
    table: Table = None,
    wide: Wide = False,
    unjudged: Unjudged = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Tune, fit and evaluate rankers on the same folds; print the leaderboard.

    Parameters are chosen on validation parts only. The last line is the path of the report.

    Example: rankwise compare judged.csv --rankers lambdamart,rank_svm
    """
    from rankwise._registry import REGISTRY, parse_value
    from rankwise.cli._data import check_apart, load_folds, refuse_one_query
    from rankwise.datasets.judged_source import ignore_columns

    if correction is Correction.max_t and test is not TestOfPair.t:
        raise UsageError(
            "--correction max_t needs t statistics. Use --test t, or --correction holm."
        )
    candidates, against = read_candidates(rankers, baseline, random_state)
    wanted = read_measures(measures, preset)
    sizes = (
        None
        if learning_curve is None
        else [parse_value(size) for size in split_list(learning_curve)]
    )
    if select_by is not None:
        read_measures(select_by, preset)
    check_outputs(report, table)
    columns = replace(
        columns,
        score_columns=columns_of(candidates),
        unjudged=read_unjudged(unjudged),
        categories=any(map(_takes_categories, candidates.values())),
    )
    loaded, n_folds = load_folds(
        data, cv, vali_data, test_data, columns, layout=layout_of(candidates)
    )
    candidates = number_columns(candidates, loaded, data)
    loaded = ignore_columns(loaded, columns.words, data)
    keys = [entry for entry in candidates.values() if isinstance(entry, str) and entry in REGISTRY]
    if len(keys) < len(candidates) or compares_rows(keys, wanted):
        refuse_one_query(loaded, data, columns)
    if test_data is not None:
        check_apart(loaded.train, loaded.test, data, f"--test-data {test_data}")
    if vali_data is not None:
        check_apart(loaded.train, loaded.vali, data, f"--vali-data {vali_data}")
    options: dict[str, Any] = {
        "baseline": against,
        "cv": n_folds,
        "measures": list(wanted),
        "preset": preset,
        "differing_queries": differing_queries,
        "select_by": select_by,
        "test": test.value,
        "correction": correction.value,
        "store": store,
        "n_jobs": n_jobs,
        "time_limit": time_limit,
        "random_state": random_state,
    }
    curve = None if sizes is None else _run_curve(candidates, loaded, sizes, options)
    board = run(candidates, loaded, **options)
    board = name_lines_of_failures(
        board, lambda: parts_of(data, loaded, columns, vali_data, test_data), columns
    )
    if report is not None:
        from rankwise.report import write_report

        with waiting("Writing the report"):
            command = shlex.join(["rankwise", *context.obj])
            write_report(board, report, data=loaded, command=command, learning_curve=curve)
    if table is not None:
        write_table(board, table)
    if json:
        found = board.to_dict() | {"report": None if report is None else str(report)}
        if curve is not None:
            found["learning_curve"] = curve
        print_json(found)
    else:
        from rankwise.selection.leaderboard import leaderboard_text

        echo(leaderboard_text(board, None if wide else terminal_width()))
        if curve is not None:
            echo(f"\n{curve}")
        for path in (table, report):
            if path is not None:
                echo(f"\n{path}")
    exit_if_failed(board)


def _takes_categories(candidate: Any) -> bool:
    """Whether a ranker that is a key, also with parameters, or an object takes columns of text."""
    from rankwise._registry import RANKING
    from rankwise.selection.cells.candidates import takes_categories

    if not isinstance(candidate, str):
        return takes_categories(candidate)
    key = candidate.partition("(")[0]
    if key not in RANKING:
        return False
    try:
        return takes_categories(RANKING[key].load()())
    except ImportError:  # of an extra, and compare says so
        return False


def run(rankers: dict[str, Any], data: Any, **options: Any) -> Leaderboard:
    """Compare rankers with the options of :func:`rankwise.compare`, with progress on stderr."""
    from rankwise.selection import compare as compare_rankers

    ahead = _Ahead(list(rankers), options["n_jobs"])

    def note(done: int, total: int, cell: FoldResult) -> None:
        progress.update(
            done, total, left=ahead.after(total, cell), ended=f"{cell.ranker} on {cell.fold}"
        )

    with cell_progress("Comparing") as progress:
        return compare_rankers(rankers, data, progress=note, **options)


def name_lines_of_failures(
    board: Leaderboard, parts: Callable[[], Sequence[Part]], columns: ColumnOptions
) -> Leaderboard:
    """The leaderboard whose failures name files and lines of values that are not finite."""
    from rankwise.selection import Leaderboard

    if all(cell.status != "failed" or " at row " not in cell.message for cell in board.cells):
        return board
    found = parts()
    cells = [
        replace(cell, message=place_bad_value(cell.message, found, columns)) for cell in board.cells
    ]
    return Leaderboard(
        board.specs,
        board.descriptions,
        board.fold_infos,
        cells,
        board.settings,
        board.run_errors,
        board.memory,
    )


def _run_curve(
    rankers: dict[str, Any], data: Any, sizes: list[Any], options: dict[str, Any]
) -> LearningCurve:
    """Compute a learning curve, with progress on stderr."""
    from rankwise.selection import learning_curve

    def note(done: int, total: int, cell: FoldResult) -> None:
        progress.update(done, total, ended=f"{cell.ranker} on {cell.fold}")

    with cell_progress("Comparing on fewer queries") as progress:
        return learning_curve(rankers, data, sizes, progress=note, **options)


class _Ahead:
    """Estimate of the remaining time.

    The estimate starts once every ranker has run on a fold. The expected end never moves later;
    otherwise a slow ranker at the end of the list would make the remaining time climb.
    """

    def __init__(self, rankers: list[str], n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self._seconds: dict[str, list[float]] = {name: [] for name in rankers}
        self._end = math.inf

    def after(self, total: int, cell: FoldResult) -> float | None:
        """Remaining seconds to show after a finished cell; None: not known yet."""
        parts = (cell.fit_seconds, cell.predict_seconds, cell.evaluate_seconds)
        self._seconds[cell.ranker].append(sum(part or 0.0 for part in parts))
        if not all(self._seconds.values()):
            return None
        n_folds = total // len(self._seconds)
        rest = sum((n_folds - len(seconds)) * mean(seconds) for seconds in self._seconds.values())
        now = time.monotonic()
        self._end = min(self._end, now + rest / max(1, self._n_jobs))
        return max(0.0, self._end - now)


def exit_if_failed(board: Leaderboard) -> None:
    """Exit with the code of a failed job if a cell failed or none finished."""
    failed = [cell for cell in board.cells if cell.status == "failed"]
    if failed:
        where = ", ".join(dict.fromkeys(cell.ranker for cell in failed))
        say(
            f"error: {len(failed)} of {len(board.cells)} cells failed ({where}): "
            f"{one_line(failed[0].message)}"
        )
        raise typer.Exit(FAILED)
    if board.best is None:
        say(f"error: no ranker ran: {one_line(board.cells[0].message)}")
        raise typer.Exit(FAILED)


@reads_tables
def cv(
    data: Data,
    ranker: Ranker,
    set_: Set = None,
    cv: Cv = "auto",
    measures: Measures = "nDCG@10,AP",
    preset: Preset = None,
    differing_queries: DifferingQueries = False,
    select_by: SelectBy = None,
    store: Store = None,
    n_jobs: Jobs = 1,
    random_state: RandomState = 0,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Cross-validate one ranker over folds of queries.

    A bare --ranker KEY is its tuned recipe, as in 'rankwise compare'. KEY(NAME=VALUE,…) or --set is
    the class with its defaults and these parameters; only open values (C=val, early stopping) are
    chosen on validation parts.

    Example: rankwise cv judged.csv --ranker lambdamart
    """
    from rankwise.cli._data import load_folds, refuse_one_query
    from rankwise.datasets.judged_source import ignore_columns
    from rankwise.selection.cells.candidates import takes_categories

    wanted = read_measures(measures, preset)
    if select_by is not None:
        read_measures(select_by, preset)
    estimator, _ = make_ranker(ranker, set_, random_state)
    columns = replace(columns, categories=takes_categories(estimator))
    loaded, n_folds = load_folds(data, cv, columns=columns)
    loaded = ignore_columns(loaded, columns.words, data)
    if compares_rows([ranker], wanted):
        refuse_one_query(loaded, data, columns)
    board = run(
        {ranker: add_settings(ranker, set_)},
        loaded,
        cv=n_folds,
        measures=list(wanted),
        preset=preset,
        differing_queries=differing_queries,
        select_by=select_by,
        store=store,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    board = name_lines_of_failures(board, lambda: parts_of(data, loaded, columns), columns)
    if json:
        print_json(board)
    else:
        _print(board, ranker)
    exit_if_failed(board)


def _print(board: Leaderboard, ranker: str) -> None:
    row = board.rows()[0]
    lines: list[list[str | list[str]]] = [
        [
            info.name,
            str(len(info.qids)),
            *(number(row["measures"][name]["folds"][i]) for name in board.measures),
            number(board.cell(ranker, info.name).fit_seconds, ".3f"),
            _settings(row["chosen"][info.name]),
        ]
        for i, info in enumerate(board.fold_infos)
    ]
    mean: list[list[str]] = []
    for name in board.measures:
        found = row["measures"][name]
        low, high = found["low"], found["high"]
        interval = [] if low is None else [f"{low:.4f} to", f"{high:.4f}"]
        mean.append([number(found["mean"]), *interval])
    lines.append(["mean", str(len(board.qids)), *mean, number(row["fit_seconds"], ".3f"), ""])
    columns = ["fold", "queries", *board.measures, "fit s", "chosen"]
    level = f"{100 * board.settings.confidence_level:g} %"
    print_table(
        columns,
        lines,
        title=f"{ranker} on {board.settings.data or 'data'} (with the {level} interval)",
        right=columns[1:-1],
    )
    for note in row["notes"]:
        echo(f"note: {note}")


def _settings(chosen: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
    )
