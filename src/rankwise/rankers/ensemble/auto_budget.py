"""Time limit of :class:`AutoRanker`: which trial still fits into it, and with how many trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from rankwise.rankers.ensemble.auto_search import HeldOut, Member
from rankwise.rankers.ensemble.auto_trials import Trial

_FEWEST_TREES, _PROBED_TREES, _FIRST_SHARE = 50, 10, 0.4
# Share of the time left that a trial of another family than trees may take.
_SMOOTH_SHARE = 0.25
_FIRST_SECONDS = 1.0  # that the first trial may take, however short the budget is


class TimeBudget:
    """Seconds of a search, which begin with the budget; None: no limit."""

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self.seconds, self.clock, self._start = seconds, clock, clock()
        self._trees_are_late = False

    def spent(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._start

    def left(self) -> float | None:
        """Seconds that are left, 0 or more; None: no limit."""
        return None if self.seconds is None else max(self.seconds - self.spent(), 0.0)

    def shorten(self, trial: Trial, held: HeldOut, members: Sequence[Member]) -> Trial | None:
        """The trial, with as many trees as the time allows; None if the time is too short."""
        left = self.left()
        if left is None:
            return trial
        if trial.family == "trees" and members:
            return self._shorten_trees(trial, held, members, left)
        needed = trial.least_seconds(rows.scaled.shape for rows, _ in held.parts)
        if not members:
            return trial if needed <= max(left, _FIRST_SECONDS) else None
        known = [member.seconds for member in members if member.trial.family == trial.family]
        return trial if max([needed, *known]) < left else None

    def most_seconds(self, trial: Trial, members: Sequence[Member]) -> float | None:
        """Seconds after which a trial has to end, if its solver can; None: no limit."""
        left = self.left()
        if left is None or trial.family == "trees":
            return None
        return max(_SMOOTH_SHARE * left, 0.0 if members else _FIRST_SECONDS)

    def _shorten_trees(
        self, trial: Trial, held: HeldOut, members: Sequence[Member], left: float
    ) -> Trial | None:
        known = [member.seconds_a_tree for member in members if member.trial.family == "trees"]
        # Without trees so far, a second probe would take time and find less of it left.
        if left <= 0 or (not known and self._trees_are_late):
            return None
        seconds, share = max(known, default=0.0), 1.0
        if not known:
            seconds, share = self.probe(trial, held), _FIRST_SHARE
        most = int(share * (self.left() or 0.0) / max(seconds, 1e-9))
        if most < _FEWEST_TREES:
            self._trees_are_late = True
            return None
        return trial.again(trial.name, n_estimators=min(most, trial.estimator.n_estimators))

    def probe(self, trial: Trial, held: HeldOut) -> float:
        """Seconds per tree, summed over the parts; 0 if trees cannot be fitted to any part."""
        probe = trial.again(trial.name, n_estimators=_PROBED_TREES).estimator
        for rows, _ in held.parts:
            # Twice, because the first fit compiles; a part without pairs to order raises.
            with suppress(ValueError):
                probe.fit(rows.X[:1000], rows.y[:1000], qid=rows.qid[:1000])
            with suppress(ValueError):
                start = self.clock()
                probe.fit(rows.X, rows.y, qid=rows.qid)
                return (self.clock() - start) / _PROBED_TREES * len(held.parts)
        return 0.0
