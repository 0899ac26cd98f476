"""Deprecations: the old name works for two minor releases, with a FutureWarning.

Every change of a public name uses these functions. A test fails once the release reaches the
version that a warning names: then remove the old name, and enter it in ``renames.py``, which errors
read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from rankwise.runtime.messages import callers_level

P = ParamSpec("P")
R = TypeVar("R")
_MINOR_RELEASES = 2
_ATTRIBUTE = "_deprecated_parameters"


def removal(since: str) -> str:
    """Version that removes what was deprecated in version ``since``: "0.7" for "0.5"."""
    major, minor = since.split(".")[:2]
    return f"{major}.{int(minor) + _MINOR_RELEASES}"


def deprecate_parameter(
    old: str, new: str, *, since: str
) -> Callable[[Callable[P, R]], Callable[..., R]]:
    """Decorator of functions and methods whose parameter ``old`` is now ``new``.

    The old keyword is passed on as the new one. On ``__init__``, ``set_params`` takes it, too.
    """

    def decorate(function: Callable[P, R]) -> Callable[..., R]:
        @wraps(function)
        def renamed(*args: Any, **kwargs: Any) -> R:
            if old in kwargs:
                owner = type(args[0]).__name__ if name == "__init__" else name
                kwargs = rename_parameters(kwargs, {old: (new, since)}, owner)
            return function(*args, **kwargs)

        name = function.__name__
        known = getattr(function, _ATTRIBUTE, {})
        setattr(renamed, _ATTRIBUTE, {**known, old: (new, since)})
        return renamed

    return decorate


def find_deprecated_parameters(function: Any) -> dict[str, tuple[str, str]]:
    """New name and version of each deprecated parameter of a decorated function."""
    return getattr(function, _ATTRIBUTE, {})


def rename_parameters(
    given: Mapping[str, Any], renames: Mapping[str, tuple[str, str]], owner: str
) -> dict[str, Any]:
    """Replace deprecated keywords, with a warning each; TypeError if both names are given."""
    found = dict(given)
    for old, (new, since) in renames.items():
        if old not in found:
            continue
        if new in found:
            raise TypeError(f"{owner} got {old} and {new}, which are one parameter. Pass {new}.")
        _warn(f"{owner}: {old}", f"{new} instead", since)
        found[new] = found.pop(old)
    return found


def deprecate_value(name: str, value: Any, changes: Mapping[str, str], *, since: str) -> Any:
    """The new word for a deprecated value of the parameter ``name``; others unchanged."""
    if not isinstance(value, str) or value not in changes:
        return value
    _warn(f"{name}={value!r}", f"{changes[value]!r} instead", since)
    return changes[value]


def deprecate_name(old: str, new: Callable[P, R], *, since: str) -> Callable[P, R]:
    """A function for the old public name of a function or class, which calls the new one."""

    @wraps(new)
    def renamed(*args: P.args, **kwargs: P.kwargs) -> R:
        _warn(old, f"{new.__name__} instead", since)
        return new(*args, **kwargs)

    return renamed


def _warn(old: str, fix: str, since: str) -> None:
    warnings.warn(
        f"{old} is deprecated since version {since} and will be removed in {removal(since)}. "
        f"Use {fix}.",
        FutureWarning,
        stacklevel=callers_level(),
    )
