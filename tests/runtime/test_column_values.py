"""Columns of any library as arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rankwise.runtime.frames import convert_to_array, convert_to_values, is_missing


def dictionary(places, known, kind=None):
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(known, kind))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([([0, None, 1], ["a", "b"])], ["a", None, "b"]),
        ([([0, None], ["a", "b"]), ([None, 1], ["c", "d"])], ["a", None, None, "d"]),
        ([], []),
    ],
    ids=["one", "several", "none"],
)
def test_missing_entries_of_a_dictionary_stay_missing(chunks, expected, kind):
    parts = [dictionary(places, known, kind) for places, known in chunks]
    column = pa.chunked_array(parts, pa.dictionary(pa.int32(), kind))
    found = convert_to_array(column)
    assert [None if is_missing(value) else value for value in found.tolist()] == expected


def test_missing_numbers_of_a_dictionary_are_nan():
    column = pa.chunked_array([dictionary([0, None, 1], [3, 4])])
    np.testing.assert_array_equal(convert_to_values(column), [3.0, np.nan, 4.0])
