"""Measures of a ranked list: gains by rank, discounts, cut-offs."""
