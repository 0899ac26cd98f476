"""The one fit of searched estimators: what it publishes, forgets and warns of."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rankwise
from rankwise import (
    CLSRRank,
    ELMRank,
    LSRRank,
    LSSVRanker,
    MPRank,
    OrdinalSVM,
    PairRanker,
    PairwiseELM,
    PointwiseELM,
    PolyOrdinalSVM,
    ProportionalOdds,
    PrunedRankSVM,
    RankLR,
    RankRLS,
    RankSVM,
    RidgeRanker,
    SVRank,
    SVRRanker,
)
from rankwise.features.score_expansions import EXPANSIONS
from rankwise.streams import stream


@pytest.fixture
def rows(rng):
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=60)), -1, 1) + 1.0, qid


@pytest.mark.parametrize(
    "estimator",
    [
        RankSVM(C=100.0, tol=1e-12, max_iter=1),
        PairRanker("logistic", C=100.0, tol=1e-12, max_iter=1),
        SVRank(lam=1e-4, max_iter=1),
        SVRRanker("linear", C=100.0, max_iter=1),
        RankRLS("rbf", approximation="pcg", n_landmarks=2, max_iter=1, random_state=0),
        OrdinalSVM(C=100.0, max_iter=1),
        PolyOrdinalSVM(C=100.0, max_iter=1, solver="descent"),
        ProportionalOdds(C=100.0, max_iter=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_warnings_name_the_class_and_the_line_of_the_user(estimator, rows):
    X, y, qid = rows
    with pytest.warns(ConvergenceWarning) as record:
        estimator.fit(X, y, qid=qid)
    (warning,) = [w for w in record if issubclass(w.category, ConvergenceWarning)]
    assert str(warning.message).startswith(f"{type(estimator).__name__} stopped after ")
    assert warning.filename == __file__


def test_a_fit_learns_nothing_from_the_one_before_it(rows):
    X, y, qid = rows
    model = ProportionalOdds(np.inf).fit(X, y, qid=qid)
    assert len(model.standard_errors_) == 5
    model.set_params(C=1.0).fit(X, y, qid=qid)
    assert "standard_errors_" not in vars(model)
    ranker = RankSVM([0.1, 1.0], kernel="rbf").fit(X, y, qid=qid)
    ranker.set_params(C=1.0, kernel="linear").fit(X, y, qid=qid)
    for name in ("cv_results_", "dual_coef_", "X_fit_", "kernel_"):
        assert not hasattr(ranker, name)


def test_a_subclass_keeps_what_it_sets_before_the_fit(rows):
    class Noted(RankSVM):
        def fit(self, X, y, **options):
            self.seen_ = len(X)
            return super().fit(X, y, **options)

    X, y, qid = rows
    assert Noted().fit(X, y, qid=qid).seen_ == 60


FORMS = {
    "LinearExpansion": RidgeRanker(),
    "LinearKernelExpansion": SVRRanker("linear"),
    "ProductsExpansion": RankLR(degree=2),
    "NodeExpansion": ELMRank(10, n_draws=2, random_state=0),
    "LandmarkExpansion": RankRLS("rbf", approximation="nystroem", n_landmarks=9, random_state=0),
    "PrecomputedExpansion": LSSVRanker("precomputed"),
    "SupportExpansion": PairwiseELM(kernel="rbf"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_one_object_with_scores(name, rows):
    X, y, qid = rows
    X = X @ X.T if name == "PrecomputedExpansion" else X
    ranker = FORMS[name].fit(X, y, qid=qid)
    assert type(ranker.expansion_).__name__ == name
    np.testing.assert_array_equal(ranker.expansion_.scores(X), ranker.predict(X))


def test_every_form_is_listed():
    assert FORMS.keys() == {cls.__name__ for cls in EXPANSIONS}


def test_public_attributes_read_and_set_the_expansion(rows):
    X, y, qid = rows
    ranker = RidgeRanker().fit(X, y, qid=qid)
    assert ranker.coef_ is ranker.expansion_.coef
    with pytest.raises(AttributeError, match="'RidgeRanker' object has no attribute 'dual_coef_'"):
        ranker.dual_coef_  # noqa: B018
    with pytest.raises(AttributeError, match="'RidgeRanker' object has no attribute 'coef_'"):
        RidgeRanker().coef_  # noqa: B018
    ranker.coef_ = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(ranker.predict(X), X[:, 0] + ranker.intercept_)


def test_extreme_targets_of_a_stream_are_those_of_a_fit_in_memory(rng):
    X, qid = rng.normal(size=(9000, 2)), np.repeat(np.arange(90), 100)
    y = 1e100 * np.round(X[:, 0] + 2.0)
    whole = RidgeRanker().fit(X, y, qid=qid)
    chunks = [(X[lo : lo + 3000], y[lo : lo + 3000], qid[lo : lo + 3000]) for lo in (0, 3000, 6000)]
    streamed = RidgeRanker().fit(stream(chunks))
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-9)


def test_searched_estimators_have_no_fit_of_their_own():
    own = [RankSVM, RankLR, PrunedRankSVM, PairRanker, SVRank, SVRRanker, MPRank, LSRRank,
           LSSVRanker, CLSRRank, RankRLS, RidgeRanker, PairwiseELM, PointwiseELM, OrdinalSVM,
           PolyOrdinalSVM, ProportionalOdds]  # fmt: skip
    assert [cls.__name__ for cls in own if "fit" in vars(cls)] == []


def test_searches_are_made_in_one_file():
    package = Path(rankwise.__file__).parent
    found = [
        path for path in package.rglob("*.py") if "PenaltySearch.of(" in path.read_text("utf-8")
    ]
    assert [path.name for path in found] == ["equation.py"]
