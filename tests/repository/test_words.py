"""One word a concept: public signatures use the names of the table in *architecture*."""

from __future__ import annotations

import inspect
from functools import cache

import pytest
from benchmarks.fingerprints import public

# Old word -> (the one in use, names that keep the old word for another concept, with the reason).
# Names are those of ``public``, such as ``rankwise.metrics.evaluate``.
WORDS: dict[str, tuple[str, dict[str, str]]] = {}


@cache
def signatures():
    found = {}
    for name, item in public():
        try:
            found[name] = frozenset(inspect.signature(getattr(item, "__func__", item)).parameters)
        except (TypeError, ValueError):
            continue
    return found


@pytest.mark.parametrize("old", sorted(WORDS))
def test_public_signatures_use_one_word_a_concept(old):
    new, reasons = WORDS[old]
    users = {name for name, parameters in signatures().items() if old in parameters}
    assert users - reasons.keys() == set(), f"{old} is now {new}"
    assert reasons.keys() <= users, "names that no longer need an exception"
