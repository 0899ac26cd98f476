"""ScoreBlend: the mean of the standardised scores of several rankers.

Composition: scores of rankers, standardised within each query x a weighted mean.
"""

from __future__ import annotations

from rankwise.rankers.ensemble.blend import Blend


class ScoreBlend(Blend):
    """Mean over rankers of their scores, each of mean 0 and variance 1 within the query.

    Parameters
    ----------
    estimators : list of str, estimators or (str, estimator) pairs
        As in :class:`StackingRanker`.
    weights : array-like of shape (n_rankers,), >= 0, or None, default=None
        None: all alike.
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
    Time: one fit of every ranker. Nothing on top is trained, so that no query is spent on it.
    ``predict`` without ``qid``: scaled as the rows of ``fit``.

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
