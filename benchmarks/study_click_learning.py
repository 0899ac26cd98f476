"""What rankers learn from the clicks of simulated users, beside libraries and labels.

    python -m benchmarks.study_click_learning choose > build/study_click_learning.txt
    python -m benchmarks.study_click_learning compare >> build/study_click_learning.txt

``choose`` compares settings of ClickRanker on the bundled set; ``compare`` holds the chosen ones
against LightGBM's position model, XGBoost's unbiased LambdaMART and labels on all three sets, of
which MQ2008 and MSLR were not chosen on. ``--quick``: one seed, two sizes. Numbers of clicks after
``compare`` compute only these.

A seed draws 70 % of at most 251 queries for training, and users who see lists of a ridge regression
on 1 % of them (at least 2), with varied order. Rankers are LambdaMART of 30 trees of at most
seven leaves; the libraries have 30 trees and a learning rate of 0.1, else their defaults. Values
are nDCG@10 by the labels of the other queries.

- naive: raw click rates without weights; coec, harvest, pbm, ips: ClickRanker's methods; known: ips
  by the examination that the users have (in "trust" beside their trust; "dbn" has none);
- cells: ClickRanker(LambdaMART(objective="logistic"), method="position");
- position: LambdaMART(position=) on single impressions; LightGBM (positions) and XGBoost (unbiased)
  on the same ones: the first 5,000 lists of the log, that is, all of them at 1,000 clicks.

Seeds share queries, so errors are corrected: the variance over J seeds counts
``1 / J + n_test / n_train`` times (Nadeau and Bengio 2003). Cells in
``build/study_click_learning.jsonl`` are not computed again.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import lightgbm
import numpy as np
import xgboost
from scipy.stats import t as student

from rankwise import LambdaMART, RankingData, RidgeRanker, evaluate
from rankwise.clicks import ClickLog, ClickRanker, simulate_clicks
from rankwise.clicks.simulation import EXAMINATION
from rankwise.datasets import load_dataset
from rankwise.metrics.statistics.paired import holm

# nDCG@10 by contestant; a cell is a set, a user, a number of clicks and a seed.
Cell: TypeAlias = tuple[str, str, int, int]
Values: TypeAlias = dict[Cell, dict[str, float]]
STORE = Path("build/study_click_learning.jsonl")
# Nobody looks with certainty, so that no truth lies on the edge of its range.
G = 0.9 * np.array(EXAMINATION)
USERS: dict[str, dict[str, Any]] = {
    "pbm": {"model": "pbm", "examination": G},
    "trust": {"model": "trust", "examination": G},
    "dbn": {"model": "dbn"},
}
SETS = {"bundled": "lambdarank", "mq2008": "mq2008", "mslr": "mslr-slices"}
SIZES, SEEDS = (1_000, 10_000, 100_000, 1_000_000), 5
MOST_QUERIES, TRAIN_SHARE, N_TREES, PEER_LISTS = 251, 0.7, 30, 5_000
TREES: dict[str, Any] = {"n_estimators": N_TREES, "max_leaf_nodes": 7, "n_jobs": 1}
OURS = "coec"
SETTINGS: dict[str, dict[str, Any]] = {
    "weights, raw": {"shrinkage": 0.0},
    "weights, shrunk": {"shrinkage": "fit"},
    "no weights, raw": {"shrinkage": 0.0, "weights": None},
    "no weights, shrunk": {"shrinkage": "fit", "weights": None},
    "impressions, raw": {"shrinkage": 0.0, "weights": "impressions"},
}


@cache
def load_rows(name: str) -> RankingData:
    """Queries of a set, at most 251 of them; columns are standardised for the ridge regression."""
    data = load_dataset(SETS[name], part="all")
    order = np.random.default_rng(0).permutation(data.n_queries)
    data = data.queries(np.sort(order[:MOST_QUERIES]))
    X = np.asarray(data.X, dtype=np.float64)
    X = X[:, np.ptp(X, axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return RankingData(X.astype(np.float32), data.y, qid=data.qid)


def split(name: str, seed: int) -> tuple[RankingData, RankingData, Any]:
    """Training queries, with ids of documents; test queries; the ranker that makes the lists."""
    data = load_rows(name)
    order = np.random.default_rng(seed).permutation(data.n_queries)
    n_train = round(TRAIN_SHARE * data.n_queries)
    train, test = data.queries(np.sort(order[:n_train])), data.queries(np.sort(order[n_train:]))
    train = RankingData(train.X, train.y, qid=train.qid, doc_ids=np.arange(len(train)).astype(str))
    start = train.queries(np.arange(max(2, train.n_queries // 100)))
    return train, test, RidgeRanker().fit(start.X, start.y, qid=start.qid)


def record(train: RankingData, logger: Any, user: str, n_clicks: int, seed: int) -> ClickLog:
    """Lists until the log has so many clicks."""

    def simulate(n_lists: int) -> ClickLog:
        return simulate_clicks(train, logger, USERS[user], n_sessions=n_lists, temperature=0.5,
                               random_state=seed)  # fmt: skip

    log = simulate(int(1.05 * n_clicks * 2_000 / simulate(2_000).click.sum()) + 200)
    last = int(np.searchsorted(np.cumsum(log.click), n_clicks))
    return first_lists(log, int(log.lists.code[min(last, len(log) - 1)]) + 1)


def first_lists(log: ClickLog, n: int) -> ClickLog:
    """The first n lists of a log, or all."""
    return log.take(np.arange(log.lists.indptr[min(n, log.n_lists)]))


def judge(test: RankingData, scores: Any) -> float:
    """nDCG@10 on the test queries."""
    return evaluate(test.y, scores, test.qid, "nDCG@10")["nDCG@10"]


def learn(train: RankingData, test: RankingData, log: ClickLog, **options: Any) -> float:
    """nDCG@10 of ClickRanker; NaN where the log cannot support the method."""
    objective = options.pop("objective", "lambdarank")
    ranker = LambdaMART(objective=objective, **TREES)
    try:
        model = ClickRanker(ranker, **options).fit(train, log)
    except ValueError:
        return float("nan")
    return judge(test, model.predict(test.X))


def contend(train: RankingData, test: RankingData, log: ClickLog, user: str) -> dict[str, float]:
    """nDCG@10 of every contestant that learns from the whole log."""
    g = np.append(G, np.full(max(0, log.n_places - len(G)), G[-1]))
    found = {"naive": learn(train, test, log, method="ctr", weights=None)}
    for method in ("coec", "harvest", "pbm", "ips"):
        found[method] = learn(train, test, log, method=method)
    found["known"] = float("nan")
    if user != "dbn":
        found["known"] = learn(train, test, log, method="ips", propensities=g)
    found["cells"] = learn(train, test, log, method="position", objective="logistic")
    return found


def contend_by_lists(train: RankingData, test: RankingData, log: ClickLog) -> dict[str, float]:
    """nDCG@10 of those that learn from single impressions."""
    X = train.X[log.document.names.astype(int)[log.document.codes]]
    click, qid = log.click.astype(np.float64), log.lists.code
    ours = LambdaMART(**TREES).fit(X, click, qid=qid, position=log.place)
    params = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1}
    rows = lightgbm.Dataset(X, click, group=np.diff(log.lists.indptr), position=log.place - 1)
    light = lightgbm.train(params, rows, N_TREES)
    # Rows of a list are in the order of their places, as XGBoost wants them.
    table = xgboost.QuantileDMatrix(X, click, qid=qid, nthread=1)
    params = {"objective": "rank:ndcg", "lambdarank_unbiased": True, "eta": 0.1, "nthread": 1}
    extreme = xgboost.train(params, table, N_TREES)
    return {
        "position": judge(test, ours.predict(test.X)),
        "LightGBM": judge(test, light.predict(test.X, num_threads=1)),
        "XGBoost": judge(test, extreme.predict(xgboost.DMatrix(test.X, nthread=1))),
    }


@cache
def references(name: str, seed: int) -> dict[str, float]:
    """nDCG@10 of the ranker that made the lists, and of LambdaMART on the labels."""
    train, test, logger = split(name, seed)
    model = LambdaMART(**TREES).fit(train.X, train.y, qid=train.qid)
    found = {"logger": judge(test, logger.predict(test.X))}
    return found | {"labels": judge(test, model.predict(test.X))}


def compare_cell(cell: Cell) -> dict[str, float]:
    """All contestants on one log."""
    name, user, n_clicks, seed = cell
    train, test, logger = split(name, seed)
    log = record(train, logger, user, n_clicks, seed)
    found = contend(train, test, log, user)
    found |= contend_by_lists(train, test, first_lists(log, PEER_LISTS))
    return references(name, seed) | found


def choose_cell(cell: Cell) -> dict[str, float]:
    """All settings of ClickRanker on one log."""
    name, user, n_clicks, seed = cell
    train, test, logger = split(name, seed)
    log = record(train, logger, user, n_clicks, seed)
    found = {
        f"{method}: {key}": learn(train, test, log, method=method, **setting)
        for method in ("ctr", "coec", "harvest", "ips")
        for key, setting in SETTINGS.items()
    }
    for key, weights in (("weights", "trust"), ("no weights", None)):
        found[f"pbm: {key}"] = learn(train, test, log, method="pbm", weights=weights)
    for objective in ("lambdarank", "logistic", "squared"):
        found[f"position: {objective}"] = learn(
            train, test, log, method="position", objective=objective
        )
    return found


def read_store(part: str) -> Values:
    """Values of the cells that were computed before."""
    if not STORE.exists():
        return {}
    lines = [json.loads(line) for line in STORE.read_text().splitlines()]
    return {tuple(line["cell"]): line["values"] for line in lines if line["part"] == part}


def measure_cells(part: str, cells: Sequence[Cell], measure: Callable[[Cell], Any]) -> Values:
    """Values of the cells; those in the store are kept."""
    known = read_store(part)
    STORE.parent.mkdir(exist_ok=True)
    for cell in cells:
        if cell not in known:
            known[cell] = measure(cell)
            with STORE.open("a") as file:
                line = {"part": part, "cell": cell, "values": known[cell]}
                file.write(json.dumps(line) + "\n")
    return {cell: known[cell] for cell in cells}


def over_seeds(values: Values, name: str, user: str, n_clicks: int, key: str) -> np.ndarray:
    """Values of a contestant by seed."""
    seeds = sorted({cell[3] for cell in values})
    return np.array([values[name, user, n_clicks, seed][key] for seed in seeds])


def summarise_lead(lead: np.ndarray) -> tuple[float, float, float]:
    """Mean, corrected standard error and two-sided p-value of differences by seed."""
    if len(lead) < 2 or np.isnan(lead).any():
        return float(lead.mean()), float("nan"), float("nan")
    scale = 1 / len(lead) + (1 - TRAIN_SHARE) / TRAIN_SHARE
    error = float(np.sqrt(lead.var(ddof=1) * scale))
    p = float(2 * student.sf(abs(lead.mean()) / error, len(lead) - 1)) if error else 1.0
    return float(lead.mean()), error, p


def show(value: float, width: int, digits: int) -> str:
    """A number of a table; a dash where there is none."""
    return f"{value:{width}.{digits}f}" if np.isfinite(value) else "-".rjust(width)


def rows_of(values: Values, name: str) -> Iterator[tuple[str, int]]:
    """Users and numbers of clicks of a set."""
    yield from dict.fromkeys((user, n) for set_name, user, n, _ in values if set_name == name)


def print_values(values: Values) -> None:
    """Print the mean over seeds of every contestant, by set, user and size."""
    keys = list(next(iter(values.values())))
    for name in dict.fromkeys(cell[0] for cell in values):
        print(f"\n{name:7}{'clicks':>8}" + "".join(f"{key:>9}" for key in keys))
        for user, n in rows_of(values, name):
            means = (over_seeds(values, name, user, n, key).mean() for key in keys)
            print(f"{user:7}{n:8d}" + "".join(show(mean, 9, 3) for mean in means))


def print_leads(values: Values) -> None:
    """Print by set what ``OURS`` is ahead of each, over all cells of a seed."""
    keys = [key for key in next(iter(values.values())) if key != OURS]
    print(f"\n{OURS} less each, mean over users and sizes, in thousandths; its corrected error;")
    print("Holm's p over the contestants of a set")
    for name in dict.fromkeys(cell[0] for cell in values):
        tests = []
        for key in keys:
            leads = [
                over_seeds(values, name, user, n, OURS) - over_seeds(values, name, user, n, key)
                for user, n in rows_of(values, name)
            ]
            tests.append(summarise_lead(np.nanmean(leads, axis=0)))
        corrected = holm([p for _, _, p in tests])
        print(f"\n{name:8}" + "".join(f"{key:>9}" for key in keys))
        for label, column in (
            ("lead", [1000 * lead for lead, _, _ in tests]),
            ("error", [1000 * error for _, error, _ in tests]),
        ):
            print(f"{label:8}" + "".join(show(value, 9, 1) for value in column))
        print(f"{'p':8}" + "".join(show(p, 9, 3) for p in corrected))


def print_best(values: Values) -> None:
    """Print by cell the best contestant that learns from clicks, and what it is ahead."""
    keys = [key for key in next(iter(values.values())) if key not in ("labels", "logger")]
    lines, p_values = [], []
    for name in dict.fromkeys(cell[0] for cell in values):
        for user, n in rows_of(values, name):
            by_key = {key: over_seeds(values, name, user, n, key) for key in keys}
            best = max(keys, key=lambda key: np.nan_to_num(by_key[key].mean(), nan=-1.0))
            lead, error, p = summarise_lead(by_key[best] - by_key[OURS])
            wins = sum(by_key["naive"].mean() > by_key[key].mean() for key in keys)
            lines.append(f"{name:8}{user:7}{n:8d}  {best:9}{show(1000 * lead, 8, 1)}"
                         f"{show(1000 * error, 8, 1)}{wins:8d}")  # fmt: skip
            p_values.append(p if best != OURS else float("nan"))
    print(
        f"\nBest of a row that learns from clicks, its lead of {OURS} in thousandths and corrected"
    )
    print("error; beaten: contestants that naive is ahead of, of 9, or 8 if not known; Holm's p")
    heads = "".join(f"{head:>8}" for head in ("lead", "error", "beaten", "p"))
    print(f"\n{'set':8}{'user':7}{'clicks':>8}  {'best':9}{heads}")
    for line, p in zip(lines, holm(p_values), strict=True):
        print(f"{line}{show(p, 8, 3)}")


def print_settings(values: Values) -> None:
    """Print the settings of ClickRanker: means over all cells, and by size."""
    sizes = sorted({cell[2] for cell in values})
    print(f"{'setting':28}{'all':>8}" + "".join(f"{n:>9}" for n in sizes))
    for key in next(iter(values.values())):
        by_size = [np.nanmean([v[key] for cell, v in values.items() if cell[2] == n])
                   for n in sizes]  # fmt: skip
        print(f"{key:28}{np.mean(by_size):8.4f}" + "".join(f"{mean:9.4f}" for mean in by_size))


def main(part: str, *options: str) -> None:
    """Print the choice of settings, or the comparison."""
    warnings.simplefilter("ignore", UserWarning)  # rows that no list shows
    quick = "--quick" in options
    seeds = 1 if quick else SEEDS
    sizes = [int(option) for option in options if option.isdigit()]
    sizes = sizes or list(SIZES[:2] if quick else SIZES)
    choosing = part == "choose"
    sizes, seeds = (sizes[:3], min(seeds, 3)) if choosing else (sizes, seeds)
    cells = [
        (name, user, n, seed)
        for seed in range(seeds)
        for name in (["bundled"] if choosing else SETS)
        for n in sizes
        for user in USERS
    ]
    if "--stored" in options:
        known = read_store(part)
        lacking = {cell[3] for cell in cells if cell not in known}
        cells = [cell for cell in cells if cell[3] not in lacking]
    seeds = len({cell[3] for cell in cells})
    which = f"seeds 0 to {seeds - 1}" if seeds > 1 else "one seed"
    if choosing:
        print(f"study_click_learning: settings on the bundled set, three users, {which}\n")
        print_settings(measure_cells(part, cells, choose_cell))
        return
    print(f"\nstudy_click_learning: nDCG@10, {which}")
    values = measure_cells(part, cells, compare_cell)
    print_values(values)
    print_leads(values)
    print_best(values)


if __name__ == "__main__":
    main(*sys.argv[1:])
