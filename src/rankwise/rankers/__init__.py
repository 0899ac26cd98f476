"""Rankers: predict gives scores, higher is better; one algorithm a file."""
