"""Folder of a saved index: arrays, texts, and ``index.json``, which names the files of one save.

A save writes files of new names and then replaces ``index.json``. A reader that opened the folder
keeps the files that it mapped, and a save that is killed leaves the files of the last one. Files
that no ``index.json`` names are removed by a later save.

Every array is checked before compiled code reads it: its type, its shape, its range, and its
agreement with the other arrays.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.output import replace_files, write_file
from rankwise.structure.rules import Array, Rule, Scope, StructureError, broken, run
from rankwise.text.postings import Postings
from rankwise.typing import Int64Array

FORMAT = 2
INDEX = "index.json"
_OF_POSTINGS = ("starts", "documents", "counts")
_OURS = re.compile(
    r"(?:tokens\d+|bounds\d+|starts|documents|counts|texts|ranker)(?:-[0-9a-f]{8})?\.(?:npy|json|skops)"
    r"(?:\.[^.]+\.part)?"
)
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
# Files of saves that may still be under way are kept; a save takes less than this.
_SECONDS = 3600.0
_CHUNK = 1 << 20  # entries whose hashes are in memory at a time


@dataclass(frozen=True)
class StoredIndex:
    """Content of an index folder.

    Attributes
    ----------
    fields : list of str
    doc_ids, terms : list of str
        Ids of the documents; terms in the order of their numbers.
    tokens, bounds : list of ndarray
        Terms of each field and the boundaries of the documents in them.
    postings : Postings
    facts : dict
        Other JSON values: the analyzer and its sample, whether the fields are the default.
    ranker : tuple of dict and Path, or None
        JSON values and model file of a text ranker.
    """

    fields: list[str]
    doc_ids: list[str]
    terms: list[str]
    tokens: list[NDArray[np.int32]]
    bounds: list[Int64Array]
    postings: Postings
    facts: dict[str, Any] = field(default_factory=dict)
    ranker: tuple[dict[str, Any], Path] | None = None


def has_index(folder: Path) -> bool:
    """Whether a folder holds an index."""
    return (folder / INDEX).is_file()


def has_ranker(folder: Path) -> bool:
    """Whether a folder holds an index with a text ranker."""
    return has_index(folder) and _read_facts(folder)["ranker"] is not None


def write_index(
    folder: Path,
    stored: StoredIndex,
    write_ranker: Callable[[Path], Any] | None = None,
    ranker: Mapping[str, Any] | None = None,
) -> None:
    """Write an index into a folder, in place of the one that is there.

    Parameters
    ----------
    folder : Path
    stored : StoredIndex
        Its attribute ``ranker`` is not used.
    write_ranker : callable, optional
        Function that writes the model of a text ranker to a path.
    ranker : mapping, optional
        JSON values of the ranker. None: a ranker that is in the folder stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    end = _new_end(folder)
    files = {name: f"{name}{end}.npy" for name in _array_names(stored.fields)}
    arrays = dict(zip(files, _arrays_of(stored), strict=True))
    files["texts"] = f"texts{end}.json"
    kept: Mapping[str, Any] | None = None
    if write_ranker is None:
        with suppress(FileNotFoundError, StructureError):
            before = _read_facts(folder)
            kept, file = before["ranker"], before["files"].get("ranker")
            files |= {} if kept is None else {"ranker": file}
    else:
        files["ranker"], kept = f"ranker{end}.skops", ranker
        write_ranker(folder / files["ranker"])
    texts = {"doc_ids": stored.doc_ids, "terms": stored.terms}
    with replace_files([folder / name for key, name in files.items() if key in arrays]) as streams:
        for stream, array in zip(streams, arrays.values(), strict=True):
            np.save(stream, array, allow_pickle=False)
    write_file(folder / files["texts"], json.dumps(texts).encode())
    outdated = _named_by(folder)
    facts = {"format": FORMAT, "fields": stored.fields, **stored.facts}
    facts |= {"files": files, "ranker": kept}
    write_file(folder / INDEX, json.dumps(facts, indent=1).encode())
    _remove(folder, outdated, {*files.values()})


def read_index(folder: Path) -> StoredIndex:
    """Map the arrays of an index, and check them.

    Raises
    ------
    FileNotFoundError
        If the folder holds no index.
    StructureError
        If a file is missing, damaged or does not fit the others; the message names it.
    """
    while True:
        facts = _read_facts(folder)
        try:
            return _read_parts(folder, facts)
        except StructureError:
            # Another process may have saved the index between two opens.
            if _read_facts(folder) == facts:
                raise


def _array_names(fields: list[str]) -> list[str]:
    places = range(len(fields))
    numbered = [f"{kind}{place}" for kind in ("tokens", "bounds") for place in places]
    return [*numbered, *_OF_POSTINGS]


def _arrays_of(stored: StoredIndex) -> list[NDArray[Any]]:
    postings = [getattr(stored.postings, name) for name in _OF_POSTINGS]
    return [*stored.tokens, *stored.bounds, *postings]


def _new_end(folder: Path) -> str:
    """End of file names that no other save uses; none for the first save into a folder."""
    if not has_index(folder):
        with suppress(FileExistsError):
            (folder / "starts.npy").open("xb").close()
            return ""
    return f"-{secrets.token_hex(4)}"


def _named_by(folder: Path) -> set[str]:
    """Files of the index that is about to be replaced."""
    try:
        facts = json.loads((folder / INDEX).read_bytes())
        files = facts.get("files")
        if facts.get("format") == 1:  # its files had fixed names
            fields = facts["fields"]
            files = {name: f"{name}.npy" for name in _array_names(fields)} | {"": "texts.json"}
        return {str(name) for name in files.values()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return set()


def _remove(folder: Path, outdated: set[str], current: set[str]) -> None:
    """Delete files of older saves."""
    for path in folder.iterdir():
        if not _OURS.fullmatch(path.name) or path.name in current:
            continue
        with suppress(OSError):  # of another save; on Windows, a file that a process has mapped
            if path.name in outdated or time.time() - path.stat().st_mtime > _SECONDS:
                path.unlink()


# Reading ------------------------------------------------------------------------------------------


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no index: {INDEX} is missing.")
    facts = _read_json(path)
    found = facts.get("format")
    if found != FORMAT or type(found) is not int:
        raise StructureError(
            f"{path} has format {found!r:.40}, this version reads format {FORMAT}. Build the index "
            "anew."
        )
    kinds = {"fields": list, "files": dict, "sample": list, "is_default": bool}
    for name, kind in kinds.items():
        if type(facts.get(name)) is not kind:
            raise _damaged(path, f"{name} must be a {kind.__name__}, got {facts.get(name)!r:.60}")
    for name in ("analyzer", "ranker"):
        if name not in facts or not isinstance(facts[name], dict | None):
            raise _damaged(path, f"{name} must be a dict or null, got {facts.get(name)!r:.60}")
    _check_texts(facts["fields"], f"{path}: fields", distinct=True)
    _check_texts(facts["sample"], f"{path}: sample", distinct=False)
    if not facts["fields"] or "" in facts["fields"]:
        raise _damaged(path, f"fields must be names, got {facts['fields']!r:.60}")
    wanted = [*_array_names(facts["fields"]), "texts", *(["ranker"] if facts["ranker"] else [])]
    for name in wanted:
        file = facts["files"].get(name)
        if not isinstance(file, str) or not _FILE_NAME.fullmatch(file):
            raise _damaged(path, f"files[{name!r}] must name a file, got {file!r:.60}")
    return facts


def _read_parts(folder: Path, facts: dict[str, Any]) -> StoredIndex:
    files = {name: folder / file for name, file in facts["files"].items() if name}
    texts = _read_json(files["texts"])
    for name in ("doc_ids", "terms"):
        _check_texts(texts.get(name), f"{files['texts']}: {name}", distinct=True)
    fields = facts["fields"]
    scope = Scope()
    scope.bind("n_documents", len(texts["doc_ids"]))
    scope.bind("n_terms", len(texts["terms"]))
    tokens, bounds = [], []
    for place in range(len(fields)):
        rule = Array(("n_tokens",), "i", dtype="i4", low=0, below="n_terms")
        inner = Scope(scope)
        path = files[f"tokens{place}"]
        tokens.append(_read_array(path, rule, inner))
        size = "n_documents + 1", inner, "n_tokens", path
        bounds.append(_read_bounds(files[f"bounds{place}"], *size))
    rule = Array(("n_postings",), "i", dtype="i4", low=0, below="n_documents")
    documents = _read_array(files["documents"], rule, scope)
    rule = Array(("n_postings",), "i", dtype="i4", low=1)
    counts = _read_array(files["counts"], rule, scope)
    size = "n_terms + 1", scope, "n_postings", files["documents"]
    starts = _read_bounds(files["starts"], *size)
    lengths = sum((np.diff(part) for part in bounds), np.zeros(len(texts["doc_ids"]), int))
    postings = Postings(starts, documents, counts, lengths)
    _check_postings(postings, tokens, bounds, files)
    other = {name: facts[name] for name in ("analyzer", "sample", "is_default")}
    ranker = None if facts["ranker"] is None else (facts["ranker"], files["ranker"])
    if ranker and not ranker[1].is_file():
        raise _damaged(ranker[1], "the file is missing")
    stored = (texts["doc_ids"], texts["terms"], tokens, bounds, postings, other, ranker)
    return StoredIndex(fields, *stored)


def _check_postings(
    p: Postings,
    tokens: list[NDArray[np.int32]],
    bounds: list[Int64Array],
    files: dict[str, Path],
) -> None:
    """Raise if the postings are not those of the tokens."""
    inner = np.ones(max(len(p.documents) - 1, 0), dtype=bool)
    first = p.starts[1:-1]
    inner[first[(first > 0) & (first < len(p.documents))] - 1] = False
    if (np.diff(p.documents) <= 0)[inner].any():
        raise _damaged(files["documents"], "the documents of a term must ascend")
    n = np.arange(p.n_documents, dtype=np.int32)
    factors = [int.from_bytes(secrets.token_bytes(8)) | 1 for _ in range(2)]
    in_fields = sum(
        _fingerprint(part, np.repeat(n, np.diff(ends)), None, factors)
        for part, ends in zip(tokens, bounds, strict=True)
    )
    terms = np.repeat(np.arange(len(p.starts) - 1, dtype=np.int32), p.document_frequency)
    if in_fields % 2**64 != _fingerprint(terms, p.documents, p.counts, factors):
        names = ", ".join(files[name].name for name in ("counts", "tokens0", "bounds0"))
        raise _damaged(files["documents"], f"the postings are not those of the texts ({names})")


def _fingerprint(
    terms: NDArray[np.int32],
    documents: NDArray[np.int32],
    counts: NDArray[np.int32] | None,
    factors: list[int],
) -> int:
    """Sum of a hash of every term and its document, modulo 2^64.

    Equal for tokens in any order and for their postings; of others, equal by chance only, because
    the factors are random.
    """
    total = 0
    for lo in range(0, len(terms), _CHUNK):
        part = slice(lo, lo + _CHUNK)
        key = terms[part].astype(np.uint64) * np.uint64(factors[0])
        key += documents[part].astype(np.uint64) * np.uint64(factors[1])
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            key ^= key >> np.uint64(shift)
            key *= np.uint64(factor)
        key ^= key >> np.uint64(31)
        if counts is not None:
            key *= counts[part].astype(np.uint64)
        total += int(key.sum(dtype=np.uint64))
    return total % 2**64


def _read_bounds(path: Path, size: str, scope: Scope, end: str, entries: Path) -> Int64Array:
    """Array of boundaries, from 0 to the size ``end``, which is that of the file ``entries``."""
    bounds = _read_array(path, Array((size,), "i", dtype="i8", ascending=True), scope)
    if bounds[0] != 0 or bounds[-1] != scope.value(end):
        rule = f"go from 0 to {scope.value(end)}, the entries of {entries.name}"
        raise broken(f"{path}: the array", rule, np.asarray(bounds))
    return bounds


def _read_array(path: Path, rule: Rule, scope: Scope) -> Any:
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise _damaged(path, "the file is missing") from None
    except (PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # NumPy parses the header as Python literals
        raise _damaged(path, f"not an array of NumPy ({error})") from None
    run(rule.check(np.asarray(array), f"{path}: the array", scope))
    return array


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise _damaged(path, "the file is missing") from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"not JSON ({error})") from None
    if not isinstance(found, dict):
        raise _damaged(path, f"must hold a JSON object, got a {type(found).__name__}")
    return found


def _check_texts(values: Any, where: str, *, distinct: bool) -> None:
    if type(values) is not list or not all(type(value) is str for value in values):
        raise broken(where, "be a list of texts", values)
    if distinct and len(set(values)) < len(values):
        raise broken(where, "hold each text once", values)


def _damaged(path: Path, what: str) -> StructureError:
    return StructureError(f"{path}: {what}. The index is damaged: build it anew.")
