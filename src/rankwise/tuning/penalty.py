"""Penalties in the scale their names promise, and what the solvers make of them.

The solvers minimise ``(y - f)' L (y - f) + |b|^2 / C``: a SUM over pairs. ``alpha = 1/C``. The
papers' ``lam`` multiplies the norm against the MEAN over ordered pairs, ``(2/S) (y - f)' L (y - f)
+ lam |b|^2`` with ``S = sum_q c_q W_q^2`` (m^2 for one query of m rows), so ``C = 2 / (lam S)``: it
depends on the rows at hand, and each training part of a cross-validation has a C of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwise.typing import Float64Array

Scale = Literal["C", "alpha", "lam", "mean"]


@dataclass(frozen=True, eq=False)
class Penalties:
    """A grid of penalties.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        In the scale of the parameter.
    scale : {"C", "alpha", "lam", "mean"}
        "mean" is ``1/lam``: it multiplies the mean over pairs against the squared norm.
    """

    values: Float64Array
    scale: Scale

    def __len__(self) -> int:
        return len(self.values)

    def C(self, pairs: float, factor: float = 1.0) -> Float64Array:
        """Multipliers of the sum over pairs, shape (n_values,).

        Parameters
        ----------
        pairs : float
            ``S``, the weight of all ordered pairs of the training rows.
        factor : float
            What ``lam`` is multiplied with before (m for coefficient regularisation).
        """
        if self.scale == "C":
            return self.values
        if self.scale == "alpha":
            return inverse(self.values)
        per_pair = 2.0 / (max(pairs, 1.0) * factor)
        return per_pair * (self.values if self.scale == "mean" else inverse(self.values))


def inverse(a: Float64Array) -> Float64Array:
    """1/a with 1/0 = inf and 1/inf = 0."""
    a = np.asarray(a, dtype=np.float64)
    return np.divide(1.0, a, out=np.full(a.shape, np.inf), where=a > 0)


def grid_of_C(C: Any, default: Float64Array, *, has_validation: bool) -> tuple[str, Float64Array]:
    """How C is chosen ("fixed", "cv" or "val") and the grid, ascending.

    Parameters
    ----------
    C : float, list of floats, "cv" or "val"
        "cv" and "val" search ``default``; a list is searched on validation data where there are
        any and else by cross-validation.
    default : ndarray of shape (n_C,), ascending
    has_validation : bool

    Raises
    ------
    ValueError
        Where a number is not finite and > 0, or "val" has no validation data.
    """
    if isinstance(C, str):
        if C == "val" and not has_validation:
            raise ValueError(
                'C="val" needs validation data, got X_val=None. Pass X_val, y_val and qid_val to '
                'fit, or use C="cv".'
            )
        return C, default
    grid = np.unique(np.asarray(C, dtype=np.float64))
    if np.ndim(C) > 1 or not grid.size or not (np.isfinite(grid) & (grid > 0)).all():
        raise ValueError(
            f"C must be a finite number > 0, a list of them, or one of cv, val; got {C!r}."
        )
    if np.ndim(C) == 0:
        return "fixed", grid
    return ("val" if has_validation else "cv"), grid
