"""Read existing systems, and evaluate them on the same queries, without fitting."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from rankwise.checks.exact_values import exact_float64
from rankwise.checks.rows import name_columns
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.file_formats import FormatName, file_format
from rankwise.datasets.readers.judged_run import (
    describe_identical_ids,
    drop_identical_ids,
    judge,
    refuses_both_ways,
)
from rankwise.datasets.readers.results import read_judgements, read_run, read_scores
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.table_columns import IgnoredColumnsWarning, is_frame
from rankwise.metrics.default import list_constant, list_wide_gains
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.spec import list_specs
from rankwise.metrics.statistics.against_best import Correction
from rankwise.metrics.statistics.paired import TestMethod
from rankwise.persistence import load
from rankwise.prediction import Predictions, predictions
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.messages import ArgumentError, setting
from rankwise.selection.cells.candidates import (
    COLUMN,
    ArrayScores,
    ColumnScores,
    GivenScores,
    RunScores,
    fill_given,
    model_rows,
    run_scores,
    unfreeze,
)
from rankwise.selection.cells.measured import Measurement, mark_uniform, recall_of
from rankwise.selection.cells.result_store import DONE, FoldInfo, FoldResult, Settings
from rankwise.selection.judging.difference_bounds import OrderCheck, add_order_notes
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.memory import memory_audit
from rankwise.selection.splits import convert_to_judged
from rankwise.typing import ArrayLike, Seed

_ALL = "all"


@refuses_both_ways
def evaluate_systems(
    qrels: RankingData | Qrels | Any,
    systems: Mapping[str, Run | ArrayLike | str | Any],
    *,
    label: str | None = None,
    qid: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    doc_id: str | None = None,
    unjudged: float | Literal["missing"] | None = None,
    baseline: str | None = None,
    measures: MeasureLike | Sequence[MeasureLike] = ("nDCG@10", "AP"),
    preset: str | None = None,
    all_queries: bool = False,
    differing_queries: bool = False,
    ignore_identical_ids: bool = False,
    test: TestMethod = "t",
    correction: Correction = "auto",
    confidence_level: float = 0.95,
    random_state: Seed = 0,
    train: Any = None,
) -> Leaderboard:
    """Evaluate existing systems on the same judged queries, without fitting.

    Parameters
    ----------
    qrels : RankingData, frame or judgements
        Judged rows. Judgements in any form that :func:`rankwise.text.read_judgements` takes
        suffice if all systems are runs.
    systems : mapping of str to run, "column:NAME", fitted model or array-like of scores
        Systems by name. A run is anything that :func:`rankwise.fusion.as_run` takes, such as a
        path or ``{query: {document: score}}``. An array holds one score per row of ``qrels``;
        "column:NAME" is a column of ``qrels``. Columns for a model are chosen by name if both the
        model and the rows have names.
    label, qid, doc_id : str, optional
        Columns of a frame; None: the usual names, see :meth:`RankingData.from_frame`.
    features : sequence of str, optional
        Columns of a frame that models read; None: all remaining columns of numbers.
    unjudged : number or "missing", optional
        Label of rows without a judgement, see :func:`rankwise.compare`. Documents that are not in
        judgements need no such label.
    baseline : str, optional
        Name of one of the systems. In addition to the table of all pairs, every other system is
        tested against it, with a correction over these pairs only.
    measures : str, Measure, callable or sequence of them
        Measures to compute; the first one orders the table.
    preset : str, optional
        Convention for parameters that the measures leave open, e.g. "trec_eval".
    all_queries : bool
        Also count judged queries that are in no run. With scores of rows, all queries always count.
    differing_queries : bool
        Count only queries on which systems can differ. Queries with one document, or with documents
        of one grade that every run has, are left out; the first line of the leaderboard says how
        many.
    ignore_identical_ids : bool
        Whether to leave documents with the id of their query out of runs, as BEIR does. In its sets
        ArguAna and Quora, queries are documents of the collection. All systems must be runs.
    test, correction, confidence_level, random_state
        As in :func:`rankwise.compare`.
    train : RankingData, frame or judgements, optional
        Judgements that the systems were trained on. The leaderboard then shows how much of a gain
        over the baseline is on queries whose relevant documents were relevant in training, see
        :func:`rankwise.selection.memory_audit`. A frame has the columns of ``qrels``.

    Returns
    -------
    Leaderboard
        Leaderboard with a single part, "all", of every query. Only models have times.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong, a system cannot score the data, or a run has none of the judged
        queries or documents.

    Notes
    -----
    If all systems are runs, their documents are ordered and counted as by trec_eval
    (:func:`rankwise.datasets.judge`); ``preset="trec_eval"`` takes its measures too. Unjudged
    documents keep their ranks and count as not relevant, and a note names the systems whose order
    they could change (:func:`difference_bounds`); judged documents that a run misses count as never
    found. Queries without judgements, and judged queries that no run has (unless
    ``all_queries``), do not count; the notes of the leaderboard say how many. A query that only
    some runs have counts as not answered for the others, whereas trec_eval averages each run over
    its own queries. If any system scores rows, all systems are evaluated on the rows of ``qrels``,
    so the documents are the same for each; documents of a run that are not rows are left out.
    Documents in ``RankingData.missed`` count as never found. Rows without a judgement
    (``RankingData.judged``) count as unjudged documents of runs do.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> data = RankingData(X, (X[:, 0] > 0.5).astype(float), qid=np.arange(200) % 20)
    >>> board = evaluate_systems(data, {"new": X[:, 0], "old": "column:2"}, baseline="old")
    >>> [(row["ranker"], round(row["mean"], 2)) for row in board.rows()]
    [('new', 1.0), ('old', 0.63)]
    """
    settings = Settings(
        test=test,
        correction=correction,
        confidence_level=confidence_level,
        baseline=baseline,
        random_state=draw_seed(random_state),
    )
    if not isinstance(systems, Mapping):
        raise TypeError(
            f"systems must map names to systems, got {type(systems).__name__}. Pass for example "
            "evaluate_systems(qrels, {'new': run, 'old': other_run}), with the judgements first."
        )
    known = {str(name): _system(str(name), system) for name, system in systems.items()}
    if not known:
        raise ValueError("systems must name at least one system, got none.")
    settings._check_baseline("systems", known)
    measurement = Measurement(list_specs(measures), preset)
    are_runs = all(isinstance(system, RunScores) for system in known.values())
    if ignore_identical_ids:
        for name, system in known.items():
            if not isinstance(system, RunScores):
                raise ValueError(
                    f"ignore_identical_ids needs runs, but {name} is not one. Drop it."
                )
            known[name] = RunScores(drop_identical_ids(system.run))
    words: dict[str, Any] = {"label": label, "qid": qid, "features": features, "doc_id": doc_id}
    words |= {"unjudged": unjudged}
    unnamed = all(word is None for word in words.values())
    data: Any = qrels
    if isinstance(qrels, str | Path | Mapping | Run) or (
        are_runs and unnamed and (is_frame(qrels) or isinstance(qrels, list))
    ):
        data = read_judgements(qrels)
    if not isinstance(data, Qrels):
        columns = [system.name for system in known.values() if isinstance(system, ColumnScores)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IgnoredColumnsWarning)  # models know their columns
            data = convert_to_judged(data, score_columns=columns, **words)
    if are_runs:
        runs = {name: system.run for name, system in known.items()}
        info, cells, uniform = _evaluate_runs(runs, data, measurement, all_queries=all_queries)
    else:
        info, cells, uniform = _evaluate_rows(known, data, measurement)
    infos, cells = mark_uniform([info], cells, [uniform], differing_queries=differing_queries)
    if differing_queries:
        measurement.check_differing(len(info.qids) - infos[0].n_uniform)
    board = Leaderboard(
        measures={name: str(measure) for name, measure in measurement.named.items()},
        rankers={
            name: system.describe()
            if isinstance(system, GivenScores)
            else " ".join(repr(unfreeze(system)).split())
            for name, system in known.items()
        },
        fold_infos=infos,
        cells=cells,
        settings=replace(
            settings,
            differing_queries=differing_queries,
            data=getattr(data, "name", "judgements"),
            own_measures=measurement.own_directions,
        ),
    )
    if train is not None:
        if is_frame(train) and not unnamed:
            words["features"] = []
            train = convert_to_judged(train, **words)
        board.memory = memory_audit(board, train, data)
    return board


def read_systems(systems: str | Path | Sequence[str | Path]) -> dict[str, Any]:
    """Read systems from files, by name, for :func:`evaluate_systems`.

    Parameters
    ----------
    systems : str, path or sequence of them
        One entry per system: a file (a TREC run, one score per line, or a model saved by
        :func:`rankwise.save`), "column:NAME" for a column of the data, or either with another name
        as "NAME=ENTRY".

    Returns
    -------
    dict of str to Run, ndarray of float64, FrozenEstimator or str
        Systems in the order given: of a run, of scores, of a model, and "column:NAME" unchanged.
        A system without a name of its own has that of its column, or of its file up to the first
        dot.

    Raises
    ------
    FileNotFoundError
        If an entry is neither a file nor a column.
    ValueError
        If a file holds something else, two systems have one name, or there are none.

    See Also
    --------
    rankwise.fusion.as_run : Read one run, also from a mapping or a frame.

    Examples
    --------
    >>> systems = read_systems(["bm25.run", "new=model.rankwise"])  # doctest: +SKIP
    >>> evaluate_systems(data, systems, baseline="bm25")  # doctest: +SKIP
    >>> read_systems("price=column:3")
    {'price': 'column:3'}
    """
    found: dict[str, Any] = {}
    for word in [systems] if isinstance(systems, str | Path) else systems:
        name, system = read_system(str(word))
        if name in found:
            raise ArgumentError(
                "systems",
                f"must have different names, but two are called {name}. Rename one: NAME=ENTRY.",
            )
        found[name] = system
    if not found:
        raise ArgumentError("systems", "must name at least one system, got none.")
    return found


def read_system(word: str) -> tuple[str, Any]:
    """Name and system of one entry of :func:`read_systems`."""
    name, entry = split_name(word)
    if entry.startswith(COLUMN):
        return name or entry.removeprefix(COLUMN), entry
    path = Path(entry)
    if not path.is_file():
        raise FileNotFoundError(
            f"{entry!r} is not a file. Name scores, a TREC run, a model or column:NAME."
        )
    name = name or path.name.split(".")[0]
    if is_zipfile(path):
        return name, FrozenEstimator(load(path))
    # The error for other content names the line.
    is_scores = file_format(path).kind is FormatName.scores
    return name, read_scores(path) if is_scores else read_run(path)


def split_name(word: str) -> tuple[str, str]:
    """Name (empty if missing) and entry in NAME=ENTRY; not in KEY(NAME=VALUE)."""
    name, equals, entry = word.partition("=")
    is_named = equals and name and "(" not in name and not Path(word).is_file()
    return (name, entry) if is_named else ("", word)


def _system(name: str, system: Any) -> Any:
    """Convert a system to existing scores, or return a fitted model."""
    if isinstance(system, str) and system.startswith(COLUMN):
        return ColumnScores(system.removeprefix(COLUMN))
    if isinstance(system, str) and not Path(system).is_file():
        raise ValueError(
            f"system {name!r} must be a run, the path of a run, 'column:NAME', a fitted model or "
            f"scores, got {system!r}. Use compare(…) to fit rankers by name."
        )
    if (run := run_scores(system)) is not None:
        return run
    if hasattr(system, "predict"):
        return FrozenEstimator(unfreeze(system))
    return ArrayScores(exact_float64(system, f"scores of {name!r}"))


def _evaluate_runs(
    runs: Mapping[str, Run],
    data: RankingData | Qrels,
    measurement: Measurement,
    *,
    all_queries: bool,
) -> tuple[FoldInfo, list[FoldResult], NDArray[np.bool_]]:
    """Evaluate runs on documents ordered as by trec_eval, all over the same queries.

    Also returns the mask of the queries on which no run can differ from another.
    """
    if isinstance(data, RankingData) and data.doc_ids is None:
        raise ValueError(
            "runs need document ids, but the data have none. Pass qrels, a comment '#docid = …' in "
            f"each line of LETOR text, or {setting('doc_id')}."
        )
    qrels = data if isinstance(data, Qrels) else Qrels.from_data(data)
    asked = np.unique(qrels.qid)
    answered = {name: np.isin(asked, np.unique(run.qid)) for name, run in runs.items()}
    for name, mask in answered.items():
        if not mask.any():
            raise ValueError(f"{name} and the judgments have no query in common.")
    kept = np.ones(len(asked), bool) if all_queries else np.any([*answered.values()], axis=0)
    rows = np.isin(qrels.qid, asked[kept])
    counted = Qrels(qrels.qid[rows], qrels.doc_ids[rows], qrels.relevance[rows])

    qids: list[Any] = []
    cells = []
    left_out, complete = [], True
    uniform = np.ones(int(kept.sum()), dtype=bool)
    check = OrderCheck(measurement.named, counted)
    if n := int((~kept).sum()):
        which = "the run" if len(runs) == 1 else "any run"
        left_out = [f"{n} of {len(asked)} judged queries are not in {which} and do not count"]
    for name, run in runs.items():
        told = judge(counted, run, all_queries=True)
        if not (told.judged & told.retrieved).any():
            raise ValueError(
                f"{name} and the judgments have queries in common, but no document with a grade of "
                f"at least 0: {name} has "
                f"{str(run.doc_ids[0])!r}, the judgments have {str(counted.doc_ids[0])!r}."
            )
        table = RankingData(np.empty((len(told), 0)), told.y, qid=told.qid, doc_ids=told.doc_ids)
        qids = table.groups.ids.tolist()
        uniform &= measurement.find_uniform(table, told.retrieved)
        missed = int((kept & ~answered[name]).sum())
        notes = [f"{missed} of {len(qids)} queries have no answer in the run"] if missed else []
        own = np.unique(run.qid)
        if n := int((~np.isin(own, asked)).sum()):
            notes.append(f"{n} of {len(own)} queries of the run are not judged and do not count")
        if note := describe_identical_ids(told):
            notes.append(note)
        empty, scores = FoldResult(name, _ALL, DONE), Predictions(told.scores)
        check.add(name, told)
        masks = (told.retrieved, told.judged, told.pooled)
        complete &= bool(told.retrieved.all() and told.judged.all())
        cells.append(measurement.fill(empty, table, scores, *masks, [*notes, *left_out]))
    more = check.notes()
    # Of runs that rank the same judged documents only.
    same = complete and counted.relevance.min() < counted.relevance.max()
    grades = counted.relevance.astype(float)
    about = list_constant(measurement.named, grades) if same else []
    about += list_wide_gains(measurement.named, grades)
    cells = [replace(cell, notes=[*cell.notes, *more[cell.ranker], *about]) for cell in cells]
    return _info(qids, len(counted), 0), cells, uniform


def _evaluate_rows(
    systems: Mapping[str, Any],
    data: RankingData | Qrels,
    measurement: Measurement,
) -> tuple[FoldInfo, list[FoldResult], NDArray[np.bool_]]:
    """Evaluate systems on the same judged rows, see :func:`_evaluate_runs`."""
    if isinstance(data, Qrels):
        rows = [name for name, system in systems.items() if not isinstance(system, RunScores)]
        raise TypeError(
            f"qrels have no rows to score, but {', '.join(rows)} needs them. Pass judged rows."
        )
    cells = []
    for name, system in systems.items():
        empty = FoldResult(name, _ALL, DONE)
        fill = fill_given if isinstance(system, GivenScores) else _fill_predicted
        try:
            cells.append(fill(measurement, empty, system, data))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    if data.judged is not None and not data.judged.all():
        given = {name: s for name, s in systems.items() if isinstance(s, GivenScores)}
        cells = add_order_notes(cells, {_ALL: data}, measurement.named, given)
    elif data.missed is None:
        about = list_constant(measurement.named, data.y, data.n_queries)
        about += list_wide_gains(measurement.named, data.y)
        cells = [replace(cell, notes=[*cell.notes, *about]) for cell in cells]
    info = _info(data.groups.ids.tolist(), data.n_samples, data.n_features)
    return replace(info, recall=recall_of(data)), cells, measurement.find_uniform(data)


def _fill_predicted(
    measurement: Measurement, empty: FoldResult, model: Any, data: RankingData
) -> FoldResult:
    """The result of a fitted model."""
    X, names = model_rows(model, data)
    start = time.perf_counter()
    with name_columns(unfreeze(model), names):
        told = predictions(model, X, data.qid)
    seconds = time.perf_counter() - start
    return replace(measurement.fill(empty, data, told), predict_seconds=seconds)


def _info(qids: list[Any], n_rows: int, n_features: int) -> FoldInfo:
    return FoldInfo(_ALL, qids, n_rows, 0, 0, n_features, has_validation=False, fingerprint="")
