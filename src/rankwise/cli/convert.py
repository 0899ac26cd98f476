"""``rankwise convert``: convert judged data between file formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._data import load_table
from rankwise.cli._errors import JobError, UsageError
from rankwise.cli._files import unpack_archives
from rankwise.cli._lines import name_lines
from rankwise.cli._options import MISSING_FOLDERS, Data, Json
from rankwise.cli._output import check_target, make_folder, print_json
from rankwise.cli._progress import waiting

if TYPE_CHECKING:
    from rankwise.datasets import RankingData


class Kind(StrEnum):
    """Output format of judged data."""

    letor = "letor"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    qrels = "qrels"
    lightgbm = "lightgbm"
    xgboost = "xgboost"


_SUFFIXES = {
    ".txt": Kind.letor,
    ".letor": Kind.letor,
    ".svm": Kind.letor,
    ".svmlight": Kind.letor,
    ".csv": Kind.csv,
    ".tsv": Kind.tsv,
    ".parquet": Kind.parquet,
    ".pq": Kind.parquet,
    ".qrels": Kind.qrels,
}


@reads_tables
def convert(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write; .gz, .bz2, .xz and .zst compress LETOR text and CSV. "
            f"{MISSING_FOLDERS}",
        ),
    ],
    to: Annotated[
        Kind | None, typer.Option(help="Output format (default: by the suffix of --out).")
    ] = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Convert judged data to LETOR/SVMlight text, CSV, TSV, Parquet or TREC qrels.

    Tables have the columns qid, label, doc_id and sample_weight (if known), and the features.
    Values stay bit-identical. Comments of LETOR text are kept only in LETOR text. With --to
    lightgbm or xgboost, group sizes and weights are written to files beside --out. Such files
    beside DATA are read.
    """
    kind = to or _kind_of(out)
    check_target(out, "--out")
    table = load_table(data, columns=columns)
    make_folder(out)
    with waiting("Writing"), name_lines(data, columns):
        if kind is Kind.letor:
            from rankwise.datasets import write_letor

            write_letor(table, out)
        elif kind in (Kind.lightgbm, Kind.xgboost):
            from rankwise.datasets import write_grouped

            write_grouped(table, out, "lightgbm" if kind is Kind.lightgbm else "xgboost")
        elif kind is Kind.qrels:
            from rankwise.datasets import Qrels, write_qrels

            write_qrels(Qrels.from_data(table), out)
        else:
            _write_table(table, out, kind)
    if json:
        print_json(
            {
                "data": table.name,
                "rows": table.n_samples,
                "queries": table.n_queries,
                "features": table.n_features,
                "format": kind.value,
                "out": str(out),
            }
        )


def _kind_of(out: Path) -> Kind:
    name = unpack_archives(out.name.lower())
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise UsageError(f"{out.name!r} implies no format. Add --to {'|'.join(Kind)}.")


def _write_table(data: RankingData, out: Path, kind: Kind) -> None:
    import numpy as np
    import pyarrow as pa

    from rankwise.runtime.output import open_to_write

    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    names = data.feature_names or [f"f{number}" for number in range(1, data.n_features + 1)]
    columns = {"qid": data.qid, "label": data.y}
    if data.doc_ids is not None:
        missing = np.flatnonzero(data.doc_ids == "")
        if len(missing):
            raise JobError(
                f"{len(missing)} of {data.n_samples} rows have no document id, the first of them "
                f"is row {missing[0]}, and a table with an empty id could not be read again. Add "
                "the ids, remove those of the other rows, or write LETOR text: --to letor."
            )
        columns["doc_id"] = data.doc_ids
    if data.sample_weight is not None:
        columns["sample_weight"] = data.sample_weight
    taken = sorted(columns.keys() & set(names))
    if taken:
        raise JobError(
            f"features must not be named like other columns of the table, got {', '.join(taken)}. "
            "Rename them."
        )
    columns |= {name: np.ascontiguousarray(X[:, i]) for i, name in enumerate(names)}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    if kind is Kind.parquet:
        from pyarrow import parquet

        with open_to_write(out) as stream:
            parquet.write_table(table, stream)
        return
    from pyarrow import csv

    with open_to_write(out) as stream:
        csv.write_csv(table, stream, csv.WriteOptions(delimiter="\t" if kind is Kind.tsv else ","))
