"""Judged data: readers, writers, the catalog of known sets, lint; ratings, compounds, classes.

Public names are imported when first used; one line of the table below each.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.datasets.cache import clear_cache, verify_cache
    from rankwise.datasets.catalog import fetch, known_datasets
    from rankwise.datasets.cutting import cut_into_classes
    from rankwise.datasets.cystic_fibrosis import CysticFibrosis, load_cystic_fibrosis
    from rankwise.datasets.data import Fold, FoldedData, RankingData
    from rankwise.datasets.extreme_text import read_extreme
    from rankwise.datasets.judged_run import JudgedRun, judge
    from rankwise.datasets.lint_report import Finding, LintReport
    from rankwise.datasets.linter import lint
    from rankwise.datasets.loaders import (
        load_dataset,
        load_lambdarank,
        load_mq2008,
        load_ohsumed,
        load_td2003,
        load_td2004,
    )
    from rankwise.datasets.multi_label import MultiLabelData, load_mulan, read_mulan
    from rankwise.datasets.ordinal import OrdinalData, load_ordinal
    from rankwise.datasets.qsar import QsarData, load_qsar
    from rankwise.datasets.ratings import (
        Ratings,
        load_book_crossing,
        load_jester,
        load_movielens,
        ratings_from_triplets,
    )
    from rankwise.datasets.row_stream import RowStream, stream
    from rankwise.datasets.sidefiles import read_grouped, write_grouped
    from rankwise.datasets.sources import known_sources
    from rankwise.datasets.svmlight import read_letor
    from rankwise.datasets.synthetic import make_ordinal_square, ordinal_square_ranks
    from rankwise.datasets.table import from_frame, read_table
    from rankwise.datasets.trec import Qrels, Run, read_qrels, read_run, write_qrels, write_run
    from rankwise.datasets.write import write_letor
    from rankwise.datasets.yahoo_ltrc import load_yahoo_ltrc

_WHERE = {
    "CysticFibrosis": "cystic_fibrosis",
    "Finding": "lint_report",
    "Fold": "data",
    "FoldedData": "data",
    "JudgedRun": "judged_run",
    "LintReport": "lint_report",
    "MultiLabelData": "multi_label",
    "OrdinalData": "ordinal",
    "QsarData": "qsar",
    "Qrels": "trec",
    "RankingData": "data",
    "RowStream": "row_stream",
    "Ratings": "ratings",
    "Run": "trec",
    "clear_cache": "cache",
    "cut_into_classes": "cutting",
    "fetch": "catalog",
    "from_frame": "table",
    "judge": "judged_run",
    "known_datasets": "catalog",
    "known_sources": "sources",
    "lint": "linter",
    "load_book_crossing": "ratings",
    "load_cystic_fibrosis": "cystic_fibrosis",
    "load_dataset": "loaders",
    "load_jester": "ratings",
    "load_lambdarank": "loaders",
    "load_movielens": "ratings",
    "load_mq2008": "loaders",
    "load_mulan": "multi_label",
    "load_ohsumed": "loaders",
    "load_ordinal": "ordinal",
    "load_qsar": "qsar",
    "load_td2003": "loaders",
    "load_td2004": "loaders",
    "load_yahoo_ltrc": "yahoo_ltrc",
    "make_ordinal_square": "synthetic",
    "ordinal_square_ranks": "synthetic",
    "ratings_from_triplets": "ratings",
    "read_extreme": "extreme_text",
    "read_grouped": "sidefiles",
    "read_letor": "svmlight",
    "read_mulan": "multi_label",
    "read_qrels": "trec",
    "read_run": "trec",
    "read_table": "table",
    "stream": "row_stream",
    "verify_cache": "cache",
    "write_grouped": "sidefiles",
    "write_letor": "write",
    "write_qrels": "trec",
    "write_run": "trec",
}

__all__ = [
    "CysticFibrosis",
    "Finding",
    "Fold",
    "FoldedData",
    "JudgedRun",
    "LintReport",
    "MultiLabelData",
    "OrdinalData",
    "Qrels",
    "QsarData",
    "RankingData",
    "Ratings",
    "RowStream",
    "Run",
    "clear_cache",
    "cut_into_classes",
    "fetch",
    "from_frame",
    "judge",
    "known_datasets",
    "known_sources",
    "lint",
    "load_book_crossing",
    "load_cystic_fibrosis",
    "load_dataset",
    "load_jester",
    "load_lambdarank",
    "load_movielens",
    "load_mq2008",
    "load_mulan",
    "load_ohsumed",
    "load_ordinal",
    "load_qsar",
    "load_td2003",
    "load_td2004",
    "load_yahoo_ltrc",
    "make_ordinal_square",
    "ordinal_square_ranks",
    "ratings_from_triplets",
    "read_extreme",
    "read_grouped",
    "read_letor",
    "read_mulan",
    "read_qrels",
    "read_run",
    "read_table",
    "stream",
    "verify_cache",
    "write_grouped",
    "write_letor",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.datasets' has no attribute {name!r}")
    value = getattr(_import_module(f"rankwise.datasets.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
