"""RankBoost with missing ratings left missing, beside the fill of Chen et al. (2014)."""
