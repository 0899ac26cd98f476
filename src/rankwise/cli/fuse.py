"""``rankwise fuse``: fuse the TREC runs of several systems by a rule or by learnt weights."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from rankwise.cli._console import (
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    number,
    print_json,
    print_table,
    waiting,
)
from rankwise.cli._options import Json, read_numbers
from rankwise.runtime.files import COMPRESSIONS, write_file
from rankwise.runtime.messages import check_choice

LEARNING_RULES = ("bayes", "map", "pos", "prob", "seg", "slide")
ENGINES = ("elasticsearch", "opensearch")


def fuse(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="TREC runs, one per system; two or more.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Fused run to write."),
    ],
    rule: Annotated[
        str,
        typer.Option(
            help="Fusion rule: rrf, sum, mnz, borda, condorcet, isr, rbc and others; with "
            "--qrels also map, pos, slide, prob, seg and bayes."
        ),
    ] = "rrf",
    weights: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Weight of each run, for rules that take weights."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="Number of documents to read per list (default: all).")
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(
            help="Judgements to learn from (TREC, BEIR, or a table): the weights of rrf, or the "
            "parameters of --rule."
        ),
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option(
            "--held-out",
            help="With --qrels: fuse only the judged queries, each as learnt from other queries.",
        ),
    ] = False,
    query: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="With --qrels: file to write with the weights, for a search engine.",
            rich_help_panel="Output",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Search engine of --query: elasticsearch (hybrid query) or opensearch (pipeline).",
            rich_help_panel="Output",
        ),
    ] = "elasticsearch",
    json: Json = False,
) -> None:
    """Fuse the TREC runs of several systems into one.

    Systems are named after their files, without suffixes. Weights learnt with --qrels are >= 0.

    Example: rankwise fuse bm25.run dense.run --out fused.run
    """
    if len(runs) < 2:
        raise UsageError(f"fuse needs two or more runs, got {len(runs)}.")
    for path in [*runs, *([qrels] if qrels else [])]:
        check_file(path)
    names = _names(runs)
    given = None if weights is None else read_numbers("weights", weights)
    if qrels is None and (held_out or query is not None):
        raise UsageError(f"{'--held-out' if held_out else '--query'} needs --qrels.")
    learns = rule in LEARNING_RULES
    if learns and qrels is None:
        raise UsageError(f"--rule {rule} learns from judgements. Pass --qrels.")
    check_choice("engine", engine, ENGINES)
    if qrels is not None and (weights is not None or not (learns or rule == "rrf")):
        raise UsageError(
            f"--qrels needs --rule rrf or one of {', '.join(LEARNING_RULES)}, and no --weights. "
            "Change --rule, or drop --weights."
        )
    if learns and query is not None:
        raise UsageError("--query writes weights, which only --rule rrf learns. Drop it.")
    for path, option in ((out, "--out"), (query, "--query")):
        if path is not None:
            check_target(path, option)

    from rankwise.datasets import read_qrels, read_run, write_run
    from rankwise.fusion import LearnedFusion, ProbabilisticFusion, hybrid_query, pool_runs
    from rankwise.fusion import fuse as by_rule

    with waiting("Fusing"):
        systems = {name: read_run(path) for name, path in zip(names, runs, strict=True)}
        pool = pool_runs(systems, depth=depth)
        found: dict[str, float] | None = None
        if qrels is None:
            fused = by_rule(pool, rule, weights=given)
        else:
            judged, chosen = read_qrels(qrels), cast(Any, rule)
            fusion = ProbabilisticFusion(chosen) if learns else LearnedFusion(nonnegative=True)
            if not (learns and held_out):  # else each fold has a fit of its own
                fusion.fit(pool, judged)
            if isinstance(fusion, LearnedFusion):
                found = fusion.weights_
                if query is not None:
                    make_folder(query)
                    body = dumps(hybrid_query(fusion, cast(Any, engine)), indent=2)
                    write_file(query, f"{body}\n".encode())
            fused = fusion.fuse_held_out(pool, judged) if held_out else fusion.fuse(pool)
        make_folder(out)
        write_run(fused, out)
    facts = {"out": str(out), "systems": names, "queries": pool.groups.n_queries}
    facts |= {"documents": len(fused), "rule": None if found else rule, "weights": found}
    if json:
        print_json(facts)
    elif found is not None:
        print_table(
            ["system", "weight"], [[name, number(w)] for name, w in found.items()], right=["weight"]
        )
        if query is not None and engine == "elasticsearch":
            echo(f"In {query}, replace each match_all by the query of a system, in this order.")


def _names(runs: list[Path]) -> list[str]:
    names = []
    for path in runs:
        name = path.stem if path.suffix in COMPRESSIONS else path.name
        for suffix in (".run", ".txt", ".trec"):
            name = name.removesuffix(suffix)
        names.append(name or path.name)
    if len(set(names)) < len(names):
        raise UsageError(f"runs must have different file names, got {', '.join(names)}.")
    return names
