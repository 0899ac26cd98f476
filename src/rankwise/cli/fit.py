"""``rankwise fit``: fit one ranker on one table, or on an index of texts, and save it."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    UsageError,
    check_file,
    check_folder,
    check_target,
    echo,
    make_folder,
    print_json,
    trial_progress,
    waiting,
)
from rankwise.cli._data import Part, name_bad_values
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Data,
    Json,
    Preset,
    Ranker,
    Set,
    TuningMetric,
    ValiData,
    make_ranker,
    ranker_entry,
    read_measures,
    reads_tables,
)
from rankwise.runtime.messages import check_choice

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

Calibrate = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="Also fit probabilities of relevance, for 'rankwise predict --probabilities': beta, "
        "isotonic or logistic (Platt scaling). The ranker and its scores are as without, but use "
        "no columns of text. Five more fits.",
    ),
]


def fit_text(
    data: list[str],
    queries: Path | None,
    judgements: Path | None,
    estimator: Any,
    space: dict[str, list[Any]],
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
    from rankwise.text.text_index import has_index

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
            random_state=random_state,
        )
        qrels = read_judgements(judgements)
        table = ranker.table(queries, qrels)
        rows = replace(table, feature_names=None)  # TextRanker predicts arrays
        tuned = tune(
            estimator, rows, None, measure, space=space, random_state=random_state, refit=True
        )
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


@reads_tables
def fit(
    data: Data,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Model file to write (with --text, a folder)."),
    ],
    ranker: Ranker = "auto",
    set_: Set = None,
    vali_data: ValiData = None,
    measure: TuningMetric = None,
    preset: Preset = None,
    random_state: Annotated[
        int, typer.Option(help="Seed for the ranker, and for the folds of its cross-validation.")
    ] = 0,
    text: Text = None,
    qrels: TextQrels = None,
    n_candidates: Candidates = None,
    unjudged: Unjudged = None,
    calibrate: Calibrate = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Fit a ranker and save it.

    --ranker KEY is the tuned recipe of the ranker, as in 'rankwise compare'; KEY(NAME=VALUE,…) or
    --set is its class with these parameters. Open parameters (C=val, early stopping, grids) are
    chosen on validation data: --vali-data, or the validation part of the fold that DATA names.
    Without validation data, C=val uses cross-validation and grids a quarter of the training
    queries. Early stopping keeps the default number of trees, unless folds of the training queries
    clearly prefer another one. The choice is then fitted on all; notes say so. --set refit=true
    also trains on validation data. The ranker "auto" tries a number of rankers that depends on the
    size of the data, for about a minute, and blends them.

    With --text, DATA is a folder written by 'rankwise index', and --out is a folder for
    'rankwise search', which retrieves documents and reranks them.

    Example: rankwise fit judged.csv --ranker lambdamart --out model.rankwise
    """
    from rankwise.metrics.default import GRADED, MISRANKING, is_graded

    if text is not None or qrels is not None:
        if vali_data is not None or calibrate is not None or columns != NO_COLUMNS:
            raise UsageError(
                "--text takes neither --vali-data nor --calibrate nor options of columns. Drop "
                "them."
            )
        estimator, space = make_ranker(ranker, set_, random_state)
        by = measure or getattr(estimator, "measure", None) or GRADED
        chosen = read_measures(by, preset)[by]
        fit_text(
            data,
            text,
            qrels,
            estimator,
            space,
            chosen,
            random_state,
            out,
            n_candidates,
            unjudged,
            json,
        )
        return
    if n_candidates is not None or unjudged is not None:
        raise UsageError("--n-candidates and --unjudged require --text. Drop them, or add --text.")
    from rankwise.cli._data import check_apart, load_training, refuse_one_query
    from rankwise.datasets import summarize_rows
    from rankwise.datasets.judged_source import first_index_of
    from rankwise.export import export_formats
    from rankwise.persistence import save
    from rankwise.selection import tune
    from rankwise.selection.cells.candidates import describe_settings, model_rows, takes_categories

    estimator, space = make_ranker(ranker, set_, random_state)
    calibrated = None
    if calibrate is not None:
        from rankwise.rankers.calibration import METHODS, CalibratedRanker

        check_choice("calibrate", calibrate, METHODS)
        method: Any = calibrate
        calibrated = CalibratedRanker(method=method, random_state=random_state)
    is_recipe = not set_ and "(" not in ranker
    ran = describe_settings(estimator, space, is_recipe=is_recipe)
    by = measure or getattr(estimator, "measure", None)
    measures = {} if by is None else read_measures(by, preset)
    check_target(out, "--out")
    categories = calibrate is None and takes_categories(estimator)
    columns = replace(columns, categories=categories)
    train, validation = load_training(data, vali_data, columns)
    if vali_data is not None and validation is not None:
        check_apart(train, validation, data, f"--vali-data {vali_data}")
    if by is None:
        by = GRADED if is_graded(train.y) else MISRANKING
        measures = read_measures(by, preset)
    chosen = measures[by]
    if ranker_entry(ranker).kind != "ordinal":
        refuse_one_query(train, data, columns)
    start = time.perf_counter()
    parts: list[Part] = [(data, train, False)]
    if vali_data is not None and validation is not None:
        parts.append(([vali_data], validation, True))
    with trial_progress(f"Fitting {ranker}"), name_bad_values(parts, columns):
        tuned = tune(
            estimator, train, validation, chosen, space=space, random_state=random_state,
            refit=True, early_stopping=not set_ and "(" not in ranker,
        )  # fmt: skip
        if calibrated is not None:
            from sklearn.base import clone

            from rankwise.selection.cells.fold_tuning import fit as fit_in_place

            calibrated.set_params(estimator=clone(tuned.estimator))
            notes = fit_in_place(calibrated, train, validation)
            if train.n_queries < calibrated.cv:
                notes.append(
                    f"{train.n_queries} queries are fewer than the {calibrated.cv} folds, which "
                    "therefore split queries: probabilities may be too sure. Judge more queries"
                )
            tuned = replace(tuned, estimator=calibrated, notes=[*tuned.notes, *notes])
    seconds = time.perf_counter() - start
    by_measure = bool(space) or "measure" in estimator.get_params()
    make_folder(out)
    with waiting("Summarising the rows"):
        X, names = model_rows(tuned.estimator, train)
        rows = summarize_rows(
            X,
            train.qid,
            estimator=tuned.estimator,
            feature_names=names,
            random_state=random_state,
        )
    rows = replace(rows, first_index=first_index_of(train, data), left_out=train.left_out)
    save(tuned.estimator, out, rows=rows)
    formats = export_formats(tuned.estimator)
    facts = {
        "ranker": ranker,
        "ran": ran,
        "model": str(out),
        "data": train.name,
        "rows": train.n_samples,
        "queries": train.n_queries,
        "features": train.n_features,
        "validation_rows": None if validation is None else validation.n_samples,
        "chosen": tuned.chosen,
        "chosen_by": str(chosen) if by_measure else None,
        "search": tuned.search,
        "exports": formats,
        "fit_seconds": seconds,
        "notes": tuned.notes,
        "left_out": train.left_out,
        "calibrated": calibrate,
    }
    tried = getattr(tuned.estimator, "history_", None)
    if tried is not None:
        facts["history"] = tried
    if json:
        print_json(facts)
        return
    echo(
        f"{ranker} on {train.name or 'data'}: {train.n_samples} rows, {train.n_queries} queries, "
        f"{train.n_features} features, {seconds:.2f} s"
    )
    echo(f"ran: {ran}")
    where = "cross-validation"
    if validation is not None:
        where = f"{validation.n_queries} validation queries"
    elif space:
        where = f"{max(1, train.n_queries // 4)} of {train.n_queries} queries"
    criterion = by if by_measure else "its own criterion"
    for name, value in tuned.chosen.items():
        shown = f"{value:g}" if isinstance(value, Real) else str(value)
        echo(f"{name} = {shown} chosen by {criterion} on {where}")
    if tried is not None:
        echo(tuned.estimator.report())
    for note in tuned.notes:
        echo(f"note: {note}")
    if calibrate is not None:
        echo(
            f"probabilities: {calibrate}, fitted to {train.n_queries} queries, see rankwise "
            "predict --probabilities"
        )
    echo(f"exports to: {', '.join(formats) or 'no format, see rankwise export'}")
    echo(str(out))
