"""Rankers on clicks: closed forms are exact, weights reach the ranker, errors are named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import LSRRank, RankingData, RidgeRanker, ScoreBlend, evaluate
from rankwise.clicks import ClickLog, ClickRanker, propensities, simulate_clicks


def click_data(seed=0, n_queries=30, n_documents=8):
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    X = rng.normal(size=(n, 3))
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    doc_ids = np.array([f"d{i % n_documents}" for i in range(n)])
    return RankingData(X, y, np.arange(n) // n_documents, doc_ids)


@pytest.mark.parametrize("ranker", [RidgeRanker(alpha=1.0), LSRRank(kernel="linear", lam=1e-3)])
def test_squared_losses_equal_those_of_single_impressions(ranker):
    data = click_data(n_queries=6, n_documents=4)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=300, temperature=3.0)
    g = np.array([1.0, 0.6, 0.4, 0.3])
    model = ClickRanker(
        ranker, method="ips", propensities=g, weights="impressions", shrinkage=0.0
    ).fit(data, log)
    row_of = {(str(q), d): i for i, (q, d) in enumerate(zip(data.qid, data.doc_ids, strict=True))}
    names = zip(
        log.query.names[log.query.codes], log.document.names[log.document.codes], strict=True
    )
    rows = [row_of[str(q), d] for q, d in names]
    single = ranker.fit(data.X[rows], log.click / g[log.place - 1], qid=data.qid[rows])
    found, expected = model.predict(data.X), single.predict(data.X)
    # Pairs leave the level of the scores open.
    np.testing.assert_allclose(
        found - found.mean(), expected - expected.mean(), atol=1e-6 * np.ptp(expected)
    )


def test_clicks_teach_what_grades_teach():
    data, test = click_data(0), click_data(1)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=4000, temperature=2.0)
    for method in ("ctr", "coec", "harvest", "ips", "pbm"):
        ranker = ClickRanker(RidgeRanker(), method=method).fit(data, log)
        assert ranker.n_rows_ == len(data)
        assert evaluate(test, scores=ranker.predict(test.X), measures="nDCG@10")["nDCG@10"] > 0.9
        assert ranker.rank(test.X, test.qid).min() == 1
    known = ClickRanker(RidgeRanker(), method="ips", propensities=propensities(log)).fit(data, log)
    assert known.judgements_.method == "ips"


def test_rows_that_were_not_shown_are_left_out():
    data = click_data()
    log = ClickLog.from_columns([0, 0, 1, 1], ["d0", "d1"] * 2, [1, 2, 1, 2], [1, 0, 1, 0])
    with pytest.warns(UserWarning, match="236 of 240 rows have no judgement"):
        ranker = ClickRanker(RidgeRanker(), shrinkage=1.0).fit(data, log)
    assert ranker.n_rows_ == 4


def test_wrong_use_is_named():
    with pytest.raises(ValueError, match="weights must be 'trust'"):
        ClickRanker(weights="all")
    with pytest.raises(ValueError, match="propensities are for the methods"):
        ClickRanker(method="ctr", propensities=[1.0])
    with pytest.raises(ValueError, match="fit the ranker first"):
        ClickRanker().predict([[0.0]])
    data = click_data()
    log = simulate_clicks(data, data.X[:, 1], n_sessions=500, temperature=2.0)
    blend = ScoreBlend([RidgeRanker()])
    with pytest.raises(ValueError, match="ScoreBlend takes no sample_weight"):
        ClickRanker(blend).fit(data, log)
    assert ClickRanker(blend, weights=None).fit(data, log).n_rows_ == len(data)


def test_rankers_are_cloned_with_their_parameters():
    ranker = ClickRanker(
        RidgeRanker(alpha=3.0), method="ips", propensities=[1.0, 0.5], weights=None
    )
    copy = clone(ranker)
    assert copy.get_params()["ranker__alpha"] == 3.0
    assert copy.method == "ips"
    assert copy.propensities == [1.0, 0.5]
    assert copy.set_params(method="harvest").method == "harvest"
    assert not hasattr(copy, "ranker_")
