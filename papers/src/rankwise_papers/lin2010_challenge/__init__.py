"""Ordinal methods of the Yahoo! learning to rank challenge (Tsai et al. 2010, Lin 2010)."""
