"""Ensembles of rankers: stacking, and blends of scores or ranks."""
