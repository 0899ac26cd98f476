"""Texts are parsed whatever other threads do: Python 3.11.7 shares a counter between them."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankwise.metrics import parse
from rankwise.runtime import threads
from rankwise.runtime.threads import parse_syntax
from rankwise.selection.cells.fingerprint import find_imported_files


def test_threads_that_parse_at_once_agree():
    text = Path(threads.__file__).read_bytes() * 10
    expected = ast.dump(ast.parse(text))
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(_let_others_run)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parse_syntax, [text] * 40))
    finally:
        gc.callbacks.remove(_let_others_run)
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
    assert all(ast.dump(tree) == expected for tree in trees)


def _let_others_run(*_):
    sum(range(1000))


@pytest.mark.parametrize(
    "read",
    [
        lambda: parse("nDCG(gain='exp2')@7"),
        lambda: find_imported_files("rankwise.runtime.threads", lambda name: "rankwise" in name),
    ],
    ids=["measure", "imports"],
)
def test_readers_try_again(read, monkeypatch):
    expected, parse_once, failures = read(), ast.parse, [SystemError("depth mismatch")] * 3

    def fail_at_first(*args, **kwargs):
        if failures:
            raise failures.pop()
        return parse_once(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", fail_at_first)
    assert read() == expected
    assert not failures


def test_what_lasts_is_raised(monkeypatch):
    def fail(*_, **__):
        raise SystemError("broken")

    monkeypatch.setattr(ast, "parse", fail)
    with pytest.raises(SystemError, match="broken"):
        parse_syntax("1")
