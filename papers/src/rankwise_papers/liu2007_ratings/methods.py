"""Trees, perceptrons and a constant: test loss of each on one draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise import AggregatePRank, PRank, RankingTree, VotedPRank, WidrowHoff
from rankwise_papers.liu2007_ratings.draws import Draw

N_FOLDS = 5
ETA = 0.1
TAU = 0.6
N_PRANK = 100
N_PASSES = 10

Loss: TypeAlias = Callable[[Draw, int], float]


def rank_loss(predicted: Any, draw: Draw) -> float:
    """Mean distance of grades; between grades that the training rows lack, too."""
    return float(np.abs(predicted - draw.y_test).mean())


def _tree(criterion: Any, leaf: Any) -> Loss:
    def loss(draw: Draw, seed: int) -> float:
        tree = RankingTree(max_depth="cv", criterion=criterion, leaf=leaf, cv=N_FOLDS)
        # A query of its own for every row: else equal rows, of which there are many, would all lie
        # in one fold, and no fold could learn from the others what it holds.
        each = np.arange(len(draw.y_train))
        tree.fit(draw.X_train, draw.y_train, qid=each)
        return rank_loss(tree.predict(draw.X_test), draw)

    return loss


def _perceptron(make: Callable[[int], Any], degree: int, n_passes: int) -> Loss:
    def loss(draw: Draw, seed: int) -> float:
        train, test = draw.numbers()
        learner = make(seed).set_params(degree=degree, n_epochs=n_passes)
        return rank_loss(learner.fit(train, draw.y_train).predict(test), draw)

    return loss


def _constant(draw: Draw, seed: int) -> float:
    """Loss of the lower median of the training grades."""
    return rank_loss(np.sort(draw.y_train)[(len(draw.y_train) - 1) // 2], draw)


def _aggregate(combine: Literal["bpm", "bag", "vote"]) -> Callable[[int], Any]:
    return lambda seed: AggregatePRank(
        combine, tau=TAU, n_prank=N_PRANK, shuffle=False, random_state=seed
    )


RANKING, GINI = "ranking tree", "Gini tree"
TREES: dict[str, Loss] = {
    RANKING: _tree("rank", "median"),
    GINI: _tree("gini", "median"),
    "Gini tree, most frequent": _tree("gini", "mode"),
}
# Rows in the order in which they are drawn, as the paper's single pass has them.
PERCEPTRONS: dict[str, Callable[[int], Any]] = {
    "PRank": lambda seed: PRank(shuffle=False),
    "VotedPRank": lambda seed: VotedPRank(shuffle=False),
    "WidrowHoff": lambda seed: WidrowHoff(learning_rate=ETA, shuffle=False),
    "AggregatePRank bpm": _aggregate("bpm"),
    "AggregatePRank bag": _aggregate("bag"),
    "AggregatePRank vote": _aggregate("vote"),
}
VARIANTS = {"": (1, 1), f", {N_PASSES} passes": (1, N_PASSES), ", degree 2": (2, 1)}
METHODS: dict[str, Loss] = {
    **TREES,
    **{
        f"{name}{variant}": _perceptron(make, *settings)
        for name, make in PERCEPTRONS.items()
        for variant, settings in VARIANTS.items()
    },
    "median grade": _constant,
}


def losses(draw: Draw, seed: int) -> dict[str, float]:
    """Mean absolute rank loss of every method."""
    return {name: loss(draw, seed) for name, loss in METHODS.items()}


def curve(draw: Draw, sizes: list[int]) -> dict[str, list[float]]:
    """Losses of the trees with the first of the training rows, for each number of them."""
    return {name: [TREES[name](draw.first(size), 0) for size in sizes] for name in (RANKING, GINI)}
