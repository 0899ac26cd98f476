"""Callbacks see every iteration, may end the training, and change nothing else."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import rankwise
from rankwise.datasets import load_dataset
from rankwise.rankers import EarlyStopException, log_evaluation, record_evaluation
from tests.common.estimators import small

LENGTHS = {"lambdamart": "n_estimators"}  # of networks: n_epochs
CASES = [
    ("lambdamart", {}),
    ("lambdamart", {"drop_rate": 0.5, "skip_drop": 0.0}),
    ("lambdamart", {"subsample": 0.5, "early_stopping_rounds": 4}),
    ("rank_net", {}),
    ("list_net", {"early_stopping_rounds": 9}),
    ("list_mle", {}),
    ("lambda_rank", {"optimizer": "sgd"}),
    ("boltz_rank", {}),
]
EVERY = pytest.mark.parametrize(
    "case", CASES, ids=[f"{key}-{n}" for n, (key, _) in enumerate(CASES)]
)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(160, 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=160)), 0, 3)
    qid = np.arange(160) // 8
    train, held = slice(0, 96), slice(96, 160)
    return {
        "X": X[train], "y": y[train], "qid": qid[train],
        "X_val": X[held], "y_val": y[held], "qid_val": qid[held],
    }  # fmt: skip


def made(case, length=None, **params):
    key, given = case
    length = {} if length is None else {LENGTHS.get(key, "n_epochs"): length}
    return small(key, **{**given, **length, **params})


def n_iterations(model):
    return len(model.validation_scores_)


@EVERY
def test_callbacks_change_nothing(case, data, capsys):
    seen, recorded = [], {}
    model = made(case).fit(**data, callbacks=[seen.append, record_evaluation(recorded)], verbose=2)
    plain = made(case).fit(**data)
    np.testing.assert_array_equal(model.predict(data["X"]), plain.predict(data["X"]))
    np.testing.assert_array_equal(model.validation_scores_, plain.validation_scores_)
    assert recorded["valid_0"]["nDCG@10"] == plain.validation_scores_.tolist()
    if case[0] not in LENGTHS:
        assert recorded["training"]["loss"] == plain.loss_curve_.tolist()
    assert [env.iteration for env in seen] == list(range(n_iterations(plain)))
    length = getattr(model, LENGTHS.get(case[0], "n_epochs"))
    assert {(env.begin_iteration, env.end_iteration) for env in seen} == {(0, length)}
    assert seen[0].params == model.get_params()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [f"[{n}]" for n in range(2, len(seen) + 1, 2)]
    assert all(re.search(r"valid_0's nDCG@10: 0\.\d+$", line) for line in lines)


@EVERY
def test_a_callback_may_stop(case, data):
    def stop(env):
        if env.iteration == 2:
            raise EarlyStopException

    stopped = made(case).fit(**data, callbacks=[stop])
    short = made(case, 3).fit(**data)
    assert n_iterations(stopped) == 3
    np.testing.assert_array_equal(stopped.predict(data["X"]), short.predict(data["X"]))


@EVERY
def test_a_stop_may_return_to_an_earlier_iteration(case, data):
    def stop(env):
        if env.iteration == 3:
            raise EarlyStopException(best_iteration=1, best_score=[])

    stopped = made(case).fit(**data, callbacks=[stop])
    short = made(case, 2, early_stopping_rounds=None).fit(**data)
    assert n_iterations(stopped) == 4
    np.testing.assert_array_equal(stopped.predict(data["X"]), short.predict(data["X"]))
    assert getattr(stopped, "n_estimators_", 2) == 2
    assert getattr(stopped, "best_iteration_", 2) <= 2
    assert getattr(stopped, "n_epochs_", 2) == 2


@EVERY
def test_the_model_predicts_in_between(case, data):
    found = {}

    def look(env):
        if env.iteration == 1:
            assert type(env.model).__name__ == type(made(case)).__name__
            found["scores"] = env.model.predict(data["X_val"])
            assert len(env.model.validation_scores_) == 2

    made(case).fit(**data, callbacks=[look])
    short = made(case, 2, early_stopping_rounds=None).fit(**data)
    np.testing.assert_array_equal(found["scores"], short.predict(data["X_val"]))


class PrunedError(Exception):
    """As a search raises it."""


@EVERY
@pytest.mark.parametrize("error", [PrunedError, TypeError, ZeroDivisionError, KeyboardInterrupt])
def test_other_exceptions_leave_the_estimator(case, data, error):
    model = made(case, random_state=np.random.RandomState(3)).fit(**data)
    before, scores = dict(vars(model)), model.predict(data["X"])
    state = model.random_state.get_state()[1].copy()

    def fail(env):
        env.model.predict(data["X"])
        if env.iteration == 1:
            raise error("as planned")

    with pytest.raises(error, match="as planned"):
        model.fit(data["X"][:80], data["y"][:80], qid=data["qid"][:80], callbacks=[fail])
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(data["X"]), scores)
    np.testing.assert_array_equal(model.random_state.get_state()[1], state)


@pytest.mark.parametrize("key", ["lambdamart", "list_net"])
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"callbacks": print}, TypeError, "callbacks must be a list of functions, got <built-in"),
        ({"callbacks": [3]}, TypeError, r"callbacks must be a list of functions, got \[3\]"),
        ({"verbose": -1}, ValueError, "verbose must be True, False or a number"),
        ({"verbose": "yes"}, ValueError, "verbose must be True, False or a number"),
    ],
    ids=str,
)
def test_what_is_no_callback_is_refused(key, given, error, said, data):
    with pytest.raises(error, match=said):
        small(key).fit(**data, **given)


def test_without_validation_rows(data, capsys):
    given = {name: data[name] for name in ("X", "y", "qid")}
    recorded = {}
    small("lambdamart", n_estimators=4).fit(
        **given, callbacks=[record_evaluation(recorded), log_evaluation(3)], verbose=True
    )
    assert recorded == {}
    assert capsys.readouterr().out.split() == ["[1]", "[2]", "[3]", "[3]", "[4]"]


def test_warm_start_counts_on(data):
    model = small("lambdamart", n_estimators=5, warm_start=True).fit(**data)
    seen, recorded = [], {"old": {}}

    def stop(env):
        seen.append((env.iteration, env.begin_iteration, env.end_iteration))
        if env.iteration == 7:
            raise EarlyStopException(best_iteration=2)  # trees of the earlier fit are kept

    model.set_params(n_estimators=9)
    model.fit(**data, callbacks=[record_evaluation(recorded), stop])
    assert seen == [(5, 5, 9), (6, 5, 9), (7, 5, 9)]
    assert len(recorded["valid_0"]["nDCG@10"]) == 3
    assert "old" not in recorded
    assert model.n_estimators_ == 5
    expected = small("lambdamart", n_estimators=5).fit(**data)
    np.testing.assert_array_equal(model.predict(data["X"]), expected.predict(data["X"]))


def test_callbacks_of_lightgbm_work(data, capsys):
    lightgbm = pytest.importorskip("lightgbm", reason="needs rankwise[gbdt]")
    theirs, ours = {}, {}
    calls = [
        lightgbm.record_evaluation(theirs),
        lightgbm.log_evaluation(4),
        record_evaluation(ours),
    ]
    model = small("lambdamart", n_estimators=60)
    model.fit(**data, callbacks=[*calls, lightgbm.early_stopping(3, verbose=False)])
    assert theirs == ours
    assert "[4]\tvalid_0's nDCG@10: 0." in capsys.readouterr().out
    expected = clone(model).set_params(early_stopping_rounds=3).fit(**data)
    np.testing.assert_array_equal(model.predict(data["X"]), expected.predict(data["X"]))
    with pytest.raises(ValueError, match="callbacks must run after an iteration"):
        model.fit(**data, callbacks=[lightgbm.reset_parameter(learning_rate=[0.1] * 60)])


class Trial:
    """What a callback needs of a trial of Optuna."""

    def __init__(self, prune_at):
        self.reported, self.prune_at = {}, prune_at

    def report(self, value, step):
        self.reported[step] = value

    def should_prune(self):
        return len(self.reported) > self.prune_at


@EVERY
def test_a_search_prunes(case, data):
    trial = Trial(prune_at=1)

    def prune(env):
        trial.report(env.evaluation_result_list[-1].metric_value, env.iteration)
        if trial.should_prune():
            raise PrunedError

    with pytest.raises(PrunedError):
        made(case).fit(**data, callbacks=[prune])
    plain = made(case, early_stopping_rounds=None).fit(**data)
    assert trial.reported == dict(enumerate(plain.validation_scores_[:2].tolist()))


def test_the_example_with_optuna_runs():
    optuna = pytest.importorskip("optuna", reason="needs optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    page = (Path(__file__).parents[2] / "docs" / "training_log.rst").read_text("utf-8")
    code = page.partition("Prune with Optuna")[2].partition(".. code-block:: python")[2]
    lines = code.partition("\nFor a network")[0].replace("n_trials=20", "n_trials=8")
    fold = load_dataset("lambdarank", fold=1)
    names = {"train": fold.train, "LambdaMART": rankwise.LambdaMART}
    names["judged"] = {
        "qid": fold.train.qid, "X_val": fold.vali.X, "y_val": fold.vali.y, "qid_val": fold.vali.qid,
    }  # fmt: skip
    exec(textwrap.dedent(lines), names)
    assert {trial.state.name for trial in names["study"].trials} <= {"COMPLETE", "PRUNED"}
    assert len(names["study"].trials) == 8
