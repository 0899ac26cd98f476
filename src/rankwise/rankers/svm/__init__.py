"""Support vector rankers: hinges over the pairs of a query."""
