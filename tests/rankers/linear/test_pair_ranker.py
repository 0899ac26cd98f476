"""PairRanker: named losses equal the rankers of their names, and losses of users the named ones."""

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import PairRanker, RankLR, RankSVM, load, save
from rankwise.losses.pair_loss import PairwiseLogistic
from rankwise.solvers.newton.score_newton import ScoreNewton
from tests.losses.test_pair_loss import Exponential


class SquaredHinge:
    def value(self, difference):
        return np.maximum(0.0, 1.0 - difference) ** 2

    def derivative(self, difference):
        return -2.0 * np.maximum(0.0, 1.0 - difference)

    def second_derivative(self, difference):
        return 2.0 * (difference < 1.0)


class Logistic:
    def value(self, difference):
        return np.logaddexp(0.0, -difference)

    def derivative(self, difference):
        return -1.0 / (1.0 + np.exp(difference))

    def second_derivative(self, difference):
        return np.full_like(difference, 0.25)  # a bound


@pytest.fixture
def rows(rng):
    X, qid = rng.normal(size=(60, 4)), np.repeat(np.arange(6), 10)
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=60)), -1, 2) + 1.0, qid


@pytest.mark.parametrize("features", ["linear", "rbf"])
@pytest.mark.parametrize("query_weight", ["pair", "query"])
@pytest.mark.parametrize(
    ("loss", "named"),
    [
        ("squared_hinge", RankSVM()),
        ("hinge", RankSVM(loss="hinge")),
        ("logistic", RankLR()),
    ],
)
def test_named_losses_are_the_named_rankers(loss, named, query_weight, features, rows):
    X, y, qid = rows
    options = {"query_weight": query_weight, "pair_weight": "difference", "C": [0.1, 1.0]}
    ranker = PairRanker(loss, features, **options).fit(X, y, qid=qid)
    named = clone(named).set_params(kernel=features, **options).fit(X, y, qid=qid)
    assert ranker.C_ == named.C_
    np.testing.assert_array_equal(ranker.predict(X), named.predict(X))
    np.testing.assert_array_equal(
        ranker.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    )


def test_sgd_is_that_of_rank_lr(rows):
    X, y, qid = rows
    ranker = PairRanker("logistic", solver="sgd", n_steps=500, random_state=0).fit(X, y, qid=qid)
    named = RankLR(solver="sgd", n_steps=500, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.coef_, named.coef_)


@pytest.mark.parametrize("features", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("own", "named"), [(SquaredHinge(), "squared_hinge"), (Logistic(), "logistic")]
)
def test_losses_of_users_equal_the_named_ones(own, named, features, rows):
    X, y, qid = rows
    weight = np.tile([1.0, 2.0], 30)
    first, second = (
        PairRanker(loss, features, tol=1e-12).fit(X, y, qid=qid, sample_weight=weight)
        for loss in (own, named)
    )
    assert first.objective_ == pytest.approx(second.objective_)
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-4)


def test_a_solver_of_the_user(rows):
    X, y, qid = rows
    named = PairRanker(Exponential(), C=0.1, tol=1e-9).fit(X, y, qid=qid)
    given = PairRanker(Exponential(), solver=ScoreNewton(1e-9, 1000), C=0.1).fit(X, y, qid=qid)
    np.testing.assert_array_equal(named.coef_, given.coef_)
    assert named.dual_gap_ <= 1e-9


class Slopes:
    """A loss without a second derivative."""

    def value(self, difference):
        return np.logaddexp(0.0, -difference)

    def derivative(self, difference):
        return -1.0 / (1.0 + np.exp(difference))


class ValueAlone:
    def value(self, difference):
        return np.exp(-difference)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": Slopes()}, "needs a loss with a method second_derivative"),
        ({"loss": "hinge", "solver": ScoreNewton()}, "lacks a derivative at its corner"),
        ({"loss": "hinge", "solver": "sgd"}, "lacks a derivative at its corner"),
        ({"loss": Exponential(), "solver": "sgd"}, 'steps of loss="logistic"'),
        ({"loss": "logistic", "solver": "sgd", "features": "rbf"}, 'features="linear" only'),
        ({"loss": ValueAlone()}, "lacks derivative"),
        ({"loss": Exponential}, r"Pass an instance: Exponential\(\)"),
        ({"loss": PairwiseLogistic}, "an object implementing 'value' and 'derivative'"),
        ({"solver": "lbfgs"}, "an object implementing 'path'"),
    ],
)
def test_what_a_loss_or_a_solver_lacks_is_named(parameters, message, rows):
    X, y, qid = rows
    with pytest.raises(ValueError, match=message):
        PairRanker(**parameters).fit(X, y, qid=qid)


def test_saved_with_a_loss_of_the_user(rows, tmp_path):
    X, y, qid = rows
    ranker = PairRanker(Exponential(), C=0.1).fit(X, y, qid=qid)
    save(ranker, tmp_path / "ranker.skops")
    back = load(tmp_path / "ranker.skops", trusted=[Exponential])
    np.testing.assert_array_equal(back.predict(X), ranker.predict(X))
