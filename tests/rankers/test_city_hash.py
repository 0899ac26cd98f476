"""Hashes of categories; test_read_booster compares them with those that CatBoost stores."""

from __future__ import annotations

import pytest

from rankwise.rankers.adapters.catboost_model import hash_category


def test_lengths():
    texts = ["x" * n for n in range(65)]
    hashes = [hash_category(text) for text in texts]
    assert len(set(hashes)) == 65
    assert all(-(2**31) <= value < 2**31 for value in hashes)
    with pytest.raises(ValueError, match="at most 64 bytes, got 66"):
        hash_category("é" * 33)
