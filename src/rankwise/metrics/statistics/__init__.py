"""Significance of differences: tests, corrections, effects, intervals."""
