"""ELMRank by the paper's protocol: 50 node draws that tune (lam, C) each, their scores averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.features.random_features import NodeMap, draw_nodes
from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer
from rankwise_papers.tuned_draws import tune_draws

N_NODES = 100
SINGLE_DRAWS = 5  # of the 50, measured one by one


def node_draws(n_features: int, n_draws: int, seed: int) -> list[NodeMap]:
    """Sigmoid nodes, weights U[-1, 1] and biases U[0, 1]; draw d has the seed ``seed + d``."""
    return [
        draw_nodes(n_features, N_NODES, "sigmoid", np.random.RandomState(seed + draw))
        for draw in range(n_draws)
    ]


def elmrank_scores(
    reviewers: Sequence[Reviewer],
    features: Sequence[Float64Array],
    maps: Sequence[NodeMap],
    seed: Sequence[int],
) -> list[Float64Array]:
    """Scores of the test rows of every reviewer for each draw, shape (n_draws, n_test).

    ``features``: all rows of each reviewer, training rows first. Each draw has folds of its own.
    """
    scores = []
    for reviewer, X in zip(reviewers, features, strict=True):
        n, folds = reviewer.n_train, reviewer.folds(seed, len(maps))
        scores.append(tune_draws(X[:n], reviewer.y_train, X[n:], maps, folds).draw_scores)
    return scores
