"""Rankers made of rankers: stacking, and blends of scores or ranks."""
