"""Classifiers for errors of different cost, and the costs themselves: containers and builders."""

from rankwise.checks.cost_tables import ClassCosts, RowCosts
from rankwise.losses.class_costs import (
    all_pairs_costs,
    confusion_costs,
    ordinal_costs,
    random_costs,
)

__all__ = [
    "ClassCosts",
    "RowCosts",
    "all_pairs_costs",
    "confusion_costs",
    "ordinal_costs",
    "random_costs",
]
