"""FRank: boosting of the pairs of a query under the fidelity loss [1]_.

Minimises ``sum_q c_q sum_{i,j: y_i > y_j} w_ij (1 - sqrt(P_ij))`` one stump at a time, with
``P_ij = 1 / (1 + exp(-(f_i - f_j)))``.

References
----------
.. [1] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.rows import FitData
from rankwise.losses.laplacian import QUERY_WEIGHTS
from rankwise.losses.layered_pairs import LayeredPairs, layer_pairs
from rankwise.losses.pair_weights import PairWeight
from rankwise.rankers.boosting.stump_ranker import StumpRanker
from rankwise.solvers.boosting.fidelity_boosting import FidelityBoosting


class FRank(StumpRanker):
    """Boosted thresholds on features under the fidelity loss of pairs (FRank).

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Rounds. Fewer are kept where no threshold is left that lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Thresholds are between all values of a feature with at most so many, and between bins of
        about equal weight of others. None: between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankBoost`.
    query_weight : {"normalised", "pair", "document", "query"}, default="normalised"
        "normalised": the pairs of a query weigh 1 together. Else a query of m rows weighs 1,
        1 / m or 1 / m^2.
    measure : str, default="nDCG@10"
        Taken on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only where ``fit`` receives X_val: stop after this many rounds without improvement
        and keep the rounds up to the best.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the rounds that are there up to ``n_estimators``. On the same
        rows the result has the bits of one fit.
    max_pairs : int >= 1, default=10**8
        Most pairs of training rows; more are an error, since a round takes several passes over
        all of them.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Loss before the first round and after each; with "normalised" queries at most their number.
    n_estimators_ : int
        Rounds kept.
    ensemble_ : StumpEnsemble
        As in :class:`RankBoost`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round, where X_val was given.
    score_name_ : str

    Notes
    -----
    The fidelity of two distributions of which row is better, the target P* and the modelled P, is
    ``sqrt(P* P) + sqrt((1 - P*) (1 - P))``; its loss for a pair with P* = 1 is ``1 - sqrt(P)``, at
    most 1: a pair that is hopelessly in the wrong order costs no more than another, unlike under
    RankBoost's and RankNet's losses. A round takes the stump along which the loss falls fastest,
    and the step ``log(A / B) / 2`` of [1]_, A the sum of the slopes of the pairs that it moves
    apart, B of those that it moves together: the zero of the slope if all slopes changed as
    exponentials do. It is halved until the loss falls, so the loss falls in every round. Missing
    values (NaN) as in :class:`RankBoost`.

    A round costs O(N d) and about three passes over all pairs, a square root each.

    Differs from [1]_: the stump is the one of steepest descent in place of that with the least loss
    after its step; pairs of equal grades have no part.

    Composition: fidelity loss of pairs of distinct grades x stumps x boosting steps.

    References
    ----------
    .. [1] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import FRank
    >>> X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, np.nan], [0.2, 4.0], [0.9, 1.0]])
    >>> ranker = FRank(n_estimators=3).fit(X, [0, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 1, 2, 2])
    array([3, 2, 1, 2, 1])
    >>> ranker.loss_curve_[:1].round(3).tolist()  # of two queries, 1 - sqrt(1/2) each
    [0.586]
    """

    _algorithm = FidelityBoosting
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StumpRanker._parameter_constraints,
        "query_weight": [StrOptions({"normalised", *QUERY_WEIGHTS})],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        max_bins: int | None = 255,
        pair_weight: PairWeight = None,
        query_weight: Literal["normalised", "pair", "document", "query"] = "normalised",
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        warm_start: bool = False,
        max_pairs: int = 10**8,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.pair_weight = pair_weight
        self.query_weight = query_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
        self.max_pairs = max_pairs

    def _pairs(self, data: FitData) -> LayeredPairs:
        if self.query_weight == "normalised":
            pairs = layer_pairs(data, self.pair_weight, "pair").normalised()
        else:
            pairs = layer_pairs(data, self.pair_weight, self.query_weight)
        n_pairs = int(pairs.n_pairs.sum())
        if n_pairs > self.max_pairs:
            raise ValueError(
                f"FRank takes passes over all pairs in every round, and max_pairs={self.max_pairs} "
                f"is less than the {n_pairs} pairs of the rows. Raise max_pairs, or use RankBoost."
            )
        return pairs
