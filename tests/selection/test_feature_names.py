"""Names of the columns of judged data live on in the models that are fitted on them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from rankwise import RankingData, load
from rankwise._registry import REGISTRY
from rankwise.datasets import read_table
from rankwise.explain import explain_scores
from rankwise.prediction import scores_of
from rankwise.selection import compare
from rankwise.selection.cells.fold_tuning import fit
from tests.common.estimators import small

NAMES = ["bm25 body", "größe", "age"]


@pytest.fixture
def data(rng):
    X = rng.random((120, 3)).astype(np.float32)
    y = np.clip(np.rint(2 * X[:, 0]), 0, 2)
    return RankingData(X, y, qid=np.repeat(np.arange(12), 10), feature_names=NAMES)


KEYS = [key for key, entry in REGISTRY.items() if entry.kind in ("ranker", "ordinal")]


@pytest.mark.parametrize("key", KEYS)
def test_every_ranker_learns_the_names(data, key):
    ranker = small(key)
    fit(ranker, data, data)
    assert ranker.feature_names_in_.tolist() == NAMES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        array = scores_of(ranker, data.X, data.qid)
    assert np.isfinite(array).all()
    booster = getattr(ranker, "booster_", None)
    if booster is not None:
        known = getattr(booster, "feature_names", None) or getattr(booster, "feature_names_", None)
        spaced = [name.replace(" ", "_") for name in NAMES]  # LightGBM's names have no blanks
        assert list(known or booster.feature_name()) in (NAMES, spaced)


def test_a_model_of_the_command_line_has_the_names(data, tmp_path):
    """In the file, in its description, in explanations and exports, in predictions by name."""
    from typer.testing import CliRunner

    from rankwise.cli.main import app

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done

    rows = zip(data.y, data.qid, *data.X.T, strict=True)
    lines = [
        ",".join(["label", "qid", *NAMES]),
        *(",".join(map(repr, map(float, row))) for row in rows),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", "utf-8")
    run("fit", tmp_path / "t.csv", "--ranker", "ridge", "--out", tmp_path / "m")
    model = load(tmp_path / "m")
    assert model.feature_names_in_.tolist() == NAMES
    assert "größe" in run("info", tmp_path / "m").output
    table = read_table(tmp_path / "t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert explain_scores(model, table.X[:3], table.X).names == NAMES
    run("export", tmp_path / "m", tmp_path / "solr.json", "--format", "solr")
    assert "bm25 body" in (tmp_path / "solr.json").read_text("utf-8")


def test_a_comparison_neither_warns_nor_changes(data):
    named = compare(["ridge", "ranking_tree"], data, measures=["AP"], isolate=False)
    bare = RankingData(data.X, data.y, qid=data.qid)
    plain = compare(["ridge", "ranking_tree"], bare, measures=["AP"], isolate=False)
    assert [cell.notes for cell in named.cells] == [cell.notes for cell in plain.cells]
    assert [row["mean"] for row in named.rows()] == [row["mean"] for row in plain.rows()]
