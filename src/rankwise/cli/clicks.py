"""``rankwise clicks``: describe click logs, judge from them, and test systems by clicks."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    OptionCommand,
    PagedGroup,
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    number,
    print_json,
    print_table,
    say,
    show_result,
    waiting,
)
from rankwise.cli._options import (
    Json,
    add_options,
    read_names,
    read_number,
    read_numbers,
    split_list,
)
from rankwise.runtime.messages import check_choice

FORMATS = ("table", "ubi", "yandex")


# Roles that a table with one row per list gives in several columns, and those that it may lack.
_IN_SEVERAL = ("doc", "click")
_MAY_LACK = ("session", "user", "weight", "time", "propensity", "list_propensity", "arm")


def _column(option: str, role: str, what: str) -> Any:
    # The name of the parameter too: messages of the reader name it.
    names = dict.fromkeys(f"--{name.replace('_', '-')}" for name in (option, role))
    more = "; '': none" if role in _MAY_LACK else ""
    if role in _IN_SEVERAL:
        more = "; of a table with one row per list: its columns, separated by commas"
    text = f"Column of {what} (default: usual names{more})."
    return Annotated[str | None, typer.Option(*names, metavar="NAME", help=text)]


# Option and parameter of ``read_clicks`` for every role.
_ROLES = {
    "qid": ("query", "queries"),
    "doc_id": ("doc", "documents"),
    "place": ("place", "places"),
    "click": ("click", "clicks"),
    "session": ("session", "sessions"),
    "user": ("user", "users"),
    "weight": ("weight", "weights"),
    "time": ("time", "times"),
    "propensity": ("propensity", "probabilities of the logging system at this place"),
    "list_propensity": (
        "list_propensity",
        "probabilities of the list, or of each row given those above",
    ),
    "arm": ("arm", "arms or teams"),
}
_OPTIONS: dict[str, Any] = {
    "log": Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Click log: CSV, TSV or Parquet with one row per impression, or another --format.",
        ),
    ],
    "format": Annotated[
        str | None,
        typer.Option(
            help="Format of LOG: table, ubi (JSON lines or Parquet of User Behavior Insights) "
            "or yandex (default: ubi if the suffix is .ndjson, .jsonl or .json, else table).",
            rich_help_panel="Data",
        ),
    ],
    "events": Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --format ubi: events, if LOG lacks them."),
    ],
    "by": Annotated[
        str | None,
        typer.Option(
            help="With --format ubi: what a query is, user_query or query_id (default: user_query)."
        ),
    ],
    **{option: _column(option, *role) for option, role in _ROLES.items()},
    "sep": Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Column separator (default: by suffix)."),
    ],
}


def reads_log(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter ``log`` of a command by LOG and the options that read it."""
    return add_options("log", _OPTIONS, _read)(command)


def _read(
    log: Path,
    format: str | None = None,
    events: Path | None = None,
    by: str | None = None,
    sep: str | None = None,
    **columns: str | None,
) -> Any:
    from rankwise.clicks import read_clicks, read_ubi

    check_file(log)
    name = log.name.lower().removesuffix(".gz")
    if format is None:
        format = "ubi" if events or name.endswith((".ndjson", ".jsonl", ".json")) else "table"
    check_choice("format", format, FORMATS)
    named = {option: column for option, column in columns.items() if column is not None}
    if format != "table" and (named or sep):
        wrong = next(iter(named), "sep").replace("_", "-")
        raise UsageError(
            f"--{wrong} names a column of tables, but the format is {format}. Drop it."
        )
    if by is not None and (format != "ubi" or by not in ("user_query", "query_id")):
        raise UsageError(
            f"--by must be user_query or query_id, of --format ubi, got {by!r} and {format!r}."
        )
    if events is not None:
        if format != "ubi":
            raise UsageError(f"--events needs --format ubi, got {format!r}.")
        check_file(events)
    if format == "ubi":
        return read_ubi(log, events, by=by or "user_query")
    given = {
        role: _read_column(role, name)
        for role, name in ((_ROLES[option][0], name) for option, name in named.items())
    }
    separator = "\t" if sep == "\\t" else sep
    return read_clicks(log, format=format, sep=separator, **given)  # type: ignore[arg-type]


def _read_column(role: str, name: str) -> Any:
    """The column, or columns, that an option names; False if '' leaves it out."""
    if role in _IN_SEVERAL and "," in name:
        return read_names(name)
    return False if role in _MAY_LACK and not name else name


app: Any = typer.Typer(
    cls=PagedGroup,
    help="Describe click logs, judge from them, and test systems by clicks.\n\n"
    "Example: rankwise clicks summary log.csv",
)
Level = Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help="Write a self-contained page: click rate and examination by place with intervals, "
        "problems of the log and, of 'judge', the judgements.",
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="File to write.")]
RandomState = Annotated[int, typer.Option(help="Seed.")]
SUFFIXES = {".csv": "csv", ".json": "opensearch", ".qrels": "trec", ".trec": "trec"}


@app.command("summary", cls=OptionCommand)
@reads_log
def summary(
    log: Any,
    context: typer.Context,
    report: Report = None,
    confidence_level: Level = 0.95,
    json: Json = False,
) -> None:
    """Show click rates by place, problems of the log, and what it can identify.

    Example: rankwise clicks summary log.csv
    """
    if report is not None:
        check_target(report, "--report")
    with waiting("Reading"):
        found = log.summary(confidence_level=confidence_level)
        _write_report(log, report, context, confidence_level=confidence_level)
    if json:
        print_json(found.to_dict() | _name_report(report))
        return
    echo(str(found))
    if report is not None:
        echo(str(report))


def _write_report(log: Any, report: Path | None, context: typer.Context, **options: Any) -> None:
    if report is not None:
        from rankwise.report import write_click_report

        command = shlex.join(["rankwise", *context.obj])
        make_folder(report)
        write_click_report(log, report, command=command, **options)


def _name_report(report: Path | None) -> dict[str, str]:
    return {} if report is None else {"report": str(report)}


@app.command("judge", cls=OptionCommand)
@reads_log
def judge(
    log: Any,
    context: typer.Context,
    out: Out,
    method: Annotated[
        str, typer.Option(help="Method: ctr, coec, harvest, ips, pbm, ubm, sdbn or dbn.")
    ] = "ctr",
    shrinkage: Annotated[
        str | None,
        typer.Option(
            metavar="KAPPA|fit",
            help="Strength of the prior that moves grades to the mean, or fit (default: 0 for ctr, "
            "else fit).",
        ),
    ] = None,
    propensities: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,…",
            help="For harvest and ips: examination of the places 1, 2, … (default: from the log).",
        ),
    ] = None,
    grades: Annotated[
        int | None, typer.Option(min=2, help="Number of whole grades (default: real values).")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Format of --out: csv (with weights and intervals), trec, opensearch, "
            "elasticsearch or ranklib (default: by suffix, else csv)."
        ),
    ] = None,
    index: Annotated[
        str, typer.Option(help="With --to elasticsearch: name of the index.")
    ] = "documents",
    report: Report = None,
    confidence_level: Level = 0.95,
    json: Json = False,
) -> None:
    """Judge every pair of query and document by its clicks.

    Grades come with weights, for training, and intervals, for people.

    Example: rankwise clicks judge log.csv --out judged.csv
    """
    check_target(out, "--out")
    if report is not None:
        check_target(report, "--report")
    chosen = to or SUFFIXES.get(out.suffix, "csv")
    options: Any = {"grades": grades, "confidence_level": confidence_level}
    if propensities is not None:
        options["propensities"] = read_numbers("propensities", propensities)
    if shrinkage is not None:
        options["shrinkage"] = read_number("shrinkage", shrinkage, "fit")
    from rankwise.clicks import judgements

    with waiting("Judging"):
        judged = judgements(log, method, **options)  # type: ignore[arg-type]
        make_folder(out)
        judged.write(out, chosen, index=index)  # type: ignore[arg-type]
        _write_report(log, report, context, judged=judged, confidence_level=confidence_level)
    facts = {"out": str(out), "format": chosen, "method": method, "pairs": len(judged)}
    facts |= {"mu": judged.mu, "kappa": judged.kappa, "notes": judged.notes}
    facts |= _name_report(report)
    if json:
        print_json(facts)
        return
    echo(f"{judged!r} -> {out} ({chosen}); mu {judged.mu:.4g}, kappa {judged.kappa:.4g}")
    order = sorted(range(len(judged)), key=lambda i: -judged.impressions[i])[:10]
    columns = [judged.grade, judged.low, judged.high, judged.weight]
    rows = [
        [
            str(judged.qid[i]),
            str(judged.doc_ids[i]),
            f"{judged.clicks[i]:g}/{judged.impressions[i]:g}",
        ]
        + [number(float(column[i])) for column in columns]
        for i in order
    ]
    names = ["query", "document", "clicks", "grade", "low", "high", "weight"]
    print_table(names, rows, right=names[2:])
    for note in judged.notes:
        say(f"note: {note}")
    if report is not None:
        echo(str(report))


@app.command("interleave", cls=OptionCommand)
def interleave(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="TREC runs, one per system; two or more.")
    ],
    out: Out,
    method: Annotated[
        str, typer.Option(help="Method: team_draft, balanced or debiased.")
    ] = "team_draft",
    k: Annotated[int | None, typer.Option("-k", min=1, help="Length of the lists.")] = None,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Interleave the lists of systems: CSV with query, document, place, team and credits.

    Systems are named after their files, without suffixes. Show the lists, log the teams or the
    credits, and run 'rankwise clicks test' on the clicks. Debiased lists have credits, but no
    teams.

    Example: rankwise clicks interleave old.run new.run --out shown.csv
    """
    for path in runs:
        check_file(path)
    check_target(out, "--out")
    names = [path.name.partition(".")[0] for path in runs]
    from rankwise.clicks import interleave as merge
    from rankwise.clicks.judgement import write_table

    with waiting("Interleaving"):
        merged = merge(*runs, method=method, names=names, k=k, random_state=random_state)  # type: ignore[arg-type]
        make_folder(out)
        columns = {"qid": merged.qid, "doc_id": merged.doc_ids, "place": merged.place}
        write_table(
            out,
            columns
            | {"team": merged.team}
            | {f"credit_{name}": merged.credit[:, i] for i, name in enumerate(names)},
        )
    facts = {"out": str(out), "systems": names, "rows": len(merged)}
    if json:
        print_json(facts)
    else:
        echo(f"{len(merged)} rows of {', '.join(names)} -> {out}")


@app.command("test", cls=OptionCommand)
@reads_log
def test(
    log: Any,
    systems: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Arms to compare (default: the two arms of the log)."),
    ] = None,
    credit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV of 'rankwise clicks interleave' with what a click is worth to each system "
            "(default: the columns credit_… of LOG; without them, the arms).",
        ),
    ] = None,
    unit: Annotated[str, typer.Option(help="What counts once: list, query or user.")] = "list",
    confidence_level: Level = 0.95,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Test two systems by the clicks on their interleaved lists.

    Example: rankwise clicks test log.csv
    """
    pair = None if systems is None else tuple(split_list(systems))
    if pair is not None and len(pair) != 2:
        raise UsageError(f"--systems must name two arms, got {systems!r}.")
    if credit is not None:
        check_file(credit)
    from rankwise.clicks import interleaving_test
    from rankwise.clicks.interleaving import join_credit

    with waiting("Testing"):
        if credit is not None:
            log = join_credit(log, credit)
        chosen: Any = {"systems": pair, "unit": unit}
        found = interleaving_test(
            log, **chosen, confidence_level=confidence_level, random_state=random_state
        )
    show_result(found, json)


@app.command("off-policy", cls=OptionCommand)
@reads_log
def off_policy(
    log: Any,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="TREC run of the other system.")],
    measure: Annotated[str, typer.Option(help="CTR or DCG@k.")] = "CTR",
    method: Annotated[
        str, typer.Option(help="Estimator: ips, snips, item_position or dr (PBM as baseline).")
    ] = "snips",
    confidence_level: Level = 0.95,
    json: Json = False,
) -> None:
    """Estimate the clicks that another ranking would get.

    LOG needs the probabilities of the logging system: --list-propensity for ips and snips,
    --propensity for item_position and dr.

    Example: rankwise clicks off-policy log.csv new.run
    """
    check_file(run)
    from rankwise.clicks import ClickModel
    from rankwise.clicks import off_policy as estimate

    with waiting("Estimating"):
        baseline = ClickModel("pbm").fit(log) if method == "dr" else None
        chosen: Any = method
        found = estimate(
            log, run, measure, chosen, baseline=baseline, confidence_level=confidence_level
        )
    show_result(found, json)
