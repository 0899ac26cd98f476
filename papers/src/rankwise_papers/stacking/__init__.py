"""The stack against every ranker it is made of, on OHSUMED and MQ2008."""
