"""Is a difference more than chance? Tests, corrections, effects, intervals."""
