"""Fit one ranker on one fold; parameters are chosen on the validation part, never on the test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from rankwise.base import RanksRows
from rankwise.checks.rows import check_names, check_rows, name_columns
from rankwise.datasets.data import RankingData
from rankwise.datasets.linting import find_copies
from rankwise.losses.lambda_gradients import follow_measure
from rankwise.metrics import Measure, parse
from rankwise.metrics.default import refuse_constant
from rankwise.metrics.measure import MeasureLike, parameter_of
from rankwise.prediction import fit_with, predictions, takes_validation
from rankwise.runtime.constraints import check_random_state, draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.result import Result, columns_of
from rankwise.selection.cells.candidates import model_rows, prepare_rows
from rankwise.selection.cells.measured import values_by_query
from rankwise.solvers.boosting.chosen_rounds import (
    ChoosesRounds,
    count_rounds,
    fit_recipe,
    trains_on_validation,
)
from rankwise.typing import Seed, is_sparse

# Measure of scores, invariant to a constant, that replaces the mean absolute rank loss.
_WITHOUT_CLASSES = "M1D"
_FROZEN = "a fitted model as it is, which must not have seen the test queries"
FILLED = (
    "missing values are filled with the medians of the training rows; columns with missing "
    "training values have an indicator"
)
_PATH_PARAMETERS = ("C", "alpha", "lam", "max_depth")
# Fitted attribute → the parameter whose chosen value it holds; a later one has precedence.
_CHOSEN = {
    "C_": "C",
    "alpha_": "alpha",
    "lam_": "lam",
    "n_estimators_": "n_estimators",
    "best_iteration_": "n_estimators",
    "max_depth_": "max_depth",
}


@dataclass(frozen=True)
class Tuned(Result):
    """Fitted estimator with the settings that were tried and chosen.

    Attributes
    ----------
    estimator : fitted estimator
    chosen : dict
        Chosen parameters.
    search : list of dict
        ``{"params": {...}, "score": float}`` for each setting.
    notes : list of str
    """

    def _columns(self) -> dict[str, Any]:
        tried = ({**setting["params"], "score": setting["score"]} for setting in self.search)
        return columns_of(tried, dict)

    estimator: Any
    chosen: dict[str, Any] = field(default_factory=dict)
    search: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def fit(estimator: Any, train: RankingData, vali: RankingData | None = None) -> list[str]:
    """Fit in place on the training part; return notes on data that the estimator did not accept.

    The estimator receives ``qid``, ``sample_weight`` (if the data have it) and ``X_val, y_val,
    qid_val`` (if ``vali`` is given), as far as its signature names them. Pipelines and searches
    receive ``qid``, ``groups`` and ``sample_weight`` if one of their parts requests these by
    metadata routing. A plain regressor receives only X and y. Estimators of rankwise also store the
    feature names of ``train``.
    """
    X, names = prepare_rows(estimator, train)
    offered: dict[str, Any] = {"qid": train.qid, "groups": train.qid}
    if train.sample_weight is not None:
        offered["sample_weight"] = train.sample_weight
    validation = None
    if vali is not None:
        X_val, _ = prepare_rows(estimator, vali, names)
        validation = {"X_val": X_val, "y_val": vali.y, "qid_val": vali.qid}
    with name_columns(estimator, names):
        taken = fit_with(estimator, X, train.y, offered, validation)
    if train.sample_weight is not None and "sample_weight" not in taken:
        return ["fitted without sample_weight, which its fit does not accept"]
    return []


def fill_missing(
    estimator: Any, train: RankingData, part: RankingData | None, name: str = "X_val"
) -> tuple[Any, RankingData, RankingData | None] | None:
    """Fitted SimpleImputer for a ranker that does not accept NaN, and both parts without gaps.

    The imputer inserts the medians of ``train`` and appends an indicator for each of its columns
    with gaps. None: no values are missing, or the estimator accepts them, or it is not a ranker of
    this library, such as a pipeline, and runs unchanged. ``name`` is that of ``part`` in errors.
    """
    if not isinstance(estimator, RanksRows) or get_tags(estimator).input_tags.allow_nan:
        return None
    if not _has_gaps(train) and (part is None or not _has_gaps(part)):
        return None
    from sklearn.impute import SimpleImputer

    X, names = prepare_rows(estimator, train)
    # A column without a training value is filled with 0, so that the columns keep their places.
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    X, rows = check_rows(imputer, X, allow_nan=True, reset=True, names=names), None
    if part is not None:
        rows, _ = prepare_rows(estimator, part, names)
        rows = check_rows(imputer, rows, allow_nan=True, name=name, names=names)
    imputer.fit(X)
    filled = _with_rows(train, imputer.transform(X))
    filled_part = None if part is None else _with_rows(part, imputer.transform(rows))
    if names is not None:  # which a fit on an array removes
        check_names(imputer, names, reset=True)
    return imputer, filled, filled_part


def _has_gaps(data: RankingData) -> bool:
    """Whether a number is missing; categories, which rankers of numbers do not get, may be."""
    X: Any = data.X
    if is_sparse(X):
        X = X.data
    elif data.categories:
        X = X[:, [j for j in range(data.n_features) if j not in data.categories]]
    return np.asarray(X).dtype.kind == "f" and bool(np.isnan(X).any())


def _put_behind(imputer: Any, estimator: Any) -> Any:
    """Pipeline of a fitted imputer, if there is one, and a fitted estimator."""
    from sklearn.pipeline import make_pipeline

    return estimator if imputer is None else make_pipeline(imputer, estimator)


def _with_rows(data: RankingData, X: Any) -> RankingData:
    """The same rows with other columns, which have no names."""
    X = X.tocsr() if is_sparse(X) else X
    return replace(data, X=X, feature_names=None, categories=None)


def prepare(estimator: Any, select: Measure, random_state: int) -> Any:
    """Clone an estimator, and set its ``measure`` parameters and unset seeds.

    Every parameter called ``measure`` (nested ones too) becomes ``select``, so an estimator's own
    path uses the measure of the comparison. Trees that cannot optimise it only stop by it. Every
    ``random_state`` left at None becomes ``random_state``, so a run can be repeated.
    """
    copy: Any = clone(estimator)
    params = copy.get_params(deep=True)
    open_seeds = {
        name: random_state
        for name, value in params.items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return copy.set_params(**follow_measure(params, parameter_of(select)), **open_seeds)


@names_its_class
def tune(
    estimator: Any,
    train: RankingData,
    vali: RankingData | None,
    measure: MeasureLike,
    *,
    space: dict[str, list[Any]] | None = None,
    random_state: Seed = 0,
    refit: bool = False,
    early_stopping: bool = True,
) -> Tuned:
    """Fit with the parameters that are best on the validation part.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator; it is cloned.
    train, vali : RankingData
        Training and validation parts. Without ``vali``, an estimator that would choose on it
        ("val") uses cross-validation within ``train``, and a grid holds out a quarter of the
        training queries. Early stopping of boosters keeps their default number of trees, unless
        five folds of the queries clearly prefer another one (from 1,000 queries on: a quarter of
        them); all training queries then grow it.
    measure : str, Measure or callable
        Measure to maximise (to minimise if smaller is better).
    space : dict, optional
        Grid of parameter lists. Each setting is fitted on ``train`` and scored on ``vali``. The
        first of the best settings wins and is not refitted on both parts.
    refit : bool
        Whether the best setting of a grid is fitted on all of ``train`` if there is no ``vali``;
        boosters choose their number of trees anew.
    early_stopping : bool
        Whether the number of trees or epochs is chosen on ``vali``, or else on held-out training
        queries. False: only if ``early_stopping_rounds`` of the estimator says so.

    Notes
    -----
    If values are missing in ``train`` or ``vali``, a ranker of this library that does not accept
    NaN is fitted behind a ``SimpleImputer`` with the medians of ``train`` and an indicator for each
    of its columns with missing values. The result is then a Pipeline, and ``notes`` say so. Queries
    that a grid holds out are not among the rows of these medians. Queries that a ranker holds out
    by itself (``alpha="cv"``, ``StackingRanker``) are: their features, though not their labels, are
    in the medians of its inner folds. Put the ranker into a pipeline within a search to impute fold
    by fold. Other estimators, such as pipelines of your own, run unchanged.

    Without ``space``, an estimator whose ``fit`` accepts ``X_val`` receives the validation part and
    chooses by itself (a path, early stopping): by ``measure`` if it has such a parameter,
    else by its own criterion. Other estimators are fitted unchanged. ``notes`` say how many rows of
    ``vali`` are training rows. If no classes are predicted,
    M1D replaces a measure of predicted ranks, since the scores of a path are determined only up to
    a constant. If a chosen number is at an end of five or more tried values, ``notes`` says so.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.selection import tune
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> tuned = tune(RankSVM(), fold.train, fold.vali, "nDCG@10", space={"C": [1e-4, 1e-2, 1.0]})
    >>> tuned.estimator.C
    0.01
    """
    random_state = draw_seed(random_state)
    if isinstance(estimator, FrozenEstimator):
        return Tuned(estimator, notes=[_FROZEN])
    # A grid without a validation part holds out queries first, which the medians do not see.
    if not (space and vali is None) and (filled := fill_missing(estimator, train, vali)):
        imputer, train, vali = filled
        found = tune(
            estimator, train, vali, measure, space=space, random_state=random_state, refit=refit,
            early_stopping=early_stopping,
        )  # fmt: skip
        pipeline = _put_behind(imputer, found.estimator)
        return replace(found, estimator=pipeline, notes=[FILLED, *found.notes])
    followed = select = parse(measure)
    if select.reads_labels and not is_classifier(estimator):
        followed = parse(_WITHOUT_CLASSES)
    estimator = prepare(estimator, followed, random_state)
    copies = "" if vali is None else find_copies(train, vali)[0]
    notes = [f"validation part: {copies}"] if copies else []
    if space:
        found = _search(estimator, train, vali, select, space, random_state)
        found = replace(found, notes=[*notes, *found.notes])
        return _refit(found, estimator, train, set(space)) if refit and vali is None else found
    if not (early_stopping or _names_validation(estimator)):
        vali = None
    if vali is None:
        notes += _choose_within_train_inplace(estimator)
    recipe = _fit_rounds(estimator, train) if vali is None else None
    if recipe is None:
        notes += fit(estimator, train, vali)
        notes += _rounds_notes(estimator, train, vali)
    else:
        estimator, (told, *more) = recipe
        notes += [f"no validation part: {told}", *more]
    if getattr(estimator, "is_cut_", False):
        notes.append(
            f"time_budget={estimator.time_budget:g} cut the search, so another run may differ. "
            "Leave it out for a plan that depends on the data alone"
        )
    is_watched = vali is not None or not takes_validation(estimator)
    chosen, search = _find_chosen(estimator, is_watched), _own_search(estimator)
    is_by_select = any(
        name.rpartition("__")[2] == "measure" for name in estimator.get_params(deep=True)
    )
    if search and chosen and not hasattr(estimator, "best_params_"):
        by = followed.name if is_by_select else "its own criterion"
        if by != select.name:
            notes.append(f"{', '.join(chosen)} chosen by {by}, not by {select.name}")
    is_good = followed.greater_is_better or not is_by_select
    notes += edge_notes(chosen, search, greater_is_better=is_good)
    return Tuned(estimator, chosen, search, notes)


def _search(
    estimator: Any,
    train: RankingData,
    vali: RankingData | None,
    select: Measure,
    space: dict[str, list[Any]],
    random_state: int,
) -> Tuned:
    notes: list[str] = []
    given = vali
    if vali is None:
        n_queries = train.n_queries
        train, vali = _hold_out(train, random_state)
        notes.append(f"no validation part: held out {vali.n_queries} of {n_queries} queries")
    imputer = None
    if filled := fill_missing(estimator, train, vali):
        imputer, train, vali = filled
        assert vali is not None
        notes.insert(0, FILLED)
    refuse_constant(select, vali.y, ", ".join(space))
    # Settings are scored on rows that they were not trained on; only the best is trained on all.
    refits = trains_on_validation(estimator)
    unfitted: Any = clone(estimator)
    if refits:
        unfitted.set_params(refit=False)
    best: tuple[float, Any, dict[str, Any], list[str]] | None = None
    search: list[dict[str, Any]] = []
    for params in ParameterGrid(space):
        candidate: Any = clone(unfitted)
        candidate.set_params(**params)
        fit_notes = fit(candidate, train, vali)
        X_val, names = model_rows(candidate, vali)
        with name_columns(candidate, names):
            told = predictions(candidate, X_val, vali.qid)
        score = select.aggregate(values_by_query(vali, told, [select])[str(select)])
        search.append({"params": params, "score": score})
        # NaN: no validation query counts, so the first setting is kept.
        value = -math.inf if math.isnan(score) else score if select.greater_is_better else -score
        if best is None or value > best[0]:
            best = value, candidate, params, fit_notes
    assert best is not None
    _, fitted, params, fit_notes = best
    if refits:
        whole: Any = clone(fitted)
        fitted = whole.set_params(refit=True)
        fit_notes = fit(fitted, train, vali)
    notes += fit_notes
    notes += _rounds_notes(fitted, train, given)
    notes += edge_notes(params, search, greater_is_better=select.greater_is_better)
    chosen = {**params, **_find_chosen(fitted, is_watched=True)}
    return Tuned(_put_behind(imputer, fitted), chosen, search, notes)


def _refit(found: Tuned, estimator: Any, train: RankingData, searched: set[str]) -> Tuned:
    """The chosen setting, fitted on all training queries."""
    chosen = {name: value for name, value in found.chosen.items() if name in searched}
    whole: Any = clone(estimator)
    whole.set_params(**chosen)
    imputer, train, _ = fill_missing(whole, train, None) or (None, train, None)
    recipe = None if "n_estimators" in searched else _fit_rounds(whole, train)
    if recipe is None:
        notes = ["the chosen setting was then fitted on all training queries", *fit(whole, train)]
    else:
        whole, notes = recipe
    chosen |= _find_chosen(whole, is_watched=not takes_validation(whole))
    return Tuned(_put_behind(imputer, whole), chosen, found.search, [*found.notes, *notes])


def _hold_out(train: RankingData, random_state: int) -> tuple[RankingData, RankingData]:
    if train.n_queries < 2:
        raise ValueError(
            "a grid needs a validation part or at least 2 training queries, got "
            f"{train.n_queries}. Pass folds with a validation part."
        )
    queries = check_random_state(random_state).permutation(train.n_queries)
    held = np.sort(queries[: max(1, train.n_queries // 4)])
    rows = train.groups.rows(held)
    kept = np.ones(train.n_samples, dtype=bool)
    kept[rows] = False
    return train.take(np.flatnonzero(kept)), train.take(np.sort(rows))


def _choose_within_train_inplace(estimator: Any) -> list[str]:
    """Change path parameters from "val" to "cv"; return notes about the changes."""
    params = estimator.get_params(deep=False)
    given = {name: params.get(name) for name in _PATH_PARAMETERS}
    at_val = {name: "cv" for name, v in given.items() if isinstance(v, str) and v == "val"}
    if not (at_val and takes_validation(estimator)):
        return []
    estimator.set_params(**at_val)
    return [
        f"no validation part: {name} by cross-validation over training queries" for name in at_val
    ]


def _names_validation(estimator: Any) -> bool:
    """Whether parameters ask for validation rows: "val", a list, or rounds without gain."""
    params = estimator.get_params(deep=False)
    searched = (params.get(name) for name in _PATH_PARAMETERS)
    is_path = any(
        value == "val" if isinstance(value, str) else np.ndim(value) > 0 for value in searched
    )
    return is_path or params.get("early_stopping_rounds") is not None


# With fewer validation queries, boosters that stop by them and are not refitted are behind their
# default number of rounds on all rows (benchmarks.study_refit).
FEWEST_VALIDATION = 100


def _rounds_notes(estimator: Any, train: RankingData, vali: RankingData | None) -> list[str]:
    """How a booster chose its number of rounds, unless enough validation queries ended it."""
    own = estimator.get_params(deep=False)
    if not isinstance(estimator, ChoosesRounds):
        return []
    if own["cv"] is not None:
        folds = f"{own['cv']} folds" if isinstance(own["cv"], int) else "folds"
        n_queries = train.n_queries + (vali.n_queries if vali is not None and own["refit"] else 0)
        return [f"chose {count_rounds(estimator)} rounds by {folds} of {n_queries} queries, then "
                "fitted all rows"]  # fmt: skip
    if vali is None or own.get("early_stopping_rounds") is None:
        return []
    if own["refit"]:
        return [f"chose {count_rounds(estimator)} rounds on {vali.n_queries} validation queries, "
                "then fitted all rows"]  # fmt: skip
    if vali.n_queries >= FEWEST_VALIDATION:
        return []
    return [
        f"fewer than {FEWEST_VALIDATION} validation queries chose the number of rounds and were "
        "not trained on. refit=True with cv=5 also trains on them, and chooses by folds of all "
        "queries"
    ]


def _fit_rounds(estimator: Any, train: RankingData) -> tuple[Any, list[str]] | None:
    """Fitted booster with a number of rounds that training queries chose, and notes."""
    notes: list[str] = []

    def fit_all(trial: Any) -> Any:
        notes.extend(fit(trial, train))
        return trial

    found = fit_recipe(estimator, fit_all)
    return None if found is None else (found[0], [found[1], *notes])


def _find_chosen(estimator: Any, is_watched: bool) -> dict[str, Any]:
    """Parameters that a fitted estimator chose by itself.

    ``is_watched``: whether it saw all data on which it can choose. Boosting without validation rows
    grows fewer trees only if no split is left.
    """
    params = estimator.get_params(deep=False)
    fitted = {
        name: _plain(getattr(estimator, attribute))
        for attribute, name in _CHOSEN.items()
        if getattr(estimator, attribute, None) is not None
    }
    n_trees = getattr(estimator, "n_estimators_", 1)
    if issubclass(type(estimator), ChoosesRounds) and hasattr(estimator, "n_estimators_"):
        fitted["n_estimators"] = n_trees  # the best round need not cut the trees
    if not (is_watched and n_trees):
        fitted.pop("n_estimators", None)  # there was nothing to choose from
    chosen = {
        name: value
        for name, value in fitted.items()
        if name in params and not (np.isscalar(params[name]) and value == params[name])
    }
    if "gamma" in getattr(estimator, "cv_results_", {}):
        chosen["gamma"] = estimator.gamma_
    return {**chosen, **getattr(estimator, "best_params_", {})}


def _plain(value: Any) -> Any:
    """A number, or a list if the draws of an ensemble chose different numbers."""
    if not isinstance(value, np.ndarray):
        return value
    values = value.tolist()
    return values[0] if len(set(values)) == 1 else values


def _own_search(estimator: Any) -> list[dict[str, Any]]:
    """Settings and mean scores of an estimator's own path or of a scikit-learn search."""
    results = getattr(estimator, "cv_results_", None)
    if not results or "mean_test_score" not in results:
        return []
    settings = results.get("params")
    if settings is None:
        names = [name for name in estimator.get_params(deep=False) if name in results]
        columns = [np.asarray(results[name]).tolist() for name in names]
        settings = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    scores = results["mean_test_score"]
    return [{"params": p, "score": float(s)} for p, s in zip(settings, scores, strict=True)]


ENDS = ("largest", "smallest")
# With fewer values, an end is nearly always best.
FEWEST_VALUES = 5


def edge_notes(
    chosen: Mapping[str, Any],
    search: Sequence[Mapping[str, Any]],
    *,
    greater_is_better: bool = True,
) -> list[str]:
    """One line for every chosen number that is an end of the values tried, or tied with all.

    ``search`` has all tried settings, as ``{"params": {...}, "score": float}``. Chosen values other
    than finite numbers, and 0, are skipped. So are parameters with fewer than five tried values,
    and those whose neighbouring value was equally good, since nothing is to be gained beyond the
    end.
    """
    notes = []
    for name, value in chosen.items():
        if not isinstance(value, Real) or value == 0 or not math.isfinite(value):
            continue
        best: dict[float, float] = {}
        for setting in search:
            tried, score = setting["params"].get(name), setting["score"]
            if isinstance(tried, Real):
                score = score if greater_is_better else -score
                best[float(tried)] = max(score, best.get(float(tried), -math.inf))
        ascending = sorted(best)
        if len(ascending) < FEWEST_VALUES:
            continue
        if len({*best.values()}) == 1 and math.isfinite(best[ascending[0]]):
            notes.append(
                f"{name} = {value:g} is the first of {len(ascending)} values tried, which the "
                "measure does not tell apart"
            )
        if value not in (ascending[0], ascending[-1]):
            continue
        is_largest = value == ascending[-1]
        neighbour = ascending[-2 if is_largest else 1]
        if best[float(value)] > best[neighbour]:
            notes.append(
                f"{name} = {value:g} is the {ENDS[not is_largest]} of "
                f"{len(ascending)} values tried: a better one may lie beyond"
            )
    return notes


def is_at_end(notes: Sequence[str], name: str, value: Any, end: str) -> bool:
    """Whether notes of :func:`edge_notes` say that a chosen value is an end of those tried."""
    if not isinstance(value, Real):
        return False
    return any(note.startswith(f"{name} = {value:g} is the {end} of ") for note in notes)
