"""Model files: what goes in comes out, and damage is noticed."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

import rankwise
from rankwise import LambdaMART, PairwiseELM, RidgeRanker
from rankwise.persistence import FORMAT, HEADER, ModelFileError, describe, load, save
from rankwise.selection import DocumentKFold, QueryKFold
from tests.common.states import assert_same
from tests.persistence.model_files import rewrite


def double(X):
    """A function that a file can name."""
    return 2 * X


class Constant(RegressorMixin, BaseEstimator):
    """An estimator of the user's own."""

    def fit(self, X, y):
        self.value_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


# Round trips -------------------------------------------------------------------------------------


def test_save_is_a_method_and_a_function(model, rows, tmp_path):
    for write in (model.save, partial(rankwise.save, model)):
        path = write(str(tmp_path / "m"))
        assert path == tmp_path / "m"
        np.testing.assert_array_equal(rankwise.load(path).predict(rows[0]), model.predict(rows[0]))


def test_parameters_and_state_come_back(rows, tmp_path):
    X, y, qid = rows
    model = PairwiseELM(n_nodes=30, C=[0.1, 1.0], measure="AP", random_state=3)
    model.fit(X, y, qid=qid)
    back = load(save(model, tmp_path / "m"))
    assert back.get_params() == model.get_params()
    assert vars(back).keys() == vars(model).keys()
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.path_["coef"], model.path_["coef"])
    assert back.fit_fingerprint_ == model.fit_fingerprint_


def test_unfitted_estimators_and_generators(tmp_path):
    generator = np.random.RandomState(5)
    back = load(save(PairwiseELM(random_state=generator), tmp_path / "m"))
    assert back.random_state.randint(10**9) == np.random.RandomState(5).randint(10**9)


def test_pipelines_of_scikit_learn_parts(rows, tmp_path):
    X, y, _ = rows
    preparation = ColumnTransformer([
        ("scaled", StandardScaler(), [0]),
        ("ranked", make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=10)), [1, 2]),
    ])  # fmt: skip
    pipeline = make_pipeline(preparation, PCA(2), FunctionTransformer(np.tanh), RidgeRanker())
    back = load(save(pipeline.fit(X, y), tmp_path / "m"))
    np.testing.assert_array_equal(back.predict(X), pipeline.predict(X))


def test_own_classes_and_functions_load_when_passed(rows, tmp_path):
    X, y, _ = rows
    path = save(make_pipeline(FunctionTransformer(double), Constant()).fit(X, y), tmp_path / "m")
    with pytest.raises(
        ModelFileError, match=r"not trust: .*\.Constant, .*trusted=\[Constant, double\]"
    ):
        load(path)
    with pytest.raises(ModelFileError, match=r"does not trust: .*double"):
        load(path, trusted=[Constant])
    assert load(path, trusted=[Constant, double]).predict(X)[0] == pytest.approx(y.mean())
    for trusted in (["own.Constant"], "own.Constant", [Constant()]):
        with pytest.raises(TypeError, match=r"Import Constant and pass trusted=\[Constant\]"):
            load(path, trusted=trusted)


# What save refuses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda X: X, "a lambda"),
        (partial(np.add, 1), "a partial"),
        ("".join, None),
        (StandardScaler().fit, "a method"),
    ],
)
def test_save_refuses_what_no_file_can_name(function, what, tmp_path):
    path = tmp_path / "m"
    if what is None:  # builtin functions are left to load's list
        with pytest.raises(ModelFileError):
            load(save(FunctionTransformer(function), path))
        return
    for estimator, where in (
        (FunctionTransformer(function), "FunctionTransformer.func"),
        (PairwiseELM(kernel=function), "PairwiseELM.kernel"),
        (make_pipeline(FunctionTransformer(function)), r"Pipeline.steps\[0\]\[1\].func"),
    ):
        with pytest.raises(TypeError, match=f"{where} is {what}.*module level.*library's own"):
            save(estimator, path)
    assert not path.exists()


def test_save_refuses_local_functions(tmp_path):
    def local(X):
        return X

    with pytest.raises(TypeError, match="a function defined inside another"):
        save(FunctionTransformer(local), tmp_path / "m")


def test_save_takes_estimators_only(tmp_path):
    with pytest.raises(TypeError, match="save needs an estimator, got dict"):
        save({"a": 1}, tmp_path / "m")


def test_failed_save_keeps_the_old_file(model_file, model, monkeypatch):
    before = model_file.read_bytes()

    def full_disk(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        model.save(model_file)
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


# The header --------------------------------------------------------------------------------------


def test_describe_reads_the_header(rows, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=["bm25", "length", "pagerank"])
    model = PairwiseELM(n_nodes=20, C=np.inf, random_state=0).fit(frame, y, qid=qid)
    header = describe(model.save(tmp_path / "m"))
    assert header["format"] == FORMAT
    assert header["rankwise"] == rankwise.__version__
    assert header["estimator"] == "rankwise.PairwiseELM"
    assert header["params"]["n_nodes"] == 20
    assert header["params"]["C"] == "inf"
    assert header["feature_names"] == ["bm25", "length", "pagerank"]
    assert header["n_features"] == 3
    assert header["fingerprint"] == model.fit_fingerprint_
    assert header["fingerprint"]["n_queries"] == 4
    assert header["score_name"] == model.score_name_
    assert header["versions"]["skops"] == skops.__version__
    json.dumps(header)


def test_columns_chosen_by_their_type(rows, tmp_path):
    X, y, qid = rows
    frame = pd.DataFrame(X).rename(columns=str).assign(kind=np.where(y > y.mean(), "a", "b"))
    preparation = ColumnTransformer([
        ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
        ("texts", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
    ])  # fmt: skip
    model = make_pipeline(preparation, RidgeRanker()).fit(frame, y, ridgeranker__qid=qid)
    path = rankwise.save(model, tmp_path / "model.rankwise")
    np.testing.assert_array_equal(rankwise.load(path).predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "cv",
    [
        QueryKFold(2),
        DocumentKFold([*range(40)], 2),
        GroupKFold(2),
        GroupShuffleSplit(2, random_state=0),
        KFold(2),
    ],
)
def test_searches_are_loaded_with_their_splitters(rows, tmp_path, cv):
    X, y, qid = rows
    search = GridSearchCV(RidgeRanker(), {"alpha": [0.1, 10.0]}, cv=cv)
    with sklearn.config_context(enable_metadata_routing=True):
        groups = {} if isinstance(cv, QueryKFold | KFold) else {"groups": qid}
        search.fit(X, y, qid=qid, **groups)
        loaded = rankwise.load(rankwise.save(search, tmp_path / "search.rankwise"))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert type(loaded.cv) is type(cv)
    assert vars(loaded.cv) == vars(cv)


@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(2, shuffle=True, random_state=np.random.RandomState(0)),
        StratifiedGroupKFold(2), LeaveOneGroupOut(), LeavePGroupsOut(1), LeaveOneOut(),
        LeavePOut(1), ShuffleSplit(2, random_state=0), StratifiedShuffleSplit(2, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), TimeSeriesSplit(2),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        PredefinedSplit([0, 1] * 5), [(np.arange(5), np.arange(5, 10))], check_cv([([0], [1])]), 3,
    ],
)  # fmt: skip
def test_all_splitters_come_back(cv, tmp_path):
    search = GridSearchCV(RidgeRanker(), {"alpha": [0.1]}, cv=cv, scoring="neg_mean_squared_error")
    loaded = load(save(search, tmp_path / "search"))
    assert_same(loaded.cv, cv, "cv")


@pytest.mark.parametrize(
    ("search", "what"),
    [
        (
            RandomizedSearchCV(RidgeRanker(), {"alpha": stats.uniform(0, 1)}),
            r"param_distributions\['alpha'\].* is a method",
        ),
        (
            GridSearchCV(RidgeRanker(), {"alpha": [1.0]}, cv=iter([])),
            "builtins.list_iterator, which load does not trust. Pass lists",
        ),
        (
            GridSearchCV(RidgeRanker(), {"alpha": [1.0]}, scoring=make_scorer(mean_squared_error)),
            "_scorer._Scorer, which load does not trust. Pass lists and names",
        ),
    ],
)
def test_save_refuses_what_load_refuses(search, what, tmp_path):
    with pytest.raises(TypeError, match=what):
        save(search, tmp_path / "search")
    assert not (tmp_path / "search").exists()


def test_describe_looks_into_pipelines(rows, tmp_path):
    X, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), RidgeRanker()).fit(X, y)
    header = describe(save(pipeline, tmp_path / "m"))
    assert header["estimator"] == "sklearn.pipeline.Pipeline"
    assert header["fingerprint"] == pipeline[-1].fit_fingerprint_
    assert header["feature_names"] is None


def test_fingerprint_names_the_training_data(rng):
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)

    def fingerprint(X, y, **fit_params):
        return RidgeRanker().fit(X, y, **fit_params).fit_fingerprint_["sha256"]

    name = fingerprint(X, y)
    assert name == fingerprint(X.copy(), list(y))
    others = [
        fingerprint(X.astype(np.float32), y), fingerprint(X + np.eye(1, 3), y),
        fingerprint(X, y + np.eye(1, 400)[0]), fingerprint(X[::-1], y[::-1]),
        fingerprint(X, y, qid=np.arange(400) % 2), fingerprint(X, y, qid=np.arange(400) // 200),
        fingerprint(X, y, sample_weight=np.arange(1, 401)), fingerprint(X[1:], y[1:]),
    ]  # fmt: skip
    assert len({name, *others}) == 1 + len(others)
    assert {len(sha256) for sha256 in (name, *others)} == {16}


# Damaged and foreign files -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (pickle.dumps({"a": 1}), "looks like a pickle"),
        (b"1 qid:1 1:0.5\n", "is not a model file"),
        (b"PK\x03\x04 and then something else", "truncated or damaged"),
        (b"PK", "truncated or damaged"),
    ],
)
@pytest.mark.parametrize("read", [load, describe])
def test_foreign_files(content, message, read, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=rf"m\.skops .*{message}"):
        read(path)


def test_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_truncation_anywhere_is_noticed(model_file, tmp_path):
    data = model_file.read_bytes()
    path = tmp_path / "short"
    for size in {0, 1, 4, *np.linspace(5, len(data) - 1, 60).astype(int).tolist()}:
        path.write_bytes(data[:size])
        with pytest.raises(ModelFileError):
            load(path)


def test_a_flipped_byte_is_noticed_or_harmless(model_file, model, rows, tmp_path):
    data, path = bytearray(model_file.read_bytes()), tmp_path / "flipped"
    for place in np.linspace(0, len(data) - 1, 150).astype(int):
        changed = data.copy()
        changed[place] ^= 0x20
        path.write_bytes(changed)
        try:
            back = load(path)
        except ModelFileError:
            continue
        np.testing.assert_array_equal(back.predict(rows[0]), model.predict(rows[0]))


def test_archives_of_others(model, tmp_path):
    path = tmp_path / "m"
    skops.io.dump(model, path)
    with pytest.raises(ModelFileError, match=f"lacks {HEADER}"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    with pytest.raises(ModelFileError, match="a zip archive but not a model file"):
        load(path)


def test_packed_archives_are_refused(model_file, tmp_path):
    path = tmp_path / "bomb"
    with zipfile.ZipFile(model_file) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="packed in a form"):
        load(path)


@pytest.mark.parametrize(
    "change", [{"format": FORMAT + 1}, {"rankwise": "1000.0.0"}], ids=["format", "version"]
)
def test_newer_files_say_so(change, model_file, tmp_path):
    path = rewrite(model_file, tmp_path / "new", header={**describe(model_file), **change})
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=r"was written by rankwise .*Upgrade rankwise"):
            read(path)


@pytest.mark.parametrize("header", [[], {}, {"format": "x", "rankwise": "1.0.0"}, "text"])
def test_odd_headers_are_damage(header, model_file, tmp_path):
    path = rewrite(model_file, tmp_path / "odd", header=header)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_later_minor_versions_load(model_file, model, rows, tmp_path):
    major = rankwise.__version__.split(".")[0]
    header = {**describe(model_file), "rankwise": f"{major}.999.0"}
    back = load(rewrite(model_file, tmp_path / "m", header=header))
    np.testing.assert_array_equal(back.predict(rows[0]), model.predict(rows[0]))


@pytest.mark.parametrize("read", [load, describe])
def test_a_missing_file_is_named_with_the_fix(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"model.skops: no such file in .* that save or 'ra"
    ):
        read("model.skops")
    with pytest.raises(FileNotFoundError, match=r"none: no such file. Pass"):
        read(tmp_path / "none")
    with pytest.raises(
        IsADirectoryError, match=r"is a folder. Pass the path of a model file in it"
    ):
        read(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    ranker = RidgeRanker().fit([[0.0], [1.0]], [0, 1])
    path = tmp_path / "no" / "such"
    with pytest.raises(FileNotFoundError, match=r"does not exist\. Create it") as raised:
        ranker.save(path)
    assert f"path={str(path)!r}" in str(raised.value)
    assert ".tmp" not in str(raised.value)
    with pytest.raises(IsADirectoryError, match="Name the file to write in it"):
        save(ranker, tmp_path)


def test_load_checks_the_class_that_the_caller_names(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), [0, 1, 2]
    path = RidgeRanker().fit(X, y, qid=0).save(tmp_path / "model")
    assert isinstance(load(path, RidgeRanker), RidgeRanker)
    assert isinstance(load(path, BaseEstimator), RidgeRanker)
    with pytest.raises(ModelFileError, match=r"holds a RidgeRanker, not a LambdaMART. Pass cls="):
        load(path, LambdaMART)
    with pytest.raises(TypeError, match=r"cls must be a class, .* got 'RidgeRanker'"):
        load(path, "RidgeRanker")
