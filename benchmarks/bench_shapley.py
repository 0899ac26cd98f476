"""Shapley values of boosted trees beside the libraries' own, and frames beside arrays.

    python -m benchmarks.bench_shapley

1,000 rows of 136 features, 100 trees of each library as it grows them by default. "whole call" is
``explain_scores`` with its checks; both sides use all CPUs of the process. The largest difference
from the library's values is printed besides; XGBoost adds in float32.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import CatBoostRanker, LightGBMRanker, XGBoostRanker
from rankwise.explain import explain_pair, explain_ranking, explain_scores
from rankwise.runtime.threads import available_threads

N_ROWS = 1000


def library_values(model: Any, X: np.ndarray) -> np.ndarray:
    """Contributions by the library that grew the trees, the expected score last."""
    n_threads = available_threads()
    match model:
        case LightGBMRanker():
            return model.booster_.predict(X, pred_contrib=True, num_threads=n_threads)
        case XGBoostRanker():
            import xgboost

            model.booster_.set_param({"nthread": n_threads})
            return model.booster_.predict(xgboost.DMatrix(X, nthread=n_threads), pred_contribs=True)
        case _:
            import catboost

            return model.booster_.get_feature_importance(
                catboost.Pool(X), type="ShapValues", thread_count=n_threads
            )


def main() -> None:
    """Print the lines."""
    import pandas as pd

    X, y, qid = synthetic_ranking(n_queries=100)
    rows = X[:N_ROWS]
    peers = (
        (LightGBMRanker, "pred_contrib"),
        (XGBoostRanker, "pred_contribs"),
        (CatBoostRanker, "ShapValues"),
    )
    for kind, name in peers:
        model = kind(n_estimators=100, random_state=0).fit(X, y, qid=qid)
        title = kind.__name__.removesuffix("Ranker")
        difference = np.abs(
            explain_scores(model, rows).values - library_values(model, rows)[:, :-1]
        ).max()
        print(f"{title}: largest difference {difference:.1e}")
        timed = interleave({
            "path-dependent": partial(explain_scores, model, rows),
            name: partial(library_values, model, rows),
            "interventional": partial(explain_scores, model, rows, X[-100:]),
            "one row": partial(explain_scores, model, rows[:1]),
            f"{name}, one row": partial(library_values, model, rows[:1]),
        })  # fmt: skip
        report(f"{title}, 1,000 rows", timed["path-dependent"], timed[name], within=1)
        what = f"{title}, 1,000 rows against 100 background rows"
        report(what, timed["interventional"], timed[name], within=1)
        report(f"{title}, one row", timed["one row"], timed[f"{name}, one row"], within=3)

    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    named = LightGBMRanker(n_estimators=100, random_state=0).fit(frame, y, qid=qid)
    timed = interleave({
        "frame, a pair": partial(explain_pair, named, frame[:1], frame[1:2]),
        "array, a pair": partial(explain_pair, plain := LightGBMRanker(
            n_estimators=100, random_state=0).fit(X, y, qid=qid), X[0], X[1]),
        "frame, a query": partial(explain_ranking, named, frame[:120]),
        "array, a query": partial(explain_ranking, plain, X[:120]),
        "frame, 1,000 rows": partial(explain_scores, named, frame[:N_ROWS]),
        "array, 1,000 rows": partial(explain_scores, plain, rows),
    })  # fmt: skip
    for what in ("a pair", "a query", "1,000 rows"):
        timing = timed[f"frame, {what}"]
        report(f"frame of 136 columns, {what}", timing, timed[f"array, {what}"], within=3)


if __name__ == "__main__":
    main()
