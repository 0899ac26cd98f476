"""Rankers to compare, from registry keys and estimator objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from rankwise._registry import REGISTRY, Entry
from rankwise.runtime.routing import check_ranker
from rankwise.selection.fingerprint import canonical
from rankwise.selection.origin import origin

_RANKING_KINDS = ("ranker", "ordinal")


@dataclass(frozen=True)
class Candidate:
    """One ranker of a comparison.

    Attributes
    ----------
    name : str
    estimator : unfitted estimator, or None where its extra is missing
    space : dict
        Grid to search on the validation part; empty for none.
    missing : str
        Why it cannot run, with the fix; empty where it can.
    """

    name: str
    estimator: Any
    space: dict[str, list[Any]] = field(default_factory=dict)
    missing: str = ""

    def describe(self) -> str:
        """The estimator as code, for the record."""
        if self.estimator is None:
            return self.missing
        grid = f" over {self.space}" if self.space else ""
        return " ".join(repr(self.estimator).split()) + grid

    @cached_property
    def origin(self) -> dict[str, str]:
        """Versions of libraries and hashes of the user's own code that it runs."""
        return {} if self.missing else origin(self.estimator)

    def identity(self) -> Any:
        """What its results depend on: parameters, grid, and the code."""
        return canonical([self.estimator, self.space, self.origin])


def as_candidates(rankers: Any, *, random_state: int = 0) -> list[Candidate]:
    """Candidates with unique names.

    Parameters
    ----------
    rankers : key or estimator, sequence of them, or mapping from name to either
        A key stands for the registry's parameters and grid; its ``random_state`` becomes the
        comparison's. An estimator is taken as it is and named after its class.
    random_state : int

    Raises
    ------
    ValueError, TypeError
        When a key is unknown, names no ranker, or an object cannot be fitted or cloned.
    """
    if isinstance(rankers, Mapping):
        named = [(str(name), ranker) for name, ranker in rankers.items()]
    else:
        one = isinstance(rankers, str) or hasattr(rankers, "fit")
        listed: list[Any] = [rankers] if one else list(rankers)
        named = [(r if isinstance(r, str) else type(r).__name__, r) for r in listed]
    if not named:
        raise ValueError("rankers must name at least one ranker, got none.")
    seen: dict[str, int] = {}
    candidates = []
    for name, ranker in named:
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name} #{seen[name]}"
        candidates.append(
            _from_key(unique, ranker, random_state)
            if isinstance(ranker, str)
            else _from_estimator(unique, ranker)
        )
    return candidates


def _from_key(name: str, key: str, random_state: int) -> Candidate:
    entry = REGISTRY.get(key)
    if entry is None or entry.kind not in _RANKING_KINDS:
        keys = [key for key, entry in REGISTRY.items() if entry.kind in _RANKING_KINDS]
        near = get_close_matches(key, keys, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {keys}."
        raise ValueError(f"rankers: {key!r} is no ranker of the registry. {hint}")
    params = dict(entry.params)
    if "random_state" in params:
        params["random_state"] = random_state
    try:
        estimator = entry.load()(**params)
    except ImportError as error:
        return Candidate(name, None, missing=_fix(entry, error))
    return Candidate(name, estimator, entry.space)


def _fix(entry: Entry, error: ImportError) -> str:
    if not entry.extra or "rankwise[" in str(error):
        return str(error)
    return f"{error}. Install it with: pip install 'rankwise[{entry.extra}]'"


def _from_estimator(name: str, estimator: Any) -> Candidate:
    check_ranker(name, estimator)
    return Candidate(name, estimator)
