"""CatBoost with one of its parts off, and LambdaMART's nearest settings: which part carries a lead.

    python -m benchmarks.study_catboost > docs/study_catboost.txt

OHSUMED, MQ2008 and Expedia, where CatBoost was level with LambdaMART's defaults or ahead; the ten
choosing splits, number of trees, rate and errors of ``benchmarks.study_generalisation``.

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
    sets_of,
    summarise,
)
from rankwise import CatBoostRanker, LambdaMART

SETS = ("ohsumed", "mq2008", "expedia")
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
    values = measure_all(SETS, CHOOSING, makers, MOST_ROWS)
    print("study_catboost: parts of CatBoost on ten splits of queries of three sets")
    print_settings(values, BASE)
    names = sets_of(values)
    for measure in ("nDCG@10", "AP"):
        print(f"\n{measure} less that of {BASE}, in thousandths, and its standard error\n")
        print(" " * 32 + "".join(f"{name:>14}" for name in names))
        for key in makers:
            if key != BASE:
                cells = (f"{a:.1f}±{b:.1f}" for a, b in summarise(values, key, BASE, measure)[0])
                print(f"{key:32}" + "".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
