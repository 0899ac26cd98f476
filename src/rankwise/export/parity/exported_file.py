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
    """A file that can score rows."""

    format: str
    reader: str  # program that computes the scores, with its version; or "interpreter"
    score: Callable[[NDArray[Any]], Float64Array]  # scores (n,) of float64 rows
    trees: tuple[EngineTree, ...] = ()  # empty if the file has none or they are not interpreted
    dtype: Any = np.float64  # type in which the program adds
    takes_missing: bool = True  # whether missing values have sides; else they are 0
    # Whether the program has no constant, so that all scores differ by one number
    is_shifted: bool = False
    smallest: float = 0.0  # values of at most this size may count as 0
    # Whether Solr's slack is added to thresholds, so that some cannot be represented
    has_slack: bool = False
