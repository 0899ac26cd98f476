"""Test of two systems from the clicks on their interleaved lists.

References
----------
- Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and
  asymptotic confidence sequences", Annals of Statistics 52, 2024.
- Chapelle, Joachims, Radlinski and Yue, "Large-scale validation and analysis of interleaved
  search evaluation", TOIS 30, 2012.
- Fagerland, Lydersen and Laake, "The McNemar test for binary matched-pairs data: mid-p and
  asymptotic are better than exact conditional", BMC Medical Research Methodology 13, 2013.
- Bell and McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
  samples", Survey Methodology 28, 2002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from rankwise.metrics.statistics.randomisation import sign_flip_p_values
from rankwise.metrics.statistics.sample_size import time_uniform_half_width
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

# Below, the sequence for many users says little: see the notes of always_valid_interval.
FEW_USERS = 30
UNITS = ("list", "query", "user")


@dataclass(frozen=True)
class InterleavingTest:
    """Outcome of an interleaving experiment; positive values favour the first system.

    Attributes
    ----------
    systems : tuple of str
    delta : float
        Mean difference of credited clicks, first system minus second.
    low, high : float
        Interval of ``delta`` (t, by users), for one look at the data.
    p_value : float
        Of the hypothesis that the systems are alike, by flipping signs of whole users; flips as
        extreme as the log count half (mid-p).
    p_exact : float
        The same with such flips counted whole: it is below the level at most as often as the level
        says, but less often where most users have one credited click.
    wins, losses, ties : int
        Lists on which the first system has more, fewer, or as many credited clicks.
    n_lists, n_users : int
    sequential_low, sequential_high : float
        Interval of ``delta`` that holds at all times at once, however often one looks and whenever
        one stops (asymptotic confidence sequence, Waudby-Smith et al. 2024).
    level : float
    variance : float
        Of the difference of one list, with the dependence within users.
    effective_users : float
        Number of equally heavy users that say as much: 1 / (sum of the squared weights of users).
    notes : list of str
        What a reader of the test must know.
    """

    systems: tuple[str, str]
    delta: float
    low: float
    high: float
    p_value: float
    p_exact: float
    wins: int
    losses: int
    ties: int
    n_lists: int
    n_users: int
    sequential_low: float
    sequential_high: float
    level: float
    variance: float
    effective_users: float
    notes: list[str]

    def lists_needed(self, delta: float, power: float = 0.8) -> int:
        """Lists that a test needs to find a difference of ``delta`` with the given power.

        Raises
        ------
        ValueError
            If ``delta`` is 0 or ``power`` is not in (0, 1).
        """
        if not delta or not 0 < power < 1:
            raise ValueError(
                f"delta must not be 0 and power must be in (0, 1), got {delta} and {power}."
            )
        z = ndtri((1 + self.level) / 2) + ndtri(power)
        return math.ceil(z**2 * self.variance / delta**2)

    def __str__(self) -> str:
        a, b = self.systems
        lines = [
            f"{a} minus {b}: {self.delta:+.4f} credited clicks a list, {self.level:.0%} interval "
            f"{self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.4f}",
            f"at any time: {self.sequential_low:+.4f} to {self.sequential_high:+.4f}",
            f"{self.n_lists} lists of {self.n_users} users: {a} wins {self.wins}, {b} wins "
            f"{self.losses}, {self.ties} ties",
        ]
        return join_lines(lines + [f"note: {note}" for note in self.notes])


def interleaving_test(
    log: ClickLog,
    *,
    systems: tuple[str, str] | None = None,
    unit: Literal["list", "query", "user"] = "list",
    level: float = 0.95,
    horizon: int = 1000,
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> InterleavingTest:
    """Test which of two systems gets more clicks on interleaved lists.

    Parameters
    ----------
    log : ClickLog
        Clicks on lists of :func:`interleave`, with ``credit``; or ``arm`` is the team of each row,
        "" for none, to which a click is worth 1.
    systems : (str, str), optional
        The two systems to compare. None: those of the log, in order, if there are two.
    unit : {"list", "query", "user"}
        What counts once in ``delta``: every list, or every query or user whatever their number of
        lists.
    level : float in (0, 1)
    horizon : int >= 1
        Number of users at which the sequential interval is narrowest. It must not be changed on the
        way: a horizon chosen at every look spends the level anew.
    n_resamples : int >= 1
        Draws of the sign test; with few users it is exact.
    random_state : int, Generator or None

    Returns
    -------
    InterleavingTest

    Raises
    ------
    ValueError
        If the log has no sessions, neither credit nor two arms, no credited click, or fewer than
        two users.

    Notes
    -----
    The unit of chance is the user: if the systems are alike, all differences of one user could have
    had the opposite sign. Sessions are users if the log names none. Intervals widen if few users
    make most of the lists. With tastes of their own and one user who has 2, 30, 60 or 90 % of 400
    lists of 60, 95 % intervals held the truth in 94, 94, 99 and 99 % of 1000 simulations, those at
    any time in all (:doc:`/clicks_explained`).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.clicks import ClickLog, interleaving_test
    >>> n = 40
    >>> log = ClickLog.from_columns(
    ...     ["q"] * 2 * n, ["x", "y"] * n, [1, 2] * n, [1, 0] * 30 + [0, 1] * 10,
    ...     session=np.repeat(np.arange(n), 2), arm=["a", "b"] * n,
    ... )
    >>> test = interleaving_test(log)
    >>> round(test.delta, 9), test.wins, test.losses, test.p_value < 0.01
    (0.5, 30, 10, True)
    """
    check_level(level)
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise ValueError(f"horizon must be a whole number >= 1, got {horizon!r}.")
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, got {unit!r}.")
    log.require_sessions("interleaving_test")
    names, worth = _worth(log, systems)
    indptr = log.lists.indptr
    first = indptr[:-1]
    counts = np.add.reduceat(log.counts, first) / np.diff(indptr)
    # Rows that stand for more impressions than others of their list count for more.
    difference = np.add.reduceat(worth * log.click * log.counts, first)
    difference /= np.maximum(counts, 1e-300)
    if not difference.any():
        raise ValueError(
            f"no click is worth more to {names[0]!r} or to {names[1]!r}. Check the arms of the log."
        )
    users = np.unique(log.clusters[first], return_inverse=True)[1]
    n_users, n_lists = int(users.max()) + 1, len(first)
    if n_users < 2:
        raise ValueError("interleaving_test needs two users or more, got 1.")
    share = _shares(unit, log, counts, users)
    delta = float((share * difference).sum())
    sums = np.bincount(users, share * difference)
    weight = np.bincount(users, share)
    effective = 1.0 / float((weight**2).sum())
    se = _spread_between(sums - weight * delta, weight)
    t = float(stdtrit(max(effective - 1.0, 1.0), (1 + level) / 2))
    # The sequence is one of many users; as t widens the normal for few, it is widened, too.
    wide = time_uniform_half_width(effective, level, horizon) * math.sqrt(effective)
    wide = max(wide * t / float(ndtri((1 + level) / 2)), t)
    p_mid, p_exact = (
        float(
            sign_flip_p_values(
                sums[:, None], n_resamples=n_resamples, random_state=seed, mid_p=mid
            )[0]
        )
        for mid, seed in zip((True, False), _same_seeds(random_state), strict=True)
    )
    return InterleavingTest(
        names, delta, delta - t * se, delta + t * se, p_mid, p_exact,
        int((difference > 0).sum()), int((difference < 0).sum()), int((difference == 0).sum()),
        n_lists, n_users, delta - wide * se, delta + wide * se, level, se**2 * n_lists,
        effective, _notes(weight, effective),
    )  # fmt: skip


def _same_seeds(random_state: int | np.random.Generator | None) -> tuple[Any, Any]:
    """Two equal seeds, so that both p-values see the same flips."""
    seed = np.random.default_rng(random_state).integers(2**63)
    return seed, seed


def _worth(log: ClickLog, systems: tuple[str, str] | None) -> tuple[tuple[str, str], Float64Array]:
    """Names of the systems, and worth of a click on each row: first system minus second."""
    if log.credit is not None:
        names = _two_of(systems or log.systems, log.systems)
        first, second = (log.credit[:, log.systems.index(name)] for name in names)
        return names, first - second
    there = [] if log.arm is None else [name for name in log.arm.names.tolist() if name]
    if log.arm is None or not there:
        raise ValueError(
            "interleaving_test needs the team of every row: pass the log a column arm, or credit."
        )
    names = _two_of(systems or sorted(there), there)
    arm = log.arm.names[log.arm.codes]
    return names, (arm == names[0]).astype(np.float64) - (arm == names[1])


def _two_of(names: Sequence[str], there: Sequence[str]) -> tuple[str, str]:
    if len(names) != 2 or names[0] == names[1] or not {*names} <= {*there}:
        raise ValueError(
            f"systems must be two arms of the log, got {', '.join(names)}; it has "
            f"{', '.join(there)}."
        )
    return names[0], names[1]


def _spread_between(residual: Float64Array, weight: Float64Array) -> float:
    """Standard error of a weighted mean by leaving out every user once.

    The jackknife of Bell & McCaffrey (2002).

    A heavy user draws the mean to himself, so that his residual alone says too little.
    """
    n_users = len(weight)
    left_out = residual / np.maximum(1.0 - weight, 1e-300)
    return math.sqrt(float((left_out**2).sum()) * (n_users - 1) / n_users)


def _notes(weight: Float64Array, effective: float) -> list[str]:
    if effective >= FEW_USERS:
        return []
    return [
        f"the users count as {effective:.1f} equal ones, the heaviest has {weight.max():.0%} of "
        f"the weight; below {FEW_USERS}, do not stop by the interval at any time"
    ]


def _shares(unit: str, log: ClickLog, weight: Float64Array, users: Int64Array) -> Float64Array:
    """Share of each list in delta, for lists that stand for ``weight`` lists each; sum 1."""
    if unit == "list":
        return weight / weight.sum()
    query = log.query.codes[log.lists.indptr[:-1]]
    key = users if unit == "user" else np.unique(query, return_inverse=True)[1]
    total = np.bincount(key, weight)
    return weight / (total[key] * len(total))
