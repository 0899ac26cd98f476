"""The neural rankers: seeds, early stopping, serving without torch, what they refuse."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rankwise
from rankwise import LambdaRank, ListMLE, ListNet, QueryGroups, RankNet
from rankwise.metrics import parse

CLASSES = pytest.mark.parametrize("cls", [RankNet, ListNet, ListMLE, LambdaRank])


@pytest.fixture
def judged(rng):
    """200 noisy rows of 20 interleaved queries."""
    X = rng.normal(size=(200, 4))
    y = np.clip(np.round(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=200) + 1), 0, 4)
    return X, y, np.arange(200) % 20


def fitted(cls, judged, **params):
    pytest.importorskip("torch", reason="needs rankwise[neural]")
    X, y, qid = judged
    settings = {"n_epochs": 5, "random_state": 0, **params}
    return cls((6,), **settings).fit(X[:120], y[:120], qid=qid[:120])


@CLASSES
def test_seed_repeats_the_bits(cls, judged):
    first, second = fitted(cls, judged), fitted(cls, judged)
    other = fitted(cls, judged, random_state=1)
    for one, two, three in zip(first.weights_, second.weights_, other.weights_, strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != three).any()


@CLASSES
def test_loss_falls(cls, judged):
    curve = fitted(cls, judged, n_epochs=20).loss_curve_
    assert len(curve) == 20
    assert curve[-1] < curve[0]


@CLASSES
def test_early_stopping_takes_the_best_epoch(cls, judged):
    torch = pytest.importorskip("torch", reason="needs rankwise[neural]")
    X, y, qid = judged
    train, held = slice(0, 120), slice(120, 200)

    def fit(**params):
        ranker = cls((6,), learning_rate_init=0.3, random_state=0, **params)
        return ranker.fit(
            X[train], y[train], qid=qid[train], X_val=X[held], y_val=y[held], qid_val=qid[held]
        )

    threads = torch.get_num_threads()
    stopped, whole = fit(n_epochs=60, early_stopping_rounds=4), fit(n_epochs=60)
    assert torch.get_num_threads() == threads
    values = stopped.validation_scores_
    assert len(values) == stopped.n_epochs_ + 4 < 60
    assert stopped.n_epochs_ == 1 + values.argmax()
    assert stopped.score(X[held], y[held], qid=qid[held]) == pytest.approx(values.max(), abs=1e-12)
    np.testing.assert_array_equal(whole.validation_scores_[: len(values)], values)
    assert whole.n_epochs_ == len(whole.validation_scores_) == 60
    until = cls((6,), learning_rate_init=0.3, random_state=0, n_epochs=stopped.n_epochs_)
    until.fit(X[train], y[train], qid=qid[train])
    np.testing.assert_array_equal(until.predict(X), stopped.predict(X))


def test_saved_model_serves_without_torch(judged, tmp_path):
    X = judged[0]
    ranker = fitted(LambdaRank, judged)
    ranker.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("no torch here")
sys.meta_path.insert(0, NoTorch())
import numpy as np, rankwise
ranker = rankwise.load("model")
np.save("scores.npy", ranker.predict(np.load("X.npy")))
try:
    ranker.fit(np.eye(3), [0, 1, 2])
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert 'pip install "rankwise[neural]"' in done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), ranker.predict(X))


def test_no_hidden_layer_is_a_linear_function(judged):
    X = judged[0]
    ranker = fitted(RankNet, judged)
    ranker = type(ranker)((), random_state=0, n_epochs=3).fit(judged[0], judged[1], qid=judged[2])
    weights, intercept = ranker.weights_
    expected = (X - ranker.shift_) / ranker.scale_ @ weights[:, 0] + intercept
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-13)


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
def test_numpy_computes_what_torch_trains(activation, rng):
    torch = pytest.importorskip("torch", reason="needs rankwise[neural]")
    from rankwise.rankers.neural.neural_ranker import ACTIVATIONS, first_layers, outputs

    X = rng.normal(size=(7, 3)) * 30
    weights = first_layers([3, 5, 4, 1], np.random.RandomState(0))
    told = outputs(torch.tensor(X), [torch.tensor(w) for w in weights], getattr(torch, activation))
    np.testing.assert_allclose(outputs(X, weights, ACTIVATIONS[activation]), told, rtol=1e-12)


def test_optimisers_penalty_and_scaling_do_something(judged):
    X = judged[0]
    plain = fitted(RankNet, judged).predict(X)
    for changed in (
        {"optimizer": "sgd"},
        {"lam": 1.0},
        {"scaling": False},
        {"batch_size": 3},
        {"activation": "tanh"},
        {"learning_rate_init": 0.02},
    ):
        assert not np.allclose(fitted(RankNet, judged, **changed).predict(X), plain)
    for changed in ({"gain": "linear"}, {"discount": "reciprocal"}, {"k": 2}):
        usual = fitted(LambdaRank, judged).predict(X)
        assert not np.allclose(fitted(LambdaRank, judged, **changed).predict(X), usual)


def test_scale_of_a_feature_does_not_matter(judged):
    X, y, qid = judged
    scaled = (X * [1, 1e6, 1e-6, 1] + [0, 0, 0, 5], y, qid)
    expected = fitted(RankNet, judged).predict(X)
    # Rows come in another order, so that sums and batches differ: compare the orders learnt.
    got = fitted(RankNet, scaled, n_epochs=30).predict(scaled[0])
    expected = fitted(RankNet, judged, n_epochs=30).predict(X)
    assert np.corrcoef(got, expected)[0, 1] > 0.95


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hidden_layer_sizes": (4, 0)}, r"hidden_layer_sizes must hold integers >= 1, got \(4, 0"),
        ({"hidden_layer_sizes": (4.5,)}, "hidden_layer_sizes must hold integers"),
        ({"device": "abacus"}, "device must be available to torch, got 'abacus'"),
        ({"measure": "nDCD"}, "Did you mean 'nDCG'"),
        (
            {"optimizer": "sgd", "learning_rate_init": 1e200},
            "init must be small enough",
        ),
    ],
)
def test_wrong_parameters_are_named(params, message, judged):
    pytest.importorskip("torch", reason="needs rankwise[neural]")
    X, y, qid = judged
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        RankNet(**params).fit(X, y, qid=qid)


def test_device_cuda_trains_alike(judged):
    torch = pytest.importorskip("torch", reason="needs rankwise[neural]")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for cls in (RankNet, ListNet, ListMLE, LambdaRank):
        on_cpu, on_cuda = fitted(cls, judged), fitted(cls, judged, device="cuda")
        np.testing.assert_allclose(on_cuda.predict(judged[0]), on_cpu.predict(judged[0]), rtol=1e-6)


@pytest.mark.parametrize("change", [lambda y: 40 * y, lambda y: y / 8 - 1e6, lambda y: 1e300 * y])
def test_labels_that_are_no_grades_are_spread_over_0_to_4(change, judged):
    X, y, qid = judged
    pytest.importorskip("torch", reason="needs rankwise[neural]")
    held = {"X_val": X, "y_val": change(y), "qid_val": qid}
    ranker = LambdaRank((4,), n_epochs=2, gain="linear", random_state=0)
    ranker.fit(X, change(y), qid=qid, **held)
    other = LambdaRank((4,), n_epochs=2, gain="linear", random_state=0)
    other.fit(X, 0.1 * y, qid=qid)
    assert np.isfinite(ranker.validation_scores_).all()
    assert (ranker.loss_curve_ > 0).all()
    assert ranker.loss_curve_[0] == pytest.approx(other.loss_curve_[0], rel=0.3)


def test_measure_of_validation_may_be_any(judged):
    pytest.importorskip("torch", reason="needs rankwise[neural]")
    X, y, qid = judged
    ranker = ListNet((4,), n_epochs=3, measure="ERR@5", random_state=0)
    ranker.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    value = parse("ERR@5").mean(y, ranker.predict(X), QueryGroups.from_qid(qid, 200))
    assert ranker.validation_scores_[-1] == pytest.approx(value, abs=1e-12)
    assert rankwise.evaluate(y, ranker.predict(X), qid, ["ERR@5"])["ERR@5"] == value
