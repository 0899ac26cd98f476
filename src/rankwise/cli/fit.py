"""``rankwise fit``: fit one ranker on one table, and save it."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._arguments import make_ranker, ranker_entry, read_measures
from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._errors import UsageError, echo
from rankwise.cli._lines import Part, name_bad_values
from rankwise.cli._options import (
    MISSING_FOLDERS,
    Data,
    Json,
    Preset,
    Ranker,
    Set,
    TuningMetric,
    ValiData,
)
from rankwise.cli._output import check_target, make_folder, print_json
from rankwise.cli._progress import trial_progress, waiting
from rankwise.cli._text import Candidates, Text, TextQrels, Unjudged, fit_text


@reads_tables
def fit(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help=f"Model file to write (with --text, a folder). {MISSING_FOLDERS}"
        ),
    ],
    ranker: Ranker = "auto",
    set_: Set = None,
    vali_data: ValiData = None,
    select_by: TuningMetric = None,
    preset: Preset = None,
    random_state: Annotated[
        int, typer.Option(help="Seed for the ranker, and for the folds of its cross-validation.")
    ] = 0,
    text: Text = None,
    qrels: TextQrels = None,
    n_candidates: Candidates = None,
    unjudged: Unjudged = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Fit a ranker and save it.

    Open parameters (C=val, early stopping) are chosen on validation data: --vali-data, or the
    validation part of the fold that DATA names. Without validation data, C=val uses
    cross-validation, and early stopping a quarter of the training queries. The ranker "auto"
    tries several rankers for a minute (--set time_budget=SECONDS) and blends them.

    With --text, DATA is a folder written by 'rankwise index', and --out is a folder for
    'rankwise search', which retrieves documents and reranks them.
    """
    from rankwise.metrics.default import GRADED, MISRANKING, is_graded

    if text is not None or qrels is not None:
        if vali_data is not None or columns != NO_COLUMNS:
            raise UsageError("--text takes neither --vali-data nor options of columns. Drop them.")
        estimator = make_ranker(ranker, set_, random_state)
        by = select_by or getattr(estimator, "measure", None) or GRADED
        measure = read_measures(by, preset)[by]
        fit_text(
            data, text, qrels, estimator, measure, random_state, out, n_candidates, unjudged, json
        )
        return
    if n_candidates is not None or unjudged is not None:
        raise UsageError("--n-candidates and --unjudged require --text. Drop them, or add --text.")
    from rankwise.cli._data import load_training, refuse_one_query
    from rankwise.cli._files import first_index_of
    from rankwise.datasets import summarise_rows
    from rankwise.persistence import save
    from rankwise.selection import tune
    from rankwise.selection.category_rows import takes_categories
    from rankwise.selection.given_scores import model_rows

    estimator = make_ranker(ranker, set_, random_state)
    by = select_by or getattr(estimator, "measure", None)
    measures = {} if by is None else read_measures(by, preset)
    check_target(out, "--out")
    columns = replace(columns, categories=takes_categories(estimator))
    train, validation = load_training(data, vali_data, columns)
    if by is None:
        by = GRADED if is_graded(train.y) else MISRANKING
        measures = read_measures(by, preset)
    measure = measures[by]
    if ranker_entry(ranker).kind != "ordinal":
        refuse_one_query(train, data, columns)
    start = time.perf_counter()
    parts: list[Part] = [(data, train, False)]
    if vali_data is not None and validation is not None:
        parts.append(([vali_data], validation, True))
    with trial_progress(f"Fitting {ranker}"), name_bad_values(parts, columns):
        tuned = tune(estimator, train, validation, measure, random_state=random_state)
    seconds = time.perf_counter() - start
    by_measure = "measure" in estimator.get_params()
    make_folder(out)
    with waiting("Summarising the rows"):
        X, names = model_rows(tuned.estimator, train)
        rows = summarise_rows(
            X,
            train.qid,
            model=tuned.estimator,
            feature_names=names,
            random_state=random_state,
        )
    rows = replace(rows, first_index=first_index_of(train, data), left_out=train.left_out)
    save(tuned.estimator, out, rows=rows)
    facts = {
        "ranker": ranker,
        "model": str(out),
        "data": train.name,
        "rows": train.n_samples,
        "queries": train.n_queries,
        "features": train.n_features,
        "validation_rows": None if validation is None else validation.n_samples,
        "chosen": tuned.chosen,
        "chosen_by": str(measure) if by_measure else None,
        "search": tuned.search,
        "fit_seconds": seconds,
        "notes": tuned.notes,
        "left_out": train.left_out,
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
    where = "cross-validation" if validation is None else f"{validation.n_samples} validation rows"
    criterion = by if by_measure else "its own criterion"
    for name, value in tuned.chosen.items():
        shown = f"{value:g}" if isinstance(value, Real) else str(value)
        echo(f"{name} = {shown} chosen by {criterion} on {where}")
    if tried is not None:
        echo(tuned.estimator.report())
    for note in tuned.notes:
        echo(f"note: {note}")
    echo(str(out))
