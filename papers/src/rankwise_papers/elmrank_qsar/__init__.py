"""Activity of compounds by ELMRank, SVR and LS-SVR (Chen et al. 2014, Neural Networks 53)."""
