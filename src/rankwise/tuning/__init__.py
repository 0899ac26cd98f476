"""Choice of a penalty: folds, grids, and measures of held-out rows."""
