"""Small rankers and data whose results can be worked out by hand."""

from __future__ import annotations

import os
import signal
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from rankwise.datasets.data import Fold, RankingData


def graded_data(rng, n_queries=20, docs=8, n_features=4, *, as_text=False, name="graded"):
    """Grades 0..2 that follow column 0; rows of a query are not contiguous."""
    n = n_queries * docs
    order = rng.permutation(n)
    qid = np.repeat(np.arange(n_queries), docs)[order]
    X = rng.standard_normal((n, n_features))
    y = np.digitize(X[:, 0] + 0.7 * rng.standard_normal(n), [0.3, 1.2]).astype(float)
    return RankingData(X, y, qid=np.array([f"q{q}" for q in qid]) if as_text else qid, name=name)


def one_fold(rng, **params):
    """A fold of 10 training, 5 validation and 5 test queries."""
    data = graded_data(rng, **params)
    return Fold(data.queries(range(10)), data.queries(range(10, 15)), data.queries(range(15, 20)))


class Column(BaseEstimator):
    """Scores are one column of X; keeps what fit received."""

    def __init__(self, column=0, noise=0.0, random_state=None):
        self.column = column
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y, *, qid=None, sample_weight=None):
        assert len(X) == len(y) == len(qid)
        self.received_ = {"qid": qid, "sample_weight": sample_weight}
        return self

    def predict(self, X):
        rng = np.random.default_rng(self.random_state)
        return X[:, self.column] + self.noise * rng.standard_normal(X.shape[0])


class Validated(BaseEstimator):
    """Chooses the column on the validation part it is given, or by "cv" within training."""

    def __init__(self, C="val", measure="none"):
        self.C = C
        self.measure = measure

    def fit(self, X, y, *, qid=None, X_val=None, y_val=None, qid_val=None):
        X_val, y_val = (X, y) if self.C == "cv" else (X_val, y_val)
        fits = [np.corrcoef(X_val[:, j], y_val)[0, 1] for j in range(X.shape[1])]
        self.C_ = float(np.argmax(fits))
        self.cv_results_ = {"C": np.arange(X.shape[1]), "mean_test_score": np.array(fits)}
        self.n_val_ = 0 if qid_val is None else len(qid_val)
        return self

    def predict(self, X):
        return X[:, int(self.C_)]


class Moody(BaseEstimator):
    """Does to the process what ``mood`` says."""

    def __init__(self, mood="error", log=None, number=0, pause=0.0):
        self.mood = mood
        self.log = log
        self.number = number
        self.pause = pause

    def fit(self, X, y):
        if self.log is not None:
            with Path(self.log).open("a") as file:
                file.write(f"{self.number} {zlib.crc32(y.tobytes())}\n")
        time.sleep(self.pause)
        if self.mood == "error":
            raise RuntimeError("no luck today")
        if self.mood == "import":
            raise ImportError("needs a package: pip install 'rankwise[gbdt]'")
        if self.mood == "warn":
            warnings.warn("shaky", UserWarning, stacklevel=2)
        if self.mood == "write":
            X[:] = 0.0
        if self.mood == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return self

    def predict(self, X):
        if self.mood == "nan":
            return np.full(len(X), np.nan)
        if self.mood == "short":
            return np.zeros(len(X) - 1)
        return X[:, self.number % X.shape[1]]
