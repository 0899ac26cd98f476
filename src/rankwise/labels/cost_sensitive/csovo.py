"""Cost-sensitive one-versus-one classification (CSOVO) [1]_.

For every pair of classes, a binary classifier learns which of the two is cheaper for a row. Rows
are weighted by the difference of the two costs. The class with the most votes is predicted.

Composition: differences of costs x weighted binary classifier per pair x votes.

References
----------
.. [1] Lin, "A simple cost-sensitive multiclass classification algorithm using one-versus-one
   comparisons", technical report, National Taiwan University (2010).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.cost_tables import CostTable
from rankwise.checks.parameter_constraints import StrOptions
from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.contrasts import pair_contrasts
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.labels.cost_sensitive.pair_votes import class_votes
from rankwise.structure.rules import Rule, integers
from rankwise.typing import Float64Array, Matrix


class CSOVO(BinaryQuestions, CostSensitiveClassifier):
    """Cost-sensitive one-versus-one classification: one weighted binary classifier per class pair.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each pair without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that is cloned for every pair and fitted with ``sample_weight`` on the rows whose
        costs differ. Label 0 means that the first class is cheaper, 1 that the second is. A
        classifier without ``sample_weight`` is accepted if all weights are 1, as with costs of 0
        and 1. None: ridge regression on -1 and 1, in closed form.
    weights : {"difference", "transformed"}, default="difference"
        Weight of a row for classes a and b. "difference": ``|c_a - c_b|``, the construction of
        CSOVO. "transformed": ``|v_a - v_b|`` with v of
        :func:`rankwise.labels.all_pairs_costs`, the weights of weighted all-pairs [2]_ with one
        classifier per pair.
    alpha : float > 0, default=1.0
        L2 penalty if ``estimator`` is None: factor of the squared norm. Multiplying costs by a
        number multiplies the weights by it, but not the penalty.
    n_jobs : int, optional
        Number of pairs fitted in parallel threads. None: one for each CPU; -2: one fewer, and so
        on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the order of the columns of the costs.
    pairs_ : ndarray of shape (n_pairs, 2), int64
        Class numbers of every pair, the smaller one first.
    estimators_ : list of n_pairs classifiers
        Only if ``estimator`` is given. None for a pair without rows, or whose rows all have the
        same label.
    constants_ : ndarray of shape (n_pairs,), float64
        Constant answer of a pair without a classifier: 0, 1, or 1/2 if the pair has no rows. NaN
        for a pair with a classifier.
    coef_, intercept_ : ndarrays of shape (n_pairs, n_features) and (n_pairs,), float64
        Ridge regression of every pair, only if ``estimator`` is None. Positive values favour the
        second class.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The excess cost of a row is at most twice the total weight of the pairs that are classified
    wrongly. The transformed weights attain this bound: over the classes cheaper than a, they sum to
    the excess cost of a. A difference of costs is never smaller than the transformed weight of the
    same pair, so the bound also holds for differences, but is looser.

    With costs of 0 and 1 both weights are 1 for the pairs that contain the true class and 0 for all
    others. The method then equals plain one-versus-one classification. Ties of votes are broken as
    in scikit-learn's ``OneVsOneClassifier``, by the sum of decision values or probabilities.

    The scale of the costs is the scale of the weights, which matters to a penalised classifier:
    scale the costs, or tune the penalty.

    Training makes K (K - 1) / 2 fits, each on the rows whose costs of the two classes differ. If
    costs depend only on the class, ridge regression needs only K Gram matrices for all fits.

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
