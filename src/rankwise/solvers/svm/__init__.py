"""Support vector machines with ordered thresholds: dual descent, minimal optimisation."""
