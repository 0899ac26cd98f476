"""BordaBlend: the mean of the ranks that several rankers give.

Composition: scores of rankers, as ranks within each query x a weighted mean.
"""

from __future__ import annotations

from rankwise.rankers.ensemble.blend import Blend


class BordaBlend(Blend):
    """Mean over rankers of a row's rank within its query (Borda's count).

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
        ``(below - above) / (2 m)`` of the m rows of a query: Borda's points, centred.
    n_rows_ : int
        Rows of ``fit``.
    score_name_ : str
    n_features_in_ : int

    Notes
    -----
    Time: one fit of every ranker. Rows that a ranker scores alike share their ranks. ``predict``
    without ``qid``: ranks among the rows of ``fit``.

    References
    ----------
    .. [1] Aslam & Montague, "Models for metasearch", SIGIR 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import BordaBlend, LinearRegressionRanker, RankSVM
    >>> X, y, qid = np.array([[0.0, 1], [2, 0], [1, 1], [0, 3]]), [0, 1, 0, 2], [1, 1, 2, 2]
    >>> blend = BordaBlend([LinearRegressionRanker(), RankSVM()]).fit(X, y, qid=qid)
    >>> blend.predict(X, qid=qid)
    array([-0.25,  0.25, -0.25,  0.25])
    """

    _scaling = "rank"
