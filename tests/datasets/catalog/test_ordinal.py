"""Ordinal sets: counts, order of classes, nominal columns, published splits, cutting."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.datasets import (
    cut_into_classes,
    fetch,
    known_sources,
    load_cystic_fibrosis,
    load_ordinal,
)
from rankwise.datasets.catalog.ordinal import ORDINAL_SETS

PUBLISHED = {
    "era": [92, 142, 181, 172, 158, 118, 88, 31, 18],
    "esl": [2, 12, 38, 100, 116, 135, 62, 19, 4],
    "lev": [93, 280, 403, 197, 27],
    "swd": [32, 352, 399, 217],
    "car": [1210, 384, 69, 65],
    "nursery": [4320, 2, 328, 4266, 4044],
    "balance-scale": [288, 49, 288],
    "tae": [49, 50, 52],
    "new-thyroid": [30, 150, 35],
    "eucalyptus": [180, 107, 130, 214, 105],
    "wine-quality-red": [10, 53, 681, 638, 199, 18],
}
NOMINAL = {
    "car": 6, "nursery": 8, "tae": 4, "eucalyptus": 5, "abalone": 1, "machine-cpu": 1,
}  # fmt: skip
# Rows of train and of test.
CHU = {
    "pyrimidines": (50, 24),
    "machinecpu": (150, 59),
    "bostonhousing": (300, 206),
    "diabetes": (30, 13),
    "triazines": (100, 86),
}
ORCA = {"toy": (225, 75, 30), "pasture": (27, 9, 30), "tae": (113, 38, 30), "pyrim10": (50, 24, 20)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_classes(data_root, name):
    data = load_ordinal(name)
    assert np.bincount(data.y).tolist() == PUBLISHED[name]
    assert len(data.classes) == len(PUBLISHED[name])
    assert len(data.train) == len(data.test) == 0
    assert data.target is None


@pytest.mark.parametrize("name", [n for n, known in ORDINAL_SETS.items() if not known.splits])
def test_rows_features_and_nominal_columns(data_root, name):
    known = ORDINAL_SETS[name]
    data = load_ordinal(name, bins=None if known.classes else 4)
    assert data.X.shape == (known.rows, known.features) == (len(data.y), len(data.feature_names))
    assert data.categorical_features.sum() == NOMINAL.get(name, 0)
    for column, is_nominal, categories in zip(
        data.X.T, data.categorical_features, data.categories, strict=True
    ):
        assert is_nominal == bool(categories)
        if is_nominal:
            codes = np.unique(column[~np.isnan(column)])
            assert np.array_equal(codes, np.arange(len(categories)))
    assert np.isnan(data.X).sum() == (448 if name == "eucalyptus" else 0)


def test_order_of_classes(data_root):
    assert load_ordinal("car").classes == ("unacc", "acc", "good", "vgood")
    assert load_ordinal("balance-scale").classes == ("L", "B", "R")
    assert load_ordinal("eucalyptus").classes == ("none", "low", "average", "good", "best")
    # Under-active, normal, over-active: thyroxin rises with the class.
    thyroid = load_ordinal("new-thyroid")
    assert thyroid.classes == ("3", "1", "2")
    thyroxin = thyroid.X[:, thyroid.feature_names.index("thyroxin")]
    means = [thyroxin[thyroid.y == k].mean() for k in range(3)]
    assert means == sorted(means)
    # A balance tips to the side with the larger moment.
    scale = load_ordinal("balance-scale")
    assert np.array_equal(
        scale.y, np.sign(scale.X[:, 2] * scale.X[:, 3] - scale.X[:, 0] * scale.X[:, 1]) + 1
    )


def test_categories_are_named(data_root):
    car = load_ordinal("car")
    assert car.feature_names == ("buying", "maint", "doors", "persons", "lug_boot", "safety")
    assert car.categories[0] == ("low", "med", "high", "vhigh")
    assert car.X[0].tolist() == [3, 3, 0, 0, 0, 0]  # vhigh, vhigh, 2, 2, small, low
    # Categories that are numbers sort by size.
    tae = load_ordinal("tae")
    assert tae.categories[1] == tuple(str(k) for k in range(1, 26))
    machine = load_ordinal("machine-cpu", bins=10)
    assert machine.feature_names == ("vendor", "myct", "mmin", "mmax", "cach", "chmin", "chmax")
    assert len(machine.categories[0]) == 30


def test_no_feature_is_the_target(data_root):
    """Not the estimate erp, nor a copy of the numbers that the classes were cut from."""
    for name, known in ORDINAL_SETS.items():
        if known.classes or known.splits:
            continue
        data = load_ordinal(name, bins=5)
        numeric = data.X[:, ~data.categorical_features]
        correlation = np.corrcoef(np.column_stack([numeric, data.target]).T)[-1, :-1]
        assert np.abs(correlation).max() < 0.94, name


@pytest.mark.parametrize("name", CHU)
@pytest.mark.parametrize("bins", [5, 10])
def test_published_splits(data_root, name, bins):
    n_train, n_test = CHU[name]
    whole = load_ordinal(f"chu-{name}", bins=bins)
    assert whole.classes == tuple(str(k + 1) for k in range(bins))
    assert np.array_equal(np.unique(whole.y), np.arange(bins))
    trains = set()
    for split in range(20):
        data = load_ordinal(f"chu-{name}", split, bins)
        assert (len(data.train), len(data.test)) == (n_train, n_test)
        rows = np.sort(np.r_[data.train, data.test])
        assert np.array_equal(rows, np.arange(len(data.y)))
        assert np.array_equal(data.y, whole.y)
        trains.add(data.train.tobytes())
    assert len(trains) == 20
    ours, names = cut_into_classes(whole.target, bins, by="length")
    number = np.array(names).astype(int)[ours] - 1
    differing = {("pyrimidines", 5): 8, ("diabetes", 10): 6}
    assert (number != whole.y).sum() == differing.get((name, bins), 0)


@pytest.mark.parametrize("name", ORCA)
def test_hold_outs(data_root, name):
    n_train, n_test, n_splits = ORCA[name]
    for split in range(n_splits):
        data = load_ordinal(f"orca-{name}", split)
        assert (len(data.train), len(data.test)) == (n_train, n_test)
        assert np.array_equal(np.unique(data.y[data.train]), np.arange(len(data.classes)))
    with pytest.raises(ValueError, match=f"split must be 0 to {n_splits - 1} for orca-{name}"):
        load_ordinal(f"orca-{name}", n_splits)


def test_wisconsin(data_root):
    data = load_ordinal("chu-wisconsin", 0)
    assert (len(data.train), len(data.test), data.X.shape) == (130, 64, (194, 32))
    assert np.bincount(data.y).tolist() == [67, 41, 43, 24, 19]
    # Splits order the same rows anew.
    other = load_ordinal("chu-wisconsin", 19)
    assert np.array_equal(np.sort(data.X[:, 5]), np.sort(other.X[:, 5]))
    with pytest.raises(ValueError, match="published split by split"):
        load_ordinal("chu-wisconsin")
    with pytest.raises(ValueError, match="bins must be 5 for chu-wisconsin"):
        load_ordinal("chu-wisconsin", 0, 10)


def test_cystic_fibrosis(data_root):
    pairs = load_cystic_fibrosis()
    assert pairs.grades.shape == (4819, 4)
    assert len(np.unique(pairs.queries)) == 100
    assert len(np.unique(pairs.documents)) == 1225
    assert len(np.unique(np.c_[pairs.queries, pairs.documents], axis=0)) == 4819
    sums = np.bincount(pairs.grades.sum(axis=1), minlength=9)
    assert sums.tolist() == [0, 2280, 744, 251, 202, 250, 297, 330, 465]
    assert [np.bincount(column).tolist() for column in pairs.grades.T] == [
        [2587, 1128, 1104], [2667, 1233, 919], [2728, 1063, 1028], [1365, 2043, 1411],
    ]  # fmt: skip


def test_what_is_asked_for_must_be_there():
    with pytest.raises(ValueError, match=r"name must be one of era, esl, .*, got 'iris'"):
        load_ordinal("iris")
    with pytest.raises(ValueError, match="bins must be given for stock, got None"):
        load_ordinal("stock")
    with pytest.raises(ValueError, match="Its 9 classes are published"):
        load_ordinal("era", bins=5)
    with pytest.raises(ValueError, match="split must be None for era, got 0"):
        load_ordinal("era", 0)
    with pytest.raises(ValueError, match="split must be 0 to 19 for chu-diabetes, got 20"):
        load_ordinal("chu-diabetes", 20)
    with pytest.raises(ValueError, match="bins must be 5 or 10 for chu-diabetes"):
        load_ordinal("chu-diabetes", bins=7)
    with pytest.raises(ValueError, match='by must be "length" for chu-diabetes'):
        load_ordinal("chu-diabetes", by="frequency")


def test_a_set_that_is_not_here_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"openml\.org/d/1030"):
        load_ordinal("era")
    with pytest.raises(FileNotFoundError, match=r"cfc\.html.*Terms: Copyright 1989"):
        load_cystic_fibrosis()


def test_another_table_is_refused(data_root, tmp_path, monkeypatch):
    (tmp_path / "ordinal").mkdir()
    text = gzip.decompress(fetch("ordinal-lev")[0].read_bytes()).decode()
    (tmp_path / "ordinal" / "lev.csv").write_text(text + "1,1,1,1,1\n")
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"is not lev\.csv of ordinal-lev"):
        load_ordinal("lev")


def test_every_source_of_classes_is_loaded():
    listed = {name for name, source in known_sources().items() if source.kind == "ordinal"}
    assert listed == {known.files for known in ORDINAL_SETS.values()}


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=60),
    st.integers(2, 8),
    st.sampled_from(["frequency", "length"]),
)
def test_classes_follow_the_numbers(values, bins, by):
    codes, names = cut_into_classes(values, bins, by=by)
    order = np.argsort(values, kind="stable")
    steps = np.diff(codes[order])
    assert (steps >= 0).all() and (steps <= 1).all()
    assert (steps[np.diff(np.array(values)[order]) == 0] == 0).all()
    assert len(names) == codes.max() + 1 <= bins
    assert list(names) == sorted(names, key=int)


def test_sizes_of_classes():
    codes, _ = cut_into_classes(np.random.default_rng(0).permutation(103), 10)
    assert set(np.bincount(codes)) == {10, 11}
    codes, names = cut_into_classes([0.0, 0.9, 1.0, 2.5, 10.0], 10, by="length")
    assert codes.tolist() == [0, 0, 0, 1, 2]
    assert names == ("1", "3", "10")
    with pytest.raises(ValueError, match="bins must be 2 or more, got 1"):
        cut_into_classes([1, 2], 1)
    with pytest.raises(ValueError, match="target must be finite, got nan at row 1"):
        cut_into_classes([1, np.nan], 2)
    with pytest.raises(ValueError, match='by must be "frequency" or "length"'):
        cut_into_classes([1, 2], 2, by="width")
