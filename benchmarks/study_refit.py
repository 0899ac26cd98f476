"""Rules that choose the number of LambdaMART's trees from few or many validation queries.

    python -m benchmarks.study_refit choose > docs/study_refit.txt
    python -m benchmarks.study_refit show >> docs/study_refit.txt

Of 5 V queries, V are for validation. A rule grows trees on the other 4 V or on all of them, up to
300, by nDCG@10 of the validation queries or of all queries as five folds leave them out. Two
contestants choose nothing: 100 trees on all queries, and a number by 1,000 further queries. V is
5, 10, 30, 100 and 500, as far as a set has queries.

``choose`` uses simulations, and sets that no page of the documentation reports, as queries of ten
rows drawn at random; ``show`` uses sets of ``benchmarks.study_generalisation`` and other seeds of
the simulations, on which nothing was chosen. Curves stay in ``build/study_refit``; names of sets
after the first argument compute the curves of these only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.study_generalisation import EQUAL, MOST_ROWS, RELEVANT, load_rows
from benchmarks.study_sets import SETS as STUDY_SETS
from rankwise import LambdaMART
from rankwise.datasets import RankingData
from rankwise.metrics import parse
from rankwise.typing import Float64Array

STORE = Path("build/study_refit")
N_TREES, STEP, N_FOLDS, N_FURTHER = 300, 3, 5, 1000
SIZES = (5, 10, 30, 100, 500)
CHOOSING = ("linear", "interaction", "noisy", "clicks", "curved",
            "fair", "randhie", "anes96", "star98", "diabetes")  # fmt: skip
SHOWING = ("linear", "interaction", "noisy", "clicks", "curved", "ohsumed", "mq2008", "lambdarank",
           "expedia", "movielens", "cranfield", "vaswani")  # fmt: skip
# Splits or draws by validation queries: fewer where they cost more and vary less.
N_SPLITS = {5: 8, 10: 8, 30: 6, 100: 4, 500: 2}
SHOWN_FROM = 500  # first seed of ``show``


def simulate(name: str, seed: int, n_queries: int) -> RankingData:
    """Queries of 20 rows with ten columns; grades cut the utility at fixed quantiles."""
    rng = np.random.default_rng([seed, len(name)])
    n = 20 * n_queries
    X = rng.normal(size=(n, 10))
    noise = rng.normal(size=n)
    weight = 0.7 ** np.arange(10)
    quantiles = (0.5, 0.8, 0.92, 0.98)
    if name == "linear":
        u = X @ weight + noise
    elif name == "interaction":
        u = X[:, 0] * X[:, 1] + X[:, 2] + noise
    elif name == "noisy":
        u = X @ weight + 5 * noise
    elif name == "clicks":
        # Ten shown rows a query, of which about one is clicked.
        u, quantiles = X[:, :3].sum(axis=1) + 2 * noise, (0.95,)
    else:
        u = np.sin(3 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * np.sign(X[:, 3]) + 0.3 * noise
    y = np.searchsorted(np.quantile(u, quantiles), u).astype(float)
    return RankingData(X, y, qid=np.repeat(np.arange(n_queries), 20))


@cache
def load_table(name: str) -> RankingData:
    """All queries of a real set."""
    if name not in STUDY_SETS:
        return load_rows(name, MOST_ROWS)
    found = STUDY_SETS[name]()
    order = np.random.default_rng(0).permutation(len(found.y) // 10 * 10)
    X, y = found.X[order], found.y[order].astype(float)
    return RankingData(X, y, qid=np.arange(len(y)) // 10)


def draw(name: str, size: int, seed: int) -> dict[str, RankingData] | None:
    """Parts: train, vali, test and, if a set has so many queries, further."""
    is_real = name in STUDY_SETS or name not in CHOOSING
    rows = load_table(name) if is_real else simulate(name, seed, 5 * size + N_FURTHER + 500)
    n = rows.n_queries
    if 5 * size > 0.75 * n:
        return None
    order = np.random.default_rng([seed, size]).permutation(n)
    rest = n - 5 * size
    n_further = N_FURTHER if rest >= N_FURTHER + 300 else 0
    cuts = np.cumsum([4 * size, size, n_further])
    names = ("train", "vali", "further", "test")
    parts = dict(zip(names, np.split(order, cuts), strict=True))
    parts["test"] = parts["test"][:1000]
    return {key: rows.queries(np.sort(part)) for key, part in parts.items() if len(part)}


def join(first: RankingData, second: RankingData) -> RankingData:
    """The rows of two parts."""
    X = np.concatenate([first.X, second.X])
    y, qid = np.concatenate([first.y, second.y]), np.concatenate([first.qid, second.qid])
    return RankingData(X, y, qid=qid)


def grow(rows: RankingData, leaves: Any) -> Any:
    """300 trees."""
    ranker = LambdaMART(**EQUAL | {"n_estimators": N_TREES, "max_leaf_nodes": leaves})
    return ranker.fit(rows.X, rows.y, qid=rows.qid)


def stages(ranker: Any, rows: RankingData, measures: Sequence[str]) -> Float64Array:
    """Values by query after every third tree, (n_stages, n_measures, n_queries)."""
    parsed = [parse(spec) for spec in measures]
    found = [
        [spec.per_query(rows.y, scores, rows.groups) for spec in parsed]
        for number, scores in enumerate(ranker.staged_predict(rows.X), start=1)
        if number % STEP == 0
    ]
    values = np.array(found)
    if len(values) == 0:
        values = np.full((1, len(parsed), rows.n_queries), np.nan)
    short = N_TREES // STEP - len(values)
    # No leaf could be split: later stages are the last.
    return np.concatenate([values, np.repeat(values[-1:], max(short, 0), axis=0)])


def measure_cell(name: str, size: int, seed: int) -> dict[str, Float64Array] | None:
    """Curves of one draw, from the store if they are there."""
    path = STORE / f"{name}-{size}-{seed}.npz"
    if path.exists():
        with np.load(path) as stored:
            return dict(stored)
    parts = draw(name, size, seed)
    if parts is None:
        return None
    train, vali, test = parts["train"], parts["vali"], parts["test"]
    whole = join(train, vali)
    shown = ("nDCG@10", f"AP(rel={RELEVANT.get(name, 1)})")
    # The numbers were chosen while trees had seven leaves, and are shown with the defaults.
    leaves: Any = 7 if seed < SHOWN_FROM else "auto"
    few, all_trees = grow(train, leaves), grow(whole, leaves)
    curves = {
        "vali": stages(few, vali, shown[:1])[:, 0],
        "test of few": np.nanmean(stages(few, test, shown), axis=2),
        "test of all": np.nanmean(stages(all_trees, test, shown), axis=2),
    }
    if "further" in parts:
        curves["further"] = np.nanmean(stages(few, parts["further"], shown[:1])[:, 0], axis=1)
    fold = np.random.default_rng([seed, 1]).permutation(whole.n_queries) % N_FOLDS
    held = []
    for number in range(N_FOLDS):
        rest = whole.queries(np.flatnonzero(fold != number))
        out = whole.queries(np.flatnonzero(fold == number))
        held.append(stages(grow(rest, leaves), out, shown[:1])[:, 0])
    curves["folds"] = np.concatenate(held, axis=1)
    STORE.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{key: value.astype(np.float32) for key, value in curves.items()})
    return curves


def cells(names: Sequence[str], first_seed: int) -> Iterator[tuple[str, int, int]]:
    """Draws; all sets and sizes once before any is drawn again."""
    for number in range(max(N_SPLITS.values())):
        for size in SIZES:
            if number < N_SPLITS[size]:
                for name in names:
                    yield name, size, first_seed + number


Curves = dict[str, Float64Array]
HUNDRED = 100 // STEP - 1  # stage of about 100 trees


def first_best(curve: Float64Array, patience: int = 50 // STEP) -> int:
    """Stage kept by early stopping with a patience of 50 trees."""
    best = 0
    for stage, value in enumerate(curve):
        if value > curve[best]:
            best = stage
        elif stage - best >= patience:
            break
    return best


def mean_of_folds(curves: Curves) -> Float64Array:
    """Mean over the queries left out; a fold ends 50 trees after its best."""
    parts = np.array_split(curves["folds"], N_FOLDS, axis=1)
    ended = []
    for part in parts:
        values = np.nanmean(part, axis=1)
        last = min(first_best(values) + 50 // STEP, len(values) - 1)
        ended.append(
            np.concatenate([values[: last + 1], np.full(len(values) - last - 1, values[last])])
        )
    return np.nanmean(ended, axis=0)


def choose_significant(curves: Curves, part: str, n_errors: float) -> int:
    """The best stage of a part if it leads 100 trees by so many errors, else 100 trees."""
    values = curves[part][:, ~np.isnan(curves[part][0])]
    best = int(np.argmax(values.mean(axis=1)))
    lead = values[best] - values[HUNDRED]
    error = lead.std(ddof=1) / np.sqrt(len(lead))
    return best if lead.mean() > n_errors * error else HUNDRED


def shrink(stage: int, n_queries: int, prior: float) -> int:
    """Geometric mean of a stage and 100 trees, which count as ``prior`` queries."""
    share = n_queries / (n_queries + prior)
    trees = np.exp(share * np.log(STEP * (stage + 1)) + (1 - share) * np.log(100))
    return min(max(round(trees / STEP) - 1, 0), N_TREES // STEP - 1)


def stop(curves: Curves) -> int:
    return first_best(np.nanmean(curves["vali"], axis=1))


def stop_by_folds(curves: Curves) -> int:
    return int(np.argmax(mean_of_folds(curves)))


# By name: the rows that trees are grown on ("few" are those without validation queries), the rule.
RULES: dict[str, tuple[str, Callable[[Curves], int]]] = {
    "stop": ("few", stop),
    "100 trees on few": ("few", lambda _: HUNDRED),
    "stop, refit": ("all", stop),
    "folds": ("all", stop_by_folds),
    "folds, 0.5 SE": ("all", partial(choose_significant, part="folds", n_errors=0.5)),
    "folds, 1 SE": ("all", partial(choose_significant, part="folds", n_errors=1.0)),
    "folds, 2 SE": ("all", partial(choose_significant, part="folds", n_errors=2.0)),
    "stop 1 SE, refit": ("all", partial(choose_significant, part="vali", n_errors=1.0)),
    "folds, prior 25": (
        "all", lambda c: shrink(stop_by_folds(c), c["folds"].shape[1], 25.0),
    ),
    "folds, prior 100": (
        "all", lambda c: shrink(stop_by_folds(c), c["folds"].shape[1], 100.0),
    ),
    "100 trees": ("all", lambda _: HUNDRED),
    "1,000 queries": ("few", lambda c: int(np.argmax(c["further"]))),
    "1,000, refit": ("all", lambda c: int(np.argmax(c["further"]))),
    "best": ("all", lambda c: int(np.argmax(c["test of all"][:, 0]))),
}  # fmt: skip


def print_table(names: Sequence[str], first_seed: int, measure: int) -> None:
    """Differences from 100 trees on all rows by size: mean over the sets, error, trees."""
    print(f"{'':18}" + "".join(f"{f'V = {size}':>22}" for size in SIZES))
    found: dict[int, dict[str, list[Curves]]] = {size: {} for size in SIZES}
    for name, size, seed in cells(names, first_seed):
        path = STORE / f"{name}-{size}-{seed}.npz"
        if path.exists():
            with np.load(path) as stored:
                found[size].setdefault(name, []).append(dict(stored))
    for rule, (grown, choose) in RULES.items():
        line = f"{rule:18}"
        for size in SIZES:
            leads, errors, trees = [], [], []
            for draws in found[size].values():
                if "1,000" in rule and "further" not in draws[0]:
                    continue
                stages = [choose(curves) for curves in draws]
                lead = [
                    1000 * (c[f"test of {grown}"][k, measure] - c["test of all"][HUNDRED, measure])
                    for c, k in zip(draws, stages, strict=True)
                ]
                leads.append(np.mean(lead))
                errors.append(np.var(lead, ddof=1) / len(lead) if len(lead) > 1 else np.nan)
                trees.append(np.median([STEP * (k + 1) for k in stages]))
            if not leads:
                line += " " * 22
                continue
            error = np.sqrt(np.nansum(errors)) / len(leads)
            line += f"{np.mean(leads):9.1f} +-{error:4.1f}{np.median(trees):6.0f}"
        print(line)
    counts = {size: {n: len(d) for n, d in by.items()} for size, by in found.items()}
    print("draws:", counts)


def main() -> None:
    part, *chosen = sys.argv[1:]
    names = chosen or (CHOOSING if part == "choose" else SHOWING)
    first = 0 if part == "choose" else SHOWN_FROM
    for cell in cells(names, first):
        measure_cell(*cell)
    for number, title in enumerate(("nDCG@10", "AP")):
        print(f"\n{part}: {title} minus that of 100 trees on all rows, thousandths, SE, trees\n")
        print_table(names, first, number)


if __name__ == "__main__":
    main()
