"""Models that version 0.1.0 saved still load, and predict what they predicted then.

``models/0.1.0.zip`` holds one small model of every estimator, and what it made of twelve rows.
"""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from rankwise import PairwiseELM, load
from rankwise._registry import REGISTRY
from rankwise.persistence import describe, save
from tests.common.estimators import row_scores

# Parameters: what 0.1.0 called them, and their names now.
RENAMED = {
    "base": "estimator",
    "rankers": "estimators",
    "learning_rate": "learning_rate_init",
    "final": "final_estimator",
}
ARCHIVE = Path(__file__).parent / "models" / "0.1.0.zip"
with ZipFile(ARCHIVE) as _archive:
    KEYS = [name for name in _archive.namelist() if name != "scores.npz"]


@pytest.mark.parametrize("key", KEYS)
def test_models_of_0_1_0_predict_as_then(key, tmp_path):
    if REGISTRY[key].extra == "neural":
        pytest.importorskip("torch", reason="needs rankwise[neural]")
    with ZipFile(ARCHIVE) as archive:
        (tmp_path / "model").write_bytes(archive.read(key))
        stored = np.load(io.BytesIO(archive.read("scores.npz")))
    model, rows = load(tmp_path / "model"), stored["at"]
    params = describe(save(model, tmp_path / "again"))["params"]
    for name, value in describe(tmp_path / "model")["params"].items():
        assert params[name if name in params else RENAMED[name]] == value
    if REGISTRY[key].kind == "transformer":
        found = model.transform(rows)
        found = found.toarray() if hasattr(found, "toarray") else found
    else:
        found = row_scores(model, rows)
    np.testing.assert_allclose(found, stored[key], rtol=1e-9, atol=1e-12)


def test_a_model_of_batches_goes_on(tmp_path):
    with ZipFile(ARCHIVE.with_name("0.1.0-partial-fit.zip")) as archive:
        (tmp_path / "model").write_bytes(archive.read("model"))
    X = np.random.default_rng(0).random((60, 4))
    y, qid = np.floor(3 * X[:, 0]), np.arange(60) // 12
    model = load(tmp_path / "model")  # of the first 40 rows; query 3 goes on
    model.partial_fit(X[40:], y[40:], qid=qid[40:])
    whole = PairwiseELM(10, C=1.0, graph="distinct", random_state=0).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)
