"""An exported file with everything that a comparison needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.parity.engine_trees import EngineTree
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class ExportedFile:
    """A file that can score rows.

    Attributes
    ----------
    format : str
    reader : str
        Program that computes the scores, with its version; or "interpreter".
    score : callable
        Scores of float64 rows, shape (n,), float64.
    trees : tuple of EngineTree
        Trees of the file; empty if the file has none or they are not interpreted.
    dtype : dtype
        Type in which the program adds.
    takes_missing : bool
        Whether missing values have sides; else they are 0.
    is_shifted : bool
        Whether the program has no constant, so that all scores differ by one number.
    smallest : float
        Values of at most this size may count as 0.
    has_slack : bool
        Whether the program adds Solr's slack to thresholds, and so cannot represent some.
    """

    format: str
    reader: str
    score: Callable[[NDArray[Any]], Float64Array]
    trees: tuple[EngineTree, ...] = ()
    dtype: Any = np.float64
    takes_missing: bool = True
    is_shifted: bool = False
    smallest: float = 0.0
    has_slack: bool = False
