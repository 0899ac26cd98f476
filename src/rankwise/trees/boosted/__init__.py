"""Trees that follow gradients, grown from histograms."""
