"""Real ratings in the ranking tree's paper: cystic fibrosis and MovieLens (Liu et al. 2007)."""
