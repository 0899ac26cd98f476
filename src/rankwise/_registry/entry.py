"""Entries of the registry, and the rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """Description of one estimator.

    Attributes
    ----------
    path : str
        Location as ``"module:Class"``.
    kind : str
        Kind: "ranker", "transformer", "ordinal", "multi-label" or "cost-sensitive".
    summary : str
        One-line summary for lists.
    tags : frozenset of str
        Tags such as "closed-form", "pairwise", "path", "validation" (uses X_val) or
        "deterministic".
    paper : str
        Source; empty if there is none.
    extra : str
        Name of the required optional dependency group; empty if there is none.
    params : dict
        Parameters used by ``compare``; a search setting if the estimator has a path.
    space : dict
        Grid that ``compare`` searches on the validation part if the estimator has no path.
    """

    path: str
    kind: str
    summary: str
    tags: frozenset[str] = frozenset()
    paper: str = ""
    extra: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Public class name."""
        return self.path.partition(":")[2]

    def load(self) -> type:
        """Import the class.

        Raises
        ------
        ImportError
            If an optional dependency is missing; the message names the extra to install.
        """
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class Row:
    """An :class:`Entry` without the fields set by its table; the module is named after the key.

    Attributes
    ----------
    place : str
        ``"folder:Class"``, or only the class if the module is in the package of the table.
    tags : str
        Tags, separated by spaces.
    """

    place: str
    summary: str
    tags: str
    paper: str = ""
    extra: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)

    def entry(self, key: str, kind: str, package: str) -> Entry:
        """Convert a row to an entry."""
        folder, _, name = self.place.rpartition(":")
        module = ".".join(part for part in (package, folder, key) if part)
        return Entry(
            f"{module}:{name}",
            kind,
            self.summary,
            frozenset(self.tags.split()),
            self.paper,
            self.extra,
            self.params,
            self.space,
        )


def entries(kind: str, package: str, table: Mapping[str, Row]) -> dict[str, Entry]:
    """Entries of a table with estimators of one kind in one package."""
    return {key: row.entry(key, kind, package) for key, row in table.items()}
