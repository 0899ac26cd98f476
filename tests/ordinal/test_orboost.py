"""ORBoost beyond what every ordinal estimator does: loss, stages, weights, stopping, forms of X."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import rankwise
from rankwise import ORBoost, evaluate
from rankwise.groups import FitData, QueryGroups
from rankwise.ordinal.orboost import row_weights
from rankwise.solvers.boosting.stump_search import StumpEnsemble

BASES = ["stump", "perceptron", "pocket"]
EVERY = [(form, estimator) for form in ("all", "lr") for estimator in BASES]
FORM_AND_BASE = pytest.mark.parametrize(("form", "estimator"), EVERY)


@pytest.fixture
def judged(rng):
    """Noisy rows of five classes in twelve queries."""
    X = rng.normal(size=(240, 6))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=240) + 2), 0, 4).astype(int)
    return X, y, np.arange(240) % 12


def booster(form="all", estimator="stump", n_estimators=40, **params):
    return ORBoost(
        n_estimators, form, estimator=estimator, **{"base_iter": 20, "random_state": 0, **params}
    )


@FORM_AND_BASE
def test_loss_never_rises_and_bounds_the_errors(form, estimator, judged):
    X, y, _ = judged
    fitted = booster(form, estimator).fit(X, y)
    losses = fitted.loss_curve_
    assert len(losses) == fitted.n_estimators_ + 1 == 41
    assert (np.diff(losses) < 0).all()
    for loss, predicted in zip(losses[1:], fitted.staged_predict(X), strict=True):
        errors = np.abs(predicted - y) if form == "all" else predicted != y
        assert errors.sum() <= loss
    median = np.searchsorted(fitted.threshold_curve_[0], 0.0, side="right")
    assert (np.abs(median - y) if form == "all" else median != y).sum() <= losses[0]


@pytest.mark.parametrize("form", ["all", "lr"])
def test_rounds_end_where_the_loss_has_no_digit_left_to_lose(form, rng):
    X = rng.integers(0, 4, (300, 2)).astype(float)
    y = np.clip(X.sum(1) + rng.integers(-1, 2, 300), 0, 5).astype(int)
    fitted = booster(form, n_estimators=20_000).fit(X, y)
    losses = fitted.loss_curve_
    assert 20 < fitted.n_estimators_ < 20_000
    assert (np.diff(losses) < 0).all()
    assert losses[-2] - losses[-1] < 1e-12 * losses[-1]


@FORM_AND_BASE
def test_loss_is_that_of_the_scores_at_the_thresholds(form, estimator, judged):
    X, y, _ = judged
    fitted = booster(form, estimator).fit(X, y)
    k = np.arange(4)
    near = (k == y[:, None]) | (k == y[:, None] - 1) | (form == "all")
    sign = np.where(y[:, None] > k, 1.0, -1.0)
    stages = zip(fitted.staged_rank_score(X), fitted.threshold_curve_[1:], strict=True)
    for loss, (scores, thresholds) in zip(fitted.loss_curve_[1:], stages, strict=True):
        margins = sign * (scores[:, None] - thresholds)
        assert loss == pytest.approx((near * np.exp(-margins)).sum(), rel=1e-10)


@FORM_AND_BASE
def test_stages_end_where_predict_is(form, estimator, judged):
    X, y, _ = judged
    fitted = booster(form, estimator, 60).fit(X, y)
    *_, scores = fitted.staged_rank_score(X)
    np.testing.assert_allclose(fitted.rank_score(X), scores, rtol=0, atol=1e-12)
    *_, predicted = fitted.staged_predict(X)
    assert (predicted == fitted.predict(X)).all()
    *_, margins = fitted.staged_decision_function(X)
    np.testing.assert_allclose(margins, fitted.decision_function(X), atol=1e-12)
    assert (fitted.thresholds_ == fitted.threshold_curve_[-1]).all()
    assert fitted.ensemble_.steps.shape == (60,)
    assert (fitted.ensemble_.steps > 0).all()


def test_scores_of_many_stumps_are_their_sum(rng):
    """Pieces per feature beside the sum over stages, also on the thresholds themselves."""
    n, d, rounds = 5000, 4, 3000
    X = rng.integers(0, 50, (n, d)).astype(float)
    ensemble = StumpEnsemble(
        rng.integers(0, d - 1, rounds),
        rng.integers(0, 50, rounds) + rng.choice([0.0, 0.5], rounds),
        rng.choice(np.array([-1, 1], np.int8), rounds),
        rng.uniform(0.01, 0.5, rounds),
        rng.integers(-1, 2, rounds).astype(np.int8),
    )
    expected = np.zeros(n)
    for side, step in zip(ensemble.sides(X), ensemble.steps, strict=True):
        expected += np.where(side, step, -step)
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        np.testing.assert_allclose(ensemble.score(rows), expected, rtol=0, atol=1e-11)
    assert (StumpEnsemble.empty().score(X) == 0).all()


@FORM_AND_BASE
def test_warm_start_continues_to_the_bit(form, estimator, judged, tmp_path):
    X, y, qid = judged
    settings = {"row_weight": "rank_query"}
    whole = booster(form, estimator, 30, **settings).fit(X, y, qid=qid)
    parts = booster(form, estimator, 11, warm_start=True, **settings).fit(X, y, qid=qid)
    parts = rankwise.load(parts.save(tmp_path / "model"))
    parts.set_params(n_estimators=30).fit(X, y, qid=qid)
    assert (parts.loss_curve_ == whole.loss_curve_).all()
    assert (parts.threshold_curve_ == whole.threshold_curve_).all()
    assert (parts.rank_score(X) == whole.rank_score(X)).all()
    with pytest.warns(UserWarning, match="warm_start adds no round to the 30"):
        again = parts.fit(X, y, qid=qid)
    assert (again.loss_curve_ == whole.loss_curve_).all()


def test_warm_start_of_another_kind_is_refused(judged):
    X, y, _ = judged
    fitted = booster(warm_start=True, n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators must be at least the 5 rounds"):
        fitted.set_params(n_estimators=4).fit(X, y)
    fitted.set_params(n_estimators=6)
    kinds = "warm_start needs the same classes and base learners"
    for rows, labels, estimator, said in (
        (X[:, 1:], y, "stump", f"continues a fit on {X.shape[1]} features, but X has"),
        (X, y > 2, "stump", kinds),
        (X, y, "pocket", kinds),
    ):
        again = booster(warm_start=True, n_estimators=5).fit(X, y)
        with pytest.raises(ValueError, match=said):
            again.set_params(n_estimators=6, estimator=estimator).fit(rows, labels)
    assert booster(n_estimators=4).fit(X, y).set_params(n_estimators=3).fit(X, y).n_estimators_ == 3


@pytest.mark.parametrize("estimator", BASES)
def test_a_failing_fit_changes_nothing(estimator, judged):
    X, y, _ = judged
    fitted = booster(estimator=estimator, warm_start=True, n_estimators=5).fit(X, y)
    before, held = fitted.rank_score(X), fitted.predict(X)
    fitted.set_params(n_estimators=6)
    for rows, labels, said in (
        (X, np.minimum(y, 2), "warm_start needs the same classes"),
        (X[:, 1:], y, "warm_start continues a fit on"),
    ):
        for _ in range(2):
            with pytest.raises(ValueError, match=said):
                fitted.fit(rows, labels)
    fitted.set_params(warm_start=False, measure="none")
    with pytest.raises(ValueError, match="none"):
        fitted.fit(X[:, 1:], np.minimum(y, 2))
    assert (fitted.rank_score(X) == before).all()
    assert (fitted.predict(X) == held).all()
    assert fitted.classes_.tolist() == [0, 1, 2, 3, 4]


def test_random_state_decides_the_perceptrons(judged):
    X, y, _ = judged
    first = booster(estimator="perceptron", n_estimators=5).fit(X, y)
    same = booster(estimator="perceptron", n_estimators=5).fit(X, y)
    other = booster(estimator="perceptron", n_estimators=5, random_state=1).fit(X, y)
    assert (first.rank_score(X) == same.rank_score(X)).all()
    assert (first.rank_score(X) != other.rank_score(X)).any()
    drawn = booster(estimator="perceptron", n_estimators=5, random_state=None, warm_start=True)
    seed = drawn.fit(X, y).seed_
    assert drawn.set_params(n_estimators=6).fit(X, y).seed_ == seed


@pytest.mark.parametrize("estimator", BASES)
def test_order_and_repetition_of_rows(estimator, judged, rng):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    settings = {"estimator": estimator, "row_weight": "rank_query", "n_estimators": 15}
    weighted = booster(**settings).fit(X, y, qid=qid, sample_weight=weight)
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    repeated = booster(**settings).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(weighted.rank_score(X), repeated.rank_score(X), rtol=1e-9)
    np.testing.assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=1e-9)


def test_row_weights():
    y, groups = np.array([0.0, 1, 2, 2]), QueryGroups.from_qid(["a", "a", "b", "a"], 4)
    data = FitData(np.zeros((4, 1)), y, groups, np.array([1.0, 2, 1, 1]))
    assert row_weights(data, None).tolist() == [1, 2, 1, 1]
    assert row_weights(data, "rank").tolist() == [1, 4, 3, 3]
    assert row_weights(data, "query").tolist() == [0.25, 0.5, 1, 0.25]
    assert row_weights(data, "rank_query").tolist() == [0.25, 1, 3, 0.75]
    assert row_weights(data, "gain").tolist() == [1, 4, 4, 4]


@pytest.mark.parametrize("scheme", ["rank", "query", "rank_query", "gain"])
def test_row_weight_is_a_sample_weight(scheme, judged):
    X, y, _ = judged
    qid = np.minimum(np.arange(240) // 15, 9)
    data = FitData(X, y.astype(float), QueryGroups.from_qid(qid, 240), None)
    by_name = booster(row_weight=scheme).fit(X, y, qid=qid)
    by_hand = booster(max_bins=None).fit(X, y, sample_weight=row_weights(data, scheme))
    np.testing.assert_allclose(by_name.loss_curve_, by_hand.loss_curve_, rtol=1e-12)
    assert (by_name.loss_curve_ != booster().fit(X, y).loss_curve_).all()


@pytest.mark.parametrize("measure", ["MAE", "nDCG@10", "Kappa"])
@pytest.mark.parametrize("estimator", ["stump", "perceptron"])
def test_early_stopping_keeps_the_best_round(measure, estimator, judged):
    X, y, qid = judged
    train, val = slice(0, 120), slice(120, 240)
    noise = np.where(np.arange(120) % 3 == 0, 4 - y[:120], y[:120])
    validation = {"X_val": X[val], "y_val": y[val], "qid_val": qid[val]}
    fitted = booster("all", estimator, 300, measure=measure, early_stopping_rounds=10)
    fitted.fit(X[train], noise, qid=qid[train], **validation)
    scores = fitted.validation_scores_
    sign = -1 if measure == "MAE" else 1
    best = 1 + int(np.argmax(sign * scores))
    assert fitted.n_estimators_ == best == len(fitted.ensemble_)
    assert len(scores) == best + 10 < 300
    assert len(fitted.loss_curve_) == best + 1
    predicted = fitted.rank_score(X[val]) if measure == "nDCG@10" else fitted.predict(X[val])
    assert evaluate(y[val], predicted, qid[val], measure)[measure] == pytest.approx(
        scores[best - 1]
    )
    plain = booster("all", estimator, best).fit(X[train], noise, qid=qid[train])
    assert (plain.rank_score(X) == fitted.rank_score(X)).all()


def test_validation_rows_alone_stop_nothing(judged):
    X, y, qid = judged
    fitted = booster().fit(X, y, qid=qid, X_val=X[:50], y_val=y[:50], qid_val=qid[:50])
    assert fitted.n_estimators_ == 40 == len(fitted.validation_scores_)
    warm = booster(warm_start=True, n_estimators=12).fit(X, y, qid=qid)
    warm.set_params(n_estimators=40)
    warm.fit(X, y, qid=qid, X_val=X[:50], y_val=y[:50], qid_val=qid[:50])
    np.testing.assert_allclose(warm.validation_scores_, fitted.validation_scores_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"nDCG.* must score at least one query of X_val"):
        booster(measure="nDCG@10").fit(X, y, X_val=X[:5], y_val=np.zeros(5, int))


def test_validation_labels_may_be_new(judged):
    X, y, _ = judged
    for measure in ("MAE", "nDCG@10"):
        fitted = booster(measure=measure).fit(X, y + 1, X_val=X, y_val=np.where(y == 4, 7, y))
        assert np.isfinite(fitted.validation_scores_).all()


@pytest.mark.parametrize("estimator", BASES)
@pytest.mark.parametrize("form", ["all", "lr"])
def test_classes_without_rows_are_never_predicted(form, estimator, judged):
    pd = pytest.importorskip("pandas")
    X, y, _ = judged
    for absent in ([0], [2], [4], [0, 1], [1, 2, 3], [0, 2, 4]):
        kept = ~np.isin(y, absent)
        labels = pd.Categorical.from_codes(y[kept], list("abcde"), ordered=True)
        fitted = booster(form, estimator, 15).fit(X[kept], pd.Series(labels))
        for rows in (X, 1e6 * X):
            for predicted in fitted.staged_predict(rows):
                assert not np.isin(predicted, np.array(list("abcde"))[absent]).any()
        if form == "all" and estimator != "pocket" and absent in ([0], [4], [0, 1]):
            present, numbers = np.unique(y[kept], return_inverse=True)
            small = booster(form, estimator, 15).fit(X[kept], numbers)
            inner = fitted.thresholds_[present[0] : present[-1]]
            np.testing.assert_allclose(inner, small.thresholds_, rtol=1e-9)


def test_perfect_stump_ends_the_rounds():
    X = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0]])
    fitted = booster(n_estimators=100).fit(X, [0, 0, 1, 1])
    assert fitted.n_estimators_ == 1 == len(fitted.loss_curve_) - 1
    assert fitted.predict(X).tolist() == [0, 0, 1, 1]
    assert np.abs(fitted.rank_score(X)) == pytest.approx(np.full(4, 14.2), abs=0.1)
    assert fitted.loss_curve_[1] < 1e-5
    assert fitted.ensemble_.features[0] == 0
    assert fitted.ensemble_.thresholds[0] == np.nextafter(1.5, 0)


@FORM_AND_BASE
def test_rounds_go_on_after_a_perfect_stump_only_on_other_rows(form, estimator):
    X = np.arange(10.0).reshape(-1, 1)
    fitted = booster(form, estimator, 10, warm_start=True).fit(X, X[:, 0] > 4)
    assert fitted.n_estimators_ == 1
    assert fitted.fit(X, X[:, 0] > 4).n_estimators_ == 1
    others = (X[:, 0] > 4) ^ (X[:, 0] == 2)
    assert fitted.fit(X, others).n_estimators_ > 1
    assert fitted.score(X, others) == (
        0 if estimator == "stump" else pytest.approx(-0.05, abs=0.06)
    )


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_array])
def test_the_middle_between_two_values_is_above_a_cut(kind, max_bins):
    """As in the authors' program; the export to ONNX follows in tests/export."""
    X = np.repeat([[-1.0], [1.0], [3.0], [6.0]], 3, axis=0)
    y = np.repeat([0, 1, 2, 3], 3)
    rows = kind if kind is sparse.csr_array else lambda X: X.astype(kind)
    fitted = ORBoost(n_estimators=30, max_bins=max_bins).fit(rows(X), y)
    middles = np.array([[0.0], [2.0], [4.5]])
    below = np.nextafter(middles.astype(np.float32), np.float32(-9))
    assert fitted.predict(rows(X)).tolist() == y.tolist()
    assert fitted.predict(rows(middles)).tolist() == [1, 2, 3]
    assert fitted.predict(rows(below)).tolist() == [0, 1, 2]
    *_, last = fitted.staged_predict(rows(middles))
    assert last.tolist() == [1, 2, 3]


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("n_values", [2, 400])
def test_neighbouring_floats_are_cut_where_no_number_lies_between(max_bins, n_values):
    X = np.full((n_values, 1), 1.0)
    for row in range(1, n_values):
        X[row] = np.nextafter(X[row - 1], 2.0)
    y = (np.arange(n_values) >= n_values // 2).astype(int)
    fitted = ORBoost(n_estimators=10, max_bins=max_bins).fit(X, y)
    if max_bins is None or n_values <= max_bins:
        assert fitted.predict(X).tolist() == y.tolist()
    else:
        assert np.abs(fitted.predict(X) - y).mean() < 0.01


def test_default_rounds_grow_with_the_root_of_distinct_rows(judged, rng):
    X, y, qid = judged
    fitted = ORBoost().fit(X, y)
    assert fitted.n_estimators is None
    assert fitted.n_estimators_ == 47  # 3 sqrt(240), rounded up
    assert ORBoost().fit(X[:100], y[:100]).n_estimators_ == 30
    weight = rng.integers(0, 4, len(y))
    weighted = ORBoost().fit(X, y, sample_weight=weight)
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    repeated = ORBoost().fit(sparse.csr_array(X[rows]), y[rows])
    assert weighted.n_estimators_ == repeated.n_estimators_ < 47
    np.testing.assert_allclose(weighted.rank_score(X), repeated.rank_score(X), rtol=1e-9)
    tiny = ORBoost().fit(X, y, sample_weight=weight / 1e6)
    assert tiny.n_estimators_ == weighted.n_estimators_
    held = {"X_val": X, "y_val": y, "qid_val": qid}
    assert ORBoost().fit(X, y, qid=qid, **held).n_estimators_ == 47
    patient = ORBoost(early_stopping_rounds=5000).fit(X, y, qid=qid, **held)
    assert len(patient.validation_scores_) == 1000


def test_default_rounds_do_not_learn_noise(rng):
    """A small noisy set, as those on which the default was 1,000 rounds and lost to few."""
    X = rng.normal(size=(1150, 8))
    height = X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=1150)
    y = np.searchsorted(np.quantile(height, [0.2, 0.4, 0.6, 0.8]), height)
    errors = [
        np.abs(ORBoost(n_estimators=rounds).fit(X[:150], y[:150]).predict(X[150:]) - y[150:]).mean()
        for rounds in (None, 1000)
    ]
    assert errors[0] < 0.97 * errors[1]


def test_constant_features_and_balanced_classes():
    fitted = booster().fit(np.ones((6, 2)), [0, 0, 1, 1, 2, 2])
    assert fitted.n_estimators_ == 0
    assert fitted.feature_importances_.tolist() == [0, 0]
    assert list(fitted.staged_predict(np.ones((2, 2)))) == []
    assert fitted.predict(np.ones((2, 2))).tolist() == [1, 1]
    assert fitted.loss_curve_ == pytest.approx([2 * 2 * np.sqrt(2 * 4)])


def test_huge_weights_and_long_runs_stay_finite():
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) // 4
    for weight in (1e-200, 1.0, 1e200):
        fitted = booster(n_estimators=3000).fit(X, y, sample_weight=np.full(12, weight))
        assert np.isfinite(fitted.rank_score(X)).all()
        assert np.isfinite(fitted.threshold_curve_).all()
        assert (np.diff(fitted.loss_curve_) <= 0).all()
        assert fitted.predict(X).tolist() == y.tolist()


def test_bins_of_many_values(rng):
    X = rng.normal(size=(3000, 3))
    y = np.clip(np.round(2 * X[:, 0] + rng.normal(size=3000) + 2), 0, 4).astype(int)
    exact = booster(max_bins=None).fit(X, y)
    fine, coarse = booster().fit(X, y), booster(max_bins=8).fit(X, y)
    assert exact.loss_curve_[1] <= fine.loss_curve_[1] <= coarse.loss_curve_[1]
    assert fine.loss_curve_[-1] == pytest.approx(exact.loss_curve_[-1], rel=0.01)
    assert len(np.unique(coarse.ensemble_.thresholds)) <= 3 * 7
    few = np.round(X * 20)
    same = [booster(max_bins=bins).fit(few, y).rank_score(few) for bins in (255, None)]
    assert (same[0] == same[1]).all()


def test_importances_name_the_features_that_count(judged):
    X, y, _ = judged
    for estimator in BASES:
        importances = booster(estimator=estimator).fit(X, y).feature_importances_
        assert importances.sum() == pytest.approx(1)
        assert set(np.argsort(-importances)[:2]) == {0, 1}


def test_perceptrons_see_scaled_features(judged):
    """Another unit or origin of a feature changes rounding at most."""
    X, y, _ = judged
    moved = X * np.array([1024.0, 0.25, 1, 1, 1, 1]) + np.array([0, 0, 8.0, 0, 0, 0])
    left = booster(estimator="perceptron", n_estimators=10).fit(X, y).loss_curve_
    right = booster(estimator="perceptron", n_estimators=10).fit(moved, y).loss_curve_
    np.testing.assert_allclose(left, right, rtol=1e-9)


def test_model_file_keeps_the_ensemble(judged, tmp_path):
    X, y, _ = judged
    for estimator in BASES:
        fitted = booster(estimator=estimator, n_estimators=8).fit(X, y)
        loaded = rankwise.load(fitted.save(tmp_path / estimator))
        assert (loaded.rank_score(X) == fitted.rank_score(X)).all()
        for left, right in zip(loaded.staged_predict(X), fitted.staged_predict(X), strict=True):
            assert (left == right).all()
