"""Fork a worker for each warmed-up model and report what its requests compile; then serve a model.

``python -m tests.common.warm_children MODELS SCRIPT ARGUMENTS`` writes a line of JSON per file in
the folder MODELS to stdout, then runs the script of a server. One interpreter does all of this,
because importing Numba takes longer than anything else here.
"""

from __future__ import annotations

import json
import os
import pickle
import runpy
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numba  # noqa: F401
import numpy as np

import rankwise
from rankwise.prediction import _call, text_columns_of
from rankwise.runtime.jit import count_signatures
from rankwise.structure.model_check import check_model

SIZES = (1, 9, 100, 3000)
MANY = 60_000  # rows of which threads take a share
METHODS = ("predict", "rank_score", "predict_proba", "decision_function", "transform")
SECONDS = 120  # after which a worker is deadlocked


def requests(width: int) -> dict[str, Any]:
    """Rows in the layouts in which they reach a server."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for n in SIZES:
        X = rng.normal(size=(n, width)).round(1)
        body = X.tobytes()
        shifted = bytearray(b" " + body)
        found |= {
            f"float64 {n}": X,
            f"float32 {n}": X.astype(np.float32),
            f"Fortran {n}": np.asfortranarray(X),
            f"reversed {n}": X[::-1],
            f"body {n}": np.frombuffer(body).reshape(n, width),
            f"unaligned {n}": np.frombuffer(shifted, offset=1).reshape(n, width),
            f"integers {n}": np.ones((n, width), np.int64),
            f"lists {n}": X.tolist(),
        }
    return found | {"many": np.tile(found["float64 3000"], (MANY // 3000, 1))}


def ask(model: Any) -> dict[str, int]:
    """Forms of kernels that requests compile, by request and method."""
    compiled = {}
    if text_columns_of(model):
        return compiled
    before = count_signatures()
    for name, X in requests(model.n_features_in_).items():
        for method in METHODS:
            if hasattr(model, method):
                _call(model, method, X, None)
                if count_signatures() > before:
                    compiled[f"{method}, {name}"] = count_signatures() - before
                    before = count_signatures()
    return compiled


def fork(function: Any, *arguments: Any) -> int:
    """Exit status, or minus the signal, of a forked process that calls a function."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        status = 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*arguments)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve(path: Path) -> None:
    """Load and warm up a model, and fork a worker that is asked."""
    if path.suffix == ".pickle":  # skops would import PyTorch for trees of scikit-learn
        model = pickle.loads(path.read_bytes())
        check_model(model)
        rankwise.warm_up(model)
    else:
        model = rankwise.load(path, warm=True)

    def work() -> None:
        print(json.dumps({"model": path.name, "compiled": ask(model)}), flush=True)

    if status := fork(work):
        os._exit(abs(status))


def main(folder: str, script: str, *arguments: str) -> None:
    """Examine every model, then serve."""
    paths = sorted(Path(folder).iterdir())
    for path in paths:
        if path.suffix != ".pickle":
            rankwise.load(path)  # imports its modules once for all
    for path in paths:
        if status := fork(serve, path):
            print(json.dumps({"model": path.name, "status": status}), flush=True)
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
