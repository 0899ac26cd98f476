"""Frames for estimators of other libraries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from rankwise import RidgeRanker
from rankwise.runtime.frames import frame_for

X = np.arange(12.0).reshape(6, 2)
FRAME = pd.DataFrame(X, columns=["a", "b"])


def test_an_estimator_of_scikit_learn_gets_the_frame_it_was_fitted_on():
    model = LinearRegression().fit(FRAME, X[:, 0])
    pd.testing.assert_frame_equal(frame_for(model, X, ["a", "b"]), FRAME)


@pytest.mark.parametrize(
    "model, rows, names",
    [
        (LinearRegression().fit(FRAME, X[:, 0]), X, ["b", "a"]),
        (LinearRegression().fit(FRAME, X[:, 0]), X, None),
        (LinearRegression().fit(FRAME, X[:, 0]), csr_array(X), ["a", "b"]),
        (LinearRegression().fit(X, X[:, 0]), X, ["a", "b"]),
        (RidgeRanker().fit(FRAME, X[:, 0], qid=0), X, ["a", "b"]),
    ],
)
def test_other_rows_stay_as_they_are(model, rows, names):
    assert frame_for(model, rows, names) is rows
