"""LambdaMART beside LightGBM with equal parameters: means of nDCG@10 over test folds.

    python -m benchmarks.study_lambdamart > docs/study_lambdamart.txt

100 trees of 31 leaves, learning rate 0.1, at least 20 rows in a leaf, 255 bins, no early stopping.
MQ2008 and OHSUMED come in five folds; the bundled set and MSLR-like rows that are made here are cut
into five by queries. LightGBM forms pairs with the first 30
rows, but its discounts go on below: nDCG without a cut-off differs from it in longer queries alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._timing import synthetic_ranking
from rankwise import LambdaMART, LightGBMRanker, evaluate
from rankwise.datasets import RankingData, load_dataset
from rankwise.selection.splits import QueryKFold

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
EQUAL: dict[str, Any] = {"max_leaf_nodes": 31, "reg_lambda": 0.0, "n_jobs": 1}  # as LightGBM
RANKERS = {
    "LightGBM": lambda: LightGBMRanker(n_jobs=1, random_state=0),
    "ours, nDCG@10": lambda: LambdaMART(truncation_level=None, **EQUAL),
    "ours, nDCG": lambda: LambdaMART(measure="nDCG", **EQUAL),
    "LightGBM XE": lambda: LightGBMRanker(objective="rank_xendcg", n_jobs=1, random_state=0),
    "ours, XE": lambda: LambdaMART(objective="xendcg", random_state=0, **EQUAL),
}


def cut(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> Iterator[tuple[Rows, Rows]]:
    """Five folds of queries, training and test rows."""
    for train, test in QueryKFold(5, shuffle=True, random_state=0).split(X, qid=qid):
        yield (X[train], y[train], qid[train]), (X[test], y[test], qid[test])


def folds(name: str) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of every fold."""
    if name == "synthetic":
        yield from cut(*synthetic_ranking(n_queries=200, docs=60, n_features=40))
    elif name == "lambdarank":
        fold = next(iter(load_dataset(name)))
        parts = [rows_of(part) for part in (fold.train, fold.vali, fold.test)]
        yield from cut(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    else:
        for number in range(1, 6):
            fold = load_dataset(name, fold=number)
            yield rows_of(fold.train), rows_of(fold.test)


def rows_of(part: RankingData) -> Rows:
    """Features, labels and queries."""
    return np.asarray(part.X), part.y, part.qid


def main() -> None:
    print("study_lambdamart: LambdaMART and LightGBM with equal parameters")
    print("\nMeans of nDCG@10 over the folds of each set\n")
    print(" " * 10 + "".join(f"  {key:>13}" for key in RANKERS), flush=True)
    differences = {}
    for name in ("mq2008", "ohsumed", "lambdarank", "synthetic"):
        values: dict[str, list[float]] = {key: [] for key in RANKERS}
        for train, (X, y, qid) in folds(name):
            for key, make in RANKERS.items():
                scores = make().fit(*train[:2], qid=train[2]).predict(X)
                values[key].append(evaluate(y, scores, qid, ["nDCG@10"])["nDCG@10"])
        means = "".join(f"  {np.mean(by_fold):13.4f}" for by_fold in values.values())
        print(f"{name:10}{means}", flush=True)
        differences[name] = np.subtract(values["ours, nDCG"], values["LightGBM"])
    print("\nOurs, nDCG, less LightGBM, over the folds\n")
    print(" " * 10 + "           mean  standard error")
    for name, by_fold in differences.items():
        print(f"{name:10}  {np.mean(by_fold):13.4f}  {_standard_error(by_fold):14.4f}")


def _standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
