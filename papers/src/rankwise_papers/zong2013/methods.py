"""The columns of the paper's tables as settings of estimators, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rankwise._registry import REGISTRY

N_NODES = 1000


@dataclass(frozen=True)
class Method:
    """A column.

    Attributes
    ----------
    name : str
        In cell names.
    column : str
        Heading.
    published : str
        Column of the published tables; "" if the method is not in the paper.
    ranker : str
        Key of the registry. Where the registry has no such key (yet), the column is not run.
    settings : dict or None
        Parameters; None: those with which ``compare`` runs it.
    is_drawn : bool
        Whether it draws nodes, so that several seeds are run.
    """

    name: str
    column: str
    published: str
    ranker: str
    settings: dict[str, Any] | None = field(default_factory=dict)
    is_drawn: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the registry has its estimator."""
        return self.ranker in REGISTRY

    def params(self) -> dict[str, Any]:
        """What a cell needs to make the estimator."""
        entry = REGISTRY[self.ranker]
        if self.settings is None:
            return {"ranker": self.ranker, "settings": entry.params, "space": entry.space}
        return {"ranker": self.ranker, "settings": self.settings, "space": {}}


def _nodes(activation: str, **settings: Any) -> dict[str, Any]:
    return {"n_nodes": N_NODES, "activation": activation, "C": "val", **settings}


_KERNEL = {"kernel": "linear", "C": "val"}
PAPER = (
    Method("regression", "Regression", "Regression", "linear_regression"),
    Method("ridge", "Regularized", "RegularizedRegression", "ridge", {"alpha": "val"}),
    Method(
        "pointwise-nodes", "Pointwise RELM_N", "PointwiseELM_linear_nodes", "pointwise_elm",
        _nodes("linear"), is_drawn=True,
    ),
    Method(
        "pointwise-kernel", "Pointwise RELM_K", "PointwiseELM_linear_kernel", "pointwise_elm",
        _KERNEL,
    ),
    Method("rank-svm", "RankSVM", "RankSVM", "rank_svm", None),
    Method(
        "pairwise-nodes", "Pairwise RELM_N", "PairwiseELM_linear_nodes", "pairwise_elm",
        _nodes("linear"), is_drawn=True,
    ),
    Method(
        "pairwise-kernel", "Pairwise RELM_K", "PairwiseELM_linear_kernel", "pairwise_elm", _KERNEL
    ),
)  # fmt: skip
OURS = (
    Method(
        "pointwise-sigmoid", "Pointwise sigmoid", "", "pointwise_elm", _nodes("sigmoid"),
        is_drawn=True,
    ),
    Method(
        "pairwise-sigmoid", "Pairwise sigmoid", "", "pairwise_elm", _nodes("sigmoid"),
        is_drawn=True,
    ),
    Method(
        "pairwise-sigmoid-10", "Pairwise sigmoid, 10 draws averaged", "", "pairwise_elm",
        _nodes("sigmoid", n_draws=10), is_drawn=True,
    ),
)  # fmt: skip
