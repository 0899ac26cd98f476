"""``predict_proba`` of ordinal estimators: calibrated where the model has scores alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score

import rankwise
from rankwise import (
    AggregatePRank,
    ORBoost,
    OrdinalSVM,
    PolyOrdinalSVM,
    PRank,
    ProportionalOdds,
    RankingForest,
    RankingTree,
    VotedPRank,
    WidrowHoff,
)
from rankwise.datasets import load_ordinal
from rankwise.persistence import ModelFileError

ON_REQUEST = {
    "boosting": ORBoost(n_estimators=30),
    "boosted perceptrons": ORBoost(n_estimators=5, estimator="perceptron", random_state=0),
    "kernel": OrdinalSVM("rbf"),
    "linear": PolyOrdinalSVM(degree=1),
    "prank": PRank(n_epochs=5, random_state=0),
    "voted": VotedPRank(random_state=0),
    "averaged": AggregatePRank(random_state=0),
    "voting": AggregatePRank("vote", random_state=0),
    "widrow-hoff": WidrowHoff(learning_rate=0.01, random_state=0),
}
GRADES = ["poor", "fair", "good", "best"]  # sorted: best, fair, good, poor

every = pytest.mark.parametrize("name", ON_REQUEST)


def asked(name, **params):
    return clone(ON_REQUEST[name]).set_params(probability=True, **params)


@pytest.fixture
def graded(rng):
    X = rng.normal(size=(200, 3))
    latent = X[:, 0] + X[:, 1] + rng.logistic(scale=0.3, size=200)
    return X, np.digitize(latent, [-1.0, 0.0, 1.0]), np.arange(200) // 8


# What there is ------------------------------------------------------------------------------------


@every
def test_there_are_none_unless_asked_for(name, graded):
    X, y, _ = graded
    model = clone(ON_REQUEST[name]).fit(X, y)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
    with pytest.raises(AttributeError) as raised:
        model.predict_proba(X)
    assert "needs probability=True, got probability=False" in str(raised.value.__cause__)
    with pytest.raises(NotFittedError, match=r"was fitted with probability=False\. Fit it again"):
        model.set_params(probability=True).predict_proba(X)
    with pytest.raises(NotFittedError):
        asked(name).predict_proba(X)
    assert not hasattr(asked(name).fit(X, y).set_params(probability=False), "predict_proba")


@every
def test_are_a_distribution_that_rises_with_the_score(name, graded):
    X, y, qid = graded
    model, plain = asked(name).fit(X, y, qid=qid), clone(ON_REQUEST[name]).fit(X, y, qid=qid)
    shares = model.predict_proba(X)
    assert shares.shape == (200, 4)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    order = np.argsort(model.rank_score(X))
    assert (np.diff(shares[order].cumsum(axis=1), axis=0) <= 1e-12).all()
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares))
    assert np.corrcoef(shares @ np.arange(4), y)[0, 1] > 0.6
    # The model itself is that without probabilities.
    np.testing.assert_array_equal(model.rank_score(X), plain.rank_score(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("native", [ProportionalOdds(), RankingTree(max_depth=2)])
def test_logarithms_of_native_ones(native, graded):
    X, y, _ = graded
    model = native.fit(X, y)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


# Calibration on real rows -------------------------------------------------------------------------

SETS = {"swd": 0.9, "lev": 0.87, "car": 0.8}  # most of the classes' Brier score that is left


def brier(shares, codes):
    return ((shares - np.eye(shares.shape[1])[codes]) ** 2).sum(axis=1).mean()


def farthest_share(shares, codes, n_bins=5):
    """Largest distance of the rows up to a class in a bin from those predicted, in deviations.

    Those of the binomial law of the rows, and as many for the rows that the model learnt from.
    """
    distances = []
    for k, below in enumerate(shares.cumsum(axis=1)[:, :-1].T):
        for rows in np.array_split(np.argsort(below, kind="stable"), n_bins):
            p = below[rows]
            deviation = np.sqrt(2.0 * max((p * (1 - p)).sum(), 0.25))
            distances.append(max(abs((codes[rows] <= k).sum() - p.sum()) - 0.5, 0) / deviation)
    return max(distances)


@pytest.fixture(scope="module")
def real_rows(data_root):
    """Half of the rows to train on, standardised; nominal columns of numbers that have an order."""
    found = {}
    for name in SETS:
        data = load_ordinal(name)
        rows = np.random.default_rng(0).permutation(len(data.y))
        train, test = np.array_split(rows, 2)
        X = (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
        found[name] = X[train] / 3, data.y[train], X[test] / 3, data.y[test]
    return found


CALIBRATED = {
    **{name: asked(name) for name in ON_REQUEST if name != "boosted perceptrons"},
    # Nearly an interpolation of its rows: what it says of these tells nothing of others.
    "overfitted kernel": OrdinalSVM("rbf", gamma=5.0, C=10.0, probability=True),
    "proportional odds": ProportionalOdds(),
    "forest": RankingForest(50, min_samples_leaf=10, n_jobs=1, random_state=0),
}


@pytest.mark.parametrize(
    ("data", "name"),
    # Leaves of ten rows are too large for car, which is nearly a function of its columns.
    [(data, name) for data in SETS for name in CALIBRATED if (data, name) != ("car", "forest")],
)
def test_are_calibrated_on_real_rows(data, name, real_rows):
    X, y, X_test, y_test = real_rows[data]
    shares = CALIBRATED[name].fit(X, y).predict_proba(X_test)
    of_classes = np.tile(np.bincount(y) / len(y), (len(y_test), 1))
    assert brier(shares, y_test) < SETS[data] * brier(of_classes, y_test)
    assert farthest_share(shares, y_test) < 4


# What may be passed -------------------------------------------------------------------------------


@every
def test_names_of_classes_and_forms_of_rows(name, graded):
    pd = pytest.importorskip("pandas")
    X, y, qid = graded
    expected = asked(name).fit(X, y, qid=qid).predict_proba(X)
    words = np.array(GRADES)[y]
    named = asked(name, classes=GRADES).fit(X, words, qid=qid)
    assert named.classes_.tolist() == GRADES
    np.testing.assert_array_equal(named.predict_proba(X), expected)
    frame = pd.DataFrame(X, columns=list("abc"))
    of_frame = asked(name).fit(frame, y, qid=qid)
    np.testing.assert_array_equal(of_frame.predict_proba(frame), expected)
    of_sparse = asked(name).fit(sparse.csr_array(X), y, qid=qid)
    # Kernel values of sparse rows differ in their last bits, and OrdinalSVM stops within tol=1e-3.
    np.testing.assert_allclose(of_sparse.predict_proba(sparse.csr_array(X)), expected, atol=1e-3)


@pytest.mark.parametrize("name", ["boosting", "kernel", "linear"])
@pytest.mark.parametrize("with_qid", [False, True])
def test_weights_are_repetition_and_order_does_not_matter(name, with_qid, graded, rng):
    X, y, qid = (part[:120] for part in graded)
    weight = rng.integers(0, 3, 120)
    rows = rng.permutation(np.repeat(np.arange(120), weight))
    one = asked(name).fit(X, y, qid=qid if with_qid else None, sample_weight=weight)
    other = asked(name).fit(X[rows], y[rows], qid=qid[rows] if with_qid else None)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-3)


def test_precomputed_kernel_is_the_kernel(graded):
    X, y, qid = graded
    weight = np.where(np.arange(200) % 5 == 0, 0.0, 1.0)
    gram = X @ X.T
    expected = OrdinalSVM("linear", probability=True).fit(X, y, qid=qid, sample_weight=weight)
    machine = OrdinalSVM("precomputed", probability=True)
    machine.fit(gram, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(machine.predict_proba(gram), expected.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("of", [OrdinalSVM, PolyOrdinalSVM])
def test_costs_by_row_go_with_their_rows(of, graded):
    X, y, _ = graded
    weight = np.where(np.arange(200) % 5 == 0, 0.0, 1.0)
    table = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 2.0
    by_row = of(costs=table[y], probability=True).fit(X, y, sample_weight=weight)
    by_class = of(costs="squared", probability=True).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(by_row.predict_proba(X), by_class.predict_proba(X))


@pytest.mark.parametrize("of", [OrdinalSVM, PolyOrdinalSVM])
def test_chosen_penalties_are_kept_for_the_folds(of, graded):
    X, y, qid = graded
    searched = of(C=[0.01, 1.0], tol=1e-8, probability=True).fit(X, y, qid=qid)
    given = of(C=searched.C_, tol=1e-8, probability=True).fit(X, y, qid=qid)
    np.testing.assert_allclose(searched.predict_proba(X), given.predict_proba(X), atol=1e-3)


def test_boosting_that_stops_early_or_goes_on(graded):
    X, y, qid = graded
    stopped = ORBoost(n_estimators=60, early_stopping_rounds=3, probability=True)
    stopped.fit(X[:150], y[:150], qid=qid[:150], X_val=X[150:], y_val=y[150:], qid_val=qid[150:])
    assert stopped.n_estimators_ < 60
    plain = ORBoost(n_estimators=stopped.n_estimators_, probability=True)
    plain.fit(X[:150], y[:150], qid=qid[:150])
    np.testing.assert_array_equal(stopped.predict_proba(X), plain.predict_proba(X))
    warm = ORBoost(n_estimators=10, warm_start=True, probability=True).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    whole = ORBoost(n_estimators=20, probability=True).fit(X, y)
    np.testing.assert_array_equal(warm.predict_proba(X), whole.predict_proba(X))


@every
def test_classes_of_few_rows(name, graded):
    X, y, _ = graded
    few = y.copy()
    few[few == 3] = 2
    few[:2] = 3  # fewer rows than folds
    shares = asked(name).fit(X, few).predict_proba(X)
    assert (shares[:, 3] > 0).all()
    assert shares[:, 3].mean() < 0.1
    rest = few < 3
    declared = asked(name, classes=range(4)).fit(X[rest], few[rest]).predict_proba(X)
    assert (declared[:, 3] == 0).all()
    np.testing.assert_allclose(declared.sum(axis=1), 1.0)
    tiny = asked(name).fit(X[[0, 5, 9]], [0, 1, 2]).predict_proba(X)
    np.testing.assert_allclose(tiny.sum(axis=1), 1.0)
    one_class = asked(name).fit(X[:4], [7, 7, 7, 7]).predict_proba(X[:2])
    assert one_class.tolist() == [[1.0], [1.0]]


@every
def test_one_row_is_too_few(name):
    with pytest.raises(ValueError, match="two or more rows, got n_samples=1"):
        asked(name, classes=[0, 1]).fit([[1.0]], [0])


# Around it ----------------------------------------------------------------------------------------


@every
def test_are_saved_with_the_model(name, graded, tmp_path):
    X, y, qid = graded
    model = asked(name).fit(X, y, qid=qid)
    expected = model.predict_proba(X)
    for again in (
        rankwise.load(model.save(tmp_path / "model")),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(X, y, qid=qid),
    ):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
    calibration = model.calibration_
    model.fit(X[:50], y[:50])
    assert not np.array_equal(model.predict_proba(X), expected)
    assert not hasattr(model.set_params(probability=False).fit(X, y), "calibration_")
    assert calibration.slope > 0


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("slope", -1.0), ("slope", np.nan), ("thresholds", np.zeros(2)), ("low", "0")],
)
def test_files_with_a_wrong_calibration_are_refused(attribute, value, graded, tmp_path):
    X, y, _ = graded
    model = asked("linear").fit(X, y)
    object.__setattr__(model.calibration_, attribute, value)
    with pytest.raises((ValueError, ModelFileError), match=rf"calibration_\.{attribute} must"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("name", ["prank", "voted", "averaged", "widrow-hoff"])
def test_streams_have_none(name, graded):
    X, y, _ = graded
    model = asked(name).fit(X, y)
    before = model.rank_score(X)
    with pytest.raises(
        ValueError, match=r"probability=True cannot be used with partial_fit.* Use fit, or"
    ):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.rank_score(X), before)
    model.set_params(probability=False).partial_fit(X, y)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.set_params(probability=True).predict_proba(X)
    wrapped = CalibratedClassifierCV(FrozenEstimator(model.set_params(probability=False)))
    assert wrapped.fit(X, y).predict_proba(X).shape == (200, 4)


@every
@pytest.mark.parametrize("probability", [False, True])
def test_scikit_learns_calibration_works(name, probability, graded):
    X, y, _ = graded
    model = clone(ON_REQUEST[name]).set_params(probability=probability)
    shares = CalibratedClassifierCV(model, cv=2, ensemble=False).fit(X, y).predict_proba(X)
    assert shares.shape == (200, 4)
    assert brier(shares, y) < brier(np.tile(np.bincount(y) / 200, (200, 1)), y)


def test_scorers_of_probabilities_and_routing(graded):
    X, y, qid = graded
    model = ORBoost(n_estimators=20, probability=True)
    assert cross_val_score(model, X, y, scoring="neg_log_loss", cv=2).mean() > -np.log(4)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(model, {"form": ["all", "lr"]}, scoring="neg_log_loss", cv=2)
        assert search.fit(X, y, qid=qid).predict_proba(X).shape == (200, 4)
