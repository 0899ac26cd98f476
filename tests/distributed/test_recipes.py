"""The recipes of docs/cluster_recipes.rst run as printed, on stand-ins for Spark and Ray."""

from __future__ import annotations

import multiprocessing
import re
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankwise import PairwiseELM

pytest.importorskip("cloudpickle")  # comes with the dask extra
from tests.distributed import stand_ins

PAGE = Path(__file__).parents[2] / "docs" / "cluster_recipes.rst"


@pytest.fixture(scope="module")
def pool(start_method):
    context = multiprocessing.get_context(start_method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


@pytest.fixture
def rows(tmp_path, monkeypatch, rng):
    """The rows of the page's example, in the files that the recipes name."""
    monkeypatch.chdir(tmp_path)
    n = 600
    X = rng.random((n, 4)).astype(np.float32)
    y, qid = np.floor(3 * X[:, 0]), np.arange(n) // 40
    columns = {"label": y, "qid": qid, **{f"feature{j}": X[:, j] for j in range(4)}}
    table = pa.table(columns)
    Path("train").mkdir()
    for number, lo in enumerate(range(0, n, 130)):
        pq.write_table(table.slice(lo, 130), f"train/part-{number}.parquet")
    order = rng.permutation(n)
    pq.write_table(
        pa.table({"features": list(X[order]), "label": y[order], "qid": qid[order]}),
        "train_spark",
    )
    return X, y, qid


def recipe(caption):
    """The code block of that caption, as printed."""
    pattern = rf"\.\. code-block:: python\n   :caption: {caption}\n\n((?:   .*\n|\n)+)"
    found = re.findall(pattern, PAGE.read_text("utf-8"))
    assert len(found) == 1
    return textwrap.dedent(found[0])


@pytest.mark.parametrize("system", ["Spark", "Ray"])
def test_the_printed_recipe_gives_the_model_of_one_fit(rows, pool, monkeypatch, system):
    monkeypatch.setitem(sys.modules, "pyspark", sys)
    monkeypatch.setitem(sys.modules, "pyspark.sql", stand_ins.spark(pool))
    monkeypatch.setitem(sys.modules, "ray", stand_ins.Ray(pool))
    names = {"__name__": "__main__"}
    exec(compile(recipe(system), f"{PAGE.name}, {system}", "exec"), names)
    X, y, qid = rows
    whole = PairwiseELM(n_nodes=50, C="cv", random_state=0).fit(X, y, qid=qid)
    fitted = names["ranker"]
    assert fitted.C_ == whole.C_
    np.testing.assert_allclose(fitted.output_weights_, whole.output_weights_, rtol=1e-6)
    np.testing.assert_allclose(
        fitted.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9
    )
