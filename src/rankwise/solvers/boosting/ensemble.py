"""Base learners and their steps, round by round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array, Matrix


class Ensemble(ABC):
    """Base learners in the order they were found; the score is the sum of their changes.

    Subclasses are frozen dataclasses, and ``_by_round`` names the fields that hold one entry per
    round.
    """

    _by_round: ClassVar[tuple[str, ...]]

    steps: Float64Array

    def __len__(self) -> int:
        return len(self.steps)

    @abstractmethod
    def prepare(self, X: Matrix) -> Any:
        """Rows in the form that ``changes`` takes."""

    @abstractmethod
    def changes(self, prepared: Any) -> Iterator[Float64Array]:
        """Change of the scores of the rows in every round."""

    def staged_scores(self, X: Matrix) -> Iterator[Float64Array]:
        """Scores of the rows after every round."""
        scores = np.zeros(X.shape[0])
        for change in self.changes(self.prepare(X)):
            # A new array, because the caller may keep the one yielded before.
            scores = scores + change
            yield scores

    def part(self, start: int, stop: int) -> Self:
        """The base learners of some rounds."""
        fields = {name: getattr(self, name)[start:stop] for name in self._by_round}
        copied: Any = self
        return replace(copied, **fields)

    def join(self, others: Sequence[Self]) -> Self:
        """The ensemble followed by the base learners of others."""
        every: Any = (self, *others)
        columns = {name: [getattr(part, name) for part in every] for name in self._by_round}
        return replace(every[0], **{name: np.concatenate(columns[name]) for name in columns})


class SignEnsemble(Ensemble):
    """Base learners with values -1 and 1, multiplied by steps > 0."""

    @abstractmethod
    def single(self, base: Any, step: float) -> Self:
        """An ensemble of the single base learner that a search found."""

    @abstractmethod
    def sides(self, prepared: Any) -> Iterator[NDArray[np.bool_]]:
        """Rows that go up, in every round."""

    @abstractmethod
    def score(self, X: Matrix) -> Float64Array:
        """Sum over all rounds of ``step`` for rows that go up, ``-step`` for the others."""

    @abstractmethod
    def importances(self, n_features: int) -> Float64Array:
        """Share of each feature in the sum of all steps; 0 without base learners."""
