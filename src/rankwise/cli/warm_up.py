"""``rankwise warm-up``: compile kernels ahead, for an image of a container."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import check_model_file, number, print_json, print_table, waiting
from rankwise.cli._named_entries import DEFAULT
from rankwise.cli._options import Json, complete_rankers, make_ranker

# A few rows are scored without compiled code, and many by several threads.
_SIZES = (1, 100, 20_000)


def warm_up(
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL|RANKER]…",
            help="Saved models, and rankers of 'rankwise list rankers' (default: "
            f"{', '.join(DEFAULT)}).",
            autocompletion=complete_rankers,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compile what models need to score, and rankers to fit and score, into the cache.

    Run it where an image of a container is built, with the same NUMBA_CACHE_DIR and, for a fleet of
    several processors, the same NUMBA_CPU_NAME as at run time. A second run takes less: nothing is
    left to compile.
    """
    found = {}
    for entry in entries or list(DEFAULT):
        if Path(entry).suffix or "/" in entry:
            check_model_file(Path(entry))
    for entry in entries or list(DEFAULT):
        start = time.perf_counter()
        with waiting(f"Warming up {entry}"):
            _score(entry) if Path(entry).is_file() else _fit(entry)
        found[entry] = time.perf_counter() - start
    if json:
        print_json({"seconds": found})
        return
    lines = [[entry, number(seconds, ".2f")] for entry, seconds in found.items()]
    print_table(["entry", "seconds"], lines, right=["seconds"])


def _score(path: str) -> None:
    """Score rows of zeros with a saved model, few and many."""
    import numpy as np

    from rankwise.checks.text_categories import category_frame
    from rankwise.cli._files import text_columns_of
    from rankwise.persistence import load
    from rankwise.prediction import scores_of
    from rankwise.runtime.frames import frame_for

    model = load(path)
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else [str(name) for name in known]
    texts = text_columns_of(model)
    for n in _SIZES:
        X: Any = np.zeros((n, getattr(model, "n_features_in_", 1)))
        rows = frame_for(model, X, names)
        if names is not None and texts:
            rows = category_frame(X, names, {names.index(name): texts[name] for name in texts})
        with warnings.catch_warnings():
            # The columns of zeros are those of the model.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            scores_of(model, rows, np.zeros(n, np.int64))


def _fit(key: str) -> None:
    """Fit a ranker on some bundled rows, and score few and many."""
    import numpy as np

    from rankwise.datasets import load_dataset
    from rankwise.metrics import parse
    from rankwise.prediction import scores_of
    from rankwise.selection import tune

    words = ["time_budget=5"] if key == "auto" else None
    fold = load_dataset("lambdarank", fold=1)
    tuned = tune(make_ranker(key, words, 0), fold.train, fold.vali, parse("nDCG@10"))
    rows_of_test: Any = fold.test.X
    for n in _SIZES:
        rows = np.resize(rows_of_test, (n, fold.test.n_features))
        scores_of(tuned.estimator, rows, np.zeros(n, np.int64))
