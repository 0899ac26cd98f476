"""Learning curves: rankers compared on growing sets of training queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.runtime.messages import ArgumentError, join_lines
from rankwise.selection.cells.candidates import (
    convert_to_candidates,
    score_columns,
    takes_categories,
)
from rankwise.selection.cells.result_store import FoldResult
from rankwise.selection.comparison import Progress, compare
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.splits import convert_to_folds, convert_to_judged
from rankwise.typing import Float64Array

_COLUMNS = ("label", "qid", "features", "doc_id", "unjudged", "ignore")


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Leaderboards by the number of training queries; ``print`` shows the means.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,), int64
        Numbers of training queries in each fold, ascending.
    boards : list of Leaderboard
        One leaderboard per size, with the same rankers, measures and test queries.
    """

    sizes: NDArray[np.int64]
    boards: list[Leaderboard]

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers, best first at the largest size."""
        return [row["ranker"] for row in self.boards[-1].rows()]

    @property
    def measure(self) -> str:
        """Name of the first measure."""
        return self.boards[-1].measures[0]

    def means(self, measure: str | None = None) -> dict[str, Float64Array]:
        """Mean of every ranker at every size, arrays of shape (n_sizes,).

        Means are NaN if a ranker did not finish.

        Parameters
        ----------
        measure : str, optional
            Measure of the leaderboards; None: the first.
        """
        return {name: rows[:, 0] for name, rows in self._rows(measure).items()}

    def intervals(self, measure: str | None = None) -> dict[str, Float64Array]:
        """Student's t interval of each mean over test queries, arrays of shape (n_sizes, 2).

        The interval is for the drawn training queries and does not include the variation over other
        draws. All rankers and sizes share the test queries, so differences are more certain than
        the intervals suggest; the leaderboards test the differences.

        Parameters
        ----------
        measure : str, optional
            Measure of the leaderboards; None: the first.
        """
        return {name: rows[:, 1:] for name, rows in self._rows(measure).items()}

    def _rows(self, measure: str | None) -> dict[str, Float64Array]:
        """Mean and interval by ranker, arrays of shape (n_sizes, 3)."""
        tables = [{row["ranker"]: row for row in board.rows(measure)} for board in self.boards]
        ends = ("mean", "low", "high")
        return {
            name: np.array([[table[name][what] for what in ends] for table in tables], dtype=float)
            for name in self.rankers
        }

    def __str__(self) -> str:
        names = ["training queries", *self.rankers]
        columns = [self.sizes.tolist(), *(np.round(v, 4) for v in self.means().values())]
        texts = [
            [name, *(f"{v:.4f}" if isinstance(v, float) else str(v) for v in column)]
            for name, column in zip(names, columns, strict=True)
        ]
        widths = [max(map(len, column)) for column in texts]
        lines = (
            "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
            for line in zip(*texts, strict=True)
        )
        return join_lines([self.measure, *lines])


def learning_curve(
    rankers: Any,
    data: RankingData | Fold | FoldedData | Sequence[Fold] | Any,
    sizes: Sequence[int],
    *,
    cv: Any = None,
    random_state: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> LearningCurve:
    """Compare rankers on growing sets of training queries, with the same test queries.

    Parameters
    ----------
    rankers : registry key, estimator or scores, sequence of them, or mapping from name to them
        As in :func:`compare`.
    data : frame, RankingData, Fold, FoldedData or sequence of Fold
        As in :func:`compare`.
    sizes : sequence of int >= 1
        Numbers of training queries, at most those of the smallest training part. A larger set
        contains the smaller ones.
    cv : int, splitter or iterable of splits, optional
        As in :func:`compare`.
    random_state : int, default=0
        Seed for drawing the queries of each fold, and for :func:`compare`.
    progress : callable, optional
        Called as ``progress(done, total, cell)`` after each cell of any size.
    **options
        Other options of :func:`compare`, such as ``measures``, ``store`` and ``n_jobs``.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError, TypeError
        If a size is below 1 or above the number of training queries of a fold, or as in
        :func:`compare`.

    Notes
    -----
    The validation part stays complete at every size, so its queries must be judged as well. There
    are ``len(sizes)`` times as many cells as in :func:`compare`. With a ``store``, only missing
    cells are computed.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.selection import learning_curve
    >>> folds = load_dataset("lambdarank")
    >>> curve = learning_curve("ridge", folds, [10, 40], measures="AP", isolate=False)
    >>> curve.sizes.tolist(), bool(curve.means()["ridge"][1] > curve.means()["ridge"][0])
    ([10, 40], True)
    """
    columns = {name: options.pop(name) for name in _COLUMNS if name in options}
    candidates = convert_to_candidates(rankers, random_state=random_state)
    data = convert_to_judged(
        data,
        score_columns=score_columns(candidates),
        categories=any(takes_categories(candidate.estimator) for candidate in candidates),
        **columns,
    )
    folds = convert_to_folds(data, cv, random_state=random_state)
    checked = _check_sizes(sizes, min(fold.train.n_queries for fold in folds))
    boards: list[Leaderboard] = []

    def note(done: int, total: int, cell: FoldResult) -> None:
        if progress is not None:
            progress(done + total * len(boards), total * len(checked), cell)

    for size in checked.tolist():
        part = _limit_queries(folds, size, random_state)
        board = compare(rankers, part, random_state=random_state, progress=note, **options)
        boards.append(board)
    return LearningCurve(checked, boards)


def _check_sizes(sizes: Sequence[int], n_queries: int) -> NDArray[np.int64]:
    """Check the sizes; return them ascending, without repetitions."""
    given = np.unique(np.asarray(sizes))
    is_whole = given.dtype.kind in "iu" and given.size > 0
    if not is_whole or given[0] < 1 or given[-1] > n_queries:
        raise ArgumentError(
            "sizes",
            f"must be whole numbers from 1 to {n_queries}, the training queries of the smallest "
            f"fold, got {list(sizes)}.",
        )
    return given.astype(np.int64)


def _limit_queries(folds: FoldedData, size: int, random_state: int) -> FoldedData:
    """The same folds with ``size`` training queries each."""

    def make(i: int) -> Fold:
        fold = folds[i]
        order = np.random.default_rng([random_state, i]).permutation(fold.train.n_queries)
        train = fold.train.queries(np.sort(order[:size]))
        return Fold(train, fold.vali, fold.test, fold.name)

    return FoldedData(folds.name, folds.fold_names, make)
