"""Folder of a saved index: its arrays and texts, and perhaps the model of a text ranker.

Every array is checked before compiled code reads it: its type, its shape, its range, and its
agreement with the other arrays. Texts and models, which have no such agreement, have checksums.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.array_folder import (
    DAMAGED,
    HEADER,
    Arrays,
    read_arrays,
    read_header,
    write_arrays,
)
from rankwise.runtime.messages import callers_level
from rankwise.structure.state_rules import Array, Rule, Scope, StructureError, run, violation
from rankwise.text.models import Postings
from rankwise.typing import Int64Array

FORMAT = 4
_OF_POSTINGS = ("starts", "documents", "counts")
_CHUNK = 1 << 20  # entries whose hashes are in memory at a time


@dataclass(frozen=True)
class StoredIndex:
    """Content of an index folder."""

    fields: list[str]
    doc_ids: list[str]
    terms: list[str]  # in the order of their numbers
    tokens: list[NDArray[np.int32]]  # terms of each field
    bounds: list[Int64Array]  # boundaries of the documents in ``tokens``
    postings: Postings
    # Other JSON values: the analyzer and its sample, whether the fields are the default.
    facts: dict[str, Any] = field(default_factory=dict)
    ranker: tuple[dict[str, Any], bytes] | None = None  # JSON values and model of a text ranker


def has_index(folder: Path) -> bool:
    """Whether a folder holds an index."""
    return (folder / HEADER).is_file()


def has_ranker(folder: Path) -> bool:
    """Whether a folder holds an index with a text ranker."""
    return has_index(folder) and _check_facts(folder, read_header(folder))["ranker"] is not None


def write_index(folder: Path, stored: StoredIndex) -> None:
    """Write an index into a folder, in place of the one that is there.

    A ranker that is in the folder stays if ``stored`` has none; if it is damaged, it is lost with a
    warning.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file. Pass a folder to write the index into.")
    ranker = stored.ranker
    if ranker is None:
        ranker = _keep_ranker(folder)
    texts = json.dumps({"doc_ids": stored.doc_ids, "terms": stored.terms})
    parts = [*stored.tokens, *stored.bounds]
    parts += [getattr(stored.postings, name) for name in _OF_POSTINGS]
    arrays: Arrays = dict(zip(_array_names(stored.fields), parts, strict=True))
    arrays["texts"] = np.frombuffer(texts.encode(), dtype=np.uint8)
    facts = {"format": FORMAT, "fields": stored.fields, **stored.facts, "ranker": None}
    if ranker is not None:
        facts["ranker"], arrays["ranker"] = ranker[0], np.frombuffer(ranker[1], dtype=np.uint8)
    facts["sha256"] = {name: _digest(arrays[name].tobytes()) for name in _names_of_bytes(facts)}
    write_arrays(folder, arrays, facts)


def read_index(folder: Path) -> StoredIndex:
    """Map the arrays of an index, and check them.

    Raises FileNotFoundError if the folder holds no index, and StructureError if a file is missing,
    damaged or does not fit the others; the message names the file.
    """
    if not has_index(folder):
        raise FileNotFoundError(f"{folder} has no index: {HEADER} is missing.")
    try:
        arrays, header = read_arrays(folder)
        return _check_parts(folder, arrays, _check_facts(folder, header))
    except StructureError as error:
        raise StructureError(f"{error}. Build the index anew.") from None


def _array_names(fields: list[str]) -> list[str]:
    places = range(len(fields))
    numbered = [f"{kind}{place}" for kind in ("tokens", "bounds") for place in places]
    return [*numbered, *_OF_POSTINGS]


def _names_of_bytes(facts: dict[str, Any]) -> list[str]:
    """Arrays of bytes, which have checksums and are read whole."""
    return ["texts"] if facts["ranker"] is None else ["texts", "ranker"]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_bytes(folder: Path, arrays: Arrays, facts: dict[str, Any], name: str) -> bytes:
    """Content of an array of bytes; raise unless it has its checksum."""
    data = arrays[name].tobytes()
    if _digest(data) != facts["sha256"].get(name):
        raise StructureError(f"{folder / facts['arrays'][name]['file']}: {DAMAGED}")
    return data


def _read_ranker(
    folder: Path, arrays: Arrays, facts: dict[str, Any]
) -> tuple[dict[str, Any], bytes] | None:
    known = facts["ranker"]
    return None if known is None else (known, _read_bytes(folder, arrays, facts, "ranker"))


def _keep_ranker(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Ranker in a folder whose index is to be replaced; None if there is none, or it is damaged."""
    try:
        arrays, known = read_arrays(folder, names=["ranker"])
        return _read_ranker(folder, arrays, _check_facts(folder, known))
    except FileNotFoundError:
        return None
    except StructureError as error:
        # The header may be what is damaged, so the file of the model tells whether there was one;
        # if that file is missing, the message names it.
        if any(folder.glob("ranker-*.npy")) or f"{folder / 'ranker-'}" in str(error):
            warnings.warn(
                f"the text ranker in {folder} cannot be read and is not kept ({error}). Fit it "
                "again, and save it with TextRanker.save.",
                UserWarning,
                stacklevel=callers_level(),
            )
        return None


def _check_facts(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Raise unless the JSON values are those of an index; return them."""
    path = folder / HEADER
    found = facts.get("format")
    if found != FORMAT or type(found) is not int:
        raise StructureError(f"{path}: format must be {FORMAT}, got {found!r:.40}")
    kinds = {"fields": list, "sample": list, "is_default": bool, "sha256": dict}
    for name, kind in kinds.items():
        if type(facts.get(name)) is not kind:
            raise violation(f"{path}: {name}", f"be a {kind.__name__}", facts.get(name))
    for name in ("analyzer", "ranker"):
        if name not in facts or not isinstance(facts[name], dict | None):
            raise violation(f"{path}: {name}", "be a dict or null", facts.get(name))
    _check_texts(facts["fields"], f"{path}: fields", distinct=True)
    _check_texts(facts["sample"], f"{path}: sample", distinct=False)
    if not facts["fields"] or "" in facts["fields"]:
        raise violation(f"{path}: fields", "be names", facts["fields"])
    wanted = {*_array_names(facts["fields"]), *_names_of_bytes(facts)}
    if facts["arrays"].keys() != wanted:
        raise violation(f"{path}: arrays", f"be {sorted(wanted)}", sorted(facts["arrays"]))
    return facts


def _check_parts(folder: Path, arrays: Arrays, facts: dict[str, Any]) -> StoredIndex:
    files = {name: folder / entry["file"] for name, entry in facts["arrays"].items()}
    texts = _parse_texts(files["texts"], _read_bytes(folder, arrays, facts, "texts"))
    scope = Scope()
    scope.bind("n_documents", len(texts["doc_ids"]))
    scope.bind("n_terms", len(texts["terms"]))

    def check(name: str, rule: Rule, scope: Scope) -> Any:
        run(rule.check(np.asarray(arrays[name]), f"{files[name]}: the array", scope))
        return arrays[name]

    def check_bounds(name: str, size: str, scope: Scope, end: str, entries: str) -> Int64Array:
        """Array of boundaries, from 0 to the size ``end``, which is that of ``entries``."""
        bounds = check(name, Array((size,), "i", dtype="i8", ascending=True), scope)
        if bounds[0] != 0 or bounds[-1] != scope.value(end):
            rule = f"go from 0 to {scope.value(end)}, the entries of {files[entries].name}"
            raise violation(f"{files[name]}: the array", rule, np.asarray(bounds))
        return bounds

    tokens, bounds = [], []
    for place in range(len(facts["fields"])):
        rule, inner = Array(("n_tokens",), "i", dtype="i4", low=0, below="n_terms"), Scope(scope)
        tokens.append(check(f"tokens{place}", rule, inner))
        sizes = "n_documents + 1", inner, "n_tokens", f"tokens{place}"
        bounds.append(check_bounds(f"bounds{place}", *sizes))
    rule = Array(("n_postings",), "i", dtype="i4", low=0, below="n_documents")
    documents = check("documents", rule, scope)
    counts = check("counts", Array(("n_postings",), "i", dtype="i4", low=1), scope)
    starts = check_bounds("starts", "n_terms + 1", scope, "n_postings", "documents")
    lengths = sum((np.diff(part) for part in bounds), np.zeros(len(texts["doc_ids"]), int))
    postings = Postings(starts, documents, counts, lengths)
    _check_postings(postings, tokens, bounds, files)
    other = {name: facts[name] for name in ("analyzer", "sample", "is_default")}
    parts = texts["doc_ids"], texts["terms"], tokens, bounds, postings, other
    return StoredIndex(facts["fields"], *parts, _read_ranker(folder, arrays, facts))


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
        raise StructureError(
            f"{files['documents']}: the documents of a term must ascend ({files['starts'].name})"
        )
    n = np.arange(p.n_documents, dtype=np.int32)
    factors = [int.from_bytes(secrets.token_bytes(8)) | 1 for _ in range(3)]
    in_fields = sum(
        _fingerprint(part, np.repeat(n, np.diff(ends)), None, factors)
        for part, ends in zip(tokens, bounds, strict=True)
    )
    terms = np.repeat(np.arange(len(p.starts) - 1, dtype=np.int32), p.document_frequency)
    if in_fields % 2**64 != _fingerprint(terms, p.documents, p.counts, factors):
        compared = files.keys() - {"documents", "texts", "ranker"}
        names = ", ".join(sorted(files[name].name for name in compared))
        raise StructureError(
            f"{files['documents']}: the postings are not those of the texts ({names})"
        )


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
        key += np.uint64(factors[2])  # the hash of 0 is 0, whatever the count
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            key ^= key >> np.uint64(shift)
            key *= np.uint64(factor)
        key ^= key >> np.uint64(31)
        if counts is not None:
            key *= counts[part].astype(np.uint64)
        total += int(key.sum(dtype=np.uint64))
    return total % 2**64


def _parse_texts(path: Path, data: bytes) -> dict[str, list[str]]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StructureError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise violation(f"{path}: the text", "be a JSON object", found)
    for name in ("doc_ids", "terms"):
        _check_texts(found.get(name), f"{path}: {name}", distinct=True)
    return found


def _check_texts(values: Any, where: str, *, distinct: bool) -> None:
    if type(values) is not list or not all(type(value) is str for value in values):
        raise violation(where, "be a list of texts", values)
    if distinct and len(set(values)) < len(values):
        raise violation(where, "hold each text once", values)
