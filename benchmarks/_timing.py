"""Side-by-side timing: interleaved runs in one process, medians, ratios against a stated target."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition."""

    name: str
    seconds: list[float]

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)


def interleave(
    sides: dict[str, Callable[[], Any]],
    repeats: int = 5,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time the sides in turn, A B C A B C …, after ``warmup`` uncounted rounds.

    ``clock=time.process_time`` leaves out the time that other programs take of one core.
    """
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for round_number in range(warmup + repeats):
        for name, side in sides.items():
            start = clock()
            side()
            elapsed = clock() - start
            if round_number >= warmup:
                seconds[name].append(elapsed)
    return {name: Timing(name, values) for name, values in seconds.items()}


def report(
    what: str,
    ours: Timing,
    peer: Timing,
    *,
    faster: float | None = None,
    within: float | None = None,
) -> bool:
    """Print one line; ``faster``: ours must be that many times faster than the peer;
    ``within``: ours may take at most that multiple of the peer. Returns whether the target is met.
    """
    if faster is not None:
        ratio, met = peer.median / ours.median, peer.median / ours.median >= faster
        claim = f"{ratio:8.2f} x faster (target >= {faster:g} x)"
    else:
        assert within is not None
        ratio, met = ours.median / peer.median, ours.median / peer.median <= within
        claim = f"{ratio:8.2f} x the time (target <= {within:g} x)"
    print(
        f"{'met ' if met else 'MISS'}  {what}: {claim}   "
        f"ours {ours.median * 1e3:.2f} ms, {peer.name} {peer.median * 1e3:.2f} ms",
        flush=True,
    )
    return met


def synthetic_ranking(
    n_queries: int = 2000, docs: int = 120, n_features: int = 136, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """MSLR-like rows: float32 features, grades 0..4 (most of them 0), integer qid."""
    rng = np.random.default_rng(seed)
    n = n_queries * docs
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    utility = X[:, :10] @ rng.standard_normal(10).astype(np.float32) + 2 * rng.standard_normal(n)
    y = np.digitize(utility, np.quantile(utility, [0.5, 0.8, 0.92, 0.98])).astype(np.float64)
    qid = np.repeat(np.arange(1, n_queries + 1), docs)
    return X, y, qid
