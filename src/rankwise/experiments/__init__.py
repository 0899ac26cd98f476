"""Published experiments, run again: one folder per paper, one runner, our values beside theirs."""
