"""Squared losses: additive statistics, decompositions, whole paths, exact leave-out."""
