"""The fourteen methods of the table on drawn points, and their losses on test points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rankwise import AggregatePRank, PRank, RankingTree, VotedPRank, WidrowHoff
from rankwise.datasets import make_ordinal_square, ordinal_square_ranks
from rankwise.features.polynomial_terms import AffinePowers
from rankwise.typing import Float64Array, Int64Array

N_TRAIN, N_TEST = 50_000, 1000
TAUS = (0.3, 0.6, 0.9)
COMBINED: dict[str, Literal["vote", "bpm", "bag"]] = {"VP": "vote", "BPM": "bpm", "Bagg": "bag"}
N_PRANK = 100
AVERAGED = "PRank, mean of all hypotheses"
DEPTHS = tuple(range(1, 15))
TABLE_DEPTH = 9
RULES = ("mode", "median", "mean")
Criterion = Literal["rank", "gini"]


@dataclass(frozen=True, eq=False)
class Points:
    """Training and test points of one repetition, ranks from 1."""

    X: Float64Array
    y: Int64Array
    X_test: Float64Array
    y_test: Int64Array

    def loss(self, ranks: Any) -> float:
        """Mean absolute rank loss on the test points; of mean votes too."""
        return float(np.abs(np.asarray(ranks) - self.y_test).mean())


def points(seed: int, n_train: int) -> Points:
    """The first ``n_train`` of 50,000 training points, and 1,000 test points."""
    X, y = make_ordinal_square(N_TRAIN + N_TEST, random_state=seed)
    return Points(X[:n_train], y[:n_train], X[N_TRAIN:], y[N_TRAIN:])


def perceptrons(data: Points, seed: int) -> dict[str, dict[str, float]]:
    """Losses of the twelve online methods after one pass, by vote rule.

    "one" where there are no votes; else "unrounded", the mean vote against the rank, and the
    classes by "mode", "median" and "mean", the rounded mean vote. ``AVERAGED`` is beside them.
    """
    losses: dict[str, dict[str, float]] = {}
    for name, learner in (
        ("WidrowHoff(eta=0.1)", WidrowHoff(learning_rate=0.1, degree=2, shuffle=False)),
        ("PRank", PRank(degree=2, shuffle=False)),
    ):
        losses[name] = {"one": data.loss(learner.fit(data.X, data.y).predict(data.X_test))}
    voted = VotedPRank(degree=2, shuffle=False)
    losses["PRank-VP"] = _by_rule(voted, data)
    losses[AVERAGED] = {"one": data.loss(mean_hypothesis(voted, data.X_test))}
    for tau in TAUS:
        for letters, combine in COMBINED.items():
            learner = AggregatePRank(
                combine, tau, n_prank=N_PRANK, degree=2, shuffle=False, random_state=seed
            )
            name = f"OAP-{letters}(tau={tau})"
            if combine == "bpm":
                losses[name] = {"one": data.loss(learner.fit(data.X, data.y).predict(data.X_test))}
            else:
                losses[name] = _by_rule(learner, data)
    return losses


def mean_hypothesis(voted: VotedPRank, X: Float64Array) -> Int64Array:
    """Ranks by the mean of all weights and thresholds that PRank held, as long as it held them.

    A step counts in all hypotheses that come after it.
    """
    shares = voted.survival_ / voted.n_seen_
    after = np.cumsum(shares[:0:-1])[::-1]
    kernel = AffinePowers(X.shape[1], degree=2).kernel
    scores = kernel(X, voted.X_fit_) @ (after * voted.dual_coef_)
    return 1 + np.searchsorted(shares @ voted.threshold_path_, scores, side="right")


def _by_rule(learner: VotedPRank | AggregatePRank, data: Points) -> dict[str, float]:
    """One fit, each rule of its votes in turn; mean votes count from 0, ranks from 1."""
    learner.fit(data.X, data.y)
    losses = {"unrounded": data.loss(1 + learner.rank_score(data.X_test))}
    for rule in RULES:
        losses[rule] = data.loss(learner.set_params(votes=rule).predict(data.X_test))
    return losses


def trees(data: Points) -> dict[str, Any]:
    """Losses of the noiseless rule and, at each depth, of both trees.

    "rank" and "gini" hold "depths" (losses at ``DEPTHS``), "chosen" (the loss at the depth of the
    least rank loss in five folds of the training points) and "chosen depth".
    """
    losses: dict[str, Any] = {"rule": data.loss(ordinal_square_ranks(data.X_test))}
    for criterion in get_args(Criterion):
        fits = [fitted_tree(criterion, depth, data) for depth in DEPTHS]
        chosen = fitted_tree(criterion, "cv", data)
        losses[criterion] = {
            "depths": [data.loss(tree.predict(data.X_test)) for tree in fits],
            "chosen": data.loss(chosen.predict(data.X_test)),
            "chosen depth": chosen.max_depth_,
        }
    return losses


def fitted_tree(criterion: Criterion, depth: int | Literal["cv"], data: Points) -> RankingTree:
    """Exact splits at midpoints, no rule on leaves, the median in each."""
    tree = RankingTree(max_depth=depth, criterion=criterion, leaf="median", method="exact")
    return tree.fit(data.X, data.y)
