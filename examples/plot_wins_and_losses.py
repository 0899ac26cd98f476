"""
Wins and losses, query by query
===============================

Two rankers with the same mean can disagree on most queries.
:func:`rankwise.report.plot_differences` sorts the differences to the best ranker, so that both the
number of queries won and how much is won can be seen.
"""

from rankwise import compare
from rankwise.datasets import load_dataset
from rankwise.report import plot_differences

fold = load_dataset("lambdarank", fold=1)
board = compare(
    ["ridge", "linear_regression", "rank_svm", "rank_boost"],
    fold,
    measures=["nDCG@10"],
    isolate=False,
)
for row in board.rows()[1:]:
    print(
        f"{row['ranker']}: {row['wins']} won, {row['ties']} level, {row['losses']} lost"
    )

# %%
# Green is better than the best ranker, brown worse; white is queries on which both are equal.
figure = plot_differences(board)
