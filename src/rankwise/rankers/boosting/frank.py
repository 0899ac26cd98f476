"""FRank: boosting of the pairs of a query under the fidelity loss [1]_.

Minimises ``sum_q c_q sum_{i,j: y_i > y_j} w_ij (1 - sqrt(P_ij))`` one stump at a time, with
``P_ij = 1 / (1 + exp(-(f_i - f_j)))``.

References
----------
.. [1] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.losses.laplacian import QUERY_WEIGHTS
from rankwise.losses.layered_pairs import LayeredPairs, layer_pairs
from rankwise.losses.pair_weights import PairWeight
from rankwise.rankers.boosting.stump_ranker import StumpRanker
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.fidelity_boosting import FidelityBoosting


class FRank(StumpRanker):
    """Boosted thresholds on features under the fidelity loss of pairs (FRank).

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Largest number of rounds. Training ends earlier if no threshold lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Largest number of bins per feature. A feature with at most ``max_bins`` distinct values has
        thresholds between all of them; other features have thresholds between bins of about equal
        weight. None: thresholds between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankBoost`.
    query_weight : {"normalised", "pair", "document", "query"}, default="normalised"
        Weight of a query. "normalised": the weights of its pairs sum to 1. "pair", "document",
        "query": the weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many rounds without improvement and
        keep the rounds up to the best.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing rounds up to ``n_estimators``. On the same rows
        the result is bit-identical to that of a single fit.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.
    max_pairs : int >= 1, default=10**8
        Largest number of pairs of training rows. ``fit`` raises ValueError if there are more,
        because a round makes several passes over all pairs.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Loss before the first round and after every round. With "normalised", at most the number of
        queries.
    n_estimators_ : int
        Number of rounds kept.
    ensemble_ : StumpEnsemble
        As in :class:`RankBoost`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Let P* be the target probability that one row of a pair is better, and P the modelled one. Their
    fidelity is ``sqrt(P* P) + sqrt((1 - P*) (1 - P))``, so the loss of a pair with P* = 1 is
    ``1 - sqrt(P)``. It is at most 1: a badly misordered pair does not dominate, unlike under the
    losses of RankBoost and RankNet. A round takes the stump with the steepest descent of the loss,
    and the step ``log(A / B) / 2`` of [1]_. A is the sum of the slopes of the pairs that the stump
    moves apart, B that of the pairs that it moves together. The step would be exact if all slopes
    changed exponentially. It is halved until the loss decreases, so the loss decreases in every
    round. Missing values (NaN) are treated as in :class:`RankBoost`.

    A round costs O(N d) plus about three passes over all pairs, with a square root per pair.

    Differs from [1]_: a round takes the stump of steepest descent, not the stump with the least
    loss after its step. Pairs of equal grades are left out.

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
        "max_pairs": [minimum(1)],
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
                f"max_pairs={self.max_pairs} is less than the {n_pairs} pairs of the training "
                "rows, all of which FRank visits in every round. Increase max_pairs, or use "
                "RankBoost."
            )
        return pairs
