"""Names of labels: the columns of frames, and lists of tags."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import rankwise
from rankwise.checks.label_data import tags_of

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
Y = (X[:, [0, 1, 2]] + 0.1 * rng.normal(size=(80, 3)) > 0.2).astype(int)
NAMES = np.array(["b", "a", "c"])
TAGS = [NAMES[row > 0].tolist() for row in Y]
BY_NAME = [1, 0, 2]  # columns of Y in the order of their names
ESTIMATORS = [
    rankwise.labels.BinaryRelevance(),
    rankwise.labels.PLST(2),
    rankwise.labels.CPLST(2),
    rankwise.labels.LabelPowerset(),
    rankwise.labels.CalibratedLabelRanking(),
    rankwise.labels.PartialBinaryRelevance(2, random_state=0),
    rankwise.labels.LinearLabelSpaceTransform(np.eye(3)[:2]),
    rankwise.labels.CompressedSensing(3, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_name_the_labels(estimator, frame):
    table = pd.DataFrame(Y, columns=NAMES)
    named = frame(table.to_dict("list"))
    model = estimator.fit(X, named)
    assert model.classes_.tolist() == NAMES.tolist()
    predicted = model.predict(X)
    other = frame(table[sorted(NAMES)].to_dict("list"))
    assert model.score(X, other) == model.score(X, named) == model.score(X, Y)
    np.testing.assert_array_equal(estimator.fit(X, Y).predict(X), predicted)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_tags_are_an_indicator(estimator, tmp_path):
    wanted = estimator.fit(X, Y[:, BY_NAME]).predict(X)
    loss = estimator.score(X, Y[:, BY_NAME])
    model = estimator.fit(X, TAGS)
    assert model.classes_.tolist() == ["a", "b", "c"]
    tags = model.predict(X)
    assert tags == [tuple(np.array(["a", "b", "c"])[row > 0].tolist()) for row in wanted]
    assert model.score(X, TAGS) == loss
    model.save(tmp_path / "model")
    assert rankwise.load(tmp_path / "model").predict(X) == tags


@pytest.mark.parametrize(
    "form",
    [
        list,
        pd.Series,
        lambda tags: [set(row) for row in tags],
        lambda tags: [tuple(row) for row in tags],
        lambda tags: np.array(tags, dtype=object),
        lambda tags: pl.Series(tags),
        lambda tags: [row + row for row in tags],  # twice is once
    ],
)
def test_forms_of_tags(form):
    wanted = rankwise.labels.BinaryRelevance().fit(X, TAGS).predict(X)
    assert rankwise.labels.BinaryRelevance().fit(X, form(TAGS)).predict(X) == wanted


def test_numbers_are_tags_where_rows_differ_in_length():
    numbers = [[10 * (1 + int(label)) for label in np.flatnonzero(row)] for row in Y]
    model = rankwise.labels.BinaryRelevance().fit(X, numbers)
    assert model.classes_.tolist() == [10, 20, 30]
    assert model.score(X, numbers) == rankwise.labels.BinaryRelevance().fit(X, Y).score(X, Y)


@pytest.mark.parametrize(
    "Y", [[[0, 1], [1, 0]], np.eye(2), sparse.csr_array(np.eye(2)), ["a", "b"], "ab", [1, 2], []]
)
def test_matrices_and_classes_are_no_tags(Y):
    assert tags_of(Y) is None


def test_errors_name_the_tag():
    model = rankwise.labels.BinaryRelevance().fit(X, TAGS)
    with pytest.raises(ValueError, match="tags of the fit, got 'd' at row 1"):
        model.score(X[:2], [["a"], ["b", "d"]])
    with pytest.raises(ValueError, match="n_samples=2 entries, got 3"):
        model.score(X[:2], [["a"], [], ["b"]])
    with pytest.raises(ValueError, match="one type, got text and numbers"):
        model.fit(X[:2], [["a"], [1]])
    with pytest.raises(ValueError, match="got only empty lists"):
        model.fit(X[:2], [set(), set()])
    named = rankwise.labels.BinaryRelevance().fit(X, pd.DataFrame(Y, columns=NAMES))
    with pytest.raises(ValueError, match="labels of the fit as its columns, got 'z'"):
        named.score(X, pd.DataFrame(Y, columns=["a", "b", "z"]))
