"""Errors of single rows, which readers of text turn into errors of lines."""

from __future__ import annotations


class RowError(ValueError):
    """What is wrong with a row, by its number in a table, from 0.

    ``problem`` says what was found, without the place. ``fix`` says what to do, with the mark or
    the clause that comes before it.
    """

    def __init__(self, problem: str, row: int, fix: str) -> None:
        super().__init__(f"{problem} at row {row}{fix}")
        self.problem = problem
        self.row = row
        self.fix = fix

    def at(self, row: int) -> RowError:
        """The same error with another number, as of a row of a larger table."""
        return RowError(self.problem, row, self.fix)

    def without_row(self) -> str:
        """The message without the place."""
        return f"{self.problem}{self.fix}"
