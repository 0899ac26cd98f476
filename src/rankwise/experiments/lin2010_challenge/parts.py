"""Training, validation and test parts, and the measures of the challenge on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from rankwise.datasets import Fold, RankingData, load_dataset
from rankwise.experiments.lin2010_challenge.plan import HIGHEST_GRADE
from rankwise.metrics import evaluate
from rankwise.metrics.predicting import scores_of
from rankwise.typing import Float64Array

_PARTS = ("train", "vali", "test")


def measures(data: str) -> dict[str, str]:
    """Full specs by name: those of the challenge's script, ERR on the set's own scale of grades."""
    return {
        "ERR": f"ERR(max_grade={HIGHEST_GRADE[data]},empty=0)",
        "nDCG": "nDCG(empty=1)@10",
    }


@cache
def parts(data: str, fold: int) -> Fold:
    """A fold; LETOR's as they are, the slices in rotation and with the features of the challenge.

    The features of the challenge's set lie in [0, 1] by their rank among all values; here by
    their rank in the training part.
    """
    if data != "mslr-slices":
        return load_dataset(data)[fold - 1]
    only = load_dataset(data)[0]
    of = [getattr(only, name) for name in _PARTS]
    train, vali, test = (of[(i + fold - 1) % 3] for i in range(3))
    scaler = QuantileTransformer(n_quantiles=len(train.y)).fit(train.X)
    return Fold(*(replace(part, X=scaler.transform(part.X)) for part in (train, vali, test)))


def measured(data: str, fold: Fold, scores: dict[str, Float64Array]) -> dict[str, Any]:
    """Means on every part, and ERR of every test query for paired differences."""
    specs = measures(data)
    found: dict[str, Any] = {}
    for name, values in scores.items():
        part: RankingData = getattr(fold, name)
        result = evaluate(part.y, values, part.groups, list(specs.values()))
        found[name] = {measure: float(result[spec]) for measure, spec in specs.items()}
        if name == "test":
            found["queries"] = result.per_query[specs["ERR"]].round(7).tolist()
    return found


def all_scores(estimator: Any, fold: Fold) -> dict[str, Float64Array]:
    """Scores to rank the rows of every part by."""
    return {name: scores_of(estimator, getattr(fold, name).X) for name in _PARTS}


def small_sets(train: RankingData, n_sets: int, n_rows: int, seed: int) -> list[RankingData]:
    """Sets of whole queries, drawn until there are so many rows and every grade occurs."""
    rng = np.random.default_rng(seed)
    sizes, n_grades = np.diff(train.groups.indptr), len(np.unique(train.y))
    sets: list[RankingData] = []
    while len(sets) < n_sets:
        order = rng.permutation(train.n_queries)
        enough = int(np.searchsorted(np.cumsum(sizes[order]), n_rows)) + 1
        drawn = train.queries(np.sort(order[:enough]))
        if len(np.unique(drawn.y)) == n_grades:
            sets.append(drawn)
    return sets
