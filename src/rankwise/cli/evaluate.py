"""``rankwise evaluate``: evaluate scores, runs and models on judged data."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import is_zipfile

import typer

from rankwise.cli._console import JobError, UsageError, echo, number, print_json, print_table
from rankwise.cli._data import Part, name_bad_values
from rankwise.cli._named_entries import (
    columns_of,
    layout_of,
    number_columns,
    read_systems_and_baseline,
)
from rankwise.cli._options import (
    DATA_HELP,
    NO_COLUMNS,
    ColumnOptions,
    DifferingQueries,
    Json,
    Measures,
    Preset,
    Unjudged,
    compares_rows,
    complete_data,
    read_measures,
    read_unjudged,
    reads_tables,
    split_list,
)
from rankwise.cli.board import (
    FailIfOption,
    Margin,
    Report,
    Table,
    Wide,
    check_gate,
    check_outputs,
    exit_if_worse,
    show_board,
)

if TYPE_CHECKING:
    from rankwise.datasets import Qrels, RankingData
    from rankwise.selection import Leaderboard


@reads_tables
def evaluate(
    context: typer.Context,
    scores: Annotated[
        str,
        typer.Argument(
            metavar="SCORES",
            help="File with one score per line in the order of DATA (classes for MAE, Kappa and "
            "similar measures), a TREC run, a saved model, or column:NAME of DATA.",
        ),
    ],
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help=f"{DATA_HELP} For TREC runs: qrels (TREC, BEIR, or a table), or judged data with "
            "document ids. A TREC run and qrels may change places.",
            autocompletion=complete_data,
        ),
    ],
    systems: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Comma-separated systems to compare SCORES with, each given like SCORES or as "
            "NAME=ENTRY.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY",
            help="System that all others are tested against: one of the above, or another.",
        ),
    ] = None,
    measures: Measures = "nDCG@10,AP",
    preset: Preset = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", "-q", help="Also show the value of every query.")
    ] = False,
    all_queries: Annotated[
        bool,
        typer.Option(
            "--all-queries",
            "-c",
            help="TREC runs: also count judged queries without documents, as trec_eval -c does.",
        ),
    ] = False,
    differing_queries: DifferingQueries = False,
    ignore_identical_ids: Annotated[
        bool,
        typer.Option(
            "--ignore-identical-ids",
            help="TREC runs: leave out documents with the id of their query, as BEIR does for "
            "ArguAna and Quora.",
        ),
    ] = False,
    train_data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Judgements that systems learnt from: is a gain memory of their relevant "
            "documents?",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QRELS",
            help="TREC runs: judgements of a machine on the queries of DATA and more; DATA holds "
            "human ones of a random sample. Prints prediction-powered means.",
        ),
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="With --judge: texts of the documents (JSON lines, TREC or tabs), for "
            "the machine's bias by length.",
        ),
    ] = None,
    judge_next: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="TREC runs: list N unjudged documents whose judgements settle the order of the "
            "systems soonest, by the first measure.",
        ),
    ] = None,
    report: Report = None,
    table: Table = None,
    fail_if: FailIfOption = None,
    margin: Margin = None,
    wide: Wide = False,
    unjudged: Unjudged = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Evaluate scores against relevance labels, per query and on average.

    Documents of a TREC run are ordered as in trec_eval: by score in single precision, ties by
    descending document id. Judged documents outside the run count as not retrieved. With
    --systems or --baseline, systems are tested against each other; all, including runs, on the
    rows of DATA if one of them scores these. --baseline with --fail-if worse is a gate for
    pipelines: exit status 3 stops a worse system. --judge corrects judgements of a machine
    by human ones.

    Example: rankwise evaluate new.run qrels.txt --baseline old.run
    """
    from rankwise.datasets import Run
    from rankwise.datasets.readers.judged_run import drop_identical_ids, refuse_both_ways
    from rankwise.selection import evaluate_systems

    wanted = read_measures(measures, preset)
    columns = replace(columns, unjudged=read_unjudged(unjudged))
    scores, data = _put_run_first(scores, data)
    words = [scores, *split_list(systems or "")]
    found, against = read_systems_and_baseline(words, baseline)
    others = [name for name, system in found.items() if not isinstance(system, Run)]
    for option, given in (
        ("--all-queries", all_queries),
        ("--ignore-identical-ids", ignore_identical_ids),
    ):
        if given and others:
            raise UsageError(f"{option} needs TREC runs, but {others[0]} is not one. Drop it.")
    if ignore_identical_ids:
        found = {name: drop_identical_ids(run) for name, run in found.items()}
    several = len(found) > 1
    given = {
        "--report": report,
        "--table": table,
        "--fail-if": fail_if,
        "--per-query": per_query,
        "--all-queries": all_queries,
        "--differing-queries": differing_queries,
        "--train-data": train_data,
    }
    if judge:
        _refuse_beside(
            "--judge", given | {"--baseline": baseline, "--judge-next": judge_next}, others
        )
        _show_judged(found, _judgments(data, columns), judge, documents, wanted, preset, json)
        return
    if documents:
        raise UsageError("--documents needs the judgements of a machine. Add --judge QRELS.")
    if judge_next is not None:
        _refuse_beside("--judge-next", given, others)
        if not several:
            raise UsageError("--judge-next compares several systems. Add one with --systems.")
        pairs = [(name, against) for name in found if name != against] if against else None
        first = next(iter(wanted))
        _show_next(found, _judgments(data, columns), judge_next, first, preset, pairs, json)
        return
    for option, path in (("--report", report), ("--table", table)):
        if path is not None and not several:
            raise UsageError(f"{option} compares several systems. Add one with --systems.")
    check_outputs(report, table)
    check_gate(fail_if, margin, against, len(found))
    if several and per_query:
        raise UsageError("--per-query shows one system only. Use --json for several.")
    columns = replace(columns, score_columns=columns_of(found))
    if not (columns.options or columns.one_query):  # else it may be a table of six columns
        _refuse_runs(data)
    if not others:
        files = [Path(path) for path in data]
        if not columns.options and all(path.is_file() for path in files):
            refuse_both_ways(
                files,
                scores,
                "Give SCORES as NAME=FILE, such as bm25=run.tsv, if it is the run; or name the "
                "column of the grades 'relevance'.",
            )
        judged: Any = _judgments(data, columns)
    else:
        judged = _rows(found, data, columns, may_be_one=not compares_rows([], wanted))
        found = number_columns(found, judged, data)
    parts: list[Part] = [(data, judged, False)] if others else []
    with name_bad_values(parts, columns):
        board = evaluate_systems(
            judged,
            found,
            baseline=against,
            measures=list(wanted),
            preset=preset,
            all_queries=all_queries,
            differing_queries=differing_queries,
            train=None if train_data is None else _judgments([train_data], columns),
        )
    if several:
        command = shlex.join(["rankwise", *context.obj])
        show_board(board, report=report, table=table, command=command, wide=wide, json=json)
        exit_if_worse(board, fail_if, margin)
    else:
        _show_one(board, wanted, per_query, json)


def _refuse_beside(option: str, given: dict[str, Any], others: list[str]) -> None:
    """Raise UsageError if an option stands beside others, or a system is no run."""
    refused = [other for other, value in given.items() if value]
    if refused or others:
        what = f"not {refused[0]}" if refused else f"but {others[0]} is not one"
        raise UsageError(f"{option} compares TREC runs, {what}. Drop it.")


def _show_next(
    systems: dict[str, Any],
    qrels: Qrels | RankingData,
    n: int,
    measure: str,
    preset: str | None,
    pairs: list[tuple[str, str]] | None,
    json: bool,
) -> None:
    """Show which documents to judge, and how certain the order of the systems is."""
    from rankwise.selection import difference_bounds, next_judgements

    words: dict[str, Any] = {"pairs": pairs, "preset": preset}
    bounds = difference_bounds(qrels, systems, measure, **words)
    chosen = next_judgements(qrels, systems, measure, k=n, **words)
    if json:
        print_json({"differences": bounds.to_dict()["rows"], "next": chosen.to_dict()["rows"]})
        return
    header = ["query", "document", "narrows by"]
    if chosen:
        print_table(header, [[c.qid, c.doc_id, number(c.gain)] for c in chosen], right=header[2:])
    else:
        echo("Further judgements cannot change any difference.\n")
    for found in bounds:
        state = "settled" if found.is_settled else f"{found.certainty:.1%} certain"
        echo(
            f"{measure} of {found.first} - {found.second}: {found.difference:+.4f}, between "
            f"{found.low:+.4f} and {found.high:+.4f} with all judgements, {state}"
        )


def _show_judged(
    systems: dict[str, Any],
    human: Qrels | RankingData,
    machine: list[str],
    documents: list[str] | None,
    wanted: dict[str, Any],
    preset: str | None,
    json: bool,
) -> None:
    """Show means of systems by human and machine judgements, and the bias by length."""
    from rankwise.datasets.judged_source import expand_patterns
    from rankwise.selection import bias_by_length, evaluate_with_judge

    files: list[Any] = expand_patterns(machine)
    found = evaluate_with_judge(human, files, systems, list(wanted), preset=preset)
    of_length = None
    if documents:
        of_length = bias_by_length(human, files, _count_words(expand_patterns(documents)))
    if json:
        print_json(found.to_dict() | ({"bias_by_length": of_length} if of_length else {}))
        return
    echo(str(found))
    if of_length is not None:
        echo(f"\nBias of the machine by length in words:\n\n{of_length}")


def _count_words(files: list[str]) -> dict[str, int]:
    """Number of words of every document; at least 1."""
    from rankwise.text.documents import iterate_documents

    return {
        name: max(sum(len(text.split()) for text in texts), 1)
        for file in files
        for name, texts in iterate_documents(Path(file), ("text",))
    }


def _show_one(board: Leaderboard, wanted: dict[str, Any], per_query: bool, json: bool) -> None:
    """Show the means of one system, with 95 % intervals over the queries (Student's t)."""
    import numpy as np

    from rankwise.metrics.significance import mean_intervals
    from rankwise.selection.leaderboard import describe_memory_of, describe_uniform, none_counts

    (cell,) = board.cells
    notes = cell.notes + none_counts(board)
    if uniform := describe_uniform(board):
        notes.append(uniform)
    notes += describe_memory_of(board)
    found: dict[str, dict[str, Any]] = {}
    values = {spec: cell.values[str(measure)] for spec, measure in wanted.items()}
    for spec, measure in wanted.items():
        known = values[spec][~np.isnan(values[spec])]
        interval = None
        if len(known) > 1:
            interval = mean_intervals(known[:, None], bounds=measure.bounds)[0].tolist()
        found[spec] = {
            "mean": measure.aggregate(values[spec]),
            "interval": interval,
            "counted": len(known),
            "unjudged": board.unjudged(cell.ranker, spec),
            "convention": str(measure),
        }
    if json:
        facts: dict[str, Any] = {"queries": len(board.qids), "measures": found}
        facts |= {"qids": board.qids, "per_query": values} if per_query else {}
        facts |= {"memory": board.memory.to_dict()} if board.memory else {}
        print_json(facts | {"notes": notes})
        return
    if per_query:
        lines = [
            [str(qid), *(number(float(column[i])) for column in values.values())]
            for i, qid in enumerate(board.qids)
        ]
        print_table(["query", *wanted], lines, right=[*wanted])
    knows_unjudged = any(row["unjudged"] is not None for row in found.values())
    lines = [
        [
            spec,
            number(row["mean"]),
            "–" if row["interval"] is None else " – ".join(map(number, row["interval"])),
            f"{row['counted']} of {len(board.qids)}",
            *([number(row["unjudged"], ".1%")] if knows_unjudged else []),
            row["convention"],
        ]
        for spec, row in found.items()
    ]
    columns = ["measure", "mean", "95 % interval", "queries"]
    columns += [*(["unjudged"] if knows_unjudged else []), "convention"]
    print_table(columns, lines, right=columns[1:-1])
    for note in notes:
        echo(f"note: {note}")


def _put_run_first(scores: str, data: list[str]) -> tuple[str, list[str]]:
    """SCORES and DATA of a TREC run and qrels, of six and four columns, given in any order."""
    from rankwise.datasets.readers.file_formats import FormatName, file_format

    def kind(path: str) -> FormatName | None:
        return file_format(path).kind if Path(path).is_file() else None

    if not is_zipfile(scores) and kind(scores) is FormatName.qrels:
        runs = [path for path in data if kind(path) is FormatName.run]
        qrels = [path for path in data if kind(path) is FormatName.qrels]
        if len(runs) == 1 and len(qrels) == len(data) - 1:
            return runs[0], [scores, *qrels]
    return scores, data


def _refuse_runs(data: list[str]) -> None:
    """Raise UsageError if DATA names a run, as in ``evaluate A.run B.run qrels``."""
    from rankwise.datasets.readers.file_formats import FormatName, file_format

    for path in data:
        if Path(path).is_file() and file_format(path).kind is FormatName.run:
            raise UsageError(
                f"{path} is a TREC run, but DATA holds judgements. Name further systems with "
                f"--systems {path}, and give SCORES first."
            )


def read_judged(
    systems: dict[str, Any], data: list[str], columns: ColumnOptions
) -> Qrels | RankingData:
    """Read judgements if all systems are runs, else the judged rows that they score."""
    from rankwise.datasets import Run

    if all(isinstance(system, Run) for system in systems.values()):
        return _judgments(data, columns)
    return _rows(systems, data, columns, may_be_one=False)


def _judgments(data: list[str], columns: ColumnOptions) -> Qrels | RankingData:
    """Read judgements of documents, in files of any format, or judged data with document ids."""
    from rankwise.cli._data import load_table
    from rankwise.datasets.judged_source import expand_patterns
    from rankwise.datasets.readers.results import read_judgements

    files: list[Any] = expand_patterns(data)
    is_plain = not columns.options and columns.unjudged is None
    if is_plain and all(Path(path).is_file() for path in files):
        return read_judgements(files)
    table = _quietly(load_table, data, columns=columns)
    if table.doc_ids is None:
        raise JobError(
            f"a TREC run or --train-data needs document ids, but {data[0]} has none. Pass a qrels "
            "file, add a comment '#docid = …' to each line of LETOR text, or use --doc-id NAME."
        )
    return table


def _rows(
    systems: dict[str, Any], data: list[str], columns: ColumnOptions, *, may_be_one: bool
) -> RankingData:
    """Read judged rows with the features of all models among the systems."""
    from rankwise.cli._data import load_table, refuse_one_query
    from rankwise.prediction import text_columns_of

    models = [system for system in systems.values() if hasattr(system, "predict")]
    named = [model.feature_names_in_ for model in models if hasattr(model, "feature_names_in_")]
    names = list(dict.fromkeys(str(name) for features in named for name in features))
    texts = dict.fromkeys(name for model in models for name in text_columns_of(model))
    columns = replace(columns, categories=tuple(texts))
    width, first_index = layout_of(systems)
    table = _quietly(load_table, data, width, columns, names if len(named) else None, first_index)
    if not may_be_one:
        refuse_one_query(table, data, columns)
    return table


def _quietly(load: Any, *arguments: Any, **words: Any) -> RankingData:
    """Call ``load`` without notes about columns that are not features."""
    from rankwise.datasets import IgnoredColumnsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredColumnsWarning)
        return load(*arguments, **words)
