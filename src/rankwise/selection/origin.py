"""Code that computes a ranker's numbers: versions of libraries, and the user's own source.

Code counts as the user's own unless it belongs to the standard library, to this package or to an
installed distribution; these are represented by their versions.
"""

from __future__ import annotations

import functools
import hashlib
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import (
    PackageNotFoundError,
    distributions,
    packages_distributions,
    version,
)
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from rankwise.runtime.jit import Kernel
from rankwise.selection.fingerprint import canonical, closure, fingerprint
from rankwise.selection.provenance import library_versions

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.ndarray)
_CODE = (type, types.FunctionType)
_SEQUENCES = (list, tuple, set, frozenset)
_NOT_OF_NUMBERS = ("python", "platform")
# These modules only display or transport numbers, so they cannot change a result.
_OUTSIDE = frozenset({"cli", "report", "distributed", "export", "experiments"})
# Libraries that a package of ours imports within functions.
_IMPORTED_LATE = {"rankwise.rankers.neural": "torch"}
SOURCE = "source of "


def origin(estimator: Any) -> dict[str, str]:
    """Versions and hashes of the code that an estimator runs, by name.

    Parameters
    ----------
    estimator : estimator
        Estimator; its parameters are included: estimators, functions, classes and other objects.

    Returns
    -------
    dict of str to str
        ``{"numpy": "2.4.6", "lightgbm": "4.6.0", "source of my_module:MyRanker": "1f0c…"}``.

    Notes
    -----
    The hash of a class covers its bases, its methods, and the functions, classes and constants of
    the user's own modules that these refer to by name. It does not cover names looked up at run
    time (``getattr``, imports within functions), attributes of instances, or data files.
    """
    found = {k: of for k, of in library_versions().items() if k not in _NOT_OF_NUMBERS}
    checkout = _package_hash()
    if checkout:
        found[f"{SOURCE}rankwise"] = checkout
    for value in _parts(estimator):
        walk = _Walk()
        description = walk.describe(value)
        if walk.own_code:
            found[SOURCE + _name(value)] = fingerprint(description)[:16]
        for module in walk.modules:
            found |= _library(module)
    return found


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Differences between two origins, as short phrases."""
    told = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if name.startswith(SOURCE):
            told.append(f"{name.rpartition(':')[2]} changed" if ":" in name else f"{name} changed")
        else:
            told.append(f"{name} {old or 'not used'}, now {new or 'not used'}")
    return told


def wrapped_versions(origins: Iterable[dict[str, str]]) -> dict[str, str]:
    """Versions of all libraries of some origins, sorted by name."""
    found = {name: of for each in origins for name, of in each.items()}
    return {name: of for name, of in sorted(found.items()) if not name.startswith(SOURCE)}


def _parts(estimator: Any) -> Iterator[Any]:
    """Classes and functions of an estimator and its parameters, each once."""
    seen = set()
    for value in [estimator, *estimator.get_params(deep=True).values()]:
        for code in _code_of(value):
            if code not in seen:
                seen.add(code)
                yield code


def _code_of(value: Any) -> Iterator[Any]:
    """Classes and functions that a value runs or holds; a partial holds its arguments."""
    parts: Iterable[Any]
    value = _python_function(value)
    if isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        parts = (value.__func__, value.__self__)
    elif isinstance(value, _SEQUENCES):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    else:
        yield value if isinstance(value, _CODE) else type(value)
        return
    for part in parts:
        yield from _code_of(part)


def _python_function(value: Any) -> Any:
    """Original function of a Numba or ``functools`` wrapper; other values unchanged."""
    for name in ("py_func", "__wrapped__"):
        function = None if isinstance(value, _CODE) else getattr(value, name, None)
        if isinstance(function, types.FunctionType):
            return function
    return value


class _Walk:
    """Describe code and everything it refers to, each piece once."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}
        self.modules: set[str] = set()
        self.own_code = False

    def describe(self, value: Any) -> Any:
        """JSON values that change with the code; None for code that is not the user's own."""
        if isinstance(value, _PLAIN):
            return canonical(value)
        if isinstance(value, types.ModuleType):
            self.modules.add(value.__name__)
            return None
        if isinstance(value, functools.partial | functools.partialmethod):
            return self._all([value.func, *value.args, *sorted(value.keywords.items())])
        if isinstance(value, types.MethodType):
            return self._all([value.__func__, value.__self__])
        if isinstance(value, property):
            return self._all([value.fget, value.fset])
        if isinstance(value, classmethod | staticmethod):
            return self.describe(value.__func__)
        if isinstance(value, functools.cached_property):
            return self.describe(value.func)
        if isinstance(value, (*_SEQUENCES, dict)):
            return self._container(value)
        if isinstance(value, Kernel):
            value = value.dispatcher
        if isinstance(value, Dispatcher):
            return [canonical(value.targetoptions), self.describe(value.py_func)]
        value = _python_function(value)
        if isinstance(value, _CODE):
            return self._code(value)
        self.modules.add(_module_of(value))  # such as a function of an extension module
        return self._code(type(value))

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.describe(value) for value in values]

    def _container(self, value: Any) -> Any:
        if id(value) in self.seen:
            return None
        self.seen[id(value)] = value
        if isinstance(value, dict):
            return [[fingerprint(self.describe(k)), self.describe(v)] for k, v in value.items()]
        items = self._all(value)
        return items if isinstance(value, list | tuple) else sorted(map(fingerprint, items))

    def _code(self, value: Any) -> Any:
        module = _module_of(value)
        self.modules.add(module)
        if not _is_own(module):
            if isinstance(value, type):
                for base in value.__mro__:
                    self.modules |= _imported(base.__module__)
                return None
            within = getattr(value, "__wrapped__", None)  # the user's, within a library's decorator
            return None if within is None else self.describe(within)
        if id(value) in self.seen:
            return _name(value)
        self.seen[id(value)] = value
        self.own_code = True
        if isinstance(value, type):
            bases = [[_name(base), self.describe(base)] for base in value.__bases__]
            return [bases, [[name, self.describe(member)] for name, member in _members(value)]]
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return [
            canonical(value.__code__),
            self._all(closure(value)),
            self._all(defaults),
            [[name, self.describe(of)] for name, of in self._referred(value)],
        ]

    def _referred(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        """Globals named in a function's code, and members of the user's modules among them."""
        names = list(dict.fromkeys(_names(function.__code__)))
        for name in names:
            if name not in function.__globals__:
                continue
            value = function.__globals__[name]
            yield name, value
            if isinstance(value, types.ModuleType) and _is_own(value.__name__):
                yield from ((f"{name}.{n}", vars(value)[n]) for n in names if n in vars(value))


def _members(cls: type) -> list[tuple[str, Any]]:
    """Attributes of a class written by its author."""
    return [
        (name, member)
        for name, member in sorted(vars(cls).items())
        if name != "_abc_impl" and (not name.startswith("__") or callable(member))
    ]


def _names(code: types.CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _imported(module: str) -> set[str]:
    """Modules in the namespace of a module of this package: libraries that an adapter wraps."""
    if module.partition(".")[0] != "rankwise" or module not in sys.modules:
        return set()
    held = vars(sys.modules[module]).values()
    found = {value.__name__ for value in held if isinstance(value, types.ModuleType)}
    late = _IMPORTED_LATE.get(module.rpartition(".")[0])
    return found if late is None else found | {late}


def _module_of(value: Any) -> str:
    """Module in which a value was written, even if a decorator renamed a function's module."""
    module = getattr(value, "__module__", None)
    if isinstance(value, types.FunctionType):
        module = value.__globals__.get("__name__", module)
    return module if isinstance(module, str) else ""


def _is_own(module: str) -> bool:
    root = module.partition(".")[0]
    if root in ("", "rankwise", "__main__"):
        return root == "__main__"
    file = getattr(sys.modules.get(module), "__file__", None)
    is_standard = root in sys.stdlib_module_names
    if file is None:
        return not is_standard
    if is_standard and Path(file).resolve().is_relative_to(Path(sys.base_prefix).resolve()):
        return False
    return not _is_installed(module, Path(file))


def _is_installed(module: str, file: Path) -> bool:
    """Whether an installer put the module there; ``pip --target`` may use any folder."""
    depth = module.count(".") + (file.stem == "__init__")
    if module.partition(".")[0] in _recorded(file.parents[depth]):
        return True
    path = file.resolve()
    return any(path.is_relative_to(folder) for folder in _install_folders())


@cache
def _recorded(folder: Path) -> frozenset[str]:
    """Top-level modules in a folder that are listed in records of installed distributions."""
    lines: list[str] = []
    for distribution in distributions(path=[str(folder)]):
        lines += (distribution.read_text("RECORD") or "").splitlines()
    return frozenset(line.partition(",")[0].partition("/")[0].partition(".")[0] for line in lines)


@cache
def _install_folders() -> frozenset[Path]:
    """Folders for installed packages of the environment, the user and the system."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return frozenset(Path(folder).resolve() for folder in folders)


def _library(module: str) -> dict[str, str]:
    """Version of the distribution of a module, by module name; empty for the user's own."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names or root in ("", "rankwise"):
        return {}
    if root in sys.modules and _is_own(module):
        return {}
    name = _distribution(root)
    try:
        return {name: version(name)}
    except PackageNotFoundError:
        found = getattr(sys.modules.get(root), "__version__", None)
        return {} if found is None else {name: str(found)}


@cache
def _distribution(root: str) -> str:
    """Name of the distribution that provides a package."""
    if root == "sklearn":
        return "scikit-learn"
    try:
        version(root)
    except PackageNotFoundError:  # of another name, or none; the search takes a while
        return next(iter(packages_distributions().get(root, [root])))
    return root


@cache
def _package_hash() -> str:
    """Hash of this package's modules in a checkout; empty if the package is installed."""
    folder = Path(__file__).parents[1]
    if _is_installed("rankwise", folder / "__init__.py"):
        return ""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] not in _OUTSIDE:
            hasher.update(f"{place.as_posix()}\n".encode())
            hasher.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return hasher.hexdigest()[:16]


def _name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"
