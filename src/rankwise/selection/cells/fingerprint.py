"""Hashes of what determines a result: parameters, data content, code, versions of libraries.

Two runs have the same hash if and only if nothing that may change the numbers differs. Memory
addresses, file names, line ends and times are ignored.

A class or function of the user's own module counts with the file of that module and the files of
own modules that it imports. Code that has no file of its own, in a notebook, in ``__main__`` or
within a function, counts with its byte code and with what that refers to by name. Worker processes
receive such code itself, and import the other: both are hashed as they will run.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import json
import pickle
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, partial, singledispatch
from importlib.metadata import (
    PackageNotFoundError,
    distributions,
    packages_distributions,
    version,
)
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from rankwise.datasets.data import Fold, RankingData
from rankwise.runtime.jit import CompiledFunction
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.runtime.threads import parse_syntax
from rankwise.selection.cells.result_store import library_versions
from rankwise.typing import is_sparse

_BLOCK_ROWS = 65536
_under_way: ContextVar[tuple[types.FunctionType, ...]] = ContextVar("_under_way", default=())


def fingerprint(value: Any) -> str:
    """Hash of parameters: 32 hexadecimal digits.

    Parameters are nested numbers, strings, sequences, dicts, arrays, functions, classes, estimators
    and other objects that can be described or pickled.
    """
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def data_fingerprint(data: RankingData) -> str:
    """Hash of the content of one table: values, labels, queries, weights, judged rows, and dtypes.

    One pass over the bytes (about 1 GB/s); names and comments are ignored.
    """
    hasher = hashlib.sha256()
    parts = [data.X, data.y, data.qid, data.sample_weight]
    if data.missed is not None:
        parts += [data.missed.y, data.missed.qid]
    if data.judged is not None:
        parts.append(data.judged)
    for column, known in sorted((data.categories or {}).items()):
        parts += [np.array([column]), known]
    for part in parts:
        _update(hasher, part)
    return hasher.hexdigest()[:32]


def fold_fingerprint(fold: Fold) -> str:
    """Hash of the content of all parts of a fold."""
    parts = (fold.train, fold.vali, fold.test)
    return fingerprint([None if part is None else data_fingerprint(part) for part in parts])


def _update(hasher: Any, array: Any) -> None:
    if array is None:
        hasher.update(b"none")
    elif is_sparse(array):
        csr = array.tocsr()
        hasher.update(f"csr{csr.shape}".encode())
        for part in (csr.indptr, csr.indices, csr.data):
            _update(hasher, part)
    elif array.dtype == object:
        hasher.update(f"object{array.shape}".encode())
        hasher.update(fingerprint(array.tolist()).encode())
    else:
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        for start in range(0, len(array), _BLOCK_ROWS):
            block = np.ascontiguousarray(array[start : start + _BLOCK_ROWS])
            hasher.update(block.view(np.uint8).reshape(-1) if block.size else b"")


@singledispatch
def canonical(value: Any) -> Any:
    """JSON-compatible description of a value; equal values have equal descriptions."""
    if _is_compiled(value):
        return {"compiled": canonical(value.py_func), "options": canonical(value.targetoptions)}
    try:
        return {"object": _name(type(value)), "hash": joblib.hash(value)}
    except Exception as error:
        raise TypeError(
            f"parameter {value!r} of type {_name(type(value))} cannot be hashed, so its results "
            f"cannot be stored ({error}). Use an object that can be pickled, or no store."
        ) from error


@canonical.register(type(None))
@canonical.register(bool)
@canonical.register(int)
@canonical.register(float)
@canonical.register(str)
def _(value: Any) -> Any:
    return value


@canonical.register
def _(value: np.generic) -> Any:
    return canonical(value.item())


@canonical.register
def _(value: bytes) -> Any:
    return {"bytes": value.hex()}


@canonical.register(list)
@canonical.register(tuple)
def _(value: Any) -> Any:
    return [canonical(item) for item in value]


@canonical.register(set)
@canonical.register(frozenset)
def _(value: Any) -> Any:
    return {"set": sorted(fingerprint(item) for item in value)}


@canonical.register
def _(value: dict) -> Any:
    return {"dict": sorted([fingerprint(key), canonical(item)] for key, item in value.items())}


@canonical.register(np.ndarray)
@canonical.register(sparse.sparray)
@canonical.register(sparse.spmatrix)
def _(value: Any) -> Any:
    hasher = hashlib.sha256()
    _update(hasher, value)
    return {"array": hasher.hexdigest()}


@canonical.register
def _(value: type) -> Any:
    return {"class": _name(value)}


@canonical.register
def _(value: BaseEstimator) -> Any:
    described = {"estimator": _name(type(value)), "params": canonical(value.get_params(deep=False))}
    if type(value).__sklearn_clone__ is not BaseEstimator.__sklearn_clone__:
        described["state"] = joblib.hash(value)  # a clone may remain fitted: FrozenEstimator
    return described


@canonical.register
def _(value: np.random.RandomState) -> Any:
    return {"RandomState": canonical(value.get_state())}


@canonical.register
def _(value: np.random.Generator) -> Any:
    return {"Generator": canonical(value.bit_generator.state)}


@canonical.register
def _(value: partial) -> Any:
    return {"partial": canonical([value.func, value.args, value.keywords])}


@canonical.register(types.BuiltinFunctionType)
@canonical.register(np.ufunc)
def _(value: Any) -> Any:
    return {"function": _name(value)}


@canonical.register
def _(value: types.FunctionType) -> Any:
    if value in _under_way.get():  # the value refers to itself
        return {"function": _name(value)}
    token = _under_way.set((*_under_way.get(), value))
    try:
        return {
            "function": _name(value),
            "code": canonical(value.__code__),
            "bound": canonical([value.__defaults__, value.__kwdefaults__, closure(value)]),
        }
    finally:
        _under_way.reset(token)


def closure(function: types.FunctionType) -> list[Any]:
    """Values in the closure of a function; variables without a value yet are left out."""
    held = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            held.append(cell.cell_contents)
    return held


@canonical.register
def _(value: CompiledFunction) -> Any:
    return canonical(value.dispatcher)


def _is_compiled(value: Any) -> bool:
    """Whether it is compiled by Numba, which need not be imported to know that it is not."""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    return isinstance(value, getattr(dispatcher, "Dispatcher", ()))


@canonical.register
def _(value: types.CodeType) -> Any:
    return [value.co_code.hex(), list(value.co_names), canonical(value.co_consts)]


def _name(value: Any) -> str:
    module = getattr(value, "__module__", "") or ""
    return f"{module}:{getattr(value, '__qualname__', getattr(value, '__name__', repr(value)))}"


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
    held = code_of([type(estimator), *estimator.get_params(deep=True).values()])
    versions = {k: v for k, v in library_versions().items() if k not in _NOT_OF_NUMBERS}
    return versions | {f"{SOURCE}rankwise": package_hash()} | held


def code_of(values: Iterable[Any]) -> dict[str, str]:
    """Hashes and versions of the user's code and the libraries that values hold, by name."""
    walk = _Walk()
    walk.follow(values)
    return walk.found


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
    if not (
        isinstance(value, CompiledFunction) or _is_compiled(value)
    ):  # which count with their options
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


# The layers above this one display, export, transport or decide by numbers. No module that computes
# numbers can import them (see the layers in pyproject.toml), so they cannot change a result.
_LAYERS_ABOVE = frozenset({
    "cli", "decisions", "distributed", "exceptions", "experiments", "export", "integrations",
    "report",
})  # fmt: skip


def file_hash(files: Iterable[tuple[str, Path]]) -> str:
    """Hash of the text of files and of their names: 16 hexadecimal digits."""
    hasher = hashlib.sha256()
    for name, path in sorted(files):
        hasher.update(f"{name}\n".encode())
        hasher.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return hasher.hexdigest()[:16]


@cache
def package_hash() -> str:
    """Hash of the modules of this package that can change a number, at the first call."""
    root = Path(__file__).parents[2]
    files = ((path.relative_to(root), path) for path in root.rglob("*.py"))
    return file_hash(
        (at.as_posix(), path)
        for at, path in files
        if at.with_suffix("").parts[0] not in _LAYERS_ABOVE
    )


def find_imported_files(
    module: str, follows: Callable[[str], bool]
) -> tuple[dict[str, Path], set[str]]:
    """Files of a module and, recursively, of the modules that it imports, by name of the module.

    Imports within functions count too, and so do the packages that contain a module. ``follows``
    tells whether the file of a module of this name counts, and its imports with it. The second
    result has the names of imported modules, or of objects in them, that do not count.
    """
    files: dict[str, Path] = {}
    others: set[str] = set()
    names = [*_list_packages(module)]
    for name in names:  # the list grows during the loop
        if not follows(name):
            others.add(name)
        elif name not in files and (path := module_file(name)) is not None:
            files[name] = path
            names += _imports(name, path)
    return files, others


def _imports(module: str, path: Path) -> Iterator[str]:
    """Modules that a file imports, and names that may be modules or objects in them.

    A file that cannot be parsed imports nothing: Python cannot import it either. It may be one of
    another version of Python that an import within ``try`` names, so its text still counts.
    """
    if path.suffix != ".py":
        return
    try:
        tree = parse_syntax(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested deeply
        return
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _list_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            try:
                base = resolve_name(relative, package) if node.level else relative
            except ImportError:  # from outside of its package, which fails in Python too
                continue
            yield from _list_packages(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _list_packages(module: str) -> Iterator[str]:
    """A module and the packages that contain it, outermost first."""
    return accumulate(module.split("."), "{}.{}".format)


def module_file(module: str) -> Path | None:
    """File of a module, which is not imported; None for ``__main__`` and modules without a file."""
    if module == "__main__":  # workers receive its functions and classes, not the file
        return None
    if module in sys.modules:
        places = [Path(getattr(sys.modules[module], "__file__", None) or "")]
    else:
        at = Path(*module.split("."))
        endings = (at.with_suffix(".py"), at / "__init__.py")
        places = [Path(folder, ending) for folder in sys.path for ending in endings]
    return next((path for path in places if path.is_file()), None)


def is_own(module: str) -> bool:
    """Whether a module is the user's own: of no installed distribution, and not of this package."""
    root = module.partition(".")[0]
    if root in ("", "rankwise", "__main__"):
        return root == "__main__"
    file = module_file(module)
    is_standard = root in sys.stdlib_module_names
    if file is None:
        return not is_standard
    if is_standard and file.resolve().is_relative_to(Path(sys.base_prefix).resolve()):
        return False
    depth = module.count(".") + (file.stem == "__init__")
    if root in _list_recorded(file.parents[depth]):  # ``pip --target`` may use any folder
        return False
    path = file.resolve()
    return not any(path.is_relative_to(folder) for folder in _install_folders())


@cache
def _list_recorded(folder: Path) -> frozenset[str]:
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


def library_version(module: str) -> dict[str, str]:
    """Version of the distribution of a module, by its name; empty for code without one."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names or root in ("", "rankwise"):
        return {}
    if root in sys.modules and is_own(module):
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
