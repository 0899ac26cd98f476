"""Whether planned numbers of queries give the planned power.

    python -m benchmarks.planning [repetitions]

Differences between systems are normal or skewed (with an atom at 0); from one pilot,
``queries_needed`` plans for power .8; the share of fresh samples of that size on which the test
over all pairs finds the difference of one pair. ``python -m benchmarks.interval_errors detectable``
does so for strata of unequal size, and for pilots of 20 queries.
"""

from __future__ import annotations

import sys

import numpy as np

from rankwise.metrics.significance import compare_to_best, queries_needed

KINDS = ("normal", "skewed")
DIFFERENCE = 0.1


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


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{repetitions} repetitions. Planned for a difference of {DIFFERENCE} and power .8:")
    print("differences  systems  queries  found")
    for kind in KINDS:
        for n_systems in (2, 5, 15):
            n, found = power(kind, n_systems, repetitions)
            print(f"{kind:11}  {n_systems:7}  {n:7.0f}  {found:5.3f}", flush=True)


if __name__ == "__main__":
    main()
