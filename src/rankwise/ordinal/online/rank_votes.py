"""Classes from votes: the mode, the lower median or the mean of the ranks voted for.

Composition: prediction rule of VotedPRank and AggregatePRank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.typing import Float64Array, FrameLike

VOTES = StrOptions({"mode", "median", "mean"})


class Votes(OrdinalRanker):
    """Mixin of estimators that combine PRanks by votes."""

    votes: str

    def vote_shares(self, X: FrameLike) -> Float64Array:
        """Share of the votes for each class.

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
        """Unrounded mean class number of the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
            Between 0, the lowest class, and n_classes - 1, for any rule in ``votes``.
        """
        votes = self._count_votes(X)
        return votes @ np.arange(votes.shape[1], dtype=np.float64) / votes.sum(axis=1)

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row according to the rule in ``votes``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
            "mode": the class with the most votes; ties go to the lowest class. "median": the lowest
            class that half of the votes do not exceed. "mean": the rounded mean; halves are rounded
            up.
        """
        if self.votes == "mean":
            return super().predict(X)
        chosen = self._merits(X).argmax(axis=1)
        return self.classes_[chosen]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Quantity that the rule in ``votes`` maximises, in scikit-learn's shape.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            "mode": share of the votes. "median": negative expected rank loss under the votes.
            "mean": distance of the mean from the thresholds 0.5, 1.5, .... For two classes: value
            of the upper class minus that of the lower class.
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
        """Votes of shape (n_samples, n_classes): whole numbers, at least one in every row."""
        raise NotImplementedError

    def _half_steps(self) -> Float64Array:
        return np.arange(len(self.classes_) - 1) + 0.5
