"""Many labels at once: principal axes, additive statistics, sparse codes."""
