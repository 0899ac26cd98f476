"""ReciprocalRankBlend: the mean of the reciprocal ranks that several rankers give.

Composition: scores of rankers, as ranks within each query x a weighted mean of 1 / (k + rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from rankwise.rankers.ensemble.blend import Blend
from rankwise.rankers.ensemble.members_mixin import DEFAULT_RANKERS
from rankwise.typing import ArrayLike, Float64Array


class ReciprocalRankBlend(Blend):
    """Mean over rankers of ``1 / (k + r)`` for a row's rank r in its query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        None: all alike.
    k : float >= 0, default=60.0
        The larger, the less the first ranks stand out.
    measure : str or None, default=None
        What registry keys choose by. None: nDCG@10 for grades, otherwise pairwise misranking.
    random_state : int, RandomState or None, default=None
        Seed of every ranker that has none.

    Attributes
    ----------
    models_ : list of one dict of str to fitted estimator
    weights_ : ndarray of shape (n_rankers,)
        Of sum 1.
    scaler_ : QueryScaler
    n_rows_ : int
        Rows of ``fit``.
    score_name_ : str
    n_features_in_ : int

    Notes
    -----
    Reciprocal rank fusion. Time: one fit of every ranker. Rows that a ranker scores alike share
    the mean of their ranks. ``predict`` without ``qid``: ranks among the rows of ``fit``.

    References
    ----------
    .. [1] Cormack, Clarke & Buettcher, "Reciprocal rank fusion outperforms Condorcet and
       individual rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LinearRegressionRanker, RankSVM, ReciprocalRankBlend
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = ReciprocalRankBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.predict(X, qid=qid).round(4)
    array([0.0161, 0.0164, 0.0161, 0.0164])
    """

    _scaling = "rank"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Blend._parameter_constraints,
        "k": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimators: Sequence[Any] = DEFAULT_RANKERS,
        weights: ArrayLike | None = None,
        *,
        k: float = 60.0,
        measure: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimators, weights, measure=measure, random_state=random_state)
        self.k = k

    def _points(self, scaled: Float64Array, sizes: Float64Array) -> Float64Array:
        rank = (sizes + 1) / 2 - sizes * scaled
        return 1.0 / (self.k + rank)
