"""Rules that choose the number of LambdaMART's trees on validation queries.

    python -m benchmarks.study_stopping > docs/study_stopping.txt

Six sets of ``benchmarks.study_generalisation``, six of its choosing splits. 70 % of the training
queries grow 300 trees of at most seven leaves; the others choose their number, in steps of 3. Every
rule is compared with the best nDCG@10, by nDCG@10 and AP of the test queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm, t

from benchmarks.study_generalisation import (
    EQUAL,
    MOST_ROWS,
    RELEVANT,
    SEVEN_LEAVES,
    TRAIN_SHARE,
    load_rows,
)
from rankwise import LambdaMART
from rankwise.datasets import RankingData
from rankwise.metrics import parse
from rankwise.typing import Float64Array

SETS = ("ohsumed", "mq2008", "expedia", "cranfield", "vaswani", "lambdarank")
SPLITS, N_TREES, STEP, FIT_SHARE = range(6), 300, 3, 0.7
# Measures on validation queries; AP is that of the set.
MEASURES = ("nDCG@10", "nDCG", "AP", "nDCG@5", "nDCG@20")


def _draw_part(rows: RankingData, seed: int, share: float) -> tuple[RankingData, RankingData]:
    order = np.random.default_rng(seed).permutation(rows.n_queries)
    n_first = round(share * rows.n_queries)
    return rows.queries(np.sort(order[:n_first])), rows.queries(np.sort(order[n_first:]))


def measure_stages(name: str, split: int) -> tuple[Float64Array, Float64Array]:
    """Measures after every third tree: by validation query, and the two means on test queries."""
    train, test = _draw_part(load_rows(name, MOST_ROWS), split, TRAIN_SHARE)
    fit, validation = _draw_part(train, 1000 + split, FIT_SHARE)
    settings: dict[str, Any] = EQUAL | SEVEN_LEAVES | {"n_estimators": N_TREES}
    ranker = LambdaMART(**settings).fit(fit.X, fit.y, qid=fit.qid)
    ap = f"AP(rel={RELEVANT.get(name, 1)})"
    measures = [parse(ap if spec == "AP" else spec) for spec in MEASURES]
    held_out, reached = [], []
    stages = zip(ranker.staged_predict(validation.X), ranker.staged_predict(test.X), strict=True)
    for number, (scores, test_scores) in enumerate(stages, start=1):
        if number % STEP == 0:
            held_out.append(
                [spec.per_query(validation.y, scores, validation.groups) for spec in measures]
            )
            reached.append(
                [parse(spec).mean(test.y, test_scores, test.groups) for spec in ("nDCG@10", ap)]
            )
    return np.array(held_out), np.array(reached)


def choose_best(of_queries: Float64Array, measures: tuple[str, ...], width: int = 0) -> int:
    """First stage of the best mean of measures, smoothed over ``width`` stages on both sides."""
    places = [MEASURES.index(name) for name in measures]
    curve = np.nanmean(of_queries[:, places], axis=2).mean(axis=1)
    window = np.ones(2 * width + 1) / (2 * width + 1)
    return int(np.argmax(np.convolve(np.pad(curve, width, mode="edge"), window, "valid")))


def choose_within_error(of_queries: Float64Array, n_errors: float) -> int:
    """First stage whose nDCG@10 is behind the best by at most so many errors of the difference."""
    values = of_queries[:, 0][:, ~np.isnan(of_queries[0, 0])]
    behind = values[np.argmax(values.mean(axis=1))] - values
    error = behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])
    return int(np.flatnonzero(behind.mean(axis=1) <= n_errors * error)[0])


def choose_number(of_queries: Float64Array, n_trees: int) -> int:
    """Stage of a fixed number of trees, rounded up to a stage."""
    return min(-(-n_trees // STEP), len(of_queries)) - 1


BASE = "nDCG@10"
RULES: dict[str, Callable[[Float64Array], int]] = {
    BASE: partial(choose_best, measures=("nDCG@10",)),
    "nDCG": partial(choose_best, measures=("nDCG",)),
    "AP": partial(choose_best, measures=("AP",)),
    "four cut-offs": partial(choose_best, measures=("nDCG@5", "nDCG@10", "nDCG@20", "nDCG")),
    "mean of 7 stages": partial(choose_best, measures=("nDCG@10",), width=3),
    "mean of 17 stages": partial(choose_best, measures=("nDCG@10",), width=8),
    "half an error": partial(choose_within_error, n_errors=0.5),
    "one error": partial(choose_within_error, n_errors=1.0),
    "100 trees": partial(choose_number, n_trees=100),
    "300 trees": partial(choose_number, n_trees=300),
}


def main() -> None:
    stages = {name: [measure_stages(name, split) for split in SPLITS] for name in SETS}
    print("study_stopping: rules for the number of trees on six splits of six sets")
    print("\nDifferences from nDCG@10, in thousandths: means over the sets, and Stouffer's z\n")
    titles = ("nDCG@10", "z", "AP", "z of AP", "trees")
    print(" " * 20 + "".join(f"{title:>10}" for title in titles))
    for key, rule in RULES.items():
        leads, scores, n_trees = [], [], []
        for name in SETS:
            chosen = [(rule(held_out), RULES[BASE](held_out)) for held_out, _ in stages[name]]
            lead = 1000 * np.array(
                [test[a] - test[b] for (_, test), (a, b) in zip(stages[name], chosen, strict=True)]
            )
            error = np.sqrt(lead.var(axis=0, ddof=1) * (1 / len(lead) + 1 / TRAIN_SHARE - 1))
            ratio = np.divide(lead.mean(axis=0), error, out=np.zeros(2), where=error > 0)
            leads.append(lead.mean(axis=0))
            scores.append(norm.ppf(t.cdf(ratio, len(lead) - 1)))
            n_trees.append(np.mean([STEP * (a + 1) for a, _ in chosen]))
        mean, z = np.mean(leads, axis=0), np.sum(scores, axis=0) / np.sqrt(len(SETS))
        cells = (f"{x:10.{d}f}" for x, d in ((mean[0], 1), (z[0], 2), (mean[1], 1), (z[1], 2)))
        print(f"{key:20}" + "".join(cells) + f"{np.mean(n_trees):10.0f}")


if __name__ == "__main__":
    main()
