"""Hashes of everything that determines a cell: its parameters, the data files, the code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankwise.datasets.catalog.checksums import text_sha256
from rankwise.experiments.experiment import Cell, Experiment
from rankwise.selection.fingerprint import fingerprint
from rankwise.selection.provenance import library_versions
from rankwise.selection.source_files import file_hash, find_imported_files, package_hash

# These modules only show numbers, so they cannot change a cell.
_SHOWN = ("tables", "figures")


def cell_key(experiment: str, cell: Cell, data: str) -> str:
    """Hash of a cell's name, parameters and data."""
    return fingerprint([experiment, cell.name, cell.params, cell.data, data])


def files_key(paths: Sequence[Path]) -> str:
    """Hash of the text of the files, regardless of their compression and location."""
    return fingerprint([text_sha256(path) for path in paths])


def code_key(experiment: Experiment) -> str:
    """Hash of all code that can change a cell.

    It covers the versions of the libraries, the modules of rankwise that can change a number, the
    experiment's module, and the modules of its distribution that it imports, without ``*tables.py``
    and ``*figures.py``.
    """
    module = type(experiment).__module__
    root = module.partition(".")[0]

    def counts(name: str) -> bool:
        return name.partition(".")[0] == root and not name.endswith(_SHOWN)

    files, _ = find_imported_files(module, counts)
    versions = library_versions()
    del versions["platform"]
    return fingerprint([versions, package_hash(), file_hash(files.items())])
