"""Is the reranker worth its calls: depths, promises and signals on real first stages and rerankers.

    python -m benchmarks.study_budget > docs/study_budget.txt

``RANKWISE_DATA`` names the folder of the data. Cross-encoder: MiniLM scores of 45 queries per set
after our BM25 (the file has three more sets, of which no first stage is public). "learnt":
LambdaMART with its defaults, trained on the other folds, after a BM25 column. robust03 and covid:
one participant's run reordered by the scores of another one, as a reranker with gaps; "reversed"
puts the better run first, so that reranking hurts.

Coverage: queries are drawn with replacement from the judged ones, whose means are the truth. In the
law "rare", depth 10 equals depth 100 except for 2 % of the queries, which lose all of their 1.0;
"none" has a gain of 0 at every depth. No setting was chosen on these draws.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import LambdaMART, RankingData
from rankwise.datasets import Qrels, load_dataset, read_qrels, read_run
from rankwise.decisions import label_budget, rerank_budget
from rankwise.decisions.rerank_budget import (
    bound_gains,
    bound_losses,
    evaluate_depths,
    read_lists,
)
from rankwise.fusion import as_run
from rankwise.metrics.statistics.all_pairs import max_t, pair_differences
from rankwise.metrics.statistics.stratified import correct_ends
from rankwise.text import QueryDocumentFeatures, TextIndex, load_text

DEPTHS = (0, 5, 10, 20, 50, 100)
MARGINS = (0.01, 0.02, 0.05, 0.1)
SIZES = (25, 50, 100, 200)
N_DRAWS, SEED = 200, 4600
BM25 = {"ohsumed": 11, "mq2008": 25}  # columns, from 1
RUNS = {
    "robust03": ("trec-robust03-runs", "robust03_qrels.txt.gz", "SABIR03BASE", "pircRBa1"),
    "robust03 reversed": ("trec-robust03-runs", "robust03_qrels.txt.gz", "pircRBa1", "SABIR03BASE"),
    "covid": (
        "trec-covid-runs", "qrels/qrels.covid-round4.txt.gz", "AbstractOHSU", "FullUDel",
    ),
}  # fmt: skip


def folder(name: str) -> Path:
    return Path(os.environ["RANKWISE_DATA"]) / name


def load_encoder(name: str) -> tuple[Any, Any, Qrels, Any]:
    """BM25, the cross-encoder, judgements of their queries, and lexical features."""
    base, scores = folder("beir-cross-encoder-scores"), {}
    with gzip.open(base / f"{name}.tsv.gz", "rt") as lines:
        for line in lines:
            query, document, score = line.split("\t")
            scores.setdefault(query, {})[document] = float(score)
    qrels = read_qrels(base / f"qrels.{name}.test.txt.gz")
    kept = np.isin(qrels.qid, list(scores))
    qrels = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
    collection = load_text(name)  # type: ignore[arg-type]
    index = TextIndex(collection.fields).add(collection.documents)
    queries = {query: collection.queries[query] for query in scores}
    first = index.search(queries, 100)
    rows = QueryDocumentFeatures(index).table(queries, first, qrels)
    return first, as_run(scores), qrels, rows


def load_runs(name: str) -> tuple[Any, Any, Qrels]:
    base, qrels, *names = RUNS[name]
    runs = [next(folder(base).glob(f"runs/*.{run}*gz")) for run in names]
    return read_run(runs[0]), read_run(runs[1]), read_qrels(folder(base) / qrels)


def load_learnt(name: str) -> tuple[Any, Any, RankingData]:
    """A BM25 column, and LambdaMART trained on the other folds."""
    parts, scores = [], []
    for fold in load_dataset(name):
        model = LambdaMART(random_state=0, n_jobs=1)
        model.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        parts.append(fold.test)
        scores.append(model.predict(fold.test.X))
    rows = RankingData(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
    )
    return rows.X[:, BM25[name] - 1], np.concatenate(scores), rows


def load_sets() -> Iterator[tuple[str, tuple[Any, Any, Any], Any]]:
    """Name, first stage, reranker and judgements, and rows with features if there are any."""
    for name in ("scifact", "nfcorpus"):
        first, reranked, qrels, rows = load_encoder(name)
        yield f"{name} encoder", (first, reranked, qrels), rows
    for name in BM25:
        yield f"{name} learnt", load_learnt(name), None
    for name in RUNS:
        yield name, load_runs(name), None


def measure(first: Any, reranked: Any, data: Any) -> np.ndarray:
    """nDCG@10 of every query at every depth."""
    lists, new, qrels, _ = read_lists(first, reranked, data)
    board = evaluate_depths(lists, new, list(DEPTHS), qrels, "nDCG@10")
    values = np.column_stack([*board.per_query().values()])
    return values[~np.isnan(values).any(axis=1)]


def print_depths(name: str, systems: tuple[Any, Any, Any], values: np.ndarray) -> None:
    """Best depth, cheapest depths by the means and by the promise, and signals."""
    found = rerank_budget(*systems, depths=DEPTHS[1:], margin=0.05)
    best, loss = found.depth[np.argmax(found.mean)], found.mean.max() - found.mean
    cheap = found.depth[np.flatnonzero(loss <= 0.01)[0]]
    saved = 1 - found.calls[found.depth == cheap][0] / found.calls[-1]
    shown = "–" if found.cheapest is None else str(found.cheapest)
    signals = found.signals[1:]  # without "random"
    rho = [signal.rho for signal in signals]
    half = min(signals, key=lambda signal: signal.loss)
    print(
        f"{name:20}{found.n_queries:5}{found.mean[0]:8.4f}{found.mean.max():8.4f}{best:6}"
        f"{cheap:6}{saved:7.0%}{shown:>7}{found.loss_high.min():8.3f}  {found.verdict:8}"
        f"{min(rho):+6.2f}{max(rho):+6.2f}{sum(s.low > 0 for s in signals):4}  "
        f"{half.name:8}{half.loss:+8.4f} ({half.loss_low:+.3f} to {half.loss_high:+.3f})"
    )


def simulate_laws() -> Iterator[tuple[str, np.ndarray]]:
    """Populations of 2,000 queries of which the truth is known."""
    rng = np.random.default_rng(SEED)
    base = rng.random(2000) * 0.5
    rare = np.tile(base[:, None], len(DEPTHS))
    lost = rng.permutation(2000)[:40]
    rare[lost, :3], rare[lost, 3:] = 0.0, 1.0
    yield "law: rare", rare
    noise = np.cumsum(rng.normal(0, 0.1, (2000, 5)), axis=1)
    noise -= noise.mean(axis=0)
    yield "law: none", np.column_stack([base + 0.25, base[:, None] + 0.25 + noise])


def first_below(bounds: np.ndarray, margin: float) -> int | None:
    """First depth whose bound of the loss is within the margin."""
    return next(iter(np.flatnonzero(bounds <= margin).tolist()), None)


def choose_by_max_t(values: np.ndarray, margin: float, seed: int) -> tuple[Any, int | None]:
    """Joint intervals of all pairs by signs alone, for comparison: ends, and the first depth."""
    pairs = pair_differences(values)
    critical = max_t(values, pairs, n_resamples=999, random_state=seed).critical
    lower, upper = correct_ends(critical, pairs.skewness)
    low, high = pairs.mean - upper * pairs.error, pairs.mean - lower * pairs.error
    return (low, high), first_below((-low).max(axis=1), margin)


def print_coverage(name: str, values: np.ndarray) -> None:
    """Errors of intervals and promises over draws of the judged queries."""
    truth = values.mean(axis=0)
    loss, gain = truth.max() - truth, truth[1:] - truth[0]
    differences = truth[:, None] - truth
    rng = np.random.default_rng(SEED)
    for n in SIZES:
        missed, by_signs, chosen, first = [], [], [], []
        for draw in range(N_DRAWS):
            drawn = values[rng.integers(0, len(values), n)]
            ends = bound_gains(drawn, 1.0, 0.95)
            missed.append((gain < ends[:, 0] - 1e-12) | (gain > ends[:, 1] + 1e-12))
            high = bound_losses(drawn, 1.0, 0.95)
            chosen.append([first_below(high, margin) for margin in MARGINS])
            (low, high), depth = choose_by_max_t(drawn, 0.02, draw)
            by_signs.append((differences < low - 1e-12) | (differences > high + 1e-12))
            first.append(depth is not None and loss[depth] > 0.02)
        cells = []
        for margin, column in zip(MARGINS, zip(*chosen, strict=True), strict=True):
            named = [depth for depth in column if depth is not None]
            broken = sum(loss[depth] > margin + 1e-12 for depth in named) / N_DRAWS
            cells.append(f"{len(named) / N_DRAWS:7.2f}{broken:7.3f}")
        print(
            f"{name:20}{n:5}{np.any(missed, axis=1).mean():8.3f}" + "".join(cells)
            + f"{np.any(by_signs, axis=(1, 2)).mean():9.3f}{np.mean(first):8.3f}",
            flush=True,
        )  # fmt: skip


def main() -> None:
    sets = list(load_sets())
    found = {name: measure(*systems) for name, systems, _ in sets}
    print("study_budget: nDCG@10 by the number of reranked documents, depths 0 to 100\n")
    print("by means: best depth, the cheapest one within .01 of it, and the calls that it saves")
    print("shown: depth shown to lose at most .05; margin: the smallest that is shown")
    print("signals: smallest and largest Spearman's rho of five with the gain, how many are above")
    print("0 by joint intervals; loss of half of the queries by the best of them, to all queries\n")
    print(
        f"{'':20}{'n':>5}{'first':>8}{'best':>8}{'depth':>6}{'cheap':>6}{'saved':>7}{'shown':>7}"
        f"{'margin':>8}  {'verdict':8}{'rho':>8}{'':8}half"
    )
    for name, systems, _ in sets:
        print_depths(name, systems, found[name])
    print(f"\nErrors over {N_DRAWS} draws of n queries; at most .05 are promised")
    print("gains: joint intervals of all gains that miss one; then by margin: share of draws with")
    print("a depth shown, and share in which it loses more than the margin. For comparison, signs:")
    print("the same for joint intervals of all pairs by signs alone (max-t), and their promise of")
    print("the first depth at margin .02\n")
    heads = "".join(f"{f'{margin:g}':>7}{'broken':>7}" for margin in MARGINS)
    print(f"{'':20}{'n':>5}{'gains':>8}{heads}{'signs':>9}{'broken':>8}")
    for name, values in [*found.items(), *simulate_laws()]:
        print_coverage(name, values)
    print("\nLabels: a ridge student on lexical features, by who labelled its training queries\n")
    for name, (first, reranked, _), rows in sets:
        if rows is not None:
            print(f"{name}\n{label_budget(first, reranked, rows)}\n")


if __name__ == "__main__":
    sys.exit(main())
