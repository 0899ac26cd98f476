"""Feature maps: random nodes."""
