"""Texts for the LETOR reader, and what scikit-learn reads in them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from rankwise.datasets.readers.letor_parse import LetorOptions, parse_files
from rankwise.datasets.readers.textfiles import TextFile


def in_memory(text: bytes) -> TextFile:
    return TextFile(Path("memory.txt"), 0, len(text), text)


def parse(text: bytes | str, *, n_threads: int = 1, block_bytes: int = 1 << 20, **options):
    text = text.encode() if isinstance(text, str) else text
    return parse_files([in_memory(text)], LetorOptions(**options), n_threads, block_bytes)


def same_bits(a, b) -> bool:
    """Equal bit for bit, NaN and the sign of zero included."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_as_scikit_learn(data, text: bytes, dtype) -> None:
    X, y, qid = load_svmlight_file(
        io.BytesIO(text), dtype=dtype, query_id=True, n_features=data.X.shape[1]
    )
    if sparse.issparse(data.X):
        assert same_bits(data.X.data, X.data)
        assert np.array_equal(data.X.indices, X.indices)
        assert np.array_equal(data.X.indptr, X.indptr)
    else:
        expected = np.zeros(X.shape, dtype=dtype)  # toarray() would make 0.0 of -0.0
        expected[np.repeat(np.arange(len(y)), np.diff(X.indptr)), X.indices] = X.data
        assert same_bits(data.X, expected)
    assert same_bits(data.y, y)
    assert np.array_equal(data.qid, qid)


def numbers_of_all_kinds(rng, n):
    """Decimal forms, n of each: short and long, plain and with exponents, tiny and huge."""
    normal = rng.standard_normal(n)
    spread = normal * 10.0 ** rng.integers(-320, 308, n)
    bits = rng.integers(0, 2**63, n, dtype=np.uint64).view(np.float64)
    bits = bits[np.isfinite(bits)]
    tokens = [repr(float(x)) for x in [*normal, *spread, *bits]]
    tokens += [repr(float(x)) for x in normal.astype(np.float32)]
    tokens += [f"{x:.4g}" for x in normal] + [f"{x:.6f}" for x in 1e6 * normal]
    tokens += [f"{x:.25f}" for x in normal] + [f"{x:.30e}" for x in spread]
    tokens += [f"{x:.60f}" for x in 1e-20 * normal] + [f"{x:.16g}" for x in spread]
    tokens += [f"{x:.9e}" for x in 5e-324 * rng.integers(0, 2**40, n).astype(float)]
    tokens += [str(int(x)) + "0" * k for k, x in enumerate(1e9 * normal[:40])]
    tokens += ["0." + "0" * k + "123456789" for k in range(350)]
    tokens += ["+1", "-0", "0", "1.", ".5", "-.5", "+0.0", "1e5", "1E-5", "1e+5", "-1.e2", "00012"]
    tokens += ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "+INF", "1e-400"]
    tokens += ["0." + "0" * 120_000 + "12e120001", "7" + "0" * 120_000 + "e-120000"]
    tokens += ["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "0e999999999999"]
    tokens += ["1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072011e-308"]
    tokens += ["9007199254740993", "9007199254740992.999999999999999999999", "123456789012345678"]
    tokens += ["3.4028235677973366e38", "1.401298464324817e-45", "7.006492321624085e-46"]
    rng.shuffle(tokens)
    return tokens


def fitting(tokens, dtype):
    """Those that are not too large for ``dtype``, which is an error."""
    with np.errstate(over="ignore"):
        return [t for t in tokens if "inf" in t.lower() or not np.isinf(dtype(float(t)))]
