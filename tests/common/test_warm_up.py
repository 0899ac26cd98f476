"""``warm_up`` compiles all that requests need, in the process that forks the workers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import rankwise
from rankwise import LambdaMART, RidgeRanker, load, save, warm_up
from tests.common.options import fit_options

ROOT = Path(__file__).parents[2]
# A model of every kernel that scores rows.
KEYS = (
    "ridge", "pairwise_elm", "rankrls", "rank_boost", "mc_rank", "model_tree", "score_blend",
    "prank", "voted_prank", "ranking_forest", "orboost", "ordinal_svm", "poly_ordinal_svm",
    "compressed_sensing", "polynomial_terms",
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=600) + 1), 0, 3)
    return X, y, np.arange(600) // 10


def make_models(rows):
    """Small estimators, and trees that are scored in other ways."""
    X, y, qid = rows
    made = {key: fit_options(key, {}) for key in KEYS}
    made["masks"] = LambdaMART(40).fit(X, y, qid=qid)
    made["large"] = LambdaMART(9, max_leaf_nodes=100, min_samples_leaf=1).fit(X, y, qid=qid)
    nominal = {"categorical_features": [1]}
    codes = X.round()
    codes[:, 1] += 10
    made["nominal"] = LambdaMART(40, **nominal).fit(codes, y, qid=qid)
    made["few nominal"] = LambdaMART(3, **nominal).fit(codes, y, qid=qid)
    made["scaled"] = make_pipeline(StandardScaler(), LambdaMART(40)).fit(X, y, lambdamart__qid=qid)
    return made


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_requests_compile_nothing(rows, tmp_path):
    models = make_models(rows)
    for name, model in models.items():
        save(model, tmp_path / name)
    run = [sys.executable, "-m", "tests.common.warm_children", str(tmp_path)]
    done = subprocess.run(run, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = {line["model"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert found.keys() == models.keys()
    expected = {name: {"model": name, "compiled": {}, "threads": 1} for name in models}
    assert found == expected


FORKED = """
import json, os, sys, time
import numpy as np
import rankwise
model = rankwise.load(sys.argv[1], warm=True)
X = np.load(sys.argv[2])
from rankwise.runtime.jit import count_signatures
before = count_signatures()
if os.fork() == 0:
    scores = model.predict(X).tolist()
    print(json.dumps([count_signatures() - before, scores]), flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "name", ["LambdaMART", "LightGBMRanker", "XGBoostRanker", "CatBoostRanker"]
)
def test_a_forked_worker_scores_at_once(name, rows, tmp_path):
    """Also with many rows, which are shared by threads that the parent must not have started."""
    X, y, qid = rows
    model = getattr(rankwise, name)(n_estimators=40).fit(X, y, qid=qid)
    many = np.tile(X, (100, 1))
    np.save(tmp_path / "rows.npy", many)
    path = save(model, tmp_path / "model.rw")
    run = [sys.executable, "-c", FORKED, str(path), str(tmp_path / "rows.npy")]
    done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    compiled, scores = json.loads(done.stdout)
    assert compiled == 0
    np.testing.assert_array_equal(scores, model.predict(many))


def test_a_model_is_unchanged(rows):
    X, y, qid = rows
    model = LambdaMART(20).fit(X, y, qid=qid)
    before, state = model.predict(X), model.__getstate__()
    warm_up(model)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.__getstate__().keys() == state.keys()


def table(rows):
    return pd.DataFrame(
        {"color": np.where(rows[0][:, 1] > 0, "red", "blue"), "size": rows[0][:, 0]}
    )


@pytest.mark.parametrize("form", ["frame", "sparse", "lists", "array"])
def test_rows_of_a_request(form, rows):
    X, y, qid = rows
    given = {"frame": pd.DataFrame(X), "sparse": sparse.csr_array(X), "lists": X.tolist()}
    model = RidgeRanker().fit(given.get(form, X), y, qid=qid)
    warm_up(model, given.get(form, X)[:3])


def test_a_pipeline_of_text_needs_rows_of_a_request(rows, tmp_path):
    frame = table(rows)
    model = make_pipeline(OneHotEncoder(), RidgeRanker()).fit(
        frame[["color"]], rows[1], ridgeranker__qid=rows[2]
    )
    path = save(model, tmp_path / "model.rw")
    with pytest.raises(ValueError, match=r"warm_up\(model, rows\)"):
        load(path, warm=True)
    warm_up(load(path), frame[["color"]].head(2))


def test_a_ranker_with_text_columns_needs_none(rows, tmp_path):
    frame = table(rows)
    model = LambdaMART(10).fit(frame, rows[1], qid=rows[2])
    again = load(save(model, tmp_path / "model.rw"), warm=True)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_what_cannot_be_warmed_up(rows, tmp_path):
    X, y, qid = rows
    with pytest.raises(NotFittedError):
        warm_up(LambdaMART())
    model = RidgeRanker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="at least one row of a request, got none"):
        warm_up(model, X[:0])
    with pytest.raises(ValueError, match="3 features"):
        warm_up(model, X[:1, :3])
    path = save(model, tmp_path / "model.rw")
    with pytest.raises(TypeError, match=r"warm must be True or False, got ndarray.*warm_up"):
        load(path, warm=X)


def connect(port, process):
    while process.poll() is None:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.connect()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return connection
    raise AssertionError("the server ended")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_server_of_the_page_answers(rows, tmp_path):
    X, y, qid = rows
    model = LambdaMART(20).fit(X, y, qid=qid)
    page = (ROOT / "docs/serve.rst").read_text()
    block = re.search(r"code-block:: python\n\n((?:   .*\n|\n)+)", page).group(1)
    (tmp_path / "serve.py").write_text(textwrap.dedent(block))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [sys.executable, "serve.py", str(save(model, tmp_path / "m.rw")), str(port), "2"]
    with subprocess.Popen(run, cwd=tmp_path, start_new_session=True, stderr=-3) as process:
        try:
            for asked, expected in (
                (X[:100].tolist(), (200, {"scores": model.predict(X[:100]).tolist()})),
                (X[:1].tolist(), (200, {"scores": model.predict(X[:1]).tolist()})),
                ([[1.0, 2.0]], (400, None)),
            ):
                connection = connect(port, process)
                connection.request("POST", "/", json.dumps(asked))
                answer = connection.getresponse()
                content = json.loads(answer.read())
                connection.close()
                assert answer.status == expected[0], content
                if expected[1]:
                    assert content == expected[1]
                else:
                    assert "6 features" in content["error"]
        finally:
            os.killpg(process.pid, signal.SIGKILL)
