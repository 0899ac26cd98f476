"""What computes a ranker's numbers: versions of libraries, and the source of the user's own code.

Code counts as the user's own unless it belongs to the standard library, to this package or to an
installed distribution, which their versions stand for.
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
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np

import rankwise
from rankwise.selection.fingerprint import canonical, fingerprint
from rankwise.selection.provenance import library_versions

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.ndarray)
_NOT_OF_NUMBERS = ("python", "platform")
# They show numbers or move them; what they hold cannot change a result.
_OUTSIDE = frozenset({"cli", "report", "distributed", "export", "experiments"})
# Libraries that a package of ours imports within functions.
_IMPORTED_LATE = {"rankwise.rankers.neural": "torch"}
SOURCE = "source of "


def origin(estimator: Any) -> dict[str, str]:
    """Versions and hashes of the code that an estimator runs, by name.

    Parameters
    ----------
    estimator : estimator
        Its parameters count too: estimators, functions, classes and other objects.

    Returns
    -------
    dict of str to str
        ``{"numpy": "2.4.6", "lightgbm": "4.6.0", "source of my_module:MyRanker": "1f0c…"}``.

    Notes
    -----
    The hash of a class covers its bases, its methods, and the functions, classes and constants of
    the user's own modules that these refer to by name. Not seen: names looked up at run time
    (``getattr``, imports within functions), attributes of instances, and data files.
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
    """What differs between two origins, as short phrases."""
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
    """Versions of all libraries of some origins, in the order of their names."""
    found = {name: of for each in origins for name, of in each.items()}
    return {name: of for name, of in sorted(found.items()) if not name.startswith(SOURCE)}


def _parts(estimator: Any) -> Iterator[Any]:
    """Classes and functions of an estimator and of its parameters, each once."""
    seen = set()
    for value in [estimator, *estimator.get_params(deep=True).values()]:
        for code in _code_of(value):
            if code not in seen:
                seen.add(code)
                yield code


def _code_of(value: Any) -> Iterator[Any]:
    """Classes and functions that a value runs or holds; a partial holds all that it was given."""
    parts: Iterable[Any]
    if isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        parts = (value.__func__, value.__self__)
    elif isinstance(value, list | tuple):
        parts = value
    else:
        yield value if isinstance(value, type | types.FunctionType) else type(value)
        return
    for part in parts:
        yield from _code_of(part)


class _Walk:
    """Describes code and what it refers to, each piece once."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.modules: set[str] = set()
        self.own_code = False

    def describe(self, value: Any) -> Any:
        """JSON values that change with the code; None for what is not the user's own."""
        if isinstance(value, types.ModuleType):
            self.modules.add(value.__name__)
            return None
        if isinstance(value, functools.partial):
            given = sorted(value.keywords.items())
            return [
                [self.describe(part) for part in (value.func, *value.args)],
                [[name, self.describe(part)] for name, part in given],
            ]
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        elif isinstance(value, property):
            return [self.describe(part) for part in (value.fget, value.fset)]
        elif isinstance(value, functools.cached_property):
            value = value.func
        value = getattr(value, "py_func", value)  # compiled by numba
        value = getattr(value, "__wrapped__", value)
        if isinstance(value, types.FunctionType | type):
            return self._code(value)
        return _constant(value)

    def _code(self, value: Any) -> Any:
        self.modules.add(value.__module__ or "")
        if not _is_own(value.__module__ or ""):
            if isinstance(value, type):
                for base in value.__mro__:
                    self.modules |= _imported(base.__module__)
            return None
        if id(value) in self.seen:
            return _name(value)
        self.seen.add(id(value))
        self.own_code = True
        if isinstance(value, type):
            bases = [[_name(base), self.describe(base)] for base in value.__bases__]
            return [bases, [[name, self.describe(member)] for name, member in _members(value)]]
        held = [self.describe(cell) for cell in _closure(value)]
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return [
            canonical(value.__code__),
            held,
            [self.describe(default) for default in defaults],
            [[name, self.describe(of)] for name, of in self._referred(value)],
        ]

    def _referred(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        """Globals that a function's code names, and members of the user's modules among them."""
        names = list(dict.fromkeys(_names(function.__code__)))
        for name in names:
            if name not in function.__globals__:
                continue
            value = function.__globals__[name]
            yield name, value
            if isinstance(value, types.ModuleType) and _is_own(value.__name__):
                yield from ((f"{name}.{n}", vars(value)[n]) for n in names if n in vars(value))


def _members(cls: type) -> list[tuple[str, Any]]:
    """Attributes of a class that its author has written."""
    return [
        (name, member)
        for name, member in sorted(vars(cls).items())
        if name != "_abc_impl" and (not name.startswith("__") or callable(member))
    ]


def _constant(value: Any) -> Any:
    """A plain value, or a container of plain values; None for anything else."""
    if isinstance(value, _PLAIN):
        return canonical(value)
    if isinstance(value, list | tuple | set | frozenset):
        items = [_constant(item) for item in value]
        return items if isinstance(value, list | tuple) else sorted(map(fingerprint, items))
    if isinstance(value, dict):
        return [[fingerprint(_constant(key)), _constant(item)] for key, item in value.items()]
    return None


def _names(code: types.CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _closure(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _imported(module: str) -> set[str]:
    """Modules that a module of this package holds: the libraries that an adapter wraps."""
    if module.partition(".")[0] != "rankwise" or module not in sys.modules:
        return set()
    held = vars(sys.modules[module]).values()
    found = {value.__name__ for value in held if isinstance(value, types.ModuleType)}
    late = _IMPORTED_LATE.get(module.rpartition(".")[0])
    return found if late is None else found | {late}


def _is_own(module: str) -> bool:
    root = module.partition(".")[0]
    if not root or root == "rankwise" or root in sys.stdlib_module_names:
        return root == "__main__"
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or not _is_installed(Path(file).resolve())


def _is_installed(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _install_folders())


@cache
def _install_folders() -> frozenset[Path]:
    """Where installers put packages: of the environment, the user and the system."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return frozenset(Path(folder).resolve() for folder in folders)


def _library(module: str) -> dict[str, str]:
    """Version of the distribution of a module, by the module's name; empty for the user's own."""
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
    """Name of the distribution that a package comes from."""
    if root == "sklearn":
        return "scikit-learn"
    try:
        version(root)
    except PackageNotFoundError:  # of another name, or none; the search takes a while
        return next(iter(packages_distributions().get(root, [root])))
    return root


@cache
def _package_hash() -> str:
    """Hash of this package's modules in a checkout; empty where it is installed."""
    folder = Path(rankwise.__file__).resolve().parent
    if _is_installed(folder):
        return ""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] not in _OUTSIDE:
            hasher.update(f"{place.as_posix()}\n".encode())
            hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


def _name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"
