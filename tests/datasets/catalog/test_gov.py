"""TD2003 and TD2004: found in the publisher's layout, and refused where they are something else."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import known_datasets, load_dataset
from tests.datasets.catalog.gov import DOCUMENTS, write_gov


@pytest.mark.parametrize(("year", "n_part"), [(2003, 10), (2004, 15)])
def test_folds_are_letors(tmp_path, monkeypatch, year, n_part):
    write_gov(tmp_path, year, monkeypatch)
    folds = load_dataset(f"td{year}")
    assert folds.fold_names == tuple(f"fold{i}" for i in range(1, 6))
    tested = []
    for i, fold in enumerate(folds):
        parts = [(i + step) % 5 for step in range(5)]
        ids = [np.arange(part * n_part + 1, (part + 1) * n_part + 1) for part in parts]
        np.testing.assert_array_equal(fold.train.groups.ids, np.concatenate(ids[:3]))
        np.testing.assert_array_equal(fold.vali.groups.ids, ids[3])
        np.testing.assert_array_equal(fold.test.groups.ids, ids[4])
        assert fold.train.X.shape == (3 * n_part * DOCUMENTS, 64)
        assert set(np.unique(fold.test.y)) == {0.0, 1.0}
        tested.append(fold.test)
    assert tested[0].comments[0].startswith("docid = G")
    everything = load_dataset(f"td{year}", part="all")
    assert everything.n_queries == 5 * n_part == known_datasets()[f"td{year}"].queries


def test_td2004_has_75_queries():
    """The paper says 72; LETOR 3.0 has 75 topics."""
    assert known_datasets()["td2004"].queries == 75
    assert known_datasets()["td2003"].queries == 50


def test_files_with_other_queries_are_refused(tmp_path, monkeypatch):
    folder = write_gov(tmp_path, 2003, monkeypatch)
    test = folder / "Fold2" / "test.txt"  # part S1
    test.write_text(test.read_text() + "0 qid:99 1:0.5\n")
    with pytest.raises(
        ValueError, match=r"is not S1\.txt of td2003: it must have 10 queries, got 11"
    ):
        load_dataset("td2003", 1)


def test_files_with_other_rows_are_refused(tmp_path, monkeypatch):
    folder = write_gov(tmp_path, 2003, monkeypatch)
    test = folder / "Fold2" / "test.txt"
    test.write_text(test.read_text() + "0 qid:10 1:0.5\n")
    with pytest.raises(ValueError, match="td2003 must have 600 rows, but the files have 601"):
        load_dataset("td2003", 1)


def test_files_with_more_features_are_refused(tmp_path, monkeypatch):
    folder = write_gov(tmp_path, 2003, monkeypatch)
    test = folder / "Fold2" / "test.txt"
    test.write_text(test.read_text().replace(" 64:", " 65:", 1))
    with pytest.raises(ValueError, match="65"):
        load_dataset("td2003", 1)


def test_a_missing_set_says_what_to_get(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"2004_td_dataset/Fold1/test\.txt and so on"):
        load_dataset("td2004", 1)
