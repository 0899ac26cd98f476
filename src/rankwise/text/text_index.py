"""TextIndex: an inverted index searched with retrieval models, and the folder it is saved in.

A folder holds arrays and texts, and perhaps the model of a text ranker. Every array is checked
before compiled code reads it: its type, its shape, its range, and its agreement with the other
arrays. Texts and models, which have no such agreement, have checksums.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import warnings
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.trec import Run
from rankwise.runtime.array_folder import (
    DAMAGED,
    HEADER,
    Arrays,
    read_arrays,
    read_header,
    write_arrays,
)
from rankwise.runtime.frames import text_array
from rankwise.runtime.messages import callers_level, setting
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.structure.state_rules import Array, Rule, Scope, StructureError, run, violation
from rankwise.text.analyzer import Analyzer, describe_analyzer, load_analyzer
from rankwise.text.documents import (
    convert_to_id,
    convert_to_queries,
    iterate_documents,
    prefix_errors,
)
from rankwise.text.models import (
    MODELS,
    Postings,
    bm25f_weights,
    check_count,
    check_field_weights,
    finite_weights,
    idf,
    join_fields,
    number_terms,
    score_queries,
    select_documents,
    settings_of,
    terms_by_occurrence,
)
from rankwise.typing import Float64Array, Int64Array

# Queries that one thread scores at a time.
_QUERIES = 32
FORMAT = 4  # of a saved index
_OLD_HEADER = "index.json"  # of indexes up to version 0.2, in place of HEADER
_OF_POSTINGS = ("starts", "documents", "counts")
_CHUNK = 1 << 20  # entries whose hashes are in memory at a time

Ranker = tuple[dict[str, Any], bytes]  # JSON values and model of a saved text ranker


class TextIndex(NamesOldAttributes):
    """Inverted index of documents with one or more text fields.

    Parameters
    ----------
    fields : sequence of str, optional
        Names of the fields. A document is the concatenation of its fields, in this order. None:
        the field "text"; other fields of documents are left out with a warning.
    analyzer : callable, optional
        Function that splits the text of a document or a query into terms. None:
        :class:`rankwise.text.Analyzer`.

    Attributes
    ----------
    doc_ids : list of str
        Ids of the documents, in the order in which they were added.
    vocabulary : dict of str to int
        Number of each term.
    fields : tuple of str
        Names of the fields.
    analyzer : callable
        The analyzer in use.

    Notes
    -----
    The index stores the terms of every field in order (4 bytes per term) and the postings of whole
    documents (8 bytes per posting). A search keeps another 8 bytes per posting for the last model.
    Adding documents analyses only the new ones; the next search rebuilds the postings. An index
    does not depend on its history: after documents were added in several calls, replaced and
    removed, it is bit-identical to a new index of the documents that remain, in their order.

    Examples
    --------
    >>> from rankwise.text import TextIndex
    >>> index = TextIndex().add({"d1": "the cat sat", "d2": "a cat and a dog", "d3": "a bird"})
    >>> run = index.search("dogs and cats")
    >>> run.doc_ids.tolist(), run.scores.round(3).tolist()
    (['d2', 'd1'], [0.532, 0.172])
    """

    def __init__(
        self,
        fields: Sequence[str] | None = None,
        *,
        analyzer: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        if fields is not None and not isinstance(fields, str | Iterable):
            raise TypeError(f"fields must be names or None, got {fields!r}.")
        names = ("text",) if fields is None else fields
        names = (names,) if isinstance(names, str) else tuple(names)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"fields must name each field once, got {list(names)}.")
        if other := [name for name in names if not isinstance(name, str) or not name]:
            raise TypeError(f"fields must be names, got {other[0]!r}.")
        self.fields = names
        self.analyzer: Callable[[str], Sequence[str]] = analyzer or Analyzer()
        self.doc_ids: list[str] = []
        self.vocabulary: dict[str, int] = {}
        self._is_default = fields is None
        self._tokens: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32) for _ in names]
        self._bounds: list[Int64Array] = [np.zeros(1, dtype=np.int64) for _ in names]
        self._known: dict[str, int] | None = {}
        self._last: tuple[Any, Any] = (None, None)

    def __len__(self) -> int:
        return len(self.doc_ids)

    def __sklearn_clone__(self) -> TextIndex:
        """Return the index itself, so that cloned estimators share it."""
        return self

    def __repr__(self) -> str:
        fields = ", ".join(self.fields)
        return f"TextIndex({len(self)} documents, {len(self.vocabulary)} terms, fields {fields})"

    def add(
        self, documents: Any, *, replace: bool = False, encoding: str | None = None
    ) -> TextIndex:
        """Add documents, or replace them.

        Parameters
        ----------
        documents : mapping, iterable of mappings, frame, or Path
            One of:

            - a mapping from document id to text (if there is one field), or to a mapping from
              field to text; or a Series of pandas whose labels are text or have a name;
            - mappings, or rows of a frame, with an id ("doc_id", "docno", "docid", "corpus-id",
              "document_id", "pid", "_id", "id" or the like) and one text per field;
            - a ``Path`` of JSON lines, of TREC documents, or of text separated by tabs. Such text
              has names of columns in its first line, one of them of ids, or no names and an id and
              a text per line, as in MS MARCO. An element of a TREC document is a field of that
              name, in lower case. By default (``fields=None``), the field "text" is the whole
              document without tags; with named fields, it is the elements ``<TEXT>``, or the whole
              document if there are none.

            Missing fields are empty. Empty documents are never retrieved.
        replace : bool, default=False
            Whether a document whose id is in the index replaces that document. It takes its
            place in the order, as in a dict.
        encoding : str, optional
            Encoding of a file. None: UTF-8.

        Returns
        -------
        TextIndex
            Itself.

        Raises
        ------
        ValueError
            If a document has no id, an id occurs twice or is already in the index, no document has
            any of the fields, or a file has bytes that the encoding does not have. The index is
            left unchanged.
        TypeError
            If a text is not a str, or the analyzer returns anything but strings.

        Warns
        -----
        UserWarning
            If a field occurs in none of these documents, or, by default, if documents have text in
            other fields, which is not indexed.
        """
        known, vocabulary = self._positions, dict(self.vocabulary)
        new: dict[str, None] = {}
        tokens = [array("i") for _ in self.fields]
        ends = [array("q") for _ in self.fields]
        with prefix_errors(documents):
            for identifier, texts in iterate_documents(
                documents, self.fields, is_default=self._is_default, encoding=encoding
            ):
                if identifier in new or (identifier in known and not replace):
                    fix = f" or pass {setting('replace', True)}" if identifier not in new else ""
                    raise ValueError(
                        f"document {identifier!r} comes a second time. Use a different id for each "
                        f"one{fix}."
                    )
                new[identifier] = None
                for place, text in enumerate(texts):
                    tokens[place].extend(number_terms(self.analyzer(text), vocabulary, identifier))
                    ends[place].append(len(tokens[place]))
        order = np.arange(len(known) + len(new))
        is_kept = np.ones(len(order), dtype=bool)
        for position, identifier in enumerate(new, start=len(known)):
            if identifier in known:
                order[known[identifier]] = position
                is_kept[position] = False
        for place in range(len(self.fields)):
            added = np.frombuffer(tokens[place], dtype=np.intc).astype(np.int32)
            self._tokens[place] = np.concatenate([self._tokens[place], added])
            last = self._bounds[place][-1]
            added = np.frombuffer(ends[place], dtype=np.int64) + last
            self._bounds[place] = np.concatenate([self._bounds[place], added])
        self.doc_ids = [*self.doc_ids, *new]
        self.vocabulary, self._known = vocabulary, None
        self._forget()
        if not is_kept.all():
            self._select(order[is_kept])
        return self

    def remove(self, doc_ids: str | Iterable[Any]) -> TextIndex:
        """Remove documents.

        The other documents keep their order. The index is then that of these documents alone.

        Parameters
        ----------
        doc_ids : str or iterable of str
            Ids of documents, or a single one.

        Returns
        -------
        TextIndex
            Itself.

        Raises
        ------
        ValueError
            If a document is not in the index, which is left unchanged.

        Examples
        --------
        >>> from rankwise.text import TextIndex
        >>> index = TextIndex().add({"d1": "a cat", "d2": "a dog", "d3": "a bird"})
        >>> index.remove("d1").add({"d2": "a black dog"}, replace=True).doc_ids
        ['d2', 'd3']
        """
        if isinstance(doc_ids, str) or not isinstance(doc_ids, Iterable):
            doc_ids = [doc_ids]
        is_kept = np.ones(len(self), dtype=bool)
        is_kept[self.positions(list(doc_ids))] = False
        self._select(np.flatnonzero(is_kept))
        return self

    def _select(self, order: Int64Array) -> None:
        """Keep the documents at some positions; number terms by their first occurrence in them."""
        fields = zip(self._tokens, self._bounds, strict=True)
        chosen = [select_documents(*field, order) for field in fields]
        self._tokens, self._bounds = map(list, zip(*chosen, strict=True))
        ids = self.doc_ids
        self.doc_ids = [ids[position] for position in order.tolist()]
        self._forget()
        terms = terms_by_occurrence(self.whole[0], len(self.vocabulary))
        number = np.zeros(len(self.vocabulary), dtype=np.int32)
        number[terms] = np.arange(len(terms))
        self._tokens = [number[tokens] for tokens in self._tokens]
        names = list(self.vocabulary)
        self.vocabulary = {names[term]: new for new, term in enumerate(terms.tolist())}
        self._known = None
        self._forget()

    def search(
        self,
        queries: Any,
        k: int = 1000,
        *,
        model: str = "bm25",
        field_weights: Mapping[str, float] | None = None,
        tag: str | None = None,
        **parameters: float,
    ) -> Run:
        """Retrieve the highest-scoring documents of each query.

        Parameters
        ----------
        queries : str, mapping, iterable, frame, or Path
            One of:

            - a single text, which gets the query id "1";
            - a mapping from query id to text, or a Series of pandas whose labels are text or have a
              name, such as "qid";
            - texts, which get the ids "1", "2", and so on;
            - rows with an id ("qid", "query_id", "query-id", "_id", "id" or the like) and a
              text ("text", "query" or "title");
            - a ``Path`` of JSON lines, TREC topics, or text separated by tabs.
        k : int >= 1, default=1000
            Maximum number of documents per query. Documents without a query term are not found.
        model : str, default="bm25"
            Retrieval model. A term occurs tf times in the document, in df documents, and cf times
            in total. There are N documents; this one has dl terms, and the mean is avgdl.

            - "bm25_lucene" (also "bm25"): ``ln(1 + (N - df + .5) / (df + .5)) s`` for
              ``s = tf / (tf + k1 (1 - b + b dl / avgdl))``; "bm25_robertson":
              ``ln(max(1, (N - df + .5) / (df + .5))) s``; "bm25_atire": ``ln(N / df) (k1 + 1) s``;
              "bm25_okapi": ``ln((N - df + .5) / (df + .5)) (k1 + 1) s``, where a negative logarithm
              is ``epsilon`` times the mean over all terms. k1 = 1.5, b = 0.75, epsilon = 0.25;
            - "bm25f": as "bm25_lucene" with ``s = t / (t + k1)`` for the sum
              ``t = sum_f w_f tf_f / (1 - b + b dl_f / avgdl_f)`` over fields;
            - "dirichlet": ``ln(1 + tf / (mu cf / T)) + ln(mu / (mu + dl))`` for T terms of all
              documents, mu = 2000. This is the likelihood of the query, divided by that under the
              collection;
            - "jelinek_mercer": ``ln(1 + (1 - lam) / lam (tf / dl) / (cf / T))``, lam = 0.1;
            - "pl2" and "dph": divergence from randomness as in Terrier, c = 1;
            - "tf_idf": cosine of ``(1 + ln tf) ln(N / df)``.

            A term that occurs n times in a query has weight n. "pl2" and "dph" divide n by the
            largest n of the query; "tf_idf" weights query terms like document terms.
        field_weights : mapping from field to float >= 0, optional
            Field weights ``w_f`` of "bm25f". Fields that are not in the mapping have weight 1.
        tag : str, optional
            Name of the run. None: the name of the model.
        **parameters
            Parameters of the model, as listed above.

        Returns
        -------
        Run
            Best document first; documents with equal scores keep the order of the index. Queries
            without a known term have no lines.

        Raises
        ------
        ValueError
            If the model is unknown, a parameter is out of range or gives scores that are not
            finite, k is not a whole number >= 1, or ``queries`` is the name of a file.
        TypeError
            If the model has no parameter of that name, or a parameter is not a number.
        """
        k = check_count("k", k)
        settings = settings_of(model, parameters)
        texts = convert_to_queries(queries)
        weight = check_field_weights(model, self.fields, field_weights)
        scorer = self._scorer(model, settings, weight)
        names = list(texts)
        # Here and not by the threads: an analyzer of the caller's need not be safe for them.
        queried = [self.query_terms(texts[name]) for name in names]
        parts = [queried[lo : lo + _QUERIES] for lo in range(0, len(names), _QUERIES)]
        n_threads = min(available_threads(), max(len(parts), 1))

        def work(
            terms: list[tuple[Int64Array, Float64Array]],
        ) -> tuple[Int64Array, Int64Array, Float64Array]:
            counts, documents, scores = scorer(terms, min(k, max(len(self), 1)))
            rows = np.arange(documents.shape[1]) < counts[:, None]
            finite_weights(lambda: scores[rows], model, parameters)
            return counts, documents[rows], scores[rows]

        found = thread_map(work, parts, n_threads)
        none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        n_found, documents, scores = map(np.concatenate, zip(none, *found, strict=True))
        qid = np.repeat(text_array(names), n_found)
        return Run(qid, self._ids[documents], scores, tag or model)

    def query_terms(self, text: str) -> tuple[Int64Array, Float64Array]:
        """Numbers and counts of a query's known terms, in order of first occurrence."""
        counts: dict[int, int] = {}
        for term in self.analyzer(text):
            number = self.vocabulary.get(term)
            if number is not None:
                counts[number] = counts.get(number, 0) + 1
        return np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=float)

    def positions(self, doc_ids: Sequence[str]) -> Int64Array:
        """Positions of documents in the index.

        Raises
        ------
        ValueError
            If a document is not in the index.
        """
        known = self._positions
        found = np.empty(len(doc_ids), dtype=np.int64)
        for place, identifier in enumerate(doc_ids):
            name = convert_to_id(identifier, f"document id {place}")
            position = known.get(name)
            if position is None:
                raise ValueError(f"document {name!r} is not in the index.")
            found[place] = position
        return found

    def has(self, doc_ids: Sequence[str] | NDArray[Any]) -> NDArray[np.bool_]:
        """Boolean mask of the documents that are in the index."""
        known = self._positions
        return np.array([str(identifier) in known for identifier in doc_ids], dtype=bool)

    def tokens(self, field: str) -> tuple[NDArray[np.int32], Int64Array]:
        """Terms of a field in order, and the boundaries between documents."""
        place = self.fields.index(field)
        return self._tokens[place], self._bounds[place]

    @cached_property
    def whole(self) -> tuple[NDArray[np.int32], Int64Array]:
        """Terms of whole documents in order, and the boundaries between documents."""
        if len(self.fields) == 1:
            return self._tokens[0], self._bounds[0]
        return join_fields(self._tokens, self._bounds)

    @cached_property
    def postings(self) -> Postings:
        """Postings of whole documents."""
        return Postings.of_tokens(*self.whole, len(self.vocabulary))

    def save(self, folder: str | Path) -> Path:
        """Write the index to a folder; :meth:`load` memory-maps its arrays.

        An :class:`rankwise.text.Analyzer` is saved with the index. Other analyzers are not saved:
        pass them to :meth:`load`.

        An index that is in the folder is replaced at once at the end. Until then, and if the save
        is interrupted, :meth:`load` returns the old one. Indexes that were loaded from the folder,
        in this process or in another, stay as they are. A :class:`TextRanker` that is in the folder
        stays there, with the new index.
        """
        folder = Path(folder)
        write_index(folder, self)
        return folder

    @classmethod
    def load(
        cls, folder: str | Path, *, analyzer: Callable[[str], Sequence[str]] | None = None
    ) -> TextIndex:
        """Read an index that :meth:`save` wrote.

        Parameters
        ----------
        folder : path
        analyzer : callable, optional
            Analyzer of the index. Required if the index was built with a callable that is not an
            ``Analyzer``.

        Raises
        ------
        FileNotFoundError
            If the folder contains no index.
        ValueError
            If a file is missing or damaged (the message names it), the index was built with another
            analyzer, or by a version with other rules of analysis.
        """
        return read_index(Path(folder), analyzer, cls)[0]

    @property
    def _positions(self) -> dict[str, int]:
        if self._known is None:
            self._known = {identifier: place for place, identifier in enumerate(self.doc_ids)}
        return self._known

    def _forget(self) -> None:
        for name in ("whole", "postings", "_idf", "_ids"):
            self.__dict__.pop(name, None)
        self._last = (None, None)

    @cached_property
    def _ids(self) -> NDArray[Any]:
        """``doc_ids`` as an array."""
        return text_array(self.doc_ids)

    @cached_property
    def _idf(self) -> Float64Array:
        return idf(self.postings)

    def _scorer(
        self, model: str, settings: Mapping[str, float], field_weights: tuple[float, ...]
    ) -> Callable[..., Any]:
        """From the terms of queries and k to counts, documents and scores."""
        chosen, p = MODELS[model], self.postings
        key = (model, tuple(settings.items()), field_weights)
        if self._last[0] != key:
            scale = np.ones(1) if chosen.scale is None else chosen.scale(p)
            facts: dict[str, Any] = dict(settings)
            compute = partial(chosen.weights, p, **settings)
            if model == "bm25f":
                n_terms = len(self.vocabulary)
                parts = [Postings.of_tokens(*self.tokens(name), n_terms) for name in self.fields]
                facts |= {"field_weights": dict(zip(self.fields, field_weights, strict=True))}
                compute = partial(bm25f_weights, p, parts, field_weights, **settings)
            weights = finite_weights(compute, model, facts)
            self._last = key, (np.ascontiguousarray(weights), scale)
        weights, scale = self._last[1]
        return partial(score_queries, chosen, p, self._idf, weights, scale, settings)


def has_index(folder: Path) -> bool:
    """Whether a folder holds an index, perhaps one of an old version, which cannot be read."""
    is_old = (folder / _OLD_HEADER).is_file() and any(folder.glob("starts*.npy"))
    return is_old or (folder / HEADER).is_file()


def has_ranker(folder: Path) -> bool:
    """Whether a folder holds an index with a text ranker."""
    if not has_index(folder):
        return False
    _check_age(folder)
    return _check_facts(folder, read_header(folder))["ranker"] is not None


def write_index(folder: Path, index: TextIndex, ranker: Ranker | None = None) -> None:
    """Write an index into a folder, in place of the one that is there.

    Without a ``ranker``, one that is in the folder stays; if it is damaged, it is lost with a
    warning.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file. Pass a folder to write the index into.")
    if ranker is None:
        ranker = _keep_ranker(folder)
    fields = list(index.fields)
    texts = json.dumps({"doc_ids": index.doc_ids, "terms": list(index.vocabulary)})
    parts = [*index._tokens, *index._bounds]
    parts += [getattr(index.postings, name) for name in _OF_POSTINGS]
    arrays: Arrays = dict(zip(_array_names(fields), parts, strict=True))
    arrays["texts"] = np.frombuffer(texts.encode(), dtype=np.uint8)
    facts: dict[str, Any] = {"format": FORMAT, "fields": fields}
    facts |= describe_analyzer(index.analyzer)
    facts |= {"is_default": index._is_default, "ranker": None}
    if ranker is not None:
        facts["ranker"], arrays["ranker"] = ranker[0], np.frombuffer(ranker[1], dtype=np.uint8)
    facts["sha256"] = {name: _digest(arrays[name].tobytes()) for name in _names_of_bytes(facts)}
    write_arrays(folder, arrays, facts)


def read_index(
    folder: Path,
    analyzer: Callable[[str], Sequence[str]] | None,
    kind: type[TextIndex] = TextIndex,
) -> tuple[TextIndex, Ranker | None]:
    """Map the arrays of an index of a class, and check them.

    Raises FileNotFoundError if the folder holds no index, and StructureError if another version of
    rankwise saved it, or a file is missing, damaged or does not fit the others; the message names
    the file.
    """
    if not has_index(folder):
        raise FileNotFoundError(f"{folder} has no index: {HEADER} is missing.")
    _check_age(folder)
    try:
        arrays, header = read_arrays(folder)
        facts = _check_facts(folder, header)
        texts, tokens, bounds, postings = _check_parts(folder, arrays, facts)
        ranker = _read_ranker(folder, arrays, facts)
    except StructureError as error:
        raise StructureError(f"{error}. Build the index anew.") from None
    index = kind(facts["fields"], analyzer=load_analyzer(facts, folder, analyzer))
    index._is_default = facts["is_default"]
    index.doc_ids = texts["doc_ids"]
    index.vocabulary = {term: number for number, term in enumerate(texts["terms"])}
    index._known = None
    index._tokens, index._bounds = tokens, bounds
    index.__dict__["postings"] = postings
    return index, ranker


def _check_age(folder: Path) -> None:
    """Raise StructureError if a version of rankwise saved an index that this one cannot read."""
    version, fix = "an old version", "Build the index anew"
    if (folder / HEADER).is_file():
        found = read_header(folder).get("format")
        if type(found) is not int or found == FORMAT:
            return
        if found > FORMAT:
            version, fix = "a newer version", "Upgrade rankwise, or build the index anew"
    raise StructureError(
        f"{folder} holds an index that {version} of rankwise saved, in another format. {fix}: "
        f"rankwise index DOCUMENTS --out {folder}, or TextIndex().add(documents).save(folder)."
    )


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


def _read_ranker(folder: Path, arrays: Arrays, facts: dict[str, Any]) -> Ranker | None:
    known = facts["ranker"]
    return None if known is None else (known, _read_bytes(folder, arrays, facts, "ranker"))


def _keep_ranker(folder: Path) -> Ranker | None:
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


def _check_parts(
    folder: Path, arrays: Arrays, facts: dict[str, Any]
) -> tuple[dict[str, list[str]], list[NDArray[np.int32]], list[Int64Array], Postings]:
    """Texts, terms of each field, boundaries of the documents in them, and postings."""
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
    return texts, tokens, bounds, postings


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
