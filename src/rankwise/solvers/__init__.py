"""Solvers: additive Gram statistics and regularisation paths."""
