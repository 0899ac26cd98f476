"""Categories of boosting libraries belong to their columns, or the model is refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from rankwise import export
from rankwise.rankers.adapters.lightgbm_model import attribute_categories
from rankwise.trees.stored_boosters import BoosterError

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

N = 300
QID = np.arange(N) // 10
RNG = np.random.default_rng(0)
X = RNG.random((N, 2))
SIZE = RNG.choice([10, 20, 30], N)
CODE = RNG.integers(0, 6, N)
WORD = RNG.choice(list("pqrs"), N)
FLAG = RNG.integers(0, 2, N)
Y = (2 * X[:, 0]).astype(int) + (SIZE == 20) + np.isin(CODE, [1, 4]) + (WORD == "q") + FLAG


def frame(**columns):
    return pd.DataFrame(X, columns=["a", "b"]).assign(**columns)


def ordered(values, categories):
    return pd.Categorical(values, categories=categories, ordered=True)


def fit(table, **options):
    model = lightgbm.LGBMRanker(n_estimators=5, num_leaves=7, min_child_samples=3, n_jobs=1,
                                verbose=-1, min_data_per_group=3, cat_smooth=1.0)  # fmt: skip
    return model.fit(table, Y, group=np.full(N // 10, 10), **options)


SIZES = [30, 10, 20]
CONSTANT = pd.Categorical([7] * N)


@pytest.mark.parametrize(("table", "coded"), [
    (frame(size=ordered(SIZE, SIZES)), None),
    (frame(size=ordered(SIZE, SIZES), code=CODE), ["code"]),
    (frame(k=CONSTANT, code=CODE), ["k", "code"]),
    (frame(flag=FLAG, word=pd.Categorical(WORD)), None),
    (frame(k=pd.Categorical(["z"] * N), word=pd.Categorical(WORD)), None),
])  # fmt: skip
def test_lists_that_fit_one_column_only(table, coded):
    peer = fit(table, categorical_feature=coded or "auto")
    np.testing.assert_array_equal(rw.read_booster(peer).predict(table), peer.predict(table))


@pytest.mark.parametrize(("table", "coded", "given"), [
    (frame(flag=FLAG, size=ordered(SIZE, SIZES)), None, {"size": SIZES}),
    (frame(flag=FLAG, size=pd.Categorical(SIZE)), None, {"size": [10, 20, 30]}),
    (frame(word=ordered(WORD, list("pqrs")), code=CODE % 4), ["code"], {"word": list("pqrs")}),
])  # fmt: skip
def test_lists_that_fit_several_columns_are_refused(table, coded, given):
    peer = fit(table, categorical_feature=coded or "auto")
    with pytest.raises(BoosterError, match=r"for one of several columns. Pass categories="):
        rw.read_booster(peer)
    model = rw.read_booster(peer, categories=given)
    np.testing.assert_array_equal(model.predict(table), peer.predict(table))
    ((column, values),) = given.items()
    with pytest.raises(BoosterError, match=f"{column!r} must have the order of the file"):
        rw.read_booster(peer, categories={column: values[::-1]})


def test_ordered_columns_of_exported_files():
    table = frame(word=ordered(WORD, list("qsrp")), flag=FLAG)
    model = rw.LambdaMART(5, min_samples_leaf=3).fit(table, Y, qid=QID)
    text = export.to_lightgbm(model)
    peer = lightgbm.Booster(model_str=text)
    again = rw.read_booster(peer)
    assert again.columns_.ordered[2].tolist() == list("qsrp")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def naive_columns(listed, infos):
    """Columns of the lists in every way in which they fit."""

    def fits(info, values):
        if info == "none":
            return True
        codes = [float(code) for code in info.strip("[]").split(":")]
        is_whole = all(code == int(code) for code in codes)
        return is_whole and max(codes) < len(values) and (min(codes) >= 0 or "[" not in info)

    return [
        ways
        for ways in combinations(range(len(infos)), len(listed))
        if all(fits(infos[c], values) for c, values in zip(ways, listed, strict=True))
    ]


def test_attribution_is_that_of_all_ways():
    rng = np.random.default_rng(1)
    kinds = ["[0:1]", "[0:2]", "[0.5:1.5]", "none", "0:1", "2:0:1", "-1:0", "[-1:1]"]
    n_certain = n_doubtful = 0
    for _ in range(300):
        infos = rng.choice(kinds, rng.integers(1, 7)).tolist()
        listed = [list(range(n)) for n in rng.integers(1, 4, rng.integers(1, 4))]
        used = {column for column in range(len(infos)) if infos[column] != "none"}
        names = [f"c{column}" for column in range(len(infos))]
        ways = naive_columns(listed, infos)
        try:
            found = attribute_categories(listed, infos, used, {}, names)
        except BoosterError:
            assert len(ways) != 1
            n_doubtful += 1
            continue
        n_certain += 1
        for way in ways:
            here = {c: v for c, v in zip(way, listed, strict=True) if c in used}
            assert here == {c: v for c, v in found.items() if c in used}
    assert n_certain > 30 and n_doubtful > 30


@pytest.mark.parametrize("names", [["Schuhe", "Zubehör", "Hüte", "Möbel"], ["café", "thé"],
                                   ["日本", "中国"]])  # fmt: skip
def test_names_beyond_ascii_of_xgboost(names):
    known = sorted(names)
    words = RNG.choice(known, N)
    table = frame(word=pd.Categorical(words, categories=known))
    peer = xgboost.XGBRanker(n_estimators=5, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1)
    peer.fit(table, (words == known[0]) * 2 + (X[:, 0] > 0.5), qid=QID)
    with pytest.raises(BoosterError, match=r"\['word'\] .* letters beyond ASCII. Pass categories="):
        rw.read_booster(peer)
    model = rw.read_booster(peer, categories={"word": known})
    np.testing.assert_allclose(model.predict(table), peer.predict(table), atol=2e-6)


def test_bools_of_catboost():
    catboost = pytest.importorskip("catboost")
    table = frame(flag=FLAG.astype(bool))
    peer = catboost.CatBoostRegressor(5, verbose=0, allow_writing_files=False, thread_count=1,
                                      one_hot_max_size=5, max_ctr_complexity=0)  # fmt: skip
    peer.fit(table, Y, cat_features=["flag"])
    model = rw.read_booster(peer, categories={"flag": [False, True]})
    np.testing.assert_allclose(model.predict(table), peer.predict(table), atol=1e-13)


@pytest.mark.parametrize("missing", [-999, 0])
def test_another_missing_value_is_refused(missing, tmp_path):
    rows = np.where(X < 0.2, missing, X)
    peer = xgboost.XGBRanker(n_estimators=5, n_jobs=1, missing=missing).fit(rows, Y, qid=QID)
    with pytest.raises(BoosterError, match=f"XGBRanker: missing={missing} makes .* by NaN"):
        rw.read_booster(peer)
    with pytest.raises(BoosterError, match="get_booster"):
        export.to_ranklib(peer)
    found = rw.read_booster(peer.get_booster()).predict(np.where(X < 0.2, np.nan, X))
    np.testing.assert_allclose(found, peer.predict(rows), atol=2e-6)
