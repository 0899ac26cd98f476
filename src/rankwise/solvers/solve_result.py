"""Result of an iterative solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Solution = TypeVar("Solution")


@dataclass(frozen=True)
class SolveResult(Generic[Solution]):
    """The solution and how it was reached.

    Attributes
    ----------
    x : ndarray, or an object if the solution has more than weights
    n_iter : int
    converged : bool
    stop_value : float
        Last value that the solver compared with its tolerance.
    """

    x: Solution
    n_iter: int
    converged: bool
    stop_value: float
