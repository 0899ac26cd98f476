"""LambdaMART beside boosting libraries, each tuned in the same CPU time by validation queries.

    python -m benchmarks.study_tuned_lambdamart > docs/study_tuned_lambdamart.txt

OHSUMED and MQ2008 in five folds. A random search has 10 s of one thread on each
fold; every setting has up to 1,000 trees and stops early. The best one on the validation queries
ranks the test queries, once. Spaces hold what each library offers, its own default first; they and
the search are those of ``rankwise reproduce auto-six-sets``.

Cells in ``build/study_tuned_lambdamart.jsonl`` are not computed again; names of sets after the
module compute only these, so that two processes can share the work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import LambdaMART
from rankwise.metrics import parse
from rankwise.metrics.significance import paired_test
from rankwise_papers.auto_ranker.contestants import SPACES, searched, single_changes
from rankwise_papers.auto_ranker.sets import SETS, load

STORE = Path("build/study_tuned_lambdamart.jsonl")
SET_NAMES, FOLDS = ("ohsumed", "mq2008"), range(1, 6)
SELECT = "nDCG@10"
MEASURES = ("nDCG@10", "AP")
SECONDS = 10.0
OURS = "LambdaMART"
RANKERS = (OURS, *(name for name in SPACES if name != OURS))


def main() -> None:
    sets = sys.argv[1:] or SET_NAMES
    cells = measure_cells(sets)
    print("study_tuned_lambdamart: LambdaMART and three libraries, tuned in the same CPU time")
    for measure in MEASURES:
        print_means(measure, {
            (name, ranker, measure): np.concatenate(
                [cells[name, number, ranker]["test"][measure] for number in FOLDS]
            )
            for name in sets
            for ranker in RANKERS
        })  # fmt: skip
    print("\nWork, means over folds\n")
    print(" " * 22 + f"{'CPU s':>10}{'trials':>10}{'validation':>12}")
    for name, ranker in product(sets, RANKERS):
        told = [cells[name, number, ranker] for number in FOLDS]
        row = [np.mean([cell[key] for cell in told]) for key in ("seconds", "trials", "validation")]
        title = f"{SETS[name].title}, {ranker}"
        print(f"{title:22}{row[0]:10.1f}{row[1]:10.1f}{row[2]:12.4f}")
    print("\nChosen for LambdaMART\n")
    for name, number in product(sets, FOLDS):
        print(f"{SETS[name].title} {number}: {cells[name, number, OURS]['chosen']}")


def measure_cells(sets: Sequence[str]) -> dict[tuple[str, int, str], dict[str, Any]]:
    """What each ranker reached on each fold; cells of the store are kept."""
    known: dict[tuple[str, int, str], dict[str, Any]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            cell = json.loads(line)
            known[tuple(cell.pop("key"))] = cell
    STORE.parent.mkdir(exist_ok=True)
    missing = [key for key in product(sets, FOLDS, RANKERS) if key not in known]
    if missing:
        compile_loops()
    for key in missing:
        known[key] = measure_cell(*key)
        with STORE.open("a") as file:
            file.write(json.dumps({"key": key, **known[key]}) + "\n")
    return known


def measure_cell(name: str, number: int, ranker: str) -> dict[str, Any]:
    """Search on a fold, and the measures of its test queries."""
    fold = load(name, number)
    fitted, told = searched(ranker, fold, parse(SELECT), SECONDS)
    scores = fitted.predict(fold.test.X)
    test = {
        measure: parse(measure).per_query(fold.test.y, scores, fold.test.groups).tolist()
        for measure in MEASURES
    }
    return {**told, "test": test}


def print_means(measure: str, values: dict[tuple[str, str, str], np.ndarray]) -> None:
    """Print means over the test queries of all folds, and what ours has more than each library."""
    print(f"\n{measure}, means over the test queries\n")
    print(" " * 10 + "".join(f"{ranker:>12}" for ranker in RANKERS))
    names = list(dict.fromkeys(name for name, _, _ in values))
    for name in names:
        means = [np.nanmean(values[name, ranker, measure]) for ranker in RANKERS]
        print(f"{SETS[name].title:10}" + "".join(f"{mean:12.4f}" for mean in means))
    print(f"\n{measure}, {OURS} less each library, over the test queries\n")
    print(" " * 22 + f"{'mean':>10}{'standard error':>16}{'p':>10}")
    for name in names:
        for ranker in RANKERS[1:]:
            ours, theirs = (values[name, one, measure] for one in (OURS, ranker))
            lead = (ours - theirs)[~np.isnan(ours - theirs)]
            error = lead.std(ddof=1) / np.sqrt(len(lead))
            p_value = paired_test(ours, theirs).p_value
            title = f"{SETS[name].title}, {ranker}"
            print(f"{title:22}{lead.mean():10.4f}{error:16.4f}{p_value:10.4f}")


def compile_loops() -> None:
    """Compile what LambdaMART needs before the time begins, by a fit with each value."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(800, 8)), np.arange(800) // 20
    y = np.digitize(X[:, 0], [0.0, 1.0]).astype(float)
    for setting in single_changes(SPACES[OURS][1]):
        rule = LambdaMART(3).set_params(**setting | {"min_samples_leaf": 20})
        rule.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid).predict(X)


if __name__ == "__main__":
    main()
