from .explanation import PairExplanation as PairExplanation
from .explanation import RankingExplanation as RankingExplanation
from .explanation import ScoreExplanation as ScoreExplanation
from .importances import FeatureImportances as FeatureImportances
from .importances import feature_importances as feature_importances
from .pair import explain_pair as explain_pair
from .ranking import explain_ranking as explain_ranking
from .scores import explain_scores as explain_scores
