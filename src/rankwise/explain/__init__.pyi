from .explanation import PairExplanation as PairExplanation
from .explanation import RankingExplanation as RankingExplanation
from .pair import explain_pair as explain_pair
from .ranking import explain_ranking as explain_ranking
