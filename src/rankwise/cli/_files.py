"""Read the files named on the command line, and name the lines of bad rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from glob import glob
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankwise.checks.exact_values import RowError
from rankwise.cli._console import JobError, UsageError
from rankwise.cli._options import NO_COLUMNS, ColumnOptions
from rankwise.runtime.files import COMPRESSIONS

if TYPE_CHECKING:
    from rankwise.datasets import RankingData, RowSummary


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
    from rankwise.datasets.readers.delimited import SIZES, side_file

    return any(side_file(Path(path), SIZES) for path in expand_patterns(paths))


def are_numbers(paths: Sequence[str]) -> bool:
    """Whether the first file is a table of numbers without a header, the label first."""
    from rankwise.datasets.readers.delimited import number_separator
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
    from rankwise.datasets.readers.delimited import SIZES, side_file
    from rankwise.datasets.readers.file_formats import FormatName, file_format
    from rankwise.datasets.table_columns import ALL_DOCUMENT_NAMES, ALL_QUERY_NAMES, GRADE_NAMES

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
                    found.kind in (FormatName.letor, FormatName.stored)
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
    from rankwise.datasets.readers.file_formats import TABLES, file_format
    from rankwise.datasets.readers.tables import suffix_of

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
    from rankwise.datasets.readers.file_formats import TABLES, FormatName, file_format
    from rankwise.datasets.readers.tables import suffix_of

    if columns.sep is not None or Path(path).is_dir():
        return True
    name = path if Path(path).exists() else next(iter(sorted(glob(path))), path)
    if Path(name).is_file():
        kind = file_format(name).kind
        # Columns that the user names need no usual names, by which a table is told.
        if kind is not FormatName.letor or not columns.options:
            known = {FormatName.letor: False, FormatName.table: True, FormatName.stored: True}
            if kind in known:
                return known[kind]
    return suffix_of(Path(name)) in TABLES


def unpack_archives(name: str) -> str:
    """Name of a file without the suffix of a compression."""
    return next((name.removesuffix(end) for end in COMPRESSIONS if name.endswith(end)), name)


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


@contextmanager
def name_lines(
    data: Sequence[str],
    columns: ColumnOptions,
) -> Iterator[None]:
    """Make errors about rows of DATA inside the block name the file and the line."""
    try:
        yield
    except RowError as error:
        place = place_of_row(data, columns, error.row)
        if place is None:
            raise
        raise JobError(f"{place}: {error.without_row()}") from None


def place_of_row(data: Sequence[str], columns: ColumnOptions, row: int) -> str | None:
    """File and line of a row of DATA, from 0; None for data sets and files with side files."""
    if not all(map(exists, data)) or have_sizes(data):
        return None
    if not are_tables(data, columns):
        return _letor_line(expand_patterns(data), row)
    from rankwise.datasets.readers.tables import is_stored, table_files

    paths = table_files(list(data), other=True)
    find = _stored_row if is_stored(paths[0]) else _table_line
    return find(paths, table_words(data, columns).get("sep"), row)


# Files, their table, and whether they are validation data.
Part = tuple[Sequence[str], "RankingData", bool]
_BAD_VALUE = re.compile(
    r"(?:RowError: )?(Input (X|X_val) contains (NaN|infinity)) at row \d+"
    r"(, column (\d+)(?: \('([^']*)'\))?)?"
)


@contextmanager
def name_bad_values(parts: Sequence[Part], columns: ColumnOptions) -> Iterator[None]:
    """Make errors inside the block about values that are not finite name the file and the line."""
    try:
        yield
    except ValueError as error:
        named = place_bad_value(str(error), parts, columns)
        if named == str(error):
            raise
        raise JobError(named) from None


def place_bad_value(message: str, parts: Sequence[Part], columns: ColumnOptions) -> str:
    """A message about a value that is not finite, with file and line in place of the row.

    Fits and scores of parts of the rows count other rows, so the value is searched for.
    """
    found = _BAD_VALUE.search(message)
    if found is None:
        return message
    problem, what, kind, column, number, name = found.groups()
    for data, table, _ in sorted(parts, key=lambda part: part[2] != (what == "X_val")):
        places = _columns_of(table, None if number is None else int(number), name)
        row = _first_bad_row(table.X, kind, places)
        place = None if row is None else place_of_row(data, columns, row)
        if place is not None:
            before, after = message[: found.start()], message[found.end() :]
            return f"{before}{place}: {problem}{column or ''}{after}"
    return message


def parts_of(
    data: Sequence[str],
    loaded: Any,
    columns: ColumnOptions,
    vali: str | None = None,
    test: str | None = None,
) -> list[Part]:
    """Files and rows of what :func:`rankwise.cli._data.load_folds` loaded; none of data sets."""
    if hasattr(loaded, "X"):
        return [(data, loaded, False)]
    if test is not None:
        parts: list[Part] = [(data, loaded.train, False), ([test], loaded.test, False)]
        return parts if vali is None else [*parts, ([vali], loaded.vali, True)]
    files = expand_patterns(data)
    if all(Path(file).is_file() for file in files):  # cut into folds as LETOR does
        return [(files, read_files(files, columns=columns), False)]
    return []


def _columns_of(table: RankingData, number: int | None, name: str | None) -> list[int] | None:
    """Columns that may hold a bad value; None: all.

    Rankers of numbers count columns without those of text, so a name tells more than a number.
    Codes of categories are NaN if they are missing, which no ranker refuses.
    """
    names = table.feature_names or []
    if name in names:
        return [names.index(name)]
    if table.categories:
        return [j for j in range(table.n_features) if j not in table.categories]
    return None if number is None else [number]


def _first_bad_row(X: Any, kind: str, columns: list[int] | None) -> int | None:
    """First row of X with a value of this kind, in some columns or any."""
    import numpy as np

    is_bad = np.isnan if kind == "NaN" else np.isinf
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        chosen = is_bad(entries.data)
        if columns is not None:
            chosen &= np.isin(entries.col, columns)
        rows = entries.row[chosen]
    else:
        rows = is_bad(X if columns is None else X[:, columns]).nonzero()[0]
    return int(rows.min()) if len(rows) else None


def _letor_line(paths: Sequence[str], row: int) -> str | None:
    from rankwise.datasets.readers.letor_parse import find_line
    from rankwise.datasets.readers.textfiles import open_text

    for path in paths:
        line, n_rows = find_line(open_text(Path(path)), row)
        if line is not None:
            return f"{path}, line {line}"
        row -= n_rows
    return None


def _table_line(paths: Sequence[Path], sep: str | None, row: int) -> str | None:
    import pyarrow as pa

    from rankwise.datasets.readers.delimited import DelimitedFile
    from rankwise.datasets.readers.tables import delimiter_of
    from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES

    for path in paths:
        file = DelimitedFile.of(path, delimiter_of(path, sep), MAX_DECOMPRESSED_BYTES)
        line = file.line_of(row)
        if line is not None:
            return f"{path}, line {line}"
        name = next(filter(None, file.header))
        row -= file.table({name: pa.string()}).num_rows
    return None


def _stored_row(paths: Sequence[Path], _: str | None, row: int) -> str | None:
    from rankwise.datasets.readers.tables import open_stored

    for path in paths:
        n_rows = open_stored(path).num_rows
        if row < n_rows:
            return f"{path}, row {row}"
        row -= n_rows
    return None


class ScoreFormat(StrEnum):
    """Output format of scores."""

    scores = "scores"
    trec = "trec"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    jsonl = "jsonl"


_SUFFIXES = {
    ".run": ScoreFormat.trec,
    ".trec": ScoreFormat.trec,
    ".csv": ScoreFormat.csv,
    ".tsv": ScoreFormat.tsv,
    ".parquet": ScoreFormat.parquet,
    ".pq": ScoreFormat.parquet,
    ".jsonl": ScoreFormat.jsonl,
    ".ndjson": ScoreFormat.jsonl,
}


def format_of(out: Path | None) -> ScoreFormat:
    """Format implied by the suffix of a file; one score per line by default."""
    name = "" if out is None else unpack_archives(out.name.lower())
    return _SUFFIXES.get(Path(name).suffix, ScoreFormat.scores)
