"""The preset sklearn against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score

from rankwise.metrics import evaluate
from tests.metrics._cases import by_query, ragged

LEVELS = (None, 6, 1)  # distinct scores, ties, all tied


def ours(y, f, qid, spec):
    return evaluate(y, f, qid, [spec], preset="sklearn").per_query[spec]


@pytest.mark.parametrize("k", [1, 2, 5, 10, None])
@pytest.mark.parametrize("levels", LEVELS)
def test_dcg_and_ndcg(rng, levels, k):
    y, f, qid = ragged(rng, levels=levels)
    at = "" if k is None else f"@{k}"
    for score, spec in [(ndcg_score, f"nDCG{at}"), (dcg_score, f"DCG{at}")]:
        got = ours(y, f, qid, spec)
        for value, (grades, scores) in zip(got, by_query(y, f, qid), strict=True):
            if len(grades) > 1:  # scikit-learn takes no query of one row
                assert value == pytest.approx(score([grades], [scores], k=k), rel=1e-12)


@pytest.mark.filterwarnings("ignore:No positive class found in y_true:UserWarning")
@pytest.mark.parametrize("levels", LEVELS)
def test_average_precision(rng, levels):
    y, f, qid = ragged(rng, levels=levels)
    got = ours(y, f, qid, "AP")
    for value, (grades, scores) in zip(got, by_query(y, f, qid), strict=True):
        wanted = average_precision_score(np.array(grades) >= 1, scores)
        assert value == pytest.approx(wanted, rel=1e-12)


def test_a_query_of_one_row_has_a_value_where_sklearn_has_an_error():
    assert ours([2.0], [1.0], None, "nDCG@10").tolist() == [1.0]
    with pytest.raises(ValueError, match="more than 1 document"):
        ndcg_score([[2.0]], [[1.0]], k=10)
