"""The one table of estimators: what exists, where it lives, how it is compared.

The table drives the lazy import of :mod:`rankwise`, the choices of the command line, the
documentation's lists, the classes that model files may contain, and the common tests. Adding an
algorithm is its file, its test and one entry here. This module imports nothing but the standard
library, so that ``rankwise --help`` and ``rankwise list`` start at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One estimator.

    Attributes
    ----------
    path : str
        ``"module:Class"``.
    kind : str
        "ranker", "transformer", "ordinal", "multi-label" or "cost-sensitive".
    summary : str
        One line for lists.
    tags : frozenset of str
        e.g. "closed-form", "pairwise", "path", "validation" (uses X_val), "deterministic".
    paper : str
        Source, empty where none.
    extra : str
        Name of the optional dependency group it needs, empty for none.
    params : dict
        Parameters with which ``compare`` runs it: a tuned setting where the estimator has a path.
    space : dict
        Grid that ``compare`` searches on the validation part where there is no path.
    """

    path: str
    kind: str
    summary: str
    tags: frozenset[str] = frozenset()
    paper: str = ""
    extra: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Public class name."""
        return self.path.partition(":")[2]

    def load(self) -> type:
        """Import the class.

        Raises
        ------
        ImportError
            Naming the extra to install when an optional dependency is missing.
        """
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


# Kernel models whose time is linear in the rows.
_LANDMARKS = {"approximation": "nystroem", "n_landmarks": 1000, "random_state": 0}

REGISTRY: dict[str, Entry] = {
    "linear_regression": Entry(
        "rankwise.rankers.linear.linear_regression:LinearRegressionRanker",
        kind="ranker",
        summary="Least squares on the grades (LETOR's Regression baseline)",
        tags=frozenset({"pointwise", "closed-form", "linear", "deterministic"}),
    ),
    "ridge": Entry(
        "rankwise.rankers.linear.ridge:RidgeRanker",
        kind="ranker",
        summary="Ridge regression on the grades, whole path from one decomposition",
        tags=frozenset(
            {"pointwise", "closed-form", "linear", "path", "validation", "deterministic"}
        ),
        params={"alpha": "val"},
    ),
    "pointwise_elm": Entry(
        "rankwise.rankers.elm.pointwise_elm:PointwiseELM",
        kind="ranker",
        summary="Random hidden nodes, pointwise least squares (RankELM, pointwise)",
        tags=frozenset({"pointwise", "closed-form", "random-nodes", "path", "validation"}),
        paper="zong2013",
        params={"C": "val", "random_state": 0},
    ),
    "pairwise_elm": Entry(
        "rankwise.rankers.elm.pairwise_elm:PairwiseELM",
        kind="ranker",
        summary="Random hidden nodes, least squares over all pairs (RankELM, pairwise)",
        tags=frozenset({"pairwise", "closed-form", "random-nodes", "path", "validation"}),
        paper="zong2013",
        params={"C": "val", "random_state": 0},
    ),
    "elmrank": Entry(
        "rankwise.rankers.elm.elmrank:ELMRank",
        kind="ranker",
        summary="Random hidden nodes, squared loss of score differences, two ridges (ELMRank)",
        tags=frozenset({"pairwise", "closed-form", "random-nodes", "path", "validation"}),
        paper="chen2014",
        params={"lam": "val", "C": "val", "random_state": 0},
    ),
    "rankrls": Entry(
        "rankwise.rankers.kernel.rankrls:RankRLS",
        kind="ranker",
        summary="Regularised least squares over all pairs, with a kernel (RankRLS)",
        tags=frozenset({"pairwise", "closed-form", "kernel", "path", "validation"}),
        paper="pahikkala2009",
        params={"kernel": "rbf", "alpha": "val", **_LANDMARKS},
    ),
    "lsrrank": Entry(
        "rankwise.rankers.kernel.lsrrank:LSRRank",
        kind="ranker",
        summary="Least-squares regularised ranking in a kernel's space (LSRRank)",
        tags=frozenset({"pairwise", "closed-form", "kernel", "path", "validation"}),
        paper="agarwal2009",
        params={"lam": "val", **_LANDMARKS},
    ),
    "clsrrank": Entry(
        "rankwise.rankers.kernel.clsrrank:CLSRRank",
        kind="ranker",
        summary="Least-squares ranking with penalised coefficients, any kernel (CLSRRank)",
        tags=frozenset({"pairwise", "closed-form", "kernel", "path", "validation"}),
        paper="chen2014clsr",
        params={"lam": "val", **_LANDMARKS, "approximation": "landmarks"},
    ),
    "mprank": Entry(
        "rankwise.rankers.kernel.mprank:MPRank",
        kind="ranker",
        summary="Magnitude-preserving ranking with squared loss (MPRank)",
        tags=frozenset({"pairwise", "closed-form", "kernel", "path", "validation"}),
        paper="cortes2007",
        params={"C": "val"},
    ),
    "svrank": Entry(
        "rankwise.rankers.kernel.svrank:SVRank",
        kind="ranker",
        summary="Absolute differences over pairs, epsilon-insensitive, with a kernel (SVRank)",
        tags=frozenset({"pairwise", "kernel", "path", "validation"}),
        paper="cortes2007",
        params={"kernel": "linear", "lam": "val", "epsilon": 0.5},
    ),
    "svr": Entry(
        "rankwise.rankers.kernel.svr:SVRRanker",
        kind="ranker",
        summary="Support vector regression on the grades, with a kernel (epsilon-SVR)",
        tags=frozenset({"pointwise", "kernel", "path", "validation", "deterministic"}),
        paper="smola2004",
        params={"kernel": "linear", "C": "val", "epsilon": [0.0, 0.1, 0.25, 0.4]},
    ),
    "lssvr": Entry(
        "rankwise.rankers.kernel.lssvr:LSSVRanker",
        kind="ranker",
        summary="Least-squares support vector regression as a ranker (LS-SVM)",
        tags=frozenset({"pointwise", "closed-form", "kernel", "path", "validation"}),
        paper="suykens1999",
        params={"C": "val", **_LANDMARKS},
    ),
    "rank_svm": Entry(
        "rankwise.rankers.svm.rank_svm:RankSVM",
        kind="ranker",
        summary="Hinges over the pairs of each query, linear or with a kernel (RankSVM)",
        tags=frozenset({"pairwise", "linear", "kernel", "path", "validation"}),
        paper="joachims2002",
        params={"C": "val"},
    ),
    "pruned_rank_svm": Entry(
        "rankwise.rankers.svm.pruned_rank_svm:PrunedRankSVM",
        kind="ranker",
        summary="RankSVM on some of the pairs, chosen by a rule (Pruned RankSVM)",
        tags=frozenset({"pairwise", "linear", "kernel", "path", "validation"}),
        paper="lin2010",
        params={"C": "val", "random_state": 0},
    ),
    "rank_lr": Entry(
        "rankwise.rankers.linear.rank_lr:RankLR",
        kind="ranker",
        summary="Logistic regression on the pairs of each query (RankLR)",
        tags=frozenset({"pairwise", "linear", "kernel", "path", "validation"}),
        paper="sculley2009",
        params={"C": "val"},
    ),
    "rank_boost": Entry(
        "rankwise.rankers.boosting.rank_boost:RankBoost",
        kind="ranker",
        summary="Boosted thresholds on features for the pairs of each query (RankBoost)",
        tags=frozenset({"pairwise", "boosting", "validation", "deterministic"}),
        paper="freund2003",
        params={"n_estimators": 1000, "early_stopping_rounds": 100},
    ),
    "frank": Entry(
        "rankwise.rankers.boosting.frank:FRank",
        kind="ranker",
        summary="Boosted thresholds on features under the fidelity loss of pairs (FRank)",
        tags=frozenset({"pairwise", "boosting", "validation", "deterministic"}),
        paper="tsai2007",
        params={"n_estimators": 1000, "early_stopping_rounds": 100},
    ),
    "ada_rank": Entry(
        "rankwise.rankers.boosting.ada_rank:AdaRank",
        kind="ranker",
        summary="Boosting of single features over queries by any measure (AdaRank)",
        tags=frozenset({"listwise", "linear", "boosting", "validation", "deterministic"}),
        paper="xu2007",
        params={"early_stopping_rounds": 50},
    ),
    "coordinate_ascent": Entry(
        "rankwise.rankers.boosting.coordinate_ascent:CoordinateAscent",
        kind="ranker",
        summary="Linear ranker whose weights are searched one by one on the measure",
        tags=frozenset({"listwise", "linear", "validation"}),
        paper="metzler2007",
        params={"random_state": 0},
    ),
    "mc_rank": Entry(
        "rankwise.rankers.boosting.mc_rank:McRank",
        kind="ranker",
        summary="Expected grade under the class probabilities of any classifier (McRank)",
        tags=frozenset({"pointwise", "trees", "boosting", "validation"}),
        paper="li2007mcrank",
        params={"random_state": 0},
        space={"form": ["plain", "ordinal"], "gain": ["linear", "exp2"]},
    ),
    "model_tree": Entry(
        "rankwise.rankers.linear.model_tree:ModelTree",
        kind="ranker",
        summary="Regression tree with linear models in its leaves, pruned and smoothed (M5')",
        tags=frozenset({"pointwise", "trees", "linear", "deterministic"}),
        paper="wang1997",
        space={"min_samples_leaf": [4, 32]},
    ),
    "rank_net": Entry(
        "rankwise.rankers.neural.rank_net:RankNet",
        kind="ranker",
        summary="Network on the pairs of each query, logistic loss (RankNet)",
        tags=frozenset({"pairwise", "neural", "validation"}),
        paper="burges2005",
        extra="neural",
        params={"n_epochs": 100, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.003, 0.01], "alpha": [1e-4, 1e-2]},
    ),
    "list_net": Entry(
        "rankwise.rankers.neural.list_net:ListNet",
        kind="ranker",
        summary="Network on the top-one probabilities of each query (ListNet)",
        tags=frozenset({"listwise", "neural", "validation"}),
        paper="cao2007",
        extra="neural",
        params={"n_epochs": 100, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.003, 0.01], "alpha": [1e-4, 1e-2]},
    ),
    "list_mle": Entry(
        "rankwise.rankers.neural.list_mle:ListMLE",
        kind="ranker",
        summary="Network on the likelihood of each query's order (ListMLE)",
        tags=frozenset({"listwise", "neural", "validation"}),
        paper="xia2008",
        extra="neural",
        params={"n_epochs": 100, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.003, 0.01], "alpha": [1e-4, 1e-2]},
    ),
    "lambda_rank": Entry(
        "rankwise.rankers.neural.lambda_rank:LambdaRank",
        kind="ranker",
        summary="Network on pairs weighted by their part in nDCG (LambdaRank)",
        tags=frozenset({"listwise", "neural", "validation"}),
        paper="burges2010",
        extra="neural",
        params={"n_epochs": 100, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.003, 0.01], "alpha": [1e-4, 1e-2]},
    ),
    "stacking_ranker": Entry(
        "rankwise.rankers.ensemble.stacking_ranker:StackingRanker",
        kind="ranker",
        summary="A ranker on the scores of rankers for held-out queries (stacking)",
        tags=frozenset({"ensemble", "validation"}),
        paper="tsai2010",
        params={"random_state": 0},
    ),
    "score_blend": Entry(
        "rankwise.rankers.ensemble.score_blend:ScoreBlend",
        kind="ranker",
        summary="Mean of the scores of rankers, standardised within queries (CombSUM)",
        tags=frozenset({"ensemble", "validation"}),
        paper="lee1997",
        params={"random_state": 0},
    ),
    "borda_blend": Entry(
        "rankwise.rankers.ensemble.borda_blend:BordaBlend",
        kind="ranker",
        summary="Mean of the ranks that rankers give (Borda's count)",
        tags=frozenset({"ensemble", "validation"}),
        paper="aslam2001",
        params={"random_state": 0},
    ),
    "reciprocal_rank_blend": Entry(
        "rankwise.rankers.ensemble.reciprocal_rank_blend:ReciprocalRankBlend",
        kind="ranker",
        summary="Mean of the reciprocal ranks that rankers give (RRF)",
        tags=frozenset({"ensemble", "validation"}),
        paper="cormack2009",
        params={"random_state": 0},
    ),
    "boltz_rank": Entry(
        "rankwise.rankers.neural.boltz_rank:BoltzRank",
        kind="ranker",
        summary="Networks that maximise the expected measure of rankings (BoltzRank)",
        tags=frozenset({"listwise", "neural", "validation"}),
        paper="volkovs2009",
        extra="neural",
        params={"n_features": 10, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.03, 0.1], "kl_weight": [0.0, 0.1]},
    ),
    "lightgbm": Entry(
        "rankwise.rankers.adapters.lightgbm:LightGBMRanker",
        kind="ranker",
        summary="LightGBM's LambdaMART behind the qid API",
        tags=frozenset({"listwise", "trees", "validation", "adapter"}),
        paper="burges2010",
        extra="gbdt",
        params={"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0},
        space={
            "learning_rate": [0.03, 0.1],
            "num_leaves": [7, 15, 31],
            "min_child_samples": [20, 100],
        },
    ),
    "xgboost": Entry(
        "rankwise.rankers.adapters.xgboost:XGBoostRanker",
        kind="ranker",
        summary="XGBoost's LambdaMART behind the qid API",
        tags=frozenset({"listwise", "trees", "validation", "adapter"}),
        paper="burges2010",
        extra="gbdt",
        params={"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0},
        space={
            "learning_rate": [0.03, 0.1],
            "max_depth": [3, 4, 6],
            "min_child_weight": [1.0, 10.0],
        },
    ),
    "catboost": Entry(
        "rankwise.rankers.adapters.catboost:CatBoostRanker",
        kind="ranker",
        summary="CatBoost's YetiRank behind the qid API",
        tags=frozenset({"listwise", "trees", "validation", "adapter"}),
        paper="gulin2011",
        extra="gbdt",
        params={"n_estimators": 300, "early_stopping_rounds": 50, "random_state": 0},
        space={"learning_rate": [0.03, 0.1], "depth": [4, 6]},
    ),
    "prank": Entry(
        "rankwise.ordinal.online.prank:PRank",
        kind="ordinal",
        summary="Perceptron with ordered thresholds, online (PRank)",
        tags=frozenset({"online", "kernel"}),
        paper="crammer2001",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
    ),
    "voted_prank": Entry(
        "rankwise.ordinal.online.voted_prank:VotedPRank",
        kind="ordinal",
        summary="Votes of all hypotheses of PRank, by the rows they survived (PRank-VP)",
        tags=frozenset({"online", "kernel", "own-rule"}),
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
    ),
    "widrow_hoff": Entry(
        "rankwise.ordinal.online.widrow_hoff:WidrowHoff",
        kind="ordinal",
        summary="Least mean squares on class numbers, rounded, online (Widrow-Hoff)",
        tags=frozenset({"online", "kernel"}),
        paper="harrington2003",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
        space={"eta": [0.001, 0.01, 0.1]},
    ),
    "aggregate_prank": Entry(
        "rankwise.ordinal.online.aggregate_prank:AggregatePRank",
        kind="ordinal",
        summary="Many PRanks on random rows, averaged or voting, online (OAP)",
        tags=frozenset({"online", "kernel"}),
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
        space={"tau": [0.3, 0.6, 0.9]},
    ),
    "ranking_tree": Entry(
        "rankwise.ordinal.trees.ranking_tree:RankingTree",
        kind="ordinal",
        summary="Decision tree by rank impurity, categories and missing values (ranking tree)",
        tags=frozenset({"trees", "path", "validation", "own-rule", "deterministic"}),
        paper="liu2007",
        params={"max_depth": "val"},
    ),
    "ranking_forest": Entry(
        "rankwise.ordinal.trees.ranking_forest:RankingForest",
        kind="ordinal",
        summary="Mean of ranking trees on bags of rows or queries (ranking forest)",
        tags=frozenset({"trees", "own-rule"}),
        paper="liu2007",
        params={"n_estimators": 100, "random_state": 0},
        space={"min_samples_leaf": [1, 5, 20]},
    ),
    "orboost": Entry(
        "rankwise.ordinal.boosting.orboost:ORBoost",
        kind="ordinal",
        summary="Boosted stumps or perceptrons with exact thresholds (ORBoost-All, ORBoost-LR)",
        tags=frozenset({"boosting", "validation"}),
        paper="lin2006",
        params={"measure": "nDCG@10", "early_stopping_rounds": 100, "random_state": 0},
    ),
    "ordinal_svm": Entry(
        "rankwise.ordinal.svm.ordinal_svm:OrdinalSVM",
        kind="ordinal",
        summary="Support vector machine for ordered classes, with a kernel (ORSVM, REDSVM)",
        tags=frozenset({"kernel", "path", "validation", "deterministic"}),
        paper="li2007",
        params={"C": "val"},
    ),
    "poly_ordinal_svm": Entry(
        "rankwise.ordinal.svm.poly_ordinal_svm:PolyOrdinalSVM",
        kind="ordinal",
        summary="Linear machine for ordered classes on powers of the features (Poly-ORSVM)",
        tags=frozenset({"linear", "path", "validation"}),
        paper="tsai2010",
        # The hinge's minimum is the constant score where one class outweighs the others.
        params={"C": "val", "loss": "squared_hinge"},
    ),
    "csovo": Entry(
        "rankwise.labels.cost_sensitive.csovo:CSOVO",
        kind="cost-sensitive",
        summary="One-versus-one with pairs weighted by costs, any weighted classifier (CSOVO)",
        tags=frozenset({"reduction", "pairwise", "closed-form", "deterministic"}),
        paper="lin2010csovo",
    ),
    "weighted_all_pairs": Entry(
        "rankwise.labels.cost_sensitive.weighted_all_pairs:WeightedAllPairs",
        kind="cost-sensitive",
        summary="One classifier for all pairs of classes, weighted by costs (WAP)",
        tags=frozenset({"reduction", "pairwise", "closed-form", "deterministic"}),
        paper="beygelzimer2005",
    ),
    "cost_sensitive_one_vs_all_regression": Entry(
        "rankwise.labels.cost_sensitive.cost_sensitive_one_vs_all_regression:CostSensitiveOneVsAllRegression",
        kind="cost-sensitive",
        summary="A regressor of the cost of every class, squared or one-sided loss (OSR)",
        tags=frozenset({"reduction", "closed-form", "deterministic"}),
        paper="tu2010",
    ),
    "ordinal_reduction": Entry(
        "rankwise.labels.cost_sensitive.ordinal_reduction:OrdinalReduction",
        kind="cost-sensitive",
        summary="Thresholds between ordered classes weighted by costs, any weighted classifier",
        tags=frozenset({"reduction", "closed-form", "deterministic"}),
        paper="li2007",
    ),
    "binary_relevance": Entry(
        "rankwise.labels.multi_label.binary_relevance:BinaryRelevance",
        kind="multi-label",
        summary="One regression for every label, one factorisation for all (BR)",
        tags=frozenset({"closed-form", "linear", "deterministic"}),
        paper="tai2012",
    ),
    "partial_binary_relevance": Entry(
        "rankwise.labels.multi_label.partial_binary_relevance:PartialBinaryRelevance",
        kind="multi-label",
        summary="Regressions for some labels drawn at random (partial BR)",
        tags=frozenset({"closed-form", "linear"}),
        paper="tai2012",
        params={"random_state": 0},
    ),
    "plst": Entry(
        "rankwise.labels.multi_label.plst:PLST",
        kind="multi-label",
        summary="Regression on principal axes of the labels (PLST)",
        tags=frozenset({"closed-form", "linear"}),
        paper="tai2012",
        params={"random_state": 0},
    ),
    "cplst": Entry(
        "rankwise.labels.multi_label.cplst:CPLST",
        kind="multi-label",
        summary="Regression on axes of the labels that features predict (CPLST)",
        tags=frozenset({"closed-form", "linear", "deterministic"}),
        paper="chen2012",
    ),
    "compressed_sensing": Entry(
        "rankwise.labels.multi_label.compressed_sensing:CompressedSensing",
        kind="multi-label",
        summary="Regression on random codes of the labels, decoded as sparse vectors",
        tags=frozenset({"closed-form", "linear"}),
        paper="hsu2009",
        params={"random_state": 0},
    ),
    "linear_label_space_transform": Entry(
        "rankwise.labels.multi_label.linear_label_space_transform:LinearLabelSpaceTransform",
        kind="multi-label",
        summary="Regression on any linear code of the labels, any decoder",
        tags=frozenset({"closed-form", "linear", "deterministic"}),
        paper="tai2012",
    ),
    "label_powerset": Entry(
        "rankwise.labels.multi_label.label_powerset:LabelPowerset",
        kind="multi-label",
        summary="One class for every label set (LP)",
        tags=frozenset({"closed-form", "linear", "deterministic"}),
        paper="boutell2004",
    ),
    "calibrated_label_ranking": Entry(
        "rankwise.labels.multi_label.calibrated_label_ranking:CalibratedLabelRanking",
        kind="multi-label",
        summary="Pairs of labels and a calibrating label, any binary classifier (CLR)",
        tags=frozenset({"closed-form", "linear", "pairwise", "deterministic"}),
        paper="fuernkranz2008",
    ),
    "nystroem": Entry(
        "rankwise.features.nystroem:Nystroem",
        kind="transformer",
        summary="Nyström features of a kernel from landmarks among the rows",
        tags=frozenset({"kernel"}),
        paper="williams2001",
    ),
    "query_scaling": Entry(
        "rankwise.features.query_scaling:QueryScaler",
        kind="transformer",
        summary="Min-max or standard scaling of the features within each query",
        tags=frozenset({"deterministic"}),
        paper="lin2010",
    ),
    "random_fourier": Entry(
        "rankwise.features.random_fourier:RandomFourier",
        kind="transformer",
        summary="Random Fourier features of the rbf and laplacian kernels",
        tags=frozenset({"kernel"}),
        paper="rahimi2007",
    ),
    "polynomial_terms": Entry(
        "rankwise.features.polynomial_terms:PolynomialTerms",
        kind="transformer",
        summary="Powers of features, or products of several, all or drawn at random",
        tags=frozenset({"polynomial"}),
        paper="tsai2010",
    ),
    "random_perceptrons": Entry(
        "rankwise.features.random_perceptrons:RandomPerceptrons",
        kind="transformer",
        summary="Random perceptrons and stumps whose products estimate their kernels",
        tags=frozenset({"kernel"}),
        paper="lin2008",
    ),
    "random_nodes": Entry(
        "rankwise.features.random_nodes:RandomNodes",
        kind="transformer",
        summary="Random hidden nodes as a scikit-learn transformer",
        tags=frozenset({"random-nodes"}),
        paper="zong2013",
    ),
}

BY_CLASS_NAME: dict[str, Entry] = {entry.class_name: entry for entry in REGISTRY.values()}
