"""Formats that a model can be exported to: as asked, as tried, and as the page lists them."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

import rankwise as rw
from rankwise import export
from rankwise._registry import RANKING, REGISTRY
from rankwise.export import ExportError, export_formats
from rankwise.features import RandomNodes
from tests.common.estimators import small

from .conftest import judged, neural

EVERY = (
    "onnx", "python", "solr", "elasticsearch", "ranklib", "lightgbm", "xgboost", "vespa",
    "opensearch",
)  # fmt: skip
NAMES = [f"f{number}" for number in range(1, 6)]
X, Y, QID = judged()
NEURAL = [key for key, entry in REGISTRY.items() if entry.extra == "neural"]
TRANSFORMERS = [key for key, entry in REGISTRY.items() if entry.kind == "transformer"]
FITTED = [*RANKING, *TRANSFORMERS]


def tried(model):
    """Formats that the exporters really write."""
    found = []
    for name in EVERY:
        given = {"features": NAMES} if name == "vespa" else {}
        try:
            getattr(export, f"to_{name}")(model, **given)
        except ExportError:
            continue
        found.append(name)
    try:
        export.to_elasticsearch(model, native=True)
    except ExportError:
        assert not {"lightgbm", "elasticsearch"} <= {*found}
    else:
        assert {"lightgbm", "elasticsearch"} <= {*found}
    return found


@cache
def table_of_page():
    """Formats of every estimator in the table of the page."""
    page = Path(__file__).parents[2] / "docs" / "export.rst"
    table = page.read_text("utf-8").partition(".. list-table:: Which models")[2]
    header, *rows = re.split(r"\n   \* - ", table.partition("\nSettings")[0])[1:]
    columns = [re.findall(r"``to_(\w+)``", cell) for cell in re.split(r"\n     - ", header)[1:]]
    found = {}
    for row in rows:
        names, *cells = re.split(r"\n     - ", row.strip())
        assert {*cells} <= {"yes", "no"}
        said = [name for cell, listed in zip(cells, columns, strict=True) for name in listed
                if cell == "yes"]  # fmt: skip
        known = {entry.class_name for entry in REGISTRY.values()}
        for word in re.findall(r"\w+", names):
            if word in known:
                assert word not in found
                found[word] = [name for name in EVERY if name in said]
    return found


def test_the_page_lists_every_estimator():
    assert {*table_of_page()} == {REGISTRY[key].class_name for key in FITTED}


@pytest.mark.parametrize("key", FITTED)
def test_formats_are_those_that_can_be_written(key, fitted):
    known = table_of_page()[REGISTRY[key].class_name]
    if key == "boltz_rank":  # an ensemble of networks, whose class alone is looked at
        assert known == []
        return
    if key in TRANSFORMERS:
        model = small(key).fit(X)
    else:
        model = neural(key) if key in NEURAL else fitted(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = tried(model)
    assert export_formats(model) == found
    if key not in ("auto", "calibrated_ranker"):  # whose members decide
        assert found == known


TEXT = pd.DataFrame(X, columns=list("abcde")).assign(a=np.array(["x", "y", "z", "w"])[QID % 4])
HALVES = pd.DataFrame(X, columns=list("abcde")).assign(a=(QID % 4) / 2)
OTHER = {
    "kernel": lambda: rw.RankSVM(kernel="rbf").fit(X, Y, qid=QID),
    "linear kernel": lambda: rw.SVRRanker(kernel="linear").fit(X, Y, qid=QID),
    "callable": lambda: rw.RankSVM(kernel=lambda A, B: A @ B.T).fit(X, Y, qid=QID),
    "online kernel": lambda: rw.PRank(kernel="rbf").fit(X, Y),
    "perceptrons": lambda: rw.ORBoost(10, estimator="perceptron").fit(X, Y),
    "gaussian nodes": lambda: rw.PairwiseELM(9, activation="gaussian").fit(X, Y, qid=QID),
    "categories": lambda: rw.LambdaMART(9).fit(TEXT, Y, qid=QID),
    "halves": lambda: rw.LambdaMART(9, categorical_features=["a"]).fit(HALVES, Y, qid=QID),
    "search": lambda: GridSearchCV(rw.RidgeRanker(), {"alpha": [1, 2]}, cv=2).fit(X, Y),
    "scaled": lambda: make_pipeline(StandardScaler(), rw.RidgeRanker()).fit(X, Y),
    "scaled trees": lambda: make_pipeline(StandardScaler(), rw.LambdaMART(5)).fit(X, Y),
    "clipped": lambda: make_pipeline(MinMaxScaler(clip=True), rw.RidgeRanker()).fit(X, Y),
    "components": lambda: make_pipeline(PCA(2), rw.RidgeRanker()).fit(X, Y),
    "function": lambda: make_pipeline(FunctionTransformer(np.cbrt), rw.RidgeRanker()).fit(X, Y),
    "nodes": lambda: make_pipeline(RandomNodes(8), rw.RidgeRanker()).fit(X, Y),
    "blend of trees": lambda: _of_trees(),
}


def _of_trees():
    model = rw.AutoRanker(cv=2, n_trials=6, random_state=0).fit(X, Y, qid=QID)
    kept = [isinstance(one, rw.LambdaMART) for one in model.models_]
    model.weights_ = np.where(kept, 1.0, 0.0)
    return model


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_settings(name):
    model = OTHER[name]()
    assert export_formats(model) == tried(model)
