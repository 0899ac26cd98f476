"""How messages write a parameter with its value: as an argument, or as an option of a program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

LISTS = ("features", "fields", "ignore")


class ArgumentError(ValueError):
    """An argument is wrong; ``problem`` is the message without its ``name``."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem

    def __str__(self) -> str:
        return f"{self.name} {self.problem}"


def check_choice(name: str, value: object, known: Collection[Any], fix: str = "") -> None:
    """Refuse a value that is none of the known ones; True is not 1."""
    if not any(
        value is other
        or (isinstance(value, type(other)) and not isinstance(value, bool) and value == other)
        for other in known
    ):
        words = [word for word in known if isinstance(word, str)]
        hint = fix or (did_you_mean(value, words, "") if isinstance(value, str) else "")
        problem = f"must be one of {', '.join(map(repr, known))}, got {value!r}. {hint}"
        raise ArgumentError(name, problem.rstrip())


def check_whole(name: str, value: object, least: int, fix: str = "") -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        problem = f"must be a whole number >= {least}, got {value!r}. {fix}"
        raise ArgumentError(name, problem.rstrip())


def check_share(name: str, value: object, fix: str = "") -> None:
    """Refuse what is not a number between 0 and 1, both excluded."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ArgumentError(name, f"must lie between 0 and 1, got {value!r}. {fix}".rstrip())


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Question with the known name that is most similar; ``otherwise`` if none is."""
    known = list(known)
    same = [other for other in known if other.lower() == name.lower()]
    near = same or get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise


def setting(name: str, value: Any = ...) -> str:
    """A parameter, by its Python name, with its value, as the user of this process writes it.

    Without a value, a placeholder is shown.
    """
    return _write(name, value)


@contextmanager
def settings_written(write: Callable[[str, Any], str]) -> Iterator[None]:
    """Let messages of the library write settings as ``write(name, value)``, in all threads."""
    global _write
    before, _write = _write, write
    try:
        yield
    finally:
        _write = before


def _format_argument(name: str, value: Any) -> str:
    if value is ...:
        return f"{name}=[…]" if name in LISTS else f"{name}='…'"
    return f"{name}={value!r}"


_write = _format_argument
