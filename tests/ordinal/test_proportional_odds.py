"""Cumulative link models: beside statsmodels, mord and scikit-learn, optimality, edge cases."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import rankwise
from rankwise import ProportionalOdds
from rankwise.export import ExportError
from rankwise.export.chains import class_chain
from rankwise.losses.cumulative_link import LINKS, CumulativeLinkLoss

STATSMODELS = {"logit": "logit", "probit": "probit", "cloglog": stats.gumbel_l}
each_link = pytest.mark.parametrize("link", LINKS)


def drawn(rng, n=500, n_classes=4):
    """Columns of different size and place, and classes of unequal size."""
    X = rng.normal(size=(n, 4)) * [1, 3, 0.5, 1] + [0, 2, 5, -1]
    latent = X @ [1.0, -0.3, 0.8, 0.0] + rng.logistic(size=n)
    return X, np.digitize(latent, np.quantile(latent, np.linspace(0.25, 0.9, n_classes - 1)))


def objective(model, X, y, C, weight=None):
    """What ``fit`` minimises, and its gradient by coefficients and thresholds."""
    codes = np.searchsorted(model.classes_, y)
    weight = np.ones(len(y)) if weight is None else weight
    terms = CumulativeLinkLoss(LINKS[model.link], codes, weight).terms(
        X @ model.coef_, model.thresholds_
    )
    n_classes = len(model.classes_)
    by_threshold = (
        np.bincount(codes, terms.by_upper, n_classes)[:-1]
        + np.bincount(codes, terms.by_lower, n_classes)[1:]
    )
    value = 0.5 * model.coef_ @ model.coef_ + C * terms.value.sum()
    return value, model.coef_ + C * (X.T @ terms.by_score), C * by_threshold


@each_link
def test_the_gradient_is_zero_at_the_end(link, rng):
    X, y = drawn(rng)
    weight = rng.random(len(y)) + 0.1
    for C in (1e-3, 1.0, 1e4):
        model = ProportionalOdds(C=C, link=link).fit(X, y, sample_weight=weight)
        value, by_coef, by_threshold = objective(model, X, y, C, weight)
        assert model.objective_ == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(by_coef, 0.0, atol=1e-8 * max(1.0, C))
        np.testing.assert_allclose(by_threshold, 0.0, atol=1e-8 * max(1.0, C))


@each_link
def test_maximum_likelihood_and_standard_errors_are_those_of_statsmodels(link, rng):
    models = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y = drawn(rng)
    ours = ProportionalOdds(C=np.inf, link=link).fit(X, y)
    theirs = models.OrderedModel(y, X, distr=STATSMODELS[link])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = theirs.fit(method="bfgs", maxiter=1000, gtol=1e-9, disp=0)
    d = X.shape[1]
    steps = np.exp(fitted.params[d + 1 :])
    thresholds = fitted.params[d] + np.append(0.0, np.cumsum(steps))
    np.testing.assert_allclose(ours.coef_, fitted.params[:d], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.thresholds_, thresholds, rtol=1e-6, atol=1e-6)
    assert ours.log_likelihood_ == pytest.approx(fitted.llf, rel=1e-10)
    # Their last parameters are logarithms of the distances of thresholds.
    back = np.eye(len(fitted.params))
    back[d:, d] = 1.0
    for k, step in enumerate(steps):
        back[d + 1 + k :, d + 1 + k] = step
    errors = np.sqrt(np.diag(back @ fitted.cov_params() @ back.T))
    np.testing.assert_allclose(ours.standard_errors_, errors, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict(fitted.params, exog=X), atol=1e-6
    )


def test_two_classes_are_logistic_regression_and_mords(rng):
    X, y = drawn(rng, n_classes=2)
    ours = ProportionalOdds(C=0.3).fit(X, y)
    peer = LogisticRegression(C=0.3, tol=1e-12, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_[0], rtol=1e-7)
    np.testing.assert_allclose(ours.thresholds_, -peer.intercept_, rtol=1e-7)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=1e-6)
    mord = pytest.importorskip("mord")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "scipy.optimize: The `disp`", DeprecationWarning)
        theirs = mord.LogisticAT(alpha=1 / 0.3).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.thresholds_, theirs.theta_, rtol=1e-4, atol=1e-5)


@each_link
def test_maximum_likelihood_does_not_depend_on_the_scale(link, rng):
    X, y = drawn(rng)
    scale, shift = np.array([1e-6, 1.0, 1e4, 2.0]), np.array([0.0, 1e6, 1.0, 0.0])
    model = ProportionalOdds(C=np.inf, link=link).fit(X, y)
    other = ProportionalOdds(C=np.inf, link=link).fit(X * scale + shift, y)
    np.testing.assert_allclose(other.coef_ * scale, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        other.standard_errors_[:4] * scale, model.standard_errors_[:4], rtol=1e-6
    )
    assert other.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-9)


@each_link
def test_sparse_rows_are_the_dense_ones_without_a_penalty(link, rng):
    X, y = drawn(rng)
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    dense = ProportionalOdds(C=np.inf, link=link).fit(X, y)
    thin = ProportionalOdds(C=np.inf, link=link).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(thin.standard_errors_, dense.standard_errors_, rtol=1e-8)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X))


def test_combinations_of_columns_have_no_coefficient_of_their_own(rng):
    X, y = drawn(rng)
    wide = np.column_stack([X, X @ [1, 2, 0, 1], np.ones(len(y))])
    model = ProportionalOdds(C=np.inf).fit(wide, y)
    expected = ProportionalOdds(C=np.inf).fit(X, y)
    assert np.count_nonzero(model.coef_) == 4
    np.testing.assert_array_equal(np.isnan(model.standard_errors_[:6]), model.coef_ == 0)
    np.testing.assert_allclose(model.predict_proba(wide), expected.predict_proba(X), atol=1e-9)


@each_link
def test_large_samples_work_in_chunks(link, rng):
    """Beyond five million numbers rows are not merged."""
    X, y = drawn(rng, n=5000)
    model = ProportionalOdds(link=link).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -0.3, 0.8, 0.0], atol=0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankwise.solvers.newton.cumulative_newton.LARGEST_MERGED", 0)
        other = ProportionalOdds(link=link).fit(X, y)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)


@each_link
@pytest.mark.parametrize("kind", ["complete", "quasi"])
def test_separated_classes_have_no_maximum(link, kind, rng):
    X, y = drawn(rng, n=200)
    if kind == "complete":
        X[:, 0] = y + 0.1 * rng.random(len(y))
    else:  # an indicator that only the highest class has
        X[:, 0] = (y == 3) & (rng.random(len(y)) < 0.5)
    with pytest.warns(ConvergenceWarning, match="the likelihood has no maximum"):
        model = ProportionalOdds(C=np.inf, link=link).fit(X, y)
    assert np.isnan(model.standard_errors_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    ProportionalOdds(C=1.0, link=link).fit(X, y)


def test_steps_that_run_out_are_named(rng):
    X, y = drawn(rng)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after 2 Newton steps at C=1; .* max_iter"
    ):
        ProportionalOdds(max_iter=2).fit(X, y)


@each_link
def test_predict_is_the_most_probable_class(link, rng):
    X, y = drawn(rng)
    names = np.array(["a", "b", "c", "d"])
    model = ProportionalOdds(link=link, classes=names).fit(X, names[y])
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), names[shares.argmax(axis=1)])
    median = (np.cumsum(shares, axis=1) <= 0.5).sum(axis=1)
    reached = np.searchsorted(model.thresholds_, model.rank_score(X), side="right")
    np.testing.assert_array_equal(reached, median)


def test_classes_without_rows_have_no_probability(rng):
    pd = pytest.importorskip("pandas")
    X, y = drawn(rng)
    words = ["none", "bad", "fair", "void", "good", "best", "beyond"]
    place = np.array([1, 2, 4, 5])
    labels = pd.Series(pd.Categorical.from_codes(place[y], words, ordered=True))
    model = ProportionalOdds(C=np.inf).fit(X, labels)
    expected = ProportionalOdds(C=np.inf).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares[:, place], expected.predict_proba(X), atol=1e-12)
    assert not shares[:, [0, 3, 6]].any()
    np.testing.assert_array_equal(
        np.isnan(model.standard_errors_[4:]), np.abs(model.thresholds_) == 1e300
    )


def test_search_of_C(rng):
    X, y = drawn(rng, n=120)
    noisy = np.hstack([X, rng.normal(size=(120, 40))])
    grid = [1e-3, 1e-2, 1.0, np.inf]
    for measure in ("MAE", "nDCG@10"):
        model = ProportionalOdds(C=grid, cv=3, measure=measure).fit(noisy, y)
        assert model.cv_results_["fold_test_scores"].shape == (3, 4)
        means = model.cv_results_["mean_test_score"]
        best = means.argmin() if measure == "MAE" else means.argmax()
        assert model.cv_results_["C"][best] == model.C_
    alone = ProportionalOdds(C=model.C_).fit(noisy, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-6, atol=1e-9)
    chosen = ProportionalOdds(C="val").fit(noisy, y, X_val=noisy[:40], y_val=y[:40])
    assert chosen.C_ in chosen.path_["C"]
    np.testing.assert_allclose(chosen.path_["C"], 10.0 ** np.arange(-3, 3))
    single = ProportionalOdds().fit(noisy, y)
    assert not hasattr(single, "cv_results_")
    with pytest.raises(ValueError, match="C must be a number or a list"):
        ProportionalOdds(C=[0.0, 1.0]).fit(noisy, y)


def test_refit_forgets_standard_errors(rng):
    X, y = drawn(rng)
    model = ProportionalOdds(C=np.inf).fit(X, y)
    assert not hasattr(model.set_params(C=1.0).fit(X, y), "standard_errors_")


@pytest.mark.parametrize("C", [np.inf, 0.1])
def test_saved_with_any_C(C, rng, tmp_path):
    X, y = drawn(rng)
    model = ProportionalOdds(C=C).fit(X, y)
    again = rankwise.load(model.save(tmp_path / "model"))
    if np.isinf(C):
        np.testing.assert_array_equal(again.standard_errors_, model.standard_errors_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_weights_are_repetitions_in_the_likelihood(rng):
    X, y = drawn(rng, n=100)
    weight = rng.integers(1, 4, len(y))
    model = ProportionalOdds(C=np.inf).fit(X, y, sample_weight=weight)
    again = ProportionalOdds(C=np.inf).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert model.log_likelihood_ == pytest.approx(again.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(model.standard_errors_, again.standard_errors_, rtol=1e-9)


def test_classes_are_exported_for_two_only(rng):
    X, y = drawn(rng)
    with pytest.raises(
        ExportError, match="most probable class, which its score does not determine"
    ):
        class_chain(ProportionalOdds().fit(X, y))
    assert class_chain(ProportionalOdds().fit(X, y > 1)) is None
