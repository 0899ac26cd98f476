"""Judgements, runs and scores, from files of any format, mappings, frames and search engines.

References
----------
.. [1] Elasticsearch and OpenSearch, search API: ``hits.hits`` with ``_id`` and ``_score``.
.. [2] Apache Solr, JSON response writer: ``response.docs`` with ``id`` and ``score``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_values import (
    RowError,
    exact_float64,
    id_text,
    id_texts,
    warn_of_missing_words,
)
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import SIZES, DelimitedFile, side_file
from rankwise.datasets.readers.file_formats import (
    QRELS_FIELDS,
    RUN_FIELDS,
    TRIPLE_FIELDS,
    FileFormat,
    FormatName,
    file_format,
)
from rankwise.datasets.readers.letor import read_grouped, read_letor
from rankwise.datasets.readers.letor_parse import find_line
from rankwise.datasets.readers.tables import open_stored
from rankwise.datasets.readers.text_columns import TextColumns, read_cells, read_columns
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, TextFile, open_text
from rankwise.datasets.readers.trec import (
    GRADES_FIX,
    GRADES_RULE,
    SWAPPED,
    Qrels,
    Run,
    check_distinct,
    id_array,
    string_codes,
)
from rankwise.datasets.table_columns import (
    ALL_DOCUMENT_NAMES,
    ALL_QUERY_NAMES,
    GRADE_NAMES,
    LABEL_NAMES,
    RUN_ONLY_NAMES,
    SCORE_NAMES,
    is_frame,
)
from rankwise.runtime.frames import first_merged, is_missing, text_array
from rankwise.typing import Float64Array, Int64Array

LEAST_DEPTH = 10  # of a list that counts 1, 2, 3, …: grades are fewer
_RANKS = (
    "A run in the format of MS MARCO (query, document, rank) needs scores: name the columns qid, "
    "doc_id and score in a first line, and write 1 / rank as score."
)
_GRADE = f"is not a grade: grades are {GRADES_RULE}. {GRADES_FIX.removesuffix('.')}"
_RESULTS = (FormatName.qrels, FormatName.triples, FormatName.letor, FormatName.run)


def read_qrels(path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Qrels:
    """Read judgements; all first lines decide the format, not the name.

    Compression by gzip, bzip2, xz or Zstandard is detected.

    Parameters
    ----------
    path : path
        One of:

        - TREC qrels: ``<query> <iteration> <document> <relevance>``, separated by blanks or tabs;
        - three columns, query, document and grade, without a header, separated by blanks or tabs
          (then ids may hold blanks);
        - a table with a header line (separated by tabs, commas, semicolons or bars) or a Parquet
          file, with columns as in :func:`rankwise.text.read_judgements`, such as BEIR's;
        - LETOR text with document ids in its comments.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Raises
    ------
    ValueError
        If the file is empty or of another format, a line has another number of fields, a grade is
        not a finite number or is a negative fraction, an id is missing or not UTF-8 text, there is
        a NUL character, a document is judged twice for a query, or the third of three columns
        counts the documents of each query, as ranks do. The message names file, line and reason.

    Notes
    -----
    ASCII white space separates the words of a line (blank, tab, vertical tab, form feed, carriage
    return), and only a line feed ends it. Other characters, such as a no-break space, belong to
    ids. Blank lines are skipped; only LETOR text has comments.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankwise.datasets import read_qrels
    >>> _ = Path("judged.txt").write_text("q1 0 d1 2\\nq1 0 d2 0\\nq2 0 d1 1\\n")
    >>> qrels = read_qrels("judged.txt")
    >>> for judgement in zip(qrels.qid, qrels.doc_ids, qrels.relevance):
    ...     print(*judgement)
    q1 d1 2
    q1 d2 0
    q2 d1 1
    """
    path = Path(path)
    file = open_text(path, max_decompressed_bytes)
    found = file_format(file)
    if found.kind is FormatName.letor:
        return _of_letor(path, max_decompressed_bytes)
    if found.kind is FormatName.stored:
        return qrels_of_frame(open_stored(path, max_decompressed_bytes).read(), str(path))
    _refuse(path, found, (FormatName.run, FormatName.scores), "judgements", QRELS_FIELDS)
    if found.kind is FormatName.table:
        roles = (
            ("query", ALL_QUERY_NAMES),
            ("document", ALL_DOCUMENT_NAMES),
            ("relevance", GRADE_NAMES),
        )
        columns, places = _table(file, found, roles, refuse_columns_of_run)
    elif found.kind is FormatName.triples:
        columns = read_columns(file, TRIPLE_FIELDS, found.separator)
        places = [0, 1, 2]
    else:
        columns, places = read_columns(file, QRELS_FIELDS), [0, 2, 3]
    qid, doc_ids = columns.texts(places[0]), columns.texts(places[1])
    relevance = columns.grades(places[2], _GRADE)
    check_distinct(qid, doc_ids, columns.where)
    if found.kind is FormatName.triples and _are_ranks(qid, relevance):
        raise ValueError(
            f"{path} holds ranks 1, 2, 3, … in the third column for every query, not grades. "
            f"{_RANKS} {SWAPPED}"
        )
    return Qrels(qid, doc_ids, relevance)


def read_run(path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Run:
    """Read a run; all first lines decide the format, not the name.

    Compression by gzip, bzip2, xz or Zstandard is detected.

    Parameters
    ----------
    path : path
        A TREC run, ``<query> Q0 <document> <rank> <score> <tag>``, separated by blanks or tabs, or
        a table with a header line or a Parquet file, with columns as in
        :func:`rankwise.fusion.as_run`. Words and lines are separated as in :func:`read_qrels`.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Raises
    ------
    ValueError
        If the file is empty or of another format, a line has another number of fields, a score is
        not a finite number or is a whole number that float64 cannot hold, an id is missing or not
        UTF-8 text, there is a NUL character, or a document occurs twice in a query. The message
        names file, line and reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankwise.datasets import read_run
    >>> _ = Path("bm25.txt").write_text("q1 Q0 d2 1 7.5 bm25\\nq1 Q0 d1 2 6.25 bm25\\n")
    >>> run = read_run("bm25.txt")
    >>> for result in zip(run.qid, run.doc_ids, run.scores):
    ...     print(*result)
    q1 d2 7.5
    q1 d1 6.25
    """
    path = Path(path)
    file = open_text(path, max_decompressed_bytes)
    found = file_format(file)
    if found.kind is FormatName.stored:
        return run_of_frame(open_stored(path, max_decompressed_bytes).read(), str(path))
    others = (FormatName.qrels, FormatName.triples, FormatName.letor, FormatName.scores)
    _refuse(path, found, others, "a run", RUN_FIELDS)
    if found.kind is FormatName.table:
        roles = (
            ("query", ALL_QUERY_NAMES),
            ("document", ALL_DOCUMENT_NAMES),
            ("score", SCORE_NAMES),
        )
        columns, places = _table(file, found, roles)
        tag = ""
    else:
        columns, places = read_columns(file, RUN_FIELDS), [0, 2, 4]
        tag = str(columns.texts(5)[0])
    qid, doc_ids = columns.texts(places[0]), columns.texts(places[1])
    scores = columns.reals(places[2])
    check_distinct(qid, doc_ids, columns.where)
    return Run(qid, doc_ids, scores, tag)


def read_scores(
    path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Float64Array:
    """Read one finite score per line; a blank line is an error, since lines stand for rows."""
    file = open_text(Path(path), max_decompressed_bytes)
    columns = read_columns(file, ("score",), skip_blank=False)
    if not columns.columns[0]:
        raise ValueError(f"{path} is empty. A file of scores has one number per line.")
    return columns.reals(0)


def _refuse(
    path: Path, found: FileFormat, others: Sequence[FormatName], wanted: str, fields: Sequence[str]
) -> None:
    """Raise if a file is empty, or holds something else."""
    if found.kind is FormatName.empty:
        raise ValueError(f"{path} is empty. Leave it out, or write {wanted} to it.")
    if found.kind in (*others, FormatName.json):
        fix = " From Python, pass the mapping that json.load returns." * (
            found.kind is FormatName.json
        )
        if found.kind is FormatName.triples:
            fix += f" {_RANKS}"
        fix += f" {SWAPPED}" * (found.kind in _RESULTS)
        raise ValueError(
            f"{path} holds {found.kind}, not {wanted}: expected {len(fields)} fields "
            f"({' '.join(fields)}), or a table with named columns.{fix}"
        )


def _are_ranks(qid: NDArray[Any], numbers: Int64Array | Float64Array) -> bool:
    """Whether numbers count the documents of every query, in the order of the file."""
    if numbers.max() < LEAST_DEPTH:
        return False
    (codes,), _ = string_codes(qid)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0))
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.arange(len(order)) - np.repeat(starts, sizes) + 1
    return bool((numbers[order] == ranks).all())


def _of_letor(path: Path, max_decompressed_bytes: int) -> Qrels:
    read = read_letor if side_file(path, SIZES) is None else read_grouped
    data = read(path, max_decompressed_bytes=max_decompressed_bytes)
    if data.doc_ids is None:
        raise ValueError(
            f"{path} is LETOR text without document ids. Add a comment '#docid = …' to each line."
        )
    try:
        return Qrels.from_data(data)
    except RowError as error:
        line, _ = find_line(open_text(path, max_decompressed_bytes), error.row)
        raise ValueError(f"{path}, line {line}: {error.without_row()}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _table(
    file: TextFile,
    found: FileFormat,
    roles: Sequence[tuple[str, Sequence[str]]],
    check: Callable[[Sequence[str], str], None] | None = None,
) -> tuple[TextColumns, list[int]]:
    """Columns of a delimited table, and the places of the named ones."""
    names = list(found.columns)
    try:
        chosen = [find_column(names, usual, what) for what, usual in roles]
        if check is not None:
            check(names, chosen[-1])
        places = [names.index(name) for name in chosen]
    except ValueError as error:
        raise ValueError(f"{file.path}, line 1: {error}") from None
    if found.separator is None:
        columns = read_columns(file, names, header=True)
    else:
        columns = read_cells(DelimitedFile(file.path, found.separator, file))
    if not columns.columns[0]:
        raise ValueError(f"{file.path} has a header line, but no rows.")
    return columns, places


def find_column(columns: Sequence[str], names: Sequence[str], what: str) -> str:
    """First of the usual names that is a column, in any case.

    ValueError is raised if there is none, or two columns have it.
    """
    for name in names:
        found = [column for column in columns if column.lower() == name]
        if len(found) > 1:
            raise ValueError(
                f"columns {found[0]!r} and {found[1]!r} both name the {what}. Drop one."
            )
        if found:
            return found[0]
    is_judged = names == SCORE_NAMES and {column.lower() for column in columns} & {*LABEL_NAMES}
    listed = ", ".join(f"{column!r:.60}" for column in columns[:30])
    raise ValueError(
        f"there must be a column of the {what}, named {' or '.join(map(repr, names))}, got "
        f"{listed}. {SWAPPED if is_judged else 'Rename one.'}"
    )


def refuse_columns_of_run(columns: Sequence[str], grades: str) -> None:
    """Raise ValueError if the column that is taken for grades holds the scores of a run."""
    if grades.lower() not in SCORE_NAMES:
        return
    for column in columns:
        if column.lower() in RUN_ONLY_NAMES:
            raise ValueError(
                f"columns {grades!r} and {column!r} are those of a run, not of judgements. "
                f"{SWAPPED} Grades beside them must be named {LABEL_NAMES[0]!r}."
            )


def qrels_of_frame(frame: Any, source: str = "") -> Qrels:
    """Judgements in a frame; ``source`` is named in messages."""
    qid, doc_ids, grades = _columns(frame, GRADE_NAMES, "relevance", source)
    return make_qrels(qid, doc_ids, grades, source)


def run_of_frame(frame: Any, source: str = "") -> Run:
    """Run in a frame; ``source`` is named in messages."""
    qid, doc_ids, scores = _columns(frame, SCORE_NAMES, "score", source)
    return make_run(qid, doc_ids, scores, source)


def make_qrels(qid: list[Any], doc_ids: list[Any], grades: Any, source: str = "") -> Qrels:
    """Judgements of checked columns.

    ValueError is raised if an id is missing, a value is no grade, or a document is judged twice.
    """
    queries, documents, where = _ids(qid, doc_ids, source)
    relevance = _grades(grades, queries, documents, where)
    check_distinct(queries, documents, where)
    return Qrels(queries, documents, relevance)


def make_run(qid: list[Any], doc_ids: list[Any], scores: Any, source: str = "") -> Run:
    """Run of checked columns.

    ValueError is raised if an id is missing, a score is not a finite number that float64 holds, or
    a query has a document twice.
    """
    queries, documents, where = _ids(qid, doc_ids, source)
    values = exact_float64(scores, "scores", where)
    check_finite(queries, documents, values)
    check_distinct(queries, documents, where)
    return Run(queries, documents, values, "")


def _ids(
    qid: list[Any], doc_ids: list[Any], source: str
) -> tuple[NDArray[Any], NDArray[Any], Callable[[int], str]]:
    """Ids of queries and documents, and the place of a row in messages."""
    where = f"{source}, row {{}}".format if source else "row {}".format
    found = []
    for what, ids in (("query ids", qid), ("document ids", doc_ids)):
        found.append(id_array(ids, what, where))
        warn_of_missing_words(found[-1].tolist(), f"{source}, {what}" if source else what)
    return found[0], found[1], where


def check_finite(qid: NDArray[Any], doc_ids: NDArray[Any], scores: Float64Array) -> None:
    """Raise ValueError if a score is not finite."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(
            f"scores must be finite, got {scores[row]} for document {str(doc_ids[row])!r} of query "
            f"{str(qid[row])!r}."
        )


def _columns(frame: Any, names: Sequence[str], what: str, source: str) -> list[list[Any]]:
    table = nw.from_native(frame)
    roles = (("query id", ALL_QUERY_NAMES), ("document id", ALL_DOCUMENT_NAMES), (what, names))
    try:
        present = table.collect_schema().names()
        chosen = [find_column(present, usual, role) for role, usual in roles]
        if names == GRADE_NAMES:
            refuse_columns_of_run(present, chosen[2])
    except ValueError as error:
        raise ValueError(f"{source}: {error}" if source else str(error)) from None
    table = table.select(chosen)
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    if source and not len(table):  # a search that found nothing gives an empty frame
        raise ValueError(f"{source} has no rows.")
    *ids, values = (table[name] for name in chosen)
    return [*map(_listed, ids), values.to_list()]


def _listed(ids: nw.Series[Any]) -> Any:
    """Ids as a list; narrow floats as an array, whose type says which ids it can tell apart."""
    kind = {1 << 11: np.float16, 1 << 24: np.float32}.get(first_merged(ids.to_native()))
    listed = ids.to_list()
    if kind is None:
        return listed
    return np.array([math.nan if is_missing(value) else value for value in listed], dtype=kind)


def _grades(
    grades: list[Any], queries: NDArray[Any], documents: NDArray[Any], where: Any
) -> Int64Array | Float64Array:
    """Grades, int64 unless one has a fraction."""
    values = np.empty(len(grades), dtype=np.int64)
    fractions: dict[int, float] = {}
    for row, grade in enumerate(grades):
        try:
            if not isinstance(grade, Real | Decimal):
                raise ValueError
            values[row] = math.floor(grade)
            if grade != values[row]:
                fractions[row] = float(grade)
                if grade < 0:
                    raise ValueError
        except (ArithmeticError, ValueError):  # NaN, infinity, beyond 64 bits
            raise ValueError(
                f"grades must be {GRADES_RULE}, got {grade!r} for query {str(queries[row])!r}, "
                f"document {str(documents[row])!r} at {where(row)}. {GRADES_FIX}"
            ) from None
    if not fractions:
        return values
    real = values.astype(np.float64)
    real[[*fractions]] = [*fractions.values()]
    return real


def read_judgements(judgements: Any) -> Qrels:
    """Read relevance judgements from a file, a mapping, a frame or judged rows.

    Parameters
    ----------
    judgements : path, mapping, frame, RankingData, Qrels or list of these
        One of:

        - the path of a file, plain or compressed, see :func:`rankwise.datasets.read_qrels`;
        - a mapping ``{query id: {document id: grade}}``;
        - a frame with columns for the query id ("qid", "query_id", "query-id", "query" or the
          like), the document id ("doc_id", "docno", "docid", "corpus-id", "doc" or the like) and
          the grade ("relevance", "label", "grade", "rel", "rating" or "score", in this order);
        - judged rows with document ids;
        - a list of these, which judge different queries or documents.

    Returns
    -------
    Qrels

    Raises
    ------
    TypeError
        If ``judgements`` is none of these.
    ValueError
        If a line cannot be parsed, an id is missing, a grade is not a finite number or is a
        negative fraction, or a document is judged twice for the same query. For a file, the message
        names the file and the line.

    Notes
    -----
    Ids become text as written: ``07`` and ``7`` differ. Whole numbers in a float column, as pandas
    makes of integers with gaps, lose their ``.0``. Grades are int64 if all are whole, else float64,
    such as the averages of several judges.

    Examples
    --------
    >>> from rankwise.text import read_judgements
    >>> read_judgements({"q1": {"d2": 2, "d1": 1}}).relevance.tolist()
    [2, 1]
    """
    if isinstance(judgements, Qrels):
        return judgements
    if isinstance(judgements, str | Path):
        return read_qrels(judgements)
    if isinstance(judgements, RankingData):
        if judgements.doc_ids is None:
            raise ValueError("judged rows need document ids. Pass doc_ids to RankingData.")
        return Qrels.from_data(judgements)
    if isinstance(judgements, list):
        if not judgements:
            raise ValueError("judgements must hold at least one source, got an empty list.")
        parts = [read_judgements(part) for part in judgements]
        return Qrels(*_join(parts), np.concatenate([part.relevance for part in parts]))
    if is_frame(judgements):
        return qrels_of_frame(judgements)
    if isinstance(judgements, Run):
        raise TypeError(f"judgements must hold grades, got a Run, which holds scores. {SWAPPED}")
    if not isinstance(judgements, Mapping):
        raise TypeError(
            "judgements must be a path, a mapping, a frame, RankingData, Qrels or a list of these, "
            f"got {type(judgements).__name__}. Pass {{query: {{document: grade}}}}."
        )
    qid: list[str] = []
    doc_ids, grades = [], []
    queries = id_texts(judgements, "query ids", "query {}".format)
    for query, of_query in zip(queries, judgements.values(), strict=True):
        if not isinstance(of_query, Mapping):
            raise TypeError(
                f"judgements of query {query!r} must map documents to grades, got "
                f"{type(of_query).__name__}. Pass {{query: {{document: grade}}}}."
            )
        qid += [query] * len(of_query)
        doc_ids += [id_text(name, f"document ids of query {query!r}") for name in of_query]
        grades += of_query.values()
    return make_qrels(qid, doc_ids, grades)


def _join(parts: Sequence[Qrels] | Sequence[Run]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ids of queries and documents of several sources, which differ in one of them."""
    qid = text_array([query for part in parts for query in part.qid.tolist()])
    doc_ids = text_array([document for part in parts for document in part.doc_ids.tolist()])
    check_distinct(qid, doc_ids)
    return qid, doc_ids


def as_run(results: Any, tag: str | None = None) -> Run:
    """Read the result lists of one system.

    Parameters
    ----------
    results : Run, path, frame, mapping or list of these
        One of:

        - a run;
        - the path of a TREC run or of a table with named columns, see
          :func:`rankwise.datasets.read_run`;
        - a frame with a column of query ids ("qid", "query_id", "query-id", "query" or the like),
          of document ids ("doc_id", "docno", "docid", "corpus-id", "doc" or the like) and "score";
        - a mapping from query id to ``{document id: score}`` or to the JSON response of
          Elasticsearch, OpenSearch or Solr. Elasticsearch and OpenSearch name documents by
          ``_id``, Solr by ``id``; a Solr query must ask for ``fl=id,score``;
        - a list of these: parts of one run, with different queries or documents.
    tag : str, optional
        Name of the system. None: the tag of the run, else "".

    Returns
    -------
    Run

    Raises
    ------
    TypeError
        If ``results`` is none of these.
    ValueError
        If a column or an id is missing, a score is not a finite number or is a whole number that
        float64 cannot hold, a query has a document twice, a file is empty, or a search engine
        answered with an error.

    Notes
    -----
    Ids become text as written: ``07`` and ``7`` differ. Whole numbers in a float column, as pandas
    makes of integers with gaps, lose their ``.0``. Missing ids are an error.

    Examples
    --------
    >>> from rankwise.fusion import as_run
    >>> hits = [{"_id": "d7", "_score": 3.5}, {"_id": "d2", "_score": 1.25}]
    >>> run = as_run({"q1": {"hits": {"hits": hits}}}, tag="bm25")
    >>> run.doc_ids.tolist(), run.scores.tolist()
    (['d7', 'd2'], [3.5, 1.25])
    """
    if isinstance(results, Run):
        run = results
        check_finite(run.qid, run.doc_ids, run.scores)
    elif isinstance(results, str | Path):
        run = read_run(results)
    elif isinstance(results, Mapping):
        run = _of_mapping(results)
    elif isinstance(results, list):
        if not results:
            raise ValueError("results must hold at least one part, got an empty list.")
        runs = [as_run(part) for part in results]
        run = Run(*_join(runs), np.concatenate([part.scores for part in runs]), runs[0].tag)
    elif is_frame(results):
        run = run_of_frame(results)
    elif isinstance(results, Qrels | RankingData):
        raise TypeError(
            f"results must be those of a system, got judgements ({type(results).__name__}). "
            f"{SWAPPED}"
        )
    else:
        raise TypeError(
            "results must be a Run, a path, a frame, a mapping or a list of these, got "
            f"{type(results).__name__}. Pass a TREC run, or a mapping from query id to "
            "{document id: score}."
        )
    return run if tag is None else replace(run, tag=tag)


def _of_mapping(results: Mapping[Any, Any]) -> Run:
    queries = id_texts(results, "query ids", "query {}".format)
    qid: list[str] = []
    doc_ids, scores = [], []
    for query, answer in zip(queries, results.values(), strict=True):
        if not isinstance(answer, Mapping):
            raise TypeError(
                f"query {query!r} must have a mapping, got {type(answer).__name__}. Pass "
                "{document id: score} or the JSON response of a search engine."
                + (f" {SWAPPED}" if isinstance(answer, Real) else "")
            )
        for document, score in _pairs(query, answer):
            qid.append(query)
            doc_ids.append(id_text(document, f"document ids of query {query!r}"))
            scores.append(score)
    return make_run(qid, doc_ids, scores)


def _pairs(query: str, answer: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    if "error" in answer and not isinstance(answer["error"], Real):
        raise ValueError(
            f"query {query!r}: the search engine answered with an error: {answer['error']}."
        )
    if isinstance(answer.get("hits"), Mapping):
        found, document, score = answer["hits"].get("hits", []), "_id", "_score"
    elif isinstance(answer.get("response"), Mapping):
        found, document, score = answer["response"].get("docs", []), "id", "score"
    else:
        for name, value in answer.items():
            if not isinstance(value, Real | Decimal | str) or isinstance(value, bool):
                raise ValueError(
                    f"scores must be numbers, got {type(value).__name__} for {str(name)!r} of "
                    f"query {query!r}. Pass {{document id: score}} or the JSON response of "
                    "Elasticsearch, OpenSearch or Solr."
                )
        return list(answer.items())
    for hit in found:
        for field in (document, score):
            if hit.get(field) is None:
                raise ValueError(
                    f"query {query!r}: a hit has no {field!r}, got {sorted(hit)}. Ask the search "
                    "engine for ids and scores."
                )
    return [(hit[document], hit[score]) for hit in found]
