"""Hashes of everything that determines a cell: its parameters, the data files, the code."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from rankwise.datasets.catalog.checksums import text_sha256
from rankwise.experiments.base import Cell, Experiment
from rankwise.selection.fingerprint import fingerprint
from rankwise.selection.provenance import library_versions

# These modules only display or transport numbers, so they cannot change a cell.
_OUTSIDE = frozenset({"cli", "report", "distributed", "experiments"})
_SHOWN = ("tables.py", "figures.py")


def cell_key(experiment: str, cell: Cell, data: str) -> str:
    """Hash of a cell's name, parameters and data."""
    return fingerprint([experiment, cell.name, cell.params, cell.data, data])


def files_key(paths: Sequence[Path]) -> str:
    """Hash of the text of the files, regardless of their compression and location."""
    return fingerprint([text_sha256(path) for path in paths])


def code_key(experiment: Experiment) -> str:
    """Hash of all code that can change a cell.

    It covers the versions of the libraries, rankwise's modules except those that only display or
    transport numbers, and the experiment's folder without ``*tables.py`` and ``*figures.py``. It
    also covers the neighbouring folders and modules that the experiment imports.
    """
    own = Path(inspect.getfile(type(experiment))).parent
    around = type(experiment).__module__.rpartition(".")[0].rpartition(".")[0]
    versions = {name: of for name, of in library_versions().items() if name != "platform"}
    return fingerprint([versions, _package_key(), _hash(own.parent, _sources(own, around))])


def _sources(own: Path, around: str) -> list[Path]:
    """Modules of a folder and, recursively, the modules that they import from its package."""
    imported = re.compile(rf"^\s*(?:from|import) {re.escape(around)}\.(\w+)", re.MULTILINE)
    sources: list[Path] = []
    places = [own]
    for place in places:  # the list grows during the loop
        modules = list(place.glob("*.py")) if place.is_dir() else [place]
        modules = [path for path in modules if not path.name.endswith(_SHOWN)]
        named = {name for path in modules for name in imported.findall(path.read_text("utf-8"))}
        beside = [own.parent / name for name in sorted(named)]
        beside = [path if path.is_dir() else path.with_suffix(".py") for path in beside]
        places += [path for path in beside if path.exists() and path not in places]
        sources += modules
    return sources


@cache
def _package_key() -> str:
    """Hash of the modules at the first call in this process."""
    root = Path(__file__).parents[1]
    paths = root.rglob("*.py")
    return _hash(root, (path for path in paths if path.relative_to(root).parts[0] not in _OUTSIDE))


def _hash(root: Path, paths: Iterable[Path]) -> str:
    hasher = hashlib.sha256()
    for path in sorted(paths):
        hasher.update(f"{path.relative_to(root).as_posix()}\n".encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()
