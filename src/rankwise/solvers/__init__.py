"""Solvers, and what the iterative ones return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Solution = TypeVar("Solution")


@dataclass(frozen=True)
class SolveResult(Generic[Solution]):
    """The solution and how it was reached."""

    x: Solution  # weights, or an object if the solution has more than those
    n_iter: int
    converged: bool
    stop_value: float  # last value that the solver compared with its tolerance
