"""Estimators for rows that have several labels, or whose errors differ in cost."""
