"""Judged data that DATA names, for comparisons and training, and the lines of their bad rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankwise.cli._console import JobError, UsageError, waiting
from rankwise.cli._options import NO_COLUMNS, ColumnOptions

if TYPE_CHECKING:
    from rankwise.datasets import Fold, FoldedData, RankingData, RowSummary


LETOR_PARTS = 5
_GIVE_QUERIES = "Name the query of every row (qid: in LETOR text, a column in tables)"


class LetorLayout(NamedTuple):
    """Columns of the LETOR text that models were fitted on: their number, the index of the first.

    None: as the rows have them.
    """

    n_features: int | None = None
    first_index: int | None = None


ANY_LAYOUT = LetorLayout()


def load_folds(
    data: Sequence[str],
    folds: str | None = None,
    vali: str | None = None,
    test: str | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    *,
    splits: bool = True,
    layout: LetorLayout = ANY_LAYOUT,
) -> tuple[RankingData | Fold | FoldedData, int | Literal["auto"]]:
    """Load data for a comparison, and the number of folds to split it into ("auto": the default).

    ``data`` names a data set, a folder with Fold1, Fold2, …, or files. With ``vali`` and ``test``,
    its files are the training part of a single fold. ``folds`` is a number, or "letor" for LETOR's
    rotation of parts. ``splits`` tells whether a single table is split even without ``folds``.
    ``columns`` assigns the columns of tables, ``layout`` those that models expect in LETOR text.
    """
    n_folds = _fold_number(folds)
    with waiting("Reading"):
        if test is not None:
            if folds not in (None, "auto"):
                raise UsageError("--test-data defines a single fold. Drop --cv.")
            return _one_fold(data, vali, test, columns, layout), "auto"
        if vali is not None:
            raise UsageError(
                "--vali-data needs --test-data. Add it, or drop --vali-data to split DATA."
            )
        if folds == "letor":
            return _letor_folds(data, columns, layout), "auto"
        loaded = _load_wide(data, columns, layout)
    if _is_table(loaded) and not (loaded.n_features or loaded.score_columns):
        from rankwise.datasets.judged_source import refuse_results

        # Compared on these rows alone, documents without a judgement would not count against a run.
        refuse_results(data)
    if _is_table(loaded) and (splits or n_folds):
        _check_enough(loaded, n_folds or 2, f"--cv {n_folds}" if n_folds else "a split", data)
    if n_folds is not None and not _is_table(loaded):
        raise UsageError(
            f"--cv {n_folds} splits one table, but {data[0]} defines its own folds. Drop "
            f"--cv, or name the table: {data[0].partition(':')[0]}:all."
        )
    return loaded, n_folds or "auto"


def load_training(
    data: Sequence[str], vali: str | None, columns: ColumnOptions = NO_COLUMNS
) -> tuple[RankingData, RankingData | None]:
    """Load the training part and, if there is one, the validation part."""
    from rankwise.datasets.judged_source import (
        first_index_of,
        keep_categories,
        load_source,
        read_files,
        source_name,
    )

    with waiting("Reading"):
        loaded = load_source(data, columns.words)
        if not _is_table(loaded):
            fold = _only_fold(loaded, data[0])
            loaded, own = fold.train, fold.vali
        else:
            own = None
        columns.check_ignored(loaded)
        if not loaded.n_features:
            raise UsageError(
                f"{source_name(data)} has no features, only labels, queries or ids of documents. "
                "Name judged rows with features."
            )
        if vali is None:
            return loaded, own
        names, first_index = loaded.feature_names, first_index_of(loaded, data)
        words = keep_categories(columns.words, loaded)
        return loaded, read_files([vali], words, loaded.n_features, names, first_index)


def check_apart(train: RankingData, other: RankingData, data: Sequence[str], option: str) -> None:
    """Raise JobError if most rows of the part that an option names are training rows."""
    from rankwise.datasets.judged_source import source_name
    from rankwise.datasets.linting import find_copies

    found, are_most = find_copies(train, other)
    if are_most:
        source, name = source_name(data), option.split()[0]
        raise JobError(f"{option}: {found}. Leave these queries out of {source}, or drop {name}.")


def load_table(
    data: Sequence[str],
    n_features: int | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    names: Sequence[str] | None = None,
    first_index: int | None = None,
) -> RankingData:
    """Load a single table from files, glob patterns, folders of tables, or the name of a data set.

    What a model expects: ``n_features``, because LETOR text omits features that are zero,
    ``first_index`` (0 or 1), the index of the first column of the LETOR text that it was fitted on,
    and ``names``, the features that a table must have.
    """
    from rankwise.datasets.judged_source import load_source

    with waiting("Reading"):
        loaded = load_source(data, columns.words, n_features, names, first_index)
    if not _is_table(loaded):
        name = data[0].partition(":")[0]
        raise UsageError(
            f"{data[0]} has folds, but a single table is needed. Name {name}:all or a part of a "
            f"fold, such as {name}:1:test."
        )
    columns.check_ignored(loaded)
    return loaded


def _load_wide(data: Sequence[str], columns: ColumnOptions, layout: LetorLayout) -> Any:
    """Load what DATA names, with at least the columns of LETOR text that models expect."""
    from rankwise.datasets.judged_source import exists, load_source

    loaded = load_source(data, columns.words, first_index=layout.first_index)
    if not exists(data[0]):
        return loaded
    if _is_table(loaded) and (
        loaded.feature_names is not None or loaded.n_features >= (layout.n_features or 0)
    ):
        return loaded
    return load_source(data, columns.words, layout.n_features, None, layout.first_index)


def _one_fold(
    data: Sequence[str],
    vali: str | None,
    test: str,
    columns: ColumnOptions,
    layout: LetorLayout,
) -> Fold:
    from rankwise.datasets import Fold
    from rankwise.datasets.judged_source import same_width

    paths = [list(data), [test], *([[vali]] if vali else [])]
    train, testing, *validation = same_width(paths, columns.words, *layout)
    return Fold(train, validation[0] if validation else None, testing, "fold1")


def _letor_folds(data: Sequence[str], columns: ColumnOptions, layout: LetorLayout) -> FoldedData:
    """Rotate the given files, or five parts of one table, as LETOR does."""
    from rankwise.datasets import Fold, FoldedData
    from rankwise.datasets.data import join_data
    from rankwise.datasets.judged_source import expand_patterns, same_width, source_name
    from rankwise.selection import letor_folds

    data = expand_patterns(data)
    if len(data) == 1:
        loaded = _load_wide(data, columns, layout)
        if _is_table(loaded):
            _check_enough(loaded, LETOR_PARTS, "--cv letor", data)
            return letor_folds(loaded, LETOR_PARTS)
        return loaded
    k = len(data)
    if k < 3:
        raise UsageError(f"--cv letor needs one table or at least three files, got {k}.")
    parts = same_width([[path] for path in data], columns.words, *layout)
    name = source_name(data)

    def make(i: int) -> Fold:
        turn = [parts[(i + j) % k] for j in range(k)]
        return Fold(join_data(turn[: k - 2], name), turn[k - 2], turn[k - 1], f"fold{i + 1}")

    return FoldedData(name, tuple(f"fold{i + 1}" for i in range(k)), make)


def _only_fold(loaded: Any, text: str) -> Fold:
    from rankwise.datasets import Fold

    if isinstance(loaded, Fold):
        return loaded
    if len(loaded) > 1:
        raise UsageError(f"{text} has {len(loaded)} folds. Name one, such as {text}:1.")
    return loaded[0]


def _is_table(loaded: Any) -> bool:
    from rankwise.datasets import RankingData

    return isinstance(loaded, RankingData)


def refuse_one_query(loaded: Any, data: Sequence[str], columns: ColumnOptions) -> None:
    """Raise UsageError if files name at most one query and --one-query is not given."""
    from rankwise.datasets.judged_source import exists, source_name

    if columns.one_query or not exists(data[0]):
        return
    first = loaded if _is_table(loaded) or hasattr(loaded, "train") else loaded[0]
    for table in [first] if _is_table(first) else [first.train, first.test]:
        if table.n_queries == 1 < table.n_samples:
            raise UsageError(
                f"{source_name(data)} names no queries, or only one: all {table.n_samples} rows "
                f"would be compared with each other. {_GIVE_QUERIES}, or add --one-query."
            )


def _check_enough(table: RankingData, n_folds: int, what: str, data: Sequence[str]) -> None:
    """Raise UsageError if there are fewer queries than folds."""
    from rankwise.datasets.judged_source import source_name

    n_queries = table.n_queries
    if n_folds <= n_queries:
        return
    if n_queries == 1:
        raise UsageError(
            f"{what} needs at least {n_folds} queries, but {source_name(data)} names at most one. "
            f"{_GIVE_QUERIES}, or name a test part: --test-data FILE."
        )
    fewer = f"Use --cv 2{'' if n_queries == 2 else f' to {n_queries}'}"
    raise UsageError(
        f"{what} needs at least {n_folds} queries, but {source_name(data)} has {n_queries}. "
        f"{fewer}."
    )


def _fold_number(folds: str | None) -> int | None:
    if folds is None or folds in ("auto", "letor"):
        return None
    if not folds.isdigit() or int(folds) < 2:
        raise UsageError(
            f"--cv must be a whole number of at least 2, 'auto' or 'letor', got {folds!r}."
        )
    return int(folds)


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
