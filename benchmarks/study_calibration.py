"""Which map turns scores into probabilities of relevance, and how true they are.

    python -m benchmarks.study_calibration > docs/study_calibration.txt

Words ``choice``, ``tables`` and ``coverage`` print parts of it.

The sets are those of ``study_generalisation``, at most 12,000 rows each. A split trains on 70 % of
the queries, drawn at random, and evaluates on the others. LambdaMART has 100 trees; ridge and
RankSVM follow the medians and deviations of the training part. Documents from grade 1 are relevant,
and films from 4 stars. Scores of queries left out by five folds fit the maps; "in-sample" uses the
scores of training rows instead. The defaults were chosen on the sets CHOOSING, splits 500 and 501.
The tables of log losses and errors are for the sets REPORTED, splits 600 to 602, on which nothing
was chosen.

The last table is a simulation of the intervals: queries of 5 to 39 rows, with an effect of the
query on all its rows, and probabilities that are true, too extreme or too high. The true values are
those of 40,000 queries.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from benchmarks.study_generalisation import MOST_ROWS, load_rows
from rankwise.groups import QueryGroups
from rankwise.metrics import RelevanceCalibration, relevance_calibration
from rankwise.rankers.calibration import METHODS, fit_list_calibration
from rankwise.selection import QueryKFold

CHOOSING = (
    "cranfield", "vaswani", "nfcorpus", "home-depot", "mslr", "expedia", "covid-runs",
    "robust-runs",
)  # fmt: skip
REPORTED = ("mq2008", "ohsumed", "lambdarank", "scifact", "movielens")
CHOOSING_SPLITS, SPLITS = (500, 501), (600, 601, 602)
MAPS = [(method, features) for features in ("score", "list") for method in METHODS]
REL = {"movielens": 4.0}  # ratings from 1 to 5
BASE, SIGMOID, IN_SAMPLE = "share", "sigmoid", "in-sample"


def rankers() -> dict[str, Any]:
    """Rankers of different scales."""
    scaled = [SimpleImputer(strategy="median"), StandardScaler()]
    return {
        "lambdamart": rw.LambdaMART(100, n_jobs=1),
        "ridge": make_pipeline(*scaled, rw.RidgeRanker()),
        "rank_svm": make_pipeline(*scaled, rw.RankSVM(C=0.01)),
    }


def fit(ranker: Any, X: Any, y: Any, qid: Any) -> Any:
    """Fitted clone."""
    model = clone(ranker)
    name = f"{model.steps[-1][0]}__qid" if hasattr(model, "steps") else "qid"
    return model.fit(X, y, **{name: qid})


def measure(name: str, split: int, key: str) -> dict[str, RelevanceCalibration]:
    """Calibration on the test queries, by map."""
    rows = load_rows(name, MOST_ROWS)
    X = np.asarray(rows.X.todense()) if hasattr(rows.X, "todense") else np.asarray(rows.X)
    y, qid = rows.y, np.unique(np.asarray(rows.qid).astype(str), return_inverse=True)[1]
    order = np.random.default_rng(split).permutation(qid.max() + 1)
    train = np.isin(qid, order[: round(0.7 * len(order))])
    X_train, y_train, q_train = X[train], y[train], qid[train]
    ranker = rankers()[key]
    model = fit(ranker, X_train, y_train, q_train)
    scores, own = model.predict(X[~train]), model.predict(X_train)
    held = np.empty(len(own))
    folds = QueryKFold(5, shuffle=True, random_state=0)
    for a, b in folds.split(X_train, qid=q_train):
        held[b] = fit(ranker, X_train[a], y_train[a], q_train[a]).predict(X_train[b])
    least = REL.get(name, 1.0)
    relevant = y_train >= least
    lists, tests = (QueryGroups.from_qid(qid[part], part.sum()) for part in (train, ~train))
    found = {BASE: np.full(len(scores), relevant.mean()), SIGMOID: expit(scores)}
    for method, features in MAPS:
        known = fit_list_calibration(method, held, relevant, lists, None, features)
        found[f"{method} {features}"] = known.probabilities(scores, tests)
    known = fit_list_calibration("beta", own, relevant, lists)
    found[IN_SAMPLE] = known.probabilities(scores, tests)
    return {
        what: relevance_calibration(y[~train], p.clip(1e-9, 1 - 1e-9), qid[~train], rel=least)
        for what, p in found.items()
    }


def print_choice() -> None:
    """Log loss minus that of the share of relevant rows, mean over sets, splits and rankers."""
    found = [
        measure(name, split, key)
        for name in CHOOSING
        for split in CHOOSING_SPLITS
        for key in rankers()
    ]
    print(f"Choice of the defaults: {len(CHOOSING)} other sets, 2 splits, 3 rankers")
    print("log loss minus that of the share of relevant rows, in thousandths, mean\n")
    for what in [f"{method} {features}" for method, features in MAPS] + [IN_SAMPLE, SIGMOID]:
        gains = [one[what].log_loss - one[BASE].log_loss for one in found]
        print(f"{what:16}{1000 * np.mean(gains):8.1f}")


def print_tables() -> None:
    """Log loss and calibration error of the reported sets."""
    keys = [*rankers()][:2]
    cells = {
        (name, key): [measure(name, split, key) for split in SPLITS]
        for name in REPORTED
        for key in keys
    }
    names = [BASE, SIGMOID, *(f"{method} {features}" for method, features in MAPS), IN_SAMPLE]
    heads = "".join(f"{name.split()[0][:9]:>10}" for name in names)
    below = "".join(f"{name.partition(' ')[2]:>10}" for name in names)
    for title, value in (("Log loss", "log_loss"), ("Calibration error", "error")):
        print(f"\n{title}, mean of {len(SPLITS)} splits\n\n{'':22}{heads}\n{'':22}{below}")
        for (name, key), found in cells.items():
            means = [np.mean([getattr(one[what], value) for one in found]) for what in names]
            print(f"{name:11}{key:11}" + "".join(f"{mean:10.4f}" for mean in means))
    print("\nCalibration error with 95 % interval, split 600\n")
    print(f"{'':22}{'queries':>8}{'share':>8}{'sigmoid':>28}{'beta list':>28}")
    for (name, key), (first, *_) in cells.items():
        shown = ""
        for what in (SIGMOID, "beta list"):
            low, high = first[what].error_interval
            shown += f"{f'{first[what].error:.4f} [{low:.4f}, {high:.4f}]':>28}"
        one = first[SIGMOID]
        print(f"{name:11}{key:11}{one.n_queries:8}{one.base_rate:8.3f}{shown}")


def simulate(
    rng: np.random.Generator, n_queries: int, share: float, error: str
) -> tuple[Any, Any, Any]:
    """Labels, stated probabilities and queries."""
    sizes = rng.integers(5, 40, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    f = 1.5 * rng.standard_normal(len(qid)) + logit(share) - 0.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    true = expit(f[:, None] + nodes) @ (weights / weights.sum())
    y = rng.random(len(qid)) < expit(f + rng.standard_normal(n_queries)[qid])
    stated = {
        "true": true,
        "extreme": expit(1.5 * logit(true) + 0.5),
        "high": expit(logit(true) + 0.7),
    }
    return y, stated[error], qid


def print_coverage(n_draws: int = 100) -> None:
    """Share of the draws whose interval contains the true value."""
    sizes = (8, 20, 60, 200)
    print(f"\nShare of {n_draws} draws whose 95 % interval contains the true error, by queries")
    print(
        "(e: calibration error, l: log loss), and mean binned and corrected error at 60 queries\n"
    )
    heads = "".join(f"{f'{kind}{n}':>7}" for n in sizes for kind in "el")
    print(f"{'share':>6}{'stated':>9}{'true':>8}{heads}{'binned':>9}{'corrected':>11}")
    for share, error in product((0.02, 0.1, 0.4), ("true", "extreme", "high")):
        y, p, qid = simulate(np.random.default_rng(1), 40_000, share, error)
        large = relevance_calibration(y, p, qid)
        true = 0.0 if error == "true" else large.binned_error
        shown, means = "", (0.0, 0.0)
        for n in sizes:
            held = []
            for draw in range(n_draws):
                found = relevance_calibration(
                    *simulate(np.random.default_rng(100 + draw), n, share, error)
                )
                (a, b), (c, d) = found.error_interval, found.log_loss_interval
                held.append(
                    (a <= true <= b, c <= large.log_loss <= d, found.binned_error, found.error)
                )
            of_error, of_loss, *both = np.mean(held, axis=0)
            shown += f"{of_error:7.3f}{of_loss:7.3f}"
            means = both if n == 60 else means
        print(f"{share:6}{error:>9}{true:8.4f}{shown}{means[0]:9.4f}{means[1]:11.4f}")


if __name__ == "__main__":
    PARTS = {"choice": print_choice, "tables": print_tables, "coverage": print_coverage}
    print("study_calibration: probabilities of relevance of held-out queries\n")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
