"""Test of two systems from the clicks on their interleaved lists.

References
----------
.. [1] Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and
   asymptotic confidence sequences", Annals of Statistics 52, 2024.
.. [2] Chapelle, Joachims, Radlinski and Yue, "Large-scale validation and analysis of interleaved
   search evaluation", TOIS 30, 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from rankwise.metrics.statistics.randomisation import sign_flip_p_values
from rankwise.metrics.statistics.stratified import check_level
from rankwise.typing import ArrayLike, Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

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
        Of the hypothesis that the systems are alike, by flipping signs of whole users.
    wins, losses, ties : int
        Lists on which the first system has more, fewer, or as many credited clicks.
    n_lists, n_users : int
    sequential_low, sequential_high : float
        Interval of ``delta`` that holds at all times at once, however often one looks and whenever
        one stops (asymptotic confidence sequence [1]_).
    level : float
    variance : float
        Of the difference of one list, with the dependence within users.
    """

    systems: tuple[str, str]
    delta: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    ties: int
    n_lists: int
    n_users: int
    sequential_low: float
    sequential_high: float
    level: float
    variance: float

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
        return (
            f"{a} minus {b}: {self.delta:+.4f} credited clicks a list, {self.level:.0%} interval "
            f"{self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.4f}\n"
            f"at any time: {self.sequential_low:+.4f} to {self.sequential_high:+.4f}\n"
            f"{self.n_lists} lists of {self.n_users} users: {a} wins {self.wins}, {b} wins "
            f"{self.losses}, {self.ties} ties"
        )


def interleaving_test(
    log: ClickLog,
    *,
    systems: tuple[str, str] | None = None,
    credit: ArrayLike | None = None,
    unit: Literal["list", "query", "user"] = "list",
    level: float = 0.95,
    horizon: int | None = None,
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> InterleavingTest:
    """Test which of two systems gets more clicks on interleaved lists.

    Parameters
    ----------
    log : ClickLog
        Clicks on lists of :func:`interleave`; ``arm`` is the team of each row, "" for none.
    systems : (str, str), optional
        The two arms to compare. None: the arms of the log, in order, if there are two.
    credit : array-like of shape (n_input_rows, 2), optional
        Worth of a click to each system, as ``Interleaving.credit``, by row of the table that the
        log was made from (``log.source``). None: 1 for the arm of the row.
    unit : {"list", "query", "user"}
        What counts once in ``delta``: every list, or every query or user whatever their number of
        lists.
    level : float in (0, 1)
    horizon : int >= 1, optional
        Number of users at which the sequential interval is narrowest. None: those of the log.
    n_resamples : int >= 1
        Draws of the sign test; with few users it is exact.
    random_state : int, Generator or None

    Returns
    -------
    InterleavingTest

    Raises
    ------
    ValueError
        If the log has no sessions or not two arms, no credited click, or fewer than two users.

    Notes
    -----
    The unit of chance is the user: if the systems are alike, all differences of one user could have
    had the opposite sign. Sessions are users if the log names none.

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
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, got {unit!r}.")
    log.require_sessions("interleaving_test")
    names, worth = _worth(log, systems, credit)
    indptr = log.lists.indptr
    difference = np.add.reduceat(worth * log.click, indptr[:-1])
    if not difference.any():
        raise ValueError(
            f"no click is worth more to {names[0]!r} or to {names[1]!r}. Check the arms of the log."
        )
    first = indptr[:-1]
    users = np.unique(log.clusters[first], return_inverse=True)[1]
    n_users, n_lists = int(users.max()) + 1, len(first)
    if n_users < 2:
        raise ValueError("interleaving_test needs two users or more, got 1.")
    share = _shares(unit, log, first, users)
    delta = float((share * difference).sum())
    sums = np.bincount(users, share * difference)
    weight = np.bincount(users, share)
    se = math.sqrt(float(((sums - weight * delta) ** 2).sum()) * n_users / (n_users - 1))
    # Heavy users leave fewer independent values than there are users.
    effective = 1.0 / float((weight**2).sum())
    t = float(stdtrit(max(effective - 1.0, 1.0), (1 + level) / 2))
    wide = _time_uniform(effective, 1 - level, horizon or effective) * se * math.sqrt(effective)
    p_value = float(
        sign_flip_p_values(sums[:, None], n_resamples=n_resamples, random_state=random_state)[0]
    )
    return InterleavingTest(
        names, delta, delta - t * se, delta + t * se, p_value,
        int((difference > 0).sum()), int((difference < 0).sum()), int((difference == 0).sum()),
        n_lists, n_users, delta - wide, delta + wide, level, se**2 * n_lists,
    )  # fmt: skip


def _worth(
    log: ClickLog, systems: tuple[str, str] | None, credit: ArrayLike | None
) -> tuple[tuple[str, str], Float64Array]:
    """Names of the systems, and worth of a click on each row: first system minus second."""
    if credit is not None:
        values = np.asarray(credit, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2 or len(values) <= log.source.max():
            raise ValueError(
                "credit must have one row per row of the table and two columns, got shape "
                f"{values.shape}."
            )
        names = systems or ("a", "b")
        return names, values[log.source, 0] - values[log.source, 1]
    if log.arm is None:
        raise ValueError(
            "interleaving_test needs the team of every row: pass the log a column arm, or credit."
        )
    there = [name for name in log.arm.names.tolist() if name]
    names = tuple(systems or sorted(there))  # type: ignore[assignment]
    if len(names) != 2 or not {*names} <= {*there}:
        raise ValueError(
            f"systems must be two arms of the log, got {', '.join(names)}; it has "
            f"{', '.join(there)}."
        )
    arm = log.arm.names[log.arm.codes]
    return names, (arm == names[0]).astype(np.float64) - (arm == names[1])


def _shares(unit: str, log: ClickLog, first: Int64Array, users: Int64Array) -> Float64Array:
    """Weight of each list in delta; they add up to 1."""
    weight = log.counts[first]
    if unit == "list":
        return weight / weight.sum()
    key = users if unit == "user" else np.unique(log.query.codes[first], return_inverse=True)[1]
    total = np.bincount(key, weight)
    return weight / (total[key] * len(total))


def _time_uniform(n: float, alpha: float, horizon: float) -> float:
    """Half-width of the confidence sequence after n values of variance 1."""
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / horizon
    inner = (n * rho2 + 1) / (n**2 * rho2) * 2 * math.log(math.sqrt(n * rho2 + 1) / alpha)
    return math.sqrt(inner)
