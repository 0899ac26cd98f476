"""A ranker with the trees of a model that another library trained."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import N_JOBS
from rankwise.rankers.boosting.tree_scores import TreeScores
from rankwise.structure.rules import Rule, Word, require
from rankwise.typing import ArrayLike, FrameLike


class ImportedBooster(TreeScores):
    """Trees of LightGBM, XGBoost or CatBoost; made by :func:`rankwise.read_booster`.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads. None or -1: all CPUs of this process, at most ``RANKWISE_NUM_THREADS``.
        Results are bit-identical for any number.

    Attributes
    ----------
    trees_ : TreeEnsemble
    library_ : {"LightGBM", "XGBoost", "CatBoost"}
        Library that trained the trees.
    columns_ : ColumnTable
        Categories of the nominal and ordered columns.
    has_missing_ : ndarray of shape (n_features_in_,), bool
        True if values were missing in the training rows, as far as the file says; equal for all
        columns.
    n_estimators_ : int
        Number of trees.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if the file names its features.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The trees are fixed: ``fit`` checks nothing and changes nothing, and a clone is the model
    itself. It can therefore be a contestant of :func:`rankwise.compare`, like scikit-learn's
    ``FrozenEstimator``. Its training rows are not known, so a comparison is fair only on other
    rows.

    Scores add leaves in float64, in the order of the trees, without the link function of the
    objective. They are bit-equal to LightGBM's raw scores, and agree with XGBoost's and CatBoost's
    up to their rounding. A category that the file does not know counts as missing.

    Composition: stored trees x sums of leaves.

    Examples
    --------
    >>> from rankwise import RankingTree, read_booster
    >>> from rankwise.export import to_lightgbm
    >>> tree = RankingTree().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> to_lightgbm(tree, "model.txt").startswith("tree")
    True
    >>> read_booster("model.txt").predict([[0.5], [2.5]])
    array([0., 1.])
    """

    _structure: ClassVar[dict[str, Rule]] = {"library_": Word(("LightGBM", "XGBoost", "CatBoost"))}
    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_jobs": N_JOBS}

    importance_type = "gain"
    library_: str
    feature_names_in_: NDArray[Any]

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Return the model unchanged; the arguments are ignored.

        Raises
        ------
        TypeError
            If the model has no trees, because :func:`rankwise.read_booster` did not make it.
        """
        if not hasattr(self, "trees_"):
            raise TypeError(
                "ImportedBooster cannot be trained: read_booster(file) makes it. "
                "Use LambdaMART or LightGBMRanker to train trees."
            )
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def _check_structure(self) -> None:
        n_trees = self.trees_.n_trees
        require(self.n_estimators_ == n_trees, "n_estimators_", f"be {n_trees}",
                self.n_estimators_)  # fmt: skip
        require(not self.trees_.zero_missing.any(), "trees_.zero_missing", "be False", "True")
        used = self.trees_.feature[self.trees_.feature >= 0]
        require(used.max(initial=-1) < self.n_features_in_, "trees_.feature",
                f"be below {self.n_features_in_}", used.max(initial=-1))  # fmt: skip
        self.columns_.check_width(self.n_features_in_)
        self.trees_.check_categories(self.columns_.n_categories(self.n_features_in_))
        require(np.isfinite(self.trees_.constant), "trees_.constant", "be finite",
                self.trees_.constant)  # fmt: skip
