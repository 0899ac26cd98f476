"""How often simultaneous rank intervals hold, for strengths from simulated comparisons.

    python -m benchmarks.preference_coverage [repetitions]

Columns: the share of samples in which the intervals of all items hold their true ranks, the same
share with standard errors from the information (which assume independent comparisons and a true
model), the share in which plain 95 % intervals of the ranks hold (1.96 standard errors for each
pair), the share of pairs whose difference lies in its own 95 % interval, and the mean width of the
rank intervals. An item's true rank is any from 1 + the number of truly stronger items to the
number of items less the truly weaker ones, and the interval must hold all of these.

Boards:

- "equal": all items are equally strong, so every interval must reach from first to last;
- "spread": strengths are normal with standard deviation 0.5; Davidson's model is true;
- "half ties": the same, fitted with ties as half a win of each (a model that is not true);
- "annotators": items are equally strong, but each of 40 annotators has strengths of their own,
  normal with standard deviation 0.5, and the fit knows the annotators;
- "two ways": the same, and 60 prompts have strengths of their own with deviation 0.5.

A second table holds small boards of equal items: few comparisons of pairs or few full orders, with
and without a penalty, and few clusters, whose strengths are their own with standard deviation
``own``. "false" is the share of samples in which any item is significantly better than another;
samples without finite estimates are left out and counted.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

from rankwise.preferences import Comparisons, PairwisePreferences, PlackettLuce, rank_simultaneously

N_ANNOTATORS, N_PROMPTS, SPREAD, OWN, LOG_NU = 40, 60, 0.5, 0.5, -0.5
BOARDS = ("equal", "spread", "half ties", "annotators", "two ways")
SIZES = ((10, 1000), (30, 6000))  # items, comparisons


class SmallBoard(NamedTuple):
    """Equal items with little data."""

    kind: str  # pairs or orders
    items: int
    n: int
    alpha: float
    clusters: int = 0
    own: float = 0.0  # standard deviation of a cluster's own strengths


SMALL_BOARDS = (
    SmallBoard("pairs", 2, 3, 1.0),
    SmallBoard("pairs", 3, 6, 1.0),
    SmallBoard("pairs", 3, 10, 1.0),
    SmallBoard("pairs", 3, 10, 0.1),
    SmallBoard("pairs", 5, 20, 1.0),
    SmallBoard("pairs", 5, 20, 0.1),
    SmallBoard("pairs", 5, 50, 1.0),
    SmallBoard("pairs", 5, 50, 0.0),
    SmallBoard("orders", 4, 2, 1.0),
    SmallBoard("orders", 4, 5, 1.0),
    SmallBoard("orders", 8, 10, 0.0),
    SmallBoard("orders", 8, 30, 0.0),
    *(SmallBoard("pairs", 5, 400, 0.0, n, own) for own in (0.0, 0.5) for n in (2, 5, 10, 20)),
)


class Coverage(NamedTuple):
    """Shares for one sample."""

    ranks: float
    information: float
    plain: float
    differences: float
    width: float


def true_strengths(board: str, m: int) -> np.ndarray:
    """Strengths of a board: equal, or normal quantiles."""
    if board in ("equal", "annotators", "two ways"):
        return np.zeros(m)
    return SPREAD * np.random.default_rng(m).standard_normal(m)


def draw_comparisons(rng: np.random.Generator, board: str, m: int, n: int) -> Comparisons:
    """Simulated comparisons."""
    strengths = true_strengths(board, m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    annotator, prompt = rng.integers(0, N_ANNOTATORS, n), rng.integers(0, N_PROMPTS, n)
    eta = strengths[first] - strengths[second]
    ways = {"annotators": (annotator,), "two ways": (annotator, prompt)}.get(board, ())
    for cluster in ways:
        own = OWN * rng.standard_normal((int(cluster.max()) + 1, m))
        eta += own[cluster, first] - own[cluster, second]
    weights = np.exp(np.stack([eta / 2, np.full(n, LOG_NU), -eta / 2], axis=1))
    below = rng.random(n)[:, None] > np.cumsum(weights, axis=1) / weights.sum(axis=1)[:, None]
    outcomes = np.array([1.0, 0.5, 0.0])[below.sum(axis=1)]
    names = np.array([f"{item:03d}" for item in range(m)])
    clusters = np.stack(ways, axis=1) if ways else None
    pairs = names[np.stack([first, second], axis=1)]
    return Comparisons.from_pairs(pairs, outcomes, clusters=clusters)


def limit_differences(board: str, m: int) -> np.ndarray:
    """Differences of the strengths that the fit would find in endless data."""
    strengths = true_strengths(board, m)
    if board == "half ties":  # not the model of the data: its strengths are closer together
        rng = np.random.default_rng(99)
        games = [draw_comparisons(rng, board, m, 40_000) for _ in range(60)]
        strengths = np.mean([fit(board, some).strengths_ for some in games], axis=0)
    return strengths[:, None] - strengths


def fit(board: str, games: Comparisons, covariance: str = "sandwich") -> PairwisePreferences:
    """Fit of a board."""
    ties = "half" if board == "half ties" else "davidson"
    return PairwisePreferences(ties, covariance=covariance).fit(games)  # type: ignore[arg-type]


def measure_sample(
    rng: np.random.Generator, board: str, m: int, n: int, differences: np.ndarray
) -> Coverage:
    """Whether the intervals of one sample hold."""
    games = draw_comparisons(rng, board, m, n)
    model, naive = fit(board, games), fit(board, games, "information")
    truth = true_strengths(board, m)
    best = 1 + (truth[:, None] < truth).sum(axis=1)
    worst = m - (truth[:, None] > truth).sum(axis=1)

    def holds(low: np.ndarray, high: np.ndarray) -> float:
        return float(((low <= best) & (worst <= high)).all())

    ranks, others = model.rank_intervals(), rank_simultaneously(naive.strengths_, naive.covariance_)
    variances = model.covariance_.diagonal()
    errors = np.sqrt(variances[:, None] + variances - 2 * model.covariance_)
    found = model.strengths_[:, None] - model.strengths_
    np.fill_diagonal(errors, 1.0)
    better = found / errors > 1.96
    inside = np.abs(found - differences) <= 1.96 * errors
    return Coverage(
        holds(ranks.low, ranks.high),
        holds(others.low, others.high),
        holds(1 + better.sum(axis=0), m - better.sum(axis=1)),
        float(inside[np.triu_indices(m, 1)].mean()),
        float((ranks.high - ranks.low).mean()),
    )


def draw_small(rng: np.random.Generator, board: SmallBoard) -> tuple[tuple[Any, ...], Any]:
    """Arguments of ``fit``, and clusters, of a sample of equal items."""
    m, n = board.items, board.n
    names = np.array([f"item{item}" for item in range(m)])
    if board.kind == "orders":
        return ([names[rng.permutation(m)].tolist() for _ in range(n)],), None
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    eta, cluster = np.zeros(n), None
    if board.clusters:
        cluster = rng.integers(0, board.clusters, n)
        own = board.own * rng.standard_normal((board.clusters, m))
        eta = own[cluster, first] - own[cluster, second]
    outcomes = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return (names[np.stack([first, second], axis=1)], outcomes), cluster


def count_false_claims(board: SmallBoard, repetitions: int) -> tuple[int, int]:
    """Number of samples with a significant difference, and of those with finite estimates."""
    rng = np.random.default_rng([board.items, board.n, board.clusters])
    model_class = PairwisePreferences if board.kind == "pairs" else PlackettLuce
    false = done = 0
    for _ in range(repetitions):
        data, clusters = draw_small(rng, board)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # groups not compared, few clusters
                model = model_class(alpha=board.alpha).fit(*data, clusters=clusters)
        except ValueError:
            continue
        done += 1
        false += bool((model.rank_intervals().low > 1).any())
    return false, done


def print_small_boards(repetitions: int) -> None:
    """Print the table of small boards."""
    print("\nkind    items     n  alpha  clusters  own  false  samples without estimates")
    for board in SMALL_BOARDS:
        false, done = count_false_claims(board, repetitions)
        row = f"{board.kind:6s}  {board.items:5d}  {board.n:4d}  {board.alpha:5.1f}"
        row = f"{row}  {board.clusters or '-':>8}  {board.own:3.1f}  {false / max(done, 1):5.3f}"
        print(f"{row}  {repetitions - done:25d}", flush=True)


def main(repetitions: int = 1000) -> None:
    """Print both tables."""
    print(f"{repetitions} samples; sampling error of .95: {np.sqrt(0.0475 / repetitions):.4f}")
    print("board       items  comparisons  all ranks  information  plain  differences  width")
    for m, n in SIZES:
        for board in BOARDS:
            rng = np.random.default_rng([m, BOARDS.index(board)])
            differences = limit_differences(board, m)
            samples = [measure_sample(rng, board, m, n, differences) for _ in range(repetitions)]
            mean = Coverage(*np.mean(samples, axis=0).tolist())
            row = f"{board:10s}  {m:5d}  {n:11d}  {mean.ranks:9.3f}  {mean.information:11.3f}"
            print(
                f"{row}  {mean.plain:5.3f}  {mean.differences:11.3f}  {mean.width:5.1f}", flush=True
            )
    print_small_boards(repetitions)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
