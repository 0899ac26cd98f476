"""Read the files named on the command line, and name the lines of bad rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwise.cli._console import JobError
from rankwise.cli._options import ColumnOptions

if TYPE_CHECKING:
    from rankwise.datasets import RankingData, RowSummary


class LetorLayout(NamedTuple):
    """Columns of the LETOR text that models were fitted on: their number, the index of the first.

    None: as the rows have them.
    """

    n_features: int | None = None
    first_index: int | None = None


ANY_LAYOUT = LetorLayout()


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


@contextmanager
def name_lines(
    data: Sequence[str],
    columns: ColumnOptions,
) -> Iterator[None]:
    """Make errors about rows of DATA inside the block name the file and the line."""
    from rankwise.checks.exact_values import RowError
    from rankwise.datasets.judged_source import place_of_row

    try:
        yield
    except RowError as error:
        place = place_of_row(data, columns.words, error.row)
        if place is None:
            raise
        raise JobError(f"{place}: {error.without_row()}") from None


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
    from rankwise.datasets.judged_source import place_of_row

    found = _BAD_VALUE.search(message)
    if found is None:
        return message
    problem, what, kind, column, number, name = found.groups()
    for data, table, _ in sorted(parts, key=lambda part: part[2] != (what == "X_val")):
        places = _columns_of(table, None if number is None else int(number), name)
        row = _first_bad_row(table.X, kind, places)
        place = None if row is None else place_of_row(data, columns.words, row)
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
    from rankwise.datasets.judged_source import expand_patterns, read_files

    if hasattr(loaded, "X"):
        return [(data, loaded, False)]
    if test is not None:
        parts: list[Part] = [(data, loaded.train, False), ([test], loaded.test, False)]
        return parts if vali is None else [*parts, ([vali], loaded.vali, True)]
    files = expand_patterns(data)
    if all(Path(file).is_file() for file in files):  # cut into folds as LETOR does
        return [(files, read_files(files, columns.words), False)]
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


class ScoreFormat(StrEnum):
    """Output format of scores."""

    scores = "scores"
    trec = "trec"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    jsonl = "jsonl"


def format_of(out: Path | None) -> ScoreFormat:
    """Format implied by the suffix of a file; one score per line by default."""
    from rankwise.datasets.readers.tables import format_of_name

    name = None if out is None else format_of_name(out)
    return ScoreFormat(name) if name in {*ScoreFormat} else ScoreFormat.scores
