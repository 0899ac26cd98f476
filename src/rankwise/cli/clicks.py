"""``rankwise clicks``: describe click logs, judge from them, and test systems by clicks."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._arguments import split_list
from rankwise.cli._errors import UsageError, echo, say
from rankwise.cli._log_columns import reads_log
from rankwise.cli._options import MISSING_FOLDERS, Json
from rankwise.cli._output import (
    check_file,
    check_target,
    make_folder,
    number,
    print_json,
    print_table,
)
from rankwise.cli._progress import waiting

app = typer.Typer(
    help="Describe click logs, judge from them, and test systems by clicks.",
    no_args_is_help=True,
)
Level = Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help="Write a self-contained page: click rate and examination by place with intervals, "
        f"problems of the log and, of 'judge', the judgements. {MISSING_FOLDERS}",
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help=f"File to write. {MISSING_FOLDERS}")]
RandomState = Annotated[int, typer.Option(help="Seed.")]
SUFFIXES = {".csv": "csv", ".json": "opensearch", ".qrels": "trec", ".trec": "trec"}


@app.command("summary")
@reads_log
def summary(
    log: Any,
    context: typer.Context,
    report: Report = None,
    level: Level = 0.95,
    json: Json = False,
) -> None:
    """Show click rates by place, problems of the log, and what it can identify."""
    if report is not None:
        check_target(report, "--report")
    with waiting("Reading"):
        found = log.summary(level=level)
        _write_report(log, report, context, level=level)
    if json:
        facts = asdict(found) | {"identifies_examination": found.identifies_examination}
        print_json(facts | _name_report(report))
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


@app.command("judge")
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
    level: Level = 0.95,
    json: Json = False,
) -> None:
    """Judge every pair of query and document by its clicks.

    Grades come with weights, for training, and intervals, for people.
    """
    check_target(out, "--out")
    if report is not None:
        check_target(report, "--report")
    chosen = to or SUFFIXES.get(out.suffix, "csv")
    options: Any = {"grades": grades, "level": level}
    if propensities is not None:
        options["propensities"] = [_number("--propensities", g) for g in split_list(propensities)]
    if shrinkage is not None:
        options["shrinkage"] = (
            shrinkage if shrinkage == "fit" else _number("--shrinkage", shrinkage)
        )
    from rankwise.clicks import judgements

    with waiting("Judging"):
        judged = judgements(log, method, **options)  # type: ignore[arg-type]
        make_folder(out)
        judged.write(out, chosen, index=index)  # type: ignore[arg-type]
        _write_report(log, report, context, judged=judged, level=level)
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


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} must be a number, got {text!r}.") from None


@app.command("interleave")
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
    """
    for path in runs:
        check_file(path)
    check_target(out, "--out")
    names = [path.name.partition(".")[0] for path in runs]
    from rankwise.clicks import interleave as merge
    from rankwise.clicks.judgement_files import write_table

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


@app.command("test")
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
    level: Level = 0.95,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Test two systems by the clicks on their interleaved lists."""
    pair = None if systems is None else tuple(split_list(systems))
    if pair is not None and len(pair) != 2:
        raise UsageError(f"--systems must name two arms, got {systems!r}.")
    if credit is not None:
        check_file(credit)
    from rankwise.clicks import interleaving_test
    from rankwise.clicks.credits import join_credit

    with waiting("Testing"):
        if credit is not None:
            log = join_credit(log, credit)
        chosen: Any = {"systems": pair, "unit": unit}
        found = interleaving_test(log, **chosen, level=level, random_state=random_state)
    if json:
        print_json(asdict(found))
    else:
        echo(str(found))


@app.command("off-policy")
@reads_log
def off_policy(
    log: Any,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="TREC run of the other system.")],
    metric: Annotated[str, typer.Option(help="CTR or DCG@k.")] = "CTR",
    estimator: Annotated[
        str, typer.Option(help="Estimator: ips, snips, item-position or dr (PBM as baseline).")
    ] = "snips",
    level: Level = 0.95,
    json: Json = False,
) -> None:
    """Estimate the clicks that another ranking would get.

    LOG needs the probabilities of the logging system: --list-propensity for ips and snips,
    --propensity for item-position and dr.
    """
    check_file(run)
    from rankwise.clicks import ClickModel
    from rankwise.clicks import off_policy as estimate

    with waiting("Estimating"):
        baseline = ClickModel("pbm").fit(log) if estimator == "dr" else None
        found = estimate(log, run, metric, estimator, baseline=baseline, level=level)  # type: ignore[arg-type]
    if json:
        print_json(asdict(found))
    else:
        echo(str(found))
