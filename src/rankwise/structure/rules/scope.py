"""Sizes bound to symbols, and the error for a broken rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

Found = Iterator[tuple[str, Any]]
Size = int | str

_SIZE = re.compile(r"(\w+)(?: ([+-]) (\d+))?")


class StructureError(ValueError):
    """An attribute that breaks the rule of its class."""


class Rule:
    """Requirement on an attribute; subclasses define ``check``."""

    @property
    def holds_parts(self) -> bool:
        """Whether a value may hold objects with rules of their own."""
        return False

    @property
    def may_lack(self) -> bool:
        """Whether some fits do not set the attribute."""
        return False

    def check(self, value: Any, where: str, scope: Scope) -> Found:
        """Raise StructureError, or yield the parts of ``value`` that have rules of their own."""
        raise NotImplementedError(f"{type(self).__name__} must define check.")


class Scope:
    """Sizes bound to symbols; those of the enclosing object are visible."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._sizes: dict[str, int] = {}
        self._outer = outer

    def bind(self, name: str, size: int) -> None:
        """Fix the size of a symbol."""
        self._sizes[name] = size

    def value(self, size: Size) -> int | None:
        """Size denoted by an expression such as ``"n_nodes + 1"``; None if not known yet."""
        if isinstance(size, int):
            return size
        name, shift = _parse_size(size)
        known = self._find_size(name)
        return None if known is None else known + shift

    def agrees(self, size: Size, length: int) -> bool:
        """Whether a length equals an expression; an unbound symbol is bound to it."""
        expected = self.value(size)
        if expected is None:
            name, shift = _parse_size(str(size))
            self.bind(name, length - shift)
            return length >= shift
        return length == expected

    def _find_size(self, name: str) -> int | None:
        if name in self._sizes:
            return self._sizes[name]
        return None if self._outer is None else self._outer._find_size(name)


@cache
def _parse_size(size: str) -> tuple[str, int]:
    matched = _SIZE.fullmatch(size)
    assert matched is not None, size
    name, sign, shift = matched.groups()
    return name, int(f"{sign}{shift}") if sign else 0


def check_shape(
    shape: tuple[int, ...], sizes: tuple[Size, ...] | None, where: str, scope: Scope
) -> None:
    """Raise if a shape does not agree with sizes; unbound symbols are bound to it."""
    if sizes is None:
        return
    if len(shape) != len(sizes) or not all(map(scope.agrees, sizes, shape)):
        said = ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "")
        known = {str(s): scope.value(s) for s in sizes if isinstance(s, str)}
        meaning = ", ".join(f"{name} = {size}" for name, size in known.items() if size is not None)
        raise violation(
            where, f"have shape ({said})" + (f" with {meaning}" if meaning else ""), shape
        )


def violation(where: str, rule: str, value: Any) -> StructureError:
    """The error for a broken rule."""
    return StructureError(f"{where} must {rule}, got {_short(value)}")


def run(found: Found) -> None:
    """Run a check that yields no parts."""
    for _ in found:
        pass


def _short(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value) if not isinstance(value, np.dtype) else f"dtype {value}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."
