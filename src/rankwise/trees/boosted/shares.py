"""Rows spread over several machines; each grows the same tree from its share of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class Shares(Protocol):
    """Connection between the shares; all of them call the same methods in the same order."""

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the arrays of all shares."""
        ...

    def agree(self, value: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Result of ``combine`` on the values of all shares, in their order."""
        ...
