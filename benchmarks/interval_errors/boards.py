"""Boards of systems: ranks, tests, intervals that may be looked at any time, and planned sizes.

A board errs if any interval of ranks lacks a rank of the system's group of equal true means; a
test errs if any pair of equal means is significant (Benjamini-Hochberg: by the share of such
pairs among the significant ones); a planned difference errs if it is not found (promised: .2).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from benchmarks.interval_errors.generators import (
    lognormal_of_mean,
    mostly_zero,
    one_unit_in_ten,
)
from rankwise import leaderboard
from rankwise.metrics.significance import (
    always_valid_interval,
    benjamini_hochberg,
    detectable_difference,
    t_intervals,
)
from rankwise.metrics.statistics.all_pairs import pair_differences
from rankwise.metrics.statistics.stratified import t_p_values
from rankwise.selection import Leaderboard

Generator = np.random.Generator
Values = np.ndarray  # of shape (n_units, n_systems)
UNEQUAL_SPREADS = np.linspace(0.1, 1.6, 6)
LOOKS = range(30, 1001, 10)


def unlike_lognormals(rng: Generator, n: int) -> Values:
    """Six systems of equal means, the last with a far longer tail than the first."""
    return np.column_stack([lognormal_of_mean(rng, n, sigma) for sigma in UNEQUAL_SPREADS])


def rare_gain(rng: Generator, n: int) -> Values:
    """A change that helps one unit in ten and costs the others a little."""
    before = rng.random(n)
    return np.column_stack([before, before + one_unit_in_ten(rng, n)])


def unlike_exponentials(rng: Generator, n: int) -> Values:
    """Six systems, exponential with scales of .1 to 3."""
    return (rng.exponential(size=(n, 6)) - 1.0) * np.array([0.1, 0.3, 1.0, 1.0, 3.0, 3.0])


def zeros(rng: Generator, n: int) -> Values:
    """Five systems, nine of ten values 0."""
    return mostly_zero(rng, (n, 5))


def grades(rng: Generator, n: int) -> Values:
    """Five systems with grades 0 to 2: many ties."""
    return rng.integers(0, 3, (n, 5)).astype(float)


def constant(rng: Generator, n: int) -> Values:
    """Five systems, all values equal."""
    return np.full((n, 5), 0.5)


def normal(rng: Generator, n: int) -> Values:
    """Five systems that share the difficulty of units."""
    return rng.standard_normal((n, 1)) + rng.standard_normal((n, 5))


def two_groups(rng: Generator, n: int) -> Values:
    """Lognormal values; three systems are equal, and three others equal and much worse."""
    return lognormal_of_mean(rng, (n, 6), 0.8) - np.repeat([0.0, 2.0], 3)


Draw = Callable[[Generator, int], Values]


def ranks(
    rng: Generator, draw: Draw, n: int, means: tuple[float, ...] = (), **options: Any
) -> Outcome | None:
    """Whether a rank interval of a board is wrong."""
    values = draw(rng, n)
    columns = {f"s{i}": column for i, column in enumerate(values.T)}
    return judge(board_of(columns, **options), np.array(means or [0.0] * values.shape[1]))


def board_of(scores: Any, **options: Any) -> Leaderboard | None:
    """The board, or None if the data were refused."""
    try:
        return leaderboard(scores, **options)
    except ValueError:
        return None


def judge(board: Leaderboard | None, means: np.ndarray) -> Outcome | None:
    """Compare ranks and significant pairs of a board with the true means of systems s0, s1, …"""
    if board is None:
        return None
    wrong = False
    for row in board.rows():
        mean = means[int(row["ranker"][1:])]
        if row["rank_low"] is None:
            continue
        first, last = 1 + (means > mean).sum(), (means >= mean).sum()
        wrong |= not row["rank_low"] <= first <= last <= row["rank_high"]
    return Outcome(float(wrong), named=is_named(board))


def is_named(board: Leaderboard) -> bool:
    """Whether the board doubts its own intervals."""
    said = [note for row in board.rows() for note in row["notes"]]
    if len(board.qids) < 30:  # the line on few units; the whole text takes time
        said.append(str(board))
    return any("cannot be relied on" in text for text in said)


def long_table(values: Values, groups: np.ndarray, name: str) -> dict[str, list]:
    """Columns of a long table with a group for every unit."""
    n, k = values.shape
    return {
        "system": [f"s{i}" for i in range(k) for _ in range(n)],
        "unit": [f"u{u}" for _ in range(k) for u in range(n)],
        "score": values.T.ravel().tolist(),
        name: [f"g{g}" for _ in range(k) for g in groups],
    }


def in_strata(
    rng: Generator, sizes: tuple[int, ...], spreads: tuple[float, ...], **options: Any
) -> Outcome | None:
    """Equal systems in strata; values in a stratum are normal or skewed with a spread."""
    import pandas as pd

    groups = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.standard_normal((len(groups), 4)) * np.asarray(spreads)[groups, None]
    frame = pd.DataFrame(long_table(values, groups, "stratum"))
    return judge(board_of(frame, stratum="stratum", **options), np.zeros(4))


def mean_in_strata(rng: Generator, sizes: tuple[int, ...], spreads: tuple[float, ...]) -> Outcome:
    """The interval of one mean."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.standard_normal((len(groups), 1)) * np.asarray(spreads)[groups, None]
    low, high = t_intervals(values, strata=groups)[0]
    return Outcome(float(not low <= 0.0 <= high))


def in_clusters(rng: Generator, n_clusters: int, draw: Draw) -> Outcome | None:
    """Equal systems; clusters of 1 to 12 units share a part of each system's values."""
    import pandas as pd

    groups = np.repeat(np.arange(n_clusters), rng.integers(1, 13, n_clusters))
    own = draw(rng, n_clusters)
    values = own[groups] + rng.standard_normal((len(groups), own.shape[1])) * 0.3 * own.std()
    frame = pd.DataFrame(long_table(values, groups, "cluster"))
    return judge(board_of(frame, cluster="cluster"), np.zeros(own.shape[1]))


def with_runs(rng: Generator, n: int, n_runs: int, n_systems: int, tail: float) -> Outcome | None:
    """Equal systems; each run is better or worse on all units, and ``tail`` is its skewness."""
    shift = rng.standard_normal((n_systems, n_runs))
    if tail:
        shift = lognormal_of_mean(rng, (n_systems, n_runs), tail)
    scores = {
        f"s{i}": rng.standard_normal((n, 1))
        + 0.5 * shift[i]
        + 0.3 * rng.standard_normal((n, n_runs))
        for i in range(n_systems)
    }
    return judge(board_of(scores), np.zeros(n_systems))


def with_gaps(rng: Generator, draw: Draw, n: int, rule: str, hard: bool) -> Outcome | None:
    """Equal systems; values are missing by chance, or those of some systems on hard units."""
    values = draw(rng, n)
    k = values.shape[1]
    difficulty = rng.standard_normal(n) * values.std()
    gaps = rng.random((n, k)) < 0.15
    if hard:
        gaps = (difficulty < np.quantile(difficulty, 0.3))[:, None] & (np.arange(k) < k // 2)
    values = np.where(gaps, np.nan, values + difficulty[:, None])
    board = board_of({f"s{i}": column for i, column in enumerate(values.T)}, missing=rule)
    return judge(board, np.zeros(k))


def found_false(rng: Generator, draw: Draw, n: int, means: tuple[float, ...]) -> Outcome:
    """Share of false findings among all pairs by Benjamini and Hochberg's correction."""
    values = draw(rng, n)
    first, second = np.triu_indices(values.shape[1], 1)
    p = benjamini_hochberg(t_p_values(pair_differences(values))[first, second])
    truth = np.array(means or [0.0] * values.shape[1])
    false = (p < 0.05) & (truth[first] == truth[second])
    board = leaderboard(
        {f"s{i}": column for i, column in enumerate(values.T)}, correction="benjamini_hochberg"
    )
    return Outcome(float(false.sum() / max(1, (p < 0.05).sum())), named=is_named(board))


def ever_outside(rng: Generator, draw: Callable[..., np.ndarray], first_look: int) -> Outcome:
    """Whether an interval after any of the looks excludes the true mean, 0."""
    values = draw(rng, LOOKS[-1])
    named = False
    for n in (look for look in LOOKS if look >= first_look):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            low, high = always_valid_interval(values[:n], n_expected=200)
        named |= bool(caught)
        if not low <= 0.0 <= high:
            return Outcome(1.0, named)
    return Outcome(0.0, named)


def mean_outside(rng: Generator, draw: Callable[..., np.ndarray], n: int) -> Outcome:
    """Student's interval of one mean, 0."""
    values = draw(rng, n)
    board = leaderboard({"s0": values, "s1": values})
    row = board.rows()[0]
    return Outcome(float(not row["low"] <= 0.0 <= row["high"]), named=is_named(board))


def not_found(rng: Generator, sizes: tuple[int, ...], spreads: tuple[float, ...]) -> Outcome | None:
    """Whether a difference of the size that a pilot promises to find is missed."""
    import pandas as pd

    groups = np.repeat(np.arange(len(sizes)), sizes)

    def frame(shift: float) -> Any:
        spread = 0.1 * np.asarray(spreads)[groups, None]
        values = spread * rng.standard_normal((len(groups), 2)) + [shift, 0.0]
        return pd.DataFrame(long_table(values, groups, "stratum"))

    pilot = board_of(frame(0.0), stratum="stratum")
    if pilot is None or (difference := pilot.detectable_difference()) is None:
        return None
    board = leaderboard(frame(difference), stratum="stratum")
    return Outcome(float(board.rows()[1]["letters"] == board.rows()[0]["letters"]))


def not_found_by_skewed(rng: Generator, n: int, n_systems: int) -> Outcome:
    """The same for lognormal differences without strata."""
    pilot = {f"s{i}": lognormal_of_mean(rng, n, 0.7) for i in range(n_systems)}
    difference = detectable_difference(pilot)
    fresh = {f"s{i}": lognormal_of_mean(rng, n, 0.7) for i in range(n_systems)}
    fresh["s0"] = fresh["s0"] + difference
    board = leaderboard(fresh)
    rows = {row["ranker"]: row for row in board.rows()}
    named = is_named(board) or "; rough, since" in str(board)
    return Outcome(float(bool({*rows["s0"]["letters"]} & {*rows["s1"]["letters"]})), named)


_DRAWS: dict[str, tuple[Draw, tuple[float, ...]]] = {
    "lognormal, sigma .1 to 1.6": (unlike_lognormals, ()),
    "one unit in ten gains": (rare_gain, ()),
    "exponential, scales .1 to 3": (unlike_exponentials, ()),
    "two groups, lognormal": (two_groups, (0.0,) * 3 + (-2.0,) * 3),
    "90 % zeros": (zeros, ()),
    "grades 0 to 2": (grades, ()),
    "all values equal": (constant, ()),
}
_SKEWED = list(_DRAWS)[:4]
_STRATA = {
    "50+50": ((50, 50), (1.0, 1.0)),
    "90+10": ((90, 10), (1.0, 1.0)),
    "95+5": ((95, 5), (1.0, 1.0)),
    "400+20+20": ((400, 20, 20), (1.0, 1.0, 1.0)),
    "300+10+10+10": ((300, 10, 10, 10), (1.0, 1.0, 1.0, 1.0)),
    "300+10+10+10, small spread 3": ((300, 10, 10, 10), (1.0, 3.0, 3.0, 3.0)),
    "60+3+3, small spread 3": ((60, 3, 3), (1.0, 3.0, 3.0)),
}

CELLS = [
    *(
        Cell("board ranks", f"{name}, {n} units", 0.05, partial(ranks, draw=draw, n=n, means=means))
        for name, (draw, means) in _DRAWS.items()
        for n in (20, 100)
    ),
    *(
        Cell("board ranks", f"normal, {n} units", 0.05, partial(ranks, draw=normal, n=n))
        for n in (1, 2, 6)
    ),
    *(
        Cell(
            f"board ranks, {option}={value}", f"{name}, {n} units", 0.05,
            partial(ranks, draw=_DRAWS[name][0], n=n, means=_DRAWS[name][1], **{option: value}),
        )
        for option, value in (
            ("correction", "holm"), ("correction", "bonferroni"), ("test", "wilcoxon"),
            ("test", "randomization"),
        )
        for name in (*_SKEWED, "90 % zeros")
        for n in (20, 100)
    ),
    *(
        Cell(
            f"board ranks, missing={rule}", f"{name}, {n} units, gaps {where}", 0.05,
            partial(with_gaps, draw=draw, n=n, rule=rule, hard=where == "of hard"),
        )
        for rule in ("pairs", "drop")
        for name, draw in (("normal", normal), ("exponential", unlike_exponentials))
        for n in (20, 100)
        for where in ("by chance", "of hard")
    ),
    *(
        Cell(
            f"board ranks, stratum{' and holm' if options else ''}", name, 0.05,
            partial(in_strata, sizes=sizes, spreads=spreads, **options),
        )
        for options in ({}, {"correction": "holm"})
        for name, (sizes, spreads) in _STRATA.items()
    ),
    *(
        Cell("t_intervals, strata", name, 0.05, partial(mean_in_strata, sizes=s, spreads=spreads))
        for name, (s, spreads) in _STRATA.items()
    ),
    *(
        Cell(
            "board ranks, cluster", f"{name}, {n} clusters", 0.05,
            partial(in_clusters, n_clusters=n, draw=draw),
        )
        for name, draw in (("normal", normal), ("lognormal", unlike_lognormals))
        for n in (3, 6, 12, 40)
    ),
    *(
        Cell(
            "board ranks, run", f"{k} systems, {r} runs{', lognormal' if tail else ''}", 0.05,
            partial(with_runs, n=50, n_runs=r, n_systems=k, tail=tail),
        )
        for k in (2, 6)
        for r in (2, 4)
        for tail in (0.0, 1.0)
    ),
    *(
        Cell(
            "board, Benjamini-Hochberg", f"{name}, {n} units", 0.05,
            partial(found_false, draw=_DRAWS[name][0], n=n, means=_DRAWS[name][1]),
        )
        for name in (*_SKEWED, "90 % zeros")
        for n in (20, 100)
    ),
    *(
        Cell(
            "board, interval of a mean", f"{name}, {n} units", 0.05,
            partial(mean_outside, draw=draw, n=n),
        )
        for name, draw in (
            ("lognormal, sigma 1.6", partial(lognormal_of_mean, sigma=1.6)),
            ("one unit in ten gains", one_unit_in_ten),
            ("90 % zeros", mostly_zero),
        )
        for n in (20, 100)
    ),
    *(
        Cell(
            "always_valid_interval", f"{name}, from {first}", 0.05,
            partial(ever_outside, draw=draw, first_look=first),
        )
        for name, draw in (
            ("normal", lambda rng, n: rng.standard_normal(n)),
            ("lognormal, sigma 1", partial(lognormal_of_mean, sigma=1.0)),
            ("lognormal, sigma 1.6", partial(lognormal_of_mean, sigma=1.6)),
            ("one unit in ten gains", one_unit_in_ten),
            ("90 % zeros", mostly_zero),
        )
        for first in (30, 100)
    ),
    *(
        Cell(
            "detectable_difference", f"strata {name}", 0.2,
            partial(not_found, sizes=s, spreads=spreads),
        )
        for name, (s, spreads) in _STRATA.items()
    ),
    *(
        Cell(
            "detectable_difference", f"lognormal, {k} systems, {n} units", 0.2,
            partial(not_found_by_skewed, n=n, n_systems=k),
        )
        for k in (2, 6)
        for n in (20, 100)
    ),
]  # fmt: skip
