"""Kernel rankers: scores are expansions over the training rows."""
