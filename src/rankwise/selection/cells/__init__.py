"""One cell of a comparison: a ranker tuned, fitted and measured on one fold, and stored."""
