"""How messages write a parameter with its value: as an argument, or as an option of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

LISTS = ("features", "fields", "ignore")


class ArgumentError(ValueError):
    """An argument is wrong; ``problem`` is the message without its ``name``."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem

    def __str__(self) -> str:
        return f"{self.name} {self.problem}"


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
