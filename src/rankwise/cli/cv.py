"""``rankwise cv``: cross-validate one ranker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankwise.cli._arguments import compares_rows, make_ranker, read_measures
from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._lines import parts_of
from rankwise.cli._options import (
    Cv,
    Data,
    Jobs,
    Json,
    Measures,
    Preset,
    RandomState,
    Ranker,
    SelectBy,
    Set,
    Store,
)
from rankwise.cli._output import number, print_json, print_table
from rankwise.cli.compare import exit_if_failed, name_lines_of_failures, run

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard


@reads_tables
def cv(
    data: Data,
    ranker: Ranker,
    set_: Set = None,
    cv: Cv = None,
    measures: Measures = "nDCG@10,AP",
    preset: Preset = None,
    select_by: SelectBy = None,
    store: Store = None,
    n_jobs: Jobs = 1,
    random_state: RandomState = 0,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Cross-validate one ranker over folds of queries.

    Without --set, the ranker is tuned as in 'rankwise compare'. With --set, it keeps the given
    parameters; only open values (C=val, early stopping) are chosen on validation parts.
    """
    from rankwise.cli._data import ignore_columns, load_folds, refuse_one_query
    from rankwise.selection.category_rows import takes_categories

    wanted = read_measures(measures, preset)
    if select_by is not None:
        read_measures(select_by, preset)
    estimator = make_ranker(ranker, set_, random_state)
    columns = replace(columns, categories=takes_categories(estimator))
    loaded, n_folds = load_folds(data, cv, columns=columns)
    loaded = ignore_columns(loaded, columns, data)
    if compares_rows([ranker], wanted):
        refuse_one_query(loaded, data, columns)
    board = run(
        {ranker: estimator if set_ else ranker},
        loaded,
        cv=n_folds,
        measures=list(wanted),
        preset=preset,
        select_by=select_by,
        store=store,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    board = name_lines_of_failures(board, lambda: parts_of(data, loaded, columns), columns)
    if json:
        print_json(board.to_dict())
    else:
        _print(board, ranker)
    exit_if_failed(board)


def _print(board: Leaderboard, ranker: str) -> None:
    row = board.rows()[0]
    lines = [
        [
            info.name,
            str(len(info.qids)),
            *(number(row["measures"][name]["folds"][i]) for name in board.measures),
            number(board.cell(ranker, info.name).fit_seconds, ".3f"),
            _settings(row["chosen"][info.name]),
        ]
        for i, info in enumerate(board.fold_infos)
    ]
    mean = [_format_mean(row["measures"][name]) for name in board.measures]
    lines.append(["mean", str(len(board.qids)), *mean, number(row["fit_seconds"], ".3f"), ""])
    columns = ["fold", "queries", *board.measures, "fit s", "chosen"]
    level = f"{100 * board.settings.confidence:g} %"
    print_table(
        columns,
        lines,
        title=f"{ranker} on {board.settings.data or 'data'} (with the {level} interval)",
        right=columns[1:-1],
    )


def _format_mean(summary: dict[str, Any]) -> str:
    low, mean, high = (summary[what] for what in ("low", "mean", "high"))
    return number(mean) + ("" if low is None else f" ({low:.4f} to {high:.4f})")


def _settings(chosen: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
    )
