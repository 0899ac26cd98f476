"""How often the promises of ``AnswerRule`` are broken, and how many queries it answers.

    python -m benchmarks.study_answers > docs/study_answers.txt

A set of lists is a population of queries. Every draw takes n judged queries from it at random, with
replacement, and fits a rule, so that the true rate of wrong decisions is known: it is the rate in
the whole population. A promise is broken in a draw if this rate is larger than promised. "kept" is
the share of all answerable queries that are answered, a mean over draws; a rule that cannot keep
its promise answers none. "top score" is the usual threshold on the highest score, set by the same
exact test on all n queries. "auto" is the default policy of ``AnswerRule``.

The first ten documents of a list count. Queries with nothing relevant in their list are those that
were judged so, or ("removed") the others without their relevant documents, which are one in five of
the queries then; in OHSUMED always, where 4 of 106 lists have nothing relevant. The lists
are those of a cross-encoder (five sets of 45 queries), of BM25 (SciFact, NFCorpus), and of
``RidgeRanker`` on held-out folds (MQ2008, OHSUMED). Three sets of 20,000 simulated queries are hard
on purpose: in "ties" scores are rounded to halves, in "reversed" the highest scores are more often
wrong than those below, in "rare" one query in ten has nothing relevant.

Numbers of tables, from 1, as arguments print only these tables. The settings of the rule were
chosen on other draws: those of seeds from 10,000 on.
"""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankwise import RidgeRanker
from rankwise.datasets import load_dataset, read_qrels
from rankwise.decisions import AnswerRule, answer_rule, list_scores
from rankwise.text import TextIndex, load_text

DATA = Path(os.environ.get("RANKWISE_DATA", "data"))
RERANKED = ("scifact", "nfcorpus", "arguana", "fiqa", "scidocs")
SIMULATED = ("ties", "reversed", "rare")
POLICIES = ("top_score", "auto")
DEPTH, DRAWS, SIZES = 10, 200, (50, 100, 200, 400)
PROMISES = (
    ("false_answers", 0.1, "judged"),
    ("false_answers", 0.1, "removed"),
    ("wrong_answers", 0.1, "judged"),
    ("wrong_answers", 0.2, "judged"),
)
FEWEST, SHARE = 0.05, 0.2  # of queries with nothing relevant


class Population(NamedTuple):
    """Features of all lists, and of the lists without their relevant documents."""

    names: list[str]
    features: Any
    without: Any
    answerable: Any

    @property
    def removed(self) -> bool:
        """Whether hardly any list has nothing relevant, so that documents must be removed."""
        return bool(self.answerable.mean() > 1 - FEWEST)

    def true_rate(self, rule: AnswerRule) -> tuple[float, float]:
        """Rate that the promise is about, and share of the answerable queries that are kept."""
        good = rule._values(self.features[self.answerable]) >= rule.threshold_
        bad = self.features[~self.answerable]
        share = 1 - self.answerable.mean()
        if rule.report_.unanswerable == "removed":
            bad, share = self.without[self.answerable], SHARE
        false, kept = (rule._values(bad) >= rule.threshold_).mean(), good.mean()
        if rule.promise == "wrong_answers" and false + kept > 0:
            false = share * false / (share * false + (1 - share) * kept)
        return float(false), float(kept)


def describe(scores: Any, y: Any, qid: Any = None) -> Population:
    """Population of the lists of a run, or of scores."""
    lists: Any = list_scores(scores, y, qid)
    names, features = answer_rule._describe([lists], None, DEPTH)
    _, without = answer_rule._describe([lists], None, DEPTH, without=1.0)
    answerable = np.array([bool((lists.y[rows][:DEPTH] >= 1).any()) for rows in lists])
    return Population(names, features, without, answerable)


def read_reranked(name: str) -> Population:
    """Lists of a cross-encoder."""
    folder = DATA / "beir-cross-encoder-scores"
    run: dict[str, dict[str, float]] = {}
    with gzip.open(folder / f"{name}.tsv.gz", "rt") as lines:
        next(lines)
        for line in lines:
            query, document, score = line.rstrip("\n").split("\t")
            run.setdefault(query, {})[document] = float(score)
    return describe(run, read_qrels(folder / f"qrels.{name}.test.txt.gz"))


def read_letor(name: str) -> Population:
    """Held-out scores of ridge regression on the five folds."""
    columns: list[tuple[Any, Any, Any]] = []
    for fold in range(1, 6):
        parts: Any = load_dataset(name, fold=fold)
        model = RidgeRanker().fit(parts.train.X, parts.train.y, qid=parts.train.qid)
        columns.append((model.predict(parts.test.X), parts.test.y, parts.test.qid))
    scores, y, qid = (np.concatenate(column) for column in zip(*columns, strict=True))
    return describe(scores, y, qid)


def read_text(name: Any, *parts: str) -> Population:
    """First 100 documents of BM25 for the queries of some parts."""
    collection = load_text(name)
    index = TextIndex(collection.fields).add(collection.documents)
    qrels = [collection.qrels[part] for part in parts]
    judged = {query for part in qrels for query in part.qid.tolist()}
    queries = {query: text for query, text in collection.queries.items() if query in judged}
    return describe(index.search(queries, k=100), qrels)


def simulate(name: str) -> Population:
    """Lists of ten documents with normal scores."""
    rng, n = np.random.default_rng(7), 20_000
    answerable = rng.random(n) < (0.9 if name == "rare" else 0.75)
    scores = rng.normal(size=(n, 10))
    scores[:, 0] += 2.0 * answerable
    if name == "reversed":
        scores[:, 0] += 6.0 * (~answerable & (rng.random(n) < 0.1))
    if name == "ties":
        scores = np.round(2 * scores) / 2
    y = np.zeros((n, 10))
    y[:, 0] = answerable
    return describe(scores.ravel(), y.ravel(), np.repeat(np.arange(n), 10))


def measure(
    population: Population, promise: Any, at_most: float, removed: bool, n: int, policy: Any
) -> Any:
    """Share of draws that break the promise, mean kept, and share that cannot keep it."""
    rates = []
    for draw in range(DRAWS):
        rows = np.random.default_rng(draw).integers(0, len(population.answerable), n)
        rule = AnswerRule(
            promise, at_most, policy=policy, unanswerable_share=SHARE, random_state=draw
        )
        names, *parts = population
        features, without, answerable = (part[rows] for part in parts)
        rule._fit_features(names, features, answerable, without if removed else None)
        rate, kept = population.true_rate(rule)
        rates.append((rate > at_most + 1e-12, kept, np.isinf(rule.threshold_)))
    return np.mean(rates, axis=0)


def main() -> None:
    populations = {f"reranked {name}": read_reranked(name) for name in RERANKED}
    populations["scifact"] = read_text("scifact", "train", "test")
    populations["nfcorpus"] = read_text("nfcorpus", "dev", "test")
    populations |= {name: read_letor(name) for name in ("mq2008", "ohsumed")}
    populations |= {f"simulated {name}": simulate(name) for name in SIMULATED}
    print(f"study_answers: {DRAWS} draws of n judged queries, confidence .95, depth {DEPTH}\n")
    print(f"{'':20}{'queries':>9}{'nothing relevant':>18}")
    for name, population in populations.items():
        n, share = len(population.answerable), 1 - population.answerable.mean()
        print(f"{name:20}{n:9,}{share:18.2f}")
    for promise, at_most, source in [PROMISES[int(word) - 1] for word in sys.argv[1:]] or PROMISES:
        print(
            f"\n{promise} <= {at_most:g}, {source}: draws that break it; mean kept; cannot keep it"
        )
        print(f"{'':20}{'n':>5}{'top score':>22}{'auto':>22}")
        found: dict[int, list[Any]] = {n: [] for n in SIZES}
        for name, population in populations.items():
            removed = source == "removed" or population.removed
            for n in SIZES:
                settings = (promise, at_most, removed, n)
                both = [measure(population, *settings, policy) for policy in POLICIES]
                found[n].append(both)
                print(f"{name:20}{n:5}{write(both)}", flush=True)
        for n, values in found.items():
            print(f"{'mean':20}{n:5}{write(np.mean(values, axis=0))}")
        worst = np.max(list(found.values()), axis=(0, 1))
        print(f"{'most often broken':25}{worst[0, 0]:10.3f}{'':12}{worst[1, 0]:10.3f}")


def write(cells: Any) -> str:
    """Cells of the policies."""
    return "".join(f"{broken:10.3f}{kept:6.3f}{none:6.2f}" for broken, kept, none in cells)


if __name__ == "__main__":
    main()
