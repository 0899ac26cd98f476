"""Structure of fitted objects: rules that classes declare, and their checks."""
