"""Boosting of ordinal margins."""
