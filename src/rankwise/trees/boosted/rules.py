"""What bounds the growth of a gradient tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Growth = Literal["leaf", "depth", "symmetric"]


@dataclass(frozen=True)
class GrowthRules:
    """What bounds a tree.

    Attributes
    ----------
    max_leaf_nodes : int >= 2
    max_depth : int >= 1 or None
    min_samples_leaf : int >= 1
        Compared with the share of a child in the sum of second derivatives, times the number of
        the node's rows.
    min_hessian_leaf : float >= 0
    reg_lambda : float >= 0
    reg_alpha : float >= 0
    min_split_gain : float >= 0
        A split must gain more.
    growth : {"leaf", "depth", "symmetric"}
        Split the leaf of the largest gain, or that of the smallest depth; or all leaves of a level
        in the same way.
    """

    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian_leaf: float = 1e-3
    reg_lambda: float = 0.0
    reg_alpha: float = 0.0
    min_split_gain: float = 0.0
    growth: Growth = "leaf"
