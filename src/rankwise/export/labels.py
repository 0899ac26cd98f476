"""Class of a row from the result of its chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.export.maps import Chain, ExportError
from rankwise.export.tree_sums import node_classes
from rankwise.ordinal.linear.proportional_odds import ProportionalOdds
from rankwise.ordinal.online.aggregate_prank import AggregatePRank
from rankwise.ordinal.online.rank_votes import Votes
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.ordinal.trees.ranking_tree import RankingTree
from rankwise.ordinal.trees.tree_ranker import TreeRanker


def class_chain(estimator: Any) -> Chain | None:
    """Maps that compute the class number; None if thresholds of the score determine it.

    ExportError is raised if the estimator has no classes, or no chain can compute them.
    """
    name = type(estimator).__name__
    match estimator:
        case ProportionalOdds() if len(estimator.classes_) != 2:
            raise ExportError(
                f"{name} predicts the most probable class, which its score does not determine. "
                "Drop label=True, or count the thresholds_ that the score reaches to get the "
                "median class."
            )
        case AggregatePRank(combine="bpm") | Votes(votes="mean") | TreeRanker(leaf="mean"):
            return None
        case RankingTree():
            return node_classes(estimator)
        case Votes() | TreeRanker():
            raise ExportError(
                f"{name} chooses classes by votes, which its score does not determine. "
                'Drop label=True, or fit with leaf="mean" or votes="mean".'
            )
        case OrdinalRanker():
            return None
    raise ExportError(
        f"label=True needs an ordinal estimator, which predicts classes; {name} predicts scores. "
        "Drop it."
    )


def label_values(classes: Any) -> Any:
    """Classes as whole numbers if possible, else as text."""
    values = np.asarray(classes)
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        return values.astype(np.int64)
    return np.array([str(value) for value in values.tolist()], dtype=object)
