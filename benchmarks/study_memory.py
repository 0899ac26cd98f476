"""How much of a gain is memory: queries whose relevant documents were relevant in training.

    python -m benchmarks.study_memory > docs/study_memory.txt
    python -m benchmarks.study_memory errors >> docs/study_memory.txt
    python -m benchmarks.study_memory held-out >> docs/study_memory.txt
    python -m benchmarks.study_memory boosters > docs/study_memory_boosters.txt

Without an argument: the share of test queries and of relevant pairs that are seen, and the gain of
three rankers over a baseline on seen and unseen queries, by ``memory_audit``. SciFact and NFCorpus
have BEIR's parts, with the first 600 training queries; MQ2008, OHSUMED and cf-letor their own
folds; the others five folds of shuffled queries. Texts are the first 100 documents of BM25 with the
features of QueryDocumentFeatures. The baseline is BM25, on MovieLens the mean rating of the item.
A rating of 4 or a mean grade of 2 of 3 (Home Depot) is relevant. Rankers have the defaults of their
classes; "31 leaves" is LambdaMART with trees as large as LightGBM's.

``errors`` measures how often the intervals err. The gains of a set, one of each query, are the
population; queries for two groups are drawn with replacement, and the true difference is 0. Groups
are small and unequal, as audits have them. The first two numbers are the shares of draws in which
Welch's test alone and the audit (the larger p of Welch's and Student's) find a difference at 5 %.
The other two are those in which the interval of the smaller group misses the true gain: Student's t
alone, and ``mean_intervals``, which the audit uses.

``held-out`` compares the gain on folds of queries with that on folds by document, on the
texts with one part: ``DocumentKFold`` with components, or with ``purge`` where these are too large.

``boosters`` takes the lead of LightGBM and CatBoost over LambdaMART's defaults on SciFact apart, on
the splits of ``study_generalisation again``: means over eight splits, and errors that allow for
shared queries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from benchmarks import study_generalisation
from rankwise import LambdaMART, RidgeRanker, compare
from rankwise.datasets import Fold, RankingData, load_dataset, load_movielens_task
from rankwise.metrics.significance import mean_intervals, t_intervals
from rankwise.selection import (
    DocumentKFold,
    MemoryAudit,
    evaluate_systems,
    memory_audit,
    query_folds,
)
from rankwise.selection.memory import compare_groups
from rankwise.text import TextIndex, TextRanker, load_cf_letor, load_text
from rankwise_papers.text_products.experiment import table as product_table

OURS = "LambdaMART"
N_CANDIDATES, MOST_QUERIES, SEED = 100, 600, 0
N_DRAWS, LEVEL = 1000, 0.05
RANKERS = {
    "LambdaMART": LambdaMART(random_state=SEED, n_jobs=1),
    "31 leaves": LambdaMART(max_leaf_nodes=31, random_state=SEED, n_jobs=1),
    "ridge": RidgeRanker(),
}
# Column that is the baseline: BM25 of whole documents, or the mean rating of an item.
BASELINES = {"mq2008": "25", "ohsumed": "41", "movielens": "item mean", "home-depot": "bm25(title)",
             "cf-letor": "bm25(whole)"}  # fmt: skip
TEXTS: dict[str, Any] = {"scifact": "scifact", "nfcorpus": "nfcorpus", "vaswani": "vaswani",
         "cranfield": "cranfield", "cystic fibrosis": "cystic_fibrosis"}  # fmt: skip
SETS = (*TEXTS, "mq2008", "ohsumed", "cf-letor", "home-depot", "movielens")
ERROR_SETS = ("scifact", "vaswani", "ohsumed", "mq2008")
ONE_PART = ("vaswani", "cranfield", "cystic fibrosis", "home-depot")
RELEVANT = {"movielens": 4.0}
# Sizes of the smaller and of the larger group.
SIZES = ((4, 150), (10, 100), (20, 20), (30, 300), (150, 150))


def load_folds(name: str) -> Any:
    """Folds of a set, with the training and test parts that the audit compares."""
    if name in ("scifact", "nfcorpus"):
        ranker, collection = open_text(name)
        train, test = (
            ranker.table(first_queries(collection, part), collection.qrels[part])
            for part in ("train", "test")
        )
        return [Fold(train, None, test, name)]
    if name == "cf-letor":
        return [load_cf_letor(number) for number in range(1, 6)]
    if name == "movielens":
        return [load_movielens_task("100k")]
    if name in ONE_PART:
        return query_folds(load_table(name), 5, random_state=SEED)
    return load_dataset(name)


@cache
def load_table(name: str) -> RankingData:
    """Rows of a collection with one part."""
    if name == "home-depot":
        return product_table(name)
    ranker, collection = open_text(name)
    return ranker.table(collection.judged_queries("all"), collection.qrels["all"])


def open_text(name: str) -> tuple[TextRanker, Any]:
    """Ranker that retrieves by BM25, and its collection."""
    collection = load_text(TEXTS[name])
    index = TextIndex(collection.fields).add(collection.documents)
    return TextRanker(index, n_candidates=N_CANDIDATES), collection


def first_queries(collection: Any, part: str) -> dict[str, str]:
    """All test queries, or the first training queries."""
    queries = collection.judged_queries(part)
    return dict(list(queries.items())[:MOST_QUERIES]) if part == "train" else queries


def audit(name: str, folds: Any) -> MemoryAudit:
    """Gains of the rankers over the baseline of a set."""
    baseline = f"column:{BASELINES.get(name, 'retrieval_score')}"
    board = compare(
        RANKERS | {"baseline": baseline},
        folds,
        measures=["nDCG@10"],
        baseline="baseline",
        isolate=False,
    )
    return memory_audit(board, folds, rel=RELEVANT.get(name, 1.0))


def ends(mean: float, low: float, high: float) -> str:
    """A gain with its interval, in thousandths."""
    if np.isnan(mean):
        return "–"
    if np.isnan(low):
        return f"{1000 * mean:+.0f}"
    return f"{1000 * mean:+.0f} ({1000 * low:+.0f} to {1000 * high:+.0f})"


def print_gains(names: list[str]) -> None:
    """Shares of every set, and gains of every ranker."""
    audits = {name: audit(name, load_folds(name)) for name in names}
    print("study_memory: test queries with a relevant document that was relevant in training")
    print(f"\n{'':18}{'queries':>9}{'seen':>8}{'share':>9}{'of pairs':>11}")
    for name, found in audits.items():
        print(
            f"{name:18}{found.n_queries:9,}{found.n_seen:8,}{found.share_of_queries:9.1%}"
            f"{found.share_of_pairs:11.1%}"
        )
    print("\nGain over the baseline in nDCG@10, in thousandths, with 95 % intervals")
    print("p: of the difference, not corrected")
    print(f"\n{'':30}{'all':>18}{'seen':>22}{'unseen':>22}{'p':>8}  verdict")
    for name, found in audits.items():
        for row in found.rows:
            p = "–" if np.isnan(row.p_value) else f"{row.p_value:.3f}"
            print(
                f"{name:18}{row.system:12}{ends(row.gain, row.gain_low, row.gain_high):>18}"
                f"{ends(row.seen, row.seen_low, row.seen_high):>22}"
                f"{ends(row.unseen, row.unseen_low, row.unseen_high):>22}{p:>8}  {row.verdict}"
            )


def gains_of(name: str) -> Iterator[np.ndarray]:
    """Gains of the rankers on every query of a set."""
    folds = load_folds(name)
    baseline = f"column:{BASELINES.get(name, 'retrieval_score')}"
    systems = RANKERS | {"baseline": baseline}
    board = compare(systems, folds, measures=["nDCG@10"], isolate=False)
    values = board.per_query()
    for ranker in RANKERS:
        gains = values[ranker] - values["baseline"]
        yield gains[~np.isnan(gains)]


def print_errors(names: list[str]) -> None:
    """Share of draws in which intervals miss, by set and sizes of the groups."""
    populations = {name: list(gains_of(name)) for name in names}
    print(f"\nstudy_memory errors: misses of 95 % intervals, {N_DRAWS:,} draws of every ranker")
    print("in %: difference by Welch alone, by the audit; gain on the smaller group by t, by it\n")
    print(f"{'':18}" + "".join(f"{f'{a} and {b}':>20}" for a, b in SIZES))
    rows = []
    for name, gains in populations.items():
        cells = []
        for sizes in SIZES:
            rng = np.random.default_rng(SEED)
            misses = np.zeros(4)
            for values in gains:
                groups = [rng.choice(values, (size, N_DRAWS)) for size in sizes]
                welch = np.array(ttest_ind(groups[0], groups[1], equal_var=False)[1])
                pairs = zip(groups[0].T, groups[1].T, strict=True)
                ours = np.array([compare_groups(a, b, 0.95)[3] for a, b in pairs])
                ends = t_intervals(groups[0]), mean_intervals(groups[0], bounds=(-1, 1))
                mean = values.mean()
                missed = [((low > mean) | (high < mean)).sum() for low, high in (e.T for e in ends)]
                misses += (welch < LEVEL).sum(), (ours < LEVEL).sum(), *missed
            cells.append(misses / N_DRAWS / len(gains))
        rows.append(cells)
        print_shares(name, cells)
    print_shares("mean", np.mean(rows, axis=0))
    print_shares("worst", np.max(rows, axis=0))


def print_shares(name: str, cells: Any) -> None:
    """A line of four shares per cell, in percent."""
    texts = [" ".join(f"{100 * share:.1f}" for share in cell) for cell in cells]
    print(f"{name:18}" + "".join(f"{text:>20}" for text in texts))


def print_held_out(names: list[str]) -> None:
    """Gain on folds of queries and on folds by document."""
    print("\nstudy_memory held-out: gain in nDCG@10 on folds of queries and by document\n")
    print(f"{'':18}{'ranker':12}{'folds of queries':>22}{'folds by document':>22}  folds")
    for name in names:
        data = load_table(name)
        words: dict[str, Any] = {"doc_ids": data.doc_ids, "shuffle": True, "random_state": SEED}
        kind = "components"
        try:
            folds = query_folds(data, DocumentKFold(n_splits=5, **words))
        except ValueError:
            kind = "purged"
            folds = query_folds(data, DocumentKFold(n_splits=5, purge=True, **words))
        by_query, by_document = audit(name, load_folds(name)), audit(name, folds)
        for first, second in zip(by_query.rows, by_document.rows, strict=True):
            print(
                f"{name:18}{first.system:12}{ends(first.gain, first.gain_low, first.gain_high):>22}"
                f"{ends(second.gain, second.gain_low, second.gain_high):>22}  {kind}"
            )


def print_boosters(names: list[str]) -> None:
    """Leads over LambdaMART on seen and on unseen queries of splits."""
    print("study_memory boosters: leads over LambdaMART, in thousandths of nDCG@10\n")
    peers = ("LightGBM", "CatBoost")
    makers: dict[str, Any] = {name: study_generalisation.PEERS[name] for name in peers}
    makers[OURS] = lambda: LambdaMART(**study_generalisation.EQUAL)
    for name in names:
        rows = study_generalisation.load_rows(name, study_generalisation.MOST_ROWS)
        leads: dict[str, list[list[float]]] = {ranker: [] for ranker in peers}
        shares, n_train = [], round(study_generalisation.TRAIN_SHARE * rows.n_queries)
        for split in study_generalisation.AGAIN:
            order = np.random.default_rng(split).permutation(rows.n_queries)
            train = rows.queries(np.sort(order[:n_train]))
            test = rows.queries(np.sort(order[n_train:]))
            values = {}
            for ranker, make in makers.items():
                model = make().fit(train.X, train.y, qid=train.qid)
                values[ranker] = model.predict(test.X)
            board = evaluate_systems(test, values, measures="nDCG@10", baseline=OURS, train=train)
            assert board.memory is not None
            shares.append(board.memory.share_of_queries)
            for row in board.memory.rows:
                leads[row.system].append([row.gain, row.seen, row.unseen])
        print(f"{name}, of which {np.mean(shares):.1%} of the queries are seen\n")
        print(f"{'':12}{'all':>14}{'seen':>14}{'unseen':>14}")
        for ranker, found in leads.items():
            means = 1000 * np.mean(found, axis=0)
            share = 1 / len(found) + (rows.n_queries - n_train) / n_train
            errors = 1000 * np.std(found, axis=0, ddof=1) * np.sqrt(share)
            cells = "".join(
                f"{f'{mean:.1f}±{error:.1f}':>14}"
                for mean, error in zip(means, errors, strict=True)
            )
            print(f"{ranker:12}{cells}")


def main() -> None:
    words = sys.argv[1:]
    jobs = {
        "errors": (print_errors, ERROR_SETS),
        "held-out": (print_held_out, ONE_PART[:3]),
        "boosters": (print_boosters, ("scifact",)),
    }
    job, sets = jobs.get(words[0] if words else "", (print_gains, SETS))
    job([word for word in words if word not in jobs] or list(sets))


if __name__ == "__main__":
    main()
