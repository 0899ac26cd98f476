"""Other programs, run on (y, scores, qid): the mean or the values per query that they print.

Rows must be sorted by qid. Each function skips the test where its program is not installed.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import pytest


def sizes_of(qid):
    return np.unique(qid, return_counts=True)[1]


def lightgbm(y, f, qid, metric, k, **params):
    """Mean of "ndcg" or "map" at k, as Booster.eval prints it."""
    lgb = pytest.importorskip("lightgbm")
    quiet = {"verbose": -1, "feature_pre_filter": False, "num_threads": 1}
    data = lgb.Dataset(
        np.zeros((len(y), 1)), label=y, group=sizes_of(qid), init_score=f, params=quiet
    )
    booster = lgb.Booster(
        {"objective": "none", "metric": metric, "eval_at": [k], **quiet, **params}, data
    )
    [result] = booster.eval_train()
    return result[2]


def xgboost(y, f, qid, metric, **params):
    """Mean of e.g. "ndcg@10-"; scores are XGBoost's base margin."""
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix(np.zeros((len(y), 1)), label=y, base_margin=f, qid=qid)
    booster = xgb.Booster(
        {"objective": "rank:ndcg", "eval_metric": metric, "nthread": 1, "verbosity": 0, **params},
        [data],
    )
    return float(booster.eval(data).rsplit(":", 1)[1])


def catboost(y, f, qid, metric):
    """Mean of e.g. "NDCG:top=10;type=Exp"."""
    utils = pytest.importorskip("catboost.utils")
    [value] = utils.eval_metric(y, f, metric, group_id=qid, thread_count=1)
    return value


def documents(y, f, qid):
    """(judgements, run): dictionaries by query and document; ids ascend in input order."""
    judgements: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row, query in enumerate(qid.tolist()):
        judgements.setdefault(str(query), {})[f"d{row:06}"] = int(y[row])
        run.setdefault(str(query), {})[f"d{row:06}"] = float(f[row])
    return judgements, run


def trec_eval(y, f, qid, measure):
    """Values per query, queries in order of first appearance; ``measure`` e.g. "ndcg_cut.10"."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judgements, run = documents(y, f, qid)
    result = pytrec_eval.RelevanceEvaluator(judgements, {measure}).evaluate(run)
    return np.array([result[query][measure.replace(".", "_")] for query in judgements])


def ir_measures(y, f, qid, measure):
    """Values per query of an ir-measures string."""
    library = pytest.importorskip("ir_measures")
    judgements, run = documents(y, f, qid)
    parsed = library.parse_measure(measure)
    values = {m.query_id: m.value for m in library.iter_calc([parsed], judgements, run)}
    return np.array([values[query] for query in judgements])


def gdeval(y, f, qid, k, folder):
    """(nDCG@k, ERR@k) per query as gdeval.pl prints them; NaN where it prints none."""
    library = pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("gdeval.pl needs perl")
    judgements, run = documents(y, f, qid)
    qrels, ranking = folder / "qrels", folder / "run"
    qrels.write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in judgements.items() for d, g in docs.items())
    )
    ranking.write_text(
        "".join(f"{q} Q0 {d} 1 {s!r} us\n" for q, docs in run.items() for d, s in docs.items())
    )
    script = Path(library.__file__).parent / "bin" / "gdeval.pl"
    lines = subprocess.run(
        ["perl", script, qrels, ranking, str(k)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    values = {q: (float(a), float(b)) for _, q, a, b in (line.split(",") for line in lines[1:])}
    return np.array([values.get(query, (np.nan, np.nan)) for query in judgements]).T


@contextmanager
def ranx_uncompiled():
    """Inside the block ranx, which is imported there, runs uncompiled: compiling takes minutes.

    It must be so in all tests of a process: what it compiled does not take what it did not.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)  # on import and, for lists, in the calls
        yield pytest.importorskip("ranx")


def ranx(y, f, qid, metric):
    """Values per query, of at most 15 rows each.

    Numba's sort of so few rows is stable, which NumPy's is not on every processor.
    """
    assert sizes_of(qid).max() <= 15
    stable = functools.partial(np.argsort, kind="stable")
    with ranx_uncompiled() as library, pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "argsort", stable)
        judgements, run = documents(y, f, qid)
        library_run = library.Run(run)
        library.evaluate(
            library.Qrels(judgements),
            library_run,
            metric,
            return_mean=False,
            threads=1,
            make_comparable=False,
        )
    scores = library_run.scores[metric]
    return np.array([scores[query] for query in judgements])
