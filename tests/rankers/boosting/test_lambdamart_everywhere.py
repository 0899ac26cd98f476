"""Every parameter of LambdaMART on every way that a model takes: text, files, programs, clusters.

A new parameter fails here until it has a value in ``VALUES``, and then on each way that forgets it.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwise import AutoRanker, LambdaMART, load, save
from rankwise._registry import REGISTRY
from rankwise.cli._console import UsageError
from rankwise.cli._named_entries import read_candidates
from rankwise.cli._options import make_ranker
from rankwise.cli.main import app
from rankwise.explain import explain_scores
from rankwise.export import (
    to_elasticsearch,
    to_lightgbm,
    to_onnx,
    to_python,
    to_ranklib,
    to_solr,
    to_xgboost,
    verify,
)
from rankwise.rankers.boosting.lambdamart import TAKEN, check_shareable

from .test_lambdamart_share import assert_same, fitted, rows  # noqa: F401 (rows: a fixture)

# Trees large enough to split column 3, which has no effect, by sets of categories.
SETS = {
    "categorical_features": [3], "max_leaf_nodes": 40, "min_samples_leaf": 2, "reg_lambda": 0.0,
}  # fmt: skip
# A value other than the default, and parameters without which it has no effect.
VALUES = {
    "n_estimators": (7, {}),
    "learning_rate": (0.3, {}),
    "max_leaf_nodes": (5, {}),
    "measure": ("AP", {}),
    "objective": ("yetirank", {}),
    "max_depth": (2, {}),
    "truncation_level": (5, {}),
    "decay": (0.85, {"objective": "yetirank"}),
    "min_samples_leaf": (60, {}),
    "min_hessian_leaf": (5.0, {}),
    "reg_lambda": (3.0, {}),
    "reg_alpha": (0.5, {}),
    "min_split_gain": (2.0, {}),
    "growth": ("symmetric", {}),
    "max_bins": (8, {}),
    "normalize": (False, {}),
    "query_weight": ("query", {}),
    "position_bias_regularization": (1.0, None),  # of rows with positions
    "sampling": ("goss", {"learning_rate": 0.5}),  # which begins after 1 / learning_rate trees
    "subsample": (0.5, {}),
    "top_rate": (0.3, {"sampling": "goss", "learning_rate": 0.5}),
    "other_rate": (0.3, {"sampling": "goss", "learning_rate": 0.5}),
    "drop_rate": (0.5, {"skip_drop": 0.0}),
    "skip_drop": (0.0, {"drop_rate": 0.9}),
    "colsample_bytree": (0.4, {}),
    "colsample_bylevel": (0.4, {}),
    "colsample_bynode": (0.4, {}),
    "extra_trees": (True, {}),
    "monotonic_cst": ([1] + [0] * 10, {}),
    "interaction_cst": ("no_interactions", {}),
    "categorical_features": ([3], {}),
    "categorical_encoding": ("ordered", {"categorical_features": [3]}),
    "cat_l2": (0.0, SETS),
    "max_cat_threshold": (1, SETS | {"cat_l2": 0.0}),
    "early_stopping_rounds": (3, None),  # of rows for validation
    "refit": (True, None),
    "cv": (3, None),  # of the number of trees
    "validation_measure": ("AP", None),
    "label_gain": ([0.0, 1.0, 2.0, 3.0, 4.0], {}),
    "importance_type": ("split", None),  # of importances, not of scores
    "warm_start": (True, None),  # of a second fit
    "random_state": (1, {"subsample": 0.5}),
    "n_jobs": (1, None),  # equal bits
}
SUFFIX = {
    to_lightgbm: "lightgbm.txt",
    to_xgboost: "xgboost.json",
    to_onnx: "model.onnx",
    to_python: "model.py",
    to_ranklib: "ranklib.txt",
    to_solr: "solr.json",
    to_elasticsearch: "elasticsearch.json",
}
BASE = {"n_estimators": 6, "random_state": 0, "n_jobs": 1, "max_leaf_nodes": 7}
# Columns of categories, which have tests of their own: search engines refuse them.
NOMINAL = {"categorical_features", "categorical_encoding", "cat_l2", "max_cat_threshold"}
WITH_EFFECT = [name for name, (_, more) in VALUES.items() if more is not None]


def options_of(name):
    value, more = VALUES[name]
    return BASE | (more or {}) | {name: value}


@pytest.fixture(scope="module")
def models(rows):  # noqa: F811
    """One model for each parameter."""
    X, y, qid = rows
    return {name: LambdaMART(**options_of(name)).fit(X, y, qid=qid) for name in VALUES}


def test_every_parameter_has_a_value():
    defaults = LambdaMART().get_params()
    assert set(VALUES) == set(defaults)
    assert all(value != defaults[name] for name, (value, _) in VALUES.items())


def test_the_tuning_space_and_the_blend_hold_parameters_of_the_class():
    entry = REGISTRY["lambdamart"]
    assert {*entry.params} <= set(VALUES)
    # A grid of leaves gains less than the choice costs.
    assert entry.space == {}
    assert {*REGISTRY["auto"].params} <= set(AutoRanker().get_params())


@pytest.mark.parametrize("name", VALUES)
def test_the_command_line_takes_it(name):
    value = VALUES[name][0]
    ranker, _ = make_ranker("lambdamart", [f"{name}={value}"], 0)
    assert getattr(ranker, name) == value
    spec = f"lambdamart({name}={value})"
    ((shown, candidate),) = read_candidates(spec, None)[0].items()
    assert shown == candidate == spec
    assert getattr(make_ranker(spec, None, 0)[0], name) == value


BLEND = {
    "time_budget": [60.0, 0.5, None],
    "measure": ["AP", None],
    "n_trials": [3, None],
    "query_weight": ["document", None],
    "cv": [3, None],
    "n_jobs": [2, None],
    "random_state": [7, None],
    "clock": ["wall"],
    "verbose": [True],
}


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in BLEND for v in BLEND[name]])
def test_the_command_line_takes_those_of_the_blend(name, value):
    assert set(BLEND) == set(AutoRanker().get_params())
    spec = f"auto({name}={value})"
    assert read_candidates(spec, None)[0] == {spec: spec}
    assert getattr(make_ranker(spec, None, 0)[0], name) == value


@pytest.mark.parametrize("setting", ["clock=60", "n_trials=0.5", "query_weight=60", "cv=0.5"])
def test_the_command_line_refuses_what_the_blend_does(setting):
    name, _, value = setting.partition("=")
    said = f"--rankers: auto({setting}): The {name!r} parameter of AutoRanker must be "
    with pytest.raises(UsageError, match=f"{re.escape(said)}.* Got {value}"):
        read_candidates(f"auto({setting})", None)


@pytest.mark.parametrize("name", sorted({*WITH_EFFECT} - NOMINAL))
def test_it_changes_the_scores(name, models, rows):  # noqa: F811
    X, y, qid = rows
    other = LambdaMART(**BASE | (VALUES[name][1] or {})).fit(X, y, qid=qid)
    assert (other.predict(X) != models[name].predict(X)).any()


@pytest.mark.parametrize("name", VALUES)
def test_a_file_keeps_it(name, models, rows, tmp_path):  # noqa: F811
    save(models[name], tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.get_params() == models[name].get_params()
    np.testing.assert_array_equal(again.predict(rows[0]), models[name].predict(rows[0]))


@pytest.mark.parametrize("key", ["lambdamart", "auto"])
def test_the_command_line_lists_and_describes_it(key):
    listed = CliRunner().invoke(app, ["list", "--ranker", key, "--json"])
    told = json.loads(listed.stdout)["parameters"]
    made = make_ranker(f"{key}()", None, 0)[0].get_params(deep=False)
    assert {row["name"]: row["value"] for row in told} == made
    undescribed = [row["name"] for row in told if not (row["values"] and row["meaning"])]
    assert not undescribed


@pytest.mark.parametrize("name", WITH_EFFECT)
def test_exports_rank_as_the_model(name, models, rows, tmp_path):  # noqa: F811
    X, qid = rows[0][:80], rows[2][:80]
    for write in (to_lightgbm, to_xgboost, to_onnx, to_python):
        path = tmp_path / SUFFIX[write]
        write(models[name], path)
        certificate = verify(models[name], path, X, qid=qid)
        assert certificate.holds, (path.name, str(certificate))


@pytest.mark.parametrize("name", sorted({*WITH_EFFECT} - NOMINAL))
def test_exports_without_missing_values_rank_as_the_model(name, rows, tmp_path):  # noqa: F811
    X, y, qid = rows
    X = np.nan_to_num(X)
    model = LambdaMART(**options_of(name)).fit(X, y, qid=qid)
    for write in (to_ranklib, to_solr, to_elasticsearch):
        path = tmp_path / SUFFIX[write]
        write(model, path)
        certificate = verify(model, path, X[:80], qid=qid[:80])
        assert certificate.holds, (path.name, str(certificate))


@pytest.mark.parametrize("name", WITH_EFFECT)
def test_shapley_values_sum_to_the_scores(name, models, rows):  # noqa: F811
    X = rows[0][:20]
    for game in ("interventional", "tree_path_dependent"):
        background = rows[0][20:40] if game == "interventional" else None
        told = explain_scores(models[name], X, background, feature_perturbation=game)
        total = told.expected + told.values.sum(axis=1)
        np.testing.assert_allclose(total, models[name].predict(X), atol=1e-9)


@pytest.mark.parametrize("name", VALUES)
def test_a_cluster_takes_it_or_refuses_it_by_name(name, rows):  # noqa: F811
    more = {key: value for key, value in (VALUES[name][1] or {}).items() if key in TAKEN}
    ranker = LambdaMART(**BASE | more | {name: VALUES[name][0]})
    if name not in TAKEN:
        with pytest.raises(ValueError, match=f"{name} must be .* for LambdaMART on a cluster, got"):
            check_shareable(ranker)
        return
    check_shareable(ranker)
    if VALUES[name][1] is None:
        return
    whole = fitted(ranker, rows, 1)[0]
    for part in fitted(ranker, rows, 2):
        assert_same(part, whole)
