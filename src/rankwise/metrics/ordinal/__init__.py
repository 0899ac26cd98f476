"""Measures of predicted classes that have an order or costs."""
