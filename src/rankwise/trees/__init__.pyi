from .tree_text import export_text as export_text
