"""Extreme learning machines: random hidden nodes with closed-form output weights."""
