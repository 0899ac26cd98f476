"""One system on one part: C by the validation part, then the test part and the time of a fit."""

from __future__ import annotations

import time
import warnings
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise import PrunedRankSVM, RankSVM, SVRRanker
from rankwise.datasets import Fold
from rankwise.experiments import Cell
from rankwise.metrics import evaluate
from rankwise_papers.pruned_ranksvm.parts import columns
from rankwise_papers.pruned_ranksvm.plan import ALL, SETS, SVR, SYSTEMS


def compute(cell: Cell) -> dict[str, Any]:
    """What the system reached and, for a rule, what as many random pairs did."""
    params = cell.params
    known, system = SETS[params["set"]], SYSTEMS[params["system"]]
    fold = columns(params["set"], params["part"], params["scaling"], params["kernel"])
    ranker: Any
    if params["system"] == ALL:
        ranker = RankSVM()
    elif params["system"] == SVR:
        ranker = SVRRanker("linear")
    else:
        ranker = PrunedRankSVM(**system.selector, random_state=params["part"])
    ranker.set_params(C=list(params["C"]), measure=known.measure)
    found = {"own": fitted(ranker, fold, known.measure)}
    if system.has_twin:
        twin: Any = clone(ranker)
        twin.set_params(selector="random", share=found["own"]["share"])
        found["random"] = fitted(twin, fold, known.measure)
    return found


def fitted(ranker: Any, fold: Fold, measure: str) -> dict[str, Any]:
    """The chosen C, the test part's values by it, and the processor time of one fit with it."""
    train, vali, test = fold.train, fold.vali, fold.test
    assert vali is not None
    rows = {"X": train.X, "y": train.y, "qid": train.qid}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        path: Any = clone(ranker)
        path.fit(**rows, X_val=vali.X, y_val=vali.y, qid_val=vali.qid)
        alone: Any = clone(ranker)
        alone.set_params(C=path.C_)
        start = time.process_time()
        alone.fit(**rows)
        seconds = time.process_time() - start
    values = evaluate(test.y, alone.predict(test.X), test.groups, [measure]).per_query[measure]
    return {
        "C": path.C_,
        "share": getattr(alone, "pairs_share_", 1.0),
        "pairs": getattr(alone, "pairs_kept_", None),
        "seconds": seconds,
        "unfinished": len(caught),
        "test": values.round(6).tolist(),
    }
