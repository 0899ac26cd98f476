"""rankwise: learning to rank behind one scikit-learn API.

Public names are imported when first used, so that ``import rankwise`` is quick.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from rankwise._registry import BY_CLASS_NAME as _BY_CLASS_NAME
from rankwise._version import __version__ as __version__

if TYPE_CHECKING:
    from rankwise.datasets import RankingData, stream
    from rankwise.explain import explain_pair, explain_ranking
    from rankwise.features.nystroem import Nystroem
    from rankwise.features.polynomial_terms import PolynomialTerms
    from rankwise.features.query_scaling import QueryScaler
    from rankwise.features.random_fourier import RandomFourier
    from rankwise.features.random_nodes import RandomNodes
    from rankwise.features.random_perceptrons import RandomPerceptrons
    from rankwise.groups import QueryGroups
    from rankwise.labels.binary_relevance import BinaryRelevance
    from rankwise.labels.calibrated_label_ranking import CalibratedLabelRanking
    from rankwise.labels.compressed_sensing import CompressedSensing
    from rankwise.labels.cost_sensitive_one_vs_all_regression import (
        CostSensitiveOneVsAllRegression,
    )
    from rankwise.labels.cplst import CPLST
    from rankwise.labels.csovo import CSOVO
    from rankwise.labels.label_powerset import LabelPowerset
    from rankwise.labels.linear_label_space_transform import LinearLabelSpaceTransform
    from rankwise.labels.ordinal_reduction import OrdinalReduction
    from rankwise.labels.partial_binary_relevance import PartialBinaryRelevance
    from rankwise.labels.plst import PLST
    from rankwise.labels.weighted_all_pairs import WeightedAllPairs
    from rankwise.metrics import evaluate
    from rankwise.ordinal.aggregate_prank import AggregatePRank
    from rankwise.ordinal.orboost import ORBoost
    from rankwise.ordinal.ordinal_svm import OrdinalSVM
    from rankwise.ordinal.poly_ordinal_svm import PolyOrdinalSVM
    from rankwise.ordinal.prank import PRank
    from rankwise.ordinal.ranking_forest import RankingForest
    from rankwise.ordinal.ranking_tree import RankingTree
    from rankwise.ordinal.voted_prank import VotedPRank
    from rankwise.ordinal.widrow_hoff import WidrowHoff
    from rankwise.persistence import load, save
    from rankwise.rankers.adapters.catboost import CatBoostRanker
    from rankwise.rankers.adapters.lightgbm import LightGBMRanker
    from rankwise.rankers.adapters.xgboost import XGBoostRanker
    from rankwise.rankers.boosting.ada_rank import AdaRank
    from rankwise.rankers.boosting.coordinate_ascent import CoordinateAscent
    from rankwise.rankers.boosting.frank import FRank
    from rankwise.rankers.boosting.mc_rank import McRank
    from rankwise.rankers.boosting.rank_boost import RankBoost
    from rankwise.rankers.elm.elmrank import ELMRank
    from rankwise.rankers.elm.pairwise_elm import PairwiseELM
    from rankwise.rankers.elm.pointwise_elm import PointwiseELM
    from rankwise.rankers.ensemble.borda_blend import BordaBlend
    from rankwise.rankers.ensemble.reciprocal_rank_blend import ReciprocalRankBlend
    from rankwise.rankers.ensemble.score_blend import ScoreBlend
    from rankwise.rankers.ensemble.stacking_ranker import StackingRanker
    from rankwise.rankers.kernel.clsrrank import CLSRRank
    from rankwise.rankers.kernel.lsrrank import LSRRank
    from rankwise.rankers.kernel.lssvr import LSSVRanker
    from rankwise.rankers.kernel.mprank import MPRank
    from rankwise.rankers.kernel.rankrls import RankRLS
    from rankwise.rankers.kernel.svr import SVRRanker
    from rankwise.rankers.kernel.svrank import SVRank
    from rankwise.rankers.linear.linear_regression import LinearRegressionRanker
    from rankwise.rankers.linear.model_tree import ModelTree
    from rankwise.rankers.linear.rank_lr import RankLR
    from rankwise.rankers.linear.ridge import RidgeRanker
    from rankwise.rankers.neural.boltz_rank import BoltzRank
    from rankwise.rankers.neural.lambda_rank import LambdaRank
    from rankwise.rankers.neural.list_mle import ListMLE
    from rankwise.rankers.neural.list_net import ListNet
    from rankwise.rankers.neural.rank_net import RankNet
    from rankwise.rankers.stream_scores import evaluate_stream
    from rankwise.rankers.svm.pruned_rank_svm import PrunedRankSVM
    from rankwise.rankers.svm.rank_svm import RankSVM
    from rankwise.selection import compare

_FUNCTIONS = {
    "QueryGroups": "rankwise.groups",
    "RankingData": "rankwise.datasets",
    "compare": "rankwise.selection",
    "evaluate": "rankwise.metrics",
    "evaluate_stream": "rankwise.rankers.stream_scores",
    "explain_pair": "rankwise.explain",
    "explain_ranking": "rankwise.explain",
    "load": "rankwise.persistence",
    "save": "rankwise.persistence",
    "stream": "rankwise.datasets",
}

__all__ = [
    "CPLST",
    "CSOVO",
    "PLST",
    "AdaRank",
    "AggregatePRank",
    "BinaryRelevance",
    "BoltzRank",
    "BordaBlend",
    "CLSRRank",
    "CalibratedLabelRanking",
    "CatBoostRanker",
    "CompressedSensing",
    "CoordinateAscent",
    "CostSensitiveOneVsAllRegression",
    "ELMRank",
    "FRank",
    "LSRRank",
    "LSSVRanker",
    "LabelPowerset",
    "LambdaRank",
    "LightGBMRanker",
    "LinearLabelSpaceTransform",
    "LinearRegressionRanker",
    "ListMLE",
    "ListNet",
    "MPRank",
    "McRank",
    "ModelTree",
    "Nystroem",
    "ORBoost",
    "OrdinalReduction",
    "OrdinalSVM",
    "PRank",
    "PairwiseELM",
    "PartialBinaryRelevance",
    "PointwiseELM",
    "PolyOrdinalSVM",
    "PolynomialTerms",
    "PrunedRankSVM",
    "QueryGroups",
    "QueryScaler",
    "RandomFourier",
    "RandomNodes",
    "RandomPerceptrons",
    "RankBoost",
    "RankLR",
    "RankNet",
    "RankRLS",
    "RankSVM",
    "RankingData",
    "RankingForest",
    "RankingTree",
    "ReciprocalRankBlend",
    "RidgeRanker",
    "SVRRanker",
    "SVRank",
    "ScoreBlend",
    "StackingRanker",
    "VotedPRank",
    "WeightedAllPairs",
    "WidrowHoff",
    "XGBoostRanker",
    "compare",
    "evaluate",
    "evaluate_stream",
    "explain_pair",
    "explain_ranking",
    "load",
    "save",
    "stream",
]


def __getattr__(name: str) -> _Any:
    if name in _BY_CLASS_NAME:
        value = _BY_CLASS_NAME[name].load()
    elif name in _FUNCTIONS:
        value = getattr(_import_module(_FUNCTIONS[name]), name)
    else:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
