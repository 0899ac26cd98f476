"""Share of 95 % intervals from clicks that hold the truth, where it is known.

    python -m benchmarks.study_click_intervals [simulations]

- Judgements and examination: pairs stay within one place of their own, rates are beta(2, 5) and
  users position-based. "ips" and "harvest" know the examination; "few": pairs with less than 5
  clicks.
- One heavy user with the given share of the lists, users with tastes of their own: one look and any
  time of interleaving_test (systems alike), and click rates of a summary.
"""

from __future__ import annotations

import sys

import numpy as np

from rankwise.clicks import ClickLog, interleaving_test, judgements, propensities
from rankwise.clicks.simulation import EXAMINATION

G = np.array(EXAMINATION)


def record(rng: np.random.Generator, n_pairs: int, n: int) -> tuple[ClickLog, np.ndarray]:
    """Clicks on n impressions of each pair, and the rates of the pairs at the top place."""
    rate = rng.beta(2, 5, size=n_pairs)
    pair = np.repeat(np.arange(n_pairs), n)
    place = np.clip(rng.integers(10, size=n_pairs)[pair] + rng.integers(3, size=len(pair)), 1, 10)
    click = rng.random(len(pair)) < rate[pair] * G[place - 1]
    return ClickLog.from_columns(pair % 30, pair, place, click), rate


def study_pairs(n_simulations: int = 500, n_pairs: int = 300) -> None:
    """Print coverage by the impressions of a pair."""
    print(f"{n_pairs} pairs, {n_simulations} simulations a line")
    print("impressions  ips   (few)     harvest (few)   pbm    examination by em")
    for n in (10, 33, 100, 333):
        found: dict[str, list[float]] = {}
        for seed in range(n_simulations):
            log, rate = record(np.random.default_rng(seed), n_pairs, n)
            for name, options in (
                ("ips", {"method": "ips", "propensities": G}),
                ("harvest", {"method": "harvest", "propensities": G}),
                ("pbm", {"method": "pbm"}),
            ):
                judged = judgements(log, **options)  # type: ignore[arg-type]
                truth = rate[judged.doc_ids.astype(int)]
                inside = (judged.low <= truth) & (truth <= judged.high)
                found.setdefault(name, []).append(inside.mean())
                if (few := judged.clicks < 5).any():
                    found.setdefault(f"{name} few", []).append(inside[few].mean())
            g = propensities(log, "em")
            found.setdefault("em", []).append(((g.low <= G) & (g.high >= G))[1:].mean())
        m = {name: float(np.mean(values)) for name, values in found.items()}
        few, rare = m.get("ips few", np.nan), m.get("harvest few", np.nan)
        print(f"{n:11d}  {m['ips']:.3f} ({few:.3f})   {m['harvest']:.3f} ({rare:.3f})   "
              f"{m['pbm']:.3f}  {m['em']:.3f}", flush=True)  # fmt: skip


def study_heavy_user(n_simulations: int = 1000, n: int = 400, n_users: int = 60) -> None:
    """Print coverage by the share of the heaviest user."""
    print(f"{n} lists of {n_users} users, {n_simulations} simulations a line")
    print("share   one look   any time   click rate")
    for share in (0.02, 0.3, 0.6, 0.9):
        inside = np.zeros(3)
        for seed in range(n_simulations):
            rng = np.random.default_rng(seed)
            user = np.where(rng.random(n) < share, 0, rng.integers(1, n_users, size=n))
            first = rng.random(n) < rng.beta(5, 5, size=n_users)[user]
            log = ClickLog.from_columns(
                np.zeros(2 * n, int), np.tile([0, 1], n), np.tile([1, 2], n),
                np.c_[first, ~first].ravel(), session=np.repeat(np.arange(n), 2),
                user=np.repeat(user, 2), arm=["a", "b"] * n,
            )  # fmt: skip
            test, summary = interleaving_test(log, n_resamples=1), log.summary()
            inside += (
                test.low <= 0 <= test.high,
                test.sequential_low <= 0 <= test.sequential_high,
                summary.low[0] <= 0.5 <= summary.high[0],
            )
        print("{:5.2f}   {:8.3f}   {:8.3f}   {:10.3f}".format(share, *inside / n_simulations),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    study_pairs(*map(int, sys.argv[1:]))
    print()
    study_heavy_user()
