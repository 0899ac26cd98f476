"""Judged rows for the common tests."""

from __future__ import annotations

import pytest

from tests.oracles import ragged_groups


@pytest.fixture
def judged(rng):
    """60 rows in ragged interleaved queries, single-row queries and queries of one grade among
    them."""
    y, qid, _ = ragged_groups(rng, n_queries=12, most=10, grades=4)
    return rng.normal(size=(len(y), 5)), y, qid
