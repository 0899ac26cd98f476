"""How often all rank intervals of a leaderboard hold the true ranks at once, and how long they are.

    python -m benchmarks.rank_intervals [repetitions]

Per-unit values of systems share the difficulty of their unit. "normal": true means are spread
evenly. "ties": systems come in groups with equal means; an interval must hold all ranks of the
group. "skew": values are exponential, with an atom at 0. "runs": every system has four runs that
are better or worse on all units at once, and values are means over runs; "runs, ignored" takes
these means as they are. In "runs, one wild", runs of one system in ten spread three times as much.
Columns: share of boards on which every interval holds, mean length of an interval in ranks, and for
comparison the share on which every rank by the means alone is right.
The last line: seconds and peak memory of 180 systems on 1,000 units.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from rankwise.metrics.significance import compare_to_best, pool_run_errors, run_error

KINDS = ("normal", "ties", "skew", "runs", "runs, one wild", "runs, ignored")
N_RUNS = 4
N_RESAMPLES = 999


def sample(
    kind: str, n_systems: int, n_units: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Values of shape (n_units, n_systems, n_runs), and true means."""
    means = np.linspace(0.0, 1.5, n_systems)
    if kind == "ties":
        means = np.floor(means * 2.0) / 2.0
    difficulty = rng.standard_normal((n_units, 1, 1))
    if kind == "skew":
        own = rng.exponential(size=(n_units, n_systems, 1)) - 1.0
        own[rng.random(own.shape) < 0.3] = -1.0
        own += 0.3  # minus the mean of such values
    else:
        own = rng.standard_normal((n_units, n_systems, 1))
    values = difficulty + own + means[:, None]
    if kind.startswith("runs"):
        runs = 0.3 * rng.standard_normal((1, n_systems, N_RUNS))
        if kind.endswith("wild"):
            runs[:, ::10] *= 3.0
        noise = 0.3 * rng.standard_normal((n_units, n_systems, N_RUNS))
        values = values + runs + noise
    return values, means


def true_ranks(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last rank of each system's group of equal means."""
    return 1 + (means[:, None] > means).sum(axis=0), (means[:, None] >= means).sum(axis=0)


def coverage(
    kind: str, n_systems: int, n_units: int, repetitions: int, n_resamples: int = N_RESAMPLES
) -> tuple[float, float]:
    """Share of boards whose intervals all hold, and mean length of an interval."""
    rng = np.random.default_rng(7)
    n_held, length = 0, 0.0
    for seed in range(repetitions):
        values, means = sample(kind, n_systems, n_units, rng)
        errors = None
        if kind.startswith("runs") and not kind.endswith("ignored"):
            errors = pool_run_errors({str(s): run_error(values[:, s]) for s in range(n_systems)})
        columns = {str(s): values[:, s].mean(axis=1) for s in range(n_systems)}
        table = compare_to_best(
            columns, n_resamples=n_resamples, random_state=seed, run_errors=errors
        )
        first, last = true_ranks(means)
        held = [
            row.rank_low <= first[int(row.name)] and last[int(row.name)] <= row.rank_high
            for row in table
        ]
        n_held += all(held)
        length += float(np.mean([row.rank_high - row.rank_low for row in table]))
    return n_held / repetitions, length / repetitions


def by_means_alone(kind: str, n_systems: int, n_units: int, repetitions: int) -> float:
    """Share of boards on which the order of the means is right for every system."""
    rng = np.random.default_rng(7)
    n_right = 0
    for _ in range(repetitions):
        values, means = sample(kind, n_systems, n_units, rng)
        place = np.argsort(np.argsort(-values.mean(axis=(0, 2)))) + 1
        first, last = true_ranks(means)
        n_right += bool(((first <= place) & (place <= last)).all())
    return n_right / repetitions


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{repetitions} boards each, {N_RESAMPLES} draws; joint level .95")
    print(f"{'':14}  systems  units  all hold  length  order of the means right")
    for kind in KINDS:
        for n_systems, n_units in ((10, 50), (50, 100), (180, 200)):
            n = repetitions if n_systems < 100 else max(40, repetitions // 4)
            held, length = coverage(kind, n_systems, n_units, n)
            alone = by_means_alone(kind, n_systems, n_units, n)
            print(
                f"{kind:14}  {n_systems:7}  {n_units:5}  {held:8.3f}  {length:6.1f}  {alone:.3f}"
                f"{'' if n == repetitions else f'  ({n} boards)'}",
                flush=True,
            )
    values, _ = sample("normal", 180, 1000, np.random.default_rng(0))
    start = time.perf_counter()
    compare_to_best({str(s): values[:, s, 0] for s in range(180)})
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"180 systems, 1,000 units, 9,999 draws: {seconds:.1f} s, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
