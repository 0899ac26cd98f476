"""CatBoost with one of its parts off, and LambdaMART's nearest settings: which part carries a lead.

    python -m benchmarks.study_catboost features > docs/study_catboost.txt
    python -m benchmarks.study_catboost ranks > docs/study_catboost_ranks.txt

``features``: OHSUMED and MQ2008, where CatBoost was level with LambdaMART's defaults in nDCG@10 and
ahead in AP. ``ranks``: MQ2008's ranks by 25 systems, 65 % of which are missing, and choices among
four suppliers, see ``benchmarks.study_more_sets``. The ten choosing splits, number of trees, rate
and errors of ``benchmarks.study_generalisation``. Trees of LambdaMART have at most seven leaves,
where no other number is given.

Values in ``build/study_generalisation.jsonl`` are not computed again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.study_generalisation import (
    CHOOSING,
    EQUAL,
    MOST_ROWS,
    SEVEN_LEAVES,
    measure_all,
    print_settings,
)
from benchmarks.study_more_sets import find
from rankwise import CatBoostRanker, LambdaMART

SETS = {"features": ("ohsumed", "mq2008"), "ranks": ("mq2008-agg", "suppliers")}
BASE = "CatBoost"
# Settings of CatBoostRanker; "params" go to the library.
PARTS: dict[str, dict[str, Any]] = {
    BASE: {},
    "ordered boosting": {"params": {"boosting_type": "Ordered"}},
    "no noise on split scores": {"random_strength": 0.0},
    "no bootstrap": {"params": {"bootstrap_type": "No"}},
    "one Newton step": {"params": {"leaf_estimation_iterations": 1}},
    "L2 split score": {"params": {"score_function": "L2"}},
}
MORE_PARTS: dict[str, dict[str, Any]] = {
    "missing above all": {"params": {"nan_mode": "Max"}},
    "depth 3": {"depth": 3},
    "pairs, not YetiRank": {"objective": "PairLogit"},
}
OURS: dict[str, dict[str, Any]] = {
    "LambdaMART": {},
    "LambdaMART, decay": {"objective": "yetirank", "decay": 0.85},
    "LambdaMART, decay, symmetric": {
        "objective": "yetirank", "decay": 0.85, "growth": "symmetric", "max_leaf_nodes": 64,
    },
}  # fmt: skip
MORE_OURS: dict[str, dict[str, Any]] = {
    "LambdaMART, not normalised": {"normalize": False},
    "LambdaMART, 4 leaves": {"max_leaf_nodes": 4},
    "LambdaMART, 15 leaves": {"max_leaf_nodes": 15},
    "LambdaMART, 31 leaves": {"max_leaf_nodes": 31},
    "LambdaMART, symmetric": {"growth": "symmetric", "max_leaf_nodes": 64},
    "LambdaMART, all pairs": {"objective": "logistic"},
    "LambdaMART, random thresholds": {"extra_trees": True},
}
FILLED = "LambdaMART, missing below all"


class _Filled:
    """LambdaMART on rows whose missing values are below all others, as in CatBoost."""

    def __init__(self) -> None:
        self._ranker = LambdaMART(**EQUAL, **SEVEN_LEAVES)

    def fit(self, X: Any, y: Any, qid: Any) -> Any:
        """Fit on filled rows."""
        self._ranker.fit(_fill(X), y, qid=qid)
        return self

    def predict(self, X: Any) -> Any:
        """Scores of filled rows."""
        return self._ranker.predict(_fill(X))


def _fill(X: Any) -> Any:
    return np.nan_to_num(np.asarray(X, dtype=np.float64), nan=-1e9)


def _theirs(setting: dict[str, Any]) -> Callable[[], Any]:
    return lambda: CatBoostRanker(**EQUAL | setting)


def _ours(setting: dict[str, Any]) -> Callable[[], Any]:
    return lambda: LambdaMART(**EQUAL | SEVEN_LEAVES | setting)


def main() -> None:
    (part,) = sys.argv[1:]
    theirs, ours = (PARTS, OURS) if part == "features" else (PARTS | MORE_PARTS, OURS | MORE_OURS)
    makers = {key: _theirs(setting) for key, setting in theirs.items()}
    makers |= {key: _ours(setting) for key, setting in ours.items()}
    if part == "ranks":
        makers[FILLED] = _Filled
    print("study_catboost: parts of CatBoost on ten splits of the queries of two sets")
    for name in find(SETS[part]):
        print_settings(measure_all([name], CHOOSING, makers, MOST_ROWS), BASE)


if __name__ == "__main__":
    main()
