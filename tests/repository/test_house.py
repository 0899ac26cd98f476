"""The library stays as small as it was made: ``python -m tests.house`` prints the figures."""

from __future__ import annotations

import pytest

from tests.house import Line, circles, table


@pytest.mark.parametrize("line", table(), ids=lambda line: line.name.replace(" ", "-"))
def test_the_house_does_not_grow(line: Line) -> None:
    found = line.value if line.most >= 0 else -line.value
    assert found <= line.most, (
        f"{line.name}: {line.value:{line.form}}. Put what belongs together into one file, inline "
        "what is used once, or change the limit in tests/house.py and say why."
    )


def test_no_files_import_each_other() -> None:
    """Not even inside functions, or for type checkers alone: such files are one file."""
    assert circles() == []
