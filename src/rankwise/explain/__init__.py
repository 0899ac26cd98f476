"""Why is A above B: differences of scores shared out among the features."""

from rankwise.explain.explanation import PairExplanation, RankingExplanation
from rankwise.explain.pair import explain_pair
from rankwise.explain.ranking import explain_ranking

__all__ = ["PairExplanation", "RankingExplanation", "explain_pair", "explain_ranking"]
