"""Rules that choose the number of LambdaMART's trees from few or many validation queries.

    python -m benchmarks.study_refit > docs/study_refit.txt

Of 5 V queries, V are for validation. A rule grows trees on the other 4 V ("few") or on all of them,
up to 300, by nDCG@10 of the validation queries or of all queries as five folds leave them out. Two
contestants choose nothing: 100 trees on all queries, and a number by 1,000 further queries. V is
5, 10, 30, 100 and 500, as far as a set has queries.

The rule was chosen on simulations, and on sets that no page of the documentation reports, as
queries of ten rows drawn at random, with seven leaves. It was then shown once, with the defaults,
on other sets and on other seeds of the simulations. The last table fits recipes and AutoRanker as
users do. Values stay in ``build/study_refit``: a second run computes only what is missing, and
``python -m benchmarks.study_refit tables`` prints what is there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.study_generalisation import EQUAL, MOST_ROWS, RELEVANT, load_rows
from benchmarks.study_sets import SETS as STUDY_SETS
from rankwise import AutoRanker, LambdaMART, LightGBMRanker, XGBoostRanker
from rankwise.datasets import RankingData
from rankwise.metrics import parse
from rankwise.selection import tune
from rankwise.typing import Float64Array

STORE = Path("build/study_refit")
N_TREES, STEP, N_FOLDS, N_FURTHER = 300, 3, 5, 1000
SIZES = (5, 10, 30, 100, 500)
CHOOSING = ("linear", "interaction", "noisy", "clicks", "curved",
            "fair", "randhie", "anes96", "star98", "diabetes")  # fmt: skip
SHOWING = ("linear", "interaction", "noisy", "clicks", "curved", "ohsumed", "mq2008", "lambdarank",
           "expedia", "movielens", "cranfield", "vaswani")  # fmt: skip
# Splits or draws by validation queries: fewer where they cost more and vary less.
N_CHOSEN = {5: 4, 10: 4, 30: 4, 100: 3, 500: 2}
N_SHOWN = {5: 4, 10: 4, 30: 4, 100: 4, 500: 2}
SHOWN_FROM = 500  # first seed of the sets that show
RECIPE_SETS = ("linear", "interaction", "noisy", "curved", "ohsumed", "mq2008", "lambdarank")


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
    X = np.concatenate([np.asarray(first.X), np.asarray(second.X)])
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
    n_draws = N_CHOSEN if first_seed < SHOWN_FROM else N_SHOWN
    for number in range(max(n_draws.values())):
        for size in SIZES:
            if number < n_draws[size]:
                for name in names:
                    yield name, size, first_seed + number


Curves = dict[str, Float64Array]
HUNDRED = 100 // STEP - 1  # stage of about 100 trees
PATIENCE = 50 // STEP


def first_best(curve: Float64Array) -> int:
    """Stage kept by early stopping with a patience of 50 trees."""
    best = 0
    for stage, value in enumerate(curve):
        if value > curve[best]:
            best = stage
        elif stage - best >= PATIENCE:
            break
    return best


def ended_folds(curves: Curves) -> list[Float64Array]:
    """Values by stage and query left out, by fold; a fold ends 50 trees after its best."""
    ended = []
    for part in np.array_split(curves["folds"], N_FOLDS, axis=1):
        part = part[:, ~np.isnan(part[0])]
        if part.shape[1]:
            last = min(first_best(part.mean(axis=1)) + PATIENCE, len(part) - 1)
            ended.append(np.concatenate([part[:last], np.tile(part[last], (len(part) - last, 1))]))
    return ended


def stop_by_folds(curves: Curves) -> int:
    """Stage of the best mean over folds, as ``cv=5`` does."""
    return int(np.argmax(np.mean([part.mean(axis=1) for part in ended_folds(curves)], axis=0)))


def settle(curves: Curves, n_errors: float) -> int:
    """That stage if it leads 100 trees by so many errors over queries, else 100 trees."""
    best = stop_by_folds(curves)
    lead = np.concatenate([part[best] - part[HUNDRED] for part in ended_folds(curves)])
    return best if lead.mean() > n_errors * lead.std(ddof=1) / np.sqrt(len(lead)) else HUNDRED


def shrink(curves: Curves, prior: float) -> int:
    """Geometric mean of the stage of ``cv=5`` and 100 trees, which count as ``prior`` queries."""
    n_queries = curves["folds"].shape[1]
    share = n_queries / (n_queries + prior)
    trees = np.exp(share * np.log(STEP * (stop_by_folds(curves) + 1)) + (1 - share) * np.log(100))
    return min(max(round(trees / STEP) - 1, 0), N_TREES // STEP - 1)


def stop(curves: Curves) -> int:
    return first_best(np.nanmean(curves["vali"], axis=1))


# By name: the rows that trees are grown on ("few" are those without validation queries), the rule.
RULE = "folds, 2 errors"
RULES: dict[str, tuple[str, Callable[[Curves], int]]] = {
    "stop": ("few", stop),
    "stop, refit": ("all", stop),
    "folds": ("all", stop_by_folds),
    "folds, 1 error": ("all", partial(settle, n_errors=1.0)),
    RULE: ("all", partial(settle, n_errors=2.0)),
    "folds, shrunk": ("all", partial(shrink, prior=100.0)),
    "100 trees": ("all", lambda _: HUNDRED),
    "1,000 queries": ("few", lambda c: int(np.argmax(c["further"]))),
    "best of 300": ("all", lambda c: int(np.argmax(c["test of all"][:, 0]))),
}


def stored_curves(names: Sequence[str], first_seed: int) -> dict[int, dict[str, list[Curves]]]:
    """Draws that were computed, by size and set."""
    found: dict[int, dict[str, list[Curves]]] = {size: {} for size in SIZES}
    for name, size, seed in cells(names, first_seed):
        path = STORE / f"{name}-{size}-{seed}.npz"
        if path.exists():
            with np.load(path) as stored:
                found[size].setdefault(name, []).append(dict(stored))
    return found


def leads_of(rule: str, draws: Sequence[Curves], measure: int) -> Float64Array:
    """Differences from 100 trees on all rows, in thousandths, by draw."""
    grown, choose = RULES[rule]
    return 1000 * np.array(
        [c[f"test of {grown}"][choose(c), measure] - c["test of all"][HUNDRED, measure]
         for c in draws]
    )  # fmt: skip


def show_cell(mean: float, error: float) -> str:
    return f"{f'{mean:.1f}±{error:.1f}':>15}" if np.isfinite(mean) else " " * 15


def print_table(found: dict[int, dict[str, list[Curves]]], measure: int) -> None:
    """Means over the sets, with standard errors over the draws of the sets."""
    print(" " * 18 + "".join(f"{f'V = {size}':>15}" for size in SIZES))
    for rule in RULES:
        line = f"{rule:18}"
        for size in SIZES:
            every = [draws for draws in found[size].values()
                     if rule != "1,000 queries" or "further" in draws[0]]  # fmt: skip
            leads = [leads_of(rule, draws, measure) for draws in every]
            line += show_cell(*pooled(leads))
        print(line.rstrip())


def pooled(leads: Sequence[Float64Array]) -> tuple[float, float]:
    """Mean of the sets, and its error from the spread of the draws within the sets."""
    if not leads:
        return np.nan, np.nan
    several = [lead for lead in leads if len(lead) > 1]
    freedom = sum(len(lead) - 1 for lead in several)
    variance = sum(((lead - lead.mean()) ** 2).sum() for lead in several) / max(freedom, 1)
    share = sum(1 / len(lead) for lead in leads) / len(leads) ** 2
    error = np.sqrt(variance * share) if freedom else np.nan
    return float(np.mean([lead.mean() for lead in leads])), float(error)


def print_sets(found: dict[int, dict[str, list[Curves]]]) -> None:
    """The rule minus the better of 100 trees and 1,000 validation queries, set by set.

    Errors are those of the difference from the better one, by the spread of all draws of the size.
    """
    print(" " * 18 + "".join(f"{f'V = {size}':>15}" for size in SIZES))
    by_size: dict[int, dict[str, Float64Array]] = {}
    for size in SIZES:
        by_size[size] = {}
        for name, draws in found[size].items():
            lead = leads_of(RULE, draws, 0)
            known = leads_of("1,000 queries", draws, 0) if "further" in draws[0] else 0 * lead
            by_size[size][name] = lead - known if known.mean() > 0 else lead
    for name in dict.fromkeys(name for size in SIZES for name in by_size[size]):
        line = f"{name:18}"
        for size in SIZES:
            lead = by_size[size].get(name, np.empty(0))
            _, error = pooled(list(by_size[size].values()))
            error *= np.sqrt(len(by_size[size]) ** 2
                             / sum(1 / len(other) for other in by_size[size].values()))  # fmt: skip
            mean = float(lead.mean()) if len(lead) else np.nan
            line += show_cell(mean, error / np.sqrt(max(len(lead), 1)))
        print(line.rstrip())
    line = f"{'all':18}"
    for size in SIZES:
        line += show_cell(*pooled(list(by_size[size].values())))
    print(line.rstrip())


def recipe_rankers() -> dict[str, Callable[[], Any]]:
    """Recipes without grids, and AutoRanker, by name."""
    stop: dict[str, Any] = {
        "n_estimators": 500,
        "early_stopping_rounds": 50,
        "random_state": 0,
        "n_jobs": 1,
    }
    return {
        "LambdaMART": lambda: LambdaMART(**stop),
        "LightGBM": lambda: LightGBMRanker(**stop),
        "XGBoost": lambda: XGBoostRanker(**stop),
        "AutoRanker": lambda: AutoRanker(random_state=0, n_jobs=1),
    }


def measure_recipe(key: str, name: str, size: int, seed: int) -> None:
    """nDCG@10 of a recipe by X_val and without it, and of 100 trees on all rows."""
    path = STORE / f"recipe-{key}-{name}-{size}-{seed}.json"
    parts = None if path.exists() else draw(name, size, seed)
    if parts is None:
        return
    whole, test = join(parts["train"], parts["vali"]), parts["test"]
    make = recipe_rankers()[key]
    fitted = {
        "X_val": tune(make(), parts["train"], parts["vali"], "nDCG@10").estimator,
        "folds": tune(make(), whole, None, "nDCG@10").estimator,
    }
    plain: Any = make() if key != "AutoRanker" else LambdaMART(**EQUAL)
    plain.set_params(n_estimators=100, early_stopping_rounds=None)
    fitted["100 trees"] = plain.fit(whole.X, whole.y, qid=whole.qid)
    found = {
        rule: parse("nDCG@10").mean(test.y, ranker.predict(test.X), test.groups)
        for rule, ranker in fitted.items()
    }
    STORE.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


def recipe_cells() -> Iterator[tuple[str, str, int, int]]:
    for key in recipe_rankers():
        for size in (10, 30):
            for name in RECIPE_SETS:
                yield key, name, size, SHOWN_FROM


def print_recipes() -> None:
    """Differences from 100 trees on all rows (of LambdaMART for AutoRanker), errors over sets."""
    print(" " * 18 + "".join(f"{f'{rule}, {size}':>15}" for rule in ("X_val", "folds")
                             for size in (10, 30)))  # fmt: skip
    for key in recipe_rankers():
        line = f"{key:18}"
        for rule in ("X_val", "folds"):
            for size in (10, 30):
                leads: dict[str, list[float]] = {}
                for other, name, n, seed in recipe_cells():
                    path = STORE / f"recipe-{key}-{name}-{size}-{seed}.json"
                    if (other, n) == (key, size) and path.exists():
                        known = json.loads(path.read_text())
                        leads.setdefault(name, []).append(1000 * (known[rule] - known["100 trees"]))
                means = np.array([np.mean(lead) for lead in leads.values()])
                error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
                line += show_cell(means.mean() if len(means) else np.nan, error)
        print(line.rstrip())


def main() -> None:
    if sys.argv[1:] != ["tables"]:
        for names, first_seed in ((CHOOSING, 0), (SHOWING, SHOWN_FROM)):
            for cell in cells(names, first_seed):
                measure_cell(*cell)
        for cell in recipe_cells():
            measure_recipe(*cell)
    print("study_refit: numbers of trees from V validation queries or from 5 V queries")
    for title, names, first_seed in (
        ("Chosen on", CHOOSING, 0), ("Shown on", SHOWING, SHOWN_FROM),
    ):  # fmt: skip
        found = stored_curves(names, first_seed)
        for number, measure in enumerate(("nDCG@10", "AP")):
            print(f"\n{title}, {measure} minus that of 100 trees on all rows, in thousandths\n")
            print_table(found, number)
        print(f"\n{title}, the rule by set, nDCG@10 minus the better of two, in thousandths\n")
        print_sets(found)
        print(f"\n{title}, draws\n")
        print(" " * 18 + "".join(f"{f'V = {size}':>15}" for size in SIZES))
        for name in names:
            counts = [len(found[size].get(name, ())) for size in SIZES]
            if any(counts):
                print(f"{name:18}" + "".join(f"{number:15}" for number in counts))
    print("\nRecipes, nDCG@10 minus that of 100 trees on all rows, in thousandths\n")
    print_recipes()


if __name__ == "__main__":
    main()
