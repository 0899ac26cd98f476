"""Targets: every reader of the library, held against its twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from rankwise.datasets import read_letor
from tests.fuzz import twins
from tests.fuzz.harness import Target, mutated

NUMBERS = (
    b"0", b"-0", b"1", b"2", b"+1", b".5", b"-.5e3", b"1e5", b"1e-400", b"1e39", b"1e309", b"nan",
    b"NaN", b"inf", b"-Infinity", b"1_0", b"0x1", b"1e", b"--1", b"1.2.3", b"00001", b"9" * 18,
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"2147483647",
    b"2147483648", b"4294967297", b"0" * 25 + b"7", b"1" * 40, b"0." + b"3" * 60, b"\xd9\xa3",
)  # fmt: skip
BREAKS = (b"\r", b"\r\n", b"\n\n", b"\x00", b"\x0b", b"\x85", b"\xe2\x80\xa8", b"\xff", b" " * 9)
LONG = (b"a" * 3000, b"\n" * 3000, b"0\n" * 2000)


def _letor(rng: np.random.Generator) -> bytes:
    """Valid rows: dense or sparse, with and without qid and comments."""
    n_rows, width = int(rng.integers(1, 12)), int(rng.integers(1, 9))
    if rng.random() < 0.05:
        width = 400
    with_qid, text_qid = rng.random() < 0.8, rng.random() < 0.2
    lines = []
    for row in range(n_rows):
        line = f"{rng.integers(0, 4)}"
        if with_qid:
            line += f" qid:{'q' if text_qid else ''}{row // 3}"
        base = int(rng.random() < 0.9)
        for column in range(width):
            if rng.random() < 0.7:
                line += f" {column + base}:{rng.normal():.{rng.integers(1, 18)}g}"
        if rng.random() < 0.3:
            line += f" #docid = d{row}" if rng.random() < 0.7 else " # é"
        lines.append(line)
    return ("\n".join(lines) + "\n" * int(rng.random() < 0.9)).encode()


LETOR_TOKENS = (
    *NUMBERS, *BREAKS, *LONG, b" # x", b"#", b" qid:1", b" qid:", b" 1:2", b" 3:4 3:5", b"0:1",
    b" 7:", b":", b" 2147483647:1", b" 1000000:1", b"\xef\xbb\xbf", b"\xff\xfe", b" 5:1\r6:2",
)  # fmt: skip


def _make_letor(rng: np.random.Generator) -> bytes:
    return mutated(rng, _letor(rng), LETOR_TOKENS, _letor(rng))


def _check_letor(path: Path) -> bool:
    try:
        expected = twins.read_letor(path.read_bytes())
    except ValueError:
        expected = None
    try:
        data = read_letor(path, cache=False)
    except ValueError:
        assert expected is None, "refused, but the twin reads it"
        raise
    assert expected is not None, "read, but the twin refuses it"
    same_letor(data, expected)
    return True


def same_letor(data, expected: twins.LetorTwin) -> None:
    """Assert that ``data`` is what the twin read, bit for bit."""
    assert data.X.shape == (len(expected.rows), expected.width)
    counts = [len(entries) for entries in expected.rows]
    rows = np.repeat(np.arange(len(counts)), counts)
    columns = [column for entries in expected.rows for column in sorted(entries)]
    values = [value for entries in expected.rows for _, value in sorted(entries.items())]
    if sparse.issparse(data.X):
        assert np.diff(data.X.indptr).tolist() == counts
        assert data.X.indices.tolist() == columns
        found = data.X.data
    else:
        found = data.X[rows, columns]
        assert np.count_nonzero(data.X) == np.count_nonzero(found)
    assert found.tobytes() == _canonical(values).tobytes()
    np.testing.assert_array_equal(data.y, expected.y)
    assert data.qid.tolist() == expected.qid
    comments = None if data.comments is None else data.comments.tolist()
    assert comments == expected.comments


def _canonical(values: list[float]) -> np.ndarray:
    """Values as float32; the bits of a NaN are those that the reader writes."""
    out = np.array(values, dtype=np.float32)
    signs = np.signbit(out[np.isnan(out)])
    out[np.isnan(out)] = np.copysign(np.float32(np.nan), np.where(signs, -1, 1))
    return out


TARGETS = (Target("letor", _make_letor, _check_letor),)
