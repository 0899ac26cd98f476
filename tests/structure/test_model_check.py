"""The numbers in a model file are not trusted: what breaks a rule of its class does not load."""

from __future__ import annotations

import copy
import errno
import io
import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

import rankwise
from rankwise import persistence
from rankwise.base import Ranker
from rankwise.persistence import ModelFileError, dicts_of, load, save
from rankwise.structure.model_check import check_model
from rankwise.structure.state_rules import Array, Scope, StructureError, integers
from tests.fuzz.models import fitted


def model_of(name):
    model = copy.deepcopy(fitted(name))
    if model is None:
        pytest.skip("needs an extra that is not installed")
    return model


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Save without the checks, as an attacker would."""

    def write_model(model):
        with monkeypatch.context() as patch:
            patch.setattr(persistence, "check_model", lambda _: None)
            return save(model, tmp_path / "model.skops")

    return write_model


def put(obj, name, value):
    """Set an attribute, of a frozen object too."""
    object.__setattr__(obj, name, value)


def entry(path, at, value):
    """A change of one entry of an array at a dotted path of attributes."""

    def change(model):
        *parts, name = path.split(".")
        for part in parts:
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        array = getattr(model, name).copy()
        array[at] = value
        put(model, name, array)

    return change


def whole(path, make):
    """A change of a whole attribute."""

    def change(model):
        *parts, name = path.split(".")
        for part in parts:
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        put(model, name, make(getattr(model, name, None)))

    return change


def descending(matrix):
    """A CSR whose second row ends before it begins."""
    matrix = matrix.copy()
    matrix.indptr[1:3] = matrix.indptr[2], matrix.indptr[1]
    return matrix


def out_of_shape(matrix):
    """A CSR whose first index is far outside."""
    matrix = matrix.copy()
    matrix.indices[0] = 10**6
    return matrix


CASES = [
    # Trees: indices, cycles, numbers.
    ("ranking_tree", entry("tree_.left", 0, 0), r"tree_\.left and right must name every node"),
    ("ranking_tree", entry("tree_.right", 0, 10**6), r"tree_\.right must hold numbers below n_nod"),
    ("ranking_tree", entry("tree_.feature", 0, 3), r"tree_\.feature must .* = 3, got 3"),
    ("ranking_tree", entry("tree_.feature", 0, -2), r"tree_\.feature must hold numbers >= -1"),
    ("ranking_tree", entry("tree_.threshold", 0, np.nan), r"tree_\.threshold must be a number"),
    ("ranking_tree", entry("tree_.counts", 0, np.inf), r"tree_\.counts must hold finite"),
    ("ranking_tree", entry("tree_.counts", 0, 0.0), r"tree_\.counts must hold weight in every"),
    ("ranking_tree", entry("tree_.depth", 0, 1), r"tree_\.depth must count the splits"),
    ("ranking_tree", entry("node_classes_", 0, 3), r"node_classes_ must .*n_classes = 3, got 3"),
    ("ranking_tree", whole("tree_.left", lambda a: a.astype("i8")), r"left must have dtype int32"),
    ("ranking_tree categories", entry("tree_.category_indptr", 1, 10**6), r"category_indptr must"),
    ("ranking_forest", entry("trees_.1.left", 0, 0), r"trees_\[1\]\.left and right"),
    ("ranking_forest", whole("trees_", lambda _: []), r"trees_ must have an item"),
    ("model_tree", entry("nodes_.feature", 0, 9), r"nodes_\.feature must hold numbers below"),
    ("query_scaling ranks", whole("sorted_", lambda a: a[:0]), r"sorted_ must hold a row"),
    # Ensembles of stumps and perceptrons, and blends.
    ("rank_boost", entry("ensemble_.features", 0, 2**40), r"ensemble_\.features must hold numbers"),
    ("frank", entry("ensemble_.features", 0, -1), r"ensemble_\.features must hold numbers >= 0"),
    ("orboost", entry("ensemble_.thresholds", 0, np.nan), r"ensemble_\.thresholds must hold no"),
    ("orboost", whole("ensemble_.steps", lambda a: a[:-1]), r"steps must have shape \(n_rounds,\)"),
    ("orboost perceptrons", entry("ensemble_.scale", 0, 0.0), r"ensemble_\.scale must be > 0"),
    ("score_blend", entry("weights_", 0, np.nan), r"weights_ must hold finite numbers, got nan"),
    ("auto", entry("weights_", 0, -1.0), r"weights_ must hold numbers >= 0, got -1"),
    ("auto", whole("levels_", lambda a: a[:-1]), r"levels_ must have shape \(n_models,\)"),
    ("auto", whole("scale_", lambda a: a[:-1]), r"scale_ must have shape \(n_features_in_,\)"),
    ("auto", whole("models_", lambda m: m[:-1]), r"models_ must have \d+ items"),
    ("auto", whole("families_", lambda _: ["other"]), r"families_\[0\] must be one of"),
    ("borda_blend", whole("models_", lambda m: [*m, {}]), r"models_\[1\] must have the rankers"),
    # Weights, kernels, rows.
    ("ridge", whole("coef_", lambda a: a[:-1]), r"coef must have shape \(n_features_in_,\)"),
    ("ridge", whole("coef_", lambda a: a.astype(int)), r"coef must hold floating-point numbers"),
    ("ridge", whole("coef_", lambda a: a.astype(">f8")), r"coef must hold floating-point numbers"),
    ("ridge", whole("n_features_in_", lambda _: 4), r"n_features.* must be n_features_in_ = 4"),
    ("ridge", whole("fit_fingerprint_", lambda _: []), r"fit_fingerprint_ must be a dictionary of"),
    ("ridge", entry("fit_fingerprint_", "n_queries", "a"), r"n_queries'\] must be a whole number"),
    ("ridge", entry("fit_fingerprint_", "n_features", "f8"), r"n_features.* be a whole number"),
    ("ridge", entry("fit_fingerprint_", "sha256", 3), r"sha256'\] must be text"),
    ("ridge", whole("predict", lambda _: 0), r"RidgeRanker\.predict must not be replaced"),
    ("ridge", whole("alpha", lambda _: -1.0), r"parameter out of range: .*alpha"),
    ("ridge on batches", entry("_running.0.closed.matrix", (0, 0), np.nan), r"closed\.matrix must"),
    ("pairwise_elm", whole("hidden_biases_", lambda a: a[:, :-1]), r"biases must have shape"),
    ("lsrrank", whole("kernel_.gamma", lambda _: np.nan), r"kernel\.gamma must be finite"),
    ("lsrrank", whole("kernel_.name", lambda _: "no"), r"kernel\.name must be one of"),
    ("lsrrank", whole("kernel_.function", lambda _: np.add), r"kernel\.function must be the"),
    ("svr polynomial", whole("kernel_.degree", lambda _: 10**9), r"degree must be at most 1000"),
    ("rankrls sparse", whole("X_fit_", out_of_shape), r"X_fit\.indices must hold numbers below"),
    ("rankrls sparse", whole("X_fit_", descending), r"X_fit\.indptr must hold .* ascending order"),
    ("rankrls nystroem", whole("nystroem_.offset", lambda a: a[:-1]), r"offset must have shape"),
    ("prank", entry("hypotheses_.weights", (0, 0), np.inf), r"_\.weights must hold finite"),
    ("prank", whole("kernel", lambda _: "rbf"), r"PRank: kernel must stay as it was"),
    ("voted_prank", whole("survival_", lambda a: a[:-1]), r"survival_ must have shape"),
    ("poly_ordinal_svm products", entry("terms_.factors", (0, 0), 9), r"factors must .* below"),
    ("poly_ordinal_svm products", entry("terms_.factors", (0, 0), -1), r"factors must list the"),
    ("list_net", whole("weights_", lambda w: [*w[:-1], w[-1][None]]), r"weights_ must have shapes"),
    ("boltz_rank", entry("selected_features_", 0, 9), r"selected_features_ must .* below"),
    # Labels.
    ("csovo", entry("pairs_", (0, 0), 9), r"pairs_ must hold numbers below n_classes = 3, got 9"),
    ("plst", whole("components_", lambda a: a[:, :-1]), r"components_ must have shape"),
    ("label_powerset", entry("label_sets_", (0, 0), 2), r"label_sets_ must hold numbers <= 1"),
    ("ordinal_reduction", whole("classes_", lambda c: c[[0, 0, 1]]), r"classes_ must .* distinct"),
    ("ordinal_reduction", whole("classes_", lambda c: c.astype(complex)), r"array of class labels"),
    ("query_scaling", entry("scale_", 0, -1.0), r"scale_ must hold numbers >= 0"),
    ("random_perceptrons stumps", entry("weights_", 0, 3), r"weights_ must"),
    # Other libraries.
    ("mc_rank logistic", whole("estimators_.0.coef_", lambda a: a[:, :-1]), r"coef_ must have"),
    ("csovo support vectors", whole("estimators_.0._n_support", lambda a: a + 1), r"_support must"),
    ("lightgbm", whole("model_", lambda m: m.replace(b"split_feature=", b"split_feature=9")),
     r"split_feature must lie in 0\.\.2"),
    ("xgboost", whole("model_", lambda m: m.replace(b'children": [1', b'children": [0')),
     r"XGBoost model"),
    ("catboost", whole("model_", lambda m: m.replace(b'_feature_index": 0', b'_feature_index": 9')),
     r"CatBoost model"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "message"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_what_breaks_a_rule_is_neither_loaded_nor_saved(name, change, message, write, tmp_path):
    model = model_of(name)
    change(model)
    path = write(model)
    with pytest.raises(ModelFileError, match=message) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}: {type(model).__name__}")
    assert str(raised.value).endswith("The file is damaged or was changed: save the model again.")
    if vars(model).get("_booster") is None:  # else the library's own object is what is sound
        with pytest.raises(ValueError, match=message):
            save(model, tmp_path / "refused")
        assert not (tmp_path / "refused").exists()


def test_histogram_trees_are_checked(write):
    X, y = np.arange(300.0)[:, None], np.arange(300) // 100
    model = rankwise.McRank(n_estimators=2, random_state=0).fit(X, y)
    model.estimators_[0]._predictors[0][0].nodes["left"][0] = 0
    with pytest.raises(ModelFileError, match=r"_predictors\[0\]\[0\]\.nodes\.left and right"):
        load(write(model))
    regressor = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    check_model(regressor)
    regressor._predictors[1][0].nodes["feature_idx"][0] = 1
    with pytest.raises(StructureError, match=r"\['feature_idx'\] must lie in 0\.\.0"):
        check_model(regressor)


def test_trees_of_scikit_learn_are_checked():
    tree = DecisionTreeRegressor().fit(np.arange(8.0)[:, None], np.arange(8))
    check_model(tree)
    for name, value in (("children_left", 0), ("children_right", 99), ("feature", 1)):
        changed = copy.deepcopy(tree)
        getattr(changed.tree_, name)[0] = value
        with pytest.raises(StructureError, match="tree_"):
            check_model(changed)


@pytest.mark.parametrize("kind", ["rbf", "precomputed", "sparse"])
def test_support_vectors_are_checked(kind, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    X = {"rbf": X, "precomputed": X @ X.T, "sparse": sparse.csr_matrix(X)}[kind]
    machine = SVC(kernel="precomputed" if kind == "precomputed" else "rbf").fit(X, y)
    check_model(machine)
    check_model(SVR(kernel=machine.kernel).fit(X, y))
    for change in (
        whole("_dual_coef_", lambda a: a[:, :-1]), whole("_intercept_", lambda a: a[:-1]),
        whole("_n_support", lambda a: a[:-1]), entry("_n_support", 0, 2**30),
        whole("support_", lambda a: a[:-1]), whole("_probA", lambda _: np.zeros(1)),
    ):  # fmt: skip
        changed = copy.deepcopy(machine)
        change(changed)
        with pytest.raises(StructureError):
            check_model(changed)


def test_shared_parts_are_checked_for_each_owner():
    """A tree that two forests share fits the wider one only."""
    wide = rankwise.RankingForest(n_estimators=1, random_state=0)
    narrow = copy.deepcopy(wide)
    y = np.arange(20) % 2
    wide.fit(np.column_stack([np.zeros(20), np.zeros(20), y]), y)
    narrow.fit(y[:, None], y)
    narrow.trees_ = wide.trees_
    blend = copy.deepcopy(model_of("score_blend"))
    blend.rankers = [("wide", wide), ("narrow", narrow)]
    with pytest.raises(StructureError, match=r"rankers\[\d\]\[1\]\.trees_\[0\]\.feature"):
        check_model(blend)


@pytest.mark.parametrize(
    ("ranker", "lacking"),
    [
        (rankwise.AutoRanker(None, n_trials=1, cv=2), ("query_weight", "verbose", "skipped_")),
        (rankwise.LambdaMART(3, min_samples_leaf=1), ("objective", "n_rounds_")),
        (rankwise.RidgeRanker(), ("fit_intercept",)),
    ],
)
def test_files_of_earlier_versions_lack_later_parameters(ranker, lacking, rng):
    X = rng.normal(size=(40, 3))
    ranker = copy.copy(ranker).fit(X, X[:, 0] > 0, qid=np.repeat(np.arange(8), 5))
    scores, defaults = ranker.predict(X), type(ranker)().get_params()
    for name in lacking:
        del vars(ranker)[name]
    check_model(ranker)  # as load does
    np.testing.assert_array_equal(ranker.predict(X), scores)
    for name in set(lacking) & defaults.keys():
        assert getattr(ranker, name) == defaults[name]


def test_attributes_of_the_user_stay(tmp_path):
    model = model_of("ridge")
    model.note_ = {"of": "the user", "values": np.array([np.nan])}
    back = load(save(model, tmp_path / "m"))
    assert back.note_["of"] == "the user"


class Modest(Ranker):
    """A ranker of the user's that declares nothing and keeps what it likes."""

    def fit(self, X, y, *, qid=None):
        self.n_features_in_, self.low_ = 1, np.array([np.nan])
        return self


def test_classes_of_the_user_need_no_rules(tmp_path):
    back = load(save(Modest().fit(None, None), tmp_path / "m"), trusted=[Modest])
    assert back.n_features_in_ == 1


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_transformers_may_hold_missing_values(tmp_path):
    scaler = StandardScaler().fit([[np.nan, 1.0], [np.nan, 2.0]])
    assert np.isnan(load(save(scaler, tmp_path / "m")).mean_[0])


def test_classifiers_with_one_weight_vector(tmp_path, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(X), model.predict(X))


# Rules --------------------------------------------------------------------------------------------


def test_symbols_are_sizes():
    scope = Scope()
    assert scope.agrees("n_nodes + 1", 5)
    assert scope.value("n_nodes") == 4
    assert Scope(scope).agrees("n_nodes", 4)
    assert not Scope(scope).agrees("n_nodes - 1", 4)
    assert not scope.agrees("n_other + 3", 2)


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (Array(("n",)), [1.0], "must be an array, got"),
        (Array(("n",)), np.ma.array([1.0]), "must be an array"),
        (Array(("n", 2)), np.zeros((2, 3)), r"must have shape \(n, 2\) with n = 2, got \(2, 3\)"),
        (Array(("n",)), np.zeros(2, "f2"), "must hold float32 or float64"),
        (Array(("n",)), np.zeros(2, "c8"), "must hold floating-point numbers"),
        (Array(("n",), ascending=True), np.array([1.0, 0.0]), "must hold numbers in ascending"),
        (integers("n"), np.zeros(2, "u8"), "must hold integers"),
        (integers("n", low=0, high=3), np.array([4]), "must hold numbers <= 3, got 4"),
    ],
)  # fmt: skip
def test_messages_name_the_rule_and_the_value(rule, value, message):
    with pytest.raises(StructureError, match=f"^x_ {message}"):
        rule.check(value, "x_", Scope())


# Archives -----------------------------------------------------------------------------------------


@pytest.fixture
def model_file(tmp_path):
    return save(model_of("rankrls sparse"), tmp_path / "good.skops")


def rebuilt(path, change, target):
    """Copy of an archive; ``change`` gets each name and content, and returns the content."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return target


def test_an_entry_that_comes_twice_is_refused(model_file, tmp_path):
    with zipfile.ZipFile(model_file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match=r"good\.skops contains an entry twice"):
        load(model_file)


def test_sparse_matrices_are_bounded_before_they_are_unpacked(model_file, tmp_path):
    load(model_file, max_bytes=10**5)
    with pytest.raises(ModelFileError, match=r"more than max_bytes=100 bytes\. Raise max_bytes"):
        load(model_file, max_bytes=100)

    def bomb(name, content):
        if not name.endswith(".npz"):
            return content
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as parts:
            parts.writestr("data.npy", bytes(10**8))
        return buffer.getvalue()

    path = rebuilt(model_file, bomb, tmp_path / "bomb")
    with pytest.raises(ModelFileError, match="more than max_bytes=10000000 bytes"):
        load(path, max_bytes=10**7)


@pytest.mark.parametrize("suffix", [".bin", ".npy", ""])
def test_an_entry_is_checked_as_it_is_read_whatever_its_name(model_file, tmp_path, suffix):
    path = tmp_path / "renamed.skops"
    with zipfile.ZipFile(model_file) as old, zipfile.ZipFile(path, "w") as new:
        (name,) = (name for name in old.namelist() if name.endswith(".npz"))
        other = name.removesuffix(".npz") + suffix
        for entry in old.namelist():
            content = old.read(entry)
            if entry == "schema.json":
                content = content.replace(name.encode(), other.encode())
            new.writestr(other if entry == name else entry, content)
    load(path)
    with pytest.raises(ModelFileError, match=r"more than max_bytes=1 bytes\. Raise max_bytes"):
        load(path, max_bytes=1)


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_several_objects_cannot_unpack_one_entry(model_file, tmp_path, kind):
    def repeat(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        found = [node for node in dicts_of(schema) if kind in str(node.get("file"))]
        schema["content"]["content"]["more"] = {**found[0], "__id__": 1}
        return json.dumps(schema).encode()

    path = rebuilt(model_file, repeat, tmp_path / "repeated")
    with pytest.raises(ModelFileError, match=r"has several objects read \d+\.np"):
        load(path)


def test_array_headers_do_not_ask_for_more_than_there_is(tmp_path):
    path = save(model_of("ridge"), tmp_path / "good.skops")

    def lie(name, content):
        if not name.endswith(".npy"):
            return content
        # As long as the true header, of which it takes over the padding.
        return re.sub(rb"\((\d+,).*?\), }", lambda m: b"(9" + b"0" * 9 + b",), }", content, count=1)

    for change in (lie, lambda name, content: content[: -8 if name.endswith(".npy") else None]):
        changed = rebuilt(path, change, tmp_path / "changed")
        with pytest.raises(ModelFileError, match="changed is damaged"):
            load(changed)


# Faults while saving ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_names_the_path_and_keeps_the_old_file(code, step, tmp_path, monkeypatch):
    model = model_of("ridge")
    path = save(model, tmp_path / "m.skops")
    before = path.read_bytes()

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match=re.escape(str(path))) as raised:
        model.save(path)
    assert raised.value.errno == code
    assert raised.value.filename == str(path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are Unix's")
def test_a_short_write_keeps_the_old_file(tmp_path):
    """A real write that stops half-way, by a limit on the size of files."""
    path = save(model_of("query_scaling"), tmp_path / "m.skops")
    before = path.read_bytes()
    script = f"""
import resource, signal
import rankwise
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = rankwise.load({str(path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    rankwise.save(model, {str(path)!r})
except OSError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    assert "File too large" in run.stdout
    assert str(path) in run.stdout
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is Unix's")
def test_a_kill_while_saving_keeps_the_old_file(tmp_path):
    path = save(model_of("query_scaling"), tmp_path / "m.skops")
    before = path.read_bytes()
    script = f"""
import os, signal
import rankwise
model = rankwise.load({str(path)!r})
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
rankwise.save(model, {str(path)!r})
"""
    run = subprocess.run([sys.executable, "-c", script], timeout=300)
    assert run.returncode == -9
    assert path.read_bytes() == before
    assert load(path).get_params() == load(save(load(path), tmp_path / "next")).get_params()
