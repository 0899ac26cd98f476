"""Columns of categories: LambdaMART's encodings, LightGBM and CatBoost.

    python -m benchmarks.study_categories choose > build/study_categories_choose.txt
    python -m benchmarks.study_categories show > docs/study_categories.txt

Simulation: 1,200 queries of 20 rows, 800 for training; six columns N(0, 1) and four columns of
categories; the utility is ``n0 n1 + n2 + sum_j e_j[c_j] + N(0, 1)`` with effects N(0, 1), times 0
in the parts "random ids"; grades cut it at its quantiles .5, .8, .92 and .98. Categories are
uniform, or drawn by Zipf's law. Parts are named by the number of categories.

Tables: Expedia's ids, MovieLens-100k's movies and users, Home Depot's brands (first word of the
title) and products, Book-Crossing's books and publishers (start of the ISBN), movies of
MovieLens-1m and jokes of Jester. Every split trains on 70 % of the queries.

``choose`` and ``show`` have different seeds, and different splits of the same tables.
All have 100 trees, learning rate .1 and one thread; LightGBM and CatBoost (YetiRank) are fitted by
their own libraries. Values in ``build/study_categories.jsonl`` are not computed again. More
arguments select parts, such as ``200`` or ``expedia``, as in the first column of the output.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import LambdaMART
from rankwise.datasets import fetch, load_book_crossing, load_jester, load_movielens
from rankwise.groups import QueryGroups
from rankwise.metrics import parse

STORE = Path("build/study_categories.jsonl")
TRAIN_SHARE, MOST_ROWS = 0.7, {"ml-1m": 20_000, "jester": 20_000}  # 12,000 of other tables
SIMULATIONS = {
    f"{levels:,}{kind}": (levels, "ids" not in kind, "Zipf" in kind)
    for kind in ("", ", random ids", ", Zipf")
    for levels in (20, 200, 1_000, 10_000)
}
# Seeds of simulations with effects of uniform categories, of the others, and splits of the tables;
# then those of the peers, of which CatBoost takes five seconds a fit.
SEEDS = {
    "choose": ((range(5), range(5), range(5)),) * 2,
    "show": (
        (range(1020, 1040), range(1020, 1040), range(100, 118)),
        (range(1020, 1040), range(1020, 1030), range(100, 110)),
    ),
}
RELEVANT = {"movies": 4, "ml-1m": 4, "books": 8}  # least grade that AP counts as relevant, if not 1
BASE = "LambdaMART"
# Columns of categories, or numbers in their place.
SETTINGS: dict[str, dict[str, Any]] = {
    BASE: {},
    "leaf by leaf": {"growth": "leaf"},
    "numbers": {"categorical_features": None},
}
LEFT_OUT, PEERS = "left out", ("LightGBM", "CatBoost")
Rows = tuple[np.ndarray, list[int], np.ndarray, np.ndarray]  # X, columns of categories, y, qid


def simulate(levels: int, has_effects: bool, is_zipf: bool, seed: int) -> Rows:
    """A draw of the simulation; the first 800 queries are for training."""
    rng = np.random.default_rng(seed)
    n = 24_000
    numbers = rng.normal(size=(n, 6))
    shares = 1 / np.arange(1.0, levels + 1) if is_zipf else np.ones(levels)
    if is_zipf:
        codes = rng.choice(levels, size=(n, 4), p=shares / shares.sum())
    else:
        codes = rng.integers(0, levels, size=(n, 4))
    effects = has_effects * rng.normal(size=(4, levels))
    utility = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    utility += sum(effects[j, codes[:, j]] for j in range(4))
    y = np.searchsorted(np.quantile(utility, [0.5, 0.8, 0.92, 0.98]), utility).astype(float)
    return np.column_stack([numbers, codes]), [6, 7, 8, 9], y, np.repeat(np.arange(1200), 20)


def load_expedia() -> Rows:
    """Hotels of searches; sites, countries, hotels and destinations are categories."""
    import pandas as pd

    table = pd.read_csv(fetch("expedia-slice")[0])
    table = table[table["srch_id"] != table["srch_id"].iloc[-1]]
    y = np.where(table["booking_bool"] > 0, 5.0, 1.0 * (table["click_bool"] > 0))
    later = ["date_time", "position", "click_bool", "gross_bookings_usd", "booking_bool"]
    X = table.drop(columns=[*later, "srch_id"])
    ids = [
        "site_id", "visitor_location_country_id", "prop_country_id", "prop_id",
        "srch_destination_id",
    ]  # fmt: skip
    columns = [X.columns.tolist().index(name) for name in ids]
    return X.to_numpy(dtype=float), columns, y, np.asarray(table["srch_id"])


def load_movies() -> Rows:
    """Movies by users; movies, occupations and the first two digits of zip codes are categories."""
    import pandas as pd

    ratings = load_movielens("100k")
    folder = Path(fetch("movielens-100k")[0]).parent
    read: dict[str, Any] = {"sep": "|", "header": None, "encoding": "latin-1"}
    items = pd.read_csv(folder / "u.item.gz", **read).set_index(0)
    users = pd.read_csv(folder / "u.user.gz", **read).set_index(0)
    user, item, rating = triplets(ratings)
    item_rows, user_rows = items.loc[item], users.loc[user]
    year = np.asarray(pd.to_numeric(item_rows[2].str[-4:], errors="coerce"))
    jobs, zips = number_values(user_rows[3]), number_values(user_rows[4].str[:2])
    genres = item_rows.iloc[:, 4:].to_numpy(dtype=float)
    age = user_rows[1].to_numpy(dtype=float)
    X = np.column_stack([year, age, genres, item, jobs, zips]).astype(float)
    width = X.shape[1]
    return X, [width - 3, width - 2, width - 1], rating, user


def load_many_movies() -> Rows:
    """20 movies of each of 1,000 users; the movies are categories."""
    import pandas as pd

    folder = Path(fetch("movielens-1m")[0]).parent
    read: dict[str, Any] = {"sep": "::", "header": None, "encoding": "latin-1", "engine": "python"}
    movies = pd.read_csv(folder / "movies.dat.gz", **read).set_index(0)
    user, item, rating = draw_users(load_movielens("1m"))
    rows = movies.loc[item]
    genres = rows[2].str.get_dummies("|").to_numpy()
    year = rows[1].str[-5:-1].astype(int)
    return np.column_stack([year, genres, item]).astype(float), [1 + genres.shape[1]], rating, user


def load_jokes() -> Rows:
    """20 jokes of each of 1,000 users; the jokes are categories, ratings in fifths the labels."""
    import pandas as pd

    folder = Path(fetch("jester")[0]).parent
    words = pd.read_csv(folder / "jokes.csv.gz").set_index("joke")["text"].str.split().str.len()
    user, item, rating = draw_users(load_jester())
    y = np.searchsorted(np.quantile(rating, [0.2, 0.4, 0.6, 0.8]), rating).astype(float)
    X = np.column_stack([words.reindex(item), item]).astype(float)
    return X, [1], y, user


def load_books() -> Rows:
    """Books by users; the books and the starts of their ISBN are categories."""
    import pandas as pd

    user, item, rating = triplets(load_book_crossing())
    isbn = pd.Series(item).astype(str)
    X = np.column_stack([
        isbn.str.len(), number_values(isbn), number_values(isbn.str[:5]),
        number_values(isbn.str[:3]),
    ])  # fmt: skip
    return X.astype(float), [1, 2, 3], rating, user


def load_products() -> Rows:
    """Products by search terms; brands and products are categories, words in common numbers."""
    import pandas as pd

    table = pd.read_csv(fetch("home-depot")[0], encoding="latin-1")
    titles = table["product_title"].str.lower().str.split()
    terms = table["search_term"].str.lower().str.split()
    shared = [len({*title} & {*term}) for title, term in zip(titles, terms, strict=True)]
    X = np.column_stack([
        shared, np.array(shared) / terms.str.len(), titles.str.len(),
        number_values(titles.str[0]), table["product_uid"],
    ])  # fmt: skip
    qid = number_values(table["search_term"])
    return X.astype(float), [3, 4], np.round(3 * table["relevance"].to_numpy() - 3), qid


TABLES: dict[str, Callable[[], Rows]] = {
    "expedia": load_expedia, "movies": load_movies, "books": load_books,
    "home-depot": load_products, "ml-1m": load_many_movies, "jester": load_jokes,
}  # fmt: skip


def number_values(values: Any) -> np.ndarray:
    """Positions among the sorted values."""
    return np.unique(np.asarray(values, dtype=str), return_inverse=True)[1]


def triplets(ratings: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, items and ratings of a set of ratings."""
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    return users, ratings.item_ids[ratings.items], ratings.values


def draw_users(ratings: Any) -> tuple[np.ndarray, ...]:
    """Users, items and ratings of 20 random ratings of each of 1,000 random users."""
    import pandas as pd

    table: Any = pd.DataFrame(dict(zip("uir", triplets(ratings), strict=True)))
    chosen = np.random.default_rng(0).permutation(np.unique(table["u"]))[:1000]
    table = table[table["u"].isin(chosen)].sample(frac=1, random_state=0)
    return tuple(table.groupby("u").head(20).sort_values("u").to_numpy().T)


@cache
def load_table(name: str) -> Rows:
    """Queries with different labels, drawn at random, up to ``MOST_ROWS`` rows."""
    X, columns, y, qid = TABLES[name]()
    codes = np.unique(qid, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(codes.max() + 1)
    low, high = np.full(len(order), np.inf), np.full(len(order), -np.inf)
    np.minimum.at(low, codes, y)
    np.maximum.at(high, codes, y)
    order = order[low[order] < high[order]]
    sizes = np.bincount(codes)[order]
    most = MOST_ROWS.get(name, 12_000)
    kept = order[: int(np.searchsorted(np.cumsum(sizes), most, side="right"))]
    rows = np.flatnonzero(np.isin(codes, kept))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return X[rows], columns, y[rows], codes[rows]


def draw(part: str, seed: int) -> tuple[Rows, np.ndarray]:
    """Rows of a part, sorted by query, and a mask of those for training."""
    if part in SIMULATIONS:
        rows = simulate(*SIMULATIONS[part], seed)
        return rows, rows[3] < 800
    rows = load_table(part)
    queries = np.unique(rows[3])
    order = np.random.default_rng(seed).permutation(queries)
    return rows, np.isin(rows[3], order[: round(TRAIN_SHARE * len(queries))])


def score_rows(key: str, rows: Rows, train: np.ndarray) -> np.ndarray:
    """Scores of the rows that are not for training."""
    X, columns, y, qid = rows
    group = np.unique(qid[train], return_counts=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if key == "LightGBM":
            from lightgbm import LGBMRanker

            # Codes from 0 on; its labels are whole grades.
            coded = X.copy()
            for column in columns:
                coded[:, column] = np.unique(X[:, column], return_inverse=True)[1]
            labels = np.unique(y, return_inverse=True)[1]
            model = LGBMRanker(n_estimators=100, learning_rate=0.1, n_jobs=1, verbose=-1)
            model.fit(coded[train], labels[train], group=group, categorical_feature=columns)
            return np.asarray(model.predict(coded[~train]))
        if key == "CatBoost":
            import pandas as pd
            from catboost import CatBoostRanker

            frame = pd.DataFrame(X)
            frame[columns] = frame[columns].astype("int64")
            model = CatBoostRanker(
                loss_function="YetiRank", iterations=100, learning_rate=0.1, cat_features=columns,
                thread_count=1, random_seed=0, verbose=0, allow_writing_files=False,
            )  # fmt: skip
            model.fit(frame[train], y[train], group_id=qid[train])
            return model.predict(frame[~train])
        given: dict[str, Any] = {"categorical_features": columns, "n_jobs": 1}
        if key == LEFT_OUT:
            X = np.delete(X, columns, axis=1)
            given = {"n_jobs": 1}
        else:
            given |= SETTINGS[key]
        return LambdaMART(**given).fit(X[train], y[train], qid=qid[train]).predict(X[~train])


def measure(part: str, seed: int, key: str) -> dict[str, float]:
    """nDCG@10 and AP of the rows that are not for training, and CPU seconds."""
    rows, train = draw(part, seed)
    start = time.process_time()
    scores = score_rows(key, rows, train)
    seconds = time.process_time() - start
    y, groups = rows[2][~train], QueryGroups.from_qid(rows[3][~train], int((~train).sum()))
    ap = parse(f"AP(rel={RELEVANT.get(part, 1)})").mean(y, scores, groups)
    return {"nDCG@10": parse("nDCG@10").mean(y, scores, groups), "AP": ap, "seconds": seconds}


def contestants(part: str) -> list[str]:
    """LambdaMART's settings and the peers; columns with effects are left out of tables only."""
    if part in TABLES:
        # CatBoost takes minutes for the longest of the books' queries.
        return [*SETTINGS, LEFT_OUT, *(PEERS[:1] if part == "books" else PEERS)]
    if SIMULATIONS[part][1]:
        return [BASE, "leaf by leaf", *PEERS]
    return [BASE, LEFT_OUT, *PEERS]


def list_seeds(part: str, stage: str, key: str) -> range:
    """Seeds of the draws, or of the splits, of a part for a contestant."""
    uniform, others, splits = SEEDS[stage][key in PEERS]
    if part in TABLES:
        return splits
    return others if ", " in part else uniform


def measure_all(parts: list[str], stage: str) -> dict[tuple[str, str, int], dict[str, float]]:
    """Values by part, contestant and seed; those in the store are kept."""
    known: dict[tuple[str, str, int], dict[str, float]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            cell = json.loads(line)
            known[tuple(cell["key"])] = cell["values"]
    STORE.parent.mkdir(exist_ok=True)
    wanted = [(part, key, seed) for part in parts for key in contestants(part)
              for seed in list_seeds(part, stage, key)]  # fmt: skip
    # Seeds first, so that an early end leaves the same seeds of all parts.
    for part, key, seed in sorted(wanted, key=lambda cell: cell[2]):
        if (part, key, seed) not in known:
            values = known[part, key, seed] = measure(part, seed, key)
            with STORE.open("a") as file:
                file.write(json.dumps({"key": [part, key, seed], "values": values}) + "\n")
    return known


def print_leads(parts: list[str], stage: str, known: dict[Any, dict[str, float]]) -> None:
    """Print the means of LambdaMART and its leads over each contestant, by part and measure."""
    keys = [*SETTINGS, LEFT_OUT, *PEERS][1:]
    for name in ("nDCG@10", "AP"):
        print(f"\n{name} of {BASE}, and its lead over each, in thousandths, with standard errors\n")
        heads = "".join(f"{key:>14}" for key in keys)
        print(f"{'':20}{BASE:>12}{heads}{'n':>5}{'of peers':>10}")
        for part in parts:
            # Splits share queries, seeds share nothing.
            shared = 0.0 if part in SIMULATIONS else 1 / TRAIN_SHARE - 1
            n, n_of_peers = (len(list_seeds(part, stage, key)) for key in (BASE, PEERS[0]))
            ours = {seed: known[part, BASE, seed][name] for seed in list_seeds(part, stage, BASE)}
            line = f"{part:20}{np.mean([*ours.values()]):12.4f}"
            for key in keys:
                cell = "–"
                if key in contestants(part):
                    seeds = list_seeds(part, stage, key)
                    leads = [ours[seed] - known[part, key, seed][name] for seed in seeds]
                    error = np.sqrt(np.var(leads, ddof=1) * (1 / len(seeds) + shared))
                    cell = f"{1000 * np.mean(leads):.1f}±{1000 * error:.1f}"
                line += f"{cell:>14}"
            print(f"{line}{n:5}{n_of_peers:10}")


def main() -> None:
    stage, *chosen = sys.argv[1:]
    if stage not in SEEDS:
        sys.exit("study_categories needs choose or show.")
    parts = chosen or [*SIMULATIONS, *TABLES]
    known = measure_all(parts, stage)
    uniform, _, splits = SEEDS[stage][0]
    print(f"study_categories: {stage}, seeds from {uniform[0]} and splits from {splits[0]} on")
    print_leads(parts, stage, known)


if __name__ == "__main__":
    main()
