"""Penalties in the scale of their parameter, and their conversion for the solvers.

The solvers minimise ``(y - f)' L (y - f) + |b|^2 / C``: a SUM over pairs. ``alpha = 1/C``. The
papers' ``lam`` multiplies the norm against the MEAN over ordered pairs, ``(2/S) (y - f)' L (y - f)
+ lam |b|^2`` with ``S = sum_q c_q W_q^2`` (m^2 for one query of m rows), so ``C = 2 / (lam S)``. C
therefore depends on the rows, and each training part of a cross-validation has its own C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankwise.typing import Float64Array

Scale = Literal["C", "alpha", "lam", "mean"]


@dataclass(frozen=True, eq=False)
class Penalties:
    """A grid of penalties, (n_values,), in the scale of their parameter.

    The scale "mean" is ``1/lam``: it multiplies the mean over pairs, and the squared norm has
    factor 1.
    """

    values: Float64Array
    scale: Scale

    def __len__(self) -> int:
        return len(self.values)

    def C(self, pairs: float, factor: float = 1.0) -> Float64Array:
        """Multipliers of the sum over pairs, shape (n_values,).

        ``pairs`` is ``S``, the weight of all ordered pairs of the training rows. ``factor``
        multiplies ``lam`` first (m for coefficient regularisation).
        """
        if self.scale == "C":
            return self.values
        if self.scale == "alpha":
            return inverse(self.values)
        per_pair = 2.0 / (max(pairs, 1.0) * factor)
        return per_pair * (self.values if self.scale == "mean" else inverse(self.values))


def inverse(a: Float64Array) -> Float64Array:
    """``1/a``, with ``1/0 = inf`` and ``1/inf = 0``."""
    a = np.asarray(a, dtype=np.float64)
    return np.divide(1.0, a, out=np.full(a.shape, np.inf), where=a > 0)
