"""Share of 95 % intervals from clicks that hold the truth: three users, three sizes.

    python -m benchmarks.study_click_coverage [simulations [lists ...]]

40 queries of 20 documents; a good ranker draws every list anew. Each column is a mean over
simulations and over the places or pairs that a log shows. "place", "pair": click rates by place
(summary) and by pair (judgements "ctr"), whose truth is the rate in 300,000 lists; "g": relative
examination by harvesting and by EM; "grade": judgements "harvest" and "ips", rates at the top
place, both with harvested examination; "a": judgements by the model of that user, its
attractiveness. A dash: that user has no such truth. Documents of attractiveness 1, the best ones
of "dbn", are left out: no interval within (0, 1) holds a truth at its edge.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from benchmarks.study_clicks import USERS, queries, record
from rankwise.clicks import ClickLog, judgements, propensities
from rankwise.clicks.simulation import EXAMINATION, attractiveness_of

COLUMNS = ("place", "pair", "g harvest", "g em", "grade harvest", "grade ips", "a pbm", "a dbn")
SIZES = (1_000, 5_000, 20_000)
DATA = queries(0, n_queries=40)
APPEAL = attractiveness_of(DATA.y)


def rows_of(log: ClickLog) -> np.ndarray:
    """Row of the data of each pair."""
    return log.document.names[log.pairs.document].astype(int)


def hold(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> float:
    """Share of intervals that hold the truth, where there is one."""
    known = np.isfinite(truth) & (truth < 1.0)
    return float(((low <= truth) & (truth <= high))[known].mean())


def true_rates(user: str) -> tuple[np.ndarray, np.ndarray]:
    """Click rates by place, and by row of the data, in 300,000 lists."""
    log = record(DATA, user, 300_000, True, 10**6)
    pair = np.full(len(DATA), np.nan)
    n = np.bincount(log.pairs.code)
    pair[rows_of(log)] = np.bincount(log.pairs.code, log.click) / n
    pair[rows_of(log)[n < 2000]] = np.nan  # too few to be a truth
    return np.bincount(log.place, log.click)[1:] / np.bincount(log.place)[1:], pair


def cover(user: str, log: ClickLog, truth: tuple[np.ndarray, np.ndarray]) -> list[float]:
    """Coverage of every column in one log."""
    summary, rates, row = log.summary(), judgements(log), rows_of(log)
    found = [hold(summary.low, summary.high, truth[0]), hold(rates.low, rates.high, truth[1][row])]
    if user == "pbm":
        for method in ("harvest", "em"):
            g = propensities(log, method)  # type: ignore[arg-type]
            found.append(hold(g.low[1:], g.high[1:], np.array(EXAMINATION)[1:]))
        for method in ("harvest", "ips"):
            judged = judgements(log, method)  # type: ignore[arg-type]
            found.append(hold(judged.low, judged.high, 0.9 * APPEAL[row]))
    else:
        found += [np.nan] * 4
    for name, top in (("pbm", 0.9), ("dbn", 1.0)):
        if name != user:
            found.append(np.nan)
            continue
        judged = judgements(log, name)  # type: ignore[arg-type]
        found.append(hold(judged.low, judged.high, top * APPEAL[row]))
    return found


def main(n_simulations: int = 500, *sizes: int) -> None:
    """Print a line per size and user."""
    warnings.simplefilter("ignore", UserWarning)
    print(f"{n_simulations} simulations a line")
    print("user    lists" + "".join(f"{name:>15s}" for name in COLUMNS))
    truths = {user: true_rates(user) for user in USERS}
    for n in sizes or SIZES:
        for user, truth in truths.items():
            logs = (record(DATA, user, n, True, seed) for seed in range(n_simulations))
            mean = np.mean([cover(user, log, truth) for log in logs], axis=0)
            line = "".join(f"{'-':>15s}" if np.isnan(m) else f"{m:15.3f}" for m in mean)
            print(f"{user:6s} {n:6d}{line}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
