"""``warm_up`` compiles all that requests need, in the process that forks the workers."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from http.client import HTTPConnection
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from rankwise import LambdaMART, McRank, RidgeRanker, load, warm_up

ROOT = Path(__file__).parents[2]
# Stored models of every kernel that scores rows, besides those of trees, and one with threads.
STORED = (
    "voted_prank", "ranking_forest", "orboost", "ordinal_svm", "poly_ordinal_svm",
    "compressed_sensing", "xgboost",
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=600) + 1), 0, 3)
    return X, y, np.arange(600) // 10


def extract(name, folder):
    """Path of a stored model; to save one would import skops, and all of scikit-learn with it."""
    with ZipFile(ROOT / "tests/persistence/data/models-0.3.zip") as stored:
        return Path(stored.extract(f"{name}.skops", folder))


def write_models(rows, folder):
    """Write small models, with trees that are scored in several ways."""
    for name in STORED:
        extract(name, folder)
    X, y, qid = rows
    codes = X.round() + 10
    for name, model in {
        "large": LambdaMART(9, max_leaf_nodes=100, min_samples_leaf=1).fit(X, y, qid=qid),
        "nominal": LambdaMART(40, categorical_features=[1]).fit(codes, y, qid=qid),
        # Trees of scikit-learn, which are scored by threads of OpenMP.
        "foreign": McRank(n_estimators=2).fit(X, y, qid=qid),
    }.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model))


@pytest.fixture(scope="module")
def server(rows, tmp_path_factory):
    """A process that examines all models, then runs the first server of the page."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    folder = tmp_path_factory.mktemp("server")
    models = folder / "models"
    models.mkdir()
    write_models(rows, models)
    (folder / "serve.py").write_text(blocks_of_page()[0])
    port = free_port()
    run = [sys.executable, "-m", "tests.common.warm_children", str(models)]
    run += [str(folder / "serve.py"), str(extract("pipeline", folder)), str(port), "2"]
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(run, **options) as process:
        try:
            yield models, process, port
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def blocks_of_page():
    page = (ROOT / "docs/serve.rst").read_text()
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", page)
    return [textwrap.dedent(block) for block in blocks]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_requests_of_forked_workers_compile_nothing(server):
    """Nor do they wait for threads that the fork did not copy."""
    models, process, _ = server
    names = sorted(path.name for path in models.iterdir())
    found = [json.loads(process.stdout.readline()) for _ in names]
    assert found == [{"model": name, "compiled": {}} for name in names]


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


def test_a_pipeline_of_text_needs_rows_of_a_request(rows):
    frame = table(rows)
    model = make_pipeline(OneHotEncoder(), RidgeRanker()).fit(
        frame[["color"]], rows[1], ridgeranker__qid=rows[2]
    )
    with pytest.raises(ValueError, match=r"warm_up\(model, rows\)"):
        warm_up(model)
    warm_up(model, frame[["color"]].head(2))


def test_a_ranker_with_text_columns_needs_none(rows):
    frame = table(rows)
    model = LambdaMART(10).fit(frame, rows[1], qid=rows[2])
    before = model.predict(frame)
    warm_up(model)
    np.testing.assert_array_equal(model.predict(frame), before)


def test_what_cannot_be_warmed_up(rows):
    X, y, qid = rows
    with pytest.raises(NotFittedError):
        warm_up(LambdaMART())
    model = RidgeRanker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="at least one row of a request, got none"):
        warm_up(model, X[:0])
    with pytest.raises(ValueError, match="3 features"):
        warm_up(model, X[:1, :3])
    with pytest.raises(TypeError, match=r"warm must be True or False, got ndarray.*warm_up"):
        load("model.rw", warm=X)


def test_the_server_of_the_page_answers(server, rows):
    models, process, port = server
    pipeline = load(models.parent / "pipeline.skops")
    X = rows[0][:, : pipeline.n_features_in_]
    for asked in (X[:100], X[:1]):
        status, content = ask(port, process, asked.tolist())
        assert (status, content) == (200, {"scores": pipeline.predict(asked).tolist()})
    status, content = ask(port, process, [[1.0] * 9])
    assert status == 400
    assert "has 9 features" in content["error"]


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


def ask(port, process, rows, path="/"):
    """Status and content of an answer."""
    connection = connect(port, process)
    connection.request("POST", path, json.dumps(rows), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


@pytest.mark.parametrize("program", ["uvicorn", "gunicorn"])
def test_the_application_of_the_page_answers(program, rows, tmp_path):
    needed = ("fastapi", "uvicorn", "gunicorn", "uvicorn_worker")
    for package in needed[: 2 if program == "uvicorn" else 4]:
        pytest.importorskip(package)
    path = extract("lambdamart", tmp_path)
    model = load(path.rename(tmp_path / "ranker.rw"))
    X = rows[0][:, : model.n_features_in_]
    names = ("app.py", "gunicorn.conf.py")
    for name, block in zip(names, blocks_of_page()[1:], strict=True):
        (tmp_path / name).write_text(block)
    port = free_port()
    options = {"uvicorn": ["--port", str(port)], "gunicorn": ["--bind", f"127.0.0.1:{port}"]}
    run = [sys.executable, "-m", program, "app:app", *options[program]]
    home = {**os.environ, "HOME": str(tmp_path)}  # where gunicorn makes a socket
    with subprocess.Popen(
        run, cwd=tmp_path, env=home, start_new_session=True, stderr=-3
    ) as process:
        try:
            for asked in ([[None, *X[0, 1:]]], X[:1].tolist(), X[:100].tolist()):
                found = ask(port, process, asked, "/scores")
                assert found == (200, model.predict(asked).tolist())
            status, content = ask(port, process, [[1.0] * 9], "/scores")
            assert status == 400
            assert "has 9 features" in content["detail"]
            connection = connect(port, process)
            connection.request("GET", "/health")
            assert connection.getresponse().read() == b"true"
            connection.close()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
