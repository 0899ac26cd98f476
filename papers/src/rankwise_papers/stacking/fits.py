"""The computations: tuned rankers, their scores for queries they have not seen, what is on top."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rankwise import RankLR
from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData, load_dataset
from rankwise.experiments import Cell
from rankwise.features import QueryScaler
from rankwise.features.score_expansions import ProductsMap
from rankwise.groups import FitData
from rankwise.metrics import evaluate, parse
from rankwise.prediction import scores_of
from rankwise.rankers.ensemble.members import (
    HeldOutScores,
    held_out_rows,
    parts,
    query_numbers,
    score_held_out,
)
from rankwise.selection.cells.fold_tuning import prepare, tune
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.stacking.plan import BLENDS, MEASURES, N_FOLDS, SEED, SELECT


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
    """

    chosen: dict[str, Any]
    seconds: tuple[float, float]
    held: Float64Array
    vali: Float64Array
    test: Float64Array


def base_scores(data: str, fold: int, key: str, settings: dict[str, Any]) -> BaseScores:
    """Kept for the cells that follow in the process."""
    search = {name: settings[name] for name in ("params", "space")}
    return _base_scores(data, fold, key, json.dumps(search, sort_keys=True))


@cache
def _base_scores(data: str, number: int, key: str, settings: str) -> BaseScores:
    fold = the_fold(data, number)
    search = json.loads(settings)
    estimator = REGISTRY[key].load()(**search["params"])
    select = parse(SELECT)
    start = time.perf_counter()
    tuned = tune(
        estimator, fold.train, vali_of(fold), select, space=search["space"], random_state=SEED
    )
    fitted = time.perf_counter()
    member = prepare(estimator, select, SEED)
    member.set_params(**{name: tuned.chosen[name] for name in search["space"]})
    rows, vali = rows_of(fold.train), vali_of(fold)
    validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    numbers = query_numbers(rows)
    held = score_held_out({key: member}, rows, _parts(fold.train), numbers, True, validation)
    return BaseScores(
        chosen=tuned.chosen,
        seconds=(fitted - start, time.perf_counter() - fitted),
        held=held.scores[:, 0],
        vali=scores_of(tuned.estimator, vali.X, vali.qid),
        test=scores_of(tuned.estimator, fold.test.X, fold.test.qid),
    )


def compute(cell: Cell) -> Any:
    """The value of a cell of either kind."""
    data, params = cell.data, cell.params
    fold = the_fold(data, params["fold"])
    if "key" in params:
        base = base_scores(data, params["fold"], params["key"], params)
        found = {"chosen": base.chosen, "seconds": list(base.seconds)}
        return {**found, **measured(fold, base.vali, base.test)}
    scores = {
        key: base_scores(data, params["fold"], key, settings)
        for key, settings in params["members"].items()
    }
    held = held_out_table(fold, scores)
    return {
        "blends": {name: measured(fold, *blend(fold, scores, name)) for name in BLENDS},
        "stacks": {name: stack(fold, held, members) for name, members in params["stacks"].items()},
        "held": dict(zip(scores, held.values(parse(SELECT)).tolist(), strict=True)),
    }


@dataclass(frozen=True, eq=False)
class Top:
    """What :class:`StackingRanker` has above its rankers.

    Attributes
    ----------
    names : list of str
        Rankers that it reads.
    final : RankLR or None
        None: the mean.
    degree : int
    """

    names: list[str]
    final: RankLR | None
    degree: int

    def predict(self, table: Float64Array, qid: Any) -> Float64Array:
        """Scores of rows, from those of the rankers."""
        columns = QueryScaler("standard").fit_transform(table, qid=qid)
        if self.final is None:
            return columns.mean(axis=1)
        return self.final.predict(terms(columns, self.degree))


def fit_top(held: HeldOutScores, settings: Mapping[str, Any]) -> Top:
    """Choose the rankers and train on their held-out scores, as :class:`StackingRanker` does."""
    if settings["n_best"] is not None:
        held = held.best(settings["n_best"], parse(SELECT))
    names, degree = list(held.models[0]), settings["degree"]
    if settings["final"] == "mean":
        return Top(names, None, degree)
    columns = QueryScaler("standard").fit_transform(held.scores, qid=held.qid)
    final = RankLR(C="cv", query_weight="query", measure=SELECT)
    final.fit(terms(columns, degree), held.y, qid=held.qid)
    return Top(names, final, degree)


def terms(columns: Float64Array, degree: int) -> Float64Array:
    """The columns, and with degree 2 their products."""
    return ProductsMap(columns.shape[1])(columns) if degree == 2 else columns


def stack(fold: Fold, held: HeldOutScores, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A setting's value on held-out queries, and what it does on the other parts."""
    top = fit_top(held, settings)
    scores: dict[str, BaseScores] = held.models[0]

    def predicted(part: str) -> Float64Array:
        table = np.column_stack([getattr(scores[name], part) for name in top.names])
        return top.predict(table, getattr(fold, part).qid)

    return {
        "members": top.names,
        "C": None if top.final is None else top.final.C_,
        "held": held_value(held, settings),
        **measured(fold, predicted("vali"), predicted("test")),
    }


def held_value(held: HeldOutScores, settings: Mapping[str, Any]) -> float:
    """Mean over the queries, each ranked by a top that was chosen and trained without it."""
    queries = np.unique(held.qid)
    part = np.random.RandomState(SEED).permutation(len(queries)) % N_FOLDS
    of_row = part[np.searchsorted(queries, held.qid)]
    names, scores = list(held.models[0]), np.empty(len(held.y))
    for number in range(N_FOLDS):
        rest, out = of_row != number, of_row == number
        top = fit_top(
            HeldOutScores(held.scores[rest], held.y[rest], held.qid[rest], held.models), settings
        )
        table = held.scores[out][:, [names.index(name) for name in top.names]]
        scores[out] = top.predict(table, held.qid[out])
    return parse(SELECT).mean(held.y, scores, held.groups)


def held_out_table(fold: Fold, scores: dict[str, BaseScores]) -> HeldOutScores:
    """Held-out scores of all rankers for the training queries."""
    rows, queries = held_out_rows(_parts(fold.train), query_numbers(rows_of(fold.train)))
    columns = np.column_stack([member.held for member in scores.values()])
    return HeldOutScores(columns, fold.train.y[rows].astype(float), queries, [scores])


def blend(fold: Fold, scores: dict[str, BaseScores], key: str) -> tuple[Float64Array, Float64Array]:
    """What a blend makes of these scores, of the validation and of the test part."""
    blended = REGISTRY[key].load()(list(scores))
    found = []
    for part in ("vali", "test"):
        table = np.column_stack([getattr(member, part) for member in scores.values()])
        found.append(blended._blend(table, getattr(fold, part).qid))
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


def _parts(train: RankingData) -> list[tuple[Int64Array, Int64Array]]:
    rows = rows_of(train)
    return parts(N_FOLDS, None, rows, query_numbers(rows))


def vali_of(fold: Fold) -> RankingData:
    """The validation part, which every fold of these sets has."""
    assert fold.vali is not None
    return fold.vali


@cache
def the_fold(data: str, number: int) -> Fold:
    """A fold as published."""
    return load_dataset(data)[number - 1]


def rows_of(data: RankingData) -> FitData:
    """The rows as ``fit`` methods see them."""
    return FitData(data.X, data.y.astype(np.float64), data.groups, None)
