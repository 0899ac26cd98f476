"""Cost-sensitive one-versus-one classification (CSOVO) [1]_.

Every pair of classes asks each row which of the two is cheaper, weighted by the difference of the
two costs. A weighted binary classifier per pair answers, and the class with most votes is
predicted.

Composition: differences of costs x weighted binary classifier per pair x votes.

References
----------
.. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
   comparisons", technical report, National Taiwan University (2010).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rankwise.checks.costs import CostTable
from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.contrasts import pair_contrasts
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.labels.cost_sensitive.pair_votes import class_votes
from rankwise.structure.rules import Rule, integers
from rankwise.typing import Float64Array, Matrix


class CSOVO(BinaryQuestions, CostSensitiveClassifier):
    """Cost-sensitive one-versus-one: pairs of classes weighted by costs, any weighted classifier.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each pair without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Cloned for every pair and fitted on the rows that the pair concerns, labels 0 (the first
        class is cheaper) and 1, with ``sample_weight``. It may do without weights only where
        they are all 1, as with costs of 0 and 1. None: least squares on -1 and 1 with a ridge, in
        closed form.
    weights : {"difference", "transformed"}, default="difference"
        Weight of a row for classes a and b. "difference": ``|c_a - c_b|``, the construction of
        CSOVO. "transformed": ``|v_a - v_b|`` with v of
        :func:`rankwise.labels.all_pairs_costs`, the weights of weighted all-pairs [2]_ with one
        classifier per pair.
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
    The excess cost of a row is at most twice the weight of the questions answered wrongly. The
    transformed weights attain this bound: against the classes cheaper than a they sum to the
    excess cost of a. A difference of costs is never smaller than the transformed weight of the
    same pair, so the bound holds for it too, and is looser.

    With costs of 0 and 1 both weights are 1 for the pairs that contain the true class and 0 for all
    others. This is plain one-versus-one, exactly, including ties of votes, which are broken as in
    scikit-learn's ``OneVsOneClassifier``, by the sum of decision values or probabilities.

    Scaling the costs scales the weights, which a penalised classifier feels: scale the costs, or
    tune the penalty.

    The default was "transformed" in version 0.1.0. A saved model holds its ``weights`` and is
    loaded with them, whatever the default.

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

    _structure: ClassVar[dict[str, Rule]] = {
        "pairs_": integers("n_questions", 2, low=0, below="n_classes"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryQuestions._parameter_constraints,
        "weights": [StrOptions({"difference", "transformed"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        weights: Literal["difference", "transformed"] = "difference",
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
