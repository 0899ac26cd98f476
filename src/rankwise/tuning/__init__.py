"""How a penalty is chosen: folds, grids, and measures of held-out rows."""
