"""LambdaMART: boosted trees that follow the gradients of a measure, on one machine or several.

On several machines, each of which holds whole queries, all grow the same trees. Sums of integer
histograms are exact, so the trees equal those of a single machine. Rows are exchanged once, to
agree on the bins; afterwards only sums are exchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import (
    FRACTION,
    N_JOBS,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_fit, check_positions, check_validation
from rankwise.features.binning import MAX_BINS, Binning, find_bins
from rankwise.groups import QueryGroups
from rankwise.losses.boosted_objectives import (
    GradientFunction,
    Objective,
    follows_measure,
    make_loss,
)
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows, PositionBias
from rankwise.losses.lambda_gradients import check_objective
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.metrics import parse
from rankwise.metrics.default import (
    WideGainsWarning,
    default_score_name,
    list_wide_gains,
    refuse_constant,
)
from rankwise.metrics.measure import MEASURE_KINDS, Measure, MeasureLike, parameter_of
from rankwise.metrics.measures.ndcg import DCG, NDCG, GainMeasure, replace_label_gain
from rankwise.rankers.training_log import Callback, TrainingLog, evaluations
from rankwise.row_order import distinct_rows_of_queries
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.frames import Table
from rankwise.runtime.messages import callers_level
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import threads_asked
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.rounds import check_warm_start
from rankwise.solvers.boosting.tree_boosting import (
    Dropout,
    GradientSampling,
    QuerySampling,
    Start,
    TreeBoosting,
    Validation,
)
from rankwise.structure.state_rules import (
    Instance,
    Number,
    Plain,
    Rule,
    Sometimes,
    booleans,
    floats,
    forget,
    integers,
    require,
)
from rankwise.trees.boosted.coded_rows import Shares, bin_rows, encode_rows, sample_step
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.boosted.growth_rules import (
    Growth,
    GrowthRules,
    automatic_category_penalty,
    automatic_growth,
    automatic_leaves,
    automatic_penalty,
    interaction_groups,
    monotone_signs,
)
from rankwise.trees.column_table import FROM_DTYPE, CategoricalInput, ColumnTable
from rankwise.trees.target_statistics import CategoricalEncoding, ColumnEncoder
from rankwise.trees.tree_ensemble import OrderedRows, ScoreTree, TreeEnsemble
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Seed, canonicalize


class TreeScores(CategoricalInput, Ranker):
    """Base of rankers that sum trees; ``fit`` sets the attributes below and ``columns_``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "trees_": Instance((TreeEnsemble,)),
        "has_missing_": booleans("n_features_in_"),
        "n_estimators_": Number("i", low=0),
    }

    trees_: TreeEnsemble
    has_missing_: NDArray[np.bool_]
    n_estimators_: int
    n_features_in_: int

    importance_type: Literal["gain", "split"]
    n_jobs: int | None

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the total gain or the number of splits."""
        check_is_fitted(self)
        trees = self.trees_
        inner = trees.feature >= 0
        gains = None if self.importance_type == "split" or trees.gain is None else trees.gain[inner]
        amounts = np.bincount(trees.feature[inner], gains, self.n_features_in_).astype(np.float64)
        return amounts / (amounts.sum() or 1.0)

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        If there was nothing to learn (no pair to order, no leaf to split), all scores are 0.
        """
        # Few rows take one thread, whatever their number: to count the CPUs takes longer.
        n_threads = None if self.n_jobs is None else threads_asked(self.n_jobs)
        return self._tree_ensemble().score(self._check_rows(X), n_threads)

    def staged_predict(self, X: FrameLike) -> Iterator[Float64Array]:
        """Scores of every row after each tree, with the final values of the trees.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,), float64
        """
        yield from self._tree_ensemble().staged_scores(self._check_rows(X))

    def _tree_ensemble(self) -> TreeEnsemble:
        """The trees as flat arrays."""
        check_is_fitted(self)
        return self.trees_

    def _check_structure(self) -> None:
        n_trees = self.trees_.n_trees
        require(self.n_estimators_ == n_trees, "n_estimators_", f"be {n_trees}",
                self.n_estimators_)  # fmt: skip
        require(self.trees_.gain is not None, "trees_.gain", "be an array", self.trees_.gain)
        require(not self.trees_.zero_missing.any(), "trees_.zero_missing", "be False", "True")
        self.columns_.check_width(self.n_features_in_)
        self.trees_.check_categories(self.columns_.n_categories(self.n_features_in_))


@dataclass(frozen=True, eq=False)
class EarlierTrees:
    """Trees of an earlier fit; none by default."""

    trees: TreeEnsemble = field(default_factory=lambda: TreeEnsemble.of([]))
    n_rounds: int = 0  # rounds of these trees; the draws of a round depend on its number
    # (n_features,); (1,) if there was no earlier fit.
    has_missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=bool))
    biases: dict[int, float] = field(default_factory=dict)  # bias of each position in training
    n_features: int | None = None  # None: there was no earlier fit
    columns: ColumnTable | None = None  # categories, to whose codes the trees refer

    @classmethod
    def of(cls, ranker: TreeScores) -> EarlierTrees:
        """Trees of a ranker, none if it is not fitted."""
        fitted = vars(ranker)
        if "trees_" not in fitted:
            return cls()
        biases = {}
        if "positions_" in fitted:
            positions = fitted["positions_"].tolist()
            biases = dict(zip(positions, fitted["position_bias_"].tolist(), strict=True))
        n_rounds = fitted.get("n_rounds_", ranker.n_estimators_)  # models of 0.2.0 lack it
        return cls(
            ranker.trees_, n_rounds, ranker.has_missing_, biases, ranker.n_features_in_,
            ranker.columns_,
        )  # fmt: skip

    def check(self, n_features: int, n_rounds: int) -> None:
        """Raise if the trees have other features or took more rounds; warn if they took as many."""
        if self.n_features is not None:
            check_warm_start(self.n_features, n_features, self.n_rounds, n_rounds)


class LambdaMART(ChoosesRounds, TreeScores):
    """Boosted trees that follow the gradients of a measure (LambdaMART).

    Minimises ``sum_i g_i f_i + h_i f_i^2 / 2 + sum_j (reg_lambda v_j^2 / 2 + reg_alpha |v_j|)`` in
    every tree f, over its splits and the values v_j of its leaves. g and h are the derivatives of
    ``objective`` at the current scores; ``learning_rate`` then shrinks v.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    learning_rate : float > 0, default=0.1
        Factor that shrinks the values of the leaves of every tree.
    max_leaf_nodes : int >= 2 or "auto", default="auto"
        Largest number of leaves of a tree. "auto": 31 for 100,000 distinct rows and more, or if
        ``max_depth`` or ``growth="symmetric"`` bounds the trees; else 7, or 4 for fewer than 600
        training queries with different labels.
    measure : str, Measure or callable, default="nDCG@10"
        Measure that "lambdarank" and "yetirank" optimise: nDCG, DCG, AP, RR, ERR, P, R or RBP with
        any convention and cut-off, see :func:`rankwise.metrics.parse`. Early stopping follows it,
        too.
    label_gain : array-like of shape (n_grades,), optional
        Gains of the grades 0, 1, … in nDCG and DCG, as in LightGBM. None: those of the measure, by
        default 2^y - 1. Other measures have no gains.
    objective : {"lambdarank", "yetirank", "xendcg", "logistic", "squared"} or callable, \
            default="lambdarank"
        Loss of scores f. D_ij is the loss of ``measure`` when rows i and j, with label i above j,
        swap in the ranking; c_q is the weight of the query:

        - "lambdarank": ``sum_q c_q sum_ij D_ij log(1 + exp(f_j - f_i))``, D at the current scores
          [1]_;
        - "yetirank": the same over adjacent rows in ten noisy rankings for every tree [2]_, see
          ``decay``;
        - "xendcg": ``-sum_q c_q sum_i t_i log p_i`` with p the softmax of the query's scores and
          ``t_i ~ g_i + 1 - u_i`` for gains g and random u in [0, 1) [3]_. The gains are those of
          ``measure`` if it is nDCG or DCG, else 2**y - 1;
        - "logistic": ``sum_q c_q sum_ij log(1 + exp(f_j - f_i))`` over all pairs, O(m^2) for m
          rows of a query;
        - "squared": ``sum_q c_q sum_ij ((y_i - y_j) - (f_i - f_j))^2 / 2`` over all pairs, the
          loss of LSRRank;
        - a function of labels, scores and the numbers of rows of the queries, all arrays, that
          returns the first and the second derivatives (>= 0) by the score of each row, c_q left
          out. Rows of a query follow each other in an order that content determines. A row of
          weight w is passed w times, so weights must be whole. ``load`` takes the function in
          ``trusted``.
    max_depth : int >= 1, optional
        Largest depth of a tree. None: no limit.
    truncation_level : int >= 1 or None, default=30
        "lambdarank" follows nDCG@k and DCG@k down to rank ``max(k, truncation_level)``, so that
        rows below the cut-off are learned from too. None: down to k, as for all other measures.
    decay : float in (0, 1), optional
        "yetirank" weights neighbours at ranks r and r + 1, from 0, by ``(1 - decay) decay^r`` times
        the difference of their labels, as CatBoost does at 0.85; ``measure`` then only scores.
        Labels that are not whole grades from 0 to 30 are divided by the largest. None: D_ij.
    min_samples_leaf : int >= 1, default=20
        Smallest weight of the rows of a leaf, estimated from the share of the leaf in the second
        derivatives of its parent.
    min_hessian_leaf : float >= 0, default=1e-3
        Smallest sum of second derivatives in a leaf.
    reg_lambda : float >= 0 or "auto", default="auto"
        L2 penalty on the values of the leaves. "auto": the sum of the second derivatives of the
        tree's rows, times ``10 / (10 + n)`` for n training queries with different labels. The
        penalty thus follows the scale of the loss, and fades with more queries. 0 if
        ``objective`` is a function, whose derivatives need not sum to 0 in a query.
    reg_alpha : float >= 0, default=0.0
        L1 penalty on the values of the leaves.
    min_split_gain : float >= 0, default=0.0
        Reduction of twice the objective that a split must exceed.
    growth : {"auto", "leaf", "depth", "symmetric"}, default="auto"
        Order of splits. "leaf": the leaf of largest gain first. "depth": level by level, largest
        gain first. "symmetric": one common split for all leaves of a level, as in CatBoost; leaves
        that it leaves too few rows on a side are not split. "auto": "leaf"; or "symmetric" if
        numbers other than 0 replace categories (see ``categorical_encoding``), at least 600
        training queries have different labels, X has fewer than 100,000 distinct rows, and neither
        ``max_leaf_nodes`` nor ``max_depth`` is given.
    max_bins : int in [2, 255], default=255
        Largest number of bins per feature, without the bin of missing values.
    normalize : bool, default=True
        Whether "lambdarank" gives more weight to pairs of close scores and less to queries with
        many pairs, as LightGBM does by default.
    query_weight : {"pair", "document", "query"}, default="pair"
        Weight c_q of a query: 1, 1 / W or 1 / W^2, for the sum W of its weights. With "pair",
        measures and "xendcg" give queries equal weight.
    position_bias_regularization : float >= 0, default=0.0
        Shrinkage of position biases towards 0, if ``fit`` receives positions.
    sampling : {"queries", "goss"}, default="queries"
        Rows used by a tree. "queries": rows of drawn queries. "goss": from tree
        ``1 / learning_rate`` on, rows of the largest gradients and some others, scaled up (GOSS)
        [4]_.
    subsample : float in (0, 1], default=1.0
        Share of the queries drawn for every tree (``sampling="queries"``).
    top_rate, other_rate : float in (0, 1], default=0.2 and 0.1
        Share of rows with the largest gradients, and share drawn from the other rows
        (``sampling="goss"``).
    drop_rate : float in [0, 1], default=0.0
        Above 0: dropout of trees (DART) [5]_. Each earlier tree is dropped with this probability,
        at most 50, while the next tree is grown. With k dropped trees the new tree is shrunk by
        ``learning_rate / (k + 1)``, and they are permanently multiplied by ``k / (k + 1)``.
    skip_drop : float in [0, 1], default=0.5
        Probability that no tree is dropped for the next one.
    colsample_bytree : float in (0, 1], default=1.0
        Share of the features drawn for every tree; only these have histograms.
    colsample_bylevel, colsample_bynode : float in (0, 1], default=1.0
        Share of the features of a tree drawn for every depth, and of these for every node.
    extra_trees : bool, default=False
        Whether a node tries a single random threshold of each feature, drawn among those that leave
        enough rows on both sides.
    monotonic_cst : array-like of int of shape (n_features_in_,), dict of str to int, or None
        1: scores never decrease as the feature grows; -1: they never increase; 0: any. Holds with
        other features fixed, except for missing values. A dict has feature names as keys.
    interaction_cst : {"no_interactions", "pairwise"}, sequence of sequences of int or str, or None
        Groups of features, by number or name: all features on a path from the root to a leaf belong
        to one group. Features without a group form one group.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        Nominal features: a mask, numbers or names. In frames, text whose values occur twice or more
        on average, and unordered categories are also nominal; ordered ones are split by their
        order. Other text is not used, with an IgnoredColumnsWarning. None: none.
    categorical_encoding : {"auto", "subset", "ordered"}, default="auto"
        How trees read nominal features:

        - "subset": splits send a subset of the categories, of which there may be at most 255, to
          one side;
        - "ordered": a number replaces each category: an estimate of how much it raises the label
          within a query, shrunk towards 0 with the weight of three rows. The features are estimated
          together. In training, a row receives the estimate from queries earlier in a random
          order, so that no row sees its own label or query (ordered target statistics) [6]_.
          Unknown categories receive 0, as do all categories of a feature that explains the order
          within queries no better than random ids;
        - "auto": "ordered" for features of more than 16 categories, else "subset".
    cat_l2 : float >= 0 or "auto", default="auto"
        L2 penalty on the two sides of a split on a nominal feature of more than four categories,
        in addition to ``reg_lambda``. It orders the categories and enters the gain, but not the
        values of the leaves. The node itself is not penalised, so the split must gain more than one
        on a number. "auto": the sum of the second derivatives of the tree's rows, times ``6000 /
        (6000 + n)`` for n distinct training rows; 0 if ``objective`` is a function.
    max_cat_threshold : int >= 1, default=32
        Largest number of categories that a split on a nominal feature separates from all others.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many trees without improvement and
        keep the trees up to the best, with dropout as they were then.
    refit : bool, default=False
        Used only if ``fit`` receives X_val: grow the kept number of trees again, on the rows of X
        and X_val together. Rows of X_val have weight 1. With 5 to 30 validation queries,
        stopping without it was no better than 100 trees on all rows; ``cv=5`` with it was.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds that choose the number of trees instead of X_val: the best mean of the measure on the
        queries left out, where each row counts once whatever its weight, after at most
        ``n_estimators`` trees. All rows then grow as many. A fold ends ``early_stopping_rounds``
        trees after its best; its last value stands for later ones. A number deals out queries, or
        rows if there are fewer queries. None: no folds.
    validation_measure : str, Measure or callable, optional
        Any measure, also one of your own, that replaces ``measure`` for early stopping only: it is
        evaluated on X_val after every tree.
    importance_type : {"gain", "split"}, default="gain"
        Quantity that ``feature_importances_`` sums over the splits on a feature: gains, or 1.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing trees, up to ``n_estimators`` in total. On the
        same rows the trees equal those of a single call (with dropout: up to rounding). Early
        stopping keeps the existing trees. Numbers that replace categories remain those of the first
        fit; new categories are unknown to it, see ``categorical_encoding``.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing queries, features and thresholds, for the noise of "yetirank" and "xendcg",
        and for the order of queries in which categories are encoded (None: always the same one).
    n_jobs : int, optional
        Number of threads. None or -1: all cores, at most ``RANKWISE_NUM_THREADS``. Results
        are bit-identical for any number.

    Attributes
    ----------
    trees_ : TreeEnsemble
    columns_ : ColumnTable
        Categories of the nominal features; trees refer to them by position, or by the number that
        replaces them.
    has_missing_ : ndarray of shape (n_features_in_,), bool
        Columns with missing values in training rows; all False if there was nothing to learn.
    n_estimators_ : int
        Number of trees that ``predict`` uses; fewer than ``n_estimators`` if training stopped early
        or no leaf could be split.
    n_rounds_ : int
        Number of rounds up to the last tree; more than ``n_estimators_`` if the rows or columns
        drawn for some rounds gave no tree. ``warm_start`` continues after them.
    best_iteration_ : int
        First number of trees with the best measure on X_val; ``n_estimators_`` without X_val.
    validation_scores_ : ndarray of shape (n_trees,)
        ``validation_measure`` on X_val after every tree. Only if X_val was given, or
        ``cv``: the mean over the folds.
    positions_ : ndarray of shape (n_positions,), int64
        Distinct positions. Only if ``fit`` received positions.
    position_bias_ : ndarray of shape (n_positions,)
        Bias that each position adds to the scores in training: after every tree
        ``b_p += learning_rate G_p / (H_p + 0.001)``, as in LightGBM, with
        ``G_p = -sum g_i - n_p r b_p`` and ``H_p = sum h_i + n_p r`` over the n_p rows at p, with r
        the ``position_bias_regularization``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the total gain or number of splits, see ``importance_type`` (all 0
        without splits).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Binning N rows of d features costs O(N d), a balanced tree O(N d log(max_leaf_nodes)), and the
    gradients with a cut-off k O(N k). Memory besides X: two bytes per value, one beyond 150 million
    values, and about 30 bytes per row. CSR rows of which at most a tenth is stored cost only their
    stored values instead, ten bytes each, with the same trees; others are binned in blocks. They
    are scored in dense blocks.

    Labels may be any numbers. If the gain of nDCG is 2**y - 1 and a label is not a whole number
    from 0 to 30, the gain of a label is its distance from the smallest. ERR needs labels on its
    scale; binary measures treat labels from ``rel`` on as relevant.

    Missing values go to the side with the larger gain; at nodes without missing values in training,
    to the side with more second derivatives. Nominal splits order the categories by mean gradient
    and cut this order, which without penalties gives the best subset [2]_. Categories without
    training rows in the node go to the heavier side, unknown categories are treated as missing, or
    receive the number 0 where numbers replace categories; they include categories of rows of
    weight 0 only.
    Neither the order of rows and queries nor the names of the queries change the model, because
    random numbers are drawn by the content of the queries. Rows of equal scores, as all are before
    the first tree, rank in an order that their content determines. The order of validation rows
    does not matter either.

    ``max_leaf_nodes=31`` and ``reg_lambda=0.0`` are the defaults of LightGBM, and of version 0.2.0.
    Differs from LightGBM's LambdaRank: pairs and discounts end at the same rank;
    ``lambdarank_truncation_level`` of LightGBM limits only the pairs. Bins have equal weights, and
    sums of derivatives are exact. Every node tries every column; LightGBM skips columns that could
    not split the parent.

    A row of weight w counts as w equal rows of its query. Equal rows of a query are merged, so the
    model is bit-identical to that of the repeated rows. w copies occupy w ranks, so weights are not
    relative. With fractional weights, a row occupies a fraction of a rank under measures of
    discounted gains (nDCG, DCG, P, R, RBP); AP, RR and ERR need whole weights. Pairwise losses and
    "xendcg" accept any weights. In "yetirank" and "xendcg", copies of a row share random numbers.

    Composition: columns of X x gradients of a measure x Newton boosting of histogram trees.

    References
    ----------
    .. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82,
       2010.
    .. [2] Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of Yahoo!'s learning
       to rank challenge with YetiRank", JMLR W&CP 14, 2011; for measures as in Lyzhin et al.,
       "Which tricks are important for learning to rank?", ICML 2023.
    .. [3] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
    .. [4] Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.
    .. [5] Rashmi and Gilad-Bachrach, "DART: dropouts meet multiple additive regression trees",
       AISTATS 2015.
    .. [6] Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", NeurIPS
       2018.

    Examples
    --------
    >>> from rankwise import LambdaMART
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = LambdaMART().fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.77 on new queries
    """

    position_bias_: NDArray[Any] | Float64Array
    positions_: Int64Array
    has_missing_: NDArray[np.bool_]
    n_rounds_: int
    trees_: TreeEnsemble
    n_estimators_: int

    _structure: ClassVar[dict[str, Rule]] = {
        "n_rounds_": Sometimes(Number("i", low=0)),  # models of 0.2.0 lack it
        "best_iteration_": Number("i", low=0),
        "validation_scores_": Sometimes(Plain()),
        "positions_": Sometimes(integers("n_positions", dtype="i8", low=0, ascending=True)),
        "position_bias_": Sometimes(floats("n_positions", dtype="f8")),
    }

    _keeps_whole: ClassVar[bool] = True
    _limits: ClassVar[dict[str, Any]] = {
        "min_samples_leaf": 1, "min_hessian_leaf": 0.0, "min_split_gain": 0.0, "reg_alpha": 0.0,
        "objective": "logistic",
    }  # fmt: skip
    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        "qid": True, "sample_weight": True, "position": True,
    }  # fmt: skip
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [minimum(1)],
        "learning_rate": [POSITIVE],
        "max_leaf_nodes": [minimum(2), StrOptions({"auto"})],
        "measure": MEASURE_KINDS,
        "label_gain": ["array-like", None],
        "objective": [StrOptions(set(get_args(Objective))), callable],
        "max_depth": [minimum(1), None],
        "truncation_level": [minimum(1), None],
        "decay": [Interval(Real, 0, 1, closed="neither"), None],
        "min_samples_leaf": [minimum(1)],
        "min_hessian_leaf": [NOT_NEGATIVE],
        "reg_lambda": [NOT_NEGATIVE, StrOptions({"auto"})],
        "reg_alpha": [NOT_NEGATIVE],
        "min_split_gain": [NOT_NEGATIVE],
        "growth": [StrOptions({"auto", *get_args(Growth)})],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "normalize": ["boolean"],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "position_bias_regularization": [NOT_NEGATIVE],
        "sampling": [StrOptions({"queries", "goss"})],
        "subsample": [FRACTION],
        "top_rate": [FRACTION],
        "other_rate": [FRACTION],
        "drop_rate": [Interval(Real, 0, 1, closed="both")],
        "skip_drop": [Interval(Real, 0, 1, closed="both")],
        "colsample_bytree": [FRACTION],
        "colsample_bylevel": [FRACTION],
        "colsample_bynode": [FRACTION],
        "extra_trees": ["boolean"],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"no_interactions", "pairwise"}), None],
        "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
        "categorical_encoding": [StrOptions(set(get_args(CategoricalEncoding)))],
        "cat_l2": [NOT_NEGATIVE, StrOptions({"auto"})],
        "max_cat_threshold": [minimum(1)],
        "early_stopping_rounds": [minimum(1), None],
        **CHOICE,
        "validation_measure": [*MEASURE_KINDS, None],
        "importance_type": [StrOptions({"gain", "split"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | Literal["auto"] = "auto",
        measure: MeasureLike = "nDCG@10",
        label_gain: ArrayLike | None = None,
        objective: Objective | GradientFunction = "lambdarank",
        max_depth: int | None = None,
        truncation_level: int | None = 30,
        decay: float | None = None,
        min_samples_leaf: int = 20,
        min_hessian_leaf: float = 1e-3,
        reg_lambda: float | Literal["auto"] = "auto",
        reg_alpha: float = 0.0,
        min_split_gain: float = 0.0,
        growth: Growth | Literal["auto"] = "auto",
        max_bins: int = 255,
        normalize: bool = True,
        query_weight: QueryWeight = "pair",
        position_bias_regularization: float = 0.0,
        sampling: Literal["queries", "goss"] = "queries",
        subsample: float = 1.0,
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float = 1.0,
        extra_trees: bool = False,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = FROM_DTYPE,
        categorical_encoding: CategoricalEncoding = "auto",
        cat_l2: float | Literal["auto"] = "auto",
        max_cat_threshold: int = 32,
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
        validation_measure: MeasureLike | None = None,
        importance_type: Literal["gain", "split"] = "gain",
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes: int | Literal["auto"] = max_leaf_nodes
        self.measure = measure
        self.label_gain = label_gain
        self.objective: Objective | GradientFunction = objective
        self.max_depth = max_depth
        self.truncation_level = truncation_level
        self.decay = decay
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian_leaf = min_hessian_leaf
        self.reg_lambda: float | Literal["auto"] = reg_lambda
        self.reg_alpha = reg_alpha
        self.min_split_gain = min_split_gain
        self.growth: Growth | Literal["auto"] = growth
        self.max_bins = max_bins
        self.normalize = normalize
        self.query_weight: QueryWeight = query_weight
        self.position_bias_regularization = position_bias_regularization
        self.sampling: Literal["queries", "goss"] = sampling
        self.subsample = subsample
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.extra_trees = extra_trees
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.categorical_features = categorical_features
        self.categorical_encoding: CategoricalEncoding = categorical_encoding
        self.cat_l2: float | Literal["auto"] = cat_l2
        self.max_cat_threshold = max_cat_threshold
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.validation_measure = validation_measure
        self.importance_type: Literal["gain", "split"] = importance_type
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool | int = False,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Numeric and nominal features. NaN means missing; an entry absent from a CSR matrix is 0.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w equal rows, see the notes.
        position : array-like of shape (n_samples,), optional
            Place at which each row was shown when its clicks were recorded, integers >= 0. In
            training, a bias of each place is learned and added to the scores of the trees, see
            ``position_bias_``. ``predict`` does not use biases.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``validation_measure`` is evaluated after every tree. Training
            stops after ``early_stopping_rounds`` trees without improvement.
        callbacks : list of callable, optional
            Functions of a :class:`rankwise.rankers.CallbackEnv`, called after every tree in the
            form of LightGBM's callbacks. One that raises
            :class:`rankwise.rankers.EarlyStopException` ends the training; any other exception
            leaves the estimator as it was.
        verbose : bool or int >= 0, default=False
            Print ``validation_measure`` on X_val after every tree (True), or after every so many.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), or if ``warm_start`` finds an earlier fit
            with other features or with more trees than ``n_estimators``.
        """
        self._validate_params()
        if chooses_rounds(self, X_val):
            return fit_chosen(
                self, X, y, {"qid": qid, "sample_weight": sample_weight, "position": position},
                (X_val, y_val, qid_val), watching={"callbacks": callbacks, "verbose": verbose},
                n_before=EarlierTrees.of(self).n_rounds if self.warm_start else 0,
            )  # fmt: skip
        measure, validation_measure = self._measures()
        if follows_measure(self.objective, self.decay):
            check_objective(measure, "LambdaMART")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        boosting, n_threads = self._boosting(seed), threads_asked(self.n_jobs)

        earlier = EarlierTrees.of(self) if self.warm_start else EarlierTrees()
        log = TrainingLog(self, callbacks, verbose, earlier.trees.n_trees, self.n_estimators)
        forget(self)
        table = Table.of(X)
        columns = ColumnTable.of(table, self.categorical_features, sample_weight)
        encoder = ColumnEncoder.of(columns, earlier.columns, self.categorical_encoding)
        self.columns_: ColumnTable = encoder.codes
        data = check_fit(
            self, encoder.codes.encode(table, -1.0), y, qid, sample_weight, allow_nan=True
        )
        earlier.check(self.n_features_in_, self.n_estimators)
        positions = None if position is None else check_positions(position, data)

        # Distinct rows of each query, in an order that their content determines.
        matrix = canonicalize(data.X)
        order, indptr, weight = distinct_rows_of_queries(
            matrix, data.y, data.groups, data.sample_weight, positions, n_threads=n_threads,
            numbers=data.numbers,
        )  # fmt: skip
        numbers = order if data.numbers is None else data.numbers[order]
        # A random_state of None, too, gives the same model twice.
        order_seed = 0 if self.random_state is None else seed
        matrix, self.columns_ = encoder.encode_rows(
            matrix, numbers, data.y[order], indptr, weight, order_seed
        )
        held_X = None if X_val is None else self._encode(X_val)
        held_out = check_validation(
            self, data, held_X, y_val, qid_val, allow_nan=True, keep_whole=True
        )
        self._set_score_name(data.y)
        if follows_measure(self.objective, self.decay) and data.y.min() < data.y.max():
            refuse_constant(measure, data.y, "The trees")
            for note in list_wide_gains({str(self.measure): measure}, data.y):
                warnings.warn(f"{note}.", WideGainsWarning, stacklevel=callers_level())
        rows = OrderedRows(matrix, numbers)
        judged = JudgedRows(data.y[order], indptr, weight, self.query_weight)
        loss = self._loss(judged, measure, seed, n_threads)
        bias = None
        if positions is not None:
            rate, penalty = self.learning_rate, self.position_bias_regularization
            bias = PositionBias(loss, positions[order], earlier.biases, rate, penalty)
        # The rules read n_features_in_, feature_names_in_ and columns_, which are set above.
        rules = self._growth_rules(rows.n_rows, loss.n_queries_with_pairs)
        validation = None
        if held_out is not None:
            validation = Validation.of(held_out, validation_measure, earlier.trees)
        # The loss holds what it needs of the labels. The matrix and the order are freed with `rows`
        # below, before the grower takes its memory, unless dropout scores the rows again.
        del matrix, data, judged, order, numbers

        trees, n_rounds = earlier.trees, earlier.n_rounds
        has_missing = np.zeros(self.n_features_in_, dtype=bool) | earlier.has_missing
        if loss.has_pairs:
            n_categories = self.columns_.n_categories(self.n_features_in_)
            names = getattr(self, "feature_names_in_", None)
            binned = bin_rows(rows, self.max_bins, n_threads, weight, n_categories, names)
            has_missing |= binned.has_missing
            start = Start.of(trees, rows, n_threads, boosting.dropout, n_rounds)
            del rows
            grower = TreeGrower(binned, rules, n_threads, weight)

            def watch(grown: list[ScoreTree]) -> int | None:
                values = [] if validation is None else validation.staged.values
                spec = self.validation_measure or self.measure
                results = evaluations(spec, validation_measure, values) if values else []

                def publish() -> Self:
                    n_now = len(grown)  # rounds without a tree are unknown here
                    return self._publish(TreeEnsemble.of(grown), n_now, has_missing, validation)

                return log(len(grown) - 1, results, publish)

            # The bias of positions wraps the loss.
            trees, n_rounds = boosting.fit(
                bias or loss, grower, start, validation, watch if log else None
            )

        if bias is not None:
            self.positions_, self.position_bias_ = bias.positions, bias.biases
        return self._publish(trees, n_rounds, has_missing, validation)

    @property
    def _most_categories(self) -> int | None:
        return MAX_BINS if self.categorical_encoding == "subset" else None

    def _measures(self) -> tuple[Measure, Measure]:
        """Measures of the gradients and of early stopping, with the gains of ``label_gain``."""
        measure = parse(self.measure)
        watched = measure if self.validation_measure is None else parse(self.validation_measure)
        if self.label_gain is None:
            return measure, watched
        if not isinstance(measure, GainMeasure) and not isinstance(watched, GainMeasure):
            raise ValueError(
                f"label_gain sets the gains of nDCG and DCG, but measure is {self.measure!r}. Drop "
                "label_gain, or change measure."
            )
        return replace_label_gain(measure, self.label_gain), replace_label_gain(
            watched, self.label_gain
        )

    def _set_score_name(self, y: Float64Array) -> None:
        super()._set_score_name(y)
        if self.label_gain is not None:
            self.score_name_: str = default_score_name(y, parameter_of(self._measures()[0]))

    def _loss(self, rows: JudgedRows, measure: Measure, seed: int, n_threads: int) -> GradientLoss:
        """The objective on training rows."""
        return make_loss(
            self.objective, rows, measure, self.truncation_level, self.normalize, self.decay, seed,
            n_threads,
        )  # fmt: skip

    def _growth_rules(self, n_rows: int, n_queries: int) -> GrowthRules:
        """Rules for the growth of a tree on the columns of the fit.

        ``n_rows`` distinct rows and ``n_queries`` queries with pairs, on all machines, decide what
        "auto" means. Neither changes if rows or weights are repeated.
        """
        max_leaf_nodes, reg_lambda, relative_lambda = self.max_leaf_nodes, self.reg_lambda, 0.0
        cat_l2, relative_cat_l2 = self.cat_l2, 0.0
        growth: Growth = "leaf" if self.growth == "auto" else self.growth
        if max_leaf_nodes == "auto":
            if self.growth == "auto":
                has_effects = any(values.any() for values in self.columns_.statistics.values())
                growth = automatic_growth(n_rows, n_queries, self.max_depth, has_effects)
            max_leaf_nodes = automatic_leaves(n_rows, n_queries, growth, self.max_depth)
        # Gradients of a function need not sum to 0 in a node. A penalty would then charge a split
        # for the sum, twice, and no split of a common offset is worth it.
        is_named = isinstance(self.objective, str)
        if reg_lambda == "auto":
            reg_lambda, relative_lambda = 0.0, automatic_penalty(n_queries) if is_named else 0.0
        if cat_l2 == "auto":
            cat_l2 = 0.0
            relative_cat_l2 = automatic_category_penalty(n_rows) if is_named else 0.0
        return GrowthRules(
            max_leaf_nodes=max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_hessian_leaf=self.min_hessian_leaf,
            reg_lambda=reg_lambda,
            reg_alpha=self.reg_alpha,
            min_split_gain=self.min_split_gain,
            growth=growth,
            by_level=self.colsample_bylevel,
            by_node=self.colsample_bynode,
            random_thresholds=self.extra_trees,
            signs=monotone_signs(self, self.monotonic_cst, self.columns_.nominal),
            groups=interaction_groups(self, self.interaction_cst),
            relative_lambda=relative_lambda,
            cat_l2=cat_l2,
            relative_cat_l2=relative_cat_l2,
            max_cat_threshold=self.max_cat_threshold,
        )

    def _boosting(self, seed: int) -> TreeBoosting:
        """Order and shrinkage of the trees, and what each of them draws."""
        sampling: QuerySampling | GradientSampling = QuerySampling(self.subsample)
        if self.sampling == "goss":
            first = int(1 / self.learning_rate)  # all rows until the scores move, as in LightGBM
            sampling = GradientSampling(self.top_rate, self.other_rate, first)
        return TreeBoosting(
            self.n_estimators, self.learning_rate, self.early_stopping_rounds, sampling,
            self.colsample_bytree, Dropout(self.drop_rate, self.skip_drop), seed,
        )  # fmt: skip

    def _publish(
        self,
        trees: TreeEnsemble,
        n_rounds: int,
        has_missing: NDArray[np.bool_],
        validation: Validation | None,
    ) -> Self:
        """Set the fitted attributes."""
        self.trees_, self.has_missing_, self.n_rounds_ = trees, has_missing, n_rounds
        self.n_estimators_ = self.best_iteration_ = trees.n_trees
        if validation is not None:
            self.validation_scores_: NDArray[Any] = np.array(validation.staged.values)
            self.best_iteration_: int = min(validation.staged.best, trees.n_trees)
        return self


# Parameters that may differ from their default values.
TAKEN = frozenset({
    "n_estimators", "learning_rate", "max_leaf_nodes", "measure", "label_gain",
    "max_depth", "truncation_level",
    "min_samples_leaf",
    "min_hessian_leaf", "reg_lambda", "reg_alpha", "min_split_gain", "growth", "max_bins",
    "normalize", "query_weight", "colsample_bytree", "colsample_bylevel", "colsample_bynode",
    "extra_trees", "monotonic_cst", "interaction_cst", "early_stopping_rounds",
    "validation_measure", "importance_type", "random_state", "n_jobs", "skip_drop", "top_rate",
    "cat_l2", "max_cat_threshold",
    "other_rate", "position_bias_regularization",
})  # fmt: skip


def check_shareable(ranker: LambdaMART) -> None:
    """Raise ValueError if a parameter needs all rows on one machine."""
    ranker._validate_params()
    defaults = type(ranker)().get_params()
    for name, value in ranker.get_params().items():
        if name not in TAKEN and value != defaults[name]:
            raise ValueError(
                f"{name} must be {defaults[name]!r} for LambdaMART on a cluster, got {value!r}. "
                "Use the default, or fit on one machine."
            )
    measure, _ = ranker._measures()
    if isinstance(measure, NDCG | DCG) and measure.gain == "linear":
        raise ValueError(
            f"measure must have exponential gains or a table of gains for LambdaMART on a cluster, "
            f"got {ranker.measure!r}. Use 'nDCG@10', or fit on one machine."
        )


def fit_share(
    ranker: LambdaMART,
    rows: tuple[Any, Any, Any],
    names: list[str] | None,
    validation: tuple[Any, Any, Any],
    seed: int,
    shares: Shares,
) -> LambdaMART:
    """Train on a share of the rows, jointly with the machines that hold the other shares.

    ``ranker`` is fitted, see :func:`check_shareable`. ``rows`` are X, y and qid of this share:
    whole queries, with grades from 0 to 30. ``names`` are those of the columns. ``validation`` is
    X_val, y_val and qid_val, identical for all machines.

    The fitted ranker is bit-identical on all machines. It is also bit-identical to a fit of all
    rows on one machine if there are at most 200,000 distinct rows. With more rows, every share
    contributes to the sample from which bins are computed.
    """
    X, y, qid = rows
    ranker.columns_ = ColumnTable({}, {})
    data = check_fit(ranker, X, y, qid, allow_nan=True, names=names, part=True)
    held_out = check_validation(ranker, data, *validation, allow_nan=True)
    ranker._set_score_name(data.y)
    trees, n_threads = TreeEnsemble.of([]), threads_asked(ranker.n_jobs)
    measure, watched = ranker._measures()
    monitor = None if held_out is None else Validation.of(held_out, watched, trees)

    X = canonicalize(data.X)
    order, indptr, weight = distinct_rows_of_queries(
        X, data.y, data.groups, data.sample_weight, n_threads=n_threads
    )
    share = OrderedRows(X, order)
    judged = JudgedRows(data.y[order], indptr, weight, ranker.query_weight)
    loss = ranker._loss(judged, measure, seed, n_threads)
    counts = shares.sum(np.array([share.n_rows, loss.n_queries_with_pairs]))
    n_rows, n_queries = counts.tolist()
    weighted = bool(shares.sum(np.array([weight is not None], dtype=np.int64))[0])
    weight = judged.weights() if weighted else None

    def find_bins_of_all(samples: Sequence[tuple[Any, Any]]) -> Binning:
        weights = [weight for _, weight in samples if weight is not None]
        weight = np.concatenate(weights) if weights else None
        return find_bins(np.concatenate([X for X, _ in samples]), ranker.max_bins, weight)

    sample = slice(None, None, sample_step(n_rows))
    sampled = share.block(sample), None if weight is None else weight[sample]
    binning = shares.agree(sampled, find_bins_of_all)
    binned = encode_rows(share, binning, n_threads, shares=shares)
    has_missing = shares.sum(binned.has_missing.astype(np.int64)) > 0
    boosting = ranker._boosting(seed)
    start = Start.of(trees, share, n_threads, boosting.dropout)
    del X, data, judged, share, order
    grower = TreeGrower(binned, ranker._growth_rules(n_rows, n_queries), n_threads, weight, shares)
    return ranker._publish(*boosting.fit(loss, grower, start, monitor), has_missing, monitor)
