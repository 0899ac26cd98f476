"""Losses over query groups."""
