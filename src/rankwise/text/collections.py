"""Text collections with queries and judgements: BEIR folders, ir_datasets, and known ones.

CF-LETOR is a data set in the layout of LETOR, built from the cystic fibrosis collection.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.readers.results import make_qrels, read_qrels
from rankwise.datasets.readers.results import read_judgements as read_judgements
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.features.query_scaling import QueryScaler
from rankwise.runtime.files import COMPRESSIONS, data_folders
from rankwise.runtime.messages import check_choice
from rankwise.text.documents import convert_to_queries, iterate_documents, read_lines
from rankwise.text.query_document_features import QueryDocumentFeatures
from rankwise.text.text_index import TextIndex


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Text collection: documents, queries and relevance judgements.

    Attributes
    ----------
    documents : dict from document id to dict from field to text
        Text of every field of every document.
    queries : dict from query id to text
        Text of every query.
    qrels : dict from part to Qrels
        Judgements of each part: "all", or the publisher's parts, such as "train" and "test".
    fields : tuple of str
        Names of the document fields.
    name : str
        Name of the collection.
    """

    documents: dict[str, dict[str, str]]
    queries: dict[str, str]
    qrels: dict[str, Qrels]
    fields: tuple[str, ...]
    name: str = ""

    def __repr__(self) -> str:
        return (
            f"TextCollection({self.name!r}: {len(self.documents)} documents, {len(self.queries)} "
            f"queries, judgements: {', '.join(self.qrels)})"
        )

    def judged_queries(self, part: str) -> dict[str, str]:
        """Queries with judgements in a part, in the order of its judgements."""
        ids = dict.fromkeys(self.qrels[part].qid.tolist())
        return {query: self.queries[query] for query in ids if query in self.queries}


def read_beir(folder: str | Path) -> TextCollection:
    """Read a text collection from a folder in BEIR's layout.

    Parameters
    ----------
    folder : path
        Folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/PART.tsv``. Each file may be
        compressed (``.gz``).

    Raises
    ------
    FileNotFoundError
        If one of these files is missing.
    ValueError
        If a line cannot be parsed. The message names the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankwise.text import read_beir
    >>> folder = Path("shop")
    >>> (folder / "qrels").mkdir(parents=True)
    >>> _ = (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "blue cup"}')
    >>> _ = (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "cup"}')
    >>> judged = "query-id\\tcorpus-id\\tscore\\nq1\\td1\\t2"
    >>> _ = (folder / "qrels" / "test.tsv").write_text(judged)
    >>> found = read_beir(folder)
    >>> found.queries, found.qrels["test"].relevance
    ({'q1': 'cup'}, array([2]))
    """
    folder = Path(folder)
    fields = ("title", "text")
    documents = _documents(_find(folder, "corpus.jsonl"), fields)
    queries = convert_to_queries(_find(folder, "queries.jsonl"))
    files = sorted((folder / "qrels").glob("*.tsv*"))
    if not files:
        raise FileNotFoundError(f"{folder / 'qrels'} contains no .tsv file of judgements.")
    qrels = {path.name.split(".")[0]: read_qrels(path) for path in files}
    return TextCollection(documents, queries, qrels, fields, folder.name)


def from_ir_datasets(dataset: Any, fields: tuple[str, ...] | None = None) -> TextCollection:
    """Convert an ir_datasets dataset to a :class:`TextCollection`.

    Parameters
    ----------
    dataset : object
        Dataset returned by ``ir_datasets.load(name)``, with documents, queries and qrels.
    fields : tuple of str, optional
        Document fields to keep. None: all text fields except the id and the URL.

    Raises
    ------
    ValueError
        If the dataset lacks documents, queries or qrels, or a field is unknown.
    """
    for what in ("docs", "queries", "qrels"):
        if not getattr(dataset, f"has_{what}")():
            raise ValueError(f"the dataset has no {what}. Load one that has, as in its catalog.")
    known = dataset.docs_cls()._fields
    types = dataset.docs_cls().__annotations__
    chosen = fields or tuple(
        name for name in known if types.get(name) is str and name not in ("doc_id", "url")
    )
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(f"fields must be among {', '.join(known)}, got {unknown[0]!r}.")
    documents = _index_by_id(
        (
            (doc.doc_id, {name: getattr(doc, name) or "" for name in chosen})
            for doc in dataset.docs_iter()
        ),
        "docs_iter()",
    )
    queries: dict[str, str] = {}
    for query in dataset.queries_iter():
        text = getattr(query, "text", None) or getattr(query, "title", None)
        if query.query_id in queries:
            raise ValueError(f"query {query.query_id!r} comes a second time. Ids must differ.")
        queries[query.query_id] = text or ""
    rows = [(row.query_id, row.doc_id, row.relevance) for row in dataset.qrels_iter()]
    return TextCollection(documents, queries, {"all": _qrels(rows)}, tuple(chosen), "ir_datasets")


def load_text(
    name: Literal["vaswani", "cranfield", "scifact", "nfcorpus", "cystic_fibrosis"],
) -> TextCollection:
    """Load a text collection by name from the data folders.

    Parameters
    ----------
    name : {"vaswani", "cranfield", "scifact", "nfcorpus", "cystic_fibrosis"}
        Name of the collection:

        - "vaswani": 11,429 abstracts, 93 queries, judgements "all";
        - "cranfield": 1,400 documents with titles, 225 queries, gains 0 to 4 in "all";
        - "scifact": 5,183 abstracts with titles, 1,109 labelled claims, BEIR's "train" and "test";
        - "nfcorpus": 3,395 preprocessed documents, BEIR's "train", "dev" and "test";
        - "cystic_fibrosis": 1,239 documents with titles and subjects (MeSH headings), 100 queries;
          "all" has the sum of the four raters' grades, 1 to 8.

    Returns
    -------
    TextCollection

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If no folder of ``RANKWISE_DATA`` contains the collection. Licence terms do not allow
        rankwise to ship these collections.
    """
    check_choice("name", name, _KNOWN)
    folder_name, load = _KNOWN[name]
    for root in data_folders():
        if (root / folder_name).is_dir():
            return load(root / folder_name)
    raise FileNotFoundError(
        f"{name} is not on this machine: no folder {folder_name} in "
        f"{', '.join(map(str, data_folders()))}. Set RANKWISE_DATA to the folder that holds it."
    )


def _vaswani(folder: Path) -> TextCollection:
    documents = _documents(_find(folder, "doc-text.trec"), ("text",))
    queries = convert_to_queries(_find(folder, "query-text.trec"))
    qrels = read_qrels(_find(folder, "qrels"))
    return TextCollection(documents, queries, {"all": qrels}, ("text",), "vaswani")


def _cranfield(folder: Path) -> TextCollection:
    qrels = {"all": read_qrels(_find(folder, "qrels-gain.trec"))}
    return TextCollection(*_tables(folder, "text"), qrels, ("title", "text"), "cranfield")


def _scifact(folder: Path) -> TextCollection:
    parts = ("train", "test")
    qrels = {part: read_qrels(_find(folder, f"beir-qrels-{part}.tsv")) for part in parts}
    return TextCollection(*_tables(folder, "abstract"), qrels, ("title", "text"), "scifact")


def _nfcorpus(folder: Path) -> TextCollection:
    lines = read_lines(_find(folder, "docs.tsv")).split("\n")
    documents = {
        identifier: {"text": text}
        for identifier, _, text in (line.partition("\t") for line in lines if line.strip())
    }
    inner, files = folder / "beir-qrels", {"train": "train", "dev": "validation", "test": "test"}
    qrels = {part: read_qrels(_find(inner, f"{file}.csv")) for part, file in files.items()}
    rows = _rows(_find(inner, "queries.csv"), ",")
    queries = {row["_id"]: row["text"] for row in rows}
    return TextCollection(documents, queries, qrels, ("text",), "nfcorpus")


def _cystic_fibrosis(folder: Path) -> TextCollection:
    documents = {
        row["doc"]: {
            "title": row["title"],
            "text": row["abstract"],
            "subjects": f"{row['major_subjects']} {row['minor_subjects']}",
        }
        for row in _rows(_find(folder, "docs.csv"), ",")
    }
    queries = {row["query"]: row["text"] for row in _rows(_find(folder, "queries.csv"), ",")}
    raters = ("rew", "rew_colleagues", "rew_postdoc", "jbw")
    rows = [
        (row["query"], row["doc"], sum(int(row[rater]) for rater in raters))
        for row in _rows(_find(folder, "qrels.csv"), ",")
    ]
    qrels, fields = {"all": _qrels(rows)}, ("title", "text", "subjects")
    return TextCollection(documents, queries, qrels, fields, "cystic_fibrosis")


_KNOWN: dict[str, tuple[str, Callable[[Path], TextCollection]]] = {
    "vaswani": ("vaswani-npl", _vaswani),
    "cranfield": ("cranfield", _cranfield),
    "scifact": ("scifact", _scifact),
    "nfcorpus": ("nfcorpus", _nfcorpus),
    "cystic_fibrosis": ("cystic-fibrosis", _cystic_fibrosis),
}


def _documents(path: Path, fields: tuple[str, ...]) -> dict[str, dict[str, str]]:
    pairs = iterate_documents(path, fields)
    return _index_by_id(
        ((name, dict(zip(fields, texts, strict=True))) for name, texts in pairs), path
    )


def _index_by_id(
    documents: Iterable[tuple[str, dict[str, str]]], where: object
) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, texts in documents:
        if name in found:
            raise ValueError(f"{where}: document {name!r} comes a second time. Ids must differ.")
        found[name] = texts
    return found


def _find(folder: Path, name: str) -> Path:
    for suffix in ("", *COMPRESSIONS):
        path = folder / f"{name}{suffix}"
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder} has no {name}, plain or compressed.")


def _rows(path: Path, separator: str) -> Iterator[dict[str, str]]:
    text = read_lines(path)
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)


def _tables(folder: Path, column: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Documents, whose text is in a column, and queries."""
    documents = {
        row["doc"]: {"title": row["title"], "text": row[column]}
        for row in _rows(_find(folder, "docs.tsv"), "\t")
    }
    queries = _rows(_find(folder, "queries.tsv"), "\t")
    return documents, {row["query"]: row["text"] for row in queries}


def _qrels(rows: list[tuple[str, str, int]]) -> Qrels:
    qid, doc_ids, grades = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return make_qrels(qid, doc_ids, grades)


N_PARTS = 5


# fmt: off
@overload
def load_cf_letor(fold: int, version: Literal["qln", "min"] = ...) -> Fold: ...
@overload
def load_cf_letor(fold: None = ..., version: Literal["qln", "min"] = ...) -> FoldedData: ...
# fmt: on
def load_cf_letor(
    fold: int | None = None, version: Literal["qln", "min"] = "qln"
) -> Fold | FoldedData:
    """CF-LETOR: 100 queries, 123,900 rows, 140 features, grades 0 to 8, five folds.

    A stand-in for TD2003 and TD2004, the data sets of LETOR 3.0 with long lists. Every query of
    the cystic fibrosis collection ranks all 1,239 documents. The grade of a document is the sum of
    the four raters' grades, and 0 if the document is not listed. The features are those of
    :class:`QueryDocumentFeatures` for the title, the text, the subjects (MeSH headings) and the
    whole document.

    Parameters
    ----------
    fold : int from 1 to 5, optional
        Fold to load. None: all folds. Queries are dealt to five parts in turn: query 1 is in
        part 1, query 2 in part 2, query 6 in part 1 again. As in LETOR, fold i trains on parts
        i, i + 1 and i + 2, validates on part i + 3 and tests on part i + 4; part 1 follows part 5.
    version : {"qln", "min"}, default="qln"
        Scale of the features. "qln": scaled to [0, 1] within each query (QueryLevelNorm).
        "min": unscaled.

    Returns
    -------
    Fold or FoldedData
        X is float32. The rows of a query are in the order of the collection's documents.

    Raises
    ------
    ValueError
        If the fold or the version is unknown.
    FileNotFoundError
        If the collection is not in ``RANKWISE_DATA``, see :func:`load_text`.

    Notes
    -----
    Each call computes the features of all folds, which takes a few seconds.
    """
    check_choice("version", version, ("qln", "min"))
    if fold is not None and fold not in range(1, N_PARTS + 1):
        raise ValueError(f"fold must be a number from 1 to {N_PARTS} or None, got {fold!r}.")
    data = _all_pairs(version)
    part = np.arange(data.n_queries) % N_PARTS

    def of(numbers: Sequence[int], name: str) -> RankingData:
        rows = data.queries(np.flatnonzero(np.isin(part, [n % N_PARTS for n in numbers])))
        return replace(rows, name=name)

    def make(index: int) -> Fold:
        name = f"cf-letor fold{index + 1}"
        parts = of(range(index, index + 3), f"{name} train"), of([index + 3], f"{name} vali")
        return Fold(*parts, of([index + 4], f"{name} test"), f"fold{index + 1}")

    names = tuple(f"fold{number}" for number in range(1, N_PARTS + 1))
    folds = FoldedData("cf-letor", names, make)
    return folds if fold is None else folds[fold - 1]


def _all_pairs(version: str) -> RankingData:
    """All documents of every query."""
    collection = load_text("cystic_fibrosis")
    index = TextIndex(collection.fields).add(collection.documents)
    qid = np.repeat(np.array(list(collection.queries)), len(index))
    doc_ids = np.tile(np.array(index.doc_ids), len(collection.queries))
    everything = Run(qid, doc_ids, np.zeros(len(qid)))
    features = QueryDocumentFeatures(index)
    data = features.table(collection.queries, everything, collection.qrels["all"])
    X = data.X if version == "min" else QueryScaler().fit_transform(data.X, qid=data.qid)
    return replace(data, X=np.asarray(X, dtype=np.float32), name="cf-letor")
