"""Costs of classes: containers that cross-validation can slice, and functions that build costs."""

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
