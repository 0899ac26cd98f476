"""How often promises of ``CutRule`` are broken, and how many documents the rules show.

    python -m benchmarks.study_cuts > docs/study_cuts.txt

The queries of each set of :mod:`benchmarks.decision_sets` are a population: n judged queries are
drawn from it with replacement, so that the true mean of a measure is known: that over all queries
of the set, with the rule of the draw. Sets have their first 500 queries at most. There are 200
draws of 100 judged queries (seeds 0 to 199), and 100 of 400; the shares that the rule gives to its
parts were chosen on seeds from 1000 on. Three promises are measured:

- recall of at least 0.9 times that of the whole lists, at a confidence of 95 %;
- the same on average over draws (conformal risk control);
- precision of at least 0.7 times that of the top documents, at a confidence of 95 %.

A promise is broken in a draw if the rule makes it and the true mean is too low. "On average" is the
mean over the draws of the true mean, minus what was promised. "half" draws n queries without
replacement from one half of the queries, and measures on the other half, whose own mean is off by
its standard error. The last table has losses of known means instead of draws: the share of samples
in which the test of the mean accepts a promise that is just broken. Those of sets are the losses of
recall with the largest fixed k that breaks the promise.

Cells in ``build/study_cuts.jsonl`` are not computed again; names of sets as arguments compute only
these, without tables.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.decision_sets import SETS, load_lists, pack
from rankwise import evaluate
from rankwise.decisions import CutRule
from rankwise.decisions.list_cuts import POLICIES
from rankwise.decisions.risk_bounds import mean_risk_p_value

STORE = Path("build/study_cuts.jsonl")
N_DRAWS, BLOCK, LEVEL = {100: 200, 400: 100}, 25, 0.95
N_QUERIES = 500
# Promises: measure, confidence level, part of the best mean that is promised.
PROMISES: dict[str, tuple[Any, float | None, float]] = {
    "recall": ("recall", LEVEL, 0.9),
    "recall on average": ("recall", None, 0.9),
    "precision": ("precision", LEVEL, 0.7),
}
HALVES = ("scifact", "nfcorpus", "mq2008")
# Losses and their probabilities; their mean is about 0.1.
LOSSES = {
    "0, 1": ([0, 1], [0.9, 0.1]),
    "0, 1/2": ([0, 0.5], [0.8, 0.2]),
    "0, 1/4, 1": ([0, 0.25, 1], [0.75, 0.2, 0.05]),
    "0, 1/10, 1": ([0, 0.1, 1], [0.45, 0.5, 0.05]),
    "0.05, 1": ([0.05, 1], [0.95, 0.05]),
    "0.09, 0.2": ([0.09, 0.2], [0.9, 0.1]),
}
SETS_OF_LOSSES = ("ce-nfcorpus", "scifact", "mq2008")


class Population:
    """Lists of a set, and their measures if they are cut after each document."""

    def __init__(self, lists: list[Any]) -> None:
        self.lists = lists
        self.scores, self.data = pack(lists)
        self.starts = self.data.groups.indptr[:-1]
        hits = [np.cumsum(entry.grades >= 1) for entry in lists]
        totals = [h[-1] + (e.missed >= 1).sum() for h, e in zip(hits, lists, strict=True)]
        self.columns = {
            "recall": np.concatenate([h / n for h, n in zip(hits, totals, strict=True)]),
            "precision": np.concatenate([h / np.arange(1, len(h) + 1) for h in hits]),
        }

    def mean(self, measure: str, shown: NDArray[np.int64]) -> float:
        return float(self.columns[measure][self.starts + shown - 1].mean())

    def promised(self, name: str) -> float:
        measure, _, part = PROMISES[name]
        sizes = np.diff(self.data.groups.indptr)
        best = self.mean(measure, sizes if measure == "recall" else np.ones_like(sizes))
        return float(np.floor(100 * part * best) / 100)

    def just_broken(self) -> NDArray[np.float64]:
        """Losses of recall with the largest k that breaks its promise."""
        sizes, at_least = np.diff(self.data.groups.indptr), self.promised("recall")
        ks = range(1, int(sizes.max()) + 1)
        k = max(k for k in ks if self.mean("recall", sizes.clip(max=k)) < at_least)
        return 1.0 - self.columns["recall"][self.starts + sizes.clip(max=k) - 1]


@cache
def load_population(name: str) -> Population:
    return Population(load_lists(name)[:N_QUERIES])


def measure_draw(name: str, promise: str, n: int, policy: str, seed: int, half: bool) -> Any:
    population, rng = load_population(name), np.random.default_rng(seed)
    at_least, lists = population.promised(promise), population.lists
    if half:
        order = rng.permutation(len(lists))
        drawn, middle = order[:n], len(order) // 2
        judged_on = Population([lists[i] for i in order[middle:]])
    else:
        drawn, judged_on = rng.integers(0, len(lists), n), population
    measure, level, _ = PROMISES[promise]
    rule = CutRule(measure, at_least, level, policy=policy, random_state=seed)  # type: ignore[arg-type]
    rule.fit(*pack([lists[i] for i in drawn]))
    shown = rule.decide(judged_on.scores, judged_on.data.qid).n_shown
    return {
        "made": rule.report_.threshold is not None,
        "gap": judged_on.mean(measure, shown) - at_least,
        "shown": float(shown.mean()),
        "kept": judged_on.mean("recall", shown),
        "policy": rule.policy_,
    }


def measure_all(names: list[str]) -> dict[tuple[Any, ...], list[Any]]:
    """Draws by set, promise, n, policy and "half" or "all"."""
    found: dict[tuple[Any, ...], dict[int, Any]] = defaultdict(dict)
    for store in STORE.parent.glob(f"{STORE.stem}*.jsonl"):
        for line in store.read_text().splitlines():
            cell = json.loads(line)
            *key, seed = cell["key"]
            found[tuple(key)][seed] = cell["draw"]
    STORE.parent.mkdir(exist_ok=True)
    own_store = STORE.with_stem(f"{STORE.stem}-{names[0]}") if names != list(SETS) else STORE
    # With 100 queries there are too few to choose, and "auto" is fixed k.
    cells = [(100, "fixed_k"), (400, "fixed_k"), (400, "auto")]
    keys = [(*cell, promise, False) for promise in PROMISES for cell in cells]
    for block in range(0, max(N_DRAWS.values()), BLOCK):
        for name in names:
            halves = [(100, "fixed_k", "recall", True)] if name in HALVES else []
            for n, policy, promise, half in [*keys, *halves]:
                key = (name, promise, n, policy, half)
                for seed in range(block, min(block + BLOCK, N_DRAWS[n])):
                    if seed in found[key]:
                        continue
                    draw = measure_draw(name, promise, n, policy, seed, half)
                    found[key][seed] = draw
                    with own_store.open("a") as file:
                        file.write(json.dumps({"key": [*key, seed], "draw": draw}) + "\n")
    return {key: [draws[seed] for seed in sorted(draws)] for key, draws in found.items()}


def print_promise(found: dict[tuple[Any, ...], list[Any]], promise: str) -> None:
    columns = ("promised", "made", "broken", "on average", "shown", "kept")
    print(f"\nPromise: {promise}, over draws of n judged queries\n")
    print(f"{'':14}{'n':>5}  {'policy':9}" + "".join(f"{c:>12}" for c in columns) + "  chosen")
    for (name, own, n, policy, half), draws in sorted(found.items(), key=lambda e: _position(e[0])):
        if own != promise:
            continue
        made = np.array([draw["made"] for draw in draws])
        gap, shown, kept = (np.array([d[k] for d in draws]) for k in ("gap", "shown", "kept"))
        broken = f"{100 * (made & (gap < 0)).mean():.1f} %"
        cells = [f"{load_population(name).promised(promise):.2f}", f"{100 * made.mean():.0f} %"]
        cells += [broken, f"{gap.mean():+.4f}", f"{shown.mean():.1f}", f"{kept.mean():.3f}"]
        others = sum(draw["policy"] != "fixed_k" for draw in draws)
        chosen = f"  other in {100 * others / len(draws):.0f} %" if policy == "auto" else ""
        title = f"{name}, half" if half else name
        print(f"{title:14}{n:5}  {policy:9}" + "".join(f"{c:>12}" for c in cells) + chosen)


def _position(key: tuple[Any, ...]) -> tuple[Any, ...]:
    name, _, n, policy, half = key
    return SETS.index(name), half, n, policy != "fixed_k"


def print_differences(found: dict[tuple[Any, ...], list[Any]]) -> None:
    """Print what "auto" shows more than fixed k in the same draws, with 400 judged queries."""
    print("\nauto minus fixed k on the same 400 judged queries: documents shown for recall, recall")
    print("of what is shown for precision; mean and standard deviation over draws\n")
    print(f"{'':14}" + "".join(f"{promise:>22}" for promise in PROMISES))
    for name in SETS:
        cells = []
        for promise in PROMISES:
            what = "kept" if promise == "precision" else "shown"
            auto, fixed = (
                np.array([draw[what] for draw in found[name, promise, 400, policy, False]])
                for policy in ("auto", "fixed_k")
            )
            digits = 3 if what == "kept" else 1
            difference = auto - fixed
            cells.append(f"{difference.mean():+.{digits}f} ± {difference.std():.{digits}f}")
        print(f"{name:14}" + "".join(f"{cell:>22}" for cell in cells))


def print_policies() -> None:
    """Print what each policy shows or keeps with all queries of a set."""
    print("\nPolicies fitted on all queries of a set: documents shown per query for the recall on")
    print("average; then recall of what is shown for the precision, at a confidence of 95 %\n")
    print(f"{'':14}" + "".join(f"{policy:>14}" for policy in POLICIES))
    for promise in ("recall on average", "precision"):
        measure, level, _ = PROMISES[promise]
        for name in SETS:
            population, cells = load_population(name), []
            at_least = population.promised(promise)
            for policy in POLICIES:
                rule = CutRule(measure, at_least, level, policy=policy)
                report = rule.fit(population.scores, population.data).report_
                shown = f"{report.n_shown:.1f}" if measure == "recall" else f"{report.kept:.3f}"
                cells.append("–" if report.threshold is None else shown)
            print(f"{name:14}" + "".join(f"{cell:>14}" for cell in cells))
        print()


def print_bound(n_samples: int = 4000) -> None:
    print("Accepted though the mean loss is exactly what is promised, at a level of 5 %\n")
    print(f"{'losses':14}{'n = 30':>10}{'n = 100':>10}{'n = 400':>10}")
    cases: dict[str, tuple[Any, Any]] = dict(LOSSES)
    for name in SETS_OF_LOSSES:
        losses = load_population(name).just_broken()
        cases[name] = losses, np.full(len(losses), 1.0 / len(losses))
    for name, (losses, p) in cases.items():
        shares = []
        for n in (30, 100, 400):
            rng = np.random.default_rng(n)
            at_most = float(np.dot(losses, p))
            samples = rng.choice(losses, (n_samples, n), p=p)
            accepted = [mean_risk_p_value(sample, at_most) <= 0.05 for sample in samples]
            shares.append(f"{100 * np.mean(accepted):.1f} %")
        print(f"{name:14}" + "".join(f"{share:>10}" for share in shares))


def check(name: str = "mq2008") -> None:
    """The measures of this study are those of ``evaluate``."""
    population = load_population(name)
    own = evaluate(population.data.y, population.scores, population.data.qid, ["R@5", "P@1"])
    sizes = np.diff(population.data.groups.indptr)
    np.testing.assert_allclose(own["P@1"], population.mean("precision", sizes // sizes), atol=0.01)
    np.testing.assert_allclose(own["R@5"], population.mean("recall", sizes.clip(max=5)), atol=0.01)


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    found = measure_all(names)
    if names != list(SETS):
        return
    check()
    draws = " and ".join(f"{count} draws of {n}" for n, count in N_DRAWS.items())
    print(f"study_cuts: {len(SETS)} sets, {draws} judged queries")
    for promise in PROMISES:
        print_promise(found, promise)
    print_differences(found)
    print_policies()
    print_bound()


if __name__ == "__main__":
    main()
