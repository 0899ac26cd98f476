"""A target that writes judgements and runs in every format, under any name, and reads them back.

A sound file gives what was written, id for id; a damaged one is refused, and the error names the
file. Nothing in between: no line is lost, no column takes the place of another.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankwise.datasets import read_qrels, read_run
from tests.fuzz.harness import Target

Line = tuple[str, str, str]  # query, document, and grade or score
_WORDS = (
    "7", "07", "+7", "-7", "-0", "0", "007", "1e3", "1.0", "q1", "é", "e\u0301", "a\u00a0b",
    "\u3000", "x\u2028y", "\x85", "NA", "nan", "null", "None", "true", "9007199254740993", "d-1",
    "a,b", "a;b", "18446744073709551616", "http://x/y?z=1", "'", "a'b", "東京", "qid", "#x", "x#y",
    "Q0",
)  # fmt: skip
_WITH_BLANKS = ("a b", " a", "two  blanks", "a b\u00a0c")
_SUFFIXES = (".txt", ".tsv", ".csv", ".qrels", ".run", ".trec", "")


def _qrels(lines: list[Line], rng: np.random.Generator) -> str:
    blank = ["\t", " ", "   ", " \t"][rng.integers(4)]
    return "".join(f"{blank.join((q, '0', d, g))}\n" for q, d, g in lines)


def _run(lines: list[Line], rng: np.random.Generator) -> str:
    blank = ["\t", " ", "   "][rng.integers(3)]
    return "".join(
        f"{blank.join((q, 'Q0', d, str(rank), s, 'tag'))}\n" for rank, (q, d, s) in enumerate(lines)
    )


def _triples(lines: list[Line], rng: np.random.Generator) -> str:
    return "".join("\t".join(line) + "\n" for line in lines)


def _table(lines: list[Line], rng: np.random.Generator, value: str) -> str:
    """A table with a header, columns in any order, and a column that nobody asked for."""
    names = [
        ["query-id", "qid", "query_id"][rng.integers(3)],
        ["corpus-id", "docno", "doc_id"][rng.integers(3)],
        value,
        "comment",
    ]
    order = rng.permutation(4)
    separator = [",", "\t", ";"][rng.integers(3)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow([names[column] for column in order])
    for line in lines:
        cells = [*line, "x"]
        writer.writerow([cells[column] for column in order])
    return out.getvalue()


FORMATS: dict[str, Callable[[list[Line], np.random.Generator], str]] = {
    "qrels": _qrels,
    "triples": _triples,
    "judged table": lambda lines, rng: _table(
        lines, rng, ["score", "relevance", "label"][rng.integers(3)]
    ),
    "run": _run,
    "scored table": lambda lines, rng: _table(lines, rng, "score"),
}
_TABLES = ("judged table", "scored table")


def _make(rng: np.random.Generator) -> bytes:
    case = {
        "format": [*FORMATS][rng.integers(len(FORMATS))],
        "damage": [None, None, None, "width", "twice", "number", "id", "byte"][rng.integers(8)],
        "suffix": _SUFFIXES[rng.integers(len(_SUFFIXES))],
        "crlf": bool(rng.random() < 0.2),
        "bom": bool(rng.random() < 0.1),
        "blank_lines": bool(rng.random() < 0.2),
        "ends": bool(rng.random() < 0.8),
        "gzip": bool(rng.random() < 0.1),
        "seed": int(rng.integers(1 << 31)),
    }
    return json.dumps(case).encode()


def _lines(format: str, rng: np.random.Generator) -> list[Line]:
    """Distinct pairs of ids that the format can hold, each with a grade or a score."""
    words = [*_WORDS, *(_WITH_BLANKS if format == "triples" or format in _TABLES else ())]
    if format == "triples":  # a word such as 3:4 in the second place is LETOR's
        words = [word for word in words if ":" not in word]
    chosen = {
        (words[i], words[j])
        for i, j in rng.integers(len(words), size=(int(rng.integers(2, 9)), 2)).tolist()
    }
    is_run = format in ("run", "scored table")
    values = [
        repr(round(float(rng.normal()), 3)) if is_run else str(rng.integers(-1, 4)) for _ in chosen
    ]
    lines = [(q, d, v) for (q, d), v in zip(sorted(chosen), values, strict=True)]
    return [lines[i] for i in rng.permutation(len(lines))]


def _check(path: Path) -> bool:
    case = json.loads(path.read_bytes())
    rng = np.random.default_rng(case["seed"])
    format, damage = case["format"], case["damage"]
    lines = truth = _lines(format, rng)
    at = int(rng.integers(len(lines)))
    query, document, value = lines[at]
    if damage == "twice":
        lines = [*lines, (query, document, value)]
    elif damage == "number":
        wrong = (
            ["x", "", "nan", "1.5x", "0x1"] if format in _TABLES else ["x", "nan", "1.5x", "0x1"]
        )
        lines = [*lines[:at], (query, document, wrong[rng.integers(len(wrong))]), *lines[at + 1 :]]
    elif damage == "id" and format in _TABLES:
        lines = [*lines[:at], ("", document, value), *lines[at + 1 :]]
    elif damage == "byte":  # no UTF-8, in a column that is read
        lines = [*lines[:at], (query, f"{document}\0", value), *lines[at + 1 :]]
    text = FORMATS[format](lines, rng)
    if damage == "width":
        body = text.split("\n")
        number = at + (format in _TABLES)
        more = {"judged table": ",\t;y", "scored table": ",\t;y", "triples": "\ty"}.get(
            format, " y"
        )
        body[number] += more
        text = "\n".join(body)
    if case["blank_lines"]:
        text = text.replace("\n", "\n\n", 1)
    if case["crlf"]:
        text = text.replace("\n", "\r\n")
    if not case["ends"]:
        text = text.rstrip("\r\n")
    data = text.encode().replace(b"\0", b"\xff")
    if case["bom"]:
        data = b"\xef\xbb\xbf" + data
    file = path.parent / f"judged{case['suffix']}"
    file.write_bytes(gzip.compress(data) if case["gzip"] else data)
    is_run = format in ("run", "scored table")
    is_sound = damage is None or (damage == "id" and format not in _TABLES)
    try:
        found = (read_run if is_run else read_qrels)(file)
    except ValueError as error:
        assert file.name in str(error), f"{case}: the error does not name the file: {error}"
        # Three columns of which each line has one blank: nobody can tell them from qrels.
        is_ambiguous = format == "triples" and "or four separated by blanks" in str(error)
        assert not is_sound or is_ambiguous, f"{case}: refused: {error}\n{data!r}"
        return False
    values = found.scores if is_run else found.relevance
    got = sorted(zip(found.qid.tolist(), found.doc_ids.tolist(), values.tolist(), strict=True))
    wanted = sorted((q, d, float(v) if is_run else int(v)) for q, d, v in truth)
    assert is_sound and got == wanted, f"{case}: {data!r} was read as {got}"
    return True


TARGETS = (Target("judged_files", _make, _check, ".json", (), names_file=False),)
