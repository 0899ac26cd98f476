"""The command line: one file per command, parsed by typer, shown by rich."""
