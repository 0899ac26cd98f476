"""Decision trees over ordered classes: growing, and what is done with grown ones."""

from rankwise.trees.text import export_text

__all__ = ["export_text"]
