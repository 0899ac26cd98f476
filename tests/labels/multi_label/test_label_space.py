"""Codes of labels: closed forms, bounds and identities between the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import rankwise
from rankwise import PointwiseELM
from rankwise.features import RandomNodes
from rankwise.labels import (
    CPLST,
    PLST,
    BinaryRelevance,
    CompressedSensing,
    LinearLabelSpaceTransform,
    PartialBinaryRelevance,
    fit_splits,
)

LINEAR = {
    "br": BinaryRelevance(alpha=0.3),
    "pbr": PartialBinaryRelevance(3, "mean", alpha=0.3, random_state=1),
    "plst": PLST(3, alpha=0.3),
    "plst zero": PLST(4, 0.3, reference="zero"),
    "cplst": CPLST(3, alpha=0.3),
    "code": LinearLabelSpaceTransform(
        np.arange(21.0).reshape(3, 7) ** 0.5, None, reference="mean", alpha=0.3
    ),
}


@pytest.fixture
def labelled(rng):
    """80 rows of 6 features, far from zero, with seven labels in two correlated groups."""
    X = rng.normal(size=(80, 6)) + 3
    hidden = (X - 3) @ rng.normal(size=(6, 3))
    Y = (hidden @ rng.normal(size=(3, 7)) + 0.5 * rng.normal(size=(80, 7)) > 0.8).astype(int)
    return X, Y


def with_constant(X):
    return np.column_stack([np.ones(len(X)), X])


def closed_form(X, targets, alpha, weight=None):
    """Ridge on [1 X] with the constant penalised, by the normal equations."""
    Z = with_constant(X)
    W = np.diag(np.ones(len(X)) if weight is None else weight)
    return np.linalg.solve(Z.T @ W @ Z + alpha * np.eye(Z.shape[1]), Z.T @ W @ targets)


def sum_of_squares(values):
    return float(np.sum(np.square(values)))


# Ridge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_relevance_is_the_closed_form(shape, form, weighted, labelled, rng):
    X, Y = labelled
    X = X if shape == "tall" else rng.normal(size=(80, 90))
    X = np.where(rng.random(X.shape) < 0.1, X, 0.0).astype(np.float32)
    weight = rng.random(80) if weighted else None
    rows = {"dense": X.astype(float), "sparse": sparse.csr_array(X.astype(float)), "float32": X}
    model = BinaryRelevance(alpha=0.7).fit(rows[form], Y, sample_weight=weight)
    expected = closed_form(X.astype(float), Y, 0.7, weight)
    np.testing.assert_allclose(model.intercept_, expected[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.coef_.T, expected[1:], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        model.decision_function(rows[form]), with_constant(X) @ expected, rtol=1e-9, atol=1e-9
    )


def test_dense_labels_and_rows_of_many_entries(rng):
    """Rows and labels beyond the share up to which they are multiplied entry by entry."""
    X, Y = rng.normal(size=(3100, 4)), rng.random((3100, 3)) < 0.7
    expected = closed_form(X, Y, 0.01)
    for rows in (X, sparse.csr_array(X)):
        model = BinaryRelevance().fit(rows, Y)
        np.testing.assert_allclose(model.coef_.T, expected[1:], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 0.5])
def test_columns_far_from_zero_lose_no_digits(alpha, labelled):
    X, Y = labelled
    X = X + np.array([1e7, 3e7, 0, 0, -2e6, 1e7])
    Z = with_constant(X)
    weight = np.arange(80) % 3
    train = np.repeat(np.arange(80), weight)
    rows = np.vstack([Z[train], alpha**0.5 * np.eye(7)])
    expected = np.linalg.lstsq(rows, np.vstack([Y[train], np.zeros((7, 7))]), rcond=None)[0]
    for model in (BinaryRelevance(alpha), PLST(alpha=alpha, reference="zero")):
        got = model.fit(X, Y, sample_weight=weight).decision_function(X)
        np.testing.assert_allclose(got, Z @ expected, rtol=0, atol=1e-8)
        got = next(fit_splits(model, X, Y, [train])).decision_function(X)
        np.testing.assert_allclose(got, Z @ expected, rtol=0, atol=1e-8)


def test_no_penalty_on_dependent_columns_is_the_least_norm(labelled):
    X, Y = labelled
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.ones(80)])
    model = BinaryRelevance(alpha=0.0).fit(X, Y)
    expected = np.linalg.lstsq(with_constant(X), Y, rcond=1e-10)[0]
    np.testing.assert_allclose(model.coef_.T, expected[1:], atol=1e-7)
    np.testing.assert_allclose(model.intercept_, expected[0], atol=1e-7)


# Identities --------------------------------------------------------------------------------------


def test_all_axes_about_zero_are_binary_relevance(labelled):
    X, Y = labelled
    expected = BinaryRelevance().fit(X, Y).decision_function(X)
    for model in (
        PLST(7, reference="zero"),
        PLST(reference="zero"),
        PartialBinaryRelevance(7),
        PartialBinaryRelevance(reference="zero"),
        LinearLabelSpaceTransform(),
    ):
        got = model.fit(X, Y).decision_function(X)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.01, 5.0])
@pytest.mark.parametrize(
    "model",
    [PLST(), CPLST(), PartialBinaryRelevance(reference="mean")],
    ids=["plst", "cplst", "br"],
)
def test_all_axes_about_the_mean_differ_by_the_shrunken_constant(model, alpha, labelled):
    """The constant is penalised and the mean is not: scores differ by a z'(Z'Z + aI)^-1 e_1 o."""
    X, Y = labelled
    Z = with_constant(X)
    unit = np.eye(Z.shape[1])[0]
    shrunk = alpha * Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(len(unit)), unit)
    full = BinaryRelevance(alpha).fit(X, Y).decision_function(X)
    got = model.set_params(alpha=alpha).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(got - full, np.outer(shrunk, Y.mean(axis=0)), atol=1e-10)
    assert np.abs(got - full).max() > 1e-5


def test_estimators_are_cases_of_the_linear_transform(labelled):
    X, Y = labelled
    for model in (*LINEAR.values(), CompressedSensing(5, 2, random_state=0, alpha=0.3)):
        model = model.fit(X, Y)
        code = model.components_
        code = code.toarray() if sparse.issparse(code) else code
        case = LinearLabelSpaceTransform(code, None, reference=model.offset_, alpha=0.3)
        if isinstance(model, CompressedSensing):
            case.set_params(decode=model.decode_scores)
        np.testing.assert_allclose(
            case.fit(X, Y).decision_function(X), model.decision_function(X), atol=1e-9
        )


def test_labels_that_are_not_drawn_stay_at_the_reference(labelled):
    X, Y = labelled
    Y[:, 2] = 1
    for reference, scores in (("absent", np.zeros(7)), ("mean", Y.mean(axis=0))):
        model = PartialBinaryRelevance(2, reference, random_state=0).fit(X, Y)
        other = np.setdiff1d(np.arange(7), model.drawn_)
        assert len(model.drawn_) == 2
        got = model.decision_function(X)
        np.testing.assert_allclose(got[:, other], np.tile(scores[other], (80, 1)), atol=1e-15)
        np.testing.assert_array_equal(
            model.predict(X)[:, other], np.tile(scores[other] > 0.5, (80, 1))
        )
        if reference == "absent":
            full = BinaryRelevance().fit(X, Y).decision_function(X)[:, model.drawn_]
            np.testing.assert_allclose(got[:, model.drawn_], full, atol=1e-10)
    draws = {tuple(PartialBinaryRelevance(2, random_state=s).fit(X, Y).drawn_) for s in range(9)}
    assert len(draws) > 4


# Axes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["mean", "zero"])
@pytest.mark.parametrize("weighted", [False, True])
def test_encoding_error_is_that_of_the_best_approximation(reference, weighted, labelled, rng):
    """Eckart & Young: the tail of the squared singular values."""
    X, Y = labelled
    weight = rng.random(80) + 0.1 if weighted else np.ones(80)
    offset = np.average(Y, axis=0, weights=weight) if reference == "mean" else np.zeros(7)
    values = np.linalg.svd(np.sqrt(weight)[:, None] * (Y - offset), compute_uv=False)
    for n in range(1, 8):
        model = PLST(n, reference=reference).fit(X, Y, sample_weight=weight)
        decoded = model.decode_scores(model.encode_labels(Y))
        error = sum_of_squares(np.sqrt(weight)[:, None] * (Y - decoded))
        assert error == pytest.approx(sum_of_squares(values[n:]), rel=1e-9, abs=1e-10)
        np.testing.assert_allclose(model.singular_values_, values[:n], atol=1e-9)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(n), atol=1e-10)


def test_random_subspace_finds_the_axes(labelled, monkeypatch, rng):
    X, _ = labelled
    groups = rng.random((80, 6)) < 0.3
    Y = np.repeat(groups, 50, axis=1) & (rng.random((80, 300)) < 0.9)
    weight = rng.random(80) + 0.5
    exact = PLST(6).fit(X, Y, sample_weight=weight)
    monkeypatch.setattr("rankwise.labels.multi_label.plst.EXACT_UP_TO", 100)
    model = PLST(6, random_state=0).fit(X, sparse.csr_array(Y), sample_weight=weight)
    np.testing.assert_allclose(model.singular_values_, exact.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(X), rtol=1e-6, atol=1e-6
    )
    again = PLST(6, random_state=0).fit(X, sparse.csr_array(Y), sample_weight=weight)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_conditional_axes_minimise_encoding_and_regression_error(labelled, rng):
    """Against random axes and those of PLST: what CPLST minimises is least for CPLST."""
    X, Y = labelled
    centred = Y - Y.mean(axis=0)

    def objective(axes):
        coef = closed_form(X, centred @ axes.T, 0.3)
        fitted = with_constant(X) @ coef
        return (
            sum_of_squares(centred - centred @ axes.T @ axes)
            + sum_of_squares(fitted - centred @ axes.T)
            + 0.3 * sum_of_squares(coef)
        )

    model = CPLST(3, alpha=0.3).fit(X, Y)
    least = objective(model.components_)
    total = sum_of_squares(centred)
    assert least == pytest.approx(total - model.fitted_values_.sum(), rel=1e-9)
    assert least < objective(PLST(3, alpha=0.3).fit(X, Y).components_)
    for _ in range(20):
        assert least <= objective(np.linalg.qr(rng.normal(size=(7, 3)))[0].T) + 1e-9


@pytest.mark.parametrize("most", [0, 2**25])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("model", [PLST(3, 0.3), CPLST(3, 0.3)], ids=["plst", "cplst"])
def test_codes_are_regressed_by_the_closed_form(model, shape, most, labelled, rng, monkeypatch):
    """By way of the products with the labels or of encoded rows; fewer rows than columns too."""
    monkeypatch.setattr("rankwise.labels.multi_label.label_space.MOST_PRODUCTS", most)
    X, Y = labelled
    X = X if shape == "tall" else rng.normal(size=(80, 100))
    weight = rng.random(80)
    model.fit(X, Y, sample_weight=weight)
    centred = Y - np.average(Y, axis=0, weights=weight)
    axes = model.components_
    expected = closed_form(X, centred @ axes.T, 0.3, weight)
    np.testing.assert_allclose(model.coef_.T, expected[1:], rtol=1e-8, atol=1e-10)
    if isinstance(model, CPLST):
        fitted = with_constant(X) @ closed_form(X, centred, 0.3, weight)
        products = centred.T @ (weight[:, None] * fitted)
        np.testing.assert_allclose(
            axes @ products @ axes.T, np.diag(model.fitted_values_), atol=1e-8
        )
        largest = np.linalg.eigvalsh((products + products.T) / 2)[::-1][:3]
        np.testing.assert_allclose(model.fitted_values_, largest, rtol=1e-8)


def test_fewer_components_are_a_prefix(labelled):
    X, Y = labelled
    staged = PLST(6).fit(X, Y).staged_decision_function(X, [1, 4, 6])
    for n, scores in zip([1, 4, 6], staged, strict=True):
        np.testing.assert_allclose(scores, PLST(n).fit(X, Y).decision_function(X), atol=1e-9)


# Bound -------------------------------------------------------------------------------------------


def predicted_codes(model, X):
    if model.estimator is None:
        return X @ model.coef_.T + model.intercept_
    return np.column_stack([regressor.predict(X) for regressor in model.regressors_])


@pytest.mark.parametrize("seed", range(5))
def test_hamming_loss_is_bounded_by_encoding_and_prediction_error(seed, labelled):
    """K HL / 4 <= |r - h|^2 + |(I - P'P)(y - o)|^2 for every row, P with orthonormal rows."""
    X, Y = labelled
    rng = np.random.default_rng(seed)
    base = DecisionTreeRegressor(max_depth=3, random_state=seed)
    for model in (
        PLST(3), CPLST(2), PartialBinaryRelevance(3, "mean", random_state=seed),
        PLST(4, reference="zero", estimator=base),
        PLST(2, estimator=Ridge(10.0 ** rng.integers(-3, 4))),
    ):  # fmt: skip
        model.fit(X[:50], Y[:50])
        codes, true = predicted_codes(model, X), model.encode_labels(Y)
        encoding = (Y - model.decode_scores(true)) ** 2
        bound = ((codes - true) ** 2).sum(axis=1) + encoding.sum(axis=1)
        wrong = (model.predict(X) != Y).sum(axis=1)
        assert (wrong / 4 <= bound + 1e-12).all()
        squared = ((model.decision_function(X) - Y) ** 2).sum(axis=1)
        np.testing.assert_allclose(bound, squared, atol=1e-10)  # the two errors are orthogonal


def test_the_bound_is_sharp():
    """All labels relevant and all scores one half: every label is wrong by exactly one half."""
    X, Y = np.zeros((4, 1)), np.array([[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]])
    model = PLST(1).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), np.full((4, 3), 0.5))
    codes, true = predicted_codes(model, X), model.encode_labels(Y)
    bound = 4 / 3 * ((codes - true) ** 2).sum(axis=1)
    loss = (model.predict(X) != Y).mean(axis=1)
    np.testing.assert_allclose(loss[:2], bound[:2], rtol=1e-12)
    assert loss[0] == 1.0


# Bases -------------------------------------------------------------------------------------------


def test_any_regressor_is_a_base(labelled):
    X, Y = labelled
    ridge = PLST(3, alpha=2.0).fit(X, Y)
    without_constant = Ridge(alpha=2.0, fit_intercept=False)
    rows = with_constant(X)
    model = PLST(3, estimator=without_constant).fit(rows, Y)
    assert len(model.regressors_) == 1  # several outputs at once
    np.testing.assert_allclose(model.decision_function(rows), ridge.decision_function(X), atol=1e-9)
    elm = make_pipeline(RandomNodes(n_nodes=30, random_state=0), Ridge(0.01))
    for base, n_models in (
        (elm, 1), (KNeighborsRegressor(3), 1), (PointwiseELM(n_nodes=30, random_state=0), 3),
    ):  # fmt: skip
        model = PLST(3, estimator=base).fit(X, Y)
        assert len(model.regressors_) == n_models
        assert not hasattr(model, "coef_")
        assert model.score(X, Y) > -0.25
    nodes = elm[0].fit(X).transform(X)
    np.testing.assert_allclose(
        BinaryRelevance(estimator=elm).fit(X, Y).decision_function(X),
        Ridge(0.01).fit(nodes, Y).predict(nodes),
        atol=1e-9,
    )


def double(codes):
    """A decoder that a model file can name."""
    return 2 * codes


def test_models_with_a_base_or_a_decoder_can_be_saved(labelled, tmp_path):
    X, Y = labelled
    elm = make_pipeline(RandomNodes(n_nodes=10, random_state=0), Ridge(0.01))
    decoded = LinearLabelSpaceTransform(decode=double)
    for model, trusted in ((PLST(3, estimator=elm), []), (decoded, [double])):
        path = model.fit(X, Y).save(tmp_path / "model")
        again = rankwise.load(path, trusted=trusted)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_weights_go_to_the_base(labelled, rng):
    X, Y = labelled
    weight = rng.integers(0, 3, 80)
    again = np.repeat(np.arange(80), weight)
    for base in (LinearRegression(), PointwiseELM(n_nodes=5, random_state=0)):
        model = BinaryRelevance(estimator=base)
        expected = model.fit(X[again], Y[again]).decision_function(X)
        got = model.fit(X, Y, sample_weight=weight).decision_function(X)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(
        TypeError,
        match=r"estimator must accept sample_weight, but KNeighborsRegressor\.fit does not",
    ):
        BinaryRelevance(estimator=KNeighborsRegressor()).fit(X, Y, sample_weight=weight)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PLST(8), "n_components must be at most 7 for these labels, got 8"),
        (CPLST(8), "n_components must be at most 7"),
        (CompressedSensing(9), "n_components must be at most 8"),
        (PartialBinaryRelevance(9), "n_labels must be at most 7"),
        (LinearLabelSpaceTransform(np.eye(6)), r"encode must have shape \('n_codes', 7\), got"),
        (LinearLabelSpaceTransform(None, np.ones((2, 7))), r"decode must have shape \(7, 7\), got"),
        (LinearLabelSpaceTransform(reference=[np.inf] * 7), "reference must be finite"),
        (LinearLabelSpaceTransform(decode=np.sum), r"decode must return scores of shape \(80, 7\)"),
        (PLST(2, estimator=LogisticRegression()), r"must be a regressor, .* got LogisticReg"),
        (PLST(alpha=-1.0), "'alpha' parameter of PLST must be a float in the range"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(model, message, labelled):
    X, Y = labelled
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y).predict(X)


def test_wrong_calls_are_named(labelled):
    X, Y = labelled
    model = PLST(3).fit(X, Y)
    with pytest.raises(ValueError, match=r"codes must have a column for each of the 3 codes, got"):
        model.decode_scores(np.ones((2, 7)))
    for wrong in (4, -1, 1.5):
        with pytest.raises(ValueError, match=f"n_components must hold .* 0 to 3, .* got {wrong}"):
            model.staged_decision_function(X, [2, wrong])
    with pytest.raises(ValueError, match=r"Y must hold 0 and 1 only, got '[01]' at row 0, label 0"):
        model.fit(X, Y.astype(str).astype(object))
