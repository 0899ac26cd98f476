"""Estimators for rows with several labels."""
