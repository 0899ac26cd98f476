"""Code that computes a ranker's numbers: versions of libraries, and hashes of source.

A class or function of the user's own module counts with the file of that module and the files of
own modules that it imports. Code that has no file of its own, in a notebook, in ``__main__`` or
within a function, counts with its byte code and with what that refers to by name. Worker processes
receive such code itself, and import the other: both are hashed as they will run.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from rankwise.runtime.jit import CompiledFunction
from rankwise.selection.fingerprint import canonical, closure, fingerprint
from rankwise.selection.provenance import library_versions
from rankwise.selection.source_files import (
    file_hash,
    find_imported_files,
    is_own,
    library_version,
    module_file,
    package_hash,
)

_CODE = (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType, np.ufunc)
_NOT_OF_NUMBERS = ("python", "platform")
_PACKAGE = "rankwise."
SOURCE = "source of "


def origin(estimator: Any) -> dict[str, str]:
    """Versions and hashes of the code that an estimator and its parameters run, by name.

    The result is like ``{"numpy": "2.4.6", "lightgbm": "4.6.0", "source of my_module": "1f0c…"}``.
    Parameters may be estimators, functions, classes and other objects.

    Files are read from disk, as worker processes do. Names that code looks up at run time
    (``getattr``, ``importlib``) and data files are not covered.
    """
    walk = _Walk()
    walk.follow([type(estimator), *estimator.get_params(deep=True).values()])
    versions = {k: v for k, v in library_versions().items() if k not in _NOT_OF_NUMBERS}
    return versions | {f"{SOURCE}rankwise": package_hash()} | walk.found


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Differences between two origins, as short phrases."""
    told = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if name.startswith(SOURCE):
            told.append(f"{name.rpartition(':')[2]} changed")  # all of it if there is no colon
        else:
            told.append(f"{name} {old or 'not used'}, now {new or 'not used'}")
    return told


def merge_versions(origins: Iterable[dict[str, str]]) -> dict[str, str]:
    """Versions of all libraries of some origins, sorted by name."""
    found = {name: version for each in origins for name, version in each.items()}
    return {name: found[name] for name in sorted(found) if not name.startswith(SOURCE)}


class _Walk:
    """Code that values hold, and code that this refers to, each piece once."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._seen: dict[int, Any] = {}

    def follow(self, values: Iterable[Any]) -> None:
        """Add the code that the values hold."""
        for value in values:
            for code in _held_code(value):
                if id(code) not in self._seen:
                    self._seen[id(code)] = code
                    self._add(code)

    def _add(self, code: Any) -> None:
        module = _module_of(code)
        if not is_own(module):
            for base in code.__mro__ if isinstance(code, type) else [code]:
                for name in _libraries(_module_of(base)):
                    self.found |= library_version(name)
            # The user's function within a library's decorator.
            self.follow([getattr(code, "__wrapped__", None)])
            return
        has_file = module_file(module) is not None
        if has_file and SOURCE + module not in self.found:
            self._add_files(module)
        if isinstance(code, types.ModuleType):
            return
        if not has_file or "<locals>" in code.__qualname__:
            name = f"{SOURCE}{module}:{code.__qualname__}"
            values = _values(code)
            described = [[key, _describe(value)] for key, value in values.items()]
            # Several lambdas may have one name.
            self.found[name] = fingerprint([self.found.get(name), described])[:16]
            self.follow(values.values())

    def _add_files(self, module: str) -> None:
        files, others = find_imported_files(module, is_own)
        for name, path in files.items():
            self.found[SOURCE + name] = file_hash([("", path)])
            # Classes of this package may need further libraries.
            held = vars(sys.modules[name]).values() if name in sys.modules else ()
            self.follow(
                v for v in held if isinstance(v, type) and v.__module__.startswith(_PACKAGE)
            )
        for name in others:
            self.found |= library_version(name)


class _Finder(pickle.Pickler):
    """Pickler that collects the code in a value instead of writing it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: list[Any] = []

    def persistent_id(self, value: Any) -> Any:
        """Anything but None keeps the value out of the pickle."""
        value = _python_function(value)
        if isinstance(value, _CODE):
            self.found.append(value)
            return "code"
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return "numbers"
        return None


def _held_code(value: Any) -> list[Any]:
    """Classes, functions and modules in a value, in its attributes, items and arguments."""
    finder = _Finder()
    if isinstance(value, property):
        value = [value.fget, value.fset, value.fdel]
    elif isinstance(value, classmethod | staticmethod):
        value = value.__func__
    elif isinstance(value, functools.cached_property):
        value = value.func
    try:
        finder.dump(value)
    except Exception:  # such as an open file
        finder.found.append(type(value))
    return finder.found


def _python_function(value: Any) -> Any:
    """Original function of a Numba or ``functools`` wrapper; other values unchanged."""
    if isinstance(value, _CODE) or not callable(value):
        return value
    for name in ("py_func", "__wrapped__"):
        function = getattr(value, name, None)
        if isinstance(function, types.FunctionType):
            return function
    return value


def _values(code: Any) -> dict[Any, Any]:
    """Values that make up a class or function, and the globals that a function names."""
    if isinstance(code, type):
        members = {
            name: member
            for name, member in sorted(vars(code).items())
            if name != "_abc_impl" and (not name.startswith("__") or callable(member))
        }
        return {**dict(enumerate(code.__bases__)), **members}
    bound = [code.__code__, *closure(code), code.__defaults__, code.__kwdefaults__]
    names = list(dict.fromkeys(_names(code.__code__)))
    held = {name: code.__globals__[name] for name in names if name in code.__globals__}
    for name, value in list(held.items()):
        if isinstance(value, types.ModuleType) and is_own(value.__name__):
            held |= {f"{name}.{n}": vars(value)[n] for n in names if n in vars(value)}
    return {**dict(enumerate(bound)), **held}


def _describe(value: Any) -> Any:
    """JSON value that changes with a value; of code, which has an entry of its own, the name."""
    if not isinstance(value, CompiledFunction | Dispatcher):  # which count with their options
        value = _python_function(value)
    if not isinstance(value, _CODE):
        with suppress(TypeError):  # such as an open file
            return canonical(value)
        value = type(value)
    return f"{_module_of(value)}:{value.__name__}"


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _module_of(code: Any) -> str:
    """Module in which code was written, even if a decorator renamed a function's module."""
    if isinstance(code, types.ModuleType):
        return code.__name__
    if isinstance(code, types.FunctionType):
        return str(code.__globals__.get("__name__", code.__module__))
    return getattr(code, "__module__", None) or ""


@cache
def _libraries(module: str) -> frozenset[str]:
    """Packages whose versions stand for an installed module.

    Those of a module of this package are what it and its neighbours import, such as the library
    that an adapter wraps.
    """
    if not module.startswith(_PACKAGE):
        return frozenset([module])
    package = module.rpartition(".")[0]
    _, others = find_imported_files(
        module, lambda name: "rankwise" != package == name.rpartition(".")[0]
    )
    return frozenset(name.partition(".")[0] for name in others)
