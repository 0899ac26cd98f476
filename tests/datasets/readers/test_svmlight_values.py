"""Values that the LETOR reader reads: those of scikit-learn and ``float``, bit for bit."""

from __future__ import annotations

import gzip
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rankwise.checks.exact_values import token_changes
from rankwise.datasets import read_letor
from rankwise.runtime.files import BUNDLED
from tests.datasets.readers.letor_cases import (
    assert_as_scikit_learn,
    fitting,
    numbers_of_all_kinds,
    parse,
    same_bits,
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dense", [True, False])
def test_values_are_those_of_scikit_learn_bit_for_bit(rng, read, dtype, dense):
    tokens = fitting(numbers_of_all_kinds(rng, 500), dtype)
    rows = [tokens[start : start + 7] for start in range(0, len(tokens), 7)]
    labels = ["0" if token_changes(token.encode()) else token for token in tokens]  # refused
    text = "".join(
        f"{label} qid:{k // 10} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1)) + "\n"
        for k, (label, row) in enumerate(zip(labels, rows, strict=False))
    ).encode()
    data = read(text, dtype=dtype, dense=dense)
    assert data.X.dtype == dtype
    assert len(data) > 700
    assert np.isnan(data.X.data if sparse.issparse(data.X) else data.X).any()
    assert_as_scikit_learn(data, text, dtype)


@given(st.lists(st.floats(), min_size=1, max_size=30), st.sampled_from(["r", ".17e", ".20f", "g"]))
def test_any_double_is_read_back(values, form):
    tokens = [repr(x) if form == "r" else format(x, form) for x in values]
    rows = parse("0 " + " ".join(f"{j}:{t}" for j, t in enumerate(tokens, 1)), dtype=np.float64)
    assert same_bits(rows.X[0], np.array([float(t) for t in tokens]))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(
    ("token", "dtype", "fix"),
    [
        ("1e400", np.float64, "too large for float64; write inf"),
        ("-1e400", np.float32, "too large for float32; write inf"),
        ("1" + "0" * 309, np.float64, "too large for float64; write inf"),
        ("1.7976931348623159e308", np.float64, "too large for float64; write inf"),
        ("1e39", np.float32, "too large for float32; read with dtype=np.float64"),
        ("3.4028236e38", np.float32, "too large for float32; read with dtype=np.float64"),
    ],
)
def test_a_number_too_large_is_an_error(read, token, dtype, fix, dense):
    with pytest.raises(ValueError, match=rf"line 2, column 11: '.*' is {re.escape(fix)}"):
        read(f"1 qid:1 1:2 2:3\n0 qid:1 1:{token} 2:5\n", dtype=dtype, dense=dense)


def test_labels_are_float64_and_may_not_overflow_either(read):
    assert read("1e39 qid:1 1:1\n", dtype=np.float32).y.tolist() == [1e39]
    assert read("-inf qid:1 1:inf\n").y.tolist() == [-np.inf]
    with pytest.raises(ValueError, match="line 1, column 1: '1e400' is too large for float64"):
        read("1e400 qid:1 1:1\n")


_DIGITS = st.text("0123456789", max_size=30)
_EXPONENT = st.one_of(st.just(""), st.integers(-420, 420).map("e{:+d}".format))
_DECIMAL = st.tuples(st.sampled_from(["", "-", "+"]), _DIGITS, _DIGITS, _EXPONENT)


@given(st.lists(_DECIMAL, min_size=1, max_size=30))
def test_any_decimal_is_read_as_by_float(parts):
    tokens = [
        f"{sign}{whole}.{decimals}{exponent}"
        for sign, whole, decimals, exponent in parts
        if whole or decimals
    ]
    tokens = [token for token in tokens if math.isfinite(float(token))]
    if not tokens:
        return
    rows = parse("0 " + " ".join(f"{j}:{t}" for j, t in enumerate(tokens, 1)), dtype=np.float64)
    assert same_bits(rows.X[0], np.array([float(t) for t in tokens]))


def test_numbers_next_to_rounding_boundaries(rng):
    """The exact decimal of the middle between two doubles, and its neighbours in the last digit."""
    tokens = []
    for value in 10.0 ** rng.uniform(-30, 30, 200):
        middle = (Fraction(value) + Fraction(float(np.nextafter(value, np.inf)))) / 2
        scale = 0
        while (middle * 10**scale).denominator != 1:
            scale += 1
        digits = int(middle * 10**scale)
        tokens += [f"{digits + step}e-{scale}" for step in (-1, 0, 1)]
    rows = parse("0 " + " ".join(f"{j}:{t}" for j, t in enumerate(tokens, 1)), dtype=np.float64)
    assert max(map(len, tokens)) > 60
    assert same_bits(rows.X[0], np.array([float(t) for t in tokens]))


@pytest.mark.parametrize(
    "pattern",
    ["letor3-ohsumed-qln/S*", "letor3-ohsumed-min/S1*", "letor4-mq2008/S[12]*",
     "mslr-web-slices/*.gz"],
)  # fmt: skip
def test_real_files_are_as_scikit_learn_reads_them(data_root, pattern):
    check_files(data_root, pattern)


def test_bundled_files_are_as_scikit_learn_reads_them():
    check_files(BUNDLED, "lightgbm-lambdarank/*.gz")


def check_files(root, pattern):
    files = sorted(root.glob(pattern))
    assert files
    text = b"".join(gzip.decompress(file.read_bytes()) for file in files)
    for dtype, dense in ((np.float64, "auto"), (np.float32, False)):
        data = read_letor(str(root / pattern), dtype=dtype, dense=dense, cache=False)
        assert isinstance(data.X, np.ndarray) == (dense == "auto")
        assert_as_scikit_learn(data, text, dtype)


def test_real_comments_and_document_ids(letor_file):
    lines = gzip.decompress(letor_file.read_bytes()).decode().splitlines()
    data = read_letor(letor_file, cache=False)
    assert data.name == "S1"
    assert data.comments.tolist() == [line.split("#")[1].strip() for line in lines]
    assert data.doc_ids.tolist() == [line.split("#docid = ")[1].split()[0] for line in lines]
    assert data.doc_ids[0] in ("GX000-86", "GX008-86-4444840")
