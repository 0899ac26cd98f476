"""Ways in which kernel rankers choose their penalty and width."""

import itertools
from functools import partial

import numpy as np
import pytest

from rankwise import (
    CLSRRank,
    LSRRank,
    LSSVRanker,
    MPRank,
    OrdinalSVM,
    PairRanker,
    PairwiseELM,
    PointwiseELM,
    PrunedRankSVM,
    RankLR,
    RankRLS,
    RankSVM,
    SVRank,
    SVRRanker,
)
from rankwise.metrics import evaluate
from tests.common.estimators import with_default_grid
from tests.rankers.kernel.kernel_cases import GAMMA, GRID, rows, skewed


def held_out_means(make, X, y, qid, folds, measure="MSD"):
    values = np.empty((len(folds), len(GRID)))
    for (f, fold), (k, value) in itertools.product(enumerate(folds), enumerate(GRID)):
        train = np.setdiff1d(np.arange(len(y)), fold)
        model = make(value).fit(X[train], y[train], qid=qid[train])
        scores = model.predict(X[fold])
        values[f, k] = evaluate(y[fold], scores, qid[fold], [measure])[measure]
    return values


FAMILY = {
    "LSRRank": lambda lam: LSRRank(gamma=GAMMA, lam=lam, measure="MSD"),
    "LSRRank linear": lambda lam: LSRRank("linear", lam=lam, measure="MSD"),
    "LSRRank query": lambda lam: LSRRank(gamma=GAMMA, lam=lam, measure="MSD", query_weight="query"),
    "CLSRRank": lambda lam: CLSRRank(skewed, lam=lam, measure="MSD"),
    "RankRLS": lambda alpha: RankRLS("rbf", gamma=GAMMA, alpha=alpha, measure="MSD"),
    "RankRLS distinct": lambda alpha: RankRLS(
        "rbf", gamma=GAMMA, alpha=alpha, measure="MSD", graph="distinct"
    ),
    "LSSVRanker": lambda C: LSSVRanker(gamma=GAMMA, C=C, measure="MSD"),
    "PointwiseELM": lambda C: PointwiseELM(kernel="rbf", gamma=GAMMA, C=C, measure="MSD"),
}


@pytest.mark.parametrize("name", FAMILY)
def test_leave_one_query_out_equals_refits(name):
    X, y, qid = rows()
    model = FAMILY[name]("loqo")
    with_default_grid(model, GRID)
    model.fit(X, y, qid=qid)
    folds = [np.flatnonzero(qid == query) for query in dict.fromkeys(qid)]
    order = [GRID.index(value) for value in next(iter(model.path_.values()))]
    expected = held_out_means(FAMILY[name], X, y, qid, folds)[:, order]
    np.testing.assert_allclose(model.cv_results_["fold_test_scores"], expected, atol=1e-9)


@pytest.mark.parametrize("name", FAMILY)
def test_search_over_splits_equals_refits(name):
    X, y, qid = rows()
    folds = [np.flatnonzero(qid == query) for query in (0, 3)]
    model = FAMILY[name](GRID)
    model.cv = [(np.setdiff1d(np.arange(len(y)), fold), fold) for fold in folds]
    model.fit(X, y, qid=qid)
    order = [GRID.index(value) for value in next(iter(model.path_.values()))]
    expected = held_out_means(FAMILY[name], X, y, qid, folds)[:, order]
    np.testing.assert_allclose(model.cv_results_["fold_test_scores"], expected, atol=1e-9)


@pytest.mark.parametrize("name", FAMILY)
def test_folds_are_those_of_the_other_rankers(name):
    X, y, qid = rows()
    for groups in (qid, None):
        model = FAMILY[name](GRID).fit(X, y, qid=groups)
        reference = PairwiseELM(5, C=GRID, measure="MSD", random_state=0).fit(X, y, qid=groups)
        assert model.cv_results_["fold_test_scores"].shape == (5, 3)
        assert reference.cv_results_["fold_test_scores"].shape == (5, 3)
        again = FAMILY[name](GRID).fit(X[::-1], y[::-1], qid=None if groups is None else qid[::-1])
        np.testing.assert_allclose(
            again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"], rtol=1e-9
        )


def test_leave_pair_out_equals_refits():
    X, y, qid = rows(n=14)
    for name in ("LSRRank", "LSRRank linear", "RankRLS distinct", "LSSVRanker"):
        model = FAMILY[name]("lpo")
        with_default_grid(model, GRID)
        model.fit(X, y, qid=qid)
        for k, value in enumerate(next(iter(model.path_.values()))):
            per_query = []
            for query in np.unique(qid):
                members = np.flatnonzero(qid == query)
                wrong = [
                    float(np.subtract(*FAMILY[name](value).fit(X[rest], y[rest], qid=qid[rest])
                                      .predict(X[[i, j]])) < 0)
                    for i, j in itertools.permutations(members, 2)
                    if y[i] > y[j] and len(rest := np.setdiff1d(np.arange(len(y)), [i, j]))
                ]  # fmt: skip
                if wrong:
                    per_query.append(np.mean(wrong))
            np.testing.assert_allclose(
                model.cv_results_["mean_test_score"][k], np.mean(per_query), atol=1e-9
            )


def test_width_and_penalty_are_searched_together():
    X, y, qid = rows()
    gammas = [0.1, 1.0, 10.0]
    model = LSRRank(gamma=gammas, lam=GRID, measure="MSD").fit(X, y, qid=qid)
    alone = [LSRRank(gamma=g, lam=GRID, measure="MSD").fit(X, y, qid=qid) for g in gammas]
    means = np.concatenate([m.cv_results_["mean_test_score"] for m in alone])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], means)
    np.testing.assert_array_equal(model.cv_results_["gamma"], np.repeat(gammas, 3))
    best = alone[int(np.argmin(means)) // 3]
    assert (model.gamma_, model.lam_) == (best.gamma_, best.lam_)
    np.testing.assert_allclose(model.predict(X), best.predict(X))
    fixed = LSRRank(gamma="cv", lam=0.01, measure="MSD").fit(X, y, qid=qid)
    assert len(fixed.cv_results_["gamma"]) == 7


@pytest.mark.parametrize("make", [
    lambda lam: CLSRRank(lam=lam, measure="MSD"),
    lambda lam: LSRRank("linear", lam=lam, measure="MSD"),
    lambda lam: LSRRank(
        lam=lam, measure="MSD", approximation="nystroem", n_landmarks=9, random_state=0
    ),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_validation_data_choose(make, dtype):
    X, y, qid = rows()
    X_val, y_val, qid_val = rows(seed=5)
    X, X_val = X.astype(dtype), X_val.astype(dtype)
    model = make("val")
    with_default_grid(model, GRID)
    model.fit(X, y, qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val)
    values = []
    for lam in GRID:
        scores = make(lam).fit(X, y, qid=qid).predict(X_val)
        values.append(evaluate(y_val, scores, qid_val, ["MSD"])["MSD"])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], values, rtol=1e-6)
    assert model.lam_ == GRID[int(np.argmin(values))]


OFFERED = {
    "LSRRank": (LSRRank, "lam", ["cv", "loqo", "lpo", "val"]),
    "CLSRRank": (CLSRRank, "lam", ["cv", "loqo", "val"]),
    "MPRank": (partial(MPRank, "rbf"), "lam", ["cv", "loqo", "lpo", "val"]),
    "RankRLS": (partial(RankRLS, "rbf"), "alpha", ["cv", "loqo", "lpo", "val"]),
    "LSSVRanker": (LSSVRanker, "C", ["cv", "loqo", "lpo", "val"]),
    "PairwiseELM": (partial(PairwiseELM, kernel="rbf"), "C", ["cv", "loqo", "lpo", "val"]),
    "PointwiseELM": (partial(PointwiseELM, kernel="rbf"), "C", ["cv", "loqo", "lpo", "val"]),
    "RankSVM": (partial(RankSVM, kernel="rbf"), "C", ["cv", "val"]),
    "PrunedRankSVM": (partial(PrunedRankSVM, kernel="rbf", random_state=0), "C", ["cv", "val"]),
    "RankLR": (partial(RankLR, kernel="rbf"), "C", ["cv", "val"]),
    "PairRanker": (partial(PairRanker, features="rbf"), "C", ["cv", "val"]),
    "SVRank": (SVRank, "lam", ["cv", "val"]),
    "SVRRanker": (SVRRanker, "C", ["cv", "val"]),
    "OrdinalSVM": (partial(OrdinalSVM, "rbf"), "C", ["cv", "val"]),
}


@pytest.mark.parametrize("name", OFFERED)
def test_words_that_search_the_penalty_search_the_width(name):
    make, penalty, offered = OFFERED[name]
    X, y, qid = rows()
    y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    validation = {"X_val": X[:9], "y_val": y[:9], "qid_val": qid[:9]}
    options = {} if name == "OrdinalSVM" else {"measure": "MSD"}
    for way in offered:
        given = validation if way == "val" else {}
        alone = make(gamma=way, cv=2, **{penalty: 0.1}, **options).fit(X, y, qid=qid, **given)
        both = make(gamma=way, cv=2, **{penalty: way}, **options)
        both = with_default_grid(both, [0.1]).fit(X, y, qid=qid, **given)
        assert len(set(alone.cv_results_["gamma"].tolist())) == 7
        for key, values in both.cv_results_.items():
            np.testing.assert_array_equal(alone.cv_results_[key], values)
        assert alone.gamma_ == both.gamma_
    with pytest.raises(ValueError, match='gamma="grid" is now gamma="cv", or "val"'):
        make(gamma="grid").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match='gamma="val" needs validation data'):
        make(gamma="val").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=f"{penalty} and gamma must be searched in one way"):
        make(gamma="val", **{penalty: "cv"}).fit(X, y, qid=qid, **validation)
    for way in [way for way in ("loqo", "lpo") if way not in offered]:
        with pytest.raises(ValueError, match=f"gamma must be .*{', '.join(offered)}; got '{way}'"):
            make(gamma=way).fit(X, y, qid=qid)
