"""Judged data with rows that have no judgement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise.datasets import Qrels, RankingData, lint, read_letor, read_table, write_letor
from rankwise.datasets.data import join_data


@pytest.fixture
def data():
    X = np.arange(5.0)[:, None]
    y = np.array([2.0, -1.0, 0.0, 1.0, -1.0])
    ids = np.array(["a", "b", "c", "d", "e"])
    return RankingData(X, y, qid=np.array([1, 1, 1, 2, 2]), doc_ids=ids).mark_unjudged(-1)


def test_unjudged_rows_have_no_label(data):
    assert data.judged.tolist() == [True, False, True, True, False]
    np.testing.assert_array_equal(data.y, [2.0, np.nan, 0.0, 1.0, np.nan])
    assert data.grades.tolist() == [2.0, 0.0, 0.0, 1.0, 0.0]
    assert repr(data).startswith("RankingData(5 rows (2 unjudged), 2 queries")
    assert data.only_judged().y.tolist() == [2.0, 0.0, 1.0]
    assert data.only_judged().judged is None and data.only_judged().only_judged().judged is None


def test_parts_and_joined_tables_keep_the_mask(data):
    part = data.queries([1])
    assert part.judged.tolist() == [True, False]
    whole = replace(data, y=np.zeros(5), judged=None)
    assert join_data([data, whole], "both").judged.tolist() == [*data.judged, *([True] * 5)]
    assert join_data([whole, whole], "both").judged is None


def test_judgements_hold_judged_rows(data):
    assert Qrels.from_data(data).doc_ids.tolist() == ["a", "c", "d"]
    unnamed = Qrels.from_data(replace(data, doc_ids=None))
    assert unnamed.relevance.tolist() == [2, 0, 1]
    every = Qrels.from_data(replace(data, y=np.zeros(5), judged=None, doc_ids=None))
    assert unnamed.doc_ids.tolist() == every.doc_ids[data.judged].tolist()


def test_files_and_findings_hold_judged_rows(data, tmp_path):
    with pytest.raises(ValueError, match="2 rows have no judgement to write"):
        write_letor(data, tmp_path / "rows.txt")
    write_letor(data.only_judged(), tmp_path / "rows.txt")
    assert read_letor(tmp_path / "rows.txt").y.tolist() == [2.0, 0.0, 1.0]
    assert str(lint(data)) == str(lint(data.only_judged()))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_with_missing_labels(tmp_path, suffix):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"qid": [1, 1, 2], "label": [1.0, np.nan, 0.0], "x": [0.1, 0.2, 0.3]})
    path = tmp_path / f"rows.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'label' has nan.* judgement: unjudged='missing'"):
        read_table(path)
    assert read_table(path, unjudged="missing").judged.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="label must be finite, column 'label' has nan"):
        read_table(path, unjudged=-1)
    endless = frame.assign(label=[np.inf, np.nan, 0.0])
    with pytest.raises(ValueError, match="label must be finite, column 'label' has inf"):
        RankingData.from_frame(endless, unjudged="missing")


def test_wrong_masks_and_labels_are_refused(data):
    with pytest.raises(ValueError, match="judged must hold truth values, got dtype int64"):
        replace(data, judged=np.array([1, 0, 1, 1, 0]))
    with pytest.raises(ValueError, match="judged must have n_samples=5 entries, got 2"):
        replace(data, judged=np.ones(2, dtype=bool))
    for label in ("none", np.nan, np.inf, True, None):
        with pytest.raises(ValueError, match="unjudged must be a number such as -1, or 'missing'"):
            data.mark_unjudged(label)
    zeros = replace(data, y=np.zeros(5), judged=None)
    with pytest.raises(ValueError, match="all 5 rows are unjudged"):
        zeros.mark_unjudged(0)
    assert zeros.mark_unjudged(-1).judged.all()
