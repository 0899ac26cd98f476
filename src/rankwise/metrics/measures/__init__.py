"""Families of measures, and what is read off a table of predicted classes."""
