"""The layout of CF-LETOR: rows, grades, folds."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import load_cystic_fibrosis
from rankwise.text import load_cf_letor


@pytest.fixture(scope="module")
def folds():
    try:
        return load_cf_letor()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_every_query_ranks_all_documents(folds):
    fold = folds[0]
    parts = fold.train, fold.vali, fold.test
    assert [part.n_queries for part in parts] == [60, 20, 20]
    assert all((part.groups.sizes == 1239).all() for part in parts)
    assert all(part.X.dtype == np.float32 and part.n_features == 140 for part in parts)
    assert all(part.X.min() >= 0 and part.X.max() <= 1 for part in parts)


def test_grades_are_the_sums_of_the_raters(folds):
    judged = load_cystic_fibrosis()
    test = folds[1].test
    grade = dict(
        zip(zip(test.qid.tolist(), test.doc_ids.tolist(), strict=True), test.y, strict=True)
    )
    queries = {int(name) for name in test.qid.tolist()}
    own = [row for row, query in enumerate(judged.queries) if query in queries]
    for row in own:
        pair = str(judged.queries[row]), str(judged.documents[row])
        assert grade[pair] == judged.grades[row].sum()
    assert sum(value > 0 for value in grade.values()) == sum(
        judged.grades[row].sum() > 0 for row in own
    )


def test_folds_rotate_over_parts(folds):
    tested = []
    for fold in folds:
        ids = [set(part.qid.tolist()) for part in (fold.train, fold.vali, fold.test)]
        assert not ids[0] & ids[1] and not ids[0] & ids[2] and not ids[1] & ids[2]
        tested += ids[2]
    assert len(tested) == len(set(tested)) == 100
    assert {int(name) % 5 for name in folds[0].test.qid.tolist()} == {0}


def test_other_versions(folds):
    raw = load_cf_letor(2, "min").test
    assert raw.X.max() > 1 and raw.qid.tolist() == folds[1].test.qid.tolist()
    with pytest.raises(ValueError, match="version must be one of 'qln', 'min', got 'raw'"):
        load_cf_letor(version="raw")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="fold must be a number from 1 to 5"):
        load_cf_letor(6)
