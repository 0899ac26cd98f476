"""RankBoost with one number of rounds for all reviewers, chosen by five-fold cross-validation.

Its scores order items and say nothing of ratings, so rounds are chosen by misranked held-out pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise import RankBoost
from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer

ROUNDS = (25, 50, 100, 200, 400)
N_FOLDS = 5
N_TUNED = 100  # reviewers whose held-out pairs are counted


def fit_rankboost(
    reviewers: Sequence[Reviewer], features: Sequence[Float64Array], seed: Sequence[int]
) -> tuple[list[Float64Array], str]:
    """Scores of all test rows after the chosen number of rounds, and that number as text."""
    tuned = zip(reviewers[:N_TUNED], features[:N_TUNED], strict=True)
    shares = np.array([_held_out(reviewer, X, seed) for reviewer, X in tuned])
    best = int(np.nanmean(shares, axis=0).argmin())
    scores = []
    for reviewer, X in zip(reviewers, features, strict=True):
        n = reviewer.n_train
        ranker = _trained(ROUNDS[best], X[:n], reviewer.y_train)
        scores.append(np.zeros(len(X) - n) if ranker is None else ranker.predict(X[n:]))
    return scores, f"{ROUNDS[best]} rounds"


def _held_out(reviewer: Reviewer, X: Float64Array, seed: Sequence[int]) -> Float64Array:
    """Share of misranked pairs of held-out items for each of ``ROUNDS``; NaN without a pair."""
    fold, y = reviewer.folds(seed)[0] % N_FOLDS, reviewer.y_train
    wrong, n_pairs = np.zeros(len(ROUNDS)), 0
    for number in range(fold.max() + 1):
        train, held_out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        stages = _stages(_trained(ROUNDS[-1], X[train], y[train]), X[held_out])
        upper, lower = np.nonzero(y[held_out, None] > y[held_out])
        wrong += (stages[:, upper] <= stages[:, lower]).sum(axis=1)
        n_pairs += len(upper)
    return wrong / n_pairs if n_pairs else np.full(len(ROUNDS), np.nan)


def _trained(n_rounds: int, X: Float64Array, y: Float64Array) -> RankBoost | None:
    """None where the ratings have no pair to learn from: every score is then 0."""
    return RankBoost(n_rounds).fit(X, y, qid=0) if np.ptp(y) else None


def _stages(ranker: RankBoost | None, X: Float64Array) -> Float64Array:
    """Scores after each of ``ROUNDS``, or after the last round if there are fewer."""
    stages = [] if ranker is None else list(ranker.staged_predict(X))
    if not stages:
        return np.zeros((len(ROUNDS), len(X)))
    return np.stack([stages[min(n, len(stages)) - 1] for n in ROUNDS])
