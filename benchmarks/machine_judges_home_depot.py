"""A weak machine judge on Home Depot's product search: what it is worth.

    RANKWISE_DATA=... python -m benchmarks.machine_judges_home_depot [repetitions]

The 7,921 queries with at least five judged products. A ridge regression on words that query and
title have in common learns people's mean relevance (1 to 3) from 300 of them, and is the judge of
the other 7,621. Two systems rank the products: "stems" by the share of the query's words of which
the title has the first four letters, "phrase" by whether the title has the query as it is, then by
the share of its words. P@3 counts products of mean relevance 2.3 and more, nDCG(empty=0)@3 has the
gain 2^(relevance - 1) - 1. The last lines show how the judge's worth for P@3 depends on what counts
as relevant.

Each repetition draws n queries, whose human judgements are known; the judge's are for all. Columns:
Pearson's r of the values per query; the share of 95 % intervals that hold the human mean of the
7,621 queries, of the judge alone and of ``prediction_powered_mean``; the reduction of the standard
error below that of the n human values (over repetitions), of the width of the interval (mean), and
by theory, 1 - sqrt(1 - r^2 (1 - n/N)).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from benchmarks.study_sets import find_overlaps
from rankwise import evaluate
from rankwise.metrics.significance import prediction_powered_mean

FEWEST, N_TRAIN, LEVEL = 5, 300, 0.95
SIZES = (50, 200)
MEASURES = ("P(rel=1.3)@3", "nDCG(empty=0)@3")
THRESHOLDS = (0.9, 1.3, 1.5, 1.6)
NORMAL = 1.959963984540054

Values = NDArray[np.float64]


class Judged(NamedTuple):
    """Products of the queries that the judge did not learn from.

    ``human`` and ``machine`` are relevances from 0 to 2, ``scores`` those of systems by name.
    """

    qid: NDArray
    human: Values
    machine: Values
    scores: Mapping[str, Values]


class Outcome(NamedTuple):
    """Shares of intervals that hold the truth, and reductions of the error and of the width."""

    alone: float
    powered: float
    error: float
    width: float


def load(folder: Path) -> Judged:
    """Read the products, fit the judge and apply it."""
    table = pd.read_csv(folder / "home-depot" / "train.csv.gz")
    sizes = table.groupby("search_term")["id"].transform("size")
    table = table[sizes >= FEWEST]
    X = find_overlaps(table["search_term"].tolist(), table["product_title"].tolist())
    qid, human = table["search_term"].to_numpy(str), table["relevance"].to_numpy(float)
    queries = np.unique(qid)
    drawn = np.random.default_rng(0).choice(queries, N_TRAIN, replace=False)
    trains = np.isin(qid, drawn)
    judge = Ridge().fit(X[trains], human[trains])
    machine = np.clip(judge.predict(X[~trains]), 1, 3)
    scores = {"stems": X[~trains, 4], "phrase": X[~trains, 6] * 2 + X[~trains, 3]}
    return Judged(qid[~trains], human[~trains] - 1, machine - 1, scores)


def values_per_query(data: Judged, measure: str) -> dict[str, tuple[Values, Values]]:
    """Human and machine values of both systems and of their difference."""
    found = {}
    for name, scores in data.scores.items():
        by = [evaluate(y, scores, data.qid, measure) for y in (data.human, data.machine)]
        found[name] = (by[0].per_query[measure], by[1].per_query[measure])
    first, second = found
    pair = zip(found[first], found[second], strict=True)
    y, f = (a - b for a, b in pair)
    return {**found, f"{first} - {second}": (y, f)}


def coverage(
    human: Values, machine: Values, n: int, repetitions: int, rng: np.random.Generator
) -> Outcome:
    """Draw n queries with human values, again and again."""
    truth, means, rows = human.mean(), [], []
    alone = abs(machine.mean() - truth) <= NORMAL * machine.std() / math.sqrt(len(machine))
    for _ in range(repetitions):
        order = rng.permutation(len(human))
        few, rest = order[:n], order[n:]
        found = prediction_powered_mean(
            human[few], machine[few], machine[rest], confidence_level=LEVEL
        )
        means.append((found.mean, found.human_mean))
        rows.append((found.low <= truth <= found.high, found.saving))
    powered, width = np.mean(rows, axis=0).tolist()
    errors = np.sqrt(np.mean((np.array(means) - truth) ** 2, axis=0))
    return Outcome(float(alone), powered, float(1 - errors[0] / errors[1]), width)


def main(repetitions: int) -> None:
    """Print the table."""
    data = load(Path(os.environ["RANKWISE_DATA"]))
    n_queries, n_products = len(np.unique(data.qid)), len(data.qid)
    r = np.corrcoef(data.human, data.machine)[0, 1]
    print(f"{n_queries:,} queries, {n_products:,} products; r of both judges by product {r:.2f}")
    print(f"{repetitions} samples of n queries with human judgements; coverage of 95 % intervals")
    print(
        f"{'measure':<17}{'system':<16}{'n':>4}{'people':>8}{'judge':>8}{'r':>7}{'alone':>8}"
        f"{'powered':>9}{'error':>9}{'width':>8}{'theory':>8}"
    )
    for measure in MEASURES:
        for system, (human, machine) in values_per_query(data, measure).items():
            r = float(np.corrcoef(human, machine)[0, 1])
            for n in SIZES:
                found = coverage(human, machine, n, repetitions, np.random.default_rng(n))
                theory = 1 - math.sqrt(1 - r**2 * (1 - n / len(human)))
                print(
                    f"{measure:<17}{system:<16}{n:>4}{human.mean():8.3f}{machine.mean():8.3f}"
                    f"{r:7.2f}{found.alone:8.3f}{found.powered:9.3f}{found.error:9.1%}"
                    f"{found.width:8.1%}{theory:8.1%}",
                    flush=True,
                )
    print(f"\nrelevant from{'r':>7}{'theory':>8}  P@3 of stems, n = {SIZES[-1]}")
    for rel in THRESHOLDS:
        human, machine = values_per_query(data, f"P(rel={rel})@3")["stems"]
        r = float(np.corrcoef(human, machine)[0, 1])
        theory = 1 - math.sqrt(1 - r**2 * (1 - SIZES[-1] / len(human)))
        print(f"{rel + 1:<13.1f}{r:7.2f}{theory:8.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
