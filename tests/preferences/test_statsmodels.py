"""Bradley-Terry, Davidson and Rao-Kupper with an order effect, as models of statsmodels.

The sizes are those of a season of ice hockey: 58 teams, 1,083 games, ties and a home advantage
(R's vignette of BradleyTerry2 fits these data, but prints no values).
"""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.preferences import PairwisePreferences

sm = pytest.importorskip("statsmodels.api")
ITEMS = [f"team{number:02}" for number in range(58)]
LOSS, TIE, WIN = 0, 1, 2


@pytest.fixture(scope="module")
def games():
    """Home team, guest and outcome of the home team."""
    rng = np.random.default_rng(2009)
    strength = rng.normal(0, 0.5, len(ITEMS))
    home = rng.integers(0, len(ITEMS), 1083)
    guest = (home + rng.integers(1, len(ITEMS), 1083)) % len(ITEMS)
    eta = strength[home] - strength[guest] + 0.4
    noise = rng.logistic(size=1083)
    return home, guest, np.digitize(eta + noise, [-0.3, 0.3])


def design(home, guest):
    """Columns of the strengths, that of the first item left out, and of the order."""
    X = np.zeros((len(home), len(ITEMS)))
    X[np.arange(len(home)), home] += 1
    X[np.arange(len(home)), guest] -= 1
    X[:, 0] = 1  # in the place of the reference
    return X


def fit(ties, home, guest, outcome, weight=None):
    pairs = np.array(ITEMS)[np.column_stack([home, guest])]
    model = PairwisePreferences(
        ties, order_effect=True, reference=ITEMS[0], covariance="information", tol=1e-12
    )
    return model.fit(pairs, outcome / 2, sample_weight=weight)


def parameters(model):
    """Order effect and strengths, with their standard errors, in the order of the design."""
    place = [model.items_.tolist().index(name) for name in ITEMS[1:]]
    return (
        np.append(model.effects_[0], model.strengths_[place]),
        np.append(model.effect_errors_[0], model.standard_errors_[place]),
    )


def test_bradley_terry_is_a_logistic_regression(games):
    home, guest, outcome = games
    decided = outcome != TIE
    home, guest, outcome = home[decided], guest[decided], outcome[decided]
    peer = sm.GLM(outcome == WIN, design(home, guest), family=sm.families.Binomial())
    peer = peer.fit(tol=1e-14)
    estimates, errors = parameters(fit("davidson", home, guest, outcome))
    np.testing.assert_allclose(estimates, peer.params, atol=1e-7)
    np.testing.assert_allclose(errors, peer.bse, rtol=1e-5)


def test_half_wins_are_a_logistic_regression_of_shares(games):
    home, guest, outcome = games
    peer = sm.GLM(outcome / 2, design(home, guest), family=sm.families.Binomial())
    estimates, _ = parameters(fit("half", home, guest, outcome))
    np.testing.assert_allclose(estimates, peer.fit(tol=1e-14).params, atol=1e-7)


def test_rao_kupper_is_a_cumulative_logit(games):
    """P(home wins) = F(eta - log theta), P(guest wins) = F(-eta - log theta).

    The peer judges our parameters: its Newton steps on numerical derivatives meet its own rule of
    convergence under some BLAS kernels only.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    home, guest, outcome = games
    X = design(home, guest)[:, 1:]
    peer = OrderedModel(outcome, X, distr="logit")
    model = fit("rao_kupper", home, guest, outcome)
    estimates, errors = parameters(model)
    low, high = model.effects_[1] * np.array([-1, 1]) - estimates[0]
    params = np.concatenate([estimates[1:], [low, np.log(high - low)]])
    assert model.log_likelihood_ == pytest.approx(peer.loglike(params), abs=1e-8)
    step = np.linalg.solve(peer.hessian(params), peer.score(params))
    np.testing.assert_allclose(step, 0.0, atol=1e-5)
    covariance = np.linalg.inv(-peer.hessian(params))
    np.testing.assert_allclose(errors[1:], np.sqrt(np.diag(covariance)[:-2]), rtol=1e-3)


def test_davidson_is_log_linear():
    """Counts of the three outcomes of a game, with an intercept per game, are Poisson."""
    rng = np.random.default_rng(0)  # few games: an intercept per game is a column
    home, guest = rng.integers(0, 8, 150), rng.integers(0, 8, 150)
    guest = np.where(home == guest, (guest + 1) % 8, guest)
    outcome = rng.choice(3, 150, p=[0.3, 0.25, 0.45])
    n = len(home)
    half = design(home, guest)[:, :8] / 2
    rows = np.vstack([
        np.column_stack([side * half, np.full(n, side == 0), np.eye(n)]) for side in (-1, 0, 1)
    ])  # fmt: skip
    counts = np.concatenate([outcome == value for value in (LOSS, TIE, WIN)]).astype(float)
    peer = sm.GLM(counts, rows, family=sm.families.Poisson()).fit(tol=1e-14)
    model = fit("davidson", home, guest, outcome)
    place = [model.items_.tolist().index(name) for name in ITEMS[1:8]]
    found = np.concatenate([[model.effects_[0]], model.strengths_[place], [model.effects_[1]]])
    errors = np.concatenate(
        [[model.effect_errors_[0]], model.standard_errors_[place], [model.effect_errors_[1]]]
    )
    np.testing.assert_allclose(found, peer.params[:9], atol=1e-7)
    np.testing.assert_allclose(errors, peer.bse[:9], rtol=1e-5)
