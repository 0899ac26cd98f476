"""CatBoost with one of its parts off, and LambdaMART's nearest settings: which part carries a lead.

    python -m benchmarks.study_catboost > docs/study_catboost.txt

OHSUMED and MQ2008, where CatBoost was level with LambdaMART's defaults in nDCG@10 and ahead in AP;
the ten choosing splits, number of trees, rate and errors of ``benchmarks.study_generalisation``.

Values in ``build/study_generalisation.jsonl`` are not computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.study_generalisation import (
    CHOOSING,
    EQUAL,
    MOST_ROWS,
    measure_all,
    print_settings,
)
from rankwise import CatBoostRanker, LambdaMART

SETS = ("ohsumed", "mq2008")
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
OURS: dict[str, dict[str, Any]] = {
    "LambdaMART": {},
    "LambdaMART, decay": {"objective": "yetirank", "decay": 0.85},
    "LambdaMART, decay, symmetric": {
        "objective": "yetirank", "decay": 0.85, "growth": "symmetric", "max_leaf_nodes": 64,
    },
}  # fmt: skip


def _theirs(setting: dict[str, Any]) -> Callable[[], Any]:
    return lambda: CatBoostRanker(**EQUAL | setting)


def _ours(setting: dict[str, Any]) -> Callable[[], Any]:
    return lambda: LambdaMART(**EQUAL | setting)


def main() -> None:
    makers = {key: _theirs(setting) for key, setting in PARTS.items()}
    makers |= {key: _ours(setting) for key, setting in OURS.items()}
    print("study_catboost: parts of CatBoost on ten splits of the queries of two sets")
    for name in SETS:
        print_settings(measure_all([name], CHOOSING, makers, MOST_ROWS), BASE)


if __name__ == "__main__":
    main()
