"""Rules and learnt weights that fuse the runs of TREC 2003 Robust."""
