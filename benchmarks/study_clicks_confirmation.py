"""Judgements from clicks on simulations that no default was chosen on.

    python -m benchmarks.study_clicks_confirmation

Columns as in the study "judgements" of ``benchmarks.study_clicks``, on which the defaults were
chosen; users, logging systems, grades and seeds are others. "pbm": examination 1/k; "trust": weaker
trust, examination of the square root of 1/k; "dbn": users who give up sooner and are satisfied more
often. 120 queries of 15 documents, a third of them relevant. "weak": a logging system of much
noise, which swaps documents in one list of five; "drawn": a good one, whose lists vary a lot.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.study_clicks import METHODS, agreement, grades
from rankwise import RankingData
from rankwise.clicks import ClickLog, simulate_clicks

PLACES = np.arange(1, 11)
USERS = {
    "pbm": {"model": "pbm", "examination": 0.95 / PLACES},
    "trust": {"model": "trust", "examination": 0.9 / np.sqrt(PLACES), "false_click": 0.2},
    "dbn": {"model": "dbn", "continuation": 0.8, "satisfaction": 0.9},
}
# Noise of the scores, and the temperature of the lists with its share.
LOGGERS = {"weak": (3.0, 0.6, 0.2), "drawn": (0.8, 1.0, 1.0)}


def record(name: str, user: str, n: int, seed: int) -> tuple[RankingData, ClickLog]:
    """Queries of their own for every seed, and a log of n lists."""
    rng = np.random.default_rng([seed, 29])
    y = rng.choice(4, size=120 * 15, p=[0.65, 0.15, 0.12, 0.08]).astype(float)
    noise, temperature, share = LOGGERS[name]
    X = (y + noise * rng.normal(size=len(y)))[:, None]
    data = RankingData(
        X, y, qid=np.repeat(np.arange(120), 15), doc_ids=np.arange(len(y)).astype(str)
    )
    parts = [
        simulate_clicks(data, X[:, 0], USERS[user], n_sessions=size, temperature=heat,
                        noise=0.05, random_state=[seed, 29, number])
        for number, (size, heat) in enumerate(((int(n * share), temperature),
                                               (n - int(n * share), 0.0))) if size
    ]  # fmt: skip
    columns = [
        np.concatenate([getattr(log, what).names[getattr(log, what).codes] for log in parts])
        for what in ("query", "document")
    ]
    session = np.concatenate([2 * log.lists.code.astype(int) + i for i, log in enumerate(parts)])
    place, click = (np.concatenate([getattr(log, what) for log in parts])
                    for what in ("place", "click"))  # fmt: skip
    return data, ClickLog.from_columns(*columns, place, click, session=session, first_place=1)


def main(seeds: int = 4) -> None:
    """Print tau and nDCG@10 of every method."""
    warnings.simplefilter("ignore", UserWarning)
    names = ("ctr", "ctr fit", "rule", *METHODS)
    print("user   log     lists " + "".join(f"{name:>14s}" for name in names))
    for user in USERS:
        for logger in LOGGERS:
            for n in (3_000, 15_000, 60_000):
                cells: dict[str, list[tuple[float, float]]] = {}
                for seed in range(1000, 1000 + seeds):
                    data, log = record(logger, user, n, seed)
                    row = log.document.names[log.pairs.document].astype(int)
                    for name, grade in grades(log):
                        cells.setdefault(name, []).append(agreement(data, row, grade))
                line = "".join(
                    "   {:.3f} {:.3f}".format(*np.mean(v, axis=0)) for v in cells.values()
                )
                print(f"{user:6s} {logger:6s} {n:6d} {line}", flush=True)


if __name__ == "__main__":
    main()
