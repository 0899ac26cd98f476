"""What the registry says of an estimator, and the rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One estimator.

    Attributes
    ----------
    path : str
        ``"module:Class"``.
    kind : str
        "ranker", "transformer", "ordinal", "multi-label" or "cost-sensitive".
    summary : str
        One line for lists.
    tags : frozenset of str
        e.g. "closed-form", "pairwise", "path", "validation" (uses X_val), "deterministic".
    paper : str
        Source, empty where none.
    extra : str
        Name of the optional dependency group it needs, empty for none.
    params : dict
        Parameters with which ``compare`` runs it: a tuned setting where the estimator has a path.
    space : dict
        Grid that ``compare`` searches on the validation part where there is no path.
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
            Naming the extra to install when an optional dependency is missing.
        """
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class Row:
    """An :class:`Entry` without what its table says; the module has the name of the key.

    Attributes
    ----------
    place : str
        ``"folder:Class"``, or the class where the module lies in the table's package itself.
    tags : str
        Separated by spaces.
    """

    place: str
    summary: str
    tags: str
    paper: str = ""
    extra: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)

    def entry(self, key: str, kind: str, package: str) -> Entry:
        """The entry of a row."""
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
    """Entries of a table whose estimators are of one kind and in one package."""
    return {key: row.entry(key, kind, package) for key, row in table.items()}
