"""Few rows do without compiled code, and give the bits of the kernels."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rankwise import LambdaMART
from rankwise.datasets import Run, read_letor
from rankwise.features.binning import find_bins
from rankwise.fusion import fuse
from rankwise.groups import QueryGroups
from rankwise.kernels import (
    binning,
    boosted_splits,
    boosted_trees,
    ensemble_scores,
    random_draws,
    ranking_agreement,
    sorting,
    svmlight,
    text_search,
    topk,
)
from rankwise.metrics import parse
from rankwise.metrics.scored import compute
from rankwise.row_order import row_hashes
from rankwise.runtime import jit
from rankwise.text import Analyzer, TextIndex
from tests.metrics.test_scored import KINDS, score_kinds
from tests.text.corpus import QUERIES, random_corpus

ROOT = Path(__file__).parents[2]
MODULES = (
    binning, boosted_splits, boosted_trees, ensemble_scores, random_draws, ranking_agreement,
    sorting, svmlight, text_search, topk,
)  # fmt: skip
KERNELS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, jit.CompiledFunction)
]
SPECS = [
    "nDCG@10", "nDCG", "nDCG(gain='linear')@3", "DCG@5", "MeanNDCG", "ERR@10", "ERR", "AP", "AP@5",
    "P@10", "RR", "Misranking", "RankingError", "Tau", "Rho", "M1D", "infAP", "LRAP", "Coverage",
    "RBP", "MeanNDCG(ties='worst')", "nDCG(ties='best')@7", "AP(ties='docid')",
    "AP(ties='worst')", "ERR(ties='stable')", "infAP(ties='stable')",
]  # fmt: skip
SIZES = [0, 1, 2, 3, 5, 24, 25, 60, 1, 120, 0]


@contextmanager
def without_compiled_code(monkeypatch):
    """As in a process that has not called any of the kernels and has much patience."""
    compiled = {}
    for limit in ("_FEW_STEPS", "_PATIENCE", "_SHORT_PATIENCE"):
        monkeypatch.setattr(jit, limit, 1 << 40)
    for kernel in KERNELS:
        if "dispatcher" in vars(kernel):
            compiled[kernel] = vars(kernel).pop("dispatcher")
        monkeypatch.setattr(kernel, "plain_steps", 0)
    monkeypatch.setattr(jit.CompiledFunction, "is_stored", False)
    try:
        yield
    finally:
        for kernel, dispatcher in compiled.items():
            vars(kernel)["dispatcher"] = dispatcher


def assert_same_bits(monkeypatch, compute_arrays, needed=()):
    """Compiled kernels and few rows give the same arrays; only ``needed`` kernels are compiled."""
    with jit.always_compiled():
        expected = compute_arrays()
    with without_compiled_code(monkeypatch):
        found = compute_arrays()
        used = {kernel.__name__ for kernel in KERNELS if jit.is_ready(kernel)}
    assert used == set(needed)
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("grades", ["whole", "fractions", "signed zeros"])
@pytest.mark.parametrize("kind", KINDS)
def test_measures(monkeypatch, rng, kind, grades):
    n = sum(SIZES)
    y = rng.integers(0, 5, n).astype(float)
    y = {"whole": y, "fractions": y / 3, "signed zeros": np.where(y > 2, y, -0.0)}[grades]
    scores = score_kinds(rng, n)[kind].astype(float)
    indptr = np.concatenate([[0], np.cumsum(SIZES)])
    groups = QueryGroups(indptr, None, ids=np.arange(len(SIZES)))
    judged = rng.random(n) < 0.8

    def values():
        measures = [parse(spec) for spec in SPECS]
        return dict(zip(SPECS, compute(measures, y, scores, groups, 1, judged=judged), strict=True))

    assert_same_bits(monkeypatch, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashes(monkeypatch, rng, dtype):
    X = rng.choice([0.0, -0.0, 1.5, np.nan, np.inf, 1e-310, -7.25], (300, 5)).astype(dtype)
    y = rng.integers(0, 3, 300).astype(float)
    assert_same_bits(monkeypatch, lambda: {"rows": row_hashes(X, y), "X": row_hashes(X)})


@pytest.mark.parametrize("weighted", [False, True])
def test_bins(monkeypatch, rng, weighted):
    X = np.stack([rng.normal(size=900), rng.integers(0, 4, 900), np.full(900, np.nan)], axis=1)
    X[::7, 0], X[1, 0], X[2, 0] = np.nan, np.inf, -np.inf
    X[300:500, 0] = 0.25  # more than the share of a bin
    weight = rng.integers(1, 4, 900).astype(float) if weighted else None

    def bins():
        found = find_bins(X, 16, weight)
        return {"cuts": found.cuts, "below": found.below, "codes": found.codes(X)}

    assert_same_bits(monkeypatch, bins)


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_boosted_trees(monkeypatch, rng, subsample):
    X, qid = rng.normal(size=(400, 4)), np.arange(400) // 20
    y = np.clip(np.round(X[:, 0] + rng.normal(size=400)), 0, 3)
    X[rng.random(X.shape) < [0.1, 0.0, 0.4, 1.0]] = np.nan

    def scores():
        model = LambdaMART(8, subsample=subsample, random_state=0).fit(X, y, qid=qid)
        return {"scores": model.predict(X)}

    with jit.always_compiled():
        expected = scores()["scores"]
    with without_compiled_code(monkeypatch):
        found = scores()["scores"]
        ready = {kernel.__name__ for kernel in KERNELS if jit.is_ready(kernel)}
    assert ready == (set() if subsample == 1 else {"add_leaf_values"})
    assert found.tobytes() == expected.tobytes()


def test_letor_files(monkeypatch, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(
        "2 qid:1 1:0.9 2:1e-5 3:123456789.123456789 # a\n\n# no row\n"
        "0 qid:1 1:-12345.678901 2:.4 cost:2\n1 qid:22 1:4.9e-324 3:1e308 # b c\n",
        "utf-8",
    )

    def rows():
        data = read_letor(path, dtype=np.float64)
        return {"X": data.X, "y": data.y, "qid": np.asarray(data.qid)}

    assert_same_bits(monkeypatch, rows)


def test_fused_runs(monkeypatch, rng):
    qid, ids = np.repeat(np.arange(4), 6).astype(str), np.tile(np.arange(6), 4).astype(str)
    runs = {name: Run(qid, ids, rng.integers(0, 9, 24).astype(float)) for name in "abc"}
    assert_same_bits(monkeypatch, lambda: {"scores": fuse(runs, "condorcet").scores})


@pytest.mark.parametrize("k", [3, 2000])
def test_searched_texts(monkeypatch, k):
    index = TextIndex(analyzer=Analyzer(stop_words=None, stemmer=None)).add(random_corpus(3))
    assert_same_bits(monkeypatch, lambda: {"scores": index.search(QUERIES, k=k).scores})


FEW = {
    "evaluate": "import rankwise.selection.systems\n"  # by the command line
    "print(rankwise.evaluate([0, 1, 2], [.1, .3, .2], [1, 1, 1]))",
    "closed form": "X = np.random.default_rng(0).normal(size=(60, 3)); q = np.arange(60) // 10\n"
    "model = rankwise.RidgeRanker().fit(X, X[:, 0].round() + 3, qid=q)\n"
    "model.score(X, X[:, 0].round() + 3, qid=q)",
}


@pytest.mark.parametrize("name", FEW)
def test_few_rows_need_no_numba(name):
    code = f"import sys, numpy as np, rankwise\n{FEW[name]}\nassert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=ROOT)
