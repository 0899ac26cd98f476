"""Extreme learning machines: random hidden nodes and a closed form."""
