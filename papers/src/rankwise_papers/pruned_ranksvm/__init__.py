"""Which pairs to train RankSVM on: rules against random pairs, all pairs and regression."""
