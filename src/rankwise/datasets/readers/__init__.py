"""Readers: text, tables, runs and judgments to arrays, with a cache."""
