"""``rankwise fit --text``: fit a text ranker on an index, queries and judgements."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._errors import UsageError, echo
from rankwise.cli._output import check_file, check_folder, print_json
from rankwise.cli._progress import trial_progress

Text = Annotated[
    Path | None,
    typer.Option(
        "--text",
        metavar="QUERIES",
        help="Training queries: JSON lines (.jsonl), TREC topics or TSV.",
    ),
]
TextQrels = Annotated[
    Path | None,
    typer.Option(
        "--qrels",
        metavar="FILE",
        help="Judgements for --text: TREC qrels, BEIR's, or a table with named columns.",
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of documents that --text retrieves and reranks per query (default: 100).",
    ),
]
Unjudged = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Unjudged candidates of --text: zero (not relevant; default), ignore or sample.",
    ),
]


def fit_text(
    data: list[str],
    queries: Path | None,
    judgements: Path | None,
    estimator: Any,
    measure: Any,
    random_state: int,
    out: Path,
    n_candidates: int | None,
    unjudged: str | None,
    json: bool,
) -> None:
    """Fit a TextRanker and save it into a folder."""
    if queries is None or judgements is None:
        raise UsageError("--text QUERIES and --qrels FILE belong together. Pass both.")
    for path in (queries, judgements):
        check_file(path)
    from rankwise.text.index_folder import has_index

    if len(data) != 1 or not has_index(Path(data[0])):
        raise UsageError(
            f"with --text, DATA must be the folder of an index, got {' '.join(data)}. "
            "Create one: rankwise index DOCUMENTS --out FOLDER."
        )
    check_folder(out)
    from rankwise.selection import tune
    from rankwise.text import TextIndex, TextRanker, read_judgements

    start = time.perf_counter()
    with trial_progress("Fitting"):
        ranker = TextRanker(
            TextIndex.load(data[0]),
            estimator,
            n_candidates=n_candidates or 100,
            unjudged=unjudged or "zero",  # type: ignore[arg-type]
        )
        qrels = read_judgements(judgements)
        table = ranker.table(queries, qrels)
        rows = replace(table, feature_names=None)  # TextRanker predicts arrays
        tuned = tune(estimator, rows, None, measure, random_state=random_state)
        ranker.estimator_, ranker.feature_names_ = tuned.estimator, table.feature_names
        recall = ranker.recall(queries, qrels)
        ranker.save(out)
    facts = {
        "ranker": type(estimator).__name__,
        "model": str(out),
        "queries": len(set(qrels.qid.tolist())),
        "candidates": ranker.n_candidates,
        "recall": recall,
        "features": table.n_features,
        "chosen": tuned.chosen,
        "notes": tuned.notes,
        "fit_seconds": time.perf_counter() - start,
    }
    if json:
        print_json(facts)
        return
    echo(
        f"{facts['ranker']} on {table.n_queries} queries, {table.n_samples} candidates, "
        f"{table.n_features} features"
    )
    for name, value in tuned.chosen.items():
        shown = f"{value:g}" if isinstance(value, float) else value
        echo(f"{name} = {shown}, chosen by cross-validation")
    echo(f"{recall:.4f} of the relevant documents are among {ranker.n_candidates} candidates")
    echo(str(out))
