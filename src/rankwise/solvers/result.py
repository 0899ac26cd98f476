"""What an iterative solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SolveResult:
    """The solution and how it was reached.

    Attributes
    ----------
    x : ndarray
    n_iter : int
    converged : bool
    stop_value : float
        What the solver compared with its tolerance at the end.
    """

    x: Any
    n_iter: int
    converged: bool
    stop_value: float
