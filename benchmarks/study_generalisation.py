"""LambdaMART's defaults: chosen by paired splits of queries, then confirmed once against peers.

    python -m benchmarks.study_generalisation choose > docs/study_generalisation.txt
    python -m benchmarks.study_generalisation confirm >> docs/study_generalisation.txt
    python -m benchmarks.study_generalisation leaves > docs/study_generalisation_leaves.txt
    python -m benchmarks.study_generalisation again > docs/study_generalisation_again.txt
    python -m benchmarks.study_generalisation more > docs/study_generalisation_more.txt

Twelve sets, of which only queries of the training parts are used; at most 12,000 rows of each
(cf-letor: 40,000).
Every split trains on 70 % of the queries, drawn at random, and ranks the others. All rankers have
100 trees, learning rate 0.1 and one thread. ``choose`` compares settings of LambdaMART on splits 0
to 9; ``confirm`` compares the defaults that it chose, with 7 leaves, with the old ones and with
those of LightGBM, XGBoost and CatBoost on splits 100 to 119, which no setting was chosen on.
``leaves`` compares trees of 4 and 7 leaves on splits 0 to 9 and 100 to 107, for sets of few and of
many queries; ``again`` compares the defaults of today with the boosters' on splits 100 to 107 of
the nine sets that take least time, and ``more`` on splits 100 to 109 of sets with ranks by systems
and with choices, see ``benchmarks.study_more_sets``; it pools both. ``large`` compares sizes of
trees on all rows of the three largest sets.

Splits share queries, so errors are corrected: the variance over J splits counts
``1 / J + n_test / n_train`` times (Nadeau and Bengio 2003). Stouffer's z joins the sets.

Values in ``build/study_generalisation.jsonl`` are not computed again; names of sets after the first
argument compute only these, so that several processes can share the work.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import norm, t

from benchmarks import study_more_sets
from rankwise import CatBoostRanker, LambdaMART, LightGBMRanker, XGBoostRanker, evaluate
from rankwise.datasets import RankingData
from rankwise.text import TextIndex, TextRanker, load_cf_letor, load_text
from rankwise.trees.boosted import growth_rules
from rankwise_papers.auto_ranker.sets import load as load_auto_set
from rankwise_papers.text_products.experiment import table as product_table

# Values over the splits, by set, contestant and measure (or "seconds").
Values: TypeAlias = dict[tuple[str, str, str], np.ndarray]
STORE = Path("build/study_generalisation.jsonl")
MOST_ROWS, TRAIN_SHARE = 12_000, 0.7
# Queries of cf-letor have 1,239 rows each.
MORE_ROWS = {"cf-letor": 40_000}
CHOOSING, CONFIRMING, LARGE = range(10), range(100, 120), range(200, 204)
AGAIN, MORE = range(100, 108), range(100, 110)
PENALTY_QUERIES = growth_rules.PENALTY_QUERIES
EQUAL = {"n_estimators": 100, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}
# The default for fewer than 100,000 rows when other studies of LambdaMART ran.
SEVEN_LEAVES: dict[str, Any] = {"max_leaf_nodes": 7}
OLD = {"max_leaf_nodes": 31, "reg_lambda": 0.0, "subsample": 1.0}
LINEAR = {"measure": "nDCG(gain=linear)@10"}
SETTINGS: dict[str, dict[str, Any]] = {
    "old defaults": OLD,
    "7 leaves": OLD | {"max_leaf_nodes": 7},
    "L2 30": OLD | {"reg_lambda": 30.0},
    "70 % of queries": OLD | {"subsample": 0.7},
    "linear gains": OLD | LINEAR,
    "7 leaves, L2 10": OLD | {"max_leaf_nodes": 7, "reg_lambda": 10.0},
    "7 leaves, L2 30": OLD | {"max_leaf_nodes": 7, "reg_lambda": 30.0},
    "7 leaves, L2 30, 70 %": {"max_leaf_nodes": 7, "reg_lambda": 30.0, "subsample": 0.7},
    "7 leaves, L2 100, 70 %": {"max_leaf_nodes": 7, "reg_lambda": 100.0, "subsample": 0.7},
    "15 leaves, L2 30, 70 %": {"max_leaf_nodes": 15, "reg_lambda": 30.0, "subsample": 0.7},
    "7 leaves, L2 30, 70 %, linear": {
        "max_leaf_nodes": 7, "reg_lambda": 30.0, "subsample": 0.7, **LINEAR,
    },
    "auto L2": OLD | {"reg_lambda": "auto"},
    "7 leaves, auto L2": OLD | {"max_leaf_nodes": 7, "reg_lambda": "auto"},
    "the same, 5 queries": OLD | {"max_leaf_nodes": 7, "penalty_queries": 5.0},
    "the same, 20 queries": OLD | {"max_leaf_nodes": 7, "penalty_queries": 20.0},
    "the same, 40 queries": OLD | {"max_leaf_nodes": 7, "penalty_queries": 40.0},
    "7 leaves, auto L2, linear": OLD | {"max_leaf_nodes": 7, "reg_lambda": "auto", **LINEAR},
    "7 leaves, auto L2, 70 %": {"max_leaf_nodes": 7, "reg_lambda": "auto", "subsample": 0.7},
    "symmetric, L2 3": OLD | {"growth": "symmetric", "max_leaf_nodes": 64, "reg_lambda": 3.0},
}  # fmt: skip
PEERS: dict[str, Callable[[], Any]] = {
    "LightGBM": lambda: LightGBMRanker(**EQUAL),
    "XGBoost": lambda: XGBoostRanker(**EQUAL),
    "CatBoost": lambda: CatBoostRanker(**EQUAL),
}
NEW, TODAY = "new defaults", "today's defaults"
SIZES = {"7 leaves": 7, "31 leaves": 31}
FEWEST = {"with 4 leaves": 4, "with 7 leaves": 7}
# Least grade that AP counts as relevant, where it is not 1.
RELEVANT = {"movielens": 4}
TEXTS = ("cranfield", "vaswani", "nfcorpus", "scifact")
SETS = (
    "ohsumed", "mq2008", "lambdarank", "mslr", "expedia", "movielens",
    "cf-letor", *TEXTS, "home-depot",
)  # fmt: skip
LARGE_SETS = ("movielens", "cf-letor", "home-depot")
AGAIN_SETS = tuple(name for name in SETS if name not in ("mslr", "movielens", "cf-letor"))
MORE_SETS = ("mq2008-agg", "suppliers", "cars", "robust-runs", "yogurt", "fishing", "travel")


@cache
def load_rows(name: str, most_rows: int) -> RankingData:
    """Training queries of a set, drawn at random, with at most as many rows."""
    rows = _load(name)
    if most_rows == MOST_ROWS:
        most_rows = MORE_ROWS.get(name, MOST_ROWS)
    order = np.random.default_rng(0).permutation(rows.n_queries)
    sizes = np.diff(rows.groups.indptr)[order]
    n_queries = max(2, int(np.searchsorted(np.cumsum(sizes), most_rows, side="right")))
    return rows.queries(np.sort(order[:n_queries]))


def count_queries(name: str) -> int:
    """Training queries of a split that have different labels, about."""
    rows = load_rows(name, MOST_ROWS)
    labels, starts = rows.groups.sort(rows.y), rows.groups.indptr[:-1]
    differ = np.minimum.reduceat(labels, starts) < np.maximum.reduceat(labels, starts)
    return round(TRAIN_SHARE * int(differ.sum()))


def _load(name: str) -> RankingData:
    if name == "cf-letor":
        return load_cf_letor(1).train
    if name in TEXTS:
        collection = load_text(name)
        index = TextIndex(collection.fields).add(collection.documents)
        # The only judgements, or those of the training queries.
        part = "train" if "train" in collection.qrels else next(iter(collection.qrels))
        qrels = collection.qrels[part]
        judged = set(qrels.qid.tolist())
        queries = {query: text for query, text in collection.queries.items() if query in judged}
        queries = dict(list(queries.items())[:300])
        return TextRanker(index, n_candidates=50).table(queries, qrels)
    if name == "home-depot":
        return product_table(name)
    if name in study_more_sets.SETS:
        return study_more_sets.load(name)
    return load_auto_set(name, 1).train


def measure_ranker(name: str, split: int, ranker: Any, most_rows: int) -> dict[str, float]:
    """nDCG@10, AP and CPU seconds of a ranker on a split."""
    rows = load_rows(name, most_rows)
    order = np.random.default_rng(split).permutation(rows.n_queries)
    n_train = round(TRAIN_SHARE * rows.n_queries)
    train, test = rows.queries(np.sort(order[:n_train])), rows.queries(np.sort(order[n_train:]))
    start = time.process_time()
    ranker.fit(train.X, train.y, qid=train.qid)
    seconds = time.process_time() - start
    ap = f"AP(rel={RELEVANT.get(name, 1)})"
    result = evaluate(test.y, ranker.predict(test.X), test.qid, ["nDCG@10", ap])
    return {"nDCG@10": result["nDCG@10"], "AP": result[ap], "seconds": seconds}


def measure_all(
    sets: Sequence[str], splits: range, makers: dict[str, Callable[[], Any]], most_rows: int
) -> Values:
    """Values over the splits by set, contestant and measure; those in the store are kept."""
    known: dict[tuple[str, int, str], dict[str, float]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            cell = json.loads(line)
            known[tuple(cell["key"])] = cell["values"]
    STORE.parent.mkdir(exist_ok=True)
    for name in sets:
        for split in splits:
            for key, make in makers.items():
                if (name, split, key) in known:
                    continue
                values = measure_ranker(name, split, make(), most_rows)
                known[name, split, key] = values
                with STORE.open("a") as file:
                    file.write(json.dumps({"key": [name, split, key], "values": values}) + "\n")
    return {
        (name, key, measure): np.array([known[name, split, key][measure] for split in splits])
        for name in sets
        for key in makers
        for measure in ("nDCG@10", "AP", "seconds")
    }


def print_settings(values: Values, base: str) -> None:
    """Print what each setting gains on ``base``: means over the sets, and Stouffer's z."""
    sets = sets_of(values)
    over = "means over the sets, and Stouffer's z" if len(sets) > 1 else "means, and z"
    where = "" if len(sets) > 1 else f" on {sets[0]}"
    print(f"\nDifferences from {base}{where}, in thousandths: {over}\n")
    width = max(len(key) for key in contestants(values)) + 2
    print(" " * width + f"{'nDCG@10':>10}{'z':>8}{'AP':>10}{'z of AP':>10}{'CPU s':>10}")
    for key in contestants(values):
        if key == base:
            continue
        (gain, z), (ap_gain, ap_z) = (
            summarise(values, key, base, measure)[1:] for measure in ("nDCG@10", "AP")
        )
        seconds = total_seconds(values, key)
        print(f"{key:{width}}{gain:10.1f}{z:8.2f}{ap_gain:10.1f}{ap_z:10.2f}{seconds:10.0f}")


def print_differences(values: Values, ours: str) -> None:
    """Print what ``ours`` is ahead of each contestant by set, Stouffer's z and Holm's p."""
    keys = [key for key in contestants(values) if key != ours]
    p_values: dict[tuple[str, str], float] = {}
    for measure in ("nDCG@10", "AP"):
        print(f"\n{measure} of {ours} less each, in thousandths, and its standard error\n")
        print(" " * 14 + "".join(f"{key:>16}" for key in keys))
        columns = [summarise(values, ours, key, measure) for key in keys]
        for number, name in enumerate(sets_of(values)):
            cells = (f"{lead:.1f}±{error:.1f}" for lead, error in (c[0][number] for c in columns))
            print(f"{name:14}" + "".join(f"{cell:>16}" for cell in cells))
        print(f"{'mean':14}" + "".join(f"{column[1]:16.1f}" for column in columns))
        print(f"{'z':14}" + "".join(f"{column[2]:16.2f}" for column in columns))
        for key, column in zip(keys, columns, strict=True):
            p_values[measure, key] = float(2 * norm.sf(abs(column[2])))
    print("\nHolm's p over the contestants and both measures\n")
    print(" " * 14 + "".join(f"{key:>16}" for key in keys))
    holm = _holm(p_values)
    for measure in ("nDCG@10", "AP"):
        print(f"{measure:14}" + "".join(f"{holm[measure, key]:16.5f}" for key in keys))
    print("\nCPU seconds of all fits\n")
    print(" " * 14 + "".join(f"{key:>16}" for key in (ours, *keys)))
    cells = "".join(f"{total_seconds(values, key):16.0f}" for key in (ours, *keys))
    print(f"{'seconds':14}{cells}")


def print_pooled(values: Values, ours: str) -> None:
    """Print what ``ours`` is ahead of each contestant over all sets."""
    n_sets = len(sets_of(values))
    print(f"\n{ours} less each on all {n_sets} sets, in thousandths; the error is over sets\n")
    print(f"{'':22}{'mean':>10}{'error':>10}{'z':>10}{'ahead':>10}")
    for measure, key in product(("nDCG@10", "AP"), contestants(values)):
        if key == ours:
            continue
        cells, mean, z = summarise(values, ours, key, measure)
        leads = np.array([lead for lead, _ in cells])
        error = leads.std(ddof=1) / np.sqrt(n_sets)
        row = f"{mean:10.1f}{error:10.1f}{z:10.2f}{(leads > 0).sum():10}"
        print(f"{f'{measure}, {key}':22}{row}")


def print_sizes(values: Values, what: str) -> None:
    """Print what trees of 4 leaves gain on those of 7, for sets of few and of many queries."""
    queries = {name: count_queries(name) for name in sets_of(values)}
    few = {name for name in queries if queries[name] < growth_rules.FEW_QUERIES}
    print(f"\n4 less 7 leaves on {what} splits, in thousandths, and its standard error\n")
    print(f"{'':16}{'queries':>9}{'nDCG@10':>13}{'AP':>13}")
    for title, inside in (("few", few), ("many", queries.keys() - few)):
        part = {key: value for key, value in values.items() if key[0] in inside}
        columns = [summarise(part, *FEWEST, measure) for measure in ("nDCG@10", "AP")]
        for name, *cells in zip(sets_of(part), *(column[0] for column in columns), strict=True):
            leads = "".join(f"{f'{lead:.1f}±{error:.1f}':>13}" for lead, error in cells)
            print(f"{name:16}{queries[name]:9,}{leads}")
        for place, kind in ((1, "mean"), (2, "z")):
            print(f"{f'{kind} of {title}':25}" + "".join(f"{c[place]:13.2f}" for c in columns))


def summarise(
    values: Values, key: str, base: str, measure: str
) -> tuple[list[tuple[float, float]], float, float]:
    """Leads and errors by set in thousandths, their mean, and Stouffer's z."""
    cells, scores = [], []
    for name in sets_of(values):
        lead = 1000 * (values[name, key, measure] - values[name, base, measure])
        error = np.sqrt(lead.var(ddof=1) * (1 / len(lead) + 1 / TRAIN_SHARE - 1))
        cells.append((float(lead.mean()), float(error)))
        ratio = lead.mean() / error if error else 0.0
        scores.append(norm.ppf(t.cdf(ratio, len(lead) - 1)))
    mean = float(np.mean([lead for lead, _ in cells]))
    return cells, mean, float(np.sum(scores) / np.sqrt(len(scores)))


def sets_of(values: Values) -> list[str]:
    """Names of the sets."""
    return list(dict.fromkeys(name for name, _, _ in values))


def contestants(values: Values) -> list[str]:
    """Names of the contestants."""
    return list(dict.fromkeys(key for _, key, _ in values))


def total_seconds(values: Values, key: str) -> float:
    """CPU seconds of all fits of a contestant."""
    return float(sum(values[name, key, "seconds"].sum() for name in sets_of(values)))


def _holm(p_values: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    corrected, largest = {}, 0.0
    for number, (key, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p_value * (len(p_values) - number)))
        corrected[key] = largest
    return corrected


def main() -> None:
    part, *chosen = sys.argv[1:]
    parts = {
        "large": LARGE_SETS, "again": AGAIN_SETS, "more": MORE_SETS,
        "leaves": (*SETS, *MORE_SETS, "covid-runs"),
    }  # fmt: skip
    sets = study_more_sets.find(chosen or parts.get(part, SETS))
    if part == "choose":
        makers = {key: _maker(setting) for key, setting in SETTINGS.items()}
        print("study_generalisation: LambdaMART's settings on ten splits of queries")
        print_settings(measure_all(sets, CHOOSING, makers, MOST_ROWS), "old defaults")
    elif part == "leaves":
        makers = {key: _maker({"max_leaf_nodes": size}) for key, size in FEWEST.items()}
        print("study_generalisation: 4 and 7 leaves, by training queries with different labels")
        for what, splits in (("ten choosing", CHOOSING), ("eight other", AGAIN)):
            print_sizes(measure_all(sets, splits, makers, MOST_ROWS), what)
    elif part == "large":
        makers = {key: _maker({"max_leaf_nodes": size}) for key, size in SIZES.items()}
        print("\nstudy_generalisation: sizes of trees on all rows of three sets, four splits")
        print_differences(measure_all(sets, LARGE, makers, sys.maxsize), "31 leaves")
    elif part == "confirm":
        makers = {NEW: _maker(SEVEN_LEAVES), "old defaults": _maker(OLD), **PEERS}
        print("\nstudy_generalisation: the new defaults on twenty other splits")
        print_differences(measure_all(sets, CONFIRMING, makers, MOST_ROWS), NEW)
    elif part in ("again", "more"):
        makers = {TODAY: _maker({}), "with 7 leaves": _maker(SEVEN_LEAVES), **PEERS}
        splits, what = (AGAIN, "eight") if part == "again" else (MORE, "ten")
        print(f"study_generalisation: today's defaults on {what} splits")
        values = measure_all(sets, splits, makers, MOST_ROWS)
        print_differences(values, TODAY)
        if part == "more":
            print_pooled(measure_all(AGAIN_SETS, AGAIN, makers, MOST_ROWS) | values, TODAY)
    else:
        sys.exit("study_generalisation needs choose, confirm, leaves, again, more or large.")


def _maker(setting: dict[str, Any]) -> Callable[[], Any]:
    setting = dict(setting)
    n_queries = setting.pop("penalty_queries", None)
    if n_queries is not None:
        setting["reg_lambda"] = "auto"

    def make() -> LambdaMART:
        # Read by the fit that follows.
        growth_rules.PENALTY_QUERIES = n_queries or PENALTY_QUERIES
        return LambdaMART(**EQUAL, **setting)

    return make


if __name__ == "__main__":
    main()
