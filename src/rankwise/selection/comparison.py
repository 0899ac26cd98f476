"""Compare rankers on the same folds of queries, tuned on validation parts, query by query.

A learning curve compares them on growing sets of training queries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.linting import find_copies
from rankwise.datasets.table_columns import list_names
from rankwise.metrics import Measure, UndefinedMeasureWarning, evaluate, parse
from rankwise.metrics.default import (
    GRADED,
    list_constant,
    list_wide_gains,
    refuse_constant,
    why_constant,
)
from rankwise.metrics.evaluation import tie_rule
from rankwise.metrics.measure import MeasureLike, is_own, parameter_of
from rankwise.metrics.spec import list_specs
from rankwise.metrics.statistics.against_best import Correction
from rankwise.metrics.statistics.paired import TestMethod
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, join_lines, setting
from rankwise.runtime.progress import announce_start
from rankwise.runtime.result import Result, align_columns
from rankwise.runtime.threads import available_threads, count_cores
from rankwise.selection.cells.candidates import (
    Candidate,
    GivenScores,
    convert_to_candidates,
    score_columns,
    takes_categories,
)
from rankwise.selection.cells.cell_runner import FoldTask, record_lost_cell, run
from rankwise.selection.cells.fingerprint import (
    SOURCE,
    changes,
    code_of,
    fingerprint,
    fold_fingerprint,
)
from rankwise.selection.cells.measured import Measurement, mark_uniform, recall_of
from rankwise.selection.cells.result_store import (
    DONE,
    FoldInfo,
    FoldResult,
    ResultStore,
    Settings,
    library_versions,
)
from rankwise.selection.cells.workers import Parcel, Parcels, run_all, uses_cluster
from rankwise.selection.judging.difference_bounds import add_order_notes
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.splits import convert_to_folds, convert_to_judged
from rankwise.typing import Float64Array, Seed

Progress = Callable[[int, int, FoldResult], None]


@names_its_class
def compare(
    rankers: Any,
    data: RankingData | Fold | FoldedData | Sequence[Fold] | Any,
    *,
    label: str | None = None,
    qid: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    doc_id: str | None = None,
    unjudged: float | Literal["missing"] | None = None,
    ignore: Sequence[str] = (),
    baseline: str | None = None,
    cv: Any = "auto",
    measures: MeasureLike | Sequence[MeasureLike] = ("nDCG@10", "AP"),
    preset: str | None = None,
    differing_queries: bool = False,
    select_by: MeasureLike | None = None,
    store: str | Path | None = None,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    isolate: bool = True,
    random_state: Seed = 0,
    progress: Progress | None = None,
    test: TestMethod = "t",
    correction: Correction = "auto",
    confidence_level: float = 0.95,
) -> Leaderboard:
    """Tune, fit and evaluate every ranker on every fold.

    Parameters
    ----------
    rankers : registry key, estimator or scores, sequence of them, or mapping from name to them
        Rankers to compare. A bare key such as "lambdamart" is its tuned recipe, which ``rankwise
        list`` shows. "lambdamart()" and "lambdamart(n_estimators=50)" are the class with its
        defaults and these parameters. An estimator (also a Pipeline, a GridSearchCV, or a
        plain regressor, which sees no queries) runs unchanged; its ``fit`` receives the validation
        part if it accepts ``X_val``. Existing scores can be compared without fitting: a
        :class:`~rankwise.datasets.Run` by query and document id, "column:NAME" for a column of
        the data, or a fitted model in :class:`sklearn.frozen.FrozenEstimator`. Such a column stays
        a feature of the other rankers unless ``ignore`` names it; the leaderboard says so.
    data : frame, RankingData, Fold, FoldedData or sequence of Fold
        Judged data. One table is split by query: fold i tests, fold i + 1 validates, the rest
        trains. Given folds, such as LETOR's own, are used unchanged.
    label, qid, doc_id : str, optional
        Columns of a frame; None: the usual names, see :meth:`RankingData.from_frame`.
    features : sequence of str, optional
        Feature columns of a frame; None: all remaining columns of numbers. If a ranker takes
        categories, columns of text are features too, as in :meth:`RankingData.from_frame` with
        ``categories=True``; the other rankers leave them out, with a note.
    unjudged : number or "missing", optional
        Label of rows without a judgement, such as -1; "missing": an empty label or NaN. None: every
        row needs a label, unless the data say which rows are judged (``RankingData.judged``).
    ignore : sequence of str
        Columns that are not features, such as the scores of the system in production. Features
        without names are called by their numbers from 1. The columns of labels and queries cannot
        be ignored. The leaderboard lists them, and all other columns that were left out.
    baseline : str, optional
        Name of one of the rankers, such as the system in production. In addition to the table of
        all pairs, every other ranker is tested against it, with a correction over these pairs only.
    cv : "auto", int, splitter or iterable of splits, default="auto"
        Splits of a single table. "auto": the folds of the data, or 5 folds of shuffled queries if
        the data are one table (one per query if there are fewer). A splitter of scikit-learn
        receives the queries as ``groups``; splits are pairs of training and test rows. Both must
        keep queries whole.
    measures : str, Measure, callable or sequence of them
        Measures to compute; the first one orders the table. The first measure with a cut-off is
        also computed at 1 ... 10, for the curves of the report.
    preset : str, optional
        Convention for parameters that the measures leave open, e.g. "letor3".
    differing_queries : bool
        Count only the test queries on which rankings can differ. Queries with one row, or with rows
        of one grade, are left out; the first line of the leaderboard says how many.
    select_by : str, Measure or callable, optional
        Tuning metric on the validation part; None: the first of ``measures``.
    store : path-like, optional
        Folder in which every finished cell is stored immediately. The same call with the same store
        computes only what is missing, even if the previous run was killed. A finished cell is
        reused if its parameters, its data, the versions of the libraries that compute it and the
        source of the user's own code are unchanged: the files of modules, with the modules that
        they import, and single classes and functions of notebooks and scripts.
    n_jobs : int
        Number of parallel worker processes, at most the cores; -1: one per core. Each gets an
        equal share of the threads. Measured values do not depend on ``n_jobs``; times and memory
        do. Within ``joblib.parallel_config("dask")``, cells run on the cluster's workers, which
        must be able to access the ``store``; the share of threads is that of this machine.
    time_limit : float > 0, optional
        Time limit in seconds for one cell (tuning, fit, predict and measures), after which it is
        stopped and recorded as failed. Not supported on a Dask cluster.
    isolate : bool, default=True
        Run cells in a worker process even if ``n_jobs=1``, so a ranker that crashes or exits fails
        alone. False: run cells in this process, where debuggers and profilers see them; a crash
        then ends the comparison.
    random_state : int, RandomState, Generator or None, default=0
        Seed for folds, for unset random states and for resampling tests.
    progress : callable, optional
        Called as ``progress(done, total, cell)`` after each cell, in this process.
    test : {"t", "wilcoxon", "randomization"}
        Paired test of the per-query values of two rankers.
    correction : {"auto", "max_t", "holm", "benjamini_hochberg", "bonferroni"}
        Correction of the p-values over all pairs of rankers, which accounts for the selection of
        the best ranker by the same queries. "max_t": sign-flip test of the largest t statistic,
        with ``test="t"`` only. "auto": "max_t" with ``test="t"``, "holm" with the others.
    confidence_level : float in (0, 1)
        Level of the intervals. A ranker counts as not separable from the best if its corrected
        p-value is at least ``1 - confidence_level``.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong. A ranker that fails or lacks its optional dependency does not
        raise; the status of its cells shows the reason.
    OSError
        If a finished cell cannot be stored; the message names the file.

    Warns
    -----
    IgnoredColumnsWarning
        If columns of a frame are not used as features: dates, numbers with units, text, and ids.
    UserWarning
        If finished cells of the store run again because code or library versions have changed.

    Notes
    -----
    Measures of rankings use an ordinal estimator's ``rank_score``. Measures of predicted ranks
    (MAE, ZeroOne, MacroMAE, Within, Kappa) use its classes. For rankers that predict no classes,
    they use the scores instead, and a note says so.

    Rows without a judgement (``RankingData.judged``) are not used to fit rankers or to choose
    parameters; a line of the leaderboard says how many. In test parts they are ranked and count as
    not relevant. The leaderboard shows their fraction for every measure, and a note names the
    neighbours whose order they could change (:func:`rankwise.selection.difference_bounds`).

    If values are missing, rankers of this library that do not accept NaN run behind an imputer: the
    medians of the training part, and an indicator for each of its columns with missing values. A
    note says so. Other estimators run unchanged.

    Data may name judged documents that are not rows (``RankingData.missed``), as the tables of
    :meth:`rankwise.text.TextRanker.table` do. Measures that read a ranking from its top, such as AP
    and nDCG, count them as relevant documents that no ranker found. Rank correlations and measures
    of predicted ranks use the rows only, and so do estimators that choose parameters by themselves.
    The leaderboard shows the recall of the rows.

    Only ``predict`` and the measures see the test part. A note says how many rows of a test or
    validation part are training rows. :func:`rankwise.selection.memory_audit` says how much of a
    gain is on queries whose relevant documents were relevant in training.

    Times are wall time; the fit time includes
    the whole search. The first fit of a class in a process may compile or load kernels, so tables
    show medians over folds. BLAS runs on one thread in every cell, because another number of
    threads would change the last bits. For memory, see
    ``rankwise.selection.cells.cell_runner.PeakMemory``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from rankwise import RankingData, compare
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> data = RankingData(X, (X[:, 0] > 0.5).astype(float), qid=np.arange(200) % 20)
    >>> board = compare(["linear_regression", DummyRegressor()], data, measures=["AP"])
    >>> [(row["ranker"], round(row["mean"], 2)) for row in board.rows()]
    [('linear_regression', 0.99), ('DummyRegressor', 0.45)]
    """
    settings = Settings(
        test=test,
        correction=correction,
        confidence_level=confidence_level,
        baseline=baseline,
        random_state=draw_seed(random_state),
    )
    _check_limits(time_limit, isolate, n_jobs)
    seed = settings.random_state
    candidates = convert_to_candidates(rankers, random_state=seed)
    settings._check_baseline("rankers", [candidate.name for candidate in candidates])
    data = convert_to_judged(
        data,
        label=label,
        qid=qid,
        features=features,
        doc_id=doc_id,
        unjudged=unjudged,
        score_columns=score_columns(candidates),
        categories=any(takes_categories(candidate.estimator) for candidate in candidates),
        ignore=ignore,
    )
    folds = convert_to_folds(data, cv, random_state=seed)
    measurement = Measurement(list_specs(measures), preset, is_brief=True)
    first, *_ = measurement.named.values()
    select = first if select_by is None else parse(select_by, preset)
    results = None if store is None else ResultStore(store)

    fitted = [c.name for c in candidates if not isinstance(c.estimator, GivenScores)]
    copies: list[str] = []
    infos, uniform, has_unjudged, is_complete = [], [], False, True
    read: list[NDArray[Any]] = []
    tuned: list[NDArray[Any]] = []
    left_out: dict[str, str] = {}
    shared: list[str] = []
    for name, fold in zip(folds.fold_names, folds, strict=True):
        _check_measurable(fold, measurement.measures, select)
        if not infos:
            train = fold.train
            left_out = train.left_out
            if fitted:
                _check_features(train, fitted)
                # Columns compared as scores that are features of the other rankers.
                names = train.feature_names or [str(j + 1) for j in range(train.n_features)]
                shared = [name for name in score_columns(candidates) if name in names]
        has_unjudged |= fold.test.judged is not None and not fold.test.judged.all()
        is_complete &= fold.test.missed is None
        if fitted and (found := find_copies(fold.train, fold.test)[0]):
            copies.append(f"test part of {name}: {found}")
        infos.append(_describe(fold, name))
        uniform.append(measurement.find_uniform(fold.test))
        read.append(np.unique(fold.test.grades))
        tuned.append(np.unique((fold.vali or fold.train).only_judged().y))
    if differing_queries:
        measurement.check_differing(sum(int((~mask).sum()) for mask in uniform))  # before any fit
    is_complete &= not has_unjudged
    notes = list_constant(measurement.named, np.concatenate(read)) if is_complete else []
    notes += copies + list_wide_gains(measurement.named, np.concatenate(read))
    if why_constant(select, np.concatenate(tuned)):
        if select_by is not None:
            refuse_constant(select, np.concatenate(tuned), "Parameters")
        if not why_constant(parse(GRADED), np.concatenate(tuned)):
            notes.append(f"parameters are chosen by {GRADED}, as {select.name} cannot choose them")
            select = parse(GRADED)
    sources = {name: version for c in candidates for name, version in c.origin.items()}
    versions = library_versions()
    versions |= {name: sources[name] for name in sorted(sources) if not name.startswith(SOURCE)}
    common: list[Any] = [str(select), sorted(map(str, measurement.measures)), seed]
    own = [parameter_of(m) for m in {select, *measurement.measures} if is_own(m)]
    if own:
        code = code_of([function if callable(function) else type(function) for function in own])
        common += [sorted(map(fingerprint, own)), code]
        sources |= {name: found for name, found in code.items() if name.startswith(SOURCE)}
    keys = _keys(candidates, infos, common, named=results is not None)
    origins = {c.name: c.origin for c in candidates}
    cells = {} if results is None else _find_finished(results, keys, origins)
    total = len(keys)

    def note(cell: FoldResult) -> None:
        cells[cell.ranker, cell.fold] = cell
        if progress is not None:
            progress(len(cells), total, cell)

    if progress is not None:
        for number, cell in enumerate(cells.values(), start=1):
            progress(number, total, cell)
    asked, most = effective_n_jobs(n_jobs or 1), total - len(cells)
    n_jobs = max(1, min(asked, most if uses_cluster() else min(most, count_cores())))
    n_threads = max(1, available_threads() // n_jobs)

    in_workers = (n_jobs > 1 and not uses_cluster()) or (n_jobs == 1 and isolate)
    sent: dict[str, Parcel] = {}

    def due(parcels: Parcels) -> Iterator[FoldTask]:
        """Missing cells, fold by fold; a fold is created when its first missing cell is due."""
        for i, name in enumerate(folds.fold_names):
            absent = [c for c in candidates if (c.name, name) not in cells]
            if not absent:
                continue
            whole = folds[i]
            fold: Fold | Parcel = whole
            if in_workers:
                fold = parcels.pack(whole)
                if isinstance(fold, Parcel):
                    sent[name] = fold
            for candidate in absent:
                if not uses_cluster():  # which queues cells
                    announce_start(f"{candidate.name} on {name}")
                yield FoldTask(
                    candidate,
                    fold,
                    name,
                    select,
                    measurement,
                    seed,
                    n_threads,
                    keys[candidate.name, name],
                    results if candidate.is_kept else None,
                )

    with Parcels() as parcels:
        work = run_all(
            run,
            lambda: due(parcels),
            n_jobs,
            record_lost_cell,
            isolate=isolate,
            time_limit=time_limit,
            sources=sources if in_workers else {},
        )
        with closing(work):
            for cell in work:
                note(cell)
                if cell.fold in sent and all((c.name, cell.fold) in cells for c in candidates):
                    sent.pop(cell.fold).remove()
    found = [cells[where] for where in keys]
    if has_unjudged:
        tests = {name: folds[i].test for i, name in enumerate(folds.fold_names)}
        given = {c.name: c.estimator for c in candidates if isinstance(c.estimator, GivenScores)}
        found = add_order_notes(found, tests, measurement.named, given)
    found = [
        cell if cell.status != DONE else replace(cell, notes=[*cell.notes, *notes])
        for cell in found
    ]
    infos, found = mark_uniform(infos, found, uniform, differing_queries=differing_queries)
    return Leaderboard(
        measures={name: str(measure) for name, measure in measurement.named.items()},
        rankers={c.name: c.describe() for c in candidates},
        fold_infos=infos,
        cells=found,
        settings=replace(
            settings,
            data=folds.name,
            select_by=str(select),
            own_measures=measurement.own_directions,
            n_jobs=n_jobs,
            n_threads=n_threads,
            versions=versions,
            left_out=left_out,
            shared=shared,
            ran={c.name: c.ran for c in candidates},
            differing_queries=differing_queries,
        ),
    )


def _check_limits(time_limit: float | None, isolate: bool, n_jobs: int | None) -> None:
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise ValueError(
            f"time_limit must be a positive number of seconds, got {time_limit}. "
            "Leave it out for no limit."
        )
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ArgumentError("n_jobs", f"must be a number of processes, or -1, got {n_jobs!r}.")
    if not isolate and (time_limit is not None or n_jobs not in (None, 1)):
        given = f"n_jobs={n_jobs}" if time_limit is None else f"time_limit={time_limit:g}"
        raise ValueError(
            f"isolate=False runs cells in this process, got {given}. Use isolate=True with it."
        )


def _check_measurable(fold: Fold, measures: tuple[Measure, ...], select: Measure) -> None:
    """Raise ValueError before any fit if a measure does not apply to the labels."""
    by_id = [str(m) for m in (*measures, select) if tie_rule(m) == "docid"]
    if by_id and fold.test.doc_ids is None:
        raise ValueError(
            f"{by_id[0]} breaks ties by document id, but the data have none. Pass data with "
            f"document ids ({setting('doc_id')} for a frame), or write ties=mean."
        )
    with warnings.catch_warnings():  # the leaderboard says so once
        warnings.simplefilter("ignore", UndefinedMeasureWarning)
        evaluate(fold.test, np.zeros(fold.test.n_samples), measures=measures)
    for part, what in ((fold.train, "training"), (fold.vali, "validation")):
        if part is not None and len(part) and part.judged is not None and not part.judged.any():
            raise ValueError(f"the {what} part has no judged row. Use fewer folds, or judge some.")
    if fold.vali is not None:
        vali = fold.vali.only_judged()
        select.mean(vali.y, np.zeros(vali.n_samples), vali.groups)


def _describe(fold: Fold, name: str) -> FoldInfo:
    train = fold.train.only_judged()
    return FoldInfo(
        name=name,
        qids=fold.test.groups.ids.tolist(),
        n_rows=fold.test.n_samples,
        n_train=len(train),
        n_train_queries=train.n_queries,
        n_features=fold.train.n_features,
        has_validation=fold.vali is not None,
        fingerprint=fold_fingerprint(fold),
        recall=recall_of(fold.test),
        n_unjudged=len(fold.train) - len(train),
    )


def _keys(
    candidates: list[Candidate], infos: list[FoldInfo], common: list[Any], *, named: bool
) -> dict[tuple[str, str], str]:
    """Fingerprint of every cell; empty without a store, which needs no keys."""
    keys = {}
    for candidate in candidates:
        identity = candidate.identity() if named and candidate.is_kept else None
        for info in infos:
            key = fingerprint([identity, info.fingerprint, common]) if identity else ""
            keys[candidate.name, info.name] = key
    return keys


def _find_finished(
    store: ResultStore, keys: dict[tuple[str, str], str], origins: dict[str, dict[str, str]]
) -> dict[tuple[str, str], FoldResult]:
    """Reusable cells of an earlier run, renamed; warns about cells of other code."""
    records = store.records()
    by_place = {(r["ranker"], r["fold"]): r for r in records.values()}
    cells = {}
    outdated: dict[str, int] = {}
    for (ranker, fold), key in keys.items():
        if key in records:
            cell = store.load({**records[key], "ranker": ranker, "fold": fold})
            if cell is not None:
                cells[ranker, fold] = cell
        elif (ranker, fold) in by_place:
            told = changes(by_place[ranker, fold].get("origin", {}), origins[ranker])
            if told:
                line = f"{ranker} ({'; '.join(told)})"
                outdated[line] = outdated.get(line, 0) + 1
    if outdated:
        n_cells = sum(outdated.values())
        warnings.warn(
            f"{n_cells} finished cell{'s' if n_cells > 1 else ''} of {store.path} "
            f"{'run' if n_cells > 1 else 'runs'} again: {', '.join(outdated)}.",
            UserWarning,
            stacklevel=3,
        )
    return cells


_COLUMNS = ("label", "qid", "features", "doc_id", "unjudged", "ignore")


@dataclass(frozen=True, eq=False)
class LearningCurve(Result):
    """Leaderboards by the number of training queries; ``print`` shows the means.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,), int64
        Numbers of training queries in each fold, ascending.
    boards : list of Leaderboard
        One leaderboard per size, with the same rankers, measures and test queries.
    """

    _drawn = "mean"

    sizes: NDArray[np.int64]
    boards: list[Leaderboard]

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers, best first at the largest size."""
        return [row["ranker"] for row in self.boards[-1].rows()]

    @property
    def measure(self) -> str:
        """Name of the first measure."""
        return self.boards[-1].measures[0]

    def means(self, measure: str | None = None) -> dict[str, Float64Array]:
        """Mean of every ranker at every size, arrays of shape (n_sizes,).

        Means are NaN if a ranker did not finish.

        Parameters
        ----------
        measure : str, optional
            Measure of the leaderboards; None: the first.
        """
        return {name: rows[:, 0] for name, rows in self._rows(measure).items()}

    def intervals(self, measure: str | None = None) -> dict[str, Float64Array]:
        """Student's t interval of each mean over test queries, arrays of shape (n_sizes, 2).

        The interval is for the drawn training queries and does not include the variation over other
        draws. All rankers and sizes share the test queries, so differences are more certain than
        the intervals suggest; the leaderboards test the differences.

        Parameters
        ----------
        measure : str, optional
            Measure of the leaderboards; None: the first.
        """
        return {name: rows[:, 1:] for name, rows in self._rows(measure).items()}

    def _rows(self, measure: str | None) -> dict[str, Float64Array]:
        """Mean and interval by ranker, arrays of shape (n_sizes, 3)."""
        tables = [{row["ranker"]: row for row in board.rows(measure)} for board in self.boards]
        ends = ("mean", "low", "high")
        return {
            name: np.array([[table[name][what] for what in ends] for table in tables], dtype=float)
            for name in self.rankers
        }

    def _columns(self) -> dict[str, Any]:
        found = self._rows(None)
        table = np.concatenate(list(found.values())).T
        return {
            "size": np.tile(self.sizes, len(found)),
            "ranker": np.repeat(list(found), len(self.sizes)),
            **dict(zip(("mean", "low", "high"), table, strict=True)),
        }

    def _heading(self) -> str:
        return self.measure

    def __str__(self) -> str:
        names = ["training queries", *self.rankers]
        columns = [self.sizes.tolist(), *(np.round(v, 4) for v in self.means().values())]
        texts = [
            [name, *(f"{v:.4f}" if isinstance(v, float) else str(v) for v in column)]
            for name, column in zip(names, columns, strict=True)
        ]
        return join_lines([self._heading(), *align_columns(list(zip(*texts, strict=True)))])


def learning_curve(
    rankers: Any,
    data: RankingData | Fold | FoldedData | Sequence[Fold] | Any,
    sizes: Sequence[int],
    *,
    cv: Any = "auto",
    random_state: Seed = 0,
    progress: Progress | None = None,
    **options: Any,
) -> LearningCurve:
    """Compare rankers on growing sets of training queries, with the same test queries.

    Parameters
    ----------
    rankers : registry key, estimator or scores, sequence of them, or mapping from name to them
        As in :func:`compare`.
    data : frame, RankingData, Fold, FoldedData or sequence of Fold
        As in :func:`compare`.
    sizes : sequence of int >= 1
        Numbers of training queries, at most those of the smallest training part. A larger set
        contains the smaller ones.
    cv : "auto", int, splitter or iterable of splits, default="auto"
        As in :func:`compare`.
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the queries of each fold, and for :func:`compare`.
    progress : callable, optional
        Called as ``progress(done, total, cell)`` after each cell of any size.
    **options
        Other options of :func:`compare`, such as ``measures``, ``store`` and ``n_jobs``.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError, TypeError
        If a size is below 1 or above the number of training queries of a fold, or as in
        :func:`compare`.

    Notes
    -----
    The validation part stays complete at every size, so its queries must be judged as well. There
    are ``len(sizes)`` times as many cells as in :func:`compare`. With a ``store``, only missing
    cells are computed.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.selection import learning_curve
    >>> folds = load_dataset("lambdarank")
    >>> curve = learning_curve("ridge", folds, [10, 40], measures="AP", isolate=False)
    >>> curve.sizes.tolist(), bool(curve.means()["ridge"][1] > curve.means()["ridge"][0])
    ([10, 40], True)
    """
    columns = {name: options.pop(name) for name in _COLUMNS if name in options}
    random_state = draw_seed(random_state)
    candidates = convert_to_candidates(rankers, random_state=random_state)
    data = convert_to_judged(
        data,
        score_columns=score_columns(candidates),
        categories=any(takes_categories(candidate.estimator) for candidate in candidates),
        **columns,
    )
    folds = convert_to_folds(data, cv, random_state=random_state)
    checked = _check_sizes(sizes, min(fold.train.n_queries for fold in folds))
    boards: list[Leaderboard] = []

    def note(done: int, total: int, cell: FoldResult) -> None:
        if progress is not None:
            progress(done + total * len(boards), total * len(checked), cell)

    for size in checked.tolist():
        part = _limit_queries(folds, size, random_state)
        board = compare(rankers, part, random_state=random_state, progress=note, **options)
        boards.append(board)
    return LearningCurve(checked, boards)


def _check_features(train: RankingData, fitted: Sequence[str]) -> None:
    if train.n_features:
        return
    names = list_names(fitted, quote=str)
    left_out = [f"{name} ({why})" for name, why in train.left_out.items()]
    raise ValueError(
        f"{train.name or 'data'} must have a feature to fit {names} on, but has none"
        + f"; left out: {list_names(left_out, quote=str)}" * bool(left_out)
        + ". Leave out fewer columns, or compare scores that are given."
    )


def _check_sizes(sizes: Sequence[int], n_queries: int) -> NDArray[np.int64]:
    """Check the sizes; return them ascending, without repetitions."""
    given = np.unique(np.asarray(sizes))
    is_whole = given.dtype.kind in "iu" and given.size > 0
    if not is_whole or given[0] < 1 or given[-1] > n_queries:
        raise ArgumentError(
            "sizes",
            f"must be whole numbers from 1 to {n_queries}, the training queries of the smallest "
            f"fold, got {list(sizes)}.",
        )
    return given.astype(np.int64)


def _limit_queries(folds: FoldedData, size: int, random_state: int) -> FoldedData:
    """The same folds with ``size`` training queries each."""

    def make(i: int) -> Fold:
        fold = folds[i]
        order = np.random.default_rng([random_state, i]).permutation(fold.train.n_queries)
        train = fold.train.queries(np.sort(order[:size]))
        return Fold(train, fold.vali, fold.test, fold.name)

    return FoldedData(folds.name, folds.fold_names, make)
