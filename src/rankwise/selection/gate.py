"""Verdict for a pipeline: which systems are worse than the baseline, or may be by too much."""

from __future__ import annotations

from typing import NamedTuple

from rankwise.runtime.messages import ArgumentError, setting
from rankwise.runtime.result import ResultList
from rankwise.selection.leaderboard import Leaderboard


class Regression(NamedTuple):
    """A system that must not replace the baseline.

    Attributes
    ----------
    system, measure : str
    loss, loss_low, loss_high : float
        How much worse than the baseline the system is on average, with its joint interval; the
        ends are NaN if nothing can be tested.
    """

    system: str
    measure: str
    loss: float
    loss_low: float
    loss_high: float

    def describe(self, baseline: str) -> str:
        """Sentence with the loss and its interval."""
        return (
            f"{self.system}: {self.measure} is {self.loss:.4f} worse than that of {baseline} "
            f"(interval {self.loss_low:.4f} to {self.loss_high:.4f})"
        )


def check_margin(margin: float | None) -> None:
    """Refuse a margin that is no number >= 0, before anything is compared."""
    if margin is not None and not margin >= 0:
        raise ArgumentError("margin", f"must be a number >= 0, got {margin}.")


def find_regressions(
    board: Leaderboard, *, margin: float | None = None, measure: str | None = None
) -> ResultList[Regression]:
    """Systems that are worse than the baseline of a leaderboard.

    Parameters
    ----------
    board : Leaderboard
        Result of :func:`rankwise.evaluate_systems`, :func:`rankwise.leaderboard` or
        :func:`rankwise.compare` with a baseline.
    margin : float >= 0, optional
        None: systems that are significantly worse, by the joint interval over all pairs with the
        baseline. A number: systems whose interval does not exclude a loss beyond it, so that a
        system passes only if the data show that it loses no more.
    measure : str, optional
        Name among the measures of the leaderboard; None: the first.

    Returns
    -------
    list of Regression, with the methods of a result
        Largest loss first; empty if no system is worse.

    Raises
    ------
    ValueError
        If the leaderboard has no baseline, ``margin`` is below 0, or a system and the baseline have
        no value in common.

    Notes
    -----
    Without a margin, a system that is worse passes if there are too few queries to show it: see
    :func:`rankwise.metrics.significance.detectable_difference`. With a margin, a system fails if
    nothing can be tested.

    Examples
    --------
    >>> from rankwise import leaderboard
    >>> scores = {"now": [0.5, 0.6, 0.4, 0.7, 0.3, 0.6], "new": [0.2, 0.2, 0.1, 0.3, 0.1, 0.2]}
    >>> board = leaderboard(scores, baseline="now")
    >>> [found.system for found in find_regressions(board)]
    ['new']
    """
    baseline = board.settings.baseline
    if baseline is None:
        raise ValueError(
            f"the leaderboard must have a baseline, got none. Set {setting('baseline')}."
        )
    check_margin(margin)
    name = board.measures[0] if measure is None else measure
    sign = -1.0 if board.greater_is_better(name) else 1.0
    nan = float("nan")
    found = []
    for row in board.rows(name):
        if row["ranker"] == baseline:
            continue
        against = row["against_baseline"].get(name)
        if against is None or against["diff"] is None:
            # A gate that compares nothing must not pass.
            raise ValueError(
                f"{row['ranker']} cannot be compared with the baseline {baseline} by {name}: they "
                "have no value in common. Check the judgements, or choose another measure."
            )
        if against["diff_low"] is None:
            if margin is not None:
                found.append(Regression(row["ranker"], name, nan, nan, nan))
            continue
        ends = sorted((sign * against["diff_low"], sign * against["diff_high"]))
        loss = Regression(row["ranker"], name, sign * against["diff"], *ends)
        is_worse = bool(against["separable"]) and loss.loss > 0
        if is_worse if margin is None else loss.loss_high > margin:
            found.append(loss)
    return ResultList(Regression, sorted(found, key=lambda regression: -regression.loss))
