"""Estimators for ordered classes: classes in folders of :mod:`rankwise.ordinal`."""

from __future__ import annotations

from rankwise._registry.entry import Row

ORDINAL: dict[str, Row] = {
    "prank": Row(
        "online:PRank",
        "Online perceptron with ordered thresholds (PRank)",
        "online kernel",
        paper="crammer2001",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
    ),
    "voted_prank": Row(
        "online:VotedPRank",
        "Votes of all hypotheses of PRank, weighted by survived rows (PRank-VP)",
        "online kernel own-rule",
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
    ),
    "widrow_hoff": Row(
        "online:WidrowHoff",
        "Online least mean squares on class numbers, rounded (Widrow-Hoff)",
        "online kernel",
        paper="harrington2003",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
        space={"eta": [0.001, 1e-2, 0.1]},
    ),
    "aggregate_prank": Row(
        "online:AggregatePRank",
        "Many online PRanks on random rows, averaged or voting (OAP)",
        "online kernel",
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
        space={"tau": [0.3, 0.6, 0.9]},
    ),
    "ranking_tree": Row(
        "trees:RankingTree",
        "Decision tree grown by rank impurity (ranking tree)",
        "trees path validation own-rule deterministic",
        paper="liu2007",
        params={"max_depth": "val"},
    ),
    "ranking_forest": Row(
        "trees:RankingForest",
        "Mean of ranking trees on bootstrap samples of rows or queries (ranking forest)",
        "trees own-rule",
        paper="liu2007",
        params={"n_estimators": 100, "random_state": 0},
        space={"min_samples_leaf": [1, 5, 20]},
    ),
    "orboost": Row(
        "boosting:ORBoost",
        "Boosted stumps or perceptrons with exact thresholds (ORBoost-All, ORBoost-LR)",
        "boosting validation",
        paper="lin2006",
        params={"measure": "nDCG@10", "early_stopping_rounds": 100, "random_state": 0},
    ),
    "ordinal_svm": Row(
        "svm:OrdinalSVM",
        "Kernel support vector machine for ordered classes (ORSVM, REDSVM)",
        "kernel path validation deterministic",
        paper="li2007",
        params={"C": "val"},
    ),
    "poly_ordinal_svm": Row(
        "svm:PolyOrdinalSVM",
        "Linear SVM for ordered classes on powers of the features (Poly-ORSVM)",
        "linear path validation",
        paper="tsai2010",
        # A hinge loss is minimised by a constant score if one class outweighs the others.
        params={"C": "val", "loss": "squared_hinge"},
    ),
    "proportional_odds": Row(
        "linear:ProportionalOdds",
        "Ordered logit, probit or complementary log-log (proportional odds)",
        "linear path validation own-rule deterministic",
        paper="mccullagh1980",
        params={"C": "val"},
    ),
}
