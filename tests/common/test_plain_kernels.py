"""One estimator per family, and the packages beside them, with kernels as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rankwise import evaluate
from rankwise.datasets import read_letor
from rankwise.explain import explain_scores
from rankwise.fusion import fuse
from rankwise.text import Analyzer, TextIndex
from tests.common.estimators import small

ROOT = Path(__file__).parents[2]
QID = np.repeat(np.arange(4), 6)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
GRADES = RNG.integers(0, 3, 24)
LABELS = (RNG.random((24, 3)) > 0.5).astype(int)
COSTS = RNG.random((24, 3))
# One of every family; the solvers and the growers differ.
RANKERS = (
    "ridge", "rank_svm", "rank_lr", "svrank", "svr", "pairwise_elm", "elmrank", "mprank",
    "clsrrank", "pruned_rank_svm", "lambdamart", "rank_boost", "frank", "ada_rank", "mc_rank",
    "coordinate_ascent", "model_tree", "stacking_ranker",
)  # fmt: skip
ORDINAL = (
    "prank", "aggregate_prank", "widrow_hoff", "ranking_tree", "ranking_forest", "orboost",
    "ordinal_svm", "poly_ordinal_svm", "proportional_odds",
)  # fmt: skip
MULTI_LABEL = ("cplst", "compressed_sensing")
FEW_TREES = {"n_estimators": 4}


def fitted(key, *args, **params):
    model = small(key)
    if "n_estimators" in model.get_params():
        model.set_params(**FEW_TREES)
    return model.fit(X, *args, **params)


def search_texts():
    analyzer = Analyzer(stop_words=None, stemmer=None)
    index = TextIndex(analyzer=analyzer).add({"a": "one two two", "b": "two three", "c": "four"})
    return index.search({"q": "two four"}).scores


def read_rows():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.txt")
        file.write_text("2 qid:1 1:0.9 2:1e-5 # a\n0 qid:1 1:-12345.678901 2:.4\n", "utf-8")
        return read_letor(file).X


def fuse_runs():
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 9.0, "c": 5.0, "d": 4.0}}]
    return fuse(runs, "sum").scores


CALLS = {
    **{key: lambda key=key: fitted(key, GRADES, qid=QID).predict(X) for key in RANKERS},
    **{key: lambda key=key: fitted(key, GRADES).predict(X) for key in ORDINAL},
    **{key: lambda key=key: fitted(key, LABELS).predict(X) for key in MULTI_LABEL},
    "csovo": lambda: fitted("csovo", GRADES, costs=COSTS).predict(X),
    "nystroem": lambda: fitted("nystroem").transform(X),
    "evaluate": lambda: list(evaluate(GRADES, X[:, 0], QID, ["nDCG@3", "AP", "ERR"]).values()),
    "explain": lambda: explain_scores(fitted("lambdamart", GRADES, qid=QID), X).values,
    "fuse": fuse_runs,
    "read": read_rows,
    "text": search_texts,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What the calls give in a process whose kernels are not compiled."""
    file = tmp_path_factory.mktemp("plain") / "results.npz"
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "from tests.common.test_plain_kernels import CALLS, np\n"
        "np.savez(sys.argv[1], **{name: call() for name, call in CALLS.items()})\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code, file], cwd=ROOT, env=environment, check=True)
    with np.load(file) as results:
        return dict(results)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_plain_kernels_give_what_compiled_ones_do(plain, name):
    # Compiled sums may take another order.
    np.testing.assert_allclose(plain[name], CALLS[name](), rtol=1e-6, atol=1e-8)
