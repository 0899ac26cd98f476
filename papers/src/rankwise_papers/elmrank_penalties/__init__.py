"""MPRank's and SVRank's published values looked for on paths of penalties (Chen et al. 2014)."""
