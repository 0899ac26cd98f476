"""What an iterative solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    history : list of float
        The same value after every step.
    """

    x: Any
    n_iter: int
    converged: bool
    stop_value: float
    history: list[float] = field(default_factory=list)
