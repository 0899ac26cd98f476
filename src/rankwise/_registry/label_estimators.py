"""Cost-sensitive and multi-label classifiers: classes in folders of :mod:`rankwise.labels`."""

from __future__ import annotations

from rankwise._registry.entry import Row

COST_SENSITIVE: dict[str, Row] = {
    "csovo": Row(
        "CSOVO",
        "One-versus-one with cost-weighted class pairs, for any classifier (CSOVO)",
        "reduction pairwise closed-form deterministic",
        paper="lin2010csovo",
    ),
    "weighted_all_pairs": Row(
        "WeightedAllPairs",
        "One classifier for all pairs of classes, weighted by costs (WAP)",
        "reduction pairwise closed-form deterministic",
        paper="beygelzimer2005",
    ),
    "cost_sensitive_one_vs_all_regression": Row(
        "CostSensitiveOneVsAllRegression",
        "One cost regressor per class, with squared or one-sided loss (OSR)",
        "reduction closed-form deterministic",
        paper="tu2010",
    ),
    "ordinal_reduction": Row(
        "OrdinalReduction",
        "Cost-weighted thresholds between ordered classes, for any classifier",
        "reduction closed-form deterministic",
        paper="li2007",
    ),
}

MULTI_LABEL: dict[str, Row] = {
    "binary_relevance": Row(
        "BinaryRelevance",
        "One regression for each label, with a shared factorisation (BR)",
        "closed-form linear deterministic",
        paper="tai2012",
    ),
    "partial_binary_relevance": Row(
        "PartialBinaryRelevance",
        "Regressions for some randomly drawn labels (partial BR)",
        "closed-form linear",
        paper="tai2012",
        params={"random_state": 0},
    ),
    "plst": Row(
        "PLST",
        "Regression on principal axes of the labels (PLST)",
        "closed-form linear",
        paper="tai2012",
        params={"random_state": 0},
    ),
    "cplst": Row(
        "CPLST",
        "Regression on axes of the labels that the features predict (CPLST)",
        "closed-form linear deterministic",
        paper="chen2012",
    ),
    "compressed_sensing": Row(
        "CompressedSensing",
        "Regression on random codes of the labels, decoded to sparse vectors",
        "closed-form linear",
        paper="hsu2009",
        params={"random_state": 0},
    ),
    "linear_label_space_transform": Row(
        "LinearLabelSpaceTransform",
        "Regression on any linear code of the labels, with any decoder",
        "closed-form linear deterministic",
        paper="tai2012",
    ),
    "label_powerset": Row(
        "LabelPowerset",
        "One class for every label set (LP)",
        "closed-form linear deterministic",
        paper="boutell2004",
    ),
    "calibrated_label_ranking": Row(
        "CalibratedLabelRanking",
        "Pairwise comparisons of labels and a calibration label (CLR)",
        "closed-form linear pairwise deterministic",
        paper="fuernkranz2008",
    ),
}
