"""The benchmark: splits, encoding, tuning that sees no test row, peers, ranks and tests."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets.catalog.ordinal import OrdinalData
from rankwise_papers.ordinal_benchmark import peers, tables
from rankwise_papers.ordinal_benchmark.experiment import METHODS, OrdinalBenchmark
from rankwise_papers.ordinal_benchmark.ours import BESIDE, ONE_HOT, OURS
from rankwise_papers.ordinal_benchmark.peers import PEERS
from rankwise_papers.ordinal_benchmark.sets import (
    SETS,
    BenchmarkSet,
    Task,
    draw_split,
    encode,
    make_task,
)
from rankwise_papers.ordinal_benchmark.tuning import Method, fold_numbers, tune_and_predict


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 3))
    X[:, 1] = rng.integers(3, size=120)
    X[rng.random(120) < 0.2, 2] = np.nan
    score = X[:, 0] + (X[:, 1] == 2) + 0.1 * rng.normal(size=120)
    y = np.searchsorted([-0.5, 0.3, 1.0], score)
    return OrdinalData(
        X, y, tuple("abcd"), np.arange(80), np.arange(80, 120), ("u", "v", "w"),
        np.array([False, True, False]), ((), ("r", "g", "b"), ()), None, "made",
    )  # fmt: skip


@pytest.fixture
def task(data):
    Z = encode(data, data.train)
    return Task(data.X, data.categorical_features, Z, data.y, 4, data.train, data.test)


def test_drawn_splits_keep_the_classes(rng):
    y = np.repeat([0, 1, 2, 3], [70, 20, 9, 1])
    trains = []
    for seed in range(8):
        train, test = draw_split(y, 75, seed)
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(100))
        counts = np.bincount(y[train], minlength=4)
        assert np.abs(counts - 0.75 * np.array([70, 20, 9, 1])).max() < 1.5
        trains.append(tuple(np.sort(train)))
    assert len(set(trains)) == 8
    assert np.array_equal(draw_split(y, 75, 3)[0], draw_split(y, 75, 3)[0])


def test_numbers_of_nominal_and_missing_cells(data):
    Z = encode(data, data.train)
    assert Z.shape == (120, 6)  # one column, three of the nominal one, one and its marks
    assert not np.isnan(Z).any()
    np.testing.assert_allclose(Z[data.train].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z[data.train].std(axis=0), 1, atol=1e-12)
    missing = np.isnan(data.X[:, 2])
    np.testing.assert_allclose(Z[missing, 4], 0, atol=1e-12)  # the mean
    assert len(np.unique(Z[missing, 5])) == 1
    # What is constant over the training rows is left out.
    same = np.where(np.arange(120) < 80, 1.0, data.X[:, 0])
    constant = OrdinalData(**{**vars(data), "X": np.c_[same, data.X[:, 1:]]})
    assert encode(constant, data.train).shape == (120, 5)


def test_tuning_sees_no_test_label(task):
    """The choice and the predictions are the same whatever the labels of the test rows."""
    chosen, predicted = tune_and_predict(OURS["RankingTree"], task, 0)
    y = task.y.copy()
    y[task.test] = 3 - y[task.test]
    other = Task(task.X, task.categorical, task.Z, y, 4, task.train, task.test)
    again, same = tune_and_predict(OURS["RankingTree"], other, 0)
    assert chosen == again
    assert np.array_equal(predicted, same)


def test_tuning_takes_the_first_setting_of_least_held_out_error(task):
    asked = []

    def predict(task, train, test, settings):
        asked.append((len(train), len(test), tuple(settings)))
        assert not set(train) & set(test)
        return np.array([np.full(len(test), float(setting)) for setting in settings])

    chosen, predicted = tune_and_predict(Method(predict, (0, 1, 2, 3)), task, 0)
    errors = [np.abs(task.y[task.train] - k).sum() for k in range(4)]
    assert chosen == int(np.argmin(errors))
    assert (predicted == chosen).all()
    assert [held for _, held, _ in asked] == [16] * 5 + [40]
    assert asked[-1] == (80, 40, (chosen,))


def test_folds_deal_the_classes_out(rng):
    y = rng.integers(0, 4, 103)
    fold = fold_numbers(y, 5, 1)
    table = np.array([np.bincount(y[fold == k], minlength=4) for k in range(5)])
    assert np.ptp(table, axis=0).max() <= 1
    assert np.ptp(table.sum(axis=1)) <= 1


@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts_classes_and_learns(task, name):
    if peers.missing_peer(name):
        pytest.skip(peers.missing_peer(name))
    method = METHODS[name]
    settings = method.settings[:: max(1, len(method.settings) // 2)]
    predicted = method.predict(task, task.train, task.test, settings)
    assert predicted.shape == (len(settings), len(task.test))
    assert set(np.unique(predicted)) <= {0, 1, 2, 3}
    # One setting alone gives the same line as among others.
    alone = method.predict(task, task.train, task.test, settings[-1:])
    assert np.array_equal(alone[0], predicted[-1])
    _, final = tune_and_predict(Method(method.predict, method.settings[:6], 3), task, 0)
    error = np.abs(final - task.y[task.test]).mean()
    constant = np.abs(PEERS["median class"].predict(task, task.train, task.test, [None])[0]
                      - task.y[task.test]).mean()  # fmt: skip
    assert error < constant or name == "median class"


@pytest.mark.parametrize("name", METHODS)
def test_classes_that_training_lacks_move_no_class(task, name):
    """Class numbers stay what they are where the training rows have only some of them."""
    if peers.missing_peer(name):
        pytest.skip(peers.missing_peer(name))
    train = task.train[np.isin(task.y[task.train], (1, 3))]
    method = METHODS[name]
    predicted = method.predict(task, train, task.test, method.settings[:1])
    assert set(np.unique(predicted)) <= ({1, 2, 3} if name == "LightGBM regression" else {1, 3})


def test_the_published_splits_and_all_sets(data_root):
    keys = [known.key for known in SETS]
    assert len(set(keys)) == len(keys) == 30
    assert sum(not known.twin for known in SETS) == 25
    one = make_task(BenchmarkSet("diabetes 10", "chu-diabetes", 20, 10), 3)
    assert (len(one.train), len(one.test), one.n_classes) == (30, 13, 10)
    two = make_task(next(known for known in SETS if known.key == "eucalyptus"), 1)
    assert (len(two.train), len(two.test), two.Z.shape[0]) == (552, 184, 736)
    assert two.categorical.sum() == 5 and np.isnan(two.X).any() and not np.isnan(two.Z).any()


def test_a_missing_peer_is_not_run_and_says_so(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    message = "Not run: pip install rankwise-papers[baselines]."
    assert peers.missing_peer("mord LogisticAT") == message
    assert peers.missing_peer("LightGBM classes") == message
    assert peers.missing_peer("RankingTree") == ""
    ran = {cell.params["method"] for cell in OrdinalBenchmark().cells(quick=True)}
    assert ran == {*OURS, "median class", "RankingTree, one-hot"}
    ranks = OrdinalBenchmark().tables({}, quick=True)[0]
    notes = {value.row: value.note for value in ranks.values}
    assert notes["statsmodels OrderedModel"] == message


def test_ranks_and_tests(monkeypatch):
    sets = [BenchmarkSet(f"s{k}", "era", 2) for k in range(9)]
    sets.append(BenchmarkSet("twin", "era", 2, twin=True))
    results = {}
    for k, known in enumerate(sets):
        for method, level in {"a": 0.1, "b": 0.3, "c": 0.3 if k % 2 else 0.2}.items():
            errors = [level + 0.01 * k, level + 0.03 * k]
            results[f"{known.key}/{method}"] = {"absolute": errors, "zero-one": errors}
    absolute, _, errors, _, nominal = tables.make(results, sets, ["a", "b", "c"], quick=False)
    of = {(value.row, value.column): value.ours for value in absolute.values}
    assert of["a", "mean rank"] == 1.0
    assert of["b", "mean rank"] == pytest.approx((5 * 3 + 4 * 2.5) / 9)
    assert of["a", "best on"] == 9
    assert ("a", "p against the best") not in of
    # Nine differences of one sign: 2 / 2^9, doubled for the second method by Holm.
    assert of["b", "p against the best"] == pytest.approx(2 * 2 / 2**9)
    assert "the methods differ" in absolute.caption
    means = {(value.row, value.column): value for value in errors.values}
    assert means["a", "s1"].ours == pytest.approx(0.12)
    assert means["a", "s1"].error == pytest.approx(0.01)
    assert ("a", "twin") in means
    assert not nominal.values
    # A set that one of the methods lacks is not ranked.
    del results["s0/b"]
    assert "over 8 data sets" in tables.make(results, sets, ["a", "b", "c"], quick=False)[0].title


def test_nominal_columns_beside_one_hot(task):
    benchmark = OrdinalBenchmark()
    cells = [c for c in benchmark.cells(quick=True) if c.params["method"] == ONE_HOT]
    assert [cell.params["set"] for cell in cells] == ["tae"]
    results = {
        "quick/tae/RankingTree": {"absolute": [0.2, 0.4], "zero-one": [0.2, 0.4]},
        cells[0].name: {"absolute": [0.3, 0.4], "zero-one": [0.3, 0.4]},
    }
    nominal = benchmark.tables(results, quick=True)[-1]
    of = {value.column: (value.ours, value.error) for value in nominal.values}
    assert of["one-hot minus as such"] == pytest.approx((0.05, 0.05))
    predicted = BESIDE[ONE_HOT].predict(task, task.train, task.test, [(2,), (None,)])
    assert predicted.shape == (2, 40)


def test_a_cell(data_root):
    benchmark = OrdinalBenchmark()
    cell = next(c for c in benchmark.cells(quick=True) if c.params["method"] == "median class")
    value = benchmark.run(cell)
    assert len(value["absolute"]) == len(value["zero-one"]) == cell.params["splits"]
    assert 0 < value["zero-one"][0] <= value["absolute"][0]
    full = benchmark.cells(quick=False)
    assert len({c.name for c in full}) == len(full)
    assert not {c.name for c in full} & {c.name for c in benchmark.cells(quick=True)}
    assert "Test rows are never seen" in benchmark.protocol()
