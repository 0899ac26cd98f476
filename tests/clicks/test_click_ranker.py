"""Rankers on clicks: closed forms are exact, weights reach the ranker, errors are named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

from rankwise import (
    CLSRRank,
    LambdaMART,
    LinearRegressionRanker,
    LSRRank,
    LSSVRanker,
    MPRank,
    PairwiseELM,
    PointwiseELM,
    RankingData,
    RankRLS,
    RidgeRanker,
    evaluate,
)
from rankwise.clicks import ClickLog, ClickRanker, propensities, simulate_clicks
from rankwise.clicks.click_ranker import group_impressions


def click_data(seed=0, n_queries=30, n_documents=8):
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    X = rng.normal(size=(n, 3))
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    doc_ids = np.array([f"d{i % n_documents}" for i in range(n)])
    return RankingData(X, y, qid=np.arange(n) // n_documents, doc_ids=doc_ids)


def single_impressions(data, log):
    """Row of the data of every impression."""
    row_of = {(str(q), d): i for i, (q, d) in enumerate(zip(data.qid, data.doc_ids, strict=True))}
    queries = log.query.names[log.query.codes]
    documents = log.document.names[log.document.codes]
    return np.array([row_of[str(q), d] for q, d in zip(queries, documents, strict=True)])


CLOSED_FORMS = [
    RidgeRanker(alpha=1.0), LinearRegressionRanker(), LSRRank(kernel="linear", lam=1e-3),
    LSRRank(lam=1e-2), CLSRRank(), RankRLS(), MPRank(), LSSVRanker(),
    PointwiseELM(random_state=0), PairwiseELM(random_state=0),
]  # fmt: skip


@pytest.mark.parametrize("ranker", CLOSED_FORMS, ids=lambda ranker: type(ranker).__name__)
def test_closed_forms_equal_those_of_single_impressions(ranker):
    data = click_data(n_queries=6, n_documents=4)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=300, temperature=3.0)
    g = np.array([1.0, 0.6, 0.4, 0.3])
    model = ClickRanker(
        ranker, method="ips", propensities=g, weights="impressions", shrinkage=0.0
    ).fit(data, log)
    rows = single_impressions(data, log)
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


@pytest.mark.parametrize("objective", ["logistic", "squared"])
def test_impressions_by_place_equal_single_ones(objective):
    data = click_data(n_queries=12, n_documents=6)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=200, n_places=4, temperature=3.0)
    ranker = LambdaMART(12, objective=objective, max_leaf_nodes=5, min_samples_leaf=5)
    model = ClickRanker(ranker, method="position", weights="impressions").fit(data, log)
    assert model.n_rows_ < len(log)
    rows = single_impressions(data, log)
    single = clone(ranker).fit(
        data.X[rows], log.click.astype(float), qid=data.qid[rows], position=log.place
    )
    np.testing.assert_array_equal(model.predict(data.X), single.predict(data.X))
    np.testing.assert_array_equal(model.estimator_.position_bias_, single.position_bias_)


@pytest.mark.parametrize("per_list", [False, True])
def test_impressions_are_counted_by_pair_place_and_click(per_list):
    data = click_data(n_queries=5, n_documents=7)
    # The log names documents in another order than the data, and not all.
    log = simulate_clicks(
        data.take(np.random.default_rng(0).permutation(len(data))[:30]), np.arange(30.0),
        n_sessions=90, n_places=3, temperature=2.0, random_state=1,
    )  # fmt: skip
    log = log.take(np.flatnonzero(log.query.codes != 2))
    with pytest.warns(UserWarning, match="rows have no judgement"):
        rows, place = group_impressions(data, log, per_list)
    number = {(str(q), d): i for i, (q, d) in enumerate(zip(data.qid, data.doc_ids, strict=True))}
    expected, lists = {}, {}
    for i, row in enumerate(single_impressions(data, log)):
        key = (int(row), int(log.place[i]), bool(log.click[i]))
        expected[key] = expected.get(key, 0) + 1
        if log.place[i] == 1:
            lists[data.qid[row]] = lists.get(data.qid[row], 0) + 1
    found = {
        (number[str(q), d], int(p), y == 1): w * (lists[q] if per_list else 1)
        for q, d, p, y, w in zip(
            rows.qid, rows.doc_ids, place, rows.y, rows.sample_weight, strict=True
        )
    }
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    for key, n in expected.items():
        assert found[key] == pytest.approx(n)
    np.testing.assert_array_equal(rows.X, data.X[[number[str(q), d] for q, d in zip(
        rows.qid, rows.doc_ids, strict=True)]])  # fmt: skip


def test_places_are_told_from_relevance():
    """Lists by a column that says nothing: rates follow it, impressions by place do not."""
    data, test = click_data(0, n_queries=60), click_data(1, n_queries=60)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=6000, temperature=1.0)
    ranker = LambdaMART(40, objective="logistic", random_state=0)

    def learn(**options):
        model = ClickRanker(ranker, **options).fit(data, log)
        return np.corrcoef(model.predict(test.X), test.X[:, :2].T)[0, 1:]

    naive, by_place = learn(method="ctr", weights=None), learn(method="position")
    assert naive[1] > 0.2 > 0.1 > abs(by_place[1])
    assert by_place[0] > naive[0]


def test_weights_of_inverse_propensities_do_not_depend_on_clicks():
    """Rarely shown rows without a click are no better known than those with one."""
    data = click_data(n_queries=30)
    log = simulate_clicks(data, data.X[:, 1], n_sessions=400, temperature=1.0)
    g = np.array([1.0, 0.674, 0.414, 0.293, 0.208, 0.171, 0.136, 0.117])
    judged = ClickRanker(RidgeRanker(), method="ips", propensities=g).fit(data, log).judgements_
    pair = log.pairs.code
    exposure = np.bincount(pair) ** 2 / np.bincount(pair, 1 / g[log.place - 1])
    order = np.argsort(exposure)
    assert (np.diff(judged.weight[order]) > -1e-12).all()
    strength = exposure * (1 / judged.weight - 1)
    np.testing.assert_allclose(strength, strength[0], rtol=1e-9)
    assert 0.1 < np.median(judged.weight) < 0.9


def test_rows_that_were_not_shown_are_left_out():
    data = click_data()
    log = ClickLog.from_columns([0, 0, 1, 1], ["d0", "d1"] * 2, [1, 2, 1, 2], [1, 0, 1, 0])
    with pytest.warns(UserWarning, match="236 of 240 rows have no judgement"):
        ranker = ClickRanker(RidgeRanker(), shrinkage=1.0).fit(data, log)
    assert ranker.n_rows_ == 4


def test_wrong_use_is_named():
    with pytest.raises(ValueError, match="weights must be one of 'trust'"):
        ClickRanker(weights="all")
    with pytest.raises(ValueError, match="propensities are for the methods"):
        ClickRanker(method="ctr", propensities=[1.0])
    with pytest.raises(ValueError, match="weights must be 'trust' or 'impressions' for method='po"):
        ClickRanker(method="position", weights=None)
    with pytest.raises(ValueError, match="fit the ranker first"):
        ClickRanker().predict([[0.0]])
    data = click_data()
    log = simulate_clicks(data, data.X[:, 1], n_sessions=500, temperature=2.0)
    near = KNeighborsRegressor(2)
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        ClickRanker(near).fit(data, log)
    assert ClickRanker(near, weights=None).fit(data, log).n_rows_ == len(data)
    with pytest.raises(ValueError, match="RidgeRanker takes no position"):
        ClickRanker(RidgeRanker(), method="position").fit(data, log)


def test_rankers_are_cloned_with_their_parameters():
    ranker = ClickRanker(
        RidgeRanker(alpha=3.0), method="ips", propensities=[1.0, 0.5], weights=None
    )
    copy = clone(ranker)
    assert copy.get_params()["estimator__alpha"] == 3.0
    assert copy.method == "ips"
    assert copy.propensities == [1.0, 0.5]
    assert copy.set_params(method="harvest").method == "harvest"
    assert not hasattr(copy, "ranker_")


def test_rows_without_ids_are_refused():
    log = ClickLog.from_columns(["q"], ["d"], [1], [1])
    for rows in (np.zeros((1, 2)), [[0.0, 1.0]], None):
        with pytest.raises(TypeError, match=r"data must be a RankingData .* Pass RankingData\("):
            ClickRanker(RidgeRanker()).fit(rows, log)  # type: ignore[arg-type]
