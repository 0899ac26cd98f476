"""ReciprocalRankBlend: mean reciprocal rank over several rankers.

Composition: scores of rankers, as ranks within each query x a weighted mean of 1 / (k + rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rankwise.checks.parameter_constraints import NOT_NEGATIVE
from rankwise.rankers.ensemble.blend import Blend
from rankwise.rankers.ensemble.members_mixin import DEFAULT_RANKERS
from rankwise.typing import ArrayLike, Float64Array


class ReciprocalRankBlend(Blend):
    """Mean over rankers of ``1 / (k + r)`` for the rank r of a row in its query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
    k : float >= 0, default=60.0
        Smoothing constant: the larger k, the smaller the advantage of the top ranks.
    measure : str or None, default=None
        Tuning metric of rankers given by registry key. None: nDCG@10 for grades, otherwise pairwise
        misranking.
    random_state : int, RandomState or None, default=None
        Seed for every ranker whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of one dict of str to fitted estimator
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weight of each ranker; the sum is 1.
    scaler_ : QueryScaler
        Scaling of the scores of each ranker.
    n_rows_ : int
        Number of rows of ``fit``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    This is reciprocal rank fusion. Training fits every ranker once. Rows with equal scores under a
    ranker share the mean of their ranks. Without ``qid``, ``predict`` uses ranks among the rows of
    ``fit``.

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
        "k": [NOT_NEGATIVE],
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
