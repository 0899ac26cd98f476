"""Boosting, and direct optimisation of measures."""
