"""Weighted binary questions about the costs of two classes, shared by all reductions.

Question p of a row is whether class ``second[p]`` is cheaper than class ``first[p]``. The answer is
the sign of ``values[:, first[p]] - values[:, second[p]]``, and the weight is its absolute value.
One-versus-one uses all pairs of classes; the ordinal reduction uses adjacent classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.checks.cost_tables import CostTable
from rankwise.losses.pair_costs import all_pairs_costs
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Binary questions of all rows.

    ``values`` is (n_groups, n_classes): the values of each row; or of each class, if all rows of a
    class have the same values. ``group`` (n_samples,) is the row of ``values`` for each training
    row; None: ``values`` has one row for each. ``first`` and ``second`` (n_questions,) are the
    numbers of the two classes of each question, and ``weight`` (n_samples,) weights the rows.
    """

    values: Float64Array
    group: Int64Array | None
    first: Int64Array
    second: Int64Array
    weight: Float64Array | None

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.first)

    def of_groups(self, question: int) -> Float64Array:
        """Answer times weight for every row of ``values``, without row weights."""
        return self.values[:, self.first[question]] - self.values[:, self.second[question]]

    def of_rows(self, question: int) -> Float64Array:
        """Answer times weight for every row, shape (n_samples,)."""
        signed = self.of_groups(question)
        signed = signed if self.group is None else signed[self.group]
        return signed if self.weight is None else signed * self.weight


def pair_contrasts(
    table: CostTable, weight: Float64Array | None, *, transformed: bool = True
) -> Contrasts:
    """Questions of all pairs a < b, in the order of ``numpy.triu_indices``.

    ``weight`` (n_samples,) weights the rows. ``transformed`` says whether costs are transformed,
    see :mod:`rankwise.losses.pair_costs`.
    """
    costs = table.by_row if table.by_class is None else table.by_class
    values = all_pairs_costs(costs) if transformed else costs
    first, second = np.triu_indices(len(table.classes), 1)
    group = None if table.by_class is None else table.codes
    return Contrasts(values, group, first.astype(np.int64), second.astype(np.int64), weight)


def threshold_contrasts(table: CostTable, weight: Float64Array | None) -> Contrasts:
    """Questions of the K - 1 pairs of adjacent classes: is the upper class cheaper?"""
    values = table.by_row if table.by_class is None else table.by_class
    first = np.arange(len(table.classes) - 1, dtype=np.int64)
    group = None if table.by_class is None else table.codes
    return Contrasts(values, group, first, first + 1, weight)
