"""Contributions of features, as text and bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.runtime.messages import join_lines
from rankwise.typing import Float64Array

SHOWN = 10


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """Contributions of the features to the difference of two scores.

    Attributes
    ----------
    names : sequence of str
        Names of the features.
    values : ndarray of shape (n_features,), float64
        Contributions, which add up to ``score_a - score_b``.
    score_a, score_b : float
        Scores of the two rows.
    row_a, row_b : sequence
        Values of the features in the two rows.
    error : ndarray of shape (n_features,), or None
        Standard errors of sampled contributions; None if they are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.explain import explain_pair
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 2.0]])
    >>> ranker = RidgeRanker(alpha=1e-9).fit(X, [1, 4, 6, 2], qid=0)
    >>> print(explain_pair(ranker, X[2], X[0]))
    score 6 against 1: 5 above
    feature   contribution     A     B
    x0                  +3     1     0
    x1                  +2     3     1
    """

    names: Sequence[str]
    values: Float64Array
    score_a: float
    score_b: float
    row_a: Sequence[Any]
    row_b: Sequence[Any]
    error: Float64Array | None = None

    def order(self) -> Any:
        """Order of the features by absolute contribution, largest first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def text(self, most: int = SHOWN) -> str:
        """Table of the ``most`` largest contributions."""
        difference = self.score_a - self.score_b
        side = "above" if difference >= 0 else "below"
        lines = [
            f"score {self.score_a:.4g} against {self.score_b:.4g}: {abs(difference):.4g} {side}"
        ]
        order = [j for j in self.order().tolist() if self.values[j] != 0]
        width = max([len("feature"), *(len(self.names[j]) for j in order[:most])])
        sampled = "" if self.error is None else "        ±"
        lines.append(f"{'feature':<{width}}   contribution{sampled}     A     B")
        for j in order[:most]:
            error = "" if self.error is None else f" {self.error[j]:8.2g}"
            lines.append(
                f"{self.names[j]:<{width}} {self.values[j]:>+14.4g}{error}"
                f" {format_value(self.row_a[j]):>5} {format_value(self.row_b[j]):>5}"
            )
        rest = order[most:]
        if rest:
            lines.append(f"{len(rest)} others {self.values[rest].sum():+.4g}")
        return join_lines(lines)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False)
class RankingExplanation:
    """Contributions of the features to the scores of rows within their queries.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n_samples, n_features), float64
        Contributions to a row's score minus the mean score of its query.
    scores : ndarray of shape (n_samples,)
    groups : QueryGroups
    exact : bool
        Whether the contributions are exact; otherwise they use some of the query's rows, or are
        sampled.
    """

    names: Sequence[str]
    values: Float64Array
    scores: Float64Array
    groups: QueryGroups
    exact: bool

    def ranks(self) -> Any:
        """1-based rank of every row within its query."""
        return self.groups.ranks(self.scores)

    def importances(self) -> Float64Array:
        """Mean absolute contribution of every feature, shape (n_features,)."""
        return np.abs(self.values).mean(axis=0)

    def text(self, rows: int = SHOWN, features: int = 3) -> str:
        """First ``rows`` of every query, each with its largest contributions."""
        ranks = self.ranks()
        lines = []
        for query in range(self.groups.n_queries):
            members = self.groups.rows([query])
            lines.append(f"query {self.groups.ids[query]}")
            for row in members[np.argsort(ranks[members])][:rows].tolist():
                lines.append(
                    f"  {ranks[row]:>3}  row {row}  score {self.scores[row]:.4g}  "
                    + _largest(self.names, self.values[row], features)
                )
        return join_lines(lines)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False)
class ScoreExplanation:
    """Contributions of the features to the score of every row.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n_samples, n_features), float64
        Contributions to a row's score minus ``expected``.
    scores : ndarray of shape (n_samples,)
    expected : float
        Score without any feature: its mean over the training rows, as stored in the trees, or over
        the background rows.
    exact : bool
        Whether the contributions are exact; otherwise they are sampled.
    """

    names: Sequence[str]
    values: Float64Array
    scores: Float64Array
    expected: float
    exact: bool

    def importances(self) -> Float64Array:
        """Mean absolute contribution of every feature, shape (n_features,)."""
        return np.abs(self.values).mean(axis=0)

    def text(self, rows: int = SHOWN, features: int = 3) -> str:
        """First ``rows``, each with its largest contributions."""
        lines = [f"expected score {self.expected:.4g}"]
        for row in range(min(rows, len(self.scores))):
            lines.append(
                f"  row {row}  score {self.scores[row]:.4g}  "
                + _largest(self.names, self.values[row], features)
            )
        return join_lines(lines)

    def __str__(self) -> str:
        return self.text()


def _largest(names: Sequence[str], values: Float64Array, most: int) -> str:
    """Largest contributions of a row."""
    order = np.argsort(-np.abs(values), kind="stable")[:most].tolist()
    return ", ".join(f"{names[j]} {values[j]:+.3g}" for j in order if values[j] != 0)


def format_value(value: Any) -> str:
    """Value of a feature as text, with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
