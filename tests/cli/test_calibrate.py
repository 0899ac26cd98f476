"""fit --calibrate, and predict --probabilities."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_letor


def test_probabilities_come_with_unchanged_scores(rankwise, letor_file, tmp_path):
    model, plain = tmp_path / "model", tmp_path / "plain"
    fitted = rankwise("fit", letor_file, "--ranker", "ridge", "--calibrate", "beta", "--out", model)
    assert fitted.code == 0, fitted.err
    assert "queries, see rankwise predict --probabilities" in fitted.out
    assert rankwise("fit", letor_file, "--ranker", "ridge", "--out", plain).code == 0
    told = rankwise("predict", model, letor_file, "--probabilities", "--json").json
    assert told["scores"] == rankwise("predict", plain, letor_file, "--json").json["scores"]
    data = read_letor(letor_file)
    found = rw.load(model)
    assert type(found) is rw.CalibratedRanker and found.method == "beta"
    expected = found.predict_relevance(data.X, qid=data.qid)
    np.testing.assert_array_equal(told["probabilities"], expected)
    csv = rankwise("predict", model, letor_file, "--probabilities", "--format", "csv").out
    assert csv.splitlines()[0] == '"qid","doc_id","score","probability"'
    alone = rankwise("predict", model, letor_file, "--probabilities").out
    np.testing.assert_array_equal(np.array(alone.split(), dtype=float), expected)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("fit", "--calibrate", "bta"),
            "--calibrate must be one of 'isotonic', 'beta', 'logistic'",
        ),
        (("predict", "--probabilities"), "--probabilities needs a calibrated model"),
        (("predict", "--probabilities", "--classes"), "Drop --classes"),
        (("predict", "--probabilities", "--format", "trec"), "choose --format csv"),
    ],
)
def test_wrong_use_is_named(rankwise, letor_file, tmp_path, words, told):
    model = tmp_path / "plain"
    assert rankwise("fit", letor_file, "--ranker", "ridge()", "--out", model).code == 0
    command, *options = words
    given = (letor_file, "--out", model) if command == "fit" else (model, letor_file)
    found = rankwise(command, *given, *options)
    assert found.code == 2
    assert told in found.err


def test_few_queries_are_noted(rankwise, tmp_path):
    rows = [(q, d, d % 2, d + 0.1 * q) for q in range(3) for d in range(8)]
    table = tmp_path / "few.csv"
    table.write_text("qid,label,a\n" + "".join(f"{q},{y},{a}\n" for q, _, y, a in rows))
    options = ("--ranker", "ridge()", "--calibrate", "beta", "--out", tmp_path / "model")
    found = rankwise("fit", table, *options)
    assert found.code == 0, found.err
    assert "note: 3 queries are fewer than the 5 folds" in found.out
    assert "probabilities: beta, fitted to 3 queries" in found.out
