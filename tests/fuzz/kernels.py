"""A target that runs compiled kernels through the estimators that use them, on awkward tables.

It is meant for ``make boundscheck``: with bounds checks an index outside of an array is an
IndexError. A table may be refused with ValueError only, and what is predicted is finite.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import rankwise as rw
from rankwise.metrics import evaluate
from tests.fuzz.harness import Target

RANKERS: dict[str, Any] = {
    "ada_rank": lambda: rw.AdaRank(n_estimators=5),
    "frank": lambda: rw.FRank(n_estimators=5),
    "lsrrank": lambda: rw.LSRRank(),
    "rank_boost": lambda: rw.RankBoost(n_estimators=5),
    "rank_lr": lambda: rw.RankLR(),
    "rank_svm": lambda: rw.RankSVM(),
    "svrank": lambda: rw.SVRank(),
}
ORDINAL: dict[str, Any] = {
    "ordinal_svm": lambda: rw.OrdinalSVM(),
    "orboost": lambda: rw.ORBoost(n_estimators=5),
    "prank": lambda: rw.PRank(random_state=0),
    "ranking_forest": lambda: rw.RankingForest(n_estimators=2, random_state=0),
    "ranking_tree": lambda: rw.RankingTree(),
    "voted_prank": lambda: rw.VotedPRank(random_state=0),
}
MULTI_LABEL: dict[str, Any] = {
    "compressed_sensing": lambda: rw.labels.CompressedSensing(n_components=2, random_state=0),
    "plst": lambda: rw.labels.PLST(n_components=1, random_state=0),
}
MEASURES = ["nDCG@3", "AP", "ERR", "P@2", "Tau", "Rho", "Misranking"]


def _make(rng: np.random.Generator) -> bytes:
    """What to fit and the seed of its table; ``_check`` makes both from it."""
    names = [*RANKERS, *ORDINAL, *MULTI_LABEL, "measures"]
    name = names[rng.integers(len(names))]
    return json.dumps({"name": name, "seed": int(rng.integers(1 << 31))}).encode()


def _table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with ties, constant and repeated columns, of queries of one row and more."""
    n, d = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))  # of one type: every other one is compiled anew
    for j in range(d):
        kind = rng.integers(6)
        if kind == 0:
            X[:, j] = 1
        elif kind == 1:
            X[:, j] = np.round(X[:, j])
        elif kind == 2:
            X[:, j] = X[:, 0] * 10.0 ** (rng.integers(-20, 20) * rng.choice([1, 15]))
        elif kind == 3:
            X[rng.random(n) < 0.3, j] = np.nan if rng.random() < 0.3 else 0
    y = rng.integers(0, rng.integers(1, 5), n)
    qid = rng.integers(0, max(1, n // int(rng.integers(1, 8))), n)
    return X, y, np.sort(qid) if rng.random() < 0.7 else qid


def _check(path: Path) -> bool:
    case = json.loads(path.read_bytes())
    rng = np.random.default_rng(case["seed"])
    X, y, qid = _table(rng)
    name = case["name"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "measures":
            scores = np.round(rng.normal(size=len(y)), int(rng.integers(3)))
            evaluate(y, scores, qid=qid, measures=MEASURES)
            return True
        if name in RANKERS:
            model = RANKERS[name]().fit(X, y, qid=qid)
        elif name in ORDINAL:
            model = ORDINAL[name]().fit(X, y)
        else:
            Y = (rng.random((len(X), int(rng.integers(1, 7)))) < 0.4).astype(int)
            model = MULTI_LABEL[name]().fit(X, Y)
        out = model.predict(X[::-1])
    assert np.isfinite(out.toarray() if sparse.issparse(out) else out).all(), name
    return True


TARGETS = (Target("kernels", _make, _check, ".json", names_file=False, measures_memory=False),)
