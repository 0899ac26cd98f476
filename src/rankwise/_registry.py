"""Registry of estimators: keys, modules, and parameters for comparisons.

The tables determine the lazy imports of :mod:`rankwise`, the choices of the command line, the lists
of the documentation, the classes that model files may contain, and the common tests. A new
algorithm needs a file, a test and one row here. This package imports only the standard library, so
``rankwise --help`` and ``rankwise list`` start without delay.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from rankwise.runtime.messages import did_you_mean
from rankwise.runtime.renames import say_new_name


@dataclass(frozen=True)
class Entry:
    """Description of one estimator."""

    path: str  # "module:Class"
    kind: str  # "ranker", "transformer", "ordinal", "multi-label" or "cost-sensitive"
    summary: str  # one line, for lists
    # such as "closed-form", "pairwise", "path", "validation" (uses X_val) or "deterministic"
    tags: frozenset[str] = frozenset()
    paper: str = ""  # source; empty if there is none
    extra: str = ""  # group of optional dependencies that it needs; empty if there is none
    # The tuned recipe, which a bare key stands for: parameters, with a search setting if the
    # estimator has a path, and a grid that is searched on validation rows if it has none.
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def recipe(self) -> str:
        """The tuned recipe as Python: arguments of :func:`rankwise.selection.tune`."""
        params = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{self.class_name}({params})" + (f", space={self.space}" if self.space else "")

    @property
    def class_name(self) -> str:
        """Public class name."""
        return self.path.partition(":")[2]

    def load(self) -> type:
        """Import the class; if a dependency is missing, the error names the extra to install."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class Row:
    """An :class:`Entry` without the kind that its table sets."""

    place: str  # "module:Class", where the module is in rankwise
    summary: str
    tags: str  # separated by spaces
    paper: str = ""
    extra: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, list[Any]] = field(default_factory=dict)


def entries(kind: str, table: Mapping[str, Row]) -> dict[str, Entry]:
    """Entries of a table with estimators of one kind."""
    return {
        key: Entry(
            f"rankwise.{row.place}",
            kind,
            row.summary,
            frozenset(row.tags.split()),
            row.paper,
            row.extra,
            row.params,
            row.space,
        )
        for key, row in table.items()
    }


# Kernel models whose time is linear in the number of rows.
_LANDMARKS = {"approximation": "nystroem", "n_landmarks": 1000, "random_state": 0}
_NETWORK: dict[str, Any] = {
    "extra": "neural",
    "params": {"n_epochs": 100, "early_stopping_rounds": 10, "random_state": 0},
    "space": {"learning_rate_init": [0.003, 0.01], "lam": [1e-4, 1e-2]},
}

RANKERS: dict[str, Row] = {
    "linear_regression": Row(
        "rankers.regression:LinearRegressionRanker",
        "Least squares on the grades (LETOR's Regression baseline)",
        "pointwise closed-form linear deterministic",
    ),
    "ridge": Row(
        "rankers.regression:RidgeRanker",
        "Ridge regression on the grades, with the whole path from one decomposition",
        "pointwise closed-form linear path validation deterministic",
        params={"alpha": "val"},
    ),
    "pointwise_elm": Row(
        "rankers.elm:PointwiseELM",
        "Random hidden nodes with pointwise least squares (RankELM, pointwise)",
        "pointwise closed-form random-nodes path validation",
        paper="zong2013",
        params={"C": "val", "random_state": 0},
    ),
    "pairwise_elm": Row(
        "rankers.elm:PairwiseELM",
        "Random hidden nodes with least squares over all pairs (RankELM, pairwise)",
        "pairwise closed-form random-nodes path validation",
        paper="zong2013",
        params={"C": "val", "random_state": 0},
    ),
    "elmrank": Row(
        "rankers.elm:ELMRank",
        "Random hidden nodes, squared loss of score differences, two ridges (ELMRank)",
        "pairwise closed-form random-nodes path validation",
        paper="chen2014",
        params={"lam": "val", "alpha": "val", "random_state": 0},
    ),
    "rankrls": Row(
        "rankers.rankrls:RankRLS",
        "Regularised least squares over all pairs, with a kernel (RankRLS)",
        "pairwise closed-form kernel path validation",
        paper="pahikkala2009",
        params={"kernel": "rbf", "alpha": "val", **_LANDMARKS},
    ),
    "lsrrank": Row(
        "rankers.rankrls:LSRRank",
        "Least-squares regularised ranking in the space of a kernel (LSRRank)",
        "pairwise closed-form kernel path validation",
        paper="agarwal2009",
        params={"lam": "val", **_LANDMARKS},
    ),
    "clsrrank": Row(
        "rankers.rankrls:CLSRRank",
        "Least-squares ranking with penalised coefficients, for any kernel (CLSRRank)",
        "pairwise closed-form kernel path validation",
        paper="chen2014clsr",
        params={"lam": "val", **_LANDMARKS, "approximation": "landmarks"},
    ),
    "mprank": Row(
        "rankers.rankrls:MPRank",
        "Magnitude-preserving ranking with squared loss (MPRank)",
        "pairwise closed-form kernel path validation",
        paper="cortes2007",
        params={"lam": "val"},
    ),
    "svrank": Row(
        "rankers.svrank:SVRank",
        "Epsilon-insensitive absolute differences over pairs, with a kernel (SVRank)",
        "pairwise kernel path validation",
        paper="cortes2007",
        params={"kernel": "linear", "lam": "val", "epsilon": 0.5},
    ),
    "svr": Row(
        "rankers.svrank:SVRRanker",
        "Support vector regression on the grades, with a kernel (epsilon-SVR)",
        "pointwise kernel path validation deterministic",
        paper="smola2004",
        params={"kernel": "linear", "C": "val", "epsilon": [0.0, 0.1, 0.25, 0.4]},
    ),
    "lssvr": Row(
        "rankers.rankrls:LSSVRanker",
        "Least-squares support vector regression as a ranker (LS-SVM)",
        "pointwise closed-form kernel path validation",
        paper="suykens1999",
        params={"C": "val", **_LANDMARKS},
    ),
    "rank_svm": Row(
        "rankers.rank_svm:RankSVM",
        "Hinge loss over the pairs of each query, linear or with a kernel (RankSVM)",
        "pairwise linear kernel path validation",
        paper="joachims2002",
        params={"C": "val"},
    ),
    "pruned_rank_svm": Row(
        "rankers.rank_svm:PrunedRankSVM",
        "RankSVM on a selection of the pairs (Pruned RankSVM)",
        "pairwise linear kernel path validation",
        paper="lin2010",
        params={"C": "val", "random_state": 0},
    ),
    "rank_lr": Row(
        "rankers.pair_ranker:RankLR",
        "Logistic regression on the pairs of each query (RankLR)",
        "pairwise linear kernel path validation",
        paper="sculley2009",
        params={"C": "val"},
    ),
    "pair_ranker": Row(
        "rankers.pair_ranker:PairRanker",
        "Any loss over the pairs of each query, named or your own",
        "pairwise linear kernel path validation",
        params={"loss": "logistic", "C": "val"},
    ),
    "lambdamart": Row(
        "rankers.boosting.lambdamart:LambdaMART",
        "Boosted trees that follow the gradients of a measure (LambdaMART)",
        "listwise trees boosting validation",
        paper="burges2010",
        # No grid: where one part of few queries chooses the leaves, it costs more than it gains
        # (docs/study_small_sets.txt).
        params={"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0},
    ),
    "rank_boost": Row(
        "rankers.boosting.stump_ranker:RankBoost",
        "Boosted thresholds on features for the pairs of each query (RankBoost)",
        "pairwise boosting validation deterministic",
        paper="freund2003",
        params={"n_estimators": 1000, "early_stopping_rounds": 100},
    ),
    "frank": Row(
        "rankers.boosting.stump_ranker:FRank",
        "Boosted thresholds on features under the fidelity loss of pairs (FRank)",
        "pairwise boosting validation deterministic",
        paper="tsai2007",
        params={"n_estimators": 1000, "early_stopping_rounds": 100},
    ),
    "ada_rank": Row(
        "rankers.boosting.measure_ranker:AdaRank",
        "Boosting of single features by reweighting queries, for any measure (AdaRank)",
        "listwise linear boosting validation deterministic",
        paper="xu2007",
        params={"early_stopping_rounds": 50},
    ),
    "coordinate_ascent": Row(
        "rankers.boosting.measure_ranker:CoordinateAscent",
        "Linear ranker that optimises a measure one weight at a time (coordinate ascent)",
        "listwise linear validation",
        paper="metzler2007",
        params={"random_state": 0},
    ),
    "mc_rank": Row(
        "rankers.boosting.mc_rank:McRank",
        "Expected grade under the class probabilities of any classifier (McRank)",
        "pointwise trees boosting validation",
        paper="li2007mcrank",
        params={"random_state": 0},
        space={"form": ["plain", "ordinal"], "gain": ["linear", "exp2"]},
    ),
    "model_tree": Row(
        "rankers.regression:ModelTree",
        "Regression tree with linear models in its leaves, pruned and smoothed (M5')",
        "pointwise trees linear deterministic",
        paper="wang1997",
        space={"min_samples_leaf": [4, 32]},
    ),
    "rank_net": Row(
        "rankers.neural.neural_ranker:RankNet",
        "Neural network with logistic loss over the pairs of each query (RankNet)",
        "pairwise neural validation",
        paper="burges2005",
        **_NETWORK,
    ),
    "list_net": Row(
        "rankers.neural.neural_ranker:ListNet",
        "Neural network trained on the top-one probabilities of each query (ListNet)",
        "listwise neural validation",
        paper="cao2007",
        **_NETWORK,
    ),
    "list_mle": Row(
        "rankers.neural.neural_ranker:ListMLE",
        "Neural network trained on the likelihood of the order of each query (ListMLE)",
        "listwise neural validation",
        paper="xia2008",
        **_NETWORK,
    ),
    "lambda_rank": Row(
        "rankers.neural.neural_ranker:LambdaRank",
        "Neural network trained on pairs weighted by their effect on nDCG (LambdaRank)",
        "listwise neural validation",
        paper="burges2010",
        **_NETWORK,
    ),
    "auto": Row(
        "rankers.ensemble.auto:AutoRanker",
        "Blend of linear rankers, random nodes and boosted trees within a time budget",
        "ensemble validation",
        paper="lee1997",
        params={"random_state": 0},
    ),
    "stacking_ranker": Row(
        "rankers.ensemble.blends_and_stacks:StackingRanker",
        "Final ranker trained on scores of rankers for held-out queries (stacking)",
        "ensemble validation",
        paper="tsai2010",
        params={"random_state": 0},
    ),
    "calibrated_ranker": Row(
        "rankers.calibration:CalibratedRanker",
        "Any ranker with probabilities of relevance, calibrated on held-out queries",
        "ensemble validation",
        paper="kull2017",
        params={"random_state": 0},
    ),
    "score_blend": Row(
        "rankers.ensemble.blends_and_stacks:ScoreBlend",
        "Mean of ranker scores, standardised within queries (CombSUM)",
        "ensemble validation",
        paper="lee1997",
        params={"random_state": 0},
    ),
    "borda_blend": Row(
        "rankers.ensemble.blends_and_stacks:BordaBlend",
        "Mean rank over rankers (Borda count)",
        "ensemble validation",
        paper="aslam2001",
        params={"random_state": 0},
    ),
    "reciprocal_rank_blend": Row(
        "rankers.ensemble.blends_and_stacks:ReciprocalRankBlend",
        "Mean reciprocal rank over rankers (RRF)",
        "ensemble validation",
        paper="cormack2009",
        params={"random_state": 0},
    ),
    "boltz_rank": Row(
        "rankers.neural.boltz_rank:BoltzRank",
        "Neural networks that maximise the expected measure of a ranking (BoltzRank)",
        "listwise neural validation",
        paper="volkovs2009",
        extra="neural",
        params={"n_features": 10, "early_stopping_rounds": 10, "random_state": 0},
        space={"learning_rate_init": [0.03, 0.1], "kl_weight": [0.0, 0.1]},
    ),
    "lightgbm": Row(
        "rankers.adapters.lightgbm:LightGBMRanker",
        "LightGBM's LambdaMART with the API of rankwise",
        "listwise trees validation adapter",
        paper="burges2010",
        extra="gbdt",
        params={"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0},
        space={
            "learning_rate": [0.03, 0.1],
            "num_leaves": [7, 15, 31],
            "min_child_samples": [20, 100],
        },
    ),
    "xgboost": Row(
        "rankers.adapters.xgboost:XGBoostRanker",
        "XGBoost's LambdaMART with the API of rankwise",
        "listwise trees validation adapter",
        paper="burges2010",
        extra="gbdt",
        params={"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0},
        space={
            "learning_rate": [0.03, 0.1],
            "max_depth": [3, 4, 6],
            "min_child_weight": [1.0, 10.0],
        },
    ),
    "catboost": Row(
        "rankers.adapters.catboost:CatBoostRanker",
        "CatBoost's YetiRank with the API of rankwise",
        "listwise trees validation adapter",
        paper="gulin2011",
        extra="gbdt",
        params={"n_estimators": 300, "early_stopping_rounds": 50, "random_state": 0},
        space={"learning_rate": [0.03, 0.1], "depth": [4, 6]},
    ),
}

ORDINAL: dict[str, Row] = {
    "prank": Row(
        "ordinal.prank:PRank",
        "Online perceptron with ordered thresholds (PRank)",
        "online kernel",
        paper="crammer2001",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
    ),
    "voted_prank": Row(
        "ordinal.voted_prank:VotedPRank",
        "Votes of all hypotheses of PRank, weighted by survived rows (PRank-VP)",
        "online kernel own-rule",
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
    ),
    "widrow_hoff": Row(
        "ordinal.prank:WidrowHoff",
        "Online least mean squares on class numbers, rounded (Widrow-Hoff)",
        "online kernel",
        paper="harrington2003",
        params={"n_epochs": 5, "shuffle": True, "random_state": 0},
        space={"learning_rate": [0.001, 1e-2, 0.1]},
    ),
    "aggregate_prank": Row(
        "ordinal.voted_prank:AggregatePRank",
        "Many online PRanks on random rows, averaged or voting (OAP)",
        "online kernel",
        paper="harrington2003",
        params={"shuffle": True, "random_state": 0},
        space={"tau": [0.3, 0.6, 0.9]},
    ),
    "ranking_tree": Row(
        "ordinal.ranking_tree:RankingTree",
        "Decision tree grown by rank impurity (ranking tree)",
        "trees path validation own-rule deterministic",
        paper="liu2007",
        params={"max_depth": "val"},
    ),
    "ranking_forest": Row(
        "ordinal.ranking_forest:RankingForest",
        "Mean of ranking trees on bootstrap samples of rows or queries (ranking forest)",
        "trees own-rule",
        paper="liu2007",
        params={"n_estimators": 100, "random_state": 0},
        space={"min_samples_leaf": [1, 5, 20]},
    ),
    "orboost": Row(
        "ordinal.orboost:ORBoost",
        "Boosted stumps or perceptrons with exact thresholds (ORBoost-All, ORBoost-LR)",
        "boosting validation",
        paper="lin2006",
        params={"measure": "nDCG@10", "early_stopping_rounds": 100, "random_state": 0},
    ),
    "ordinal_svm": Row(
        "ordinal.ordinal_svm:OrdinalSVM",
        "Kernel support vector machine for ordered classes (ORSVM, REDSVM)",
        "kernel path validation deterministic",
        paper="li2007",
        params={"C": "val"},
    ),
    "poly_ordinal_svm": Row(
        "ordinal.poly_ordinal_svm:PolyOrdinalSVM",
        "Linear SVM for ordered classes on powers of the features (Poly-ORSVM)",
        "linear path validation",
        paper="tsai2010",
        # A hinge loss is minimised by a constant score if one class outweighs the others.
        params={"C": "val", "loss": "squared_hinge"},
    ),
    "proportional_odds": Row(
        "ordinal.proportional_odds:ProportionalOdds",
        "Ordered logit, probit or complementary log-log (proportional odds)",
        "linear path validation own-rule deterministic",
        paper="mccullagh1980",
        params={"C": "val"},
    ),
}

COST_SENSITIVE: dict[str, Row] = {
    "csovo": Row(
        "labels.cost_sensitive.reductions:CSOVO",
        "One-versus-one with cost-weighted class pairs, for any classifier (CSOVO)",
        "reduction pairwise closed-form deterministic",
        paper="lin2010csovo",
    ),
    "weighted_all_pairs": Row(
        "labels.cost_sensitive.reductions:WeightedAllPairs",
        "One classifier for all pairs of classes, weighted by costs (WAP)",
        "reduction pairwise closed-form deterministic",
        paper="beygelzimer2005",
    ),
    "cost_sensitive_one_vs_all_regression": Row(
        "labels.cost_sensitive.cost_sensitive_one_vs_all_regression:CostSensitiveOneVsAllRegression",
        "One cost regressor per class, with squared or one-sided loss (OSR)",
        "reduction closed-form deterministic",
        paper="tu2010",
    ),
    "ordinal_reduction": Row(
        "labels.cost_sensitive.reductions:OrdinalReduction",
        "Cost-weighted thresholds between ordered classes, for any classifier",
        "reduction closed-form deterministic",
        paper="li2007",
    ),
}

MULTI_LABEL: dict[str, Row] = {
    "binary_relevance": Row(
        "labels.multi_label.label_codes:BinaryRelevance",
        "One regression for each label, with a shared factorisation (BR)",
        "closed-form linear deterministic",
        paper="tai2012",
    ),
    "partial_binary_relevance": Row(
        "labels.multi_label.label_codes:PartialBinaryRelevance",
        "Regressions for some randomly drawn labels (partial BR)",
        "closed-form linear",
        paper="tai2012",
        params={"random_state": 0},
    ),
    "plst": Row(
        "labels.multi_label.plst:PLST",
        "Regression on principal axes of the labels (PLST)",
        "closed-form linear",
        paper="tai2012",
        params={"random_state": 0},
    ),
    "cplst": Row(
        "labels.multi_label.plst:CPLST",
        "Regression on axes of the labels that the features predict (CPLST)",
        "closed-form linear deterministic",
        paper="chen2012",
    ),
    "compressed_sensing": Row(
        "labels.multi_label.label_codes:CompressedSensing",
        "Regression on random codes of the labels, decoded to sparse vectors",
        "closed-form linear",
        paper="hsu2009",
        params={"random_state": 0},
    ),
    "linear_label_space_transform": Row(
        "labels.multi_label.label_codes:LinearLabelSpaceTransform",
        "Regression on any linear code of the labels, with any decoder",
        "closed-form linear deterministic",
        paper="tai2012",
    ),
    "label_powerset": Row(
        "labels.multi_label.label_powerset:LabelPowerset",
        "One class for every label set (LP)",
        "closed-form linear deterministic",
        paper="boutell2004",
    ),
    "calibrated_label_ranking": Row(
        "labels.multi_label.label_powerset:CalibratedLabelRanking",
        "Pairwise comparisons of labels and a calibration label (CLR)",
        "closed-form linear pairwise deterministic",
        paper="fuernkranz2008",
    ),
}

TRANSFORMERS: dict[str, Row] = {
    "nystroem": Row(
        "features.nystroem:Nystroem",
        "Nyström features of a kernel, from landmarks among the rows",
        "kernel",
        paper="williams2001",
    ),
    "query_scaling": Row(
        "features.query_scaling:QueryScaler",
        "Min-max or standard scaling of the features within each query",
        "deterministic",
        paper="lin2010",
    ),
    "random_fourier": Row(
        "features.random_features:RandomFourier",
        "Random Fourier features of the rbf and laplacian kernels",
        "kernel",
        paper="rahimi2007",
    ),
    "polynomial_terms": Row(
        "features.polynomial_terms:PolynomialTerms",
        "Powers of features, or products of several features, all or randomly drawn",
        "polynomial",
        paper="tsai2010",
    ),
    "random_perceptrons": Row(
        "features.random_features:RandomPerceptrons",
        "Random perceptrons and stumps whose inner products estimate kernels",
        "kernel",
        paper="lin2008",
    ),
    "random_nodes": Row(
        "features.random_features:RandomNodes",
        "Random hidden nodes as features",
        "random-nodes",
        paper="zong2013",
    ),
}

REGISTRY: dict[str, Entry] = {
    **entries("ranker", RANKERS),
    **entries("ordinal", ORDINAL),
    **entries("cost-sensitive", COST_SENSITIVE),
    **entries("multi-label", MULTI_LABEL),
    **entries("transformer", TRANSFORMERS),
}
BY_CLASS_NAME: dict[str, Entry] = {entry.class_name: entry for entry in REGISTRY.values()}
# Estimators that can be compared and blended: all that rank.
RANKING: dict[str, Entry] = {
    key: entry for key, entry in REGISTRY.items() if entry.kind in ("ranker", "ordinal")
}


def find_ranker(key: str, setting: str) -> Entry:
    """Entry of a ranker; the error for an unknown key names the setting that holds it."""
    if key not in RANKING:
        hint = did_you_mean(key, RANKING, f"Known: {[*RANKING]}.")
        raise ValueError(f"{setting}: {key!r} is not a ranker of the registry. {hint}")
    return RANKING[key]


def parse_ranker(text: str, setting: str) -> tuple[str, dict[str, Any] | None]:
    """Key and parameters of ``KEY(NAME=VALUE, …)``; of a bare key, None instead of parameters."""
    key, parenthesis, rest = text.partition("(")
    key = key.strip()
    if not parenthesis:
        return key, None
    pairs = [pair.partition("=") for pair in split_list(rest.strip().removesuffix(")"))]
    if not (rest.rstrip().endswith(")") and all(equals for _, equals, _ in pairs)):
        raise ValueError(
            f"{setting}: {text!r} must be RANKER(NAME=VALUE,…), such as "
            "lambdamart(n_estimators=50)."
        )
    params: dict[str, Any] = {}
    for name, _, value in pairs:
        if name.strip() in params:
            raise ValueError(f"{setting}: {text!r} sets {name.strip()} twice. Set it once.")
        params[name.strip()] = parse_value(value.strip())
    return key, params


def build_ranker(
    text: str, setting: str, *, seed: int | None = None, params: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, list[Any]]]:
    """Unfitted estimator and grid of an entry that names a ranker of the registry.

    A bare ``KEY`` is the tuned recipe, with the seed if it has one. ``KEY()`` and ``KEY(NAME=VALUE,
    …)`` are the class with its defaults and these parameters; so is a key with further ``params``.
    An ImportError names the extra that is missing.
    """
    key, given = parse_ranker(text, setting)
    entry = find_ranker(key, setting)
    if given is None and params is None:
        seeded = {} if seed is None else {"random_state": seed}
        recipe = {name: seeded.get(name, value) for name, value in entry.params.items()}
        return entry.load()(**recipe), entry.space
    estimator: Any = entry.load()()
    known = estimator.get_params()
    merged = {**(given or {}), **(params or {})}
    for name in merged:
        if name not in known:
            hint = say_new_name(name, known)
            hint = hint or did_you_mean(name, known, f"Parameters: {', '.join(known)}.")
            raise ValueError(f"{setting}: {key} has no parameter {name!r}. {hint}")
    estimator.set_params(**merged)
    try:
        estimator._validate_params()
    except ValueError as error:
        raise ValueError(f"{setting}: {text}: {error}") from error
    return estimator, {}


def split_list(text: str) -> list[str]:
    """Split a list at the commas outside parentheses, brackets and quotes."""
    entries, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter in "([") - (letter in ")]") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            entries.append("")
        else:
            entries[-1] += letter
    return [entry.strip() for entry in entries if entry.strip()]


def read_names(text: str) -> list[str]:
    r"""Split a list of names; one in double quotes may hold commas, ``""`` and ``\n``."""
    names = []
    for entry in split_list(text):
        if len(entry) > 1 and entry[0] == entry[-1] == '"':
            inner = entry[1:-1].replace('""', r"\"")
            with suppress(ValueError):  # raised for quotes that belong to the name
                entry = str(json.loads(f'"{inner}"', strict=False))
        names.append(entry)
    return names


def join_names(names: Iterable[str]) -> str:
    """Text that :func:`read_names` splits into these names."""
    return ",".join(
        name
        if read_names(f"{name},a") == [name, "a"] and name.isprintable()
        else json.dumps(name, ensure_ascii=False).replace(r"\"", '""')
        for name in names
    )


def parse_value(text: str) -> Any:
    """Parse a Python literal, "inf", "true" or "false"; other text is returned unchanged."""
    words = {"inf": float("inf"), "+inf": float("inf"), "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
