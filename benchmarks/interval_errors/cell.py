"""One cell of the table: a procedure, data that are hard for it, and what it promises there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What a procedure said of one simulated data set.

    ``error`` is 1 if the statement is false and 0 if it is true: an interval without the truth, a
    rejected true hypothesis, any such interval of a joint statement. For a false discovery rate
    and for many marginal intervals it is the share of false ones. ``named`` says that the
    procedure warned of such data in its own output (a note, a warning, a line below the table).
    """

    error: float
    named: bool = False


@dataclass(frozen=True)
class Cell:
    """A procedure on one kind of data.

    ``draw`` simulates a data set and returns its outcome, or None if the procedure refused the
    data with a clear error. ``draws`` lowers the number of draws of a slow cell.
    """

    procedure: str
    data: str
    promised: float
    draw: Callable[[np.random.Generator], Outcome | None]
    draws: int | None = None
