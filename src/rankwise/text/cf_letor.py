"""CF-LETOR: a data set in the layout of LETOR, built from the cystic fibrosis collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, overload

import numpy as np

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.readers.trec import Run
from rankwise.features.query_scaling import QueryScaler
from rankwise.text.collections import load_text
from rankwise.text.query_document_features import QueryDocumentFeatures
from rankwise.text.text_index import TextIndex

N_PARTS = 5
VERSIONS = ("qln", "min")


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
    if version not in VERSIONS:
        raise ValueError(f"version must be 'qln' or 'min', got {version!r}.")
    if fold is not None and fold not in range(1, N_PARTS + 1):
        raise ValueError(f"fold must be a number from 1 to {N_PARTS} or None, got {fold!r}.")
    data = _rows(version)
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


def _rows(version: str) -> RankingData:
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
