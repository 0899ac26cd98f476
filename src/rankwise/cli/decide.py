"""``rankwise decide``: answer or abstain, where to cut a list, with a promise that is tested."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import is_zipfile

import typer

from rankwise.cli._console import (
    FAILED,
    JobError,
    OptionCommand,
    PagedGroup,
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    one_line,
    print_json,
    print_table,
    say,
    usage,
    waiting,
)
from rankwise.cli._named_entries import columns_of, number_columns, read_systems_and_baseline
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Json,
    complete_data,
    read_number,
    reads_tables,
)
from rankwise.cli.evaluate import read_judged
from rankwise.runtime.messages import ArgumentError, check_choice, check_share

if TYPE_CHECKING:
    from rankwise.datasets import Run

app: Any = typer.Typer(
    cls=PagedGroup,
    help="Answer or abstain, and where to cut a list: thresholds with a tested promise.\n\n"
    'Example: rankwise decide answer bm25.run qrels.txt --promise "wrong_answers<=0.1"',
)
_COLUMNS = ("label", "qid", "doc_id", "sep")
Scores = Annotated[
    str,
    typer.Argument(
        metavar="SCORES",
        help="Lists with scores: a TREC run or a table; or column:NAME of DATA, a file with one "
        "score per line, or a saved model.",
    ),
]
Judged = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Judgements of some queries: TREC qrels or a table; for scores that are not of a run, "
        "judged rows.",
        autocompletion=complete_data,
    ),
]
Score = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Score column of tables with runs (default: score)."),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="JSON file to write with the rule.")]
Python = Annotated[
    Path | None,
    typer.Option(metavar="FILE.py", help="File to write with the rule as plain Python."),
]
Level = Annotated[
    float, typer.Option(help="Probability that the promise is kept, over judged queries.")
]
Rel = Annotated[float, typer.Option(help="Lowest grade of a relevant document.")]
Seed = Annotated[int, typer.Option(help="Seed for the split of the queries.")]
_PROMISE = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(\S+)\s*")


def read_promise(text: str, sign: str) -> tuple[str, float]:
    """Name and number of a promise such as ``wrong_answers<=0.1``."""
    found = _PROMISE.fullmatch(text)
    if found is None or found[2] != sign:
        raise ArgumentError("promise", f"must be NAME{sign}NUMBER, got {text!r}.")
    return found[1], read_number("promise", found[3], rule=f"NAME{sign}NUMBER")


@app.command("answer", cls=OptionCommand)
@partial(reads_tables, options=_COLUMNS)
def answer(
    context: typer.Context,
    scores: Scores,
    data: Judged,
    promise: Annotated[
        str,
        typer.Option(
            metavar="NAME<=RATE",
            help="wrong_answers: share of answered queries with nothing relevant in their list. "
            "false_answers: share of queries with nothing relevant that are answered.",
        ),
    ] = "wrong_answers<=0.1",
    confidence_level: Level = 0.95,
    policy: Annotated[
        str,
        typer.Option(
            help="What is compared with the threshold: top_score, model (of features of the list) "
            "or auto."
        ),
    ] = "auto",
    other: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Another system, given like SCORES, whose agreement the model sees; repeatable.",
        ),
    ] = None,
    rel: Rel = 1.0,
    depth: Annotated[
        int | None, typer.Option(help="Documents of a list to look at (default: all).")
    ] = None,
    unanswerable: Annotated[
        str,
        typer.Option(
            help="Lists with nothing relevant: judged, removed (judged lists without their "
            "relevant documents) or auto (removed if none is judged)."
        ),
    ] = "auto",
    unanswerable_share: Annotated[
        float,
        typer.Option(help="With removed documents: share of such queries among future ones."),
    ] = 0.5,
    random_state: Seed = 0,
    out: Out = None,
    python: Python = None,
    score: Score = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Decide which queries to answer: abstain if a list holds nothing relevant.

    The exit code is 1 if the promise cannot be kept with these judgements. Then no file is
    written, and the text says how many judged queries would do.

    Example: rankwise decide answer bm25.run qrels.txt --out rule.json
    """
    from rankwise.decisions import AnswerRule

    _check_targets(out, python)
    name, at_most = read_promise(promise, "<=")
    check_share("promise", at_most, "Write wrong_answers<=0.1 for 10 %.")
    is_shared = _is_given(context, "unanswerable_share")
    if is_shared and name == "false_answers":
        raise UsageError("--unanswerable-share does not change false_answers. Drop it.")
    if other and policy == "top_score":
        raise UsageError("--other is for the model, which --policy top_score is not. Drop one.")
    chosen: dict[str, Any] = {"policy": policy, "unanswerable": unanswerable}
    rule = AnswerRule(
        name,  # type: ignore[arg-type]
        at_most,
        confidence_level,
        rel=rel,
        depth=depth,
        unanswerable_share=unanswerable_share,
        random_state=random_state,
        **chosen,
    )
    (lists, *others), judged = _read([scores, *(other or [])], data, columns, score)
    with waiting("Fitting"):
        rule.fit(lists, judged, others=others)
    if is_shared and rule.report_.unanswerable == "judged":
        raise UsageError(
            "--unanswerable-share is for lists made by removing documents, but those with nothing "
            "relevant are judged here. Drop it, or add --unanswerable removed."
        )
    _show(rule, out, python, json)


@app.command("cut", cls=OptionCommand)
@partial(reads_tables, options=_COLUMNS)
def cut(
    context: typer.Context,
    scores: Scores,
    data: Judged,
    promise: Annotated[
        str,
        typer.Option(
            metavar="MEASURE>=VALUE",
            help="Mean over queries of the recall, nDCG or precision of what is shown.",
        ),
    ] = "recall>=0.9",
    confidence_level: Level = 0.95,
    on_average: Annotated[
        bool,
        typer.Option(
            "--on-average",
            help="Keep the promise on average over judged queries only: shows less, and breaks it "
            "in about half of the cases.",
        ),
    ] = False,
    policy: Annotated[
        str,
        typer.Option(
            help="What is compared with the threshold: fixed_k, score_floor, below_top, "
            "standardized, probability, or auto."
        ),
    ] = "auto",
    rel: Rel = 1.0,
    random_state: Seed = 0,
    out: Out = None,
    python: Python = None,
    score: Score = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Decide how many documents of each list to show.

    The exit code is 1 if the promise cannot be kept with these judgements. Then no file is
    written, and the text says how many judged queries would do.

    Example: rankwise decide cut bm25.run qrels.txt --promise "recall>=0.9" --out rule.json
    """
    from rankwise.decisions import CutRule
    from rankwise.decisions.cut_rule import MEASURES

    _check_targets(out, python)
    measure, at_least = read_promise(promise, ">=")
    measure = {name.lower(): name for name in MEASURES}.get(measure.lower(), measure)
    check_choice("promise", measure, MEASURES)
    check_share("promise", at_least, "Write recall>=0.9 for 90 %.")
    if on_average and measure == "precision":
        raise UsageError(
            "--on-average is for recall and nDCG: precision may rise and fall with what is shown. "
            "Drop it."
        )
    if on_average and _is_given(context, "confidence_level"):
        raise UsageError("--on-average promises without --confidence-level. Drop one of them.")
    chosen: dict[str, Any] = {"policy": policy, "rel": rel, "random_state": random_state}
    level = None if on_average else confidence_level
    rule = CutRule(measure, at_least, level, **chosen)  # type: ignore[arg-type]
    (lists,), judged = _read([scores], data, columns, score)
    with waiting("Fitting"):
        rule.fit(lists, judged)
    _show(rule, out, python, json)


@app.command("apply", cls=OptionCommand)
@partial(reads_tables, options=_COLUMNS[1:])
def apply_(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Lists to decide: a run or a table.")],
    rule: Annotated[Path, typer.Option(metavar="FILE.json", help="Rule of 'rankwise decide'.")],
    other: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN", help="Runs of the other systems, as the rule was fitted; repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run to write with what is shown.")
    ] = None,
    score: Score = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Apply a rule to the lists of a run: which queries to answer, or how many to show.

    Example: rankwise decide apply new.run --rule rule.json --out shown.run
    """
    from rankwise.datasets import Run, write_run
    from rankwise.decisions import list_scores, load_decision

    check_file(rule)
    if out is not None:
        check_target(out, "--out")
    with usage():
        decision = load_decision(rule)
    if other and "agreement" not in (getattr(decision, "coefficients_", None) or ()):
        # No error: the policy "auto" may look at them after one fit and not after the next.
        say(f"note: {rule} does not look at other systems, so --other has no effect")
        other = None
    (lists, *others), _ = _read([run, *(other or [])], None, columns, score)
    found = decision.decide(lists, **({"others": others} if others else {}))
    if out is not None:
        listed = list_scores(lists)
        ids: Any = listed.doc_ids
        starts, ends = listed.indptr[:-1], listed.indptr[:-1] + found.n_shown
        rows = [row for a, b in zip(starts, ends, strict=True) for row in range(a, b)]
        qids = listed.qids.repeat(found.n_shown)
        make_folder(out)
        write_run(Run(qids, ids[rows], listed.scores[rows], "decided"), out)
    if json:
        print_json(found.to_dict() | {"out": None if out is None else str(out)})
        return
    n_shown, n_documents = int((found.n_shown > 0).sum()), int(found.n_shown.sum())
    echo(f"{n_shown:,} of {len(found.qid):,} queries show {n_documents:,} documents.\n")
    (header, *cells), below = found._cells()
    print_table(header, cells, right=header[1:])
    for line in below:
        echo(line.replace(found._rest, ": see --json"))


def _check_targets(out: Path | None, python: Path | None) -> None:
    for path, option in ((out, "--out"), (python, "--python")):
        if path is not None:
            check_target(path, option)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the command line names an option, so that it must have an effect."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _read(
    words: list[str], data: str | None, columns: ColumnOptions, score: str | None
) -> tuple[list[Any], Any]:
    """Systems, and their judgements if DATA is given: runs and qrels, or scores of judged rows."""
    from rankwise.datasets import Run, read_table

    named = {name: value for name in _COLUMNS if (value := columns.words.get(name))}
    of_run = {name: value for name, value in named.items() if name != "label"}
    of_run |= {"label": score} if score else {}
    found: dict[str, Any] = {}
    used: set[str] = set()
    for n, word in enumerate(words):
        if own := _own_columns(word, of_run):
            used |= {*own.values()}
            found[str(n)] = _read_named(word, own)
        else:
            found |= read_systems_and_baseline([f"{n}={word}"], None)[0]
    others = [word for word, x in zip(words, found.values(), strict=True) if not isinstance(x, Run)]
    if others:
        if data is None or score or len(others) < len(words):
            raise UsageError(
                f"{others[0]} is not a run, which --score, --other with runs and 'rankwise decide "
                "apply' need. Write one: rankwise predict MODEL DATA --format trec."
            )
        return _score_rows(found, data, columns)
    judged: Any = None
    if data is not None:
        own = _own_columns(data, named)
        used |= {*own.values()}
        judged = read_table(data, features=[], **own) if own else None
        judged = judged or read_judged(found, [data], NO_COLUMNS)
        first, known = str(found["0"].qid[0]), [*map(str, judged.qid.tolist())]
        if not {*found["0"].qid.tolist()} & {*known}:
            raise JobError(
                f"{words[0]} and {data} have no query in common: the first ones are {first!r} and "
                f"{known[0]!r}. Write their ids alike."
            )
    for name, value in (named | {"score": score}).items():
        if value and value not in used:
            files = " or ".join([*words, *([data] if data else [])])
            raise ArgumentError(name, f"must fit {files}, got {value!r}. Check their first lines.")
    return [*found.values()], judged


def _score_rows(found: dict[str, Any], data: str, columns: ColumnOptions) -> tuple[list[Any], Any]:
    """Scores of judged rows by columns, files and models; and these rows."""
    from rankwise.checks.rows import name_columns
    from rankwise.prediction import predictions
    from rankwise.selection.cells.candidates import ColumnScores, model_rows, unfreeze

    rows: Any = read_judged(found, [data], replace(columns, score_columns=columns_of(found)))
    systems = number_columns(found, rows, [data])
    for name, system in systems.items():
        if isinstance(system, str):
            systems[name] = ColumnScores(system.partition(":")[2]).of(rows).scores
        elif hasattr(system, "predict"):
            X, names = model_rows(system, rows)
            with name_columns(unfreeze(system), names):
                systems[name] = predictions(system, X, rows.qid).scores
    return [*systems.values()], rows


def _read_named(path: str, own: dict[str, Any]) -> Run:
    """Run of a table whose columns the options name."""
    from rankwise.datasets import read_table
    from rankwise.datasets.readers.results import make_run

    words: dict[str, Any] = {"label": "score", "features": []} | own
    try:  # scores are read as labels, which may be any numbers
        rows = read_table(path, **words)
    except ValueError as error:
        problem, is_score, _ = one_line(error).partition(" Write the grades")
        if not is_score:
            raise
        problem = problem.replace("label must", "the score must")
        raise JobError(f"{problem} Write 0.5, not 0,5.") from None
    if rows.doc_ids is None:
        raise UsageError(f"{path} has no column of document ids. Name it: --doc-id NAME.")
    return make_run([*rows.qid], [*rows.doc_ids], rows.y, path)


def _own_columns(path: str, named: dict[str, str]) -> dict[str, Any]:
    """Arguments of ``read_table`` for a table that has one of the named columns; else none."""
    from rankwise.datasets.readers.delimited import DelimitedFile
    from rankwise.datasets.readers.file_formats import SEPARATORS, FormatName, file_format
    from rankwise.datasets.readers.quotes import split_names
    from rankwise.datasets.readers.tables import open_stored
    from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES

    file = Path(path)
    if not named or not file.is_file() or is_zipfile(file):
        return {}
    if file_format(file).kind is FormatName.stored:
        known = {*open_stored(file).schema.names}
        return {name: value for name, value in named.items() if value in known}
    line = DelimitedFile.of(file, ",", MAX_DECOMPRESSED_BYTES).first_line()
    sep = named.get("sep") or max(SEPARATORS, key=lambda sep: line.count(sep.encode()))
    names = split_names(line, sep, '"')
    known = {*names, named.get("sep")} if len(names) > 1 else set()
    own = {name: value for name, value in named.items() if value in known}
    return own | {"sep": sep} if own else {}


def _show(rule: Any, out: Path | None, python: Path | None, json: bool) -> None:
    """Write and print a fitted rule; exit with 1, without a file, if its promise cannot be kept."""
    from rankwise.runtime.files import write_file

    is_kept = rule.report_.threshold is not None
    if is_kept:
        texts = ((out, f"{rule.to_json()}\n"), (python, rule.to_python()))
        for path, text in [(path, text) for path, text in texts if path is not None]:
            make_folder(path)
            write_file(path, text.encode())
    if json:
        print_json(rule.report_.to_dict() | {"out": str(out) if out and is_kept else None})
    else:
        echo(str(rule))
    if not is_kept:
        for path in filter(None, (out, python)):
            say(f"{path} is not written: it would hold a rule whose promise cannot be kept.")
        raise typer.Exit(FAILED)
