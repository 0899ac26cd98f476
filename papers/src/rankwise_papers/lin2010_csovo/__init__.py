"""Cost-sensitive one-versus-one beside other reductions, with random and with ordinal costs."""
