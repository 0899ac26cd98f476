"""Strengths from a million comparisons of 200 items, and from full and partial orders.

    python -m benchmarks.bench_preferences

The target is two seconds, from names and outcomes in arrays to strengths with sandwich errors. The
peer is what leaderboards of language models used before: logistic regression of scikit-learn on
one sparse row per comparison, without ties, for strengths without errors. Times are those of the
process, whatever else the machine does.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks._timing import Timing, interleave, report
from rankwise.preferences import Orders, PairwisePreferences, PlackettLuce

N, M = 10**6, 200
TARGET = Timing("target", [2.0])


def million() -> None:
    """A million comparisons, 20 % ties, 20,000 annotators and 3,000 prompts."""
    rng = np.random.default_rng(0)
    strengths = rng.normal(size=M)
    first = rng.integers(0, M, N)
    second = (first + rng.integers(1, M, N)) % M
    wins = rng.random(N) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcomes = np.where(rng.random(N) < 0.2, 0.5, wins)
    names = np.array([f"model-{item}" for item in range(M)])
    pairs = names[np.stack([first, second], axis=1)]
    annotators, prompts = rng.integers(0, 20_000, N), rng.integers(0, 3000, N)
    clusters = np.stack([annotators, prompts], axis=1)
    lengths = rng.normal(size=(N, 2))

    def peer() -> None:
        decided = outcomes != 0.5
        n = int(decided.sum())
        ends = pd.factorize(pairs[decided].ravel())[0]
        X = sparse.csr_matrix((np.tile([1.0, -1.0], n), ends, 2 * np.arange(n + 1)), shape=(n, M))
        LogisticRegression(fit_intercept=False, C=1e6, tol=1e-6).fit(X, outcomes[decided])

    model = PairwisePreferences().fit(pairs, outcomes)
    times = interleave(
        {
            "Davidson": lambda: PairwisePreferences().fit(pairs, outcomes),
            "Rao-Kupper, order": lambda: PairwisePreferences("rao_kupper", order_effect=True).fit(
                pairs, outcomes
            ),
            "two ways of clustering": lambda: PairwisePreferences().fit(
                pairs, outcomes, clusters=clusters
            ),
            "two covariates": lambda: PairwisePreferences().fit(
                pairs, outcomes, covariates=lengths
            ),
            "rank intervals": model.rank_intervals,
            "scikit-learn": peer,
        },
        repeats=3,
        clock=time.process_time,
    )
    for name in ("Davidson", "Rao-Kupper, order", "two ways of clustering", "two covariates"):
        report(f"10^6 comparisons of 200 items, {name}", times[name], TARGET, within=1)
    report("simultaneous ranks of 200 items", times["rank intervals"], TARGET, within=1)
    report("10^6 comparisons", times["Davidson"], times["scikit-learn"], within=2)


def orders() -> None:
    """Plackett-Luce: partial orders of 5 of 50 items, and full orders of 100."""
    sides = {}
    for n, m, listed in ((100_000, 50, 5), (1000, 100, 100)):
        rng = np.random.default_rng(1)
        utility = rng.normal(size=m) + rng.gumbel(size=(n, m))
        chosen = np.argsort(rng.random((n, m)), axis=1)[:, :listed]
        by_utility = np.argsort(-np.take_along_axis(utility, chosen, axis=1), axis=1)
        rows = Orders.from_lists(np.take_along_axis(chosen, by_utility, axis=1))
        sides[f"{n:,} orders of {listed} of {m} items"] = lambda rows=rows: PlackettLuce().fit(rows)
    for name, timing in interleave(sides, repeats=3, clock=time.process_time).items():
        report(f"Plackett-Luce, {name}", timing, Timing("target", [5.0]), within=1)


def main() -> None:
    million()
    orders()


if __name__ == "__main__":
    main()
