"""ScoreBlend: mean of the standardised scores of several rankers.

Composition: scores of rankers, standardised within each query x a weighted mean.
"""

from __future__ import annotations

from rankwise.rankers.ensemble.blend import Blend


class ScoreBlend(Blend):
    """Mean of ranker scores that are scaled to mean 0 and variance 1 within each query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        Weight of each ranker. None: equal weights.
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
    Training fits every ranker once. There is no final model, so no queries are reserved for it.
    Without ``qid``, ``predict`` scales scores with the statistics of the rows of ``fit``.

    References
    ----------
    .. [1] Lee, "Analyses of multiple evidence combination", SIGIR 1997 (sums of normalised
       scores, CombSUM).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LinearRegressionRanker, RankSVM, ScoreBlend
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = ScoreBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.rank(X, qid)
    array([2, 1, 2, 1])
    """

    _scaling = "standard"
