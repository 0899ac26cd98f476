__version__: str
from . import clicks as clicks
from . import datasets as datasets
from . import distributed as distributed
from . import experiments as experiments
from . import explain as explain
from . import export as export
from . import features as features
from . import fusion as fusion
from . import labels as labels
from . import metrics as metrics
from . import ordinal as ordinal
from . import preferences as preferences
from . import rankers as rankers
from . import report as report
from . import selection as selection
from . import streams as streams
from . import text as text
from . import trees as trees
from .checks.constant_scores import ConstantScoresWarning as ConstantScoresWarning
from .checks.queries import OneQueryWarning as OneQueryWarning
from .datasets.data import RankingData as RankingData
from .explain.pair import explain_pair as explain_pair
from .explain.ranking import explain_ranking as explain_ranking
from .features.kernels import IgnoredParameterWarning as IgnoredParameterWarning
from .features.nystroem import Nystroem as Nystroem
from .features.polynomial_terms import PolynomialTerms as PolynomialTerms
from .features.query_scaling import QueryScaler as QueryScaler
from .features.random_fourier import RandomFourier as RandomFourier
from .features.random_nodes import RandomNodes as RandomNodes
from .features.random_perceptrons import RandomPerceptrons as RandomPerceptrons
from .groups import QueryGroups as QueryGroups
from .labels.cost_sensitive.cost_sensitive_one_vs_all_regression import (
    CostSensitiveOneVsAllRegression as CostSensitiveOneVsAllRegression,
)
from .labels.cost_sensitive.csovo import CSOVO as CSOVO
from .labels.cost_sensitive.ordinal_reduction import OrdinalReduction as OrdinalReduction
from .labels.cost_sensitive.weighted_all_pairs import WeightedAllPairs as WeightedAllPairs
from .labels.multi_label.binary_relevance import BinaryRelevance as BinaryRelevance
from .labels.multi_label.calibrated_label_ranking import (
    CalibratedLabelRanking as CalibratedLabelRanking,
)
from .labels.multi_label.compressed_sensing import CompressedSensing as CompressedSensing
from .labels.multi_label.cplst import CPLST as CPLST
from .labels.multi_label.label_powerset import LabelPowerset as LabelPowerset
from .labels.multi_label.linear_label_space_transform import (
    LinearLabelSpaceTransform as LinearLabelSpaceTransform,
)
from .labels.multi_label.partial_binary_relevance import (
    PartialBinaryRelevance as PartialBinaryRelevance,
)
from .labels.multi_label.plst import PLST as PLST
from .metrics.evaluation import evaluate as evaluate
from .ordinal.boosting.orboost import ORBoost as ORBoost
from .ordinal.linear.proportional_odds import ProportionalOdds as ProportionalOdds
from .ordinal.online.aggregate_prank import AggregatePRank as AggregatePRank
from .ordinal.online.prank import PRank as PRank
from .ordinal.online.voted_prank import VotedPRank as VotedPRank
from .ordinal.online.widrow_hoff import WidrowHoff as WidrowHoff
from .ordinal.svm.ordinal_svm import OrdinalSVM as OrdinalSVM
from .ordinal.svm.poly_ordinal_svm import PolyOrdinalSVM as PolyOrdinalSVM
from .ordinal.trees.ranking_forest import RankingForest as RankingForest
from .ordinal.trees.ranking_tree import RankingTree as RankingTree
from .persistence import load as load
from .persistence import save as save
from .prediction import rank as rank
from .prediction import scores as scores
from .preferences.pairwise_preferences import PairwisePreferences as PairwisePreferences
from .preferences.plackett_luce import PlackettLuce as PlackettLuce
from .rankers.adapters.catboost import CatBoostRanker as CatBoostRanker
from .rankers.adapters.lightgbm import LightGBMRanker as LightGBMRanker
from .rankers.adapters.xgboost import XGBoostRanker as XGBoostRanker
from .rankers.boosting.ada_rank import AdaRank as AdaRank
from .rankers.boosting.coordinate_ascent import CoordinateAscent as CoordinateAscent
from .rankers.boosting.frank import FRank as FRank
from .rankers.boosting.lambdamart import LambdaMART as LambdaMART
from .rankers.boosting.mc_rank import McRank as McRank
from .rankers.boosting.rank_boost import RankBoost as RankBoost
from .rankers.elm.elmrank import ELMRank as ELMRank
from .rankers.elm.pairwise_elm import PairwiseELM as PairwiseELM
from .rankers.elm.pointwise_elm import PointwiseELM as PointwiseELM
from .rankers.ensemble.auto import AutoRanker as AutoRanker
from .rankers.ensemble.borda_blend import BordaBlend as BordaBlend
from .rankers.ensemble.reciprocal_rank_blend import ReciprocalRankBlend as ReciprocalRankBlend
from .rankers.ensemble.score_blend import ScoreBlend as ScoreBlend
from .rankers.ensemble.stacking_ranker import StackingRanker as StackingRanker
from .rankers.imported.imported_booster import ImportedBooster as ImportedBooster
from .rankers.imported.read_booster import read_booster as read_booster
from .rankers.kernel.clsrrank import CLSRRank as CLSRRank
from .rankers.kernel.lsrrank import LSRRank as LSRRank
from .rankers.kernel.lssvr import LSSVRanker as LSSVRanker
from .rankers.kernel.mprank import MPRank as MPRank
from .rankers.kernel.rankrls import RankRLS as RankRLS
from .rankers.kernel.svr import SVRRanker as SVRRanker
from .rankers.kernel.svrank import SVRank as SVRank
from .rankers.linear.linear_regression import LinearRegressionRanker as LinearRegressionRanker
from .rankers.linear.model_tree import ModelTree as ModelTree
from .rankers.linear.pair_ranker import PairRanker as PairRanker
from .rankers.linear.rank_lr import RankLR as RankLR
from .rankers.linear.ridge import RidgeRanker as RidgeRanker
from .rankers.neural.boltz_rank import BoltzRank as BoltzRank
from .rankers.neural.lambda_rank import LambdaRank as LambdaRank
from .rankers.neural.list_mle import ListMLE as ListMLE
from .rankers.neural.list_net import ListNet as ListNet
from .rankers.neural.rank_net import RankNet as RankNet
from .rankers.stream_scores import evaluate_stream as evaluate_stream
from .rankers.svm.pruned_rank_svm import PrunedRankSVM as PrunedRankSVM
from .rankers.svm.rank_svm import RankSVM as RankSVM
from .selection.comparison import compare as compare
from .selection.table_leaderboard import leaderboard as leaderboard
from .streams.row_stream import stream as stream
