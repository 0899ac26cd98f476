"""The library stays as small as it was made: ``python -m tests.house`` prints the figures."""

from __future__ import annotations

from tests.house import circles, table


def test_the_house_does_not_grow() -> None:
    """The figures take seconds: they are found here, not while tests are collected."""
    too_many = [
        f"{line.name}: {line.value:{line.form}}, limit {abs(line.most):{line.form}}"
        for line in table()
        if (line.value if line.most >= 0 else -line.value) > line.most
    ]
    assert not too_many, (
        f"{too_many}. Put what belongs together into one file, inline what is used once, or change "
        "the limit in tests/house.py and say why."
    )


def test_no_files_import_each_other() -> None:
    """Not even inside functions, or for type checkers alone: such files are one file."""
    assert circles() == []
