"""What every ranker of the registry does alike, beside what ordinal estimators do too."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from rankwise.prediction import scores_of
from tests.common.estimators import RANKERS, small

pytestmark = pytest.mark.parametrize("key", RANKERS)


def test_labels_may_be_any_numbers(key, judged, rng):
    X, y, qid = judged
    for labels in (y - 1.5, list(y.astype(int)), 40 * y, rng.normal(size=len(y)), y.astype(bool)):
        ranker = small(key).fit(X, labels, qid=qid)
        assert np.isfinite(ranker.predict(X)).all()
        assert np.isfinite(ranker.score(X, labels, qid=qid))


def test_scores_ranks_and_the_default_score_agree(key, judged):
    X, y, qid = judged
    ranker = small(key).fit(X, y, qid=qid)
    assert ranker.predict(X).shape == (len(y),)
    assert ranker.predict(X).dtype == np.float64
    values = scores_of(ranker, X, qid)  # within queries where the ranker's predict takes them
    ranks = ranker.rank(X, qid)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        assert list(ranks[rows[np.argsort(-values[rows], kind="stable")]]) == list(
            range(1, len(rows) + 1)
        )
    assert ranker.score_name_ == "nDCG@10"
    assert "nDCG" not in small(key).fit(X, y - 0.5, qid=qid).score_name_


def test_learns_an_order_that_is_there(key, rng):
    X = rng.normal(size=(400, 4))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + 2), 0, 4)
    qid = rng.integers(0, 20, 400)
    train, test = slice(0, 300), slice(300, 400)
    ranker = small(key).fit(X[train], y[train], qid=qid[train])
    assert ranker.score(X[test], y[test], qid=qid[test]) > 0.9


def test_registered_settings_fit_and_validate(key, rng):
    """What ``compare`` runs: the registry's parameters with a validation part."""
    X = rng.normal(size=(200, 3))
    y, qid = np.clip(np.round(X[:, 0] + 1), 0, 3), np.arange(200) % 10
    entry = REGISTRY[key]
    extra = {"n_jobs": 1} if "n_jobs" in small(key).get_params() else {}
    ranker = type(small(key))(**entry.params, **extra)
    validation = {"X_val": X[150:], "y_val": y[150:], "qid_val": qid[150:]}
    ranker.fit(
        X[:150], y[:150], qid=qid[:150], **(validation if "validation" in entry.tags else {})
    )
    assert ranker.score(X[150:], y[150:], qid=qid[150:]) > 0.9
