"""AutoRanker against three boosting libraries, each tuned in the same CPU time."""
