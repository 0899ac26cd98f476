"""Rankers as words of the command line: keys, model files, TREC runs, columns of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from rankwise.cli._arguments import ranker_entry, split_list
from rankwise.cli._errors import UsageError

ALL = "all"
# Points, pairs and lists; linear models, random nodes and trees. Five folds of 100,000 rows and 50
# columns take them 46 s on two busy cores.
DEFAULT = (
    "linear_regression",
    "rank_svm",
    "pointwise_elm",
    "pairwise_elm",
    "ada_rank",
    "ranking_tree",
)
_RUN_COLUMNS = 6
_HEAD_BYTES = 1 << 16
_COLUMN = "column:"


def read_contestants(text: str | None, baseline: str | None) -> tuple[dict[str, Any], str | None]:
    """What takes part by name, and the name of the baseline.

    Parameters
    ----------
    text : str, optional
        Entries between commas: a key of the registry, "column:NAME", a file (a saved model or a
        TREC run), or NAME=ENTRY; "all" for every ranker that needs no extra. None: ``DEFAULT``.
    baseline : str, optional
        A name among these, or one more entry.
    """
    if text is None:
        return _with_baseline({key: key for key in DEFAULT}, baseline)
    words = split_list(text)
    if not words:
        raise UsageError("--rankers must name at least one ranker.")
    found: dict[str, Any] = {}
    for word in words:
        for name, contestant in _every(word):
            if name in found:
                raise UsageError(f"--rankers names {name} twice: {text}. Write NAME=ENTRY.")
            found[name] = contestant
    return _with_baseline(found, baseline)


def is_run(path: Path) -> bool:
    """Whether a file looks like a TREC run."""
    return width_of(path) == _RUN_COLUMNS


def width_of(path: Path) -> int:
    """Number of words in the first line of a text file that is not blank."""
    from rankwise.datasets.readers.textfiles import open_text

    file = open_text(path)
    head = file.read(file.start, file.start + _HEAD_BYTES).decode("utf-8", "replace")
    line = next((line for line in head.splitlines() if line.strip()), "")
    return len(line.split())


def _every(word: str) -> list[tuple[str, Any]]:
    from rankwise._registry import REGISTRY

    if word == ALL:
        return [(key, key) for key, of in REGISTRY.items() if of.kind == "ranker" and not of.extra]
    return [_contestant(word)]


def _with_baseline(found: dict[str, Any], word: str | None) -> tuple[dict[str, Any], str | None]:
    if word is None or word in found:
        return found, word
    name, contestant = _contestant(word)
    return {name: contestant} | found, name


def _contestant(word: str) -> tuple[str, Any]:
    """Name and ranker that a word stands for."""
    name, equals, entry = word.partition("=")
    if not equals or not name or Path(word).is_file():
        name, entry = "", word
    if entry.startswith(_COLUMN):
        return name or entry.removeprefix(_COLUMN), entry
    path = Path(entry)
    if path.is_file():
        return name or path.name.split(".")[0], _of_file(path)
    if any(letter in entry for letter in "./\\"):
        raise UsageError(f"{entry!r} is no file. Name a saved model, a TREC run or a ranker.")
    ranker_entry(entry)
    return name or entry, entry


def _of_file(path: Path) -> Any:
    from sklearn.frozen import FrozenEstimator

    from rankwise.datasets import read_run
    from rankwise.persistence import load

    if is_zipfile(path):
        return FrozenEstimator(load(path))
    if not is_run(path):
        raise UsageError(f"{str(path)!r} is neither a saved model nor a TREC run.")
    return read_run(path)
