"""Rankers to compare, from registry keys and estimator objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rankwise._registry import find_ranker
from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.readers.trec import Run
from rankwise.datasets.table_columns import is_frame
from rankwise.runtime.routing import check_ranker
from rankwise.selection.fingerprint import canonical
from rankwise.selection.given_scores import COLUMN, ColumnScores, GivenScores, run_scores
from rankwise.selection.origin import origin


@dataclass(frozen=True)
class Candidate:
    """One ranker of a comparison."""

    name: str
    estimator: Any  # unfitted estimator, GivenScores, or None if its extra is missing
    # grid to search on the validation part; empty for none
    space: dict[str, list[Any]] = field(default_factory=dict)
    missing: str = ""  # why the ranker cannot run, and how to fix that; empty if it can

    def describe(self) -> str:
        """Estimator as code, for reports."""
        if self.estimator is None:
            return self.missing
        if self.is_given:
            return self.estimator.describe()
        grid = f" over {self.space}" if self.space else ""
        return " ".join(repr(self.estimator).split()) + grid

    @property
    def is_given(self) -> bool:
        """Whether scores are given, so nothing is fitted, timed or stored."""
        return isinstance(self.estimator, GivenScores)

    @property
    def is_kept(self) -> bool:
        """Whether a store keeps the finished cells."""
        return not self.missing and not self.is_given

    @cached_property
    def origin(self) -> dict[str, str]:
        """Versions of libraries and hashes of the user's own code that the ranker runs."""
        return {} if self.missing or self.is_given else origin(self.estimator)

    def identity(self) -> Any:
        """Values that determine the results: parameters, grid and code."""
        return canonical([self.estimator, self.space, self.origin])


def convert_to_candidates(rankers: Any, *, random_state: int = 0) -> list[Candidate]:
    """Convert rankers to candidates with unique names.

    ``rankers`` is a key or an estimator, a sequence of them, or a mapping from names to either. A
    key gets the registry's parameters and grid, and ``random_state`` as its seed. An estimator is
    used unchanged and named after its class. Existing scores are a key "column:NAME" or a run (also
    a Path, a frame or ``{query: {document: score}}`` with a name).
    """
    if isinstance(rankers, Mapping):
        named = [(str(name), ranker) for name, ranker in rankers.items()]
    else:
        if isinstance(rankers, RankingData | Fold | FoldedData) or is_frame(rankers):
            raise TypeError(
                f"rankers must be keys or estimators, got a {type(rankers).__name__}. The data "
                "come after the rankers: compare(rankers, data)."
            )
        is_single = isinstance(rankers, str | Run) or hasattr(rankers, "fit")
        several: Any = [rankers] if is_single else rankers
        listed: list[Any] = list(several)
        named = [(_own_name(ranker), ranker) for ranker in listed]
    if not named:
        raise ValueError("rankers must name at least one ranker, got none.")
    seen: dict[str, int] = {}
    candidates = []
    for name, ranker in named:
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name} #{seen[name]}"
        candidates.append(_candidate(unique, ranker, random_state))
    return candidates


def score_columns(candidates: Sequence[Candidate]) -> list[str]:
    """Columns of the data that candidates use as scores."""
    given = [candidate.estimator for candidate in candidates]
    return list(dict.fromkeys(scores.name for scores in given if isinstance(scores, ColumnScores)))


def _own_name(ranker: Any) -> str:
    if isinstance(ranker, str):
        return ranker.removeprefix(COLUMN)
    return ranker.tag if isinstance(ranker, Run) else type(ranker).__name__


def _candidate(name: str, ranker: Any, random_state: int) -> Candidate:
    if not isinstance(ranker, str) and (run := run_scores(ranker)) is not None:
        return Candidate(name, run)
    if isinstance(ranker, str) and ranker.startswith(COLUMN):
        return Candidate(name, ColumnScores(ranker.removeprefix(COLUMN)))
    if isinstance(ranker, str):
        return _load_candidate(name, ranker, random_state)
    check_ranker(name, ranker)
    return Candidate(name, ranker)


def _load_candidate(name: str, key: str, random_state: int) -> Candidate:
    entry = find_ranker(key, "rankers")
    params = dict(entry.params)
    if "random_state" in params:
        params["random_state"] = random_state
    try:
        estimator = entry.load()(**params)
    except ImportError as error:
        return Candidate(name, None, missing=str(error))
    return Candidate(name, estimator, entry.space)
