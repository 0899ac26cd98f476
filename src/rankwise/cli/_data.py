"""Load the judged data that DATA names: files, folders of folds, data sets of the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli._console import UsageError, usage, waiting
from rankwise.cli._files import (
    ANY_LAYOUT,
    LetorLayout,
    data_name,
    exists,
    expand_patterns,
    first_index_of,
    read_files,
    refuse_results,
    same_width,
)
from rankwise.cli._options import NO_COLUMNS, ColumnOptions, split_list
from rankwise.runtime.files import COMPRESSIONS
from rankwise.runtime.messages import did_you_mean

if TYPE_CHECKING:
    from rankwise.datasets import Fold, FoldedData, RankingData

_PARTS = ("all", "train", "vali", "test")
_PART_KINDS = (".txt", ".csv", ".tsv", ".parquet")
LETOR_PARTS = 5
_GIVE_QUERIES = "Name the query of every row (qid: in LETOR text, a column in tables)"


def catalog_names() -> list[str]:
    """Names of the known data sets."""
    from rankwise.datasets.catalog.entries import known_datasets

    return list(known_datasets())


def load_folds(
    data: Sequence[str],
    folds: str | None = None,
    vali: str | None = None,
    test: str | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    *,
    splits: bool = True,
    layout: LetorLayout = ANY_LAYOUT,
) -> tuple[RankingData | Fold | FoldedData, int | None]:
    """Load data for a comparison, and the number of folds to split it into (None: as loaded).

    ``data`` names a data set, a folder with Fold1, Fold2, …, or files. With ``vali`` and ``test``,
    its files are the training part of a single fold. ``folds`` is a number, or "letor" for LETOR's
    rotation of parts. ``splits`` tells whether a single table is split even without ``folds``.
    ``columns`` assigns the columns of tables, ``layout`` those that models expect in LETOR text.
    """
    n_folds = _fold_number(folds)
    with waiting("Reading"):
        if test is not None:
            if folds is not None:
                raise UsageError("--test-data defines a single fold. Drop --cv.")
            return _one_fold(data, vali, test, columns, layout), None
        if vali is not None:
            raise UsageError(
                "--vali-data needs --test-data. Add it, or drop --vali-data to split DATA."
            )
        if folds == "letor":
            return _letor_folds(data, columns, layout), None
        loaded = _load_wide(data, columns, layout)
    if _is_table(loaded) and not (loaded.n_features or loaded.score_columns):
        # Compared on these rows alone, documents without a judgement would not count against a run.
        refuse_results(data)
    if _is_table(loaded) and (splits or n_folds):
        _check_enough(loaded, n_folds or 2, f"--cv {n_folds}" if n_folds else "a split", data)
    if n_folds is not None and not _is_table(loaded):
        raise UsageError(
            f"--cv {n_folds} splits one table, but {data[0]} defines its own folds. Drop "
            f"--cv, or name the table: {data[0].partition(':')[0]}:all."
        )
    return loaded, n_folds


def load_training(
    data: Sequence[str], vali: str | None, columns: ColumnOptions = NO_COLUMNS
) -> tuple[RankingData, RankingData | None]:
    """Load the training part and, if there is one, the validation part."""
    with waiting("Reading"):
        loaded = _load(data, columns=columns)
        if not _is_table(loaded):
            fold = _only_fold(loaded, data[0])
            loaded, own = fold.train, fold.vali
        else:
            own = None
        columns.check_ignored(loaded)
        if not loaded.n_features:
            raise UsageError(
                f"{data_name(data)} has no features, only labels, queries or ids of documents. "
                "Name judged rows with features."
            )
        if vali is None:
            return loaded, own
        names, first_index = loaded.feature_names, first_index_of(loaded, data)
        columns = columns.with_categories_of(loaded)
        return loaded, read_files([vali], loaded.n_features, columns, names, first_index)


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
    with waiting("Reading"):
        loaded = _load(data, n_features, columns, names, first_index)
    if not _is_table(loaded):
        name = data[0].partition(":")[0]
        raise UsageError(
            f"{data[0]} has folds, but a single table is needed. Name {name}:all or a part of a "
            f"fold, such as {name}:1:test."
        )
    columns.check_ignored(loaded)
    return loaded


def ignore_columns(loaded: Any, columns: ColumnOptions, data: Sequence[str]) -> Any:
    """Loaded data without the columns of --ignore, which tables were read without.

    In LETOR text, they are named by their numbers in the file, from 0 or 1.
    """
    from rankwise.selection.splits import leave_out

    if columns.ignore is None:
        return loaded
    first = loaded if _is_table(loaded) or hasattr(loaded, "train") else loaded[0]
    table = first if _is_table(first) else first.train
    names = split_list(columns.ignore)
    if first_index_of(table, data) == 0:
        beyond = [n for n in names if not n.isdecimal() or int(n) >= table.n_features]
        if beyond:
            raise UsageError(
                f"--ignore {beyond[0]} must name columns of {data[0]}, which are 0 to "
                f"{table.n_features - 1}."
            )
        names = [str(int(name) + 1) for name in names]
    return leave_out(loaded, names)


def _load(
    data: Sequence[str],
    n_features: int | None = None,
    columns: ColumnOptions = NO_COLUMNS,
    names: Sequence[str] | None = None,
    first_index: int | None = None,
) -> Any:
    """Load the table, the fold or the folds that DATA names."""
    if len(data) == 1 and not exists(data[0]):
        if columns.options:
            raise UsageError(
                f"{data[0]!r} is not a file, and {columns.options} apply only to tables in files. "
                "Check the path, or drop the options."
            )
        if columns.unjudged is not None:
            raise UsageError(f"{data[0]!r} is not a file. --unjudged marks rows of files: drop it.")
        return _load_known(data[0])
    if len(data) == 1 and Path(data[0]).is_dir():
        folds = _fold_folders(Path(data[0]))
        if folds:
            layout = LetorLayout(n_features, first_index)
            return _folds_of_folder(Path(data[0]), folds, columns, layout)
    return read_files(data, n_features, columns, names, first_index)


def _load_wide(data: Sequence[str], columns: ColumnOptions, layout: LetorLayout) -> Any:
    """Load what DATA names, with at least the columns of LETOR text that models expect."""
    loaded = _load(data, None, columns, None, layout.first_index)
    if not exists(data[0]):
        return loaded
    if _is_table(loaded) and (
        loaded.feature_names is not None or loaded.n_features >= (layout.n_features or 0)
    ):
        return loaded
    return _load(data, layout.n_features, columns, None, layout.first_index)


def _load_known(text: str) -> Any:
    from rankwise.datasets import load_dataset

    name, *rest = text.split(":")
    if name not in catalog_names():
        known = catalog_names()
        hint = did_you_mean(name, known, f"Data sets: {', '.join(known)}.")
        raise UsageError(f"{text!r} is neither a file nor a data set. {hint}")
    fold = int(rest.pop(0)) if rest and rest[0].isdigit() else None
    part = rest.pop(0) if rest else None
    if rest or (part is not None and part not in _PARTS):
        raise UsageError(
            "a data set must be NAME, NAME:FOLD or NAME:FOLD:PART, with PART one of "
            f"{', '.join(_PARTS)}; got {text!r}."
        )
    if fold is None:
        with usage():
            return load_dataset(name, part=part) if part else load_dataset(name)  # type: ignore[call-overload]
    with usage():
        loaded = load_dataset(name, fold)
    if part is None:
        return loaded
    table = getattr(loaded, part, None)
    if table is None:
        raise UsageError(f"fold {fold} of {name} has no part {part!r}.")
    return table


def _one_fold(
    data: Sequence[str],
    vali: str | None,
    test: str,
    columns: ColumnOptions,
    layout: LetorLayout,
) -> Fold:
    from rankwise.datasets import Fold

    paths = [list(data), [test], *([[vali]] if vali else [])]
    train, testing, *validation = same_width(paths, columns, layout)
    return Fold(train, validation[0] if validation else None, testing, "fold1")


def _fold_folders(folder: Path) -> list[Path]:
    """Fold1, Fold2, … in a folder, in numeric order."""
    return sorted(
        (child for child in folder.iterdir() if child.is_dir() and _is_fold(child.name)),
        key=lambda child: int(child.name[4:]),
    )


def _folds_of_folder(
    folder: Path, folds: list[Path], columns: ColumnOptions, layout: LetorLayout
) -> FoldedData:
    """Fold1/train.txt, Fold1/vali.txt, Fold1/test.txt, …"""
    from rankwise.datasets import Fold, FoldedData

    def make(index: int) -> Fold:
        train, vali, test = (
            [str(_part_file(folds[index], what))] for what in ("train", "vali", "test")
        )
        tables = same_width([train, test, vali], columns, layout)
        return Fold(tables[0], tables[2], tables[1], folds[index].name.lower())

    return FoldedData(folder.name, tuple(fold.name.lower() for fold in folds), make)


def _is_fold(name: str) -> bool:
    return name[:4].lower() == "fold" and name[4:].isdigit()


def _part_file(folder: Path, what: str) -> Path:
    names = [
        f"{stem}{kind}{packed}"
        for kind in _PART_KINDS
        for stem in (what, f"{what}set")
        for packed in ("", *COMPRESSIONS)
    ]
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise UsageError(f"{folder} has no {what}.txt (nor .csv, .tsv or .parquet).")


def _letor_folds(data: Sequence[str], columns: ColumnOptions, layout: LetorLayout) -> FoldedData:
    """Rotate the given files, or five parts of one table, as LETOR does."""
    from rankwise.datasets import Fold, FoldedData
    from rankwise.datasets.data import join_data
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
    parts = same_width([[path] for path in data], columns, layout)
    name = data_name(data)

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
    if columns.one_query or not exists(data[0]):
        return
    first = loaded if _is_table(loaded) or hasattr(loaded, "train") else loaded[0]
    for table in [first] if _is_table(first) else [first.train, first.test]:
        if table.n_queries == 1 < table.n_samples:
            raise UsageError(
                f"{data_name(data)} names no queries, or only one: all {table.n_samples} rows "
                f"would be compared with each other. {_GIVE_QUERIES}, or add --one-query."
            )


def _check_enough(table: RankingData, n_folds: int, what: str, data: Sequence[str]) -> None:
    """Raise UsageError if there are fewer queries than folds."""
    n_queries = table.n_queries
    if n_folds <= n_queries:
        return
    if n_queries == 1:
        raise UsageError(
            f"{what} needs at least {n_folds} queries, but {data_name(data)} names at most one. "
            f"{_GIVE_QUERIES}, or name a test part: --test-data FILE."
        )
    fewer = f"Use --cv 2{'' if n_queries == 2 else f' to {n_queries}'}"
    raise UsageError(
        f"{what} needs at least {n_folds} queries, but {data_name(data)} has {n_queries}. {fewer}."
    )


def _fold_number(folds: str | None) -> int | None:
    if folds is None or folds == "letor":
        return None
    if not folds.isdigit() or int(folds) < 2:
        raise UsageError(f"--cv must be a whole number of at least 2, or 'letor', got {folds!r}.")
    return int(folds)
