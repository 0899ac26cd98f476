"""Labels of pandas' columns that are not text: one behaviour for every estimator."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from rankwise import LambdaMART, RankingData, RidgeRanker
from rankwise.checks.constant_scores import ConstantScoresWarning
from rankwise.explain import feature_effect
from tests.common.estimators import ORDINAL, RANKERS, small

N = 40
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(N, 3)).round(1)
LABELS = RNG.integers(0, 3, N)
QUERIES = np.repeat(np.arange(4), 10)

# No label is text: no names of features, as in scikit-learn.
NUMBERED = {
    "numbers": [0, 1, 2],
    "other numbers": [7, -1, 3],
    "floats": [0.5, 1.5, 2.5],
    "dates": [datetime.date(2020, 1, day) for day in (1, 2, 3)],
    "tuples": [("a", "b"), ("a", "c"), ("b", "c")],
}
# Some are: all are names.
MIXED = {"number": ["a", 1, "c"], "none": ["a", None, "c"], "bool": [True, "b", "c"]}
TYPES = {
    "plain": lambda frame: frame,
    "objects": lambda frame: frame.astype(object),
    "half": lambda frame: frame.astype(np.float16),
    "long": lambda frame: frame.astype(np.longdouble),
    "sparse": lambda frame: frame.astype(pd.SparseDtype("float64", 0.0)),
    "nullable": lambda frame: frame.astype("Float64"),
    "arrow": lambda frame: frame.astype("float64[pyarrow]"),
}


def fit(key, X):
    estimator = small(key)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConstantScoresWarning)
        arguments = {} if key in ORDINAL else {"qid": QUERIES}
        estimator.fit(X, LABELS, **arguments)
        return estimator, estimator.predict(X)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("labels", [*NUMBERED.values(), *MIXED.values()], ids=str)
def test_labels_and_types_do_not_change_a_model(labels, kind):
    named = labels in MIXED.values()
    frame = TYPES[kind](pd.DataFrame(VALUES, columns=pd.Index(labels, dtype=object)))
    for key in ("ridge", "lambdamart", "ranking_tree"):
        _, expected = fit(key, np.asarray(frame, dtype=np.float64))
        ranker, scores = fit(key, frame)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
        assert hasattr(ranker, "feature_names_in_") == named
        if named:
            assert ranker.feature_names_in_.tolist() == [*map(str, labels)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("key", sorted({*RANKERS, *ORDINAL}))
def test_every_estimator_takes_numbers_and_mixed_labels(key):
    for labels in (NUMBERED["numbers"], MIXED["number"]):
        frame = pd.DataFrame(VALUES, columns=labels).astype(object)
        estimator = small(key)
        estimator.fit(frame, LABELS, **({} if key in ORDINAL else {"qid": QUERIES}))
        assert len(estimator.predict(frame)) == N


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", 1, "c"], [1, 0, "c"]])
def test_categories_under_any_label(labels):
    frame = pd.DataFrame(VALUES, columns=labels)
    frame[labels[0]] = pd.Categorical(["x", "y"] * (N // 2))
    scores = fit("lambdamart", frame)[1]
    named = frame.set_axis(["a", "b", "c"], axis=1)
    np.testing.assert_array_equal(scores, fit("lambdamart", named)[1])
    with pytest.raises(ValueError, match=r"X must hold numbers, got 'x' at row 0, column 0"):
        fit("ridge", frame)


@pytest.mark.parametrize("read", [RankingData.from_frame, None])
def test_labels_that_read_alike_are_refused(read):
    frame = pd.DataFrame(VALUES, columns=[1, "1", "c"]).assign(label=LABELS, qid=QUERIES)
    with pytest.raises(ValueError, match="columns must have different names, but '1' occur"):
        read(frame) if read else RidgeRanker().fit(frame, LABELS, qid=QUERIES)


def test_effects_are_those_of_the_column():
    frame = pd.DataFrame(VALUES, columns=[2, 0, 1])
    ranker = LambdaMART(3, min_samples_leaf=5).fit(frame, LABELS, qid=QUERIES)
    found = feature_effect(ranker, frame, QUERIES, feature=2)
    plain = feature_effect(ranker, VALUES, QUERIES, feature=2)
    np.testing.assert_array_equal(found.values, plain.values)
