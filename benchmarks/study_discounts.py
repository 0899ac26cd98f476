"""Discounts beyond the cut-off of LambdaMART's training measure: ended, tapered or kept.

    python -m benchmarks.study_discounts > docs/study_discounts.txt

By default the discounts of nDCG are 0 beyond rank 30, so that two rows below it are no pair, and a
row above it is as far ahead of rank 31 as of rank 300. LightGBM ends the pairs there, but not the
discounts, and ranks its training rows better. Here are LightGBM's rule and discounts that fall to 0
more slowly, on four sets with queries of more than 30 rows; splits, trees, rate and errors are the
choosing ones of ``benchmarks.study_generalisation``; trees have at most seven leaves. The ideal DCG
is that of 30 ranks for all.

Values in ``build/study_generalisation.jsonl`` are not computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.study_generalisation import (
    CHOOSING,
    EQUAL,
    MOST_ROWS,
    SEVEN_LEAVES,
    measure_all,
    print_differences,
)
from rankwise import LambdaMART
from rankwise.losses.gradient_loss import JudgedRows
from rankwise.losses.lambda_gradients import LambdaGradients
from rankwise.metrics import Measure, parse
from rankwise.runtime.jit import njit
from rankwise.typing import Float64Array, Int64Array

SETS = ("ohsumed", "mslr", "movielens", "cf-letor")
BASE, LEVEL = "defaults", 30
MEASURE = parse(f"nDCG@{LEVEL}")


def taper(discounts: Float64Array, last: int) -> Float64Array:
    """Discounts that fall from their value at rank 30 to 0 at rank ``last``."""
    ranks = np.arange(1, len(discounts) + 1)
    return discounts * np.clip((last - ranks) / (last - LEVEL), 0.0, 1.0)


def decline(discounts: Float64Array) -> Float64Array:
    """Discounts that lose a tenth a rank beyond rank 30."""
    ranks = np.arange(1, len(discounts) + 1)
    return discounts[min(LEVEL, len(discounts)) - 1] * 0.9 ** np.maximum(ranks - LEVEL, 0)


def keep(discounts: Float64Array) -> Float64Array:
    """All discounts, with all pairs."""
    return discounts


class ChangedDiscounts(LambdaGradients):
    """Gradients of nDCG@30 whose discounts beyond rank 30 are those of a rule."""

    def __init__(self, rows: JudgedRows, rule: Callable[[Float64Array], Float64Array]) -> None:
        super().__init__(rows, MEASURE, True, 1)
        own = self._changes.discounts
        longest = int(np.diff(rows.indptr).max())
        beyond = rule(1.0 / np.log2(np.arange(longest) + 2.0))[len(own) :]
        self._changes = replace(self._changes, discounts=np.concatenate([own, beyond]))


class PairsAbove(LambdaGradients):
    """Gradients of LightGBM: discounts of all ranks, and pairs with a row above rank 30.

    Equal rows of a query, which LambdaMART merges, count once.
    """

    def __init__(self, rows: JudgedRows) -> None:
        super().__init__(rows, MEASURE, True, 1)
        self._discounts = 1.0 / np.log2(np.arange(int(np.diff(rows.indptr).max())) + 2.0)

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        ideal = self._changes.query_weight[slice(*queries)]
        write_pairs_above(
            scores, self._gains[rows], indptr, ideal, self._discounts, LEVEL, gradients, hessians
        )


@njit
def write_pairs_above(scores, gains, indptr, inverse_ideal, discounts, level, first, second):
    first[:], second[:] = 0.0, 0.0
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        order = start + np.argsort(-scores[start:end], kind="mergesort")
        varies = scores[order[0]] != scores[order[-1]]
        total = 0.0
        for r in range(min(level, end - start)):
            for t in range(r + 1, end - start):
                i, j = order[r], order[t]
                if gains[i] == gains[j]:
                    continue
                if gains[i] < gains[j]:
                    i, j = j, i
                ahead = scores[i] - scores[j]
                change = (gains[i] - gains[j]) * (discounts[r] - discounts[t]) * inverse_ideal[q]
                if varies:
                    change /= 0.01 + abs(ahead)
                p = 1.0 / (1.0 + np.exp(ahead))
                first[i] -= change * p
                first[j] += change * p
                second[i] += change * p * (1.0 - p)
                second[j] += change * p * (1.0 - p)
                total += 2.0 * change * p
        if total > 0:
            first[start:end] *= np.log2(1.0 + total) / total
            second[start:end] *= np.log2(1.0 + total) / total


class OtherLoss(LambdaMART):
    """LambdaMART with gradients that a function makes of the judged rows."""

    make_gradients: Callable[[JudgedRows], LambdaGradients]

    def _loss(
        self, rows: JudgedRows, measure: Measure, seed: int, n_threads: int
    ) -> LambdaGradients:
        return self.make_gradients(rows)


RULES: dict[str, Callable[[JudgedRows], LambdaGradients]] = {
    "LightGBM's": PairsAbove,
    "0 at rank 60": lambda rows: ChangedDiscounts(rows, lambda all: taper(all, 60)),
    "0 at rank 120": lambda rows: ChangedDiscounts(rows, lambda all: taper(all, 120)),
    "0.9 a rank": lambda rows: ChangedDiscounts(rows, decline),
    "all ranks": lambda rows: ChangedDiscounts(rows, keep),
}


def _maker(rule: str) -> Callable[[], LambdaMART]:
    def make() -> LambdaMART:
        ranker = OtherLoss(**EQUAL, **SEVEN_LEAVES)
        ranker.make_gradients = RULES[rule]
        return ranker

    return make


def main() -> None:
    makers: dict[str, Callable[[], Any]] = {BASE: lambda: LambdaMART(**EQUAL, **SEVEN_LEAVES)}
    makers |= {rule: _maker(rule) for rule in RULES}
    print("study_discounts: discounts beyond rank 30 on ten splits of queries of four sets")
    print_differences(measure_all(SETS, CHOOSING, makers, MOST_ROWS), BASE)


if __name__ == "__main__":
    main()
