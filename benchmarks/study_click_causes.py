"""Why raw click rates do as well as corrected ones on one set, and not on another.

    python -m benchmarks.study_click_causes [seeds]

Splits, users and logs of ``benchmarks.study_click_learning``. Means over seeds, of the documents of
the training queries that the log shows:

- clicks: clicks per pair of query and document; clicked, moved: share of pairs with a click, and of
  those shown at several places; good: share of documents with a grade above 0;
- Kendall's tau with the grades, mean over queries: of the mean place of documents ("logger") and of
  judgements without shrinkage;
- nDCG@10 on the test queries of what learns from raw rates and from "coec", without and with
  weights.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.stats import kendalltau

from benchmarks.study_click_learning import SETS, learn, record, split
from rankwise import RankingData
from rankwise.clicks import ClickLog, judgements

JUDGED = ("ctr", "coec", "harvest")
COLUMNS = ("clicks", "clicked", "moved", "good", "logger", *JUDGED,
           "ctr", "weighted", "coec", "weighted")  # fmt: skip


def agree(qid: np.ndarray, y: np.ndarray, values: np.ndarray) -> float:
    """Mean tau over the queries that have different grades and values."""
    taus = [kendalltau(y[qid == query], values[qid == query])[0] for query in np.unique(qid)]
    return float(np.nanmean(taus))


def describe(train: RankingData, log: ClickLog) -> list[float]:
    """What a log holds, and the agreement of its judgements with the grades."""
    pair = log.pairs.code
    n, clicks = np.bincount(pair), np.bincount(pair, log.click)
    row = log.document.names[log.pairs.document].astype(int)
    qid, y = train.qid[row], train.y[row]
    found = [clicks.mean(), (clicks > 0).mean(), log.summary().moved_pairs / len(n),
             (train.y > 0).mean(), agree(qid, y, -np.bincount(pair, log.place) / n)]  # fmt: skip
    for method in JUDGED:
        judged = judgements(log, method, shrinkage=0.0)  # type: ignore[arg-type]
        found.append(agree(qid, y, judged.grade))
    return found


def main(seeds: int = 5) -> None:
    """Print a line per set, user and number of clicks."""
    warnings.simplefilter("ignore")  # rows that no list shows; queries of equal grades have no tau
    print(f"{seeds} seeds" + " " * 52 + "tau" + " " * 27 + "nDCG@10")
    print("set     user   clicks" + "".join(f"{name:>9s}" for name in COLUMNS))
    for name in SETS:
        for user in ("pbm", "dbn"):
            for n_clicks in (1_000, 10_000):
                rows = []
                for seed in range(seeds):
                    train, test, logger = split(name, seed)
                    log = record(train, logger, user, n_clicks, seed)
                    learnt = [
                        learn(train, test, log, method=method, weights=weights)
                        for method in ("ctr", "coec")
                        for weights in (None, "trust")
                    ]
                    rows.append(describe(train, log) + learnt)
                means = "".join(f"{value:9.3f}" for value in np.mean(rows, axis=0))
                print(f"{name:8s}{user:6s}{n_clicks:7d}{means}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
