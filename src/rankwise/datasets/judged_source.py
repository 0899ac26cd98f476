"""Judged data by the names of their files, folders or sets, in Python as on the command line.

``columns`` are arguments of :func:`rankwise.datasets.read_table` that assign columns of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import glob
from os.path import isfile
from pathlib import Path
from typing import Any

from rankwise.datasets.catalog.entries import known_datasets
from rankwise.datasets.catalog.loaders import load_dataset
from rankwise.datasets.data import Fold, FoldedData, RankingData, leave_out
from rankwise.datasets.readers.delimited import SIZES, DelimitedFile, number_separator, side_file
from rankwise.datasets.readers.file_formats import DELIMITERS, TABLES, FormatName, file_format
from rankwise.datasets.readers.letor import read_grouped, read_letor
from rankwise.datasets.readers.letor_parse import find_line
from rankwise.datasets.readers.results import read_qrels, read_run
from rankwise.datasets.readers.tables import (
    delimiter_of,
    is_stored,
    open_stored,
    read_table,
    suffix_of,
    table_files,
    tables_below,
)
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    PathLike,
    find_line_start,
    open_text,
)
from rankwise.datasets.table_columns import ALL_DOCUMENT_NAMES, ALL_QUERY_NAMES, GRADE_NAMES
from rankwise.runtime.arrow import pa
from rankwise.runtime.files import COMPRESSIONS
from rankwise.runtime.messages import SourceError, did_you_mean, setting

# Settings of columns by name; LETOR text has none of these.
NAMED = ("label", "qid", "features", "doc_id", "sample_weight", "sep")
_PARTS = ("all", "train", "vali", "test")
_JUDGEMENTS = (
    "They have no features to learn from. Name judged rows with features, such as LETOR text, or "
    "use them in 'rankwise evaluate RUN QRELS' and 'rankwise fit INDEX --text ... --qrels QRELS'."
)
_RUN = (
    "It has no labels and no features. Name judged rows with features, or use it in 'rankwise "
    "evaluate RUN QRELS' and 'rankwise compare DATA --rankers RUN'."
)


def open_judged(
    paths: PathLike | Sequence[PathLike], *, columns: Mapping[str, Any] | None = None
) -> RankingData | Fold | FoldedData:
    """Open judged data by name, as the commands of ``rankwise`` open DATA.

    Parameters
    ----------
    paths : path, glob pattern, folder, name of a data set, or list of paths
        - LETOR/SVMlight text, CSV, TSV or Parquet files, or patterns of them, which form one
          table. The format is recognised by the first lines. The queries of text with a side file
          of group sizes are those of the side file, see :func:`read_grouped`.
        - A folder of tables, searched through; or a folder with Fold1, Fold2, …, each with a
          train, vali and test file.
        - A name of :func:`known_datasets`, or NAME:FOLD or NAME:FOLD:PART, where PART is all,
          train, vali or test.
    columns : mapping, optional
        Arguments of :func:`read_table` for the columns of tables, such as
        ``{"label": "grade", "unjudged": -1}``. In LETOR text and in tables of numbers without a
        header, "unjudged" marks rows, and "ignore" names columns by their number in the file, as
        text.

    Returns
    -------
    RankingData, Fold or FoldedData
        A table, the fold of a data set, or the folds of a data set or a folder.

    Raises
    ------
    FileNotFoundError
        If the files of a known data set are not on this machine.
    ValueError
        If ``paths`` name neither a file nor a data set, mix formats, hold judgements or a run
        without features, or do not fit ``columns``; or if a reader finds an error. The message
        names the file.

    See Also
    --------
    read_table, read_letor, read_grouped : Read files of one format.
    load_dataset : Load a known data set.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import open_judged
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "clicks.csv")
    ...     _ = path.write_text("qid,grade,price\\n1,2,0.5\\n1,0,0.9\\n")
    ...     open_judged(path).y.tolist()
    [2.0, 0.0]
    """
    names = [paths] if not isinstance(paths, list | tuple) else paths
    given = [str(name) for name in names]
    words = dict(columns or {})
    return ignore_columns(load_source(given, words), words, given)


def load_source(
    paths: Sequence[str],
    columns: Mapping[str, Any],
    n_features: int | None = None,
    names: Sequence[str] | None = None,
    first_index: int | None = None,
) -> Any:
    """Load the table, the fold or the folds that paths name, see :func:`read_files`."""
    if len(paths) == 1 and not exists(paths[0]):
        if named := _named(columns):
            raise SourceError(
                f"{paths[0]!r} is not a file, and {named} apply only to tables in files. "
                "Check the path, or drop the options."
            )
        if columns.get("unjudged") is not None:
            unjudged = setting("unjudged", True).removesuffix("=True")
            raise SourceError(
                f"{paths[0]!r} is not a file. {unjudged} marks rows of files: drop it."
            )
        return _load_known(paths[0])
    if len(paths) == 1 and Path(paths[0]).is_dir():
        folder = Path(paths[0])
        if folds := fold_folders(folder):

            def make(index: int) -> Fold:
                train, vali, test = (
                    [str(_part_file(folds[index], what))] for what in ("train", "vali", "test")
                )
                parts = same_width([train, test, vali], columns, n_features, first_index)
                return Fold(parts[0], parts[2], parts[1], folds[index].name.lower())

            return FoldedData(folder.name, tuple(fold.name.lower() for fold in folds), make)
    return read_files(paths, columns, n_features, names, first_index)


def _load_known(text: str) -> RankingData | Fold | FoldedData:
    name, *rest = text.split(":")
    known = list(known_datasets())
    if name not in known:
        hint = did_you_mean(name, known, f"Data sets: {', '.join(known)}.")
        raise SourceError(f"{text!r} is neither a file nor a data set. {hint}")
    fold = int(rest.pop(0)) if rest and rest[0].isdigit() else None
    part = rest.pop(0) if rest else None
    if rest or (part is not None and part not in _PARTS):
        raise SourceError(
            "a data set must be NAME, NAME:FOLD or NAME:FOLD:PART, with PART one of "
            f"{', '.join(_PARTS)}; got {text!r}."
        )
    try:
        if fold is None:
            return load_dataset(name, part=part) if part else load_dataset(name)  # type: ignore[call-overload]
        loaded = load_dataset(name, fold)
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(str(error)) from error
    table = loaded if part is None else getattr(loaded, part, None)
    if table is None:
        raise SourceError(f"fold {fold} of {name} has no part {part!r}.")
    return table


def fold_folders(folder: Path) -> list[Path]:
    """Fold1, Fold2, … in a folder, in numeric order."""
    return sorted(
        (
            child
            for child in folder.iterdir()
            if child.is_dir() and child.name[:4].lower() == "fold" and child.name[4:].isdigit()
        ),
        key=lambda child: int(child.name[4:]),
    )


def _part_file(folder: Path, what: str) -> Path:
    for suffix in (".txt", *DELIMITERS, *(s for s in TABLES if s not in DELIMITERS)):
        for stem in (what, f"{what}set"):
            for packed in ("", *COMPRESSIONS):
                path = folder / f"{stem}{suffix}{packed}"
                if path.exists():
                    return path
    raise SourceError(f"{folder} has no {what}.txt (nor .csv, .tsv or .parquet).")


def read_files(
    paths: Sequence[str],
    columns: Mapping[str, Any] = {},
    n_features: int | None = None,
    names: Sequence[str] | None = None,
    first_index: int | None = None,
) -> RankingData:
    """Read files of one format as one table; paths may be patterns and folders of tables.

    ``n_features`` is the number of features of LETOR text, which omits features that are zero;
    ``first_index`` (0 or 1) the index of its first column, by default 0 if it occurs. ``names`` are
    features that tables must have.
    """
    try:
        grouped = have_sizes(paths)
        if are_tables(paths, columns) and not (grouped and are_numbers(paths)):
            words = table_words(paths, columns)
            if names is not None:
                words["features"] = list(names)
            table = read_table(list(paths), **words)
            if not table.n_samples:
                raise ValueError(f"{source_name(paths)} has a header, but no rows.")
            return replace(table, name=source_name(paths))
        if grouped and (named := _named(columns)):
            raise SourceError(
                f"the columns of {paths[0]} have no names, and its queries are in a side file. "
                f"Drop {named}."
            )
        files = expand_patterns(paths)
        if grouped and len(files) > 1:
            raise SourceError(
                "a file with group sizes in a side file must be the only one, got "
                f"{len(files)} files. Convert each of them to LETOR text first."
            )
        zero_based: Any = "auto" if first_index is None else first_index == 0
        if grouped:
            data = read_grouped(files[0], n_features=n_features, zero_based=zero_based)
        else:
            data = read_letor(list(paths), n_features=n_features, zero_based=zero_based)
    except SourceError:
        raise
    except ValueError:
        refuse_results(paths)
        raise
    unjudged = columns.get("unjudged")
    if unjudged == "missing":
        raise SourceError(
            f"{setting('unjudged', unjudged)} is for tables with empty cells, but every line of "
            f"{data.name} has a label. Name that of unjudged rows, such as "
            f"{setting('unjudged', -1)}."
        )
    return data if unjudged is None else data.mark_unjudged(unjudged)


def same_width(
    paths: Sequence[Sequence[str]],
    columns: Mapping[str, Any] = {},
    n_features: int | None = None,
    first_index: int | None = None,
) -> list[RankingData]:
    """Read tables with the same features: by name, those of the first table.

    LETOR text omits features that are zero: its widest part, or ``n_features``, sets the number of
    features, and index 0 in one part is the first column of all.
    """
    first = read_files(paths[0], columns, first_index=first_index)
    names = first.feature_names
    if names is not None:
        columns = keep_categories(columns, first)
    rest = (read_files(files, columns, None, names, first_index) for files in paths[1:])
    tables = [first, *rest]
    if names is not None:
        return tables
    base = min(table.first_feature for table in tables)
    widths = (table.n_features + table.first_feature - base for table in tables)
    widest = max(n_features or 0, *widths)
    return [
        table
        if (table.n_features, table.first_feature) == (widest, base)
        else read_files(files, columns, widest, first_index=base)
        for table, files in zip(tables, paths, strict=True)
    ]


def keep_categories(columns: Mapping[str, Any], table: RankingData) -> dict[str, Any]:
    """Columns by which the categories of a table that was read are read again."""
    names = table.feature_names or []
    return {**columns, "categories": tuple(names[j] for j in table.categories or {})}


def ignore_columns(loaded: Any, columns: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """Loaded data without the columns to ignore, which tables were read without.

    In LETOR text, they are named by their numbers in the file, from 0 or 1.
    """
    names = columns.get("ignore")
    if not names:
        return loaded
    first = loaded if isinstance(loaded, RankingData | Fold) else loaded[0]
    table = first if isinstance(first, RankingData) else first.train
    if first_index_of(table, paths) == 0:
        beyond = [n for n in names if not n.isdecimal() or int(n) >= table.n_features]
        if beyond:
            raise SourceError(
                f"{setting('ignore', [beyond[0]])} must name columns of {paths[0]}, which are 0 to "
                f"{table.n_features - 1}."
            )
        names = [str(int(name) + 1) for name in names]
    return leave_out(loaded, names)


def first_index_of(table: RankingData, paths: Sequence[str]) -> int | None:
    """Index of the first column if ``paths`` are LETOR text, in which all rows had it."""
    named = table.feature_names is not None
    return None if named or are_numbers(paths) else table.first_feature


def have_sizes(paths: Sequence[str]) -> bool:
    """Whether a file has a side file of group sizes."""
    return any(side_file(Path(path), SIZES) for path in expand_patterns(paths))


def are_numbers(paths: Sequence[str]) -> bool:
    """Whether the first file is a table of numbers without a header, the label first."""
    path = expand_patterns(paths)[0]
    if not isfile(path):
        return False
    text = open_text(Path(path))
    line = text.read(text.start, find_line_start(text, text.start + 1))
    return number_separator(line) is not None


def refuse_results(paths: Sequence[str]) -> None:
    """Raise SourceError if a file holds judgements or a run, and no column of anything else."""
    names = {*ALL_QUERY_NAMES, *ALL_DOCUMENT_NAMES, *GRADE_NAMES, "iteration", "rank", "tag"}
    for path in filter(isfile, expand_patterns(paths)):
        for read, what, fix in (
            (read_qrels, "judgements", _JUDGEMENTS),
            (read_run, "a run", _RUN),
        ):
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
            raise SourceError(f"{path} holds {what}, not judged rows. {fix}")


def table_words(paths: Sequence[str], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of ``read_table``; tables with unknown suffixes get the separator of the header."""
    words = dict(columns)
    first = Path(expand_patterns(paths)[0])
    if "sep" not in words and first.is_file() and suffix_of(first) not in TABLES:
        words["sep"] = file_format(first).separator or " "
    return words


def are_tables(paths: Sequence[str], columns: Mapping[str, Any]) -> bool:
    """Whether paths name tables rather than LETOR text.

    A mix of both, a missing path or table, and columns of LETOR text by name raise SourceError.
    """
    for path in paths:
        if not exists(path):
            raise SourceError(f"{path!r} is not a file. Check the path.")
    kinds = {is_table(path, columns) for path in paths}
    if len(kinds) > 1:
        raise SourceError(
            f"{source_name(paths)} mixes LETOR text with CSV or Parquet files. Convert one of them."
        )
    for path in paths:
        try:
            if Path(path).is_dir():
                tables_below(Path(path))
        except FileNotFoundError:
            raise SourceError(
                f"{path} is a folder that contains neither Fold1, Fold2, … nor CSV or Parquet "
                f"files. Name the files in it, such as '{path}/*.txt'."
            ) from None
    if not kinds.pop():
        if named := _named(columns):
            raise SourceError(
                f"{paths[0]} is LETOR text, whose columns have no names. Drop {named}, "
                f"or add {setting('sep', True).removesuffix('=True')} if it is a table."
            )
        return False
    return True


def is_table(path: str, columns: Mapping[str, Any] = {}) -> bool:
    """Whether a path names tables: a folder, a separator, a header line, or else the suffix."""
    if columns.get("sep") is not None or Path(path).is_dir():
        return True
    name = path if Path(path).exists() else next(iter(sorted(glob(path))), path)
    if Path(name).is_file():
        kind = file_format(name).kind
        # Columns that the user names need no usual names, by which a table is told.
        if kind is not FormatName.letor or not _named(columns):
            known = {FormatName.letor: False, FormatName.table: True, FormatName.stored: True}
            if kind in known:
                return known[kind]
    return suffix_of(Path(name)) in TABLES


def _named(columns: Mapping[str, Any]) -> str:
    """The settings by which columns are named, for messages."""
    # A setting with the value True is written as the option alone.
    given = (name for name in NAMED if columns.get(name))
    return ", ".join(setting(name, True).removesuffix("=True") for name in given)


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


def source_name(paths: Sequence[str]) -> str:
    """A short name for titles."""
    first = Path(paths[0])
    name = first.name if first.exists() else paths[0]
    return name if len(paths) == 1 else f"{name} and {len(paths) - 1} more"


def place_of_row(paths: Sequence[str], columns: Mapping[str, Any], row: int) -> str | None:
    """File and line of a row, from 0; None for data sets and files with side files."""
    if not all(map(exists, paths)) or have_sizes(paths):
        return None
    if not are_tables(paths, columns):
        for file in expand_patterns(paths):
            line, n_rows = find_line(open_text(Path(file)), row)
            if line is not None:
                return f"{file}, line {line}"
            row -= n_rows
        return None
    for path in table_files(list(paths), other=True):
        if is_stored(path):
            n_rows = open_stored(path).num_rows
            if row < n_rows:
                return f"{path}, row {row}"
            row -= n_rows
            continue
        delimiter = delimiter_of(path, table_words(paths, columns).get("sep"))
        text = DelimitedFile.of(path, delimiter, MAX_DECOMPRESSED_BYTES)
        line = text.line_of(row)
        if line is not None:
            return f"{path}, line {line}"
        first = next(filter(None, text.header))
        row -= len(text.table({first: pa.string()}))
    return None
