"""Every ordinal estimator here on thirty sets, beside mord, statsmodels and LightGBM."""
