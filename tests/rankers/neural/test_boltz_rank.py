"""BoltzRank: its networks, its training, its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import RandomState

torch = pytest.importorskip("torch", reason="needs rankwise[neural]")

from rankwise import AdaRank, BoltzRank, QueryGroups, RidgeRanker, load  # noqa: E402
from rankwise.datasets import load_dataset  # noqa: E402
from rankwise.metrics import parse  # noqa: E402
from rankwise.rankers.neural import boltz_rank  # noqa: E402
from rankwise.rankers.neural import neural_ranker as network  # noqa: E402
from rankwise.rankers.neural.boltz_rank import first_pair_layers, pair_outputs  # noqa: E402


@pytest.fixture
def judged(rng):
    """150 noisy rows of 15 interleaved queries, four columns of which two matter."""
    X = rng.normal(size=(150, 4))
    y = np.clip(np.round(X[:, 1] - X[:, 3] + 0.3 * rng.normal(size=150) + 1), 0, 3)
    return X, y, np.arange(150) % 15


def test_pairwise_network_is_summed_over_the_other_rows(rng, monkeypatch):
    X = rng.normal(size=(6, 3))
    own, other, b, w = first_pair_layers(3, 5, RandomState(0))
    expected = [
        sum((np.tanh(X[i] @ own + X[j] @ other + b) @ w).item() for j in range(6) if j != i)
        for i in range(6)
    ]
    for block in (2**22, 60, 1):
        monkeypatch.setattr(boltz_rank, "_VALUES_PER_BLOCK", block)
        parts = list(pair_outputs(X, [own, other, b, w], np.tanh))
        assert len(parts) == {2**22: 1, 60: 3, 1: 6}[block]
        np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-13)
    assert next(pair_outputs(X[:1], [own, other, b, w], np.tanh)).tolist() == [0.0]


def test_sums_have_one_scale_and_means_that_of_their_query(judged):
    """Nine other rows in training; a query of 4 rows has 3."""
    X, y, qid = judged
    settings = {"n_pair_nodes": 4, "n_epochs": 2, "random_state": 0}
    ranker = BoltzRank(3, **settings).fit(X, y, qid=qid)
    assert ranker.pair_scale_ == 9.0
    four = (X[:4] - ranker.shift_) / ranker.scale_
    alone = network.outputs(four, ranker.weights_[:4], np.tanh)
    pairs = next(pair_outputs(four, ranker.weights_[4:], np.tanh))
    np.testing.assert_allclose(ranker.predict(X[:4]), alone + pairs / 9, atol=1e-13)
    ranker.pair_reduction = "mean"
    np.testing.assert_allclose(ranker.predict(X[:4]), alone + pairs / 3, atol=1e-13)
    mean = BoltzRank(3, pair_reduction="mean", **settings).fit(X, y, qid=qid)
    np.testing.assert_allclose(mean.predict(X, qid=qid), ranker.predict(X, qid=qid), atol=1e-9)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_scores_with_a_pairwise_network_belong_to_the_query(reduction, judged, tmp_path):
    X, y, qid = judged
    settings = {"n_pair_nodes": 4, "pair_reduction": reduction, "n_epochs": 3, "random_state": 0}
    ranker = BoltzRank(3, **settings).fit(X, y, qid=qid)
    scores = ranker.predict(X, qid=qid)
    for q in range(15):
        np.testing.assert_allclose(ranker.predict(X[qid == q]), scores[qid == q], atol=1e-13)
    assert not np.allclose(ranker.predict(X), scores)
    np.testing.assert_array_equal(load(ranker.save(tmp_path / "m")).predict(X, qid=qid), scores)
    np.testing.assert_array_equal(ranker.rank(X, qid), QueryGroups.from_qid(qid, 150).ranks(scores))
    value = parse("nDCG@10").mean(y, scores, QueryGroups.from_qid(qid, 150))
    assert ranker.score(X, y, qid=qid) == pytest.approx(value, abs=1e-12)


def test_order_of_the_rows_does_not_matter_to_a_pairwise_network(judged, rng):
    X, y, qid = judged
    settings = {"n_pair_nodes": 3, "n_epochs": 3, "random_state": 0}
    expected = BoltzRank(3, **settings).fit(X, y, qid=qid)
    rows = rng.permutation(150)
    got = BoltzRank(3, **settings).fit(X[rows], y[rows], qid=qid[rows])
    for one, two in zip(got.weights_, expected.weights_, strict=True):
        np.testing.assert_array_equal(one, two)
    other = BoltzRank(3, **{**settings, "random_state": 1}).fit(X, y, qid=qid)
    assert not np.allclose(other.weights_[0], expected.weights_[0])


@pytest.mark.parametrize("n_pair_nodes", [0, 3])
def test_training_raises_the_expected_measure(n_pair_nodes, judged):
    X, y, qid = judged
    settings = {"n_pair_nodes": n_pair_nodes, "kl_weight": 0.0, "batch_size": 5}
    ranker = BoltzRank(4, n_epochs=30, random_state=0, **settings).fit(X, y, qid=qid)
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0] - 0.05
    assert ranker.score(X, y, qid=qid) > 0.9
    err = BoltzRank(4, n_epochs=5, objective="ERR", random_state=0, **settings).fit(X, y, qid=qid)
    assert not np.allclose(err.loss_curve_[:5], ranker.loss_curve_[:5], atol=0.01)


def check_training(measure, X, y, qid):
    """The measure on the training part rises over 300 epochs and ends above ridge's."""
    ranker = BoltzRank(15, objective=measure, measure=measure, n_epochs=300, random_state=0)
    ranker.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    first, *_, ninth, last = ranker.validation_scores_.reshape(10, 30).mean(1)
    assert last > first + 0.03
    assert last > ninth - 0.01
    ridge = RidgeRanker().fit(X, y, qid=qid).predict(X)
    assert last > parse(measure).mean(y, ridge, QueryGroups.from_qid(qid, len(y))) + 0.02


@pytest.mark.parametrize("measure", ["nDCG@10", "ERR(max_grade=2)"])
def test_training_on_long_queries_does_not_unlearn(measure):
    """Six queries of 100 rows; with few rankings around the scores, they shrank."""
    draw = RandomState(0)
    X = draw.normal(size=(600, 8))
    f = X @ draw.normal(size=8) + 4 * draw.normal(size=600)
    y = np.digitize(f, np.quantile(f, [0.8, 0.95])).astype(float)
    check_training(measure, X, y, np.repeat(np.arange(6), 100))


@pytest.mark.parametrize("measure", ["nDCG@10", "ERR"])
def test_training_on_judged_queries_ends_above_ridge(measure):
    """30 real queries, the 20 columns with the most values."""
    part = load_dataset("lambdarank", 1).train
    groups = QueryGroups.from_qid(part.qid, len(part.y))
    rows = groups.sort(np.arange(len(part.y)))[: groups.indptr[30]]
    columns = np.argsort(-(part.X != 0).mean(0), kind="stable")[:20]
    qid = np.repeat(np.arange(30), np.diff(groups.indptr[:31]))
    check_training(measure, part.X[rows][:, columns], part.y[rows], qid)


@pytest.mark.slow
@pytest.mark.usefixtures("data_root")
def test_training_on_ohsumed_ends_above_ridge():
    """The longest queries of fold 1, 205 to 320 rows: fails without the proposal's weight.

    ERR is no such test: its end ranges from .59 to .76 over three seeds, ridge has .69.
    """
    measure, n_longest = "nDCG@10", 12
    part = load_dataset("ohsumed", 1).train
    names, sizes = np.unique(part.qid, return_counts=True)
    rows = np.isin(part.qid, names[np.argsort(-sizes, kind="stable")[:n_longest]])
    check_training(measure, part.X[rows], part.y[rows], part.qid[rows])


def test_early_stopping_measures_within_queries(judged):
    X, y, qid = judged
    train, held = slice(0, 90), slice(90, 150)
    ranker = BoltzRank(
        3,
        n_pair_nodes=3,
        n_epochs=40,
        early_stopping_rounds=3,
        learning_rate_init=0.5,
        random_state=0,
    )
    ranker.fit(X[train], y[train], qid=qid[train], X_val=X[held], y_val=y[held], qid_val=qid[held])
    assert len(ranker.validation_scores_) == ranker.n_epochs_ + 3
    score = ranker.score(X[held], y[held], qid=qid[held])
    assert score == pytest.approx(ranker.validation_scores_.max(), abs=1e-12)


def test_features_are_those_of_adarank_or_the_named(judged):
    X, y, qid = judged
    selected = AdaRank("nDCG@10", n_features_to_select=2).fit(X, y, qid=qid).selected_features_
    settings = {"n_epochs": 2, "random_state": 0}
    by_number = BoltzRank(3, n_features=2, **settings).fit(X, y, qid=qid)
    assert by_number.selected_features_.tolist() == selected.tolist()
    assert set(selected) == {1, 3}
    changed = X.copy()
    changed[:, [0, 2]] = 0
    np.testing.assert_array_equal(by_number.predict(changed), by_number.predict(X))
    by_name = BoltzRank(3, features=selected, **settings).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_name.predict(X), by_number.predict(X))
    assert BoltzRank(3, **settings).fit(X, y, qid=qid).selected_features_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"features": [0, 4]}, "features must hold column numbers from 0 to 3"),
        ({"features": [0.5]}, "features must hold column numbers"),
        ({"features": []}, "features must hold column numbers"),
        ({"features": [0], "n_features": 1}, "n_features must be None if features are given"),
        ({"objective": "MAE"}, "objective must be a measure of rankings, got 'MAE'"),
        ({"objective": "nDCD"}, "Did you mean 'nDCG'"),
        ({"n_rankings": 2}, "n_rankings"),
        ({"pair_reduction": "max"}, "pair_reduction"),
    ],
)
def test_wrong_parameters_are_named(params, message, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=message):
        BoltzRank(**params).fit(X, y, qid=qid)
