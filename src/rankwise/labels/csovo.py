"""Cost-sensitive one-versus-one classification (CSOVO) [1]_.

Every pair of classes asks each row which of the two is cheaper, with a weight from the row's
transformed costs; a weighted binary classifier per pair answers, and the class with most votes is
predicted.

Composition: transformed costs x weighted binary classifier per pair x votes.

References
----------
.. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
   comparisons", technical report, National Taiwan University (2010).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rankwise._costs import CostTable
from rankwise.labels.binary_reduction import BinaryReduction
from rankwise.labels.contrasts import pair_contrasts
from rankwise.labels.votes import class_votes
from rankwise.typing import Float64Array, Matrix


class CSOVO(BinaryReduction):
    """Cost-sensitive one-versus-one: pairs of classes weighted by costs, any weighted classifier.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Cloned for every pair and fitted on the rows that the pair concerns, labels 0 (the first
        class is cheaper) and 1, with ``sample_weight``. It may do without weights only where
        they are all 1, as with costs of 0 and 1. None: least squares on -1 and 1 with a ridge, in
        closed form.
    weights : {"transformed", "difference"}, default="transformed"
        Weight of a row for classes a and b: ``|v_a - v_b|`` with v of
        :func:`rankwise.labels.csovo_costs`, or the difference of the costs themselves.
    alpha : float > 0, default=1.0
        Of the ridge where ``estimator`` is None: multiplies the squared norm against the weighted
        sum over the rows of a pair. Costs times a number are weights times it.
    n_jobs : int, optional
        Pairs at a time, in threads; None: one for each CPU, -2: one less, and so on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    pairs_ : ndarray of shape (n_pairs, 2), int64
        Numbers of the classes of every pair, the smaller first.
    estimators_ : list of n_pairs classifiers
        None where all rows answer alike, or none asks; not without an ``estimator``.
    constants_ : ndarray of shape (n_pairs,), float64
        That answer: 0, 1, or 1/2 where no row asks; NaN where there is a classifier.
    coef_, intercept_ : ndarrays of shape (n_pairs, n_features) and (n_pairs,), float64
        Of the least squares where ``estimator`` is None; positive for the second class.
    score_name_ : str

    Notes
    -----
    Against the classes cheaper than a, the transformed weights sum to the excess cost of a. So the
    excess cost of a row is at most twice the weight of the questions answered wrongly, a bound
    that is attained. With costs of 0 and 1 only the pairs that contain the true class have weight,
    which is 1: plain one-versus-one, exactly, ties of votes included (they are broken as in
    scikit-learn's ``OneVsOneClassifier``, by the sum of decision values or probabilities).

    Which weights carry which name is not agreed: the transformed ones are those of weighted
    all-pairs [2]_, where one classifier learns all pairs (:class:`WeightedAllPairs`); programs that
    cite [1]_ or its later edition [3]_ weigh by the difference of the costs. Both are here, and
    equal for costs of 0 and 1. The difference is never the smaller weight, so that the bound holds
    for it too, looser. Costs times a number are weights times it, which a penalised classifier
    feels: scale the costs, or tune the penalty.

    Time is that of K (K - 1) / 2 fits, each on the rows whose costs of the two classes differ. The
    ridge builds K Gram matrices for all of them where costs are by class.

    References
    ----------
    .. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
       comparisons", technical report, National Taiwan University (2010).
    .. [2] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
       classification tasks", ICML 22 (2005).
    .. [3] Lin, "Reduction from cost-sensitive multiclass classification to one-versus-one binary
       classification", ACML 6 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CSOVO
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]  # of ham taken for spam, and of spam taken for ham
    >>> CSOVO(alpha=0.1).fit(X, y).predict([[1.2]]).tolist()
    ['spam']
    >>> CSOVO(alpha=0.1).fit(X, y, costs=costs).predict([[1.2]]).tolist()
    ['ham']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryReduction._parameter_constraints,
        "weights": [StrOptions({"transformed", "difference"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        weights: Literal["transformed", "difference"] = "transformed",
        alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.weights = weights
        self.alpha = alpha
        self.n_jobs = n_jobs

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        transformed = self.weights == "transformed"
        contrasts = pair_contrasts(table, sample_weight, transformed=transformed)
        self.pairs_ = np.column_stack([contrasts.first, contrasts.second])
        self._ask(X, contrasts)

    def _class_scores(self, X: Matrix) -> Float64Array:
        chosen, confidence = self._answers(X)
        return class_votes(chosen, confidence, self.pairs_, len(self.classes_))
