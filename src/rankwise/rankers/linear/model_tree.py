"""M5' model tree: piecewise linear regression on the grades [1]_ [2]_.

References
----------
.. [1] Quinlan, "Learning with continuous classes", AI '92.
.. [2] Wang & Witten, "Inducing model trees for continuous classes", ECML 1997 (poster papers).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, Interval, minimum
from rankwise.checks.rows import check_fit, check_rows
from rankwise.groups import QueryGroups
from rankwise.row_order import merge_rows
from rankwise.structure.state_rules import Instance, Number, Rule
from rankwise.trees.column_table import dense_within_memory
from rankwise.trees.linear_models import LEAF, ModelNodes, grow_models
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class ModelTree(Ranker):
    """Regression tree with linear models in the leaves, pruned and smoothed (M5').

    The model is a ranker trained on grades. It is also a regressor for other uses, for instance as
    ``estimator`` of the multi-label estimators.

    Parameters
    ----------
    min_samples_leaf : float > 0, default=4
        Smallest number of rows, or smallest weight, of a leaf.
    max_depth : int >= 1 or None, default=None
        Largest depth of the tree before pruning.
    least_deviation : float in [0, 1), default=0.05
        A node is not split if the standard deviation of its labels is smaller than this share of
        the deviation of all labels.
    prune : bool, default=True
        Whether to replace a subtree by a linear model with no larger expected error.
    smoothing : float >= 0, default=15
        Weight of the parent model, as a number of rows, when it is averaged with the model of its
        child. 0: no smoothing.

    Attributes
    ----------
    nodes_ : ModelNodes
        Splits of the nodes and models of the leaves.
    n_leaves_ : int
        Number of leaves.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Growing a level costs O(N d log N). A node of n rows whose subtree uses p features costs O(n p^2
    + p^3). Equal rows are merged, so the order of the rows does not change the tree, and a weight
    is exactly equivalent to repeating the row. CSR rows are made dense. Thresholds separate values
    in float32.

    Differs from [1]_ and [2]_: splits minimise the variance within the children, as scikit-learn's
    trees do, instead of the standard deviation. Errors are root mean squares, as in WEKA's M5P.
    Nominal columns and missing values are not supported.

    Composition: columns of X x pointwise squared loss x regression tree with least squares at
    its nodes.

    References
    ----------
    .. [1] Quinlan, "Learning with continuous classes", AI '92.
    .. [2] Wang & Witten, "Inducing model trees for continuous classes", ECML 1997 (poster papers).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ModelTree
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.where(X[:, 0] < 0, X[:, 0], 5 - 2 * X[:, 0])
    >>> tree = ModelTree(smoothing=0).fit(X, y, qid=0)
    >>> tree.n_leaves_, tree.predict([[-0.5], [0.25]]).round(6).tolist()
    (2, [-0.5, 4.5])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "nodes_": Instance((ModelNodes,)),
        "n_leaves_": Number("i", low=1),
    }

    _limits: ClassVar[dict[str, Any]] = {"min_samples_leaf": 1}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_samples_leaf": [POSITIVE],
        "max_depth": [minimum(1), None],
        "least_deviation": [Interval(Real, 0, 1, closed="left")],
        "prune": ["boolean"],
        "smoothing": [NOT_NEGATIVE],
    }

    nodes_: ModelNodes

    def __init__(
        self,
        min_samples_leaf: float = 4,
        *,
        max_depth: int | None = None,
        least_deviation: float = 0.05,
        prune: bool = True,
        smoothing: float = 15.0,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.least_deviation = least_deviation
        self.prune = prune
        self.smoothing = smoothing

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any finite numbers.
        qid : array-like of shape (n_samples,), optional
            Checked, but without effect on a pointwise fit.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        data = check_fit(self, dense_within_memory(X), y, qid, sample_weight, pairs=False)
        self._set_score_name(data.y)
        merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), data.sample_weight)
        self.nodes_ = grow_models(
            data.X[merged.rows],
            data.y[merged.rows],
            merged.weight,
            min_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            least_deviation=self.least_deviation,
            prune=self.prune,
            smoothing=self.smoothing,
        )
        self.n_leaves_ = int((self.nodes_.feature == LEAF).sum())
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Prediction of every row, shape (n_samples,), float64."""
        check_is_fitted(self)
        return self.nodes_.predict(check_rows(self, dense_within_memory(X), accept_sparse=False))
