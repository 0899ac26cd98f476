"""Estimators that take a stream instead of X, and the error of all others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from rankwise.groups import ALSO, FIT_STREAMS
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.streams import stream
from tests.common.estimators import small
from tests.common.test_refused_fits import N_FEATURES, N_ROWS, fitted

NEED_MEMORY = r"needs rows in memory, got a RowStream\. LinearRegressionRanker, RidgeRanker"


def rows():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(N_ROWS, N_FEATURES)), np.arange(N_ROWS) % 3, np.arange(N_ROWS) // 6
    return stream([(X[:12], y[:12], qid[:12]), (X[12:], y[12:], qid[12:])])


FIT = set(re.findall(r"\w{4,}", FIT_STREAMS))
FIT_WITHOUT_KERNEL = set(re.findall(r"\w{4,}", ALSO))


@pytest.mark.parametrize("key", list(REGISTRY))
def test_streams_are_taken_or_the_estimators_that_take_them_are_named(key):
    name, model = REGISTRY[key].class_name, fitted(key)
    if name in FIT | FIT_WITHOUT_KERNEL:
        options = {"kernel": "linear"} if name in FIT_WITHOUT_KERNEL else {}
        model = small(key, **options).fit(rows())
    else:  # some rankers say why their losses cannot be summed
        with pytest.raises((TypeError, ValueError), match=r"memory, got a (Row)?[sS]tream|stores"):
            small(key).fit(rows())
    refused = ["partial_fit", "rank", "rank_score", "predict_proba", "decision_function"]
    if isinstance(model, BasisExpansionRanker):
        assert np.isfinite(model.score(rows()))
        assert len(np.concatenate(list(model.predict(rows())))) == N_ROWS
    else:
        refused += ["predict", "score", "transform"]
    for method in refused:
        if hasattr(model, method):
            with pytest.raises(TypeError, match=NEED_MEMORY):
                getattr(model, method)(rows())


def test_errors_name_the_class_and_the_way():
    with pytest.raises(TypeError, match=r"^LambdaMART\.fit needs .* Read the rows into memory"):
        small("lambdamart").fit(rows())
    with pytest.raises(TypeError, match=r"^LambdaMART\.score needs .*evaluate_stream\(ranker"):
        fitted("lambdamart").score(rows())
    with pytest.raises(TypeError, match=r"^PairwiseELM\.partial_fit .*partial_fit\(chunk\.X"):
        small("pairwise_elm").partial_fit(rows())
