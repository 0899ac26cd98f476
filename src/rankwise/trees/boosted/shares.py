"""Rows spread over several machines, which all grow the same tree from their shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class Shares(Protocol):
    """Connection between machines with shares of the rows; all must make the same calls."""

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the arrays of all shares."""
        ...

    def agree(self, value: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Result of ``combine`` on the values of all shares, in their order."""
        ...
