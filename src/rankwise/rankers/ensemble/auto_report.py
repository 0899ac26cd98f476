"""What :class:`AutoRanker` tells of its trials: progress, records, a leaderboard and a report."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.metrics import Measure, parse
from rankwise.metrics.statistics.stratified import t_intervals
from rankwise.rankers.ensemble.auto_search import LEVEL, HeldOut, Member
from rankwise.rankers.ensemble.auto_trials import N_TRIALS, Trial
from rankwise.runtime.callers import callers_level
from rankwise.runtime.trial_progress import TrialStart, announce_trial

Row = dict[str, Any]
TOO_SHORT = "time_budget is too short"


def announce(
    trial: Trial,
    number: int,
    n_trials: int | None,
    members: Sequence[Member],
    seconds_left: float | None,
    verbose: bool,
) -> None:
    """Tell that a trial starts after other ones: whoever listens, and stderr if ``verbose``."""
    total = N_TRIALS if n_trials is None else min(n_trials, N_TRIALS)
    best = max((member.value for member in members), default=None)
    announce_trial(TrialStart(trial.name, number, total, best, seconds_left))
    if verbose:
        known = [f"trial {number} of {total} ({trial.name})"]
        known += [] if best is None else [f"best {best:.4f}"]
        known += [] if seconds_left is None else [f"{seconds_left:.0f} s left"]
        sys.stderr.write(f"AutoRanker: {', '.join(known)}\n")
        sys.stderr.flush()


def describe_member(member: Member, held: HeldOut, kept: bool) -> Row:
    """Record of a trial, with the 95 % interval of its value over queries (NaN: one query)."""
    params = member.trial.estimator.get_params(deep=False)
    low, high = t_intervals(held.values(member.scores)[:, None])[0].tolist()
    return {
        "trial": member.trial.name,
        "family": member.trial.family,
        "params": {name: value for name, value in params.items() if _is_plain(value)},
        "value": member.value,
        "low": low,
        "high": high,
        "seconds": member.seconds,
        "kept": kept,
        "cut": member.is_cut,
    }


def describe_skipped(trial: Trial, reason: str) -> Row:
    """Record of a trial without a value."""
    return {"trial": trial.name, "family": trial.family, "reason": reason}


def warn_of_failed(skipped: Sequence[Row], history: Sequence[Row]) -> None:
    """Warn of families that raised an error in every trial that was started."""
    tried = {row["family"] for row in history}
    reasons = {row["family"]: row["reason"] for row in skipped if row["reason"] != TOO_SHORT}
    for family, reason in reasons.items():
        if family not in tried:
            warnings.warn(
                f"AutoRanker leaves out the family {family!r}, because all its trials failed. The "
                f"last error: {reason}",
                UserWarning,
                stacklevel=callers_level(),
            )


def report_text(
    history: Sequence[Row],
    skipped: Sequence[Row],
    families: Sequence[str],
    values: Mapping[str, float],
    measure: str | None,
    seconds: float,
) -> str:
    """Table of the trials, the reasons of those without a value, and two sentences of choice.

    ``families`` are those that are kept, and ``values`` those of the families and of the blend,
    larger is better. ``measure`` is None if unknown, as of models that do not hold it. ``seconds``
    is the time of the fit.
    """
    measured = None if measure is None else parse(measure)
    if measured is not None and not measured.greater_is_better:
        # Values are negated measures; people know the measure as it is.
        history = [row | {"value": -row["value"]} for row in history]
        values = {name: -value for name, value in values.items()}
    width = max(len("trial"), *(len(row["trial"]) for row in [*history, *skipped]))
    lines = [f"{'trial':<{width}}   held out   seconds"]
    for row in history:
        marks = {"kept": row["kept"], "cut short": row.get("cut", False)}
        mark = ", ".join(name for name, holds in marks.items() if holds)
        lines.append(
            f"{row['trial']:<{width}} {row['value']:>10.4f} {row['seconds']:>9.2f}   {mark}"
        )
    lines.append(f"{'blend':<{width}} {values['blend']:>10.4f}   of {', '.join(families)}")
    lines += [f"{row['trial']:<{width}} not tried: {row['reason']}" for row in skipped]
    lines += _note_on_time(history, skipped, seconds)
    lines.append(_explained(history, skipped, values["blend"], measured))
    return "\n".join([line.rstrip() for line in lines])


def _note_on_time(history: Sequence[Row], skipped: Sequence[Row], seconds: float) -> list[str]:
    """A line if trials were not started while most of the time passed outside of all trials."""
    outside = seconds - sum(row["seconds"] for row in history)
    if outside < 0.5 * seconds or not any(row["reason"] == TOO_SHORT for row in skipped):
        return []
    return [
        f"note: {outside:.1f} of {seconds:.1f} s passed outside of the trials. The first fit "
        "compiles kernels; fit again, or raise time_budget."
    ]


def _explained(
    history: Sequence[Row], skipped: Sequence[Row], blend: float, measure: Measure | None
) -> str:
    """The choice in two sentences."""
    is_larger_better = measure is None or measure.greater_is_better
    best = (max if is_larger_better else min)(history, key=lambda row: row["value"])
    value = f"{blend:.4f}" if measure is None else f"{_short_name(measure)} = {blend:.4f}"
    if len(history) == 1:
        late = sum(row["reason"] == TOO_SHORT for row in skipped)
        failed = len(skipped) - late
        others = [f"time_budget was too short for {_count_others(late)}"] if late else []
        others += [f"{_count_others(failed)} failed"] if failed else []
        second = " and ".join(others) or "No other trial was asked for"
        return f"Only {best['trial']} was tried, with {value} on held-out queries. {second}."
    kept = sum(row["kept"] for row in history)
    left = [row["trial"] for row in history if not row["kept"]]
    test = f"(one-sided paired t test by query, {LEVEL:.0%})"
    first = (
        f"The scores of {kept} of {len(history)} trials are blended, with {value} on held-out "
        f"queries; the best trial alone, {best['trial']}, has {best['value']:.4f}."
    )
    if not left:
        return f"{first} None was left out, because no blend without one was clearly better {test}."
    return (
        f"{first} Left out: {', '.join(left)}, because scores without were clearly better {test}."
    )


def _count_others(number: int) -> str:
    return f"{number} other{'s' if number > 1 else ''}"


def _short_name(measure: Measure) -> str:
    """Name and cut-off of a measure, without its convention."""
    return re.sub(r"\(.*\)", "", str(measure))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)
