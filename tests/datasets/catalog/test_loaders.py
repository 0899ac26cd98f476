"""The known sets as data: the counts that their publishers and the catalog state."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from rankwise.datasets import (
    Fold,
    FoldedData,
    RankingData,
    fetch,
    known_datasets,
    load_dataset,
    read_letor,
)


def histogram(y):
    values, counts = np.unique(y, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("name", ["ohsumed", "ohsumed-min", "mq2008", "lambdarank", "mslr-slices"])
def test_counts(data_root, name):
    entry, data = known_datasets()[name], load_dataset(name, part="all")
    assert data.X.shape == (entry.rows, entry.features)
    assert data.X.dtype == np.float32
    assert isinstance(data.X, np.ndarray)
    assert data.n_queries == entry.queries
    assert data.groups.order is None
    assert histogram(data.y) == {float(label): n for label, n in entry.labels.items()}
    assert data.name == name
    assert np.isfinite(data.X).all()


@pytest.mark.parametrize(
    "name, rows, queries",
    [
        ("ohsumed", [2570, 3076, 3573, 3538, 3383], [21, 21, 21, 21, 22]),
        ("ohsumed-min", [2570, 3076, 3573, 3538, 3383], [21, 21, 21, 21, 22]),
        ("mq2008", [2933, 3635, 3062, 2707, 2874], [157, 157, 157, 157, 156]),
    ],
)
def test_letor_folds(data_root, name, rows, queries):
    folds = load_dataset(name)
    everything = load_dataset(name, part="all")
    assert isinstance(folds, FoldedData)
    assert folds.fold_names == ("fold1", "fold2", "fold3", "fold4", "fold5")
    for k, fold in enumerate(folds):
        i = [(k + step) % 5 for step in range(5)]
        assert fold.name == f"fold{k + 1}"
        assert fold.train.n_samples == sum(rows[j] for j in i[:3])
        assert fold.train.n_queries == sum(queries[j] for j in i[:3])
        assert (fold.vali.n_samples, fold.vali.n_queries) == (rows[i[3]], queries[i[3]])
        assert (fold.test.n_samples, fold.test.n_queries) == (rows[i[4]], queries[i[4]])
        assert fold.train.name == f"{name} fold{k + 1} train"
        ids = np.concatenate([part.groups.ids for part in (fold.train, fold.vali, fold.test)])
        assert len(set(ids.tolist())) == len(ids)
        np.testing.assert_array_equal(np.sort(ids), np.sort(everything.groups.ids))


def test_fold_is_the_files_joined_in_order(data_root):
    fold = load_dataset("ohsumed", 4, dtype=np.float64)
    paths = fetch("ohsumed")
    expected = [load_svmlight_file(paths[i], n_features=45, query_id=True) for i in (3, 4, 0)]
    np.testing.assert_array_equal(
        fold.train.X, np.concatenate([X.toarray() for X, _, _ in expected])
    )
    np.testing.assert_array_equal(fold.train.y, np.concatenate([y for _, y, _ in expected]))
    np.testing.assert_array_equal(fold.train.qid, np.concatenate([q for _, _, q in expected]))
    one = read_letor([paths[i] for i in (3, 4, 0)], dtype=np.float64, n_features=45, dense=True)
    for name in ("X", "y", "qid", "doc_ids", "comments"):
        np.testing.assert_array_equal(getattr(fold.train, name), getattr(one, name))


def test_ohsumed_versions_have_the_same_rows(data_root):
    qln, low = load_dataset("ohsumed", 2).test, load_dataset("ohsumed-min", 2).test
    np.testing.assert_array_equal(qln.doc_ids, low.doc_ids)
    np.testing.assert_array_equal(qln.y, low.y)
    assert qln.X.min() == 0.0
    assert qln.X.max() == 1.0
    everything = load_dataset("ohsumed-min", part="all", dtype=np.float64).X
    assert (everything.min(), everything.max()) == (-109.105774, 239.3044)


def test_document_ids_are_kept(data_root):
    data = load_dataset("mq2008", 1).test
    assert data.doc_ids[0].startswith("GX")
    assert data.comments[0].startswith(f"docid = {data.doc_ids[0]} inc = ")
    assert load_dataset("ohsumed", 1).test.doc_ids[0].isdigit()


def test_mslr_slices(data_root):
    fold = load_dataset("mslr-slices", 1)
    assert [part.n_samples for part in (fold.train, fold.vali, fold.test)] == [1835, 1734, 1900]
    assert [part.n_queries for part in (fold.train, fold.vali, fold.test)] == [18, 18, 18]


def test_lambdarank_needs_no_data_folder(monkeypatch):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    everything = load_dataset("lambdarank", part="all")
    assert isinstance(everything, RankingData)
    assert (everything.n_samples, everything.n_queries, everything.n_features) == (3773, 251, 300)
    assert everything.groups.ids.tolist() == list(range(1, 252))
    assert (everything.X != 0).any(axis=0).sum() == 218
    train, test = load_dataset("lambdarank", part="train"), load_dataset("lambdarank", part="test")
    assert (train.n_samples, train.n_queries) == (3005, 201)
    assert (test.n_samples, test.n_queries) == (768, 50)

    fold = load_dataset("lambdarank", fold=1)
    assert isinstance(fold, Fold)
    assert fold.train.groups.ids.tolist() == list(range(1, 162))
    assert fold.vali.groups.ids.tolist() == list(range(162, 202))
    assert fold.test.groups.ids.tolist() == list(range(202, 252))
    assert fold.vali.name == "lambdarank fold1 vali"
    np.testing.assert_array_equal(np.concatenate([fold.train.X, fold.vali.X]), train.X)
    np.testing.assert_array_equal(fold.test.X, test.X)

    folds = load_dataset("lambdarank")
    assert isinstance(folds, FoldedData)
    assert len(folds) == 1
    np.testing.assert_array_equal(folds[0].train.X, fold.train.X)


def test_float64_is_the_number_in_the_file():
    X = load_dataset("lambdarank", part="test", dtype=np.float64).X
    assert X.dtype == np.float64
    assert X[0, 0] == 0.74


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: load_dataset("lambdarank", 2),
            "lambdarank has a single fold, 1, got fold=2. Pass",
        ),
        (lambda: load_dataset("lambdarank", 0), "got fold=0"),
        (
            lambda: load_dataset("lambdarank", part="vali"),
            "part must be one of 'all', 'train', 'test'",
        ),
        (lambda: load_dataset("lambdarank", 1, part="all"), "got fold=1 too. Drop one"),
        (lambda: load_dataset("ohsumed", part="train"), "part must be one of 'all' for ohsumed"),
        (lambda: load_dataset("x"), "name must be one of ohsumed"),
        (lambda: load_dataset("mq2008", 6), "mq2008 has folds 1 to 5, got fold=6"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_fold_numbers_of_folded_data():
    folds = load_dataset("lambdarank")
    assert folds[-1].name == "fold1"
    with pytest.raises(IndexError):
        folds[1]
