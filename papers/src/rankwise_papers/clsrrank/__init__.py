"""LSRRank and CLSRRank with three kernels (Chen, Pan & Li 2014, Neurocomputing)."""
