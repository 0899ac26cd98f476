"""Support vector rankers, with hinge losses over the pairs of a query."""
