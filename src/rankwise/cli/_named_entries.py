"""Parse rankers on the command line: keys, model files, TREC runs and columns of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise._registry import RANKING, REGISTRY, parse_ranker
from rankwise.cli._console import UsageError, usage
from rankwise.cli._data import LetorLayout, first_index_of_model
from rankwise.cli._options import make_ranker, ranker_entry, split_list

if TYPE_CHECKING:
    from rankwise.typing import Seed

ALL = "all"
# Pointwise, pairwise and listwise; linear models, extreme learning machines and trees.
DEFAULT = (
    "linear_regression",
    "rank_svm",
    "pointwise_elm",
    "pairwise_elm",
    "ada_rank",
    "lambdamart",
)
_COLUMN = "column:"


def read_candidates(
    text: str | None, baseline: str | None, random_state: Seed = 0
) -> tuple[dict[str, Any], str | None]:
    """Parse the rankers to compare, by name, and the name of the baseline.

    ``text`` has entries separated by commas: a key of the registry, also with parameters as in
    "lambdamart(n_estimators=50)", "column:NAME", a file (a saved model or a TREC run), or
    NAME=ENTRY. "all" stands for all rankers without optional dependencies, None for ``DEFAULT``.
    ``baseline`` is the name or path of one of these entries, or a further entry.
    ``random_state`` is the seed of the comparison.
    """

    def read(word: str) -> tuple[str, Any]:
        return _candidate(word, random_state)

    if text is None:
        return _put_baseline_first({key: key for key in DEFAULT}, {}, baseline, read)
    words = split_list(text)
    if not words:
        raise UsageError("--rankers must name at least one ranker.")
    every = [
        (key, key) for key, entry in REGISTRY.items() if entry.kind == "ranker" and not entry.extra
    ]
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for word in words:
        for name, candidate in every if word == ALL else [read(word)]:
            if name in found:
                raise UsageError(f"--rankers names {name} twice: {text}. Rename one: NAME=ENTRY.")
            found[name] = candidate
            names[word] = name
    return _put_baseline_first(found, names, baseline, read)


def read_systems_and_baseline(
    words: list[str], baseline: str | None
) -> tuple[dict[str, Any], str | None]:
    """Systems to evaluate, by name, and the name of the baseline. Nothing is fitted.

    ``words`` are entries as :func:`rankwise.selection.read_systems` takes them. ``baseline`` is the
    name or path of one of these entries, or a further entry.
    """
    from rankwise.selection import read_systems

    found = read_systems(words)
    for word, system in zip(words, found.values(), strict=True):
        _note_first_index(word, system)
    names = dict(zip(words, found, strict=True))
    return _put_baseline_first(found, names, baseline, _read_entry)


def columns_of(candidates: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of the data that candidates use as scores."""
    words = [entry for entry in candidates.values() if isinstance(entry, str)]
    return tuple(
        dict.fromkeys(word.removeprefix(_COLUMN) for word in words if word.startswith(_COLUMN))
    )


def layout_of(entries: Mapping[str, Any]) -> LetorLayout:
    """Columns that the saved models among the entries expect in LETOR text."""
    models = [entry for entry in entries.values() if hasattr(entry, "predict")]
    widths = [model.n_features_in_ for model in models if hasattr(model, "n_features_in_")]
    bases = {getattr(model, "first_index", None) for model in models} - {None}
    if len(bases) > 1:
        raise UsageError(
            "the first column has index 0 for one model and 1 for another, as in the files that "
            "they were fitted on. Evaluate them one by one."
        )
    return LetorLayout(max(widths, default=None), next(iter(bases), None))


def number_columns(entries: Mapping[str, Any], data: Any, paths: Sequence[str]) -> dict[str, Any]:
    """Entries whose "column:N" are columns of LETOR text by the number in the file, from 0 or 1.

    Elsewhere in the library, unnamed columns are called by their place, from 1.
    """
    from rankwise.datasets import FoldedData, RankingData
    from rankwise.datasets.judged_source import first_index_of

    columns = columns_of(entries)
    if not columns:
        return dict(entries)
    first = data[0] if isinstance(data, FoldedData | list | tuple) else data
    table = first if isinstance(first, RankingData) else first.train
    if first_index_of(table, paths) != 0:
        return dict(entries)
    places: dict[str, str] = {}
    for name in columns:
        if name.isdecimal():
            if int(name) >= table.n_features:
                raise UsageError(
                    f"{_COLUMN}{name} must name a column of {paths[0]}, whose columns are 0 to "
                    f"{table.n_features - 1}."
                )
            places[f"{_COLUMN}{name}"] = f"{_COLUMN}{int(name) + 1}"
    return {
        name: places.get(entry, entry) if isinstance(entry, str) else entry
        for name, entry in entries.items()
    }


def _put_baseline_first(
    found: dict[str, Any],
    names: Mapping[str, str],
    word: str | None,
    read: Callable[[str], tuple[str, Any]],
) -> tuple[dict[str, Any], str | None]:
    """Entries with the baseline, which is read and put first if missing, and its name.

    ``names`` maps the words of the entries to their names: a baseline may be given as either. If a
    file has the name of an entry, the word means the file.
    """
    if word is None:
        return found, None
    known = {_place(entry): name for entry, name in names.items()}
    if _place(word) in known:
        return found, known[_place(word)]
    if word in found and not Path(word).is_file():
        return found, word
    name, candidate = read(word)
    if name in found:
        raise UsageError(
            f"--baseline {word} is called {name}, like another entry. Write NAME={word}."
        )
    return {name: candidate} | found, name


def _candidate(word: str, random_state: Any) -> tuple[str, Any]:
    """Name and ranker of one entry."""
    from rankwise.datasets import Run
    from rankwise.selection.systems import split_name

    name, entry = split_name(word)
    if entry.startswith(_COLUMN) or Path(entry).is_file():
        name, found = _read_entry(word)
        if not (isinstance(found, Run | str) or hasattr(found, "predict")):
            raise UsageError(f"{entry!r} holds scores, which have no folds. Name a TREC run.")
        return name, found
    is_call = "(" in entry and (entry.endswith(")") or entry.partition("(")[0] in RANKING)
    if not is_call and any(letter in entry for letter in "./\\"):
        raise UsageError(f"{entry!r} is not a file. Name a saved model, a TREC run or a ranker.")
    with usage():
        key, params = parse_ranker(entry, "--rankers")
    if params is None:
        ranker_entry(key)
    else:
        make_ranker(entry, None, random_state, "--rankers")  # raises for wrong parameters
    return name or entry, entry


def _read_entry(word: str) -> tuple[str, Any]:
    """Name and system of one entry that is a file or a column."""
    from rankwise.selection.systems import read_system

    name, system = read_system(word)
    _note_first_index(word, system)
    return name, system


def _note_first_index(word: str, system: Any) -> None:
    """Let a model know the index of the first column of the LETOR text that it was fitted on."""
    from rankwise.selection.systems import split_name

    if hasattr(system, "predict"):
        system.first_index = first_index_of_model(Path(split_name(word)[1]))


def _place(word: str) -> str:
    """Absolute path of the file in [NAME=]ENTRY; other entries unchanged."""
    from rankwise.selection.systems import split_name

    _, entry = split_name(word)
    return str(Path(entry).resolve()) if Path(entry).is_file() else entry
