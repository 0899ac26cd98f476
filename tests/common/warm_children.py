"""Load and warm up models, each in a forked process, and count what requests compile after that.

``python -m tests.common.warm_children FOLDER`` writes a line of JSON per model file to stdout.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numba  # noqa: F401
import numpy as np

import rankwise
from rankwise.prediction import _call, text_columns_of
from rankwise.runtime.jit import count_signatures

SIZES = (1, 9, 100, 3000)
METHODS = ("predict", "rank_score", "predict_proba", "decision_function", "transform")


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
    return found


def examine(path: Path) -> dict[str, Any]:
    """What requests compile after ``load(path, warm=True)``, by request and method."""
    model = rankwise.load(path, warm=True)
    seen = {"threads": threading.active_count()}
    before = count_signatures()
    compiled = {}
    if not text_columns_of(model):
        for name, X in requests(model.n_features_in_).items():
            for method in METHODS:
                if hasattr(model, method):
                    _call(model, method, X, None)
                    if count_signatures() > before:
                        compiled[f"{method}, {name}"] = count_signatures() - before
                        before = count_signatures()
    return {"model": path.name, "compiled": compiled, **seen}


def main(folder: str) -> None:
    """Examine every file."""
    for path in sorted(Path(folder).iterdir()):
        child = os.fork()
        if child == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = examine(path)
                except Exception as error:
                    found = {"model": path.name, "error": repr(error)}
            print(json.dumps(found), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1])
