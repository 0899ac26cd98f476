"""Whether planned numbers of queries give the planned power, and always-valid intervals hold.

    python -m benchmarks.planning [repetitions]

First table: differences between systems are normal or skewed (with an atom at 0); from one pilot,
``queries_needed`` plans for power .8; the share of fresh samples of that size on which the test
over all pairs finds the difference of one pair. Second table: queries are judged one after the
other up to 1,000 and the interval is looked at after each batch; the share of sequences on which
it ever excludes the true mean, and for comparison that of Student's t interval.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import stats

from rankwise.metrics.significance import (
    always_valid_interval,
    compare_to_best,
    queries_needed,
)

KINDS = ("normal", "skewed")
DIFFERENCE = 0.1
N_LAST, BATCH = 1000, 10


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Values with mean 0 and standard deviation .3 or so."""
    if kind == "normal":
        return 0.3 * rng.standard_normal(shape)
    values = 0.3 * (rng.exponential(size=shape) - 1.0)
    return np.where(rng.random(shape) < 0.5, 0.0, values)


def values_of(kind: str, n: int, n_systems: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of systems, of which the first is better by ``DIFFERENCE``."""
    found = rng.random((n, 1)) + noise(kind, (n, n_systems), rng)
    found[:, 0] += DIFFERENCE
    return {f"s{i}": found[:, i] for i in range(n_systems)}


def power(kind: str, n_systems: int, repetitions: int) -> tuple[float, float]:
    """Mean planned number of queries, and share of samples on which the first pair differs."""
    rng = np.random.default_rng(3)
    found, planned = 0, []
    for seed in range(repetitions):
        pilot = values_of(kind, 100, n_systems, rng)
        n = queries_needed(pilot, DIFFERENCE, random_state=seed)
        planned.append(n)
        table = compare_to_best(
            values_of(kind, n, n_systems, rng), n_resamples=999, random_state=seed
        )
        other = next(row for row in table if row.name == "s1")
        found += table[0].name == "s0" and other.p_corrected < 0.05
    return float(np.mean(planned)), found / repetitions


def ever_wrong(kind: str, repetitions: int, first_look: int) -> tuple[float, float]:
    """Share of sequences on which an interval ever excludes the mean: always-valid, Student's."""
    rng = np.random.default_rng(4)
    wrong = np.zeros(2)
    for _ in range(repetitions):
        values = noise(kind, (N_LAST,), rng) - noise(kind, (N_LAST,), rng)
        missed = [False, False]
        for n in range(first_look, N_LAST + 1, BATCH):
            low, high = always_valid_interval(values[:n], n_expected=200)
            missed[0] |= not low <= 0 <= high
            half = stats.t.ppf(0.975, n - 1) * values[:n].std(ddof=1) / np.sqrt(n)
            missed[1] |= abs(values[:n].mean()) > half
        wrong += missed
    return float(wrong[0] / repetitions), float(wrong[1] / repetitions)


def main() -> None:
    """Print both tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{repetitions} repetitions. Planned for a difference of {DIFFERENCE} and power .8:")
    print("differences  systems  queries  found")
    for kind in KINDS:
        for n_systems in (2, 5, 15):
            n, found = power(kind, n_systems, repetitions)
            print(f"{kind:11}  {n_systems:7}  {n:7.0f}  {found:5.3f}", flush=True)
    print("Looked at after every 10 queries up to 1,000; ever wrong, wanted at most .05:")
    print("differences  first look  always valid  Student's t")
    for kind in KINDS:
        for first_look in (10, 30):
            ours, theirs = ever_wrong(kind, repetitions, first_look)
            print(f"{kind:11}  {first_look:10}  {ours:12.3f}  {theirs:11.3f}", flush=True)


if __name__ == "__main__":
    main()
