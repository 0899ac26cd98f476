"""Classes from votes: the mode, the lower median, or the mean of the ranks voted for.

Composition: what VotedPRank and AggregatePRank predict by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.typing import Float64Array, FrameLike

VOTES = StrOptions({"mode", "median", "mean"})


class Votes(OrdinalRanker):
    """Mixin of PRanks that vote."""

    votes: str

    def vote_shares(self, X: FrameLike) -> Float64Array:
        """Share of the votes that each class gets.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Rows sum to 1.
        """
        votes = self._count_votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Mean class number voted for, unrounded.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
            From 0, the lowest class, to n_classes - 1, whatever ``votes`` is.
        """
        votes = self._count_votes(X)
        return votes @ np.arange(votes.shape[1], dtype=np.float64) / votes.sum(axis=1)

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row by the rule of ``votes``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
            "mode": the class with the most votes, of equal ones the lowest; "median": the lowest
            class that half of the votes do not exceed; "mean": the rounded mean, halves upwards.
        """
        if self.votes == "mean":
            return super().predict(X)
        chosen = self._merits(X).argmax(axis=1)
        return self.classes_[chosen]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """What the rule of ``votes`` makes largest, in scikit-learn's shape.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            "mode": share of the votes; "median": minus the expected rank loss under the votes;
            "mean": distances of the mean from half steps. Two classes: upper less lower.
        """
        if self.votes == "mean":
            return super().decision_function(X)
        merits = self._merits(X)
        return merits[:, 1] - merits[:, 0] if merits.shape[1] == 2 else merits

    def _merits(self, X: FrameLike) -> Float64Array:
        votes = self._count_votes(X)
        if self.votes == "median":
            ranks = np.arange(votes.shape[1], dtype=np.float64)
            merits = -(votes @ np.abs(ranks[:, None] - ranks))
        else:
            merits = votes
        return merits / votes.sum(axis=1, keepdims=True)

    def _count_votes(self, X: FrameLike) -> Float64Array:
        """Votes, (n_samples, n_classes); whole numbers, some in every row."""
        raise NotImplementedError

    def _half_steps(self) -> Float64Array:
        return np.arange(len(self.classes_) - 1) + 0.5
