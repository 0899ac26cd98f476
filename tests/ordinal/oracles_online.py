"""Online ordinal learners as their papers write them: loops over rows, classes and hypotheses."""

from __future__ import annotations

import numpy as np


def products(x):
    """Features of (x.z + 1)^2."""
    x, root = np.asarray(x, dtype=float), np.sqrt(2)
    pairs = [
        x[i] ** 2 if i == j else root * x[i] * x[j] for i in range(len(x)) for j in range(i, len(x))
    ]
    return np.array([*pairs, *(root * x), 1.0])


def rank_of(score, b):
    """First r (from 0) with score - b_r < 0; b_K is infinite."""
    return next(r for r, b_r in enumerate([*b, np.inf]) if score - b_r < 0)


class NaivePRank:
    """Crammer & Singer, Figure 2, with every hypothesis on record."""

    def __init__(self, n_columns, n_classes):
        self.w, self.b = np.zeros(n_columns), np.zeros(n_classes - 1)
        self.history = [(self.w.copy(), self.b.copy())]
        self.survived, self.loss, self.mistakes = [0], 0, 0

    def see(self, x, rank):
        score = self.w @ x
        predicted = rank_of(score, self.b)
        self.loss += abs(predicted - rank)
        if predicted == rank:
            self.survived[-1] += 1
            return
        sides = np.array([-1 if rank <= r else 1 for r in range(len(self.b))])
        tau = np.where((score - self.b) * sides <= 0, sides, 0)
        self.w = self.w + tau.sum() * x
        self.b = self.b - tau
        self.mistakes += 1
        self.history.append((self.w.copy(), self.b.copy()))
        self.survived.append(1)

    def votes(self, x):
        """Votes of all hypotheses for each class."""
        votes = np.zeros(len(self.b) + 1)
        for (w, b), rows in zip(self.history, self.survived, strict=True):
            votes[rank_of(w @ x, b)] += rows
        return votes


def naive_least_mean_squares(Phi, ranks, eta):
    """Weights after one pass; ranks count from 1."""
    w = np.zeros(Phi.shape[1])
    for phi, rank in zip(Phi, ranks, strict=True):
        w = w + min(eta, 1 / (phi @ phi)) * (rank - w @ phi) * phi
    return w


def winner(votes, rule):
    """Class from votes: ties of the mode to the lowest, lowest median, mean rounded half up."""
    ranks = range(len(votes))
    if rule == "mode":
        return max(ranks, key=lambda r: (votes[r], -r))
    if rule == "median":
        return next(r for r in ranks if votes[: r + 1].sum() >= votes.sum() / 2)
    return int(np.floor(votes @ np.arange(len(votes)) / votes.sum() + 0.5))
