"""Files of code: whose code a module is, which modules it imports, and hashes of their text.

Line ends are normalised, so a checkout has the same hashes on every system.
"""

from __future__ import annotations

import ast
import hashlib
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import (
    PackageNotFoundError,
    distributions,
    packages_distributions,
    version,
)
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path

# The layers above this one only display, export or transport numbers. No module that computes
# numbers can import them (see the layers in pyproject.toml), so they cannot change a result.
_LAYERS_ABOVE = frozenset({"cli", "distributed", "experiments", "export", "report"})


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
    root = Path(__file__).parents[1]
    files = ((path.relative_to(root), path) for path in root.rglob("*.py"))
    return file_hash(
        (at.as_posix(), path) for at, path in files if at.parts[0] not in _LAYERS_ABOVE
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
        tree = ast.parse(path.read_bytes())
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
    return not _is_installed(module, file)


def _is_installed(module: str, file: Path) -> bool:
    """Whether an installer put the module there; ``pip --target`` may use any folder."""
    depth = module.count(".") + (file.stem == "__init__")
    if module.partition(".")[0] in _list_recorded(file.parents[depth]):
        return True
    path = file.resolve()
    return any(path.is_relative_to(folder) for folder in _install_folders())


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
