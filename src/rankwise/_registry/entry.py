"""Entries of the registry, and the rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """Description of one estimator."""

    path: str  # "module:Class"
    kind: str  # "ranker", "transformer", "ordinal", "multi-label" or "cost-sensitive"
    summary: str  # one line, for lists
    # such as "closed-form", "pairwise", "path", "validation" (uses X_val) or "deterministic"
    tags: frozenset[str] = frozenset()
    paper: str = ""  # source; empty if there is none
    extra: str = ""  # group of optional dependencies that it needs; empty if there is none
    # used by ``compare``; a search setting if the estimator has a path
    params: dict[str, Any] = field(default_factory=dict)
    # searched by ``compare`` on the validation part if the estimator has no path
    space: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Public class name."""
        return self.path.partition(":")[2]

    def load(self) -> type:
        """Import the class; if a dependency is missing, the error names the extra to install."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class Row:
    """An :class:`Entry` without the fields set by its table; the module is named after the key."""

    place: str  # "folder:Class", or only the class if the module is in the package of the table
    summary: str
    tags: str  # separated by spaces
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
