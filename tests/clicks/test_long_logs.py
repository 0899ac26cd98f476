"""Long logs: kernels give the codes, cells and parts that short logs get in other ways."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from rankwise.clicks import ClickLog, ClickModel
from rankwise.clicks import log as log_module
from rankwise.clicks import log as rows_module
from rankwise.clicks.log import count_cells
from rankwise.clicks.model_fits import find_patterns


def columns(seed=0, n_sessions=400, repeats=0):
    rng = np.random.default_rng(seed)
    session = np.repeat(np.arange(n_sessions), 3)
    query = np.repeat(rng.integers(-50, 50, size=n_sessions), 3) * 10**12
    document = rng.integers(2**40, size=len(session)) % 97 if repeats else np.tile([5, -7, 0], 400)
    place = np.tile([1, 2, 3], n_sessions)
    return query, document, place, rng.random(len(session)) < 0.3, session


@pytest.mark.parametrize("repeats", [0, 1])
def test_long_logs_are_as_short_ones(monkeypatch, repeats):
    short = ClickLog.from_columns(*columns(repeats=repeats)[:4], session=columns()[4])
    for module in (log_module, rows_module):
        monkeypatch.setattr(module, "MANY_ROWS", 0)
    long = ClickLog.from_columns(*columns(repeats=repeats)[:4], session=columns()[4])
    assert ("repeated_rows" in short.problems) == bool(repeats)
    assert long.problems == short.problems
    for a, b in zip(short.pairs, long.pairs, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("query", "document", "session"):
        assert getattr(long, name).names.tolist() == getattr(short, name).names.tolist()
    np.testing.assert_array_equal(long.source, short.source)


@pytest.mark.parametrize("weight", [None, "random"])
def test_patterns_are_the_distinct_cells(weight):
    rng = np.random.default_rng(1)
    n = 40_000
    weights = None if weight is None else rng.integers(3, size=n) * 0.5
    log = ClickLog.from_columns(
        rng.integers(3500, size=n), rng.integers(2, size=n), rng.integers(1, 9, size=n),
        rng.random(n) < 0.4, weight=weights,
    )  # fmt: skip
    cells = count_cells(log)
    of_pair = {}
    for pair, *cell in zip(*(column.tolist() for column in cells), strict=True):
        of_pair.setdefault(pair, []).append(tuple(cell))
    patterns = find_patterns(log, log.place - np.int32(1))
    assert len(patterns.times) > 2048  # the table grows
    numbers = {}
    for pair, code in enumerate(patterns.code.tolist()):
        rows = slice(patterns.indptr[code], patterns.indptr[code + 1])
        found = [column[rows].tolist() for column in (patterns.slot, patterns.n, patterns.clicks)]
        wanted = tuple(of_pair.get(pair, []))
        assert tuple(zip(*found, strict=True)) == wanted
        assert numbers.setdefault(wanted, code) == code
    assert len(numbers) == len(patterns.times)
    assert patterns.times.sum() == len(log.pairs.query)
    assert patterns.n_impressions == log.counts.sum()


@pytest.mark.parametrize("name", ["ctr", "pbm", "ubm", "sdbn", "dbn"])
def test_likelihoods_are_summed_in_parts(monkeypatch, name):
    query, document, place, click, session = columns()
    log = ClickLog.from_columns(query, document, place, click, session=session)
    whole = ClickModel(name).fit(log)
    monkeypatch.setattr(log_module, "ROWS_AT_A_TIME", 100)
    parts = list(log.parts())
    assert len(parts) == 12
    assert sum(part.n_lists for _, part in parts) == log.n_lists
    again = ClickModel(name).fit(log)
    assert again.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(again.examination_, whole.examination_, rtol=1e-12)


def test_ids_may_come_in_chunks():
    """More than 2 GB of text is no single array."""
    texts = pa.chunked_array([["b", "a"], ["a", "", None, "c"]])
    ids = log_module.encode_ids(texts, "arm", may_be_empty=True)
    assert ids.codes.tolist() == [0, 1, 1, 2, 2, 3]
    assert ids.names.tolist() == ["b", "a", "", "c"]
    with pytest.raises(ValueError, match="query must not be missing, got '' at row 3"):
        log_module.encode_ids(texts, "query")


@pytest.mark.parametrize("values", [["b", "a", "b", "c", "a"], [7, 3, 7, 2**40, 3]])
def test_ids_in_chunks_have_the_codes_of_one_array(values):
    """Arrow gives chunks for arrays of more than two gigabytes of text."""
    whole = log_module.encode_ids(values, "query")
    for cuts in ([2], [0, 1, 4], [5]):
        ends = [0, *cuts, len(values)]
        parts = [values[a:b] for a, b in itertools.pairwise(ends)]
        chunked = log_module.encode_ids(
            pa.chunked_array(parts, type=pa.array(values).type), "query"
        )
        np.testing.assert_array_equal(chunked.codes, whole.codes)
        assert chunked.values.to_pylist() == whole.values.to_pylist() == list(dict.fromkeys(values))
    with pytest.raises(ValueError, match="query must not be missing, got None at row 2"):
        log_module.encode_ids(pa.chunked_array([["a", "b"], [None, "c"]]), "query")
