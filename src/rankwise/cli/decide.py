"""``rankwise decide``: answer or abstain, where to cut a list, with a promise that is tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    FAILED,
    OptionCommand,
    PagedGroup,
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    print_json,
    show_result,
    usage,
    waiting,
)
from rankwise.cli._options import Json, read_number
from rankwise.runtime.messages import ArgumentError, check_choice, check_share

app: Any = typer.Typer(
    cls=PagedGroup,
    help="Answer or abstain, and where to cut a list, with a promise that judged queries test.\n\n"
    'Example: rankwise decide answer bm25.run qrels.txt --promise "wrong_answers<=0.1"',
)
Scores = Annotated[
    Path, typer.Argument(metavar="SCORES", help="Lists with scores: a TREC run or a table.")
]
Judgements = Annotated[
    Path,
    typer.Argument(metavar="QRELS", help="Judgements of some queries: TREC qrels or a table."),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="JSON file to write with the rule.")]
Python = Annotated[
    Path | None,
    typer.Option(metavar="FILE.py", help="File to write with the rule as plain Python."),
]
Level = Annotated[
    float, typer.Option(help="Probability that the promise is kept, over judged queries.")
]
Policy = Annotated[str, typer.Option(help="What decides; auto chooses it.")]
_PROMISE = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(\S+)\s*")


def read_promise(text: str, sign: str) -> tuple[str, float]:
    """Name and number of a promise such as ``wrong_answers<=0.1``."""
    found = _PROMISE.fullmatch(text)
    if found is None or found[2] != sign:
        raise ArgumentError("promise", f"must be NAME{sign}NUMBER, got {text!r}.")
    return found[1], read_number("promise", found[3], rule=f"NAME{sign}NUMBER")


@app.command("answer", cls=OptionCommand)
def answer(
    scores: Scores,
    qrels: Judgements,
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
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="Run of another system, whose agreement the model sees; repeatable.",
        ),
    ] = None,
    rel: Annotated[float, typer.Option(help="Lowest grade of a relevant document.")] = 1.0,
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
    random_state: Annotated[int, typer.Option(help="Seed for the split of the queries.")] = 0,
    out: Out = None,
    python: Python = None,
    json: Json = False,
) -> None:
    """Decide which queries to answer: abstain if a list holds nothing relevant.

    The exit code is 1 if the promise cannot be kept with these judgements. The rule then abstains
    from every query, and the text says how many judged queries would do.

    Example: rankwise decide answer bm25.run qrels.txt --out rule.json
    """
    from rankwise.decisions import AnswerRule

    _check(scores, qrels, *(other or []), out=out, python=python)
    name, at_most = read_promise(promise, "<=")
    check_share("promise", at_most, "Write wrong_answers<=0.1 for 10 %.")
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
    with waiting("Fitting"):
        rule.fit(scores, qrels, others=other or ())
    _show(rule, out, python, json)


@app.command("cut", cls=OptionCommand)
def cut(
    scores: Scores,
    qrels: Judgements,
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
    rel: Annotated[float, typer.Option(help="Lowest grade of a relevant document.")] = 1.0,
    random_state: Annotated[int, typer.Option(help="Seed for the split of the queries.")] = 0,
    out: Out = None,
    python: Python = None,
    json: Json = False,
) -> None:
    """Decide how many documents of each list to show.

    The exit code is 1 if the promise cannot be kept with these judgements. The rule then shows
    whole lists, or for precision the top documents, and the text says how many judged queries
    would do.

    Example: rankwise decide cut bm25.run qrels.txt --promise "recall>=0.9" --out rule.json
    """
    from rankwise.decisions import CutRule
    from rankwise.decisions.cut_rule import MEASURES

    _check(scores, qrels, out=out, python=python)
    measure, at_least = read_promise(promise, ">=")
    measure = {name.lower(): name for name in MEASURES}.get(measure.lower(), measure)
    check_choice("promise", measure, MEASURES)
    check_share("promise", at_least, "Write recall>=0.9 for 90 %.")
    if on_average and measure == "precision":
        raise UsageError(
            "--on-average is for recall and nDCG: precision may rise and fall with what is shown. "
            "Drop it."
        )
    chosen: dict[str, Any] = {"policy": policy, "rel": rel, "random_state": random_state}
    level = None if on_average else confidence_level
    rule = CutRule(measure, at_least, level, **chosen)  # type: ignore[arg-type]
    with waiting("Fitting"):
        rule.fit(scores, qrels)
    _show(rule, out, python, json)


@app.command("apply", cls=OptionCommand)
def apply_(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Lists to decide: a run or a table.")],
    rule: Annotated[Path, typer.Option(metavar="FILE.json", help="Rule of 'rankwise decide'.")],
    other: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN", help="Runs of the other systems, as the rule was fitted; repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run to write with what is shown.")
    ] = None,
    json: Json = False,
) -> None:
    """Apply a rule to the lists of a run: which queries to answer, or how many to show.

    Example: rankwise decide apply new.run --rule rule.json --out shown.run
    """
    from rankwise.datasets import Run, write_run
    from rankwise.decisions import list_scores, load_decision

    for path in (run, rule, *(other or [])):
        check_file(path)
    if out is not None:
        check_target(out, "--out")
    with usage():
        decision = load_decision(rule)
    if other and decision.kind != "answer":
        raise UsageError("--other needs a rule of 'rankwise decide answer'. Drop it.")
    found = decision.decide(run, **({"others": other} if other else {}))
    if out is not None:
        lists = list_scores(run)
        ids: Any = lists.doc_ids
        starts, ends = lists.indptr[:-1], lists.indptr[:-1] + found.n_shown
        rows = [row for a, b in zip(starts, ends, strict=True) for row in range(a, b)]
        qids = lists.qids.repeat(found.n_shown)
        make_folder(out)
        write_run(Run(qids, ids[rows], lists.scores[rows], "decided"), out)
    n_shown = int((found.n_shown > 0).sum())
    if json:
        print_json(found.to_dict() | {"out": None if out is None else str(out)})
        return
    show_result(found, json=False)
    n_documents = int(found.n_shown.sum())
    echo(f"{n_shown:,} of {len(found.qid):,} queries show {n_documents:,} documents.")


def _check(*files: Path, out: Path | None, python: Path | None) -> None:
    for path in files:
        check_file(path)
    for path, option in ((out, "--out"), (python, "--python")):
        if path is not None:
            check_target(path, option)


def _show(rule: Any, out: Path | None, python: Path | None, json: bool) -> None:
    """Write and print a fitted rule; exit with 1 if its promise cannot be kept."""
    from rankwise.runtime.files import write_file

    if out is not None:
        make_folder(out)
        rule.to_json(out)
    if python is not None:
        make_folder(python)
        write_file(python, rule.to_python().encode())
    if json:
        print_json(rule.report_.to_dict() | {"out": None if out is None else str(out)})
    else:
        echo(str(rule))
    if rule.report_.threshold is None:
        raise typer.Exit(FAILED)
