"""How code runs: threads, compilation, metadata routing, results that stay finite."""
