"""Learning to rank with extreme learning machines (Zong and Huang 2013)."""
