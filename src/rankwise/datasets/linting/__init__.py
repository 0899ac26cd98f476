"""What spoils training or comparison, looked for in judged data."""
