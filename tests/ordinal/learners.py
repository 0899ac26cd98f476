"""The online learners that are tested alike, and what two of them have in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise import AggregatePRank, PRank, VotedPRank, WidrowHoff

RBF = {"kernel": "rbf", "gamma": 2.0}
RULES = ["mode", "median", "mean"]
EVERY = [
    PRank(shuffle=False),
    VotedPRank(shuffle=False),
    WidrowHoff(shuffle=False),
    AggregatePRank("bpm", n_prank=20, random_state=3, shuffle=False),
    AggregatePRank("bag", n_prank=20, random_state=3, shuffle=False),
    AggregatePRank("vote", n_prank=20, random_state=3, shuffle=False),
]
each = pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)


def with_params(learner, **params):
    return type(learner)(**{**learner.get_params(), **params})


def state(learner):
    known = learner.hypotheses_
    arrays = [known.weights, known.thresholds, known.tallies, learner.thresholds_]
    if learner.X_fit_ is not None:
        kept = learner.X_fit_
        arrays.append(kept.toarray() if sparse.issparse(kept) else kept)
    return [*arrays, *(vars(learner).get(name) for name in ("survival_", "dual_coef_", "coef_"))]


def assert_same_bits(first, second):
    for a, b in zip(state(first), state(second), strict=True):
        np.testing.assert_array_equal(a, b)


def linear(X, Z, shift=0.0):
    return np.asarray(X @ Z.T) + shift
