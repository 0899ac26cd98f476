"""BordaBlend: mean rank over several rankers.

Composition: scores of rankers, as ranks within each query x a weighted mean.
"""

from __future__ import annotations

from rankwise.rankers.ensemble.blend import Blend


class BordaBlend(Blend):
    """Mean over rankers of the rank of a row within its query (Borda count).

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
        Scaling to centred Borda points: ``(below - above) / (2 m)`` for m rows of a query.
    n_rows_ : int
        Number of rows of ``fit``.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Training fits every ranker once. Rows with equal scores under a ranker share their ranks.
    Without ``qid``, ``predict`` uses ranks among the rows of ``fit``.

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
