"""What users pass in: rows, classes, labels, costs, and names for data."""
