"""RankBoost: boosting of the pairs of a query with thresholds on features [1]_.

Minimises ``sum_q c_q sum_{i,j: y_i > y_j} w_ij exp(-(f_i - f_j))`` one stump at a time.

References
----------
.. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
   preferences", Journal of Machine Learning Research 4 (2003).
"""

from __future__ import annotations

from typing import Any, ClassVar

from rankwise.checks.parameter_constraints import StrOptions
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.pair_weights import PairWeight
from rankwise.rankers.boosting.stump_ranker import StumpRanker
from rankwise.solvers.boosting.pair_boosting import PairBoosting


class RankBoost(StumpRanker):
    """Boosted thresholds on features for the pairs of each query (RankBoost).

    The score of a row is a weighted sum of binary weak rankers, up to a constant.

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Largest number of rounds. Training ends earlier if no weak ranker lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Largest number of bins per feature. A feature with at most ``max_bins`` distinct values has
        thresholds between all of them; other features have thresholds between bins of about equal
        weight. None: thresholds between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair with labels a > b. None: 1. "difference": a - b. "gain": 2^a - 2^b.
        "power": a^(a - b). "product": a (a - b). A function receives the arrays of upper and lower
        labels and returns weights >= 0.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many rounds without improvement and
        keep the rounds up to the best.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing rounds up to ``n_estimators``. On the same rows
        the result is bit-identical to that of a single fit.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Sum of the loss over the (weighted) pairs, before the first round and after every round.
    n_estimators_ : int
        Number of rounds kept.
    ensemble_ : StumpEnsemble
        ``features``, ``thresholds``, ``directions``, ``steps`` and ``missing`` of the weak rankers,
        in the order of the rounds. A weak ranker moves its two sides ``2 steps`` apart.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Let H be the current score. A pair has the weight ``exp(H_j - H_i)``. A row i has the sum of
    these weights over the rows of lower grade in its query, minus the sum over those of higher
    grade. A round takes the weak ranker h in {0, 1} with the largest sum of row weights (the third
    criterion of [1]_), and adds ``log(W+ / W-) / 2`` times h. W+ and W- are the weights of the
    pairs that h orders correctly and wrongly. The step is the exact minimiser, so the loss
    decreases in every round; it bounds the number of misordered pairs. Without mistakes the step is
    finite, at most 14.

    Rows with a missing value (NaN) go to the side that lowers the loss more (the default value of
    [1]_). If the feature had no missing values in training, they go midway between both sides.

    Row weights are computed from sums of ``exp(H)`` and ``exp(-H)`` by query and grade, without
    listing pairs. A round reads every value of X once, as a byte. It costs O(N d), and O(N +
    layers) for the rest, independent of the number of pairs (layers^2 of each query with
    ``pair_weight``).

    Differs from [1]_: scores are lower by half the sum of all steps, and features with many values
    are binned.

    Composition: exponential loss of pairs of distinct grades x stumps x boosting steps.

    References
    ----------
    .. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
       preferences", Journal of Machine Learning Research 4 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankBoost
    >>> X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, np.nan], [0.2, 4.0], [0.9, 1.0]])
    >>> booster = RankBoost(n_estimators=3).fit(X, [0, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> booster.rank(X, qid=[1, 1, 1, 2, 2])
    array([3, 2, 1, 2, 1])
    >>> booster.loss_curve_[:2].round(3).tolist()
    [4.0, 1.0]
    """

    _algorithm = PairBoosting
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StumpRanker._parameter_constraints,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        max_bins: int | None = 255,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.pair_weight = pair_weight
        self.query_weight: QueryWeight = query_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
