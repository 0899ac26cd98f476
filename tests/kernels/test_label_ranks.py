"""Places of the relevant rows of ragged queries against loops."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.topk import relevant_ranks
from tests.kernels import ragged


@pytest.mark.parametrize("rel", [0.0, 2.0, 9.0])
def test_relevant_rows(rel, rng):
    y, scores = ragged.grades(rng).astype(float), ragged.tied(rng)
    out = np.full((len(ragged.SIZES), 4), np.nan)
    relevant_ranks(y, scores, ragged.INDPTR, rel, out)
    for q, mine in enumerate(ragged.QUERIES):
        relevant = [i for i in mine if y[i] >= rel]
        c = [sum(scores[j] >= scores[i] for j in mine) for i in relevant]
        r = [sum(scores[j] >= scores[i] for j in relevant) for i in relevant]
        precisions = sum(b / a for a, b in zip(c, r, strict=True))
        expected = len(relevant), precisions, max(c, default=0), sum(c) - sum(r)
        np.testing.assert_allclose(out[q], expected)
