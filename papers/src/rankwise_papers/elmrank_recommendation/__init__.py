"""Recommendation by ELMRank, MPRank and SVRank (Chen et al. 2014, Neural Networks 53)."""
