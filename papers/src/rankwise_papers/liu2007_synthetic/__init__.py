"""Ranking tree, synthetic data: Table 1 of Liu, Pan & Wang (2007)."""
