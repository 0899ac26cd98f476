"""Folds that have the same share of every class."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RidgeRanker
from rankwise.groups import QueryGroups
from rankwise.tuning import content_folds, split_stratified


def splits_of(X, y, qid=None):
    y = np.asarray(y, dtype=float)
    groups = QueryGroups.from_qid(qid, len(y))
    return split_stratified(np.asarray(X, dtype=float), y, groups, 5)


def test_every_class_is_dealt_out_evenly(rng):
    y = np.repeat([0, 1, 2], [50, 11, 3])
    splits = splits_of(rng.normal(size=(64, 2)), y)
    counts = np.array([np.bincount(y[test], minlength=3) for _, test in splits])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.sort(np.concatenate([test for _, test in splits])).tolist() == list(range(64))
    assert all(np.setdiff1d(range(64), test).tolist() == train.tolist() for train, test in splits)


def test_queries_stay_whole(rng):
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), rng.integers(0, 9, 60)
    for train, test in splits_of(X, y, qid):
        assert not set(qid[train]) & set(qid[test])


def test_equal_rows_are_dealt_out_too():
    y = np.repeat([0, 1], 10)
    assert [y[test].tolist() for _, test in splits_of(np.zeros((20, 1)), y)] == [[0, 0, 1, 1]] * 5


@pytest.mark.parametrize("with_qid", [False, True])
def test_order_of_the_rows_does_not_matter(with_qid, rng):
    X, y, qid = rng.normal(size=(40, 2)), rng.integers(0, 3, 40), rng.integers(0, 8, 40)
    order = rng.permutation(40)
    one = splits_of(X, y, qid if with_qid else None)
    other = splits_of(X[order], y[order], qid[order] if with_qid else None)
    assert [set(test) for _, test in one] == [set(order[test]) for _, test in other]


def test_fewer_rows_or_queries_than_folds(rng):
    assert len(splits_of([[0], [1], [2]], [0, 1, 1])) == 3
    assert len(splits_of(rng.normal(size=(9, 1)), [0] * 9, [1, 2, 2] * 3)) == 2
    with pytest.raises(ValueError, match="two or more rows, got n_samples=1"):
        splits_of([[1]], [0])


def test_queries_without_rows_are_in_no_fold():
    groups = QueryGroups.from_sizes([3, 0, 3])
    splits = split_stratified(np.zeros((6, 1)), np.arange(6.0), groups, 5)
    assert [len(test) for _, test in splits] == [3, 3]


def test_distinct_rows_are_dealt_out_evenly_and_equal_rows_share_a_fold(rng):
    X = np.repeat(rng.normal(size=(13, 2)), 2, axis=0)
    folds = content_folds(X, np.zeros(26), 5)
    assert sorted(len(fold) for fold in folds) == [4, 4, 6, 6, 6]
    assert all((fold[::2] + 1 == fold[1::2]).all() for fold in folds)


@pytest.mark.parametrize("cv", [[], [([0, 1], [])], [([0, 1], [2]), ([], [0])], [([0],)]])
def test_splits_without_rows_are_refused(cv):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(ValueError, match="must give splits with training rows and test rows"):
        RidgeRanker(alpha=[0.1, 1.0], cv=cv).fit(X, y)
