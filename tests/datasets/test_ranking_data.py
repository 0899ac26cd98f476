"""Judged rows made of columns of any library: arrays, selected by row number."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import RankingData
from rankwise.datasets import read_letor, write_letor

N = 6
X = np.arange(2.0 * N).reshape(N, 2)
Y = [0, 1, 2, 0, 1, 2]
QID = [1, 1, 1, 2, 2, 2]
IDS = list("abcdef")
BACKWARDS = np.arange(N)[::-1]  # as the index of rows that were shuffled
FORMS = {
    "lists": list,
    "Series": lambda values: pd.Series(values, index=BACKWARDS),
    "nullable": lambda values: pd.Series(values, index=BACKWARDS).convert_dtypes(),
    "Index": pd.Index,
    "Polars": pl.Series,
}


@pytest.mark.parametrize("form", FORMS)
def test_columns_of_any_library_are_selected_by_row(form, tmp_path):
    make = FORMS[form]
    data = RankingData(
        X, make(Y), qid=make(QID), doc_ids=make(IDS), sample_weight=make([1.0, 2, 3, 4, 5, 6]),
        score_columns={"bm25": make([3.0, 1, 2, 5, 4, 6])},
    )  # fmt: skip
    taken = data.take(np.array([4, 0]))
    assert taken.y.tolist() == [1, 0] and taken.qid.tolist() == [2, 1]
    assert taken.doc_ids.tolist() == ["e", "a"] and taken.sample_weight.tolist() == [5, 1]
    assert taken.score_columns["bm25"].tolist() == [4, 3]
    assert len({data, taken}) == 2  # compared by identity, not row by row
    write_letor(data, tmp_path / "a.txt")
    assert read_letor(tmp_path / "a.txt").doc_ids.tolist() == IDS


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((pd.DataFrame(X), Y, QID), "X must be a matrix .*DataFrame.* RankingData.from_frame"),
        ((X, Y, None), "qid must have n_samples=6 entries.* numpy.zeros"),
        ((X, Y, 0), "qid must have n_samples=6 entries"),
        ((X, np.reshape(Y, (-1, 1)), QID), r"y must have n_samples=6 entries, got shape \(6, 1\)"),
        ((X, Y[:-1], QID), "y must have n_samples=6 entries, got 5. Pass one per row"),
        ((X, [str(grade) for grade in Y], QID), "y must hold numbers, got dtype <U1"),
        ((X, np.array(Y, "M8[D]"), QID), "y must hold numbers, got dtype datetime64"),
        ((X, pd.Categorical(list("abcabc")), QID), "y must hold numbers, got dtype object"),
    ],
)
def test_other_rows_are_refused(arguments, said):
    with pytest.raises((TypeError, ValueError), match=said):
        RankingData(*arguments[:2], qid=arguments[2])


MERGED = {
    "neighbours": ([2**24, 2**24 + 1, 3, 4, 5, 6], True),
    "seconds since 1970": ([1_700_000_000 + second for second in range(N)], True),
    "beside missing values": ([2**24, 2**24 + 1, None, np.inf, 5, 6], True),
    "negative": ([-(2**24), -(2**24) - 1, 0, 1, 2, 3], True),
    "far apart": ([2**24 * second for second in range(N)], False),
    "changed, but distinct": ([2**24 + 1, 0, 1, 2, 3, 4], False),
    "fractions": ([1e9 + second / 100 for second in range(1, N + 1)], False),
    "small": (list(range(N)), False),
}


@pytest.mark.parametrize("kind", MERGED)
def test_whole_numbers_made_equal_are_said(kind):
    values, warns = MERGED[kind]
    frame = pd.DataFrame({"qid": QID, "label": Y, "f": values})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        RankingData.from_frame(frame)
        RankingData.from_frame(frame, dtype=np.float64)
    assert ["that float32 makes equal" in str(warning.message) for warning in found] == [
        True
    ] * warns
