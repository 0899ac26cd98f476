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
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from rankwise import LambdaMART, McRank, RidgeRanker, load, save, warm_up
from rankwise.prediction import text_columns_of

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
    run = [sys.executable, "-m", "tests.common.warm_children", str(models)]
    run += [str(folder / "serve.py"), str(extract("pipeline", folder)), "0", "2"]
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(run, **options) as process:
        try:
            found = [json.loads(process.stdout.readline()) for _ in models.iterdir()]
            yield models, found, json.loads(process.stdout.readline())["port"]
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def blocks_of_page():
    page = (ROOT / "docs/serve.rst").read_text()
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", page)
    return [textwrap.dedent(block) for block in blocks]


def test_requests_of_forked_workers_compile_nothing(server):
    """Nor do they wait for threads that the fork did not copy."""
    models, found, _ = server
    names = sorted(path.name for path in models.iterdir())
    assert found == [{"model": name, "compiled": {}} for name in names]


def test_a_model_is_unchanged(rows):
    X, y, qid = rows
    model = LambdaMART(20).fit(X, y, qid=qid)
    before, state = model.predict(X), model.__getstate__()
    warm_up(model)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.__getstate__().keys() == state.keys()


def table(rows):
    X = rows[0]
    return pd.DataFrame(
        {
            "color": np.where(X[:, 1] > 0, "red", "blue"),
            "size": X[:, 0],
            "name": [f"no {i}" for i in range(len(X))],
            "code": 3 + (X[:, 2] > 0),
            "share": np.where(X[:, 3] > 0, 0.1, 0.7),
        }
    )[["color", "name", "size", "code", "share"]]


@pytest.mark.parametrize("form", ["frame", "sparse", "lists", "array"])
def test_rows_of_a_request(form, rows):
    X, y, qid = rows
    given = {"frame": pd.DataFrame(X), "sparse": sparse.csr_array(X), "lists": X.tolist()}
    model = RidgeRanker().fit(given.get(form, X), y, qid=qid)
    warm_up(model, given.get(form, X)[:3])


def pipelines():
    """Pipelines, by name, that score neither zeros nor arrays, and whether they know their rows."""
    one_hot = OneHotEncoder()
    chosen = make_column_transformer((one_hot, ["color"]), ("passthrough", ["size"]))
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot)
    renamed = make_column_transformer((SimpleImputer(strategy="most_frequent"), ["color", "code"]))
    return {
        "all": make_column_transformer((one_hot, ["color", "code", "share", "name"])),
        "dropped": chosen,
        "slice": make_column_transformer((OrdinalEncoder(), slice("color", "code"))),
        "mask": make_column_transformer((TargetEncoder(), [True, False, False, True, True])),
        "numbers": make_column_transformer((one_hot, [0, -1]), ("drop", [1])),
        "callable": make_column_transformer((one_hot, lambda table: ["color"])),
        "nested": make_column_transformer((filled, ["color"]), (clone(chosen), ["color", "size"])),
        "one after another": make_pipeline(renamed, one_hot),
        "frames": make_pipeline(clone(renamed).set_output(transform="pandas"), one_hot),
        "unknown columns between": make_pipeline(
            make_column_transformer((FunctionTransformer(np.array), ["color", "size"])),
            make_column_transformer((one_hot, [0]), ("passthrough", [1])),
        ),
        "with an imputer": make_column_transformer((filled, ["color"]), (one_hot, ["code"])),
    }


@pytest.mark.parametrize("name", pipelines())
def test_a_pipeline_that_encodes_columns_needs_no_rows(name, rows, tmp_path):
    frame = table(rows)
    model = make_pipeline(pipelines()[name], RidgeRanker())
    model.fit(frame, rows[1], ridgeranker__qid=rows[2])
    if name == "unknown columns between":
        assert text_columns_of(model) == {"name": [], "code": [], "share": []}
        return
    warm_up(model)
    if name != "callable":
        load(save(model, tmp_path / "model.rw"), warm=True)
    assert text_columns_of(model)["color"] == ["blue", "red"]


@pytest.mark.parametrize("column", [["b", "a"], [3, 7], [0.1, 0.7]])
def test_a_pipeline_that_encodes_an_array_needs_no_rows(column, rows):
    X = np.tile(np.array(column), 300)[:, np.newaxis]
    model = make_pipeline(OneHotEncoder(), RidgeRanker()).fit(X, rows[1], ridgeranker__qid=rows[2])
    warm_up(model)
    assert text_columns_of(model) == {}


def test_a_pipeline_of_other_text_needs_rows_of_a_request(rows):
    frame = table(rows)
    taken = FunctionTransformer(lambda X: X["color"].map(len).to_numpy()[:, np.newaxis])
    model = make_pipeline(taken, RidgeRanker()).fit(frame, rows[1], ridgeranker__qid=rows[2])
    with pytest.raises(ValueError, match=r"warm_up\(model, rows\)"):
        warm_up(model)
    warm_up(model, frame.head(2))


def test_a_ranker_with_text_columns_needs_none(rows):
    frame = table(rows)[["color", "size"]]
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
    models, _, port = server
    pipeline = load(models.parent / "pipeline.skops")
    X = rows[0][:, : pipeline.n_features_in_]
    for asked in (X[:100], X[:1]):
        assert ask(port, json.dumps(asked.tolist())) == (
            200, {"scores": pipeline.predict(asked).tolist()},
        )  # fmt: skip


def test_the_server_of_the_page_refuses_other_bodies_and_answers_again(server):
    models, _, port = server
    width = load(models.parent / "pipeline.skops").n_features_in_
    right = json.dumps([[0.5] * width])
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        for body in (
            "", "x", "{}", "null", '"x"', "1", "[]", "[[]]", "[[1], [2, 3]]", "[{}]", "[[{}]]",
            '[["a"]]', "[[[1]]]", f"[[1{'0' * 400}]]", f"[[1{'0' * 5000}]]", "[" * 100_000,
            b"\xff",
        ):  # fmt: skip
            status, content = exchange(connection, body)
            assert (status, [*content]) == (400, ["error"]), body[:50]
            assert exchange(connection, right)[0] == 200


def test_idle_connections_do_not_keep_the_server_of_the_page_from_answering(server):
    models, _, port = server
    right = json.dumps([[0.5] * load(models.parent / "pipeline.skops").n_features_in_])
    with ExitStack() as stack:
        for _ in range(5):  # more than workers
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            assert exchange(stack.enter_context(closing(connection)), right)[0] == 200


def exchange(connection, body, path="/"):
    """Status and content of an answer; the connection stays open."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def ask(port, body, path="/"):
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        return exchange(connection, body, path)


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
    # The port is bound before the program starts, so no other test can take it.
    with socket.create_server(("127.0.0.1", 0)) as bound:
        number, port = bound.fileno(), bound.getsockname()[1]
        options = {"uvicorn": ["--fd", str(number)], "gunicorn": ["--bind", f"fd://{number}"]}
        run = [sys.executable, "-m", program, "app:app", *options[program]]
        home = {**os.environ, "HOME": str(tmp_path)}  # where gunicorn makes a socket
        with subprocess.Popen(
            run, cwd=tmp_path, env=home, start_new_session=True, stderr=-3, pass_fds=[number]
        ) as process:
            try:
                for asked in ([[None, *X[0, 1:]]], X[:1].tolist(), X[:100].tolist()):
                    found = ask(port, json.dumps(asked), "/scores")
                    assert found == (200, model.predict(asked).tolist())
                status, content = ask(port, json.dumps([[1.0] * 9]), "/scores")
                assert status == 400
                assert "has 9 features" in content["detail"]
                with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                    connection.request("GET", "/health")
                    assert connection.getresponse().read() == b"true"
            finally:
                os.killpg(process.pid, signal.SIGKILL)
