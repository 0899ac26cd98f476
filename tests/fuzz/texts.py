"""Targets: files of documents and topics, of which nothing may be lost, and folders of indexes."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import tempfile
import warnings
from functools import lru_cache

import numpy as np

from rankwise.runtime.array_folder import HEADER
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex
from rankwise.text.documents import convert_to_queries, iterate_documents
from rankwise.text.models import MODELS
from tests.fuzz.array_folders import agree, as_npy, files_of
from tests.fuzz.harness import Target, mutated

BREAKS = (
    "\u2028",
    "\x85",
    "\x0b",
    "\x0c",
    "\x00",
    "\r\n",
    "\n\n",
    "\ufeff",
    "\xa0",
    "é",
    "e\u0301",
)
TAGS = (
    "<TEXT>", "</TEXT>", "<P>", "</P>", "<TITLE>", "</TITLE>", "<HEAD n=1>", "<br/>", "<b>", "</b>",
    "</X>", "<X", "<", ">", "&amp;", "&#38;", "<x@y.org>", "<a b>", "<DOC>", "</DOC>", "<top>",
    "<DOCNO>", "</DOCNO>", "<num>", "<title>", "<!-- x -->", "<![CDATA[", "]]>",
)  # fmt: skip
_IN_TAG = re.compile(r"<[^<>]*\Z")


def _words(rng, start):
    """Some of the words w0, w1, …, each with a number of its own, and what may stand between."""
    parts = []
    for number in range(start, start + int(rng.integers(1, 6))):
        parts.append(f" w{number} ")
        if rng.random() < 0.3:
            pieces = (*BREAKS, *TAGS[:20])
            parts.append(pieces[rng.integers(len(pieces))])
    return "".join(parts)


def _make_trec(rng):
    """Documents with elements in any order, some never closed, then damaged."""
    entries = []
    for number in range(int(rng.integers(1, 5))):
        body = []
        for place in range(int(rng.integers(0, 4))):
            name = ("TEXT", "TITLE", "HEAD", "text")[rng.integers(4)]
            close = f"</{name}>" if rng.random() < 0.8 else ""
            body.append(f"<{name}>{_words(rng, 100 * number + 10 * place)}{close}\n")
        entries.append(f"<DOC>\n<DOCNO> d{number} </DOCNO>\n{''.join(body)}</DOC>\n")
    return mutated(rng, "".join(entries).encode(), [token.encode() for token in TAGS])


def _plain_words(text):
    """Words wN that stand in plain text: not in a tag, a comment or a name."""
    if any(mark in text for mark in ("<!", "<?", '"', "'", "&")):
        return set()
    places = re.finditer(r"(?<= )w\d+(?= )", text)
    return {found[0] for found in places if not _IN_TAG.search(text, 0, found.start())}


def _check_trec(path):
    """Every word of the file is in a document, by default and as the fields together."""
    text = path.read_text("utf-8", "replace")
    documents = [
        (name, value) for name, (value,) in iterate_documents(path, ("text",), is_default=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = TextIndex(analyzer=str.split).add(path)
    assert index.doc_ids == [name for name, _ in documents]
    n_elements = len(re.findall(r"<doc>", text, re.IGNORECASE))
    # Damage to the first element may leave lines of an id, a tab and a text, as in MS MARCO.
    is_tsv = not n_elements and all(line.count("\t") == 1 for line in text.splitlines())
    if "<!" not in text and not is_tsv:
        assert len(documents) == n_elements
    found = {word for name, value in documents for word in f"{name} {value}".split()}
    assert _plain_words(text) <= found
    assert _plain_words(text) <= {*index.vocabulary, *" ".join(index.doc_ids).split()}
    return True


def _make_topics(rng):
    """Topics of old and new tracks, then damaged."""
    entries = []
    for number in range(int(rng.integers(1, 5))):
        words = _words(rng, 100 * number)
        if rng.random() < 0.3:
            entries.append(f"<topic number='{number}'><query>{words}</query></topic>\n")
        else:
            close = "</title>" if rng.random() < 0.5 else ""
            entries.append(f"<top>\n<num> Number: {number}\n<title>{words}{close}\n</top>\n")
    return mutated(rng, "".join(entries).encode(), [token.encode() for token in TAGS])


def _check_topics(path):
    """Every topic of the file is a query."""
    text = path.read_text("utf-8", "replace")
    queries = convert_to_queries(path)
    if not re.search(r"<!|<\?|<doc|=\s*'[^']*<", text, re.IGNORECASE):
        assert len(queries) == len(re.findall(r"<top>|<topic\s", text, re.IGNORECASE))
    assert all(name and isinstance(value, str) for name, value in queries.items())
    return True


def _make_json(rng):
    """Lines of objects with texts of odd characters, then damaged."""
    lines = []
    for number in range(int(rng.integers(1, 6))):
        row = {"_id": f"d{number}", "title": None, "text": html.unescape(_words(rng, 10 * number))}
        if rng.random() < 0.2:
            row["_id"] = (7, 2**70, 1.0, None, True, "")[rng.integers(6)]
        lines.append(json.dumps(row, ensure_ascii=bool(rng.random() < 0.5)))
    tokens = (
        b'"text": "x"',
        b"null",
        b"NaN",
        b'"_id": ',
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\n",
        b"[",
    )
    return mutated(rng, "\n".join(lines).encode(), tokens)


def _check_json(path):
    """The documents are those of the lines, and the lines end at line feeds only."""
    documents = list(iterate_documents(path, ("text",)))
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    rows = [json.loads(line) for line in data.split(b"\n") if line.strip(b" \t\r")]
    assert len(documents) == len(rows)
    for (name, (text,)), row in zip(documents, rows, strict=True):
        first = next(row[key] for key in ("doc_id", "docno", "docid", "_id", "id") if key in row)
        assert name == str(first)
        value = row.get("text")
        assert text == ("" if value is None or value != value else value)
    return True


# Folders of indexes -------------------------------------------------------------------------------


@lru_cache
def _valid_index(number):
    """Files of an index by name."""
    texts = {f"d{k}": " ".join(f"w{k * j % 11}" for j in range(k % 7)) for k in range(12 + number)}
    analyzer = Analyzer(pattern=r"\w+" if number else None, stemmer=None, stop_words=None)
    index = TextIndex(["title", "text"] if number else None, analyzer=analyzer)
    index.add({name: {"title": text[:2], "text": text} for name, text in texts.items()} if number
              else texts)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return files_of(index.save(folder))


def _changed_array(rng, data):
    """Another dtype, length or entry of an array."""
    array = np.load(io.BytesIO(data))
    kind = rng.integers(6)
    if kind == 0:
        array = array.astype(("i2", "i4", "i8", "u4", "f8", ">i4", "U3", "?")[rng.integers(8)])
    elif kind == 1:
        array = array[: rng.integers(len(array) + 1)]
    elif kind == 2:
        array = np.append(array, array[:1])
    elif kind == 3 and len(array):
        values = (0, -1, 1, 10**6, -(2**31), 2**31 - 1)
        array[rng.integers(len(array))] = values[rng.integers(len(values))]
    elif kind == 4:
        array = rng.permutation(array)
    else:
        array = array.reshape((1, -1) if rng.random() < 0.5 else (-1, 1))
    return as_npy(array)


def _changed_json(rng, data):
    """Another value of a key, or another entry of a list."""
    found = json.loads(data)
    values = (None, 0, -1, True, "", "text", [], {}, ["text"], {"a": 1}, 1e999, [[]], "../x", [3])
    value = values[rng.integers(len(values))]
    place, key = found, list(found)[rng.integers(len(found))]
    while isinstance(place[key], dict | list) and len(place[key]) and rng.random() < 0.6:
        place = place[key]
        n = int(rng.integers(len(place)))
        key = list(place)[n] if isinstance(place, dict) else n
    place[key] = value
    return json.dumps(found).encode()


def _changed_texts(rng, data):
    """Another value in the JSON of an array of text."""
    text = _changed_json(rng, np.load(io.BytesIO(data)).tobytes())
    return as_npy(np.frombuffer(text, dtype=np.uint8))


def _make_index(rng):
    """The files of an index, some of them changed, removed or exchanged."""
    number = int(rng.integers(2))
    files, other = dict(_valid_index(number)), _valid_index(1 - number)
    for _ in range(int(rng.geometric(0.6)) - int(rng.random() < 0.3)):
        name, second = rng.choice(sorted(files), 2).tolist()
        kind = rng.integers(6)
        if kind == 0:
            del files[name]
        elif kind == 1:
            files[name], files[second] = files[second], files[name]
        elif kind == 2 and name in other:
            files[name] = other[name]
        elif kind == 3:
            files[name] = mutated(rng, files[name], (b"<i2", b"|O", b"(3,)", b"null", b"[]", b"-1"))
        else:
            change = _changed_json if name == HEADER else _changed_array
            if name.startswith("texts"):
                change = _changed_texts
            try:
                files[name] = change(rng, files[name])
                if rng.random() < 0.6:
                    agree(files)
            except Exception:  # NumPy's parser of headers raises several
                continue  # changed before
    return json.dumps({name: data.hex() for name, data in files.items()}).encode()


def _check_index(path):
    """An index that is loaded can be searched by every model, and edited."""
    folder = path.with_suffix(".index")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in json.loads(path.read_bytes()).items():
        (folder / name).write_bytes(bytes.fromhex(data))
    try:
        index = TextIndex.load(folder)
    except (ValueError, FileNotFoundError) as error:
        assert str(folder) in str(error), error
        assert isinstance(error, ValueError) or HEADER in str(error)
        raise
    queries = ["w1 w2 w2", "w3 w0 w9 w10", "unknown"]
    for model in MODELS:
        run = index.search(queries, 5, model=model)
        assert np.isfinite(run.scores).all()
        assert {*run.doc_ids.tolist()} <= {*index.doc_ids}
    ids = index.doc_ids
    X = QueryDocumentFeatures(index).compute(["w1 w2 w2 w3"], ["1"] * len(ids), ids)
    assert np.isfinite(X).all()
    index.remove(ids[:1]).save(folder)
    assert TextIndex.load(folder).doc_ids == ids[1:]
    return True


TARGETS = (
    Target("trec_documents", _make_trec, _check_trec, ".trec"),
    Target("trec_topics", _make_topics, _check_topics),
    Target("json_documents", _make_json, _check_json, ".jsonl"),
    Target(
        "index_folder", _make_index, _check_index, ".json", names_file=False,
        refusals=(ValueError, FileNotFoundError), measures_memory=False,
    ),
)  # fmt: skip
