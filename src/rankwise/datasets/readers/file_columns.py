"""Columns of several files that form one table: what they hold, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.checks.frames import MOSTLY_NUMBERS, TIMES, check_unique
from rankwise.datasets.table_columns import Columns, Kinds, list_names

# Kind of a column of a file that has no value, and may hold anything in another file.
NO_VALUES = "no values"


def arrow_kinds(schema: Any) -> dict[str, str | None]:
    """Kinds of columns in a pyarrow schema, without the unnamed index that pandas writes.

    A named index is kept, since it was added on purpose. :meth:`FileColumns.join` decides what a
    column without values holds.
    """
    from pyarrow import types

    metadata = schema.pandas_metadata or {}
    index = {name for name in metadata.get("index_columns", []) if isinstance(name, str)}
    fields = [
        field
        for field in schema
        if not (field.name in index and field.name.startswith("__index_level_"))
    ]
    # Those without a name are left out.
    check_unique([field.name for field in fields if field.name])
    are_numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    are_texts = (types.is_string, types.is_large_string, types.is_string_view)

    def what(kind: Any) -> str | None:
        if any(test(kind) for test in are_numbers):
            return None
        if any(test(kind) for test in are_texts):
            return "text"
        if types.is_null(kind):
            return NO_VALUES
        if types.is_dictionary(kind):
            return "categories"
        if types.is_duration(kind) or types.is_interval(kind):
            return "durations"
        if types.is_time(kind):
            return "times of day"
        return "dates" if types.is_temporal(kind) else str(kind)

    return {field.name: what(field.type) for field in fields}


@dataclass(frozen=True)
class FileColumns:
    """Columns of several files that form one table, see :meth:`join`."""

    # Kind of each column of any file; a column without values has the kind of the others
    kinds: dict[str, str | None]
    first: dict[str, Path]  # the first file with each column
    files: list[tuple[Path, Kinds]]

    @classmethod
    def join(cls, files: Sequence[tuple[Path, Kinds]]) -> FileColumns:
        """Join the columns of files, in the order of their appearance.

        A column that holds numbers in one file and anything else in another gets a kind that says
        so, and is refused as a feature.
        """
        kinds: dict[str, str | None] = {}
        first: dict[str, Path] = {}
        for path, found in files:
            for name, kind in found.items():
                first.setdefault(name, path)
                known = kinds.get(name, NO_VALUES)
                kinds[name] = kind if known == NO_VALUES else _joint_kind(known, kind, path)
        return cls(
            {name: None if kind == NO_VALUES else kind for name, kind in kinds.items()},
            first,
            list(files),
        )

    def check(self, columns: Columns) -> None:
        """Check that all files have the columns to read, and ids of one kind.

        The error names the file and the columns.
        """
        for path, kinds in self.files:
            missing = [name for name in columns.names() if name not in kinds]
            if missing:
                raise ValueError(
                    f"{path}: columns {list_names(missing)} are missing, but "
                    f"{self.first[missing[0]].name} has them. Write all files with the same "
                    "columns."
                )
        for name in (columns.qid, columns.doc_id):
            if name is None:
                continue
            with_numbers = {kinds[name] is None: path for path, kinds in reversed(self.files)}
            if len(with_numbers) == 2:
                raise ValueError(
                    f"{with_numbers[False]}: the ids in column {name!r} are text, but numbers in "
                    f"{with_numbers[True].name}. Write all files with ids of one type."
                )


def _joint_kind(known: str | None, kind: str | None, path: Path) -> str | None:
    """Kind of a column that is ``known`` from earlier files and has a ``kind`` in ``path``."""
    if kind in (known, NO_VALUES) or (known is not None and known.startswith(MOSTLY_NUMBERS)):
        return known
    if known is None:
        return f"{MOSTLY_NUMBERS} {kind} in {path.name}"
    if kind is None:
        return f"{known}, but numbers in {path.name}"
    return known if known in TIMES else kind
