"""Kernel rankers, whose scores are kernel expansions over the training rows."""
