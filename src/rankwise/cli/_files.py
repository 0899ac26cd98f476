"""Read the files named on the command line: LETOR text, CSV, Parquet, text with side files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import glob
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions
from rankwise.cli._errors import JobError, UsageError

if TYPE_CHECKING:
    from rankwise.datasets import RankingData, RowSummary

PACKED = (".gz", ".bz2", ".xz", ".zst")
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


class LetorLayout(NamedTuple):
    """Columns of the LETOR text that models were fitted on: their number, the index of the first.

    None: as the rows have them.
    """

    n_features: int | None = None
    first_index: int | None = None


ANY_LAYOUT = LetorLayout()


def read_files(
    paths: Sequence[str],
    n_features: int | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    names: Sequence[str] | None = None,
    first_index: int | None = None,
) -> RankingData:
    """Read files of one format as one table; paths may be glob patterns and folders of tables.

    A text file with a side file of group sizes gets its queries from the side file.

    ``n_features`` is the number of features of LETOR text, which omits features that are zero;
    ``first_index`` (0 or 1) the index of its first column, by default 0 if it occurs. ``names`` are
    features that tables must have.
    """
    try:
        return _read_files(paths, n_features, columns, names, first_index)
    except ValueError:
        refuse_results(paths)
        raise


def _read_files(
    paths: Sequence[str],
    n_features: int | None,
    columns: ColumnOptions,
    names: Sequence[str] | None,
    first_index: int | None,
) -> RankingData:
    from rankwise.datasets import read_grouped, read_letor, read_table

    layout: dict[str, Any] = {"n_features": n_features, "zero_based": counts_from_0(first_index)}
    grouped = have_sizes(paths)
    if are_tables(paths, columns) and not (grouped and are_numbers(paths)):
        features: dict[str, Any] = {} if names is None else {"features": list(names)}
        words = table_words(paths, columns) | features
        table = read_table(list(paths), **words)
        if not table.n_samples:
            raise JobError(f"{data_name(paths)} has a header, but no rows.")
        return replace(table, name=data_name(paths))
    if grouped:
        if columns.options:
            raise UsageError(
                f"the columns of {paths[0]} have no names, and its queries are in a side file. "
                f"Drop {columns.options}."
            )
        files = expand_patterns(paths)
        if len(files) > 1:
            raise UsageError(
                f"a file with group sizes in a side file must be the only one, got {len(files)} "
                "files in DATA. Convert each of them to LETOR text first."
            )
        return _mark(read_grouped(files[0], **layout), columns)
    return _mark(read_letor(list(paths), **layout), columns)


def counts_from_0(first_index: int | None) -> bool | Literal["auto"]:
    """Whether the columns of LETOR text count from 0, for readers; "auto" if it is not known."""
    return "auto" if first_index is None else first_index == 0


def first_index_of(table: RankingData, paths: Sequence[str]) -> int | None:
    """Index of the first column if ``paths`` are LETOR text, in which all rows had it."""
    named = table.feature_names is not None
    return None if named or are_numbers(paths) else table.first_feature


def _mark(data: RankingData, columns: ColumnOptions) -> RankingData:
    """Mark the unjudged rows of a file that has a label in every line."""
    if columns.unjudged == "missing":
        raise UsageError(
            f"--unjudged missing is for tables with empty cells, but every line of {data.name} has "
            "a label. Name that of unjudged rows, such as --unjudged -1."
        )
    return data if columns.unjudged is None else data.mark_unjudged(columns.unjudged)  # type: ignore[arg-type]


def read_row_summary(path: Path) -> RowSummary | None:
    """Summary of the rows that a saved model was fitted on, if its file has one."""
    from rankwise.datasets import RowSummary
    from rankwise.persistence import describe

    rows = describe(path).get("rows")
    try:
        return None if rows is None else RowSummary.from_dict(rows)
    except ValueError as error:
        raise JobError(
            f"{path}: the summary of its training rows is damaged ({error}) Save the model again."
        ) from None


def first_index_of_model(path: Path) -> int | None:
    """Index of the first column of the LETOR text that a saved model was fitted on, if known."""
    summary = read_row_summary(path)
    return None if summary is None else summary.first_index


def text_columns_of(model: Any) -> dict[str, Any]:
    """Columns of text that a fitted model knows by their names, and their categories."""
    from rankwise.prediction import innermost

    encoder = innermost(model)
    table = getattr(encoder, "columns_", None)
    # A step of a pipeline may see other columns than the pipeline, in another order.
    names = getattr(encoder, "feature_names_in_", None)
    if table is None or names is None:
        return {}
    read = set(map(str, getattr(model, "feature_names_in_", ())))
    return {
        str(names[j]): values
        for j, values in {**table.nominal, **table.ordered}.items()
        if str(names[j]) in read and any(isinstance(value, str) for value in values.tolist())
    }


def have_sizes(paths: Sequence[str]) -> bool:
    """Whether a file has a side file of group sizes."""
    from rankwise.datasets.readers.side_names import SIZES, side_file

    return any(side_file(Path(path), SIZES) for path in expand_patterns(paths))


def are_numbers(paths: Sequence[str]) -> bool:
    """Whether the first file is a table of numbers without a header, the label first."""
    from rankwise.datasets.readers.side_names import number_separator
    from rankwise.datasets.readers.textfiles import find_line_start, open_text

    path = expand_patterns(paths)[0]
    if not isfile(path):
        return False
    text = open_text(Path(path))
    return (
        number_separator(text.read(text.start, find_line_start(text, text.start + 1))) is not None
    )


def refuse_results(paths: Sequence[str]) -> None:
    """Raise UsageError if a file holds judgements or a run, and no column of anything else."""
    from rankwise.datasets import read_qrels, read_run
    from rankwise.datasets.column_names import (
        ALL_DOCUMENT_NAMES,
        ALL_QUERY_NAMES,
        GRADE_NAMES,
    )
    from rankwise.datasets.readers.file_formats import FormatName, file_format
    from rankwise.datasets.readers.side_names import SIZES, side_file

    names = {*ALL_QUERY_NAMES, *ALL_DOCUMENT_NAMES, *GRADE_NAMES, "iteration", "rank", "tag"}
    judgements = (
        "They have no features to learn from. Name judged rows with features, such as LETOR text, "
        "or use them in 'rankwise evaluate RUN QRELS' and 'rankwise fit INDEX --text ... --qrels "
        "QRELS'."
    )
    run = (
        "It has no labels and no features. Name judged rows with features, or use it in 'rankwise "
        "evaluate RUN QRELS' and 'rankwise compare DATA --rankers RUN'."
    )
    for path in filter(isfile, expand_patterns(paths)):
        for read, what, fix in ((read_qrels, "judgements", judgements), (read_run, "a run", run)):
            try:
                found = file_format(path)
                if (
                    found.kind in (FormatName.letor, FormatName.parquet)
                    or side_file(Path(path), SIZES)
                    or not names.issuperset(name.lower() for name in found.columns)
                ):
                    break  # not results, or with columns besides
                results = read(path)
            except (ValueError, OSError):
                continue
            columns = {name.lower() for name in found.columns}
            grades = getattr(results, "relevance", None)
            if grades is not None and grades.dtype.kind == "f" and "score" in columns:
                continue  # scores with fractions are those of a run
            raise UsageError(f"{path} holds {what}, not judged rows. {fix}")


def table_words(paths: Sequence[str], columns: ColumnOptions) -> dict[str, Any]:
    """Arguments of ``read_table``; tables with unknown suffixes get the separator of the header."""
    from rankwise.datasets.readers.file_formats import file_format
    from rankwise.datasets.readers.tables import TABLES, suffix_of

    words = columns.words
    first = Path(expand_patterns(paths)[0])
    if "sep" not in words and first.is_file() and suffix_of(first) not in TABLES:
        words["sep"] = file_format(first).separator or " "
    return words


def are_tables(paths: Sequence[str], columns: ColumnOptions) -> bool:
    """Whether paths name tables rather than LETOR text.

    A mix of both, a missing path or table, and options that name columns of LETOR text are usage
    errors.
    """
    for path in paths:
        if not exists(path):
            raise UsageError(f"{path!r} is not a file. Check the path.")
    kinds = {is_table(path, columns) for path in paths}
    if len(kinds) > 1:
        raise UsageError("DATA mixes LETOR text with CSV or Parquet files. Convert one of them.")
    for path in paths:
        if Path(path).is_dir() and not holds_tables(path):
            raise UsageError(
                f"{path} is a folder that contains neither Fold1, Fold2, … nor CSV or Parquet "
                f"files. Name the files in it, such as '{path}/*.txt'."
            )
    if not kinds.pop():
        if columns.options:
            raise UsageError(
                f"{paths[0]} is LETOR text, whose columns have no names. Drop {columns.options}, "
                "or add --sep if it is a table."
            )
        return False
    return True


def same_width(
    paths: Sequence[Sequence[str]],
    columns: ColumnOptions = NO_COLUMNS,
    layout: LetorLayout = ANY_LAYOUT,
) -> list[RankingData]:
    """Read tables with the same features: by name, those of the first table.

    LETOR text omits features that are zero: its widest part, or the layout, sets the number of
    features, and index 0 in one part is the first column of all.
    """
    first = read_files(paths[0], None, columns, None, layout.first_index)
    names = first.feature_names
    columns = columns.with_categories_of(first)
    rest = (read_files(files, None, columns, names, layout.first_index) for files in paths[1:])
    tables = [first, *rest]
    if names is not None:
        return tables
    base = min(table.first_feature for table in tables)
    widths = (table.n_features + table.first_feature - base for table in tables)
    widest = max(layout.n_features or 0, *widths)
    return [
        table
        if (table.n_features, table.first_feature) == (widest, base)
        else read_files(files, widest, columns, first_index=base)
        for table, files in zip(tables, paths, strict=True)
    ]


def is_table(path: str, columns: ColumnOptions = NO_COLUMNS) -> bool:
    """Whether a path names tables: a folder, --sep, a header line, or else the suffix."""
    from rankwise.datasets.readers.file_formats import FormatName, file_format

    if columns.sep is not None or Path(path).is_dir():
        return True
    name = path if Path(path).exists() else next(iter(sorted(glob(path))), path)
    if Path(name).is_file():
        kind = file_format(name).kind
        # Columns that the user names need no usual names, by which a table is told.
        if kind is not FormatName.letor or not columns.options:
            known = {FormatName.letor: False, FormatName.table: True, FormatName.parquet: True}
            if kind in known:
                return known[kind]
    return unpack_archives(name.lower()).endswith(_TABLES)


def unpack_archives(name: str) -> str:
    """Name of a file without the suffix of a compression."""
    return next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)


def holds_tables(folder: str) -> bool:
    """Whether a folder or one of its subfolders contains tables."""
    from rankwise.datasets.readers.tables import tables_below

    try:
        return bool(tables_below(Path(folder)))
    except FileNotFoundError:
        return False


def expand_patterns(paths: Sequence[str]) -> list[str]:
    """Replace each glob pattern by its matching files, sorted."""
    return [
        match
        for path in paths
        for match in ([path] if Path(path).exists() else sorted(glob(path)) or [path])
    ]


def exists(path: str) -> bool:
    """Whether a path names a file or folder, or is a pattern."""
    return Path(path).exists() or any(letter in path for letter in "*?[")


def data_name(data: Sequence[str]) -> str:
    """A short name of DATA for titles."""
    first = Path(data[0])
    name = first.name if first.exists() else data[0]
    return name if len(data) == 1 else f"{name} and {len(data) - 1} more"
