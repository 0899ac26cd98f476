"""Are learnt weights worse than hand-made ones, and do their intervals hold?

    python -m benchmarks.study_weights > docs/study_weights.txt

*Users*: eight simulated users label lists of documents with four to six signals. The current
weights are the user's own ("right"), near them, or wrong in one way. Each of 25 draws gives n
queries to ``compare_weights``. If the verdict is "take", the learnt weights are measured on 2,000
other queries of the user; draws are "worse" if the learnt weights are significantly worse there
(paired t, 5 %). "naive" takes what fits the same n queries best, without held-out queries, pull or
test.

*Sets*: draws of n queries from one half of a real set, drawn anew each time; the other half
measures. The hand-made weights were written down before any result was seen.

*Story*: weights tuned by trial win on the queries that they were tuned on, and lose on others.

*Intervals*: share of three times as many draws in which all best weights lie inside the joint 95 %
intervals, for four users. The best weights are those of 20,000 queries.

Draws have seeds from 0. The strengths, the folds and the rule that chooses the strength come from
other seeds (``--first-seed 5000``). Names of parts as arguments compute only these.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.study_generalisation import load_rows
from rankwise import RankingData
from rankwise.datasets.judged_source import load_source
from rankwise.decisions import compare_weights
from rankwise.decisions.weight_comparison import NO_PULL, _drop_uniform, _Fits
from rankwise.fusion import NonNegativeRanker
from rankwise.metrics import parse
from rankwise.metrics.significance import paired_test

N_TRIALS = 1000
INTERVAL_SIZES = (20, 100)
INTERVAL_USERS = ("right", "useless", "rare", "heavy")
SIZES = (20, 50, 100, 200, 500)
MEASURE = "nDCG@10"
SIGNALS: tuple[str, ...] = ("similarity", "recency", "importance", "length", "popularity", "trust")


class User(NamedTuple):
    """How a simulated user labels, and the weights in use."""

    truth: tuple[float, ...]
    current: tuple[float, ...]
    n_documents: int = 20
    share: float = 0.2  # of relevant documents
    noise: float = 0.15
    correlation: float = 0.0
    spread: float = 0.0  # of the weights between queries
    is_heavy: bool = False  # signals of long tails, which the user reads on a log scale

    def draw(self, rng: np.random.Generator, n: int) -> RankingData:
        """Labelled lists of n queries."""
        p, m = len(self.truth), self.n_documents
        common = rng.normal(size=(n, m, 1))
        own = rng.normal(size=(n, m, p))
        Z = np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * own
        weights = np.array(self.truth) + self.spread * rng.normal(size=(n, 1, p))
        wanted = (Z * weights).sum(axis=2) + self.noise * rng.normal(size=(n, m))
        limit = np.quantile(wanted, 1 - self.share, axis=1, keepdims=True)
        y = (wanted > limit).astype(float).ravel()
        X = np.exp(1.2 * Z) if self.is_heavy else Z
        names = list(SIGNALS[:p])
        return RankingData(X.reshape(-1, p), y, qid=np.repeat(np.arange(n), m), feature_names=names)


USERS = {
    "right": User((0.4, 0.3, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1), noise=0.4),
    "near": User((0.35, 0.3, 0.25, 0.1), (0.4, 0.3, 0.2, 0.1), noise=0.4),
    "useless": User((0.5, 0.3, 0.0, 0.2), (0.3, 0.2, 0.3, 0.2), noise=0.3),
    "turned": User((0.5, 0.3, -0.2, 0.1), (0.4, 0.3, 0.2, 0.1), noise=0.3),
    "correlated": User((0.5, 0.1, 0.1, 0.1, 0.1, 0.1), (1, 1, 1, 1, 1, 1), correlation=0.7),
    "rare": User((0.5, 0.3, 0.1, 0.1), (0.3, 0.3, 0.2, 0.2), n_documents=40, share=0.03, noise=0.4),
    "mixed": User((0.4, 0.3, 0.2, 0.1), (0.3, 0.3, 0.3, 0.1), spread=0.2),
    "heavy": User((0.4, 0.3, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1), noise=0.3, is_heavy=True),
}  # fmt: skip
# Signals by column, and hand-made weights. MQ2008 counts LETOR's features from 0.
SETS: dict[str, dict[int | str, float]] = {
    "mq2008": {24: 0.5, 22: 0.2, 21: 0.1, 40: 0.1, 41: 0.1},
    "ohsumed": {40: 0.5, 10: 0.3, 25: 0.2, 42: 0.1},
    "home-depot": {
        "bm25(title)": 0.1, "covered_ratio(title)": 0.5, "phrase(title)": 0.2,
        "exact(title)": 0.1, "cosine(title)": 0.3,
    },
    "expedia": {
        "prop_starrating": 0.2, "prop_review_score": 0.2, "prop_location_score1": 0.2,
        "prop_location_score2": 0.3, "promotion_flag": 0.1,
    },
}  # fmt: skip


def load_signals(name: str) -> tuple[RankingData, dict[str, float]]:
    """Rows of a real set with the signals alone, missing values 0, and the weights in use."""
    if name in ("mq2008", "ohsumed"):
        rows = load_source([f"{name}:all"], {})
    else:
        rows = load_rows(name, 12_000)
    names = rows.feature_names or [str(j) for j in range(rows.n_features)]
    places = [names.index(str(signal)) for signal in SETS[name]]
    signals = [
        f"s{j}" if isinstance(signal, int) else signal for j, signal in enumerate(SETS[name])
    ]
    X = np.nan_to_num(np.asarray(rows.X[:, places], dtype=np.float64))
    current = dict(zip(signals, SETS[name].values(), strict=True))
    return RankingData(X, rows.y, qid=rows.qid, feature_names=signals), current


class Row:
    """What the draws of one user and size came to."""

    def __init__(self) -> None:
        self.takes, self.worse, self.naive_worse = 0, 0, 0
        self.gains: list[float] = []
        self.naive: list[float] = []

    def add(
        self, drawn: RankingData, rest: RankingData, current: dict[str, float], now: Any = None
    ) -> None:
        """Compare on the drawn queries, and measure on the rest, where ``now`` are the values."""
        found = compare_weights(drawn, current, n_resamples=0)
        fitted = NonNegativeRanker(0.0, query_weight="query").fit(drawn.X, drawn.y, qid=drawn.qid)
        if now is None:
            now = _measure(rest, found.current)
        gain, is_worse = _gain(rest, fitted.coef_, now)
        self.naive.append(gain)
        self.naive_worse += is_worse
        if found.verdict == "take":
            self.takes += 1
            gain, is_worse = _gain(rest, found.learned, now)
            self.gains.append(gain)
            self.worse += is_worse
        else:
            self.gains.append(0.0)

    def extend(self, other: Row) -> None:
        """Add the draws of another user or set."""
        self.takes += other.takes
        self.worse += other.worse
        self.naive_worse += other.naive_worse
        self.gains += other.gains
        self.naive += other.naive

    def line(self, name: str, n: int) -> str:
        """The shares and means of the draws."""
        m = len(self.gains)
        taken = sum(self.gains) / self.takes if self.takes else np.nan
        return (
            f"{name:12}{n:6}{self.takes / m:8.3f}{self.worse / m:8.3f}{np.mean(self.gains):9.4f}"
            f"{taken:9.4f}{self.naive_worse / m:13.3f}{np.mean(self.naive):9.4f}"
        )


def _measure(rest: RankingData, weights: Any) -> Any:
    return parse(MEASURE).per_query(rest.y, rest.X @ weights, rest.groups)


def _gain(rest: RankingData, weights: Any, now: Any) -> tuple[float, bool]:
    """True gain of weights, and whether they are significantly worse."""
    test = paired_test(_measure(rest, weights), now)
    return test.mean_difference, test.p_value < 0.05 and test.mean_difference < 0


HEADER = f"{'':12}{'n':>6}{'takes':>8}{'worse':>8}{'gain':>9}{'if taken':>9}"
HEADER += f"{'naive worse':>13}{'gain':>9}"


def study_users(first: int, n_draws: int) -> None:
    """Shares of draws and true gains of the simulated users."""
    print(f"users: {n_draws} draws of each size\n{HEADER}")
    pooled = {n: Row() for n in SIZES}
    for number, (name, user) in enumerate(USERS.items()):
        rest = user.draw(np.random.default_rng([number, 10**6]), 2000)
        current = dict(zip(SIGNALS, user.current, strict=False))
        now = _measure(rest, np.array(user.current))
        for n in SIZES:
            row = Row()
            for seed in range(first, first + n_draws):
                row.add(user.draw(np.random.default_rng([number, n, seed]), n), rest, current, now)
            print(row.line(name, n), flush=True)
            pooled[n].extend(row)
    for n, row in pooled.items():
        print(row.line("all", n))
    print()


def study_sets(first: int, n_draws: int) -> None:
    """The same of real sets, of which the half that is not drawn from measures."""
    print(f"sets: {n_draws} draws of each size\n{HEADER}")
    pooled = Row()
    for name in SETS:
        rows, current = load_signals(name)
        labels, starts = rows.groups.sort(rows.y), rows.groups.indptr[:-1]
        differ = np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)
        queries = np.flatnonzero(differ)
        for n in [size for size in SIZES if 2 * size <= len(queries)]:
            row = Row()
            for seed in range(first, first + n_draws):
                order = np.random.default_rng([n, seed]).permutation(queries)
                half = len(order) // 2
                row.add(rows.queries(order[:n]), rows.queries(order[half:]), current)
            print(row.line(name, n), flush=True)
            pooled.extend(row)
    print(pooled.line("all", 0).replace("     0", "      ", 1) + "\n")


def study_intervals(first: int, n_draws: int) -> None:
    """How often the joint intervals hold all best weights."""
    print(f"intervals: {n_draws} draws of each size; share that holds all best weights, mean width")
    print(f"{'':12}" + "".join(f"{n:>14}" for n in INTERVAL_SIZES))
    for number, (name, user) in enumerate(USERS.items()):
        if name not in INTERVAL_USERS:
            continue
        current = np.array(user.current, dtype=float)
        many = _drop_uniform(user.draw(np.random.default_rng([number, 2 * 10**6]), 20_000), [])
        scale = np.abs(current).sum()
        best = _Fits(many, current, True, parse(MEASURE), 0).learn(NO_PULL)
        cells = []
        for n in INTERVAL_SIZES:
            hits, widths = 0, []
            for seed in range(first, first + n_draws):
                drawn = user.draw(np.random.default_rng([number, n, seed]), n)
                fits = _Fits(_drop_uniform(drawn, []), current, True, parse(MEASURE), 0)
                low, high = fits.intervals(1000, 0.95)
                # Weights at the bound differ by rounding.
                slack = 1e-9 * scale
                hits += ((low - slack <= best) & (best <= high + slack)).all()
                widths.append((high - low).mean() / scale)
            cells.append(f"{hits / n_draws:7.3f}{np.mean(widths):7.2f}")
        print(f"{name:12}" + "".join(cells), flush=True)
    print()


def study_story(first: int, n_draws: int) -> None:
    """Weights tuned by trial on n queries: their gain there, elsewhere, and the verdict."""
    user, current = USERS["right"], np.array(USERS["right"].current)
    rest = user.draw(np.random.default_rng([0, 10**6]), 2000)
    now = _measure(rest, current)
    print(f"story: the best of {N_TRIALS} random weights on n queries; the user's own are right")
    print(f"{'n':>6}{'gain there':>12}{'elsewhere':>11}{'worse':>8}{'keep yours':>12}")
    for n in (10, 20, 40):
        rows = []
        for seed in range(first, first + n_draws):
            drawn = user.draw(np.random.default_rng([0, n, seed]), n)
            trials = np.random.default_rng(seed).dirichlet(np.ones(len(current)), N_TRIALS)
            means = [_measure(drawn, trial).mean() for trial in trials]
            best = int(np.argmax(means))
            there = means[best] - _measure(drawn, current).mean()
            found = compare_weights(drawn, dict(zip(SIGNALS, current, strict=False)), n_resamples=0)
            rows.append((there, *_gain(rest, trials[best], now), found.verdict != "take"))
        there, elsewhere, worse, kept = np.mean(rows, axis=0)
        print(f"{n:6}{there:+12.4f}{elsewhere:+11.4f}{worse:8.3f}{kept:12.3f}", flush=True)
    print()


PARTS: dict[str, Callable[[int, int], None]] = {
    "users": study_users, "sets": study_sets, "story": study_story,
    "intervals": study_intervals,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Are learnt weights worse than hand-made ones?")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=25)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        PARTS[part](options.first_seed, options.draws * (3 if part == "intervals" else 1))


if __name__ == "__main__":
    main()
