"""What fitted objects look like: rules that classes declare, and their check."""
