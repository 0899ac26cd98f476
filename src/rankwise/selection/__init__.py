"""Honest comparison: splits that never cut a query, tuning on validation parts, leaderboards."""

from rankwise.selection.cell import Cell
from rankwise.selection.compare import compare
from rankwise.selection.leaderboard import Leaderboard
from rankwise.selection.provenance import FoldInfo, Settings
from rankwise.selection.splits import QueryKFold, letor_folds, query_folds
from rankwise.selection.store import ResultStore
from rankwise.selection.tuning import Tuned, tune

__all__ = [
    "Cell",
    "FoldInfo",
    "Leaderboard",
    "QueryKFold",
    "ResultStore",
    "Settings",
    "Tuned",
    "compare",
    "letor_folds",
    "query_folds",
    "tune",
]
