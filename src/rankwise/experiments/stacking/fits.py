"""The computations: tuned rankers, their scores for queries they have not seen, what is on top."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData, load_dataset
from rankwise.experiments.base import Cell
from rankwise.experiments.stacking.plan import BLENDS, MEASURES, N_FOLDS, SEED, SELECT
from rankwise.features.products_map import ProductsMap
from rankwise.features.query_scaling import QueryScaler
from rankwise.metrics import evaluate, parse
from rankwise.metrics.predicting import scores_of
from rankwise.rankers.ensemble.held_out import (
    HeldOut,
    held_out,
    held_out_rows,
    parts,
    query_numbers,
)
from rankwise.rankers.ensemble.members import member_scores
from rankwise.rankers.linear.rank_lr import RankLR
from rankwise.selection.tuning import prepare, tune
from rankwise.typing import Float64Array, Int64Array
from rankwise.validation import FitData


@dataclass(frozen=True, eq=False)
class BaseScores:
    """A tuned ranker's scores.

    Attributes
    ----------
    chosen : dict
    seconds : float
        Of tuning and one fit; of the fits for the held-out scores.
    held, vali, test : ndarray
        For the training queries, each by the ranker fitted without it; for the other parts by the
        one fitted on all training queries.
    mean_vali, mean_test : ndarray
        For the other parts by those fitted without a fifth each: means of standardised scores.
    """

    chosen: dict[str, Any]
    seconds: tuple[float, float]
    held: Float64Array
    vali: Float64Array
    test: Float64Array
    mean_vali: Float64Array
    mean_test: Float64Array


def base_scores(data: str, fold: int, key: str, settings: dict[str, Any]) -> BaseScores:
    """Kept for the cells that follow in the process."""
    of = {name: settings[name] for name in ("params", "space")}
    return _base_scores(data, fold, key, json.dumps(of, sort_keys=True))


@cache
def _base_scores(data: str, number: int, key: str, settings: str) -> BaseScores:
    fold = the_fold(data, number)
    of = json.loads(settings)
    estimator = REGISTRY[key].load()(**of["params"])
    select = parse(SELECT)
    start = time.perf_counter()
    tuned = tune(estimator, fold.train, vali_of(fold), select, space=of["space"], random_state=SEED)
    fitted = time.perf_counter()
    member = prepare(estimator, select, SEED)
    member.set_params(**{name: tuned.chosen[name] for name in of["space"]})
    rows, vali = rows_of(fold.train), vali_of(fold)
    validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    numbers = query_numbers(rows)
    held = held_out({key: member}, rows, _parts(fold.train), numbers, True, validation)
    return BaseScores(
        chosen=tuned.chosen,
        seconds=(fitted - start, time.perf_counter() - fitted),
        held=held.scores[:, 0],
        vali=scores_of(tuned.estimator, vali.X, vali.qid),
        test=scores_of(tuned.estimator, fold.test.X, fold.test.qid),
        mean_vali=_mean_scores(held, vali),
        mean_test=_mean_scores(held, fold.test),
    )


def _mean_scores(held: HeldOut, part: RankingData) -> Float64Array:
    """Mean over the parts' rankers of their scores, standardised within queries."""
    tables = [member_scores(models, part.X, part.qid) for models in held.models]
    scaler = QueryScaler("standard")
    return np.mean([scaler.fit_transform(of, qid=part.qid) for of in tables], axis=0)[:, 0]


def compute(cell: Cell) -> Any:
    """The value of a cell of either kind."""
    data, params = cell.data, cell.params
    fold = the_fold(data, params["fold"])
    if "key" in params:
        of = base_scores(data, params["fold"], params["key"], params)
        found = {"chosen": of.chosen, "seconds": list(of.seconds)}
        return {**found, **measured(fold, of.vali, of.test)}
    scores = {
        key: base_scores(data, params["fold"], key, settings)
        for key, settings in params["members"].items()
    }
    return {
        "blends": {name: measured(fold, *blend(fold, scores, name)) for name in BLENDS},
        "stacks": {name: stack(fold, scores, of) for name, of in params["stacks"].items()},
        "n_queries": [fold.train.n_queries, vali_of(fold).n_queries],
    }


def stack(fold: Fold, scores: dict[str, BaseScores], settings: dict[str, Any]) -> dict[str, Any]:
    """What :class:`StackingRanker` makes of these scores, with its default of ``final``."""
    rows, queries = held_out_rows(_parts(fold.train), query_numbers(rows_of(fold.train)))
    columns = np.column_stack([of.held for of in scores.values()])
    held = HeldOut(columns, fold.train.y[rows].astype(float), queries, [dict(scores)])
    values = held.values(parse(SELECT))
    if settings["n_best"] is not None:
        held = held.best(settings["n_best"], parse(SELECT))
    names = list(held.models[0])
    terms = ProductsMap(len(names)) if settings["degree"] == 2 else _same

    def columns_of(part: str) -> Float64Array:
        if settings["refit"]:
            table = np.column_stack([getattr(scores[name], part) for name in names])
            return terms(QueryScaler("standard").fit_transform(table, qid=getattr(fold, part).qid))
        return terms(np.column_stack([getattr(scores[name], f"mean_{part}") for name in names]))

    rows = QueryScaler("standard").fit_transform(held.scores, qid=held.qid)
    final = RankLR(C="cv", query_weight="query", measure=SELECT)
    final.fit(terms(rows), held.y, qid=held.qid)
    vali, test = (final.predict(columns_of(part)) for part in ("vali", "test"))
    return {
        "members": names,
        "bases_held": dict(zip(scores, values.tolist(), strict=True)),
        "C": final.C_,
        "held": float(np.max(final.cv_results_["mean_test_score"])),
        **measured(fold, vali, test),
    }


def blend(fold: Fold, scores: dict[str, BaseScores], key: str) -> tuple[Float64Array, Float64Array]:
    """What a blend makes of these scores, of the validation and of the test part."""
    blended = REGISTRY[key].load()(list(scores))
    found = []
    for part in ("vali", "test"):
        table = np.column_stack([getattr(of, part) for of in scores.values()])
        found.append(blended.of_scores(table, getattr(fold, part).qid))
    return found[0], found[1]


def measured(fold: Fold, vali: Float64Array, test: Float64Array) -> dict[str, Any]:
    """Mean on the validation part, and every test query's values."""
    specs = list(MEASURES.values())
    known = vali_of(fold)
    result = evaluate(fold.test.y, test, fold.test.groups, specs)
    return {
        "vali": parse(SELECT).mean(known.y, vali, known.groups),
        "test": {name: result.per_query[spec].round(7).tolist() for name, spec in MEASURES.items()},
    }


def _same(columns: Float64Array) -> Float64Array:
    return columns


def _parts(train: RankingData) -> list[tuple[Int64Array, Int64Array]]:
    rows = rows_of(train)
    return parts(N_FOLDS, None, rows, query_numbers(rows))


def vali_of(fold: Fold) -> RankingData:
    """The validation part, which every fold of these sets has."""
    assert fold.vali is not None
    return fold.vali


@cache
def the_fold(data: str, number: int) -> Fold:
    """A fold as it is published."""
    return load_dataset(data)[number - 1]


def rows_of(data: RankingData) -> FitData:
    """The rows as ``fit`` methods see them."""
    return FitData(data.X, data.y.astype(np.float64), data.groups, None)
