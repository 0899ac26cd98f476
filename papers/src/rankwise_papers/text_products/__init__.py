"""Products rated for a query, ranked by features of their texts."""
